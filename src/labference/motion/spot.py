"""Where an item can be put down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .grasp import YAWS, Outline, finger_clearances, preferences, release_opening

SMALLEST_GAP = 0.004
"""Distance that an item keeps from its neighbours and from the edge of its region [m]."""
EDGE = 0.010
"""Distance from the edge below which a spot is worth less [m]."""


@dataclass(frozen=True, slots=True)
class Disc:
    """A round region such as a pan: centre (2,) and radius, robot base frame [m]."""

    centre: tuple[float, float]
    radius: float

    def points(self) -> np.ndarray:
        """Return candidate positions (n, 2) [m], on rings from the centre outwards."""
        rings = np.linspace(0.0, self.radius, 12)[1:]
        angles = np.radians(np.arange(0, 360, 20))
        circle = np.stack((np.cos(angles), np.sin(angles)), axis=1)
        around = (rings[:, None, None] * circle).reshape(-1, 2)
        return np.array(self.centre) + np.vstack((np.zeros((1, 2)), around))

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Return the distances (n,) [m] of `points` (n, 2) from the edge, positive inside."""
        return self.radius - np.hypot(*(points - np.array(self.centre)).T)


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A rectangular region such as a part of the table: two opposite corners (2,), robot base frame [m]."""

    low: tuple[float, float]
    high: tuple[float, float]

    def points(self) -> np.ndarray:
        """Return candidate positions (n, 2) [m], on a grid of 15 mm."""
        axes = [np.arange(low, high + 1e-9, 0.015) for low, high in zip(self.low, self.high, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Return the distances (n,) [m] of `points` (n, 2) from the nearest edge, positive inside."""
        return np.min(np.minimum(points - np.array(self.low), np.array(self.high) - points), axis=1)


class Spot(NamedTuple):
    """A free place: position (2,) [m], yaw of the hand [rad], clearances of the fingers and of the item [m]."""

    position: tuple[float, float]
    yaw: float
    clearance: float
    gap: float


def free_spot(
    region: Disc | Rectangle,
    others: Sequence[Outline],
    radius: float,
    roomy: float = 0.03,
    rng: np.random.Generator | None = None,
) -> Spot | None:
    """Return the best place in `region` for a round item of `radius` [m], or None where no place is free.

    Counts the item's distance from `others` up to `roomy` [m], the room of the fingers that release it, and the edge.
    Equally good places are taken in a fixed order, or in one drawn from `rng`.
    """
    points = region.points() if rng is None else rng.permutation(region.points())
    edge = region.inside(points) - radius
    gap = (
        np.min([np.hypot(*(points - (x, y)).T) - r - radius for x, y, r in others], axis=0) if others else edge + np.inf
    )
    free = (edge >= SMALLEST_GAP) & (gap >= SMALLEST_GAP)
    points, edge, gap = points[free], edge[free], gap[free]
    if len(points) == 0:
        return None
    fingers = finger_clearances(points, YAWS, others, release_opening(radius))
    worth = preferences(fingers, 0.01)
    score = worth.max(axis=1) + 0.5 * np.minimum(gap, roomy) - np.maximum(EDGE - edge, 0.0)
    best = int(np.argmax(score))
    turn = int(np.argmax(worth[best]))
    x, y = points[best]
    return Spot((float(x), float(y)), float(YAWS[turn]), float(fingers[best, turn]), float(gap[best]))
