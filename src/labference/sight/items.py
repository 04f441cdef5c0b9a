"""Depth segmentation: what stands or lies on a flat support, seen from obliquely above."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

CELL = 0.002
"""Side of a cell of the occupancy grid [m]: two pixels of the widest camera, and a tenth of the gap between items."""
LOWEST, TALLEST = 0.005, 0.080
"""Heights over the support between which points belong to items [m]: above its noise, below a parked hand."""
FEWEST = 20
"""Fewest pixels of an item; less is the rim of something hidden."""
FACE = 0.001
"""Depth of the layer that counts as the top face of an item [m]."""
ROUND = 1.7
"""Largest ratio between the sides of a top face for which an item stands."""
NARROWEST = 0.008
"""Smallest width of a top face for which an item stands [m]."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something on a support, robot base frame.

    position    (x, y) of its axis where it stands, of its middle where it lies [m]
    base        height of the support below it [m]
    radius      half its width seen from above [m]
    height      over the support [m]
    top_radius  radius of its top face [m]
    standing    whether its top face is round
    yaw         direction of its long side where it lies [rad]
    length      long side seen from above [m]
    """

    position: tuple[float, float]
    base: float
    radius: float
    height: float
    top_radius: float
    standing: bool
    yaw: float
    length: float


def find_items(cloud: np.ndarray, base: float, where: np.ndarray) -> tuple[Item, ...]:
    """Return the items that rise from a support at height `base` [m].

    `cloud` (h, w, 3) are points in the robot base frame, `where` (h, w) says which of them may belong to items.
    """
    with np.errstate(invalid="ignore"):
        rise = cloud[..., 2] - base
        chosen = where & (rise > LOWEST) & (rise < TALLEST)
    found = cloud[chosen]
    if len(found) == 0:
        return ()
    labels = patches(found[:, :2])
    groups = [found[labels == label] for label in np.unique(labels)]
    return tuple(_describe(group, base) for group in groups if len(group) >= FEWEST)


def patches(places: np.ndarray) -> np.ndarray:
    """Return which connected patch of occupied floor each of `places` (n, 2) [m] belongs to."""
    cells = np.floor((places - places.min(axis=0)) / CELL).astype(int) + 1
    grid = np.zeros(cells.max(axis=0) + 2, np.uint8)
    grid[cells[:, 0], cells[:, 1]] = 1
    grid = cv2.morphologyEx(grid, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    _, labels = cv2.connectedComponents(grid, connectivity=8)
    return np.asarray(labels[cells[:, 0], cells[:, 1]])


def _describe(group: np.ndarray, base: float) -> Item:
    """Measure one patch of points (n, 3) [m]."""
    top = float(np.percentile(group[:, 2], 99))
    face = _millimetres(group[group[:, 2] > top - FACE])
    (_, _), sides, _ = cv2.minAreaRect(face)
    narrow, wide = sorted(sides)
    standing = narrow > 1000 * NARROWEST and wide < ROUND * narrow
    (x, y), top_radius = cv2.minEnclosingCircle(face)
    centre, extents, angle = cv2.minAreaRect(_millimetres(group))
    if not standing:
        x, y = centre
    away = np.hypot(*(1000 * group[:, :2] - (x, y)).T)
    radius = float(np.percentile(away, 98)) if standing else min(extents) / 2
    return Item(
        position=(x / 1000, y / 1000),
        base=base,
        radius=radius / 1000,
        height=top - base,
        top_radius=top_radius / 1000,
        standing=standing,
        yaw=float(np.radians(angle if extents[0] >= extents[1] else angle + 90)),
        length=max(extents) / 1000,
    )


def _millimetres(group: np.ndarray) -> np.ndarray:
    return np.asarray(1000 * group[:, :2], np.float32)
