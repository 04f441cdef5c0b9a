"""Atomic actions: the eleven primitives that the bench carries out, a = (k, θ), as the tested system asks for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from labference.wire import Goal, Operation, Parameter, Perform, Stop
from labference.wire.wetlab import FINISH, KINDS

BEAKER, PROBE, ROD, RINSE, RACK = "beaker", "probe", "rod", "rinse", "rack"
BALANCE, PROBE_HOLDER, ROD_HOLDER = "balance", "probe_holder", "rod_holder"
TOOLS = (BEAKER, PROBE, ROD)
"""Items that are no reagent tubes."""
STOP = "stop"
ARGUMENTS = {
    "pick": ("", RACK),
    "place": ("", RACK),
    "pour": ("", BEAKER),
    "stir": (ROD, BEAKER),
    "tare": (BEAKER, BALANCE),
    "weigh": (BEAKER, BALANCE),
    "take_probe": (PROBE, PROBE_HOLDER),
    "measure": (PROBE, BEAKER),
    "rinse_probe": (PROBE, RINSE),
    "return_probe": (PROBE, PROBE_HOLDER),
    STOP: ("", ""),
}
"""Item and place of each kind; where the item is empty, a tube has to be named."""
assert set(ARGUMENTS) == set(KINDS)


@dataclass(frozen=True, slots=True)
class Action:
    """One proposed LabSkill call: kind, item, place, and numbers by name in the units of the catalogue."""

    kind: str
    item: str = ""
    place: str = ""
    parameters: tuple[tuple[str, float], ...] = ()

    @property
    def numbers(self) -> Mapping[str, float]:
        """Return the numbers by name."""
        return dict(self.parameters)

    def __str__(self) -> str:
        told = ", ".join(f"{name} {value:.4g}" for name, value in self.parameters)
        return " ".join(word for word in (self.kind, self.item, self.place) if word) + (f" ({told})" if told else "")


def action(kind: str, item: str = "", **numbers: float) -> Action:
    """Return an action with the usual item and place of its kind."""
    usual, place = ARGUMENTS[kind]
    if item == ROD and kind in ("pick", "place"):
        place = ROD_HOLDER
    return Action(kind, item or usual, place, tuple(sorted(numbers.items())))


def dispatchable(proposed: Action, goal: Goal) -> Perform | Stop:
    """Return the act for an admitted action; numbers that it does not name take the bench's defaults."""
    if proposed.kind in (STOP, FINISH):
        return Stop()
    known = {setting.name for setting in goal.parameters if setting.kind == proposed.kind}
    given = tuple(Parameter(name, float(value)) for name, value in proposed.parameters if name in known)
    return Perform(Operation(proposed.kind, proposed.item, proposed.place), given)


def tubes_of(goal: Goal) -> tuple[str, ...]:
    """Return the reagent tubes that a goal names."""
    return tuple(item for item in goal.items if item not in TOOLS)


def within(goal: Goal, kind: str, name: str, value: float) -> float:
    """Return the nearest value that the bench takes for a parameter; the value itself where it takes no such one."""
    for setting in goal.parameters:
        if (setting.kind, setting.name) == (kind, name) and math.isfinite(value):
            return min(setting.high, max(setting.low, value))
    return value


def catalogue(goal: Goal) -> list[str]:
    """Return the primitives that this bench has, with items, places and ranges, a line each."""
    told = []
    for kind, (item, place) in ARGUMENTS.items():
        if kind not in goal.kinds:
            continue
        whom = item or (" | ".join(tubes_of(goal)) if place else "")
        numbers = "; ".join(
            f"{each.name} {each.low:g} to {each.high:g} {each.unit}, {each.default:g} if not named"
            for each in goal.parameters
            if each.kind == kind
        )
        told.append(" ".join(word for word in (kind, whom, place, f"({numbers})" if numbers else "") if word))
    return told
