"""Find the pan of the balance: a disc of known size at a known height, somewhere."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from ..wire.labware import PAN_HEIGHT, PAN_RADIUS

LAYER = 0.003
"""How far from the catalogue height points may be to count as the pan [m]; the housing is 16 mm lower."""
CELL = 0.002
"""Side of a cell of the grid in which the pan is looked for [m]."""
FEWEST = 100
"""Fewest pixels of a pan."""
CLOSE = 0.004
"""How far the radius found may be from the catalogue radius [m]."""


@dataclass(frozen=True, slots=True)
class Pan:
    """A pan in the robot base frame: centre (x, y), radius and height of the upper face [m]."""

    centre: tuple[float, float]
    radius: float
    height: float


def find_pan(cloud: np.ndarray) -> Pan | None:
    """Return the pan that points (h, w, 3) [m] of the robot base frame show, or None where too little of it is seen."""
    with np.errstate(invalid="ignore"):
        layer = cloud[np.abs(cloud[..., 2] - PAN_HEIGHT) < LAYER]
    if len(layer) < FEWEST:
        return None
    layer = layer[np.hypot(*(layer[:, :2] - _fullest(layer[:, :2])).T) < PAN_RADIUS + CLOSE]
    (x, y), radius = cv2.minEnclosingCircle(np.asarray(1000 * layer[:, :2], np.float32))
    if abs(radius / 1000 - PAN_RADIUS) > CLOSE:
        return None
    return Pan((x / 1000, y / 1000), radius / 1000, float(np.median(layer[:, 2])))


def _fullest(places: np.ndarray) -> np.ndarray:
    """Return the centre (2,) [m] of the disc of the size of the pan that covers most of `places` (n, 2) [m].

    Sides of items beside the pan are at its height too, and must not count.
    """
    reach = round(PAN_RADIUS / CELL)
    low = places.min(axis=0) - (reach + 1) * CELL
    cells = np.floor((places - low) / CELL).astype(int)
    grid = np.zeros(cells.max(axis=0) + reach + 2, np.float32)
    grid[cells[:, 0], cells[:, 1]] = 1.0
    across = np.arange(-reach, reach + 1)
    disc = (np.hypot(across[:, None], across) <= reach).astype(np.float32)
    covered = cv2.filter2D(grid, cv2.CV_32F, disc, borderType=cv2.BORDER_CONSTANT)
    best = np.argwhere(covered >= covered.max() - 0.5).mean(axis=0)
    return np.asarray(low + (best + 0.5) * CELL)
