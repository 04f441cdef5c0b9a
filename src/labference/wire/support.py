"""What a modular system says at its interfaces, and what it may be given there: nouns of the diagnostic protocol.

Four interfaces, in the order in which an operation passes through them: state, decision, geometry, skill.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .operation import Operation, Parameter

Scope = Literal["semantic", "decision", "geometry", "skill"]
Mode = Literal["assist", "replace"]
SCOPES: tuple[Scope, ...] = ("semantic", "decision", "geometry", "skill")
"""Support scopes of the paper's table 2; semantic support enters at the state interface."""
MODES: tuple[Mode, ...] = ("assist", "replace")


@dataclass(frozen=True, slots=True)
class Fact:
    """One visible fact: where an item is, what a display says, whether it is steady."""

    name: str
    value: float | str | bool


@dataclass(frozen=True, slots=True)
class Target:
    """Where something is, robot base frame.

    `position` is an item's lower end or a place's middle [m], `axis` the unit vector along which a hand approaches it.
    """

    name: str
    position: tuple[float, float, float]
    axis: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class StateReport:
    """State what is seen: the state interface. Takes no simulated time."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class GeometryReport:
    """State where the item and the place of `operation` are: the geometry interface. Takes no simulated time."""

    operation: Operation
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """Announce that `operation` is carried out now: the skill interface.

    The observation that follows says with an `Assist` of scope "skill" if it has been carried out already. A system
    that lets the bench carry out its operations says with which `parameters`; its `Perform` is to have the same.
    """

    operation: Operation
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Assist:
    """Support that the bench gives: information (assist), or a value that stands in for the system's own (replace)."""

    scope: Scope
    mode: Mode
    facts: tuple[Fact, ...] = ()
    operation: Operation | None = None
    targets: tuple[Target, ...] = ()
