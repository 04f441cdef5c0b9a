"""Take upright things from the side: the hand comes down beside them, its approach axis level, its fingers around them.

What is held can then be carried upright, lowered into a socket or a beaker, and tilted by the last joint alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..wire import Observation, Script
from ..wire.glassware import APPROACH_TURN
from .kinematics import HIGH, JOINT_SPEEDS, LOW, Arm
from .path import hold, minimum_jerk, paced
from .skill import APPROACH, DESCENT, grip, perform, reach

TRANSIT = 0.31
"""Height of the tool centre point that carries a tube over everything that stands on the bench [m]."""
ABOVE = 0.03
"""Height above a grasp or a release where the descent becomes slow [m]."""
STILL = 0.25
"""Pause before the fingers close [s]."""
CLOSING, OPENING = 0.35, 0.3
"""Time for the fingers to close, and to open [s]."""
DRAWING, LOWERING = 0.15, 0.12
"""Speeds of something that is drawn out of a holder or lowered into one [m/s]."""
SWING_SHARE = 0.62
"""Share of the joint speeds that a swing uses; a minimum-jerk profile peaks at 1.875 times its mean."""
READY = np.array((-0.084, -0.10, -0.235, -2.666, 2.04, 1.877, 1.278))
"""Joints near which the hand is level and turned by `APPROACH_TURN` from the bearing [rad]: where searches start."""


class Picked(NamedTuple):
    """The last observation of a pick, and whether the fingers stopped on something."""

    observation: Observation
    holding: bool


@dataclass(frozen=True, slots=True)
class SideGrasp:
    """Say where and how to take an upright thing from the side.

    position  of the tool centre point when the fingers close, robot base frame [m]
    yaw       direction of the approach axis in the horizontal plane [rad]
    opening   between the pads before the grasp [m]
    draw      height over which it is drawn slowly out of what holds it [m]
    transit   height of the tool centre point while travelling [m]
    thinnest  opening above which the closed fingers count as having stopped on something [m]
    """

    position: tuple[float, float, float]
    yaw: float
    opening: float
    draw: float = 0.0
    transit: float = TRANSIT
    thinnest: float = 0.003


@dataclass(frozen=True, slots=True)
class SidePlacement:
    """Say where and how to put down what the hand holds from the side.

    position  of the tool centre point at the release, robot base frame [m]
    yaw       direction of the approach axis [rad]
    opening   between the pads after the release [m]
    sink      height over the release at which the lower end enters a holder, and the descent becomes slow [m]
    transit   height of the tool centre point while travelling [m]
    """

    position: tuple[float, float, float]
    yaw: float
    opening: float
    sink: float = 0.0
    transit: float = TRANSIT


def approach_yaw(x: float, y: float) -> float:
    """Return the direction [rad] in which a hand reaches (x, y) [m] from the side with most freedom."""
    return float(np.arctan2(y, x)) + APPROACH_TURN


def level(yaw: float, tilt: float = 0.0) -> np.ndarray:
    """Return the (3, 3) rotation of a hand whose approach axis is horizontal towards `yaw` [rad].

    `tilt` [rad] turns it about that axis: what it holds upright leans to the left of the approach direction.
    """
    c, s = np.cos(yaw), np.sin(yaw)
    approach, down = np.array((c, s, 0.0)), np.array((0.0, 0.0, -1.0))
    aside = np.cross(approach, down)
    lean, along = np.cos(tilt), np.sin(tilt)
    return np.column_stack((lean * down - along * aside, along * down + lean * aside, approach))


def swing(
    arm: Arm, observation: Observation, position: np.ndarray, rotation: np.ndarray, opening: float
) -> Script[Observation]:
    """Turn the joints, all at once, to a pose in free space; upright things stay upright only roughly on the way."""
    while True:
        command = observation.senses.robot.command
        goal = arm.inverse(position, rotation, _ready(position))
        rows = _swung(arm, command, goal, opening)
        observation, arrived = yield from perform(arm, observation, rows)
        if arrived:
            return observation


def rise(arm: Arm, observation: Observation, height: float, speed: float = APPROACH) -> Script[Observation]:
    """Lift the hand straight up to `height` [m], if it is lower."""
    command = observation.senses.robot.command
    here = arm.forward(command[:7])
    if here[2] >= height - 1e-4:
        return observation
    up = np.array((here[0], here[1], height))
    return (yield from reach(arm, observation, up, here[3:], float(command[7]), speed))


def travel(arm: Arm, observation: Observation, position: np.ndarray, yaw: float, opening: float) -> Script[Observation]:
    """Rise to the height of `position` where needed, and swing there."""
    observation = yield from rise(arm, observation, float(position[2]))
    return (yield from swing(arm, observation, position, level(yaw), opening))


def pick_side(arm: Arm, observation: Observation, at: SideGrasp) -> Script[Picked]:
    """Come down around an upright thing, close, draw it out, and lift it to the transit height."""
    x, y, z = at.position
    turn, top = level(at.yaw), np.array((x, y, at.transit))
    observation = yield from travel(arm, observation, top, at.yaw, at.opening)
    near = np.array((x, y, z + ABOVE))
    observation = yield from reach(arm, observation, near, turn, at.opening, APPROACH)
    observation = yield from reach(arm, observation, np.array(at.position), turn, at.opening, DESCENT, settle=STILL)
    observation = yield from grip(arm, observation, 0.0, CLOSING)
    if at.draw > 0:
        out = np.array((x, y, z + at.draw))
        observation = yield from reach(arm, observation, out, turn, 0.0, DRAWING)
    observation = yield from reach(arm, observation, top, turn, 0.0, APPROACH, settle=0.05)
    return Picked(observation, bool(observation.senses.robot.opening > at.thinnest))


def place_side(arm: Arm, observation: Observation, at: SidePlacement) -> Script[Observation]:
    """Travel above the place, lower, open, and rise straight up."""
    x, y, z = at.position
    turn, top = level(at.yaw), np.array((x, y, at.transit))
    held = float(observation.senses.robot.command[7])
    observation = yield from travel(arm, observation, top, at.yaw, held)
    near = np.array((x, y, z + max(ABOVE, at.sink)))
    observation = yield from reach(arm, observation, near, turn, held, APPROACH, settle=0.15)
    observation = yield from reach(arm, observation, np.array(at.position), turn, held, LOWERING, settle=0.15)
    observation = yield from grip(arm, observation, at.opening, OPENING)
    return (yield from reach(arm, observation, top, turn, at.opening, APPROACH))


def _ready(position: np.ndarray) -> np.ndarray:
    joints = READY.copy()
    joints[0] += np.arctan2(position[1], position[0])
    return np.clip(joints, LOW, HIGH)


def _swung(arm: Arm, command: np.ndarray, goal: np.ndarray, opening: float) -> np.ndarray:
    """Return commands (n, 8) that turn all joints from `command` to `goal` (7,) at once."""
    way = goal - command[:7]
    seconds = float(np.max(np.abs(way) / JOINT_SPEEDS)) / SWING_SHARE * 1.2
    count = int(np.ceil(seconds / arm.period))
    if count == 0 or np.max(np.abs(way)) < 1e-5:
        return hold(command, opening, 0 if command[7] == opening else 1)
    progress = minimum_jerk(np.arange(1, count + 1) / count)[:, None]
    joints = paced(np.vstack((command[:7], command[:7] + progress * way)), arm.period)
    return np.column_stack((joints, np.full(len(joints), opening)))
