"""How the built-in systems load a centrifuge: by what they see before each operation, or by their first plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labference.motion import Arm
from labference.sight import RotorView, SeenTube, TubesView
from labference.wire import Goal, Observation, Script, Stop, Wait
from labference.wire.tubes import SLOT_DEPTH, SLOTS, opposite

from .tube_hands import PATIENCE_S, TubeLook, holding, look, seat, take, withdraw

FULL = 0.60
"""Share of the depth from which a tube counts as seated, from the goal text."""
TUBES = 2
ASSURANCE_S = 6.0
"""How long the rotor must look right before the task counts as finished [s]: twice the terminal window."""


def hood_announced(goal: Goal) -> bool:
    """Tell whether the goal text speaks of a hood."""
    return "hood" in goal.instruction


def load_by_sight(arm: Arm, goal: Goal, observation: Observation, chance: np.random.Generator) -> Script[None]:
    """Look, carry out what the rotor calls for, and look again."""
    covered, agreed = not hood_announced(goal), None
    while True:
        last = yield from look(arm, observation)
        observation, rotor = last.observation, last.view.rotor
        if rotor is None:
            observation = yield Wait(PATIENCE_S)
            continue
        full, shallow = _seats(rotor)
        if holding(observation):
            slot = _slot_for_held(rotor, full, chance)
            observation = yield from seat(arm, observation, rotor.slot(slot), SLOT_DEPTH, last.view.outlines())
            if not covered and not full:
                covered = True
                observation = yield from withdraw(arm, observation)
            agreed = None
            continue
        tube = _next_tube(last.view, rotor, full, shallow)
        if tube is not None:
            observation = yield from take(arm, observation, tube.cap.base, last.view.outlines(tube))
            agreed = None
            continue
        now = observation.senses.time
        balanced = len(full) == TUBES and full[1] == opposite(full[0])
        agreed = (now if agreed is None else agreed) if balanced else None
        done = agreed is not None and now - agreed >= ASSURANCE_S
        observation = yield Stop() if done else Wait(PATIENCE_S)


def load_by_plan(arm: Arm, goal: Goal, observation: Observation, chance: np.random.Generator) -> Script[None]:
    """Plan every operation from the first look, and carry the plan out whatever happens."""
    last = yield from look(arm, observation)
    while last.view.rotor is None:
        observation = yield Wait(PATIENCE_S)
        last = yield from look(arm, observation)
    rotor, observation = last.view.rotor, last.observation
    full, _ = _seats(rotor)
    first = full[0] if full else int(chance.integers(SLOTS))
    slots = [opposite(first)] if full else [first, opposite(first)]
    waiting: Sequence[SeenTube | None] = [tube for tube in last.view.tubes if not tube.place.startswith("slot")]
    if holding(observation):
        waiting = [None, *waiting]
    for number, (tube, slot) in enumerate(zip(waiting, slots, strict=False)):
        if tube is not None:
            observation = yield from take(arm, observation, tube.cap.base, _around(last, tube))
        observation = yield from seat(arm, observation, rotor.slot(slot), SLOT_DEPTH, _around(last, tube))
        if number == 0 and len(slots) == TUBES and hood_announced(goal):
            observation = yield from withdraw(arm, observation)
    while True:
        yield Stop()


def _around(last: TubeLook, tube: SeenTube | None) -> list[tuple[float, float, float]]:
    return last.view.outlines(tube)


def _seats(rotor: RotorView) -> tuple[list[int], list[int]]:
    """Return the slots with seated tubes, and those with tubes that are not deep enough."""
    full = sorted(slot for slot, found in rotor.seats.items() if found.depth >= FULL)
    return full, sorted(set(rotor.seats) - set(full))


def _slot_for_held(rotor: RotorView, full: list[int], chance: np.random.Generator) -> int:
    """Return the slot opposite the one seated tube, or any free one whose opposite is free."""
    if len(full) == 1:
        return opposite(full[0])
    taken = set(rotor.seats)
    free = [slot for slot in range(SLOTS) if not {slot, opposite(slot)} & taken]
    return int(free[chance.integers(len(free))])


def _next_tube(view: TubesView, rotor: RotorView, full: list[int], shallow: list[int]) -> SeenTube | None:
    """Return the tube to take: one that is not deep enough, one outside, or one of two that are not opposite."""
    if shallow:
        return view.at(f"slot {shallow[0]}")[0]
    outside = [tube for tube in view.tubes if not tube.place.startswith("slot")]
    if len(full) < TUBES and outside:
        return outside[0]
    if len(full) == TUBES and full[1] != opposite(full[0]):
        return view.at(f"slot {full[1]}")[0]
    return None
