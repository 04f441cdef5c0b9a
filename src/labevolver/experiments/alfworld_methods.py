"""The methods of the study, side by side: what each remembers between trials, and how much within one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from labevolver.labs.alfworld.advice import Memory
from labevolver.labs.alfworld.baselines import LocationTable, MempStyle, Nothing, RawContext
from labevolver.labs.alfworld.evolver import Evolver, Unmaintained
from labevolver.labs.alfworld.seeker import Style

BANK = "memory.db"
"""The bank of a method, beside its trials."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method."""

    memory: Callable[[Path], Memory]
    """Makes its memory; the path is where a bank may lie."""
    style: Style = field(default_factory=Style)


METHODS: MappingProxyType[str, Method] = MappingProxyType(
    {
        "act": Method(lambda path: Nothing(), Style(notes=False, thoughts=False)),
        "react": Method(lambda path: Nothing()),
        "raw-context": Method(lambda path: RawContext()),
        "location-table": Method(lambda path: LocationTable()),
        "memp-style": Method(lambda path: MempStyle()),
        "labevolver-no-maintenance": Method(lambda path: Unmaintained()),
        "labevolver-no-forgetting": Method(lambda path: Evolver(path, forgets=False)),
        "labevolver": Method(lambda path: Evolver(path)),
    }
)
"""Name -> method, in the order of tables."""
