"""How the reader weighs: compare the display with the labels on the pan, and move one standard after the other."""

from __future__ import annotations

import re

from labference.motion import Arm
from labference.sight import WeighingView
from labference.wire import Fact, Goal, Observation, Operation, Refusal, Script, Target

from .bench_hands import look, transfer
from .modular import Seen
from .subset import best_subset, next_correction

TOLERANCE = 1.0
"""Largest deviation between target and a sum of masses that counts as equal [g], from the goal text."""
STANDARDS = 4
"""Standards that the goal text names."""
DOUBTS = 3
"""Looks in a row that may miss a standard before the reader does without it."""
ASSURANCE_S = 6.0
"""How long the display must agree before the reader stops [s]: twice the longest terminal window."""
DOWN = (0.0, 0.0, -1.0)
WAIT, STOP = Operation("wait"), Operation("stop")

_TARGET = re.compile(r"balance to (\d+(?:\.\d+)?) g")


class WeighingBySight:
    """Eyes, mind and hands of the reader on a weighing bench."""

    def __init__(self, arm: Arm, goal: Goal) -> None:
        self._arm = arm
        self._target = read_target(goal.instruction)
        self._doubts = 0
        self._agreed: float | None = None

    def look(self, observation: Observation) -> Script[Seen]:
        """Clear the view, wait for a steady display, read display and labels."""
        last = yield from look(self._arm, observation)
        return Seen(last.observation, last.view, facts_of(last.view))

    def decide(self, facts: tuple[Fact, ...], now: float) -> Operation:
        """Return the next correction; wait while something cannot be made out, stop when all has agreed for long."""
        found = {fact.name: fact.value for fact in facts}
        on_pan = frozenset(grams(name) for name, place in found.items() if place == "pan")
        standards = [grams(name) for name in found if name.endswith(" g")]
        wanted = wanted_subset(found, on_pan, standards, self._target)
        if wanted is None or (len(standards) < STANDARDS and self._doubts < DOUBTS):
            self._doubts, self._agreed = self._doubts + 1, None
            return WAIT
        self._doubts = 0
        move = next_correction(on_pan, wanted)
        if move is not None:
            self._agreed = None
            return Operation("remove", f"{move} g", "table") if move in on_pan else Operation("add", f"{move} g", "pan")
        self._agreed = now if self._agreed is None else self._agreed
        return STOP if now - self._agreed >= ASSURANCE_S else WAIT

    def locate(self, seen: Seen, operation: Operation) -> tuple[Target, ...]:
        """Return where the standard stands, and the middle of the pan."""
        view: WeighingView = seen.view
        targets = []
        weight = view.standards().get(grams(operation.item))
        if weight is not None:
            targets.append(Target(operation.item, (*weight.item.position, weight.item.base), DOWN))
        if operation.place == "pan" and view.pan is not None:
            targets.append(Target("pan", (*view.pan.centre, view.pan.height), DOWN))
        return tuple(targets)

    def carry_out(self, seen: Seen, operation: Operation, targets: tuple[Target, ...]) -> Script[Observation]:
        """Move the standard to where it does not stand yet."""
        at = {target.name: target.position for target in targets}
        return (yield from transfer(self._arm, seen.observation, seen.view, grams(operation.item), operation.place, at))

    def done(self, operation: Operation) -> None:
        """Begin to look anew."""
        self._agreed = None

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Take in nothing: the display says all that matters."""


def facts_of(view: WeighingView) -> tuple[Fact, ...]:
    """Return what a look shows, in the words of the state interface."""
    facts = []
    if view.shown is not None:
        if view.shown.value is not None:
            facts.append(Fact("display", view.shown.value))
        facts.append(Fact("steady", view.shown.stable))
    return (*facts, *(Fact(f"{mass} g", seen.place) for mass, seen in sorted(view.standards().items())))


def grams(name: str) -> int:
    """Return the mass that the name of a standard states [g]."""
    return int(name.removesuffix(" g"))


def read_target(instruction: str) -> float:
    """Return the wanted reading [g] that the instruction states."""
    found = _TARGET.search(instruction)
    if found is None:
        raise Refusal("unsupported", f"The reader weighs, and finds no target in {instruction[:80]!r}.")
    return float(found[1])


def wanted_subset(
    facts: dict[str, float | str | bool], on_pan: frozenset[int], standards: list[int], target: float
) -> frozenset[int] | None:
    """Return the standards that belong on the pan, or None where display and labels do not add up to the target [g]."""
    shown = facts.get("display")
    if not isinstance(shown, float | int) or facts.get("steady") is not True:
        return None
    wanted, off = best_subset(target - (float(shown) - sum(on_pan)), standards)
    return wanted if off <= TOLERANCE else None
