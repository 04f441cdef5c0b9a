"""How the reader weighs: look, compare the display with the labels on the pan, move one standard, look again."""

from __future__ import annotations

import re

from labference.motion import Arm
from labference.sight import WeighingView
from labference.wire import Goal, Observation, Refusal, Script, Stop, Wait

from .bench_hands import look, transfer
from .subset import best_subset, next_correction

TOLERANCE = 1.0
"""Largest deviation between target and a sum of masses that counts as equal [g], from the goal text."""
STANDARDS = 4
"""Standards that the goal text names."""
DOUBTS = 3
"""Looks in a row that may miss a standard before the reader does without it."""
ASSURANCE_S = 6.0
"""How long the display must agree before the reader stops [s]: twice the longest terminal window."""
GLANCE_S = 1.0
"""Time between two looks at a display that agrees [s]."""
LOST_S = 15.0
"""Time between two looks when display and labels keep disagreeing, as after a weight has rolled away [s]."""

_TARGET = re.compile(r"balance to (\d+(?:\.\d+)?) g")


def weigh_by_sight(arm: Arm, goal: Goal, observation: Observation) -> Script[None]:
    """Carry out one correction after the other, each from a fresh look."""
    target = read_target(goal.instruction)
    doubts, agreed = 0, None
    while True:
        last = yield from look(arm, observation)
        observation, now = last.observation, last.observation.senses.time
        wanted = wanted_subset(last.view, target)
        incomplete = len(last.view.standards()) < STANDARDS
        if wanted is None or (incomplete and doubts < DOUBTS):
            doubts, agreed = doubts + 1, None
            observation = yield Wait(GLANCE_S if doubts <= DOUBTS else LOST_S)
            continue
        doubts = 0
        grams = next_correction(last.view.on_pan(), wanted)
        if grams is not None:
            observation = yield from transfer(arm, last, grams)
            agreed = None
            continue
        agreed = now if agreed is None else agreed
        observation = yield Stop() if now - agreed >= ASSURANCE_S else Wait(GLANCE_S)


def read_target(instruction: str) -> float:
    """Return the wanted reading [g] that the instruction states."""
    found = _TARGET.search(instruction)
    if found is None:
        raise Refusal("unsupported", f"The reader weighs, and finds no target in {instruction[:80]!r}.")
    return float(found[1])


def wanted_subset(view: WeighingView, target: float) -> frozenset[int] | None:
    """Return the standards that belong on the pan, or None where display and labels do not add up to the target [g]."""
    if view.shown is None or view.shown.value is None or not view.shown.stable:
        return None
    sample = view.shown.value - sum(view.on_pan())
    wanted, off = best_subset(target - sample, view.standards())
    return wanted if off <= TOLERANCE else None
