"""Put down what the hand holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..wire import Observation, Script
from .kinematics import Arm
from .skill import APPROACH, go, grip, over

ABOVE = 0.03
"""Height above the release where the descent becomes slow [m]."""
CLEARANCE = 0.10
"""Smallest rise between release and transit height [m]."""
LOWERING = 0.16
"""Speed of the last centimetres before a release [m/s]."""
OPENING = 0.3
"""Time for the fingers to open and the item to come to rest [s]."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Say where and how to release what the hand holds.

    position  of the tool centre point at the release, robot base frame [m]
    yaw       of the hand [rad]; at 0 the fingers open along y
    opening   between the pads after the release [m], see `release_opening`
    transit   height of the tool centre point while travelling, above everything on the way [m]
    """

    position: tuple[float, float, float]
    yaw: float
    opening: float
    transit: float = 0.19


def place(arm: Arm, observation: Observation, at: Placement) -> Script[Observation]:
    """Travel above the place, descend, release, and retreat straight up."""
    x, y, z = at.position
    top = np.array((x, y, max(at.transit, z + CLEARANCE)))
    held = float(observation.senses.robot.command[7])
    observation = yield from over(arm, observation, top, at.yaw, held)
    observation = yield from go(arm, observation, np.array((x, y, z + ABOVE)), at.yaw, held, APPROACH, settle=0.05)
    observation = yield from go(arm, observation, np.array(at.position), at.yaw, held, LOWERING, settle=0.15)
    observation = yield from grip(arm, observation, at.opening, OPENING)
    return (yield from go(arm, observation, top, at.yaw, at.opening, APPROACH))
