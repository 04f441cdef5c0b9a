"""Find the pan of the balance: a disc of known size at a known height, somewhere."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from ..wire.labware import PAN_HEIGHT, PAN_RADIUS

LAYER = 0.003
"""How far from the catalogue height points may be to count as the pan [m]; the housing is 16 mm lower."""
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
    if len(layer) < 100:
        return None
    (x, y), radius = cv2.minEnclosingCircle(np.asarray(1000 * layer[:, :2], np.float32))
    if abs(radius / 1000 - PAN_RADIUS) > CLOSE:
        return None
    return Pan((x / 1000, y / 1000), radius / 1000, float(np.median(layer[:, 2])))
