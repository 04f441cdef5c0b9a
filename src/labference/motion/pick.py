"""Take an item from above."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..wire import Observation, Script
from .grasp import Grasp
from .kinematics import Arm
from .skill import APPROACH, DESCENT, go, grip, over

ABOVE = 0.045
"""Height above the grasp where the descent becomes slow [m]."""
CLEARANCE = 0.08
"""Smallest rise between grasp and transit height [m]."""
STILL = 0.4
"""Pause before the fingers close [s]: on a pan, a hand that still sinks presses 2 kg through its grip after 0.15 s, and
0.3 kg after 0.4 s."""
CLOSING = 0.35
"""Time for the fingers to close and the grip to become steady [s]."""
DRAWING = 0.08
"""Speed of an item that is drawn out of what holds it [m/s]; a friction fit resists with 1.6 N, at 0.2 m/s with 4 N."""


class Picked(NamedTuple):
    """The last observation of a pick, and whether the fingers stopped on something."""

    observation: Observation
    holding: bool


def pick(arm: Arm, observation: Observation, at: Grasp) -> Script[Picked]:
    """Approach from above, descend, close, draw out where asked, and lift to the transit height."""
    x, y, z = at.position
    top = np.array((x, y, max(at.transit, z + max(CLEARANCE, at.draw))))
    observation = yield from over(arm, observation, top, at.yaw, at.opening)
    near = np.array((x, y, z + ABOVE))
    observation = yield from go(arm, observation, near, at.yaw, at.opening, APPROACH)
    observation = yield from go(arm, observation, np.array(at.position), at.yaw, at.opening, DESCENT, settle=STILL)
    observation = yield from grip(arm, observation, 0.0, CLOSING)
    if at.draw > 0:
        observation = yield from go(arm, observation, np.array((x, y, z + at.draw)), at.yaw, 0.0, DRAWING)
    observation = yield from go(arm, observation, top, at.yaw, 0.0, APPROACH, settle=0.05)
    return Picked(observation, bool(observation.senses.robot.opening > at.thinnest))
