"""Dip the lower end of a held tool into a vessel: to measure, to rinse, and to stir."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..wire import Observation, Script, Wait
from .kinematics import Arm
from .side import TRANSIT, level, travel
from .skill import APPROACH, perform, reach

ENTRY = 0.10
"""Speed below the rim [m/s]."""
CLEAR = 0.015
"""Height of the tip over the rim at which the hand steadies before it enters [m]."""
STIR_RADIUS, STIR_HZ = 0.008, 1.2
"""Radius of the circle that a stirring tip makes [m], and turns per second; the wall is 10 mm further out."""
SHORTEST = 0.05
"""Shortest wait [s]."""


@dataclass(frozen=True, slots=True)
class Dip:
    """Say where to dip.

    position  of the tool centre point while the tip is down, robot base frame [m]
    yaw       direction of the approach axis of the hand [rad]
    depth     of the tip below the rim of the vessel [m]
    transit   height of the tool centre point while travelling [m]
    """

    position: tuple[float, float, float]
    yaw: float
    depth: float
    transit: float = TRANSIT


def dip(arm: Arm, observation: Observation, at: Dip, seconds: float) -> Script[Observation]:
    """Lower the tip, hold it still for `seconds` [s], and lift it."""
    observation = yield from lower(arm, observation, at)
    observation = yield from wait(observation, seconds)
    return (yield from lift(arm, observation, at))


def stir(arm: Arm, observation: Observation, at: Dip, seconds: float) -> Script[Observation]:
    """Lower the tip, lead it around in circles for about `seconds` [s], and lift it."""
    observation = yield from lower(arm, observation, at)
    observation = yield from circle(arm, observation, at, seconds)
    return (yield from lift(arm, observation, at))


def lower(arm: Arm, observation: Observation, at: Dip) -> Script[Observation]:
    """Travel above the vessel, steady, and lower the tip."""
    x, y, z = at.position
    held = float(observation.senses.robot.command[7])
    observation = yield from travel(arm, observation, np.array((x, y, at.transit)), at.yaw, held)
    hover = np.array((x, y, z + at.depth + CLEAR))
    observation = yield from reach(arm, observation, hover, level(at.yaw), held, APPROACH, settle=0.15)
    return (yield from reach(arm, observation, np.array(at.position), level(at.yaw), held, ENTRY))


def lift(arm: Arm, observation: Observation, at: Dip) -> Script[Observation]:
    """Lift the tip out of the vessel and on to the transit height."""
    x, y, z = at.position
    held = float(observation.senses.robot.command[7])
    hover = np.array((x, y, z + at.depth + CLEAR))
    observation = yield from reach(arm, observation, hover, level(at.yaw), held, ENTRY)
    top = np.array((x, y, max(at.transit, float(hover[2]))))
    return (yield from reach(arm, observation, top, level(at.yaw), held, APPROACH))


def circle(arm: Arm, observation: Observation, at: Dip, seconds: float) -> Script[Observation]:
    """Lead the tip around, in whole turns, from the middle out and back to it."""
    count = max(1, round(seconds * STIR_HZ)) * round(1 / (STIR_HZ * arm.period))
    phase = np.arange(1, count + 1) / count
    turns = max(1, round(seconds * STIR_HZ))
    angle = 2 * np.pi * turns * phase
    # The circle opens and closes over half a turn.
    radius = STIR_RADIUS * np.minimum(1.0, 2 * turns * np.minimum(phase, 1 - phase))
    path = np.array(at.position) + np.column_stack((radius * np.cos(angle), radius * np.sin(angle), 0 * angle))
    held = float(observation.senses.robot.command[7])
    turn = level(at.yaw)
    joints = arm.follow(observation.senses.robot.command[:7], path, np.tile(turn, (count, 1, 1)))
    rows = np.column_stack((joints, np.full(count, held)))
    observation, arrived = yield from perform(arm, observation, rows)
    if not arrived:
        observation = yield from reach(arm, observation, np.array(at.position), turn, held, ENTRY)
    return observation


def wait(observation: Observation, seconds: float) -> Script[Observation]:
    """Hold still until `seconds` [s] have passed, whatever is delivered meanwhile."""
    until = observation.senses.time + seconds
    while until - observation.senses.time > SHORTEST / 2:
        observation = yield Wait(max(SHORTEST, until - observation.senses.time), look=False)
    return observation
