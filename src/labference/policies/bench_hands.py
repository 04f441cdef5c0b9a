"""Scripts for a weighing bench: look at it, move one standard onto the pan or off it, by pixels alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from labference.motion import (
    Arm,
    Disc,
    Grasp,
    Outline,
    Placement,
    Rectangle,
    Unreachable,
    free_spot,
    fresh,
    grasp_standing,
    grip,
    home,
    pick,
    place,
    release_opening,
)
from labference.sight import DISPLAY_CAMERA, Seen, WeighingView, read_display, see_weighing
from labference.wire import Observation, Script, Wait
from labference.wire.action import STROKE
from labference.wire.labware import PAN_RADIUS, WEIGHT_REGION, WEIGHTS

TOUCHDOWN = 0.0015
"""Height above the support at which a weight is released [m]; positions from depth are good to 0.5 mm."""
LOWEST_GRIP = 0.0115
"""Smallest height of the finger tips' centre over the support [m]."""
ROOM = 0.012
"""Gap between pad and a lying weight before the grasp [m]."""
CLEAR_HEIGHT = 0.30
"""Height of the tool centre point above which the arm hides nothing [m]."""
PATIENCE_S = 0.5
"""Wait between two looks at an unsteady or unreadable display [s]."""
LOOKS = 16
"""Looks at an unsteady or unreadable display before it is taken as it is; a reading steadies within 4 s."""


@dataclass(frozen=True, slots=True)
class Look:
    """A look at the bench and the observation it came from."""

    observation: Observation
    view: WeighingView


def look(arm: Arm, observation: Observation) -> Script[Look]:
    """Clear the view, wait until the display shows a stable number or patience ends, and look."""
    if observation.senses.robot.tcp[2] < CLEAR_HEIGHT:
        observation = yield from home(arm, observation)
    observation = yield from fresh(observation)
    for _ in range(LOOKS):
        shown = read_display(observation.senses.frame(DISPLAY_CAMERA))
        if shown is not None and shown.status == "ok" and shown.stable:
            break
        observation = yield Wait(PATIENCE_S)
    return Look(observation, see_weighing(observation.senses))


def transfer(
    arm: Arm,
    observation: Observation,
    view: WeighingView,
    grams: int,
    place_name: str,
    at: Mapping[str, tuple[float, float, float]],
) -> Script[Observation]:
    """Move a standard to the pan or the table; whether it worked is not known.

    `at` says where the standard's lower end and the middle of the pan are [m], the rest is as seen in `view`.
    """
    weight = view.standards().get(grams)
    base = at.get(f"{grams} g")
    if base is None:
        return (yield Wait(PATIENCE_S))
    grasp = _grasp(weight, grams, base, _outlines(view, weight))
    release = _release(grams, place_name, view, at.get("pan"), _outlines(view, weight), grasp.position[2] - base[2])
    if release is None:
        return (yield Wait(PATIENCE_S))
    try:
        picked = yield from pick(arm, observation, grasp)
    except Unreachable:
        return (yield Wait(PATIENCE_S))
    if not picked.holding:
        return (yield from grip(arm, picked.observation, STROKE, 0.2))
    try:
        return (yield from place(arm, picked.observation, release))
    except Unreachable:
        observation = yield Wait(PATIENCE_S)
        return (yield from place(arm, observation, Placement(grasp.position, grasp.yaw, release.opening)))


def _outlines(view: WeighingView, held: Seen | None) -> list[Outline]:
    """Return everything seen but `held` from above."""
    others = (seen.item for seen in view.seen if seen is not held)
    return [(*item.position, item.radius if item.standing else item.length / 2) for item in others]


def _grasp(weight: Seen | None, grams: int, base: tuple[float, float, float], others: list[Outline]) -> Grasp:
    """Take a standing weight by its body, a lying one across its axis."""
    size = WEIGHTS[grams]
    if weight is None or weight.item.standing:
        return grasp_standing(base, size.radius, size.body, size.height, others)
    yaw = (weight.item.yaw + np.pi / 2) % np.pi - np.pi / 2
    height = base[2] + max(size.radius, LOWEST_GRIP)
    return Grasp((base[0], base[1], height), float(yaw), min(STROKE, 2 * (size.radius + ROOM)))


def _release(
    grams: int,
    place_name: str,
    view: WeighingView,
    pan: tuple[float, float, float] | None,
    others: list[Outline],
    rise: float,
) -> Placement | None:
    """Return where to open the hand that took the weight `rise` [m] over its lower end; None where no spot is free."""
    radius = WEIGHTS[grams].radius
    if place_name == "pan":
        if pan is None:
            return None
        region: Disc | Rectangle = Disc(pan[:2], view.pan.radius if view.pan else PAN_RADIUS)
        support = pan[2]
    else:
        (west, east), (south, north) = WEIGHT_REGION
        region, support = Rectangle((west, south), (east, north)), 0.0
    spot = free_spot(region, others, radius)
    if spot is None:
        return None
    return Placement((*spot.position, support + rise + TOUCHDOWN), spot.yaw, release_opening(radius))
