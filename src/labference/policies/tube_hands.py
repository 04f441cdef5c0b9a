"""Scripts for a bench with tubes: look at it, take a tube, seat it, stand it somewhere, by pixels alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from labference.motion import (
    PARKED,
    Arm,
    Outline,
    Unreachable,
    fresh,
    go,
    grasp_tube,
    grip,
    home,
    insert,
    over,
    pick,
    place,
    tube_insertion,
    tube_placement,
)
from labference.sight import TubesView, see_tubes
from labference.wire import Observation, Script, Wait
from labference.wire.action import STROKE
from labference.wire.panda import HOME

CLEAR_HEIGHT = 0.30
"""Height of the tool centre point above which the arm hides nothing [m]."""
LOW = (0.33, 0.0, 0.20)
"""Where the hand hides nothing either, but has not withdrawn yet: below 0.25 m [m]."""
HOOD_S = 4.0
"""Time after a withdrawal after which the hood has come and gone [s]; it takes 2.2 s."""
AT_HOME = 0.02
"""Largest joint error at which the arm still is where episodes begin [rad]."""
PATIENCE_S = 0.5
"""Wait before another look [s]."""
THINNEST = 0.015
"""Opening above which closed fingers hold a cap, which is 22 mm wide [m]."""
CLOSED = 0.010
"""Commanded opening below which the gripper is closed [m]."""

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class TubeLook:
    """A look at the bench and the observation it came from."""

    observation: Observation
    view: TubesView


def holding(observation: Observation) -> bool:
    """Tell whether the closed fingers have stopped on something."""
    robot = observation.senses.robot
    return bool(robot.command[7] < CLOSED and robot.opening > THINNEST)


def look(arm: Arm, observation: Observation) -> Script[TubeLook]:
    """Park above the bench with whatever the hand holds, and look."""
    if observation.senses.robot.tcp[2] < CLEAR_HEIGHT or not _aside(observation):
        opening = float(observation.senses.robot.command[7]) if holding(observation) else STROKE
        # Straight up first: what was only just lifted may still be in a hole of the stand.
        observation = yield from over(arm, observation, np.array(PARKED), 0.0, opening)
    observation = yield from fresh(observation)
    return TubeLook(observation, see_tubes(observation.senses))


def look_before_leaving(arm: Arm, observation: Observation) -> Script[TubeLook]:
    """Move the empty hand aside without raising it, so that nothing is hidden and no hood comes yet, and look."""
    yaw = _yaw(arm, observation)
    observation = yield from go(arm, observation, np.array(LOW), yaw, STROKE)
    observation = yield Wait(PATIENCE_S)
    return TubeLook(observation, see_tubes(observation.senses))


def withdraw(arm: Arm, observation: Observation) -> Script[Observation]:
    """Raise the empty hand, and let the hood come and go."""
    observation = yield from home(arm, observation)
    since = observation.senses.time
    while observation.senses.time < since + HOOD_S:
        observation = yield Wait(PATIENCE_S, look=False)
    return observation


def take(arm: Arm, observation: Observation, base: Point, others: Sequence[Outline]) -> Script[Observation]:
    """Take the tube whose lower end is at `base` [m]; open the hand again where it closed on nothing."""
    try:
        picked = yield from pick(arm, observation, grasp_tube(base, others))
    except Unreachable:
        return (yield Wait(PATIENCE_S))
    if picked.holding:
        return picked.observation
    return (yield from grip(arm, picked.observation, STROKE, 0.2))


def seat(
    arm: Arm,
    observation: Observation,
    mouth: Point,
    depth: float,
    others: Sequence[Outline],
    withdraw_to: float | None = None,
) -> Script[Observation]:
    """Push the held tube `depth` [m] into the slot or hole with its mouth at `mouth` [m]."""
    at = replace(tube_insertion(mouth, depth, others), withdraw=withdraw_to)
    try:
        return (yield from insert(arm, observation, at))
    except Unreachable:
        return (yield Wait(PATIENCE_S))


def put_down(
    arm: Arm, observation: Observation, at: tuple[float, float], others: Sequence[Outline]
) -> Script[Observation]:
    """Stand the held tube on the bench at `at` [m]."""
    try:
        return (yield from place(arm, observation, tube_placement((*at, 0.0), others)))
    except Unreachable:
        return (yield Wait(PATIENCE_S))


def _aside(observation: Observation) -> bool:
    """Tell whether the hand hides nothing: on the robot's side of what stands on the bench, or where episodes begin."""
    robot = observation.senses.robot
    return bool(robot.tcp[0] < 0.40 or np.abs(robot.joints - HOME).max() < AT_HOME)


def _yaw(arm: Arm, observation: Observation) -> float:
    """Return the yaw of a hand that points down [rad]."""
    w, x, y, z = arm.forward(observation.senses.robot.command[:7])[3:]
    return float(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))
