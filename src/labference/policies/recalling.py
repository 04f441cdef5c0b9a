"""How the built-in systems place and recall a tube: by the hole they remember, or by a place in the room."""

from __future__ import annotations

from typing import Literal

import numpy as np

from labference.motion import Arm
from labference.sight import SeenTube, TubesView
from labference.wire import Goal, Observation, Script, Stop, Wait
from labference.wire.tubes import HOLE_DEPTH, HOLES

from .tube_hands import PATIENCE_S, Point, TubeLook, holding, look, look_before_leaving, put_down, seat, take, withdraw

By = Literal["hole", "position", "plan"]
LOW = 0.20
"""Height to which the hand withdraws while the placement is looked at [m]."""
LOOKS = 20
"""Looks at something that cannot be made out before the system goes on without it."""
ASSURANCE_S = 6.0
"""How long the tube must be seen on the marked square before the task counts as finished [s]: twice the window."""


def recall(arm: Arm, goal: Goal, observation: Observation, chance: np.random.Generator, by: By) -> Script[None]:
    """Place the tube, and fetch it after the hood.

    `by` says what is remembered: the hole of the rack in which the tube was seen, the position in the room where it was
    seen, or the position for which the placement was planned.
    """
    last = yield from _see_rack(arm, observation)
    before = set(last.view.rack.seats) if last.view.rack else set()
    if _alone_in_rack(last.view):
        hole, at = _seen_in(last.view, before)
        observation = last.observation
    else:
        wanted, planned, observation = yield from _place(arm, last, chance)
        seen = yield from look_before_leaving(arm, observation)
        after = set(seen.view.rack.seats) if seen.view.rack else set()
        hole, at = _seen_in(seen.view, after - before) if after - before else (wanted, planned)
        hole, at = (wanted, planned) if by == "plan" else (hole, at)
        observation = seen.observation
    observation = yield from withdraw(arm, observation)
    yield from (_fetch(arm, observation, hole) if by == "hole" else _fetch_there(arm, observation, at))


def _see_rack(arm: Arm, observation: Observation) -> Script[TubeLook]:
    last = yield from look(arm, observation)
    for _ in range(LOOKS):
        if last.view.rack is not None:
            break
        observation = yield Wait(PATIENCE_S)
        last = yield from look(arm, observation)
    return last


def _alone_in_rack(view: TubesView) -> bool:
    """Tell whether the sample, which is the tube that is alone, is in the rack."""
    return view.rack is not None and len(view.rack.seats) == 1 and len(view.at("stand")) != 1


def _seen_in(view: TubesView, holes: set[str]) -> tuple[str, Point]:
    """Return the first of `holes`, and where the lower end of the tube in it is [m]."""
    assert view.rack is not None  # there are holes only in a rack that was seen
    hole = min(holes)
    return hole, view.rack.seats[hole].cap.base


def _place(arm: Arm, last: TubeLook, chance: np.random.Generator) -> Script[tuple[str, Point, Observation]]:
    """Insert the tube into a free hole drawn by `chance`; return the hole, where the tube should stand, and go on."""
    rack = last.view.rack
    free = [hole for hole in HOLES if rack is None or hole in rack.empty]
    hole = str(chance.permutation(free)[0])
    while True:
        rack, observation = last.view.rack, last.observation
        others = last.view.outlines()
        if holding(observation) and rack is not None:
            x, y, z = rack.hole(hole)
            observation = yield from seat(arm, observation, (x, y, z), HOLE_DEPTH, others, LOW)
            return hole, (x, y, z - HOLE_DEPTH), observation
        tube = _outside(last.view)
        if tube is not None:
            observation = yield from take(arm, observation, tube.cap.base, last.view.outlines(tube))
        else:
            observation = yield Wait(PATIENCE_S)
        if not holding(observation):
            last = yield from look(arm, observation)
        else:
            last = TubeLook(observation, last.view)


def _outside(view: TubesView) -> SeenTube | None:
    """Return a tube that is not in the rack."""
    outside = [tube for tube in view.tubes if tube.place not in HOLES and tube.place != "elsewhere"]
    return outside[0] if outside else None


def _fetch(arm: Arm, observation: Observation, hole: str) -> Script[None]:
    """Bring the tube from `hole`, wherever the rack is now, to the marked square."""
    taken, agreed = False, None
    while True:
        last = yield from look(arm, observation)
        observation, view = last.observation, last.view
        if holding(observation):
            observation = yield from _deliver(arm, last)
            taken = True
            continue
        done = bool(view.at("region"))
        now = observation.senses.time
        agreed = (now if agreed is None else agreed) if done else None
        if agreed is not None:
            observation = yield Stop() if now - agreed >= ASSURANCE_S else Wait(PATIENCE_S)
            continue
        found = view.at(hole) or (view.at("table") if taken else ())
        if found:
            observation = yield from take(arm, observation, found[0].cap.base, view.outlines(found[0]))
        else:
            observation = yield Wait(PATIENCE_S)


def _fetch_there(arm: Arm, observation: Observation, at: Point) -> Script[None]:
    """Reach for the place in the room where the tube was, and bring what is there to the marked square."""
    last = yield from look(arm, observation)
    others = [outline for outline in last.view.outlines() if np.hypot(outline[0] - at[0], outline[1] - at[1]) > 0.02]
    observation = yield from take(arm, last.observation, at, others)
    if holding(observation):
        last = yield from look(arm, observation)
        yield from _deliver(arm, last)
    while True:
        yield Stop()


def _deliver(arm: Arm, last: TubeLook) -> Script[Observation]:
    """Stand the held tube in the middle of the marked square."""
    region = last.view.region
    if region is None:
        return (yield Wait(PATIENCE_S))
    return (yield from put_down(arm, last.observation, region.centre, last.view.outlines()))
