"""Find tubes that lie on the bench by what is opaque of them: the cap, and the end with the liquid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..wire.tubes import CAP_HEIGHT, CAP_RADIUS, TUBE_HEIGHT, TUBE_RADIUS
from .caps import Cap
from .cloud import in_rectangle
from .items import Item, find_items

WORKSPACE = ((0.24, -0.45), (0.78, 0.45))
"""Part of the table where fallen tubes are looked for, opposite corners (x, y) in the robot base frame [m]."""
AROUND_CAP = 0.020
"""Distance from the axis of a standing tube within which points are taken for a part of it [m]."""
OFF = 0.004
"""How far a measured height or width may be from the catalogue [m]."""
LIQUID = (0.025, 0.105)
"""Lengths of the visible lower end of a tube [m]."""
APART = (0.030, 0.100)
"""Distances from there to the middle of the cap [m]."""
ASTRAY = np.radians(12)
"""Largest angle between the lower end and the way from it to the cap [rad]."""


@dataclass(frozen=True, slots=True)
class Fallen:
    """A tube that lies on the bench, robot base frame: its middle (x, y) [m], and yaw towards its cap [rad]."""

    position: tuple[float, float]
    yaw: float


def find_fallen(cloud: np.ndarray, caps: tuple[Cap, ...]) -> tuple[Fallen, ...]:
    """Return the tubes that lie on the bench in points (h, w, 3) [m] of the robot base frame; `caps` stand."""
    where = in_rectangle(cloud, *WORKSPACE)
    for cap in caps:
        where &= np.hypot(cloud[..., 0] - cap.position[0], cloud[..., 1] - cap.position[1]) > AROUND_CAP
    items = find_items(cloud, 0.0, where)
    ends = [item for item in items if abs(item.height - 2 * TUBE_RADIUS) < OFF and LIQUID[0] < item.length < LIQUID[1]]
    found = (_tube(item, end) for item in items if _is_cap(item) for end in ends if end is not item)
    return tuple(tube for tube in found if tube is not None)


def _is_cap(item: Item) -> bool:
    return abs(item.height - 2 * CAP_RADIUS) < OFF and abs(item.length - 2 * CAP_RADIUS) < OFF


def _tube(cap: Item, end: Item) -> Fallen | None:
    """Return the tube that `cap` and `end` are parts of, or None where they are not of one."""
    ahead = np.subtract(cap.position, end.position)
    apart = float(np.hypot(*ahead))
    yaw = float(np.arctan2(ahead[1], ahead[0]))
    if not APART[0] < apart < APART[1] or abs(np.sin(yaw - end.yaw)) > np.sin(ASTRAY):
        return None
    x, y = cap.position - (TUBE_HEIGHT - CAP_HEIGHT) / 2 * ahead / apart
    return Fallen((float(x), float(y)), yaw)
