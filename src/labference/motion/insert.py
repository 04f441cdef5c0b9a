"""Lower what the hand holds into a vertical slot or hole, and withdraw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..wire import Observation, Script
from .kinematics import Arm
from .skill import APPROACH, go, grip, over

HOVER = 0.015
"""Height of the lower end over the mouth where the hand steadies before it enters [m]."""
STEADY = 0.15
"""Pause above the mouth [s]."""
ENTRY = 0.05
"""Speed inside the slot [m/s]; a friction fit then pushes back with 1.5 N, at 0.2 m/s with 4 N."""
SEATED = 0.1
"""Pause before the fingers open [s]."""
OPENING = 0.3
"""Time for the fingers to open and the item to come to rest [s]."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Say where and how to push what the hand holds into a vertical slot or hole and let go.

    position  of the tool centre point when the fingers open, robot base frame [m]
    entry     height of the tool centre point when the lower end of the item is at the mouth [m]
    yaw       of the hand [rad]; at 0 the fingers open along y
    opening   between the pads after the release [m], see `release_opening`
    transit   height of the tool centre point while travelling [m]
    withdraw  height to which the open hand withdraws [m]; `transit` if None
    """

    position: tuple[float, float, float]
    entry: float
    yaw: float
    opening: float
    transit: float
    withdraw: float | None = None


def insert(arm: Arm, observation: Observation, at: Insertion) -> Script[Observation]:
    """Travel above the mouth, steady, push straight down, release, and withdraw straight up."""
    x, y, _ = at.position
    hover = np.array((x, y, at.entry + HOVER))
    top = np.array((x, y, max(at.transit, hover[2])))
    held = float(observation.senses.robot.command[7])
    observation = yield from over(arm, observation, top, at.yaw, held)
    observation = yield from go(arm, observation, hover, at.yaw, held, APPROACH, settle=STEADY)
    observation = yield from go(arm, observation, np.array(at.position), at.yaw, held, ENTRY, settle=SEATED)
    observation = yield from grip(arm, observation, at.opening, OPENING)
    out = top if at.withdraw is None else np.array((x, y, at.withdraw))
    return (yield from go(arm, observation, out, at.yaw, at.opening, APPROACH))
