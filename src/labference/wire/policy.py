"""The protocol of a tested system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .act import Act
from .action import ActionSpec
from .observation import Goal, Observation
from .operation import Operation


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Declare a system before evaluation.

    name, version   identify the tested system in the records
    actions         names of the action profiles it can drive, preferred first
    cameras         names of the cameras it wants delivered; an empty tuple renders nothing
    optional        names of cameras that it wants where the laboratory has them, after `cameras`
    depth           whether it wants depth beside RGB (a separate observation condition)
    readings        whether it wants the instruments' data ports (a separate observation condition)
    sites           scopes whose interface it exposes: it says its own output there, and takes what comes back instead
    witnesses       whether it takes the observations of a prefix that it did not act in (`Witness`)
    accepts         scopes of which it uses information that comes with an observation
    reports         whether it offers the explicit report track (`Report`, `Move.commits`)
    performs        whether it lets the bench carry out its operations (`Perform`), where the bench lends its hands
    """

    name: str
    version: str
    actions: tuple[str, ...] = ("joint",)
    cameras: tuple[str, ...] = ()
    depth: bool = False
    readings: bool = False
    reports: bool = False
    optional: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()
    witnesses: bool = False
    performs: bool = False


class Policy(Protocol):
    """A tested system, for one episode: `open`, `reset`, `act` until the episode ends, `close`.

    A policy given as `module:Class` is constructed with one keyword, `seed`, the policy seed of the episode. What is
    slow to load belongs at module level, where it lives as long as the process. It may raise `Refusal`
    for an answer it cannot give (an interface failure) and `ServiceFault` when a service behind it failed (a validity
    event).
    """

    def open(self) -> Capabilities:
        """Declare what this system is and wants."""
        ...

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Forget the last episode; `session` is opaque and names nothing of the instance."""
        ...

    def act(self, observation: Observation) -> Act:
        """Answer an observation."""
        ...

    def close(self) -> None:
        """Release what `open` took."""
        ...


@runtime_checkable
class Witness(Protocol):
    """A stateful system that can be shown what happened before it takes over."""

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Take in an observation of the prefix, and the operation that was confirmed just before it, if any."""
        ...
