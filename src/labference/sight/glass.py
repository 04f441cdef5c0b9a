"""Find a beaker by its rim, a bright ring in the colour image: a depth camera looks through glass."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from ..wire import Frame
from ..wire.glassware import BEAKER_HEIGHT, BEAKER_RADIUS
from .cloud import pixels

COARSE, FINE, FINEST = 0.003, 0.001, 0.00025
"""Steps of the search [m]."""
CIRCLE = np.linspace(0.0, 2 * np.pi, 96, endpoint=False)
RINGS = (1.0, 0.8, 1.2)
"""Radii of the ring, and of what it is brighter than inside and outside, over that of a beaker."""
BRIGHTER = 3.0
"""How much brighter the rim is than what is around it, of 255."""
CLEAR = 0.65
"""Share of the rim that has to be seen."""


class Glass(NamedTuple):
    """A beaker: the middle of its bottom, x and y [m], robot base frame, and the share of its rim that is seen."""

    position: tuple[float, float]
    seen: float


def find_beaker(frame: Frame, height: float, centre: tuple[float, float], reach: float) -> Glass | None:
    """Return the beaker that stands at `height`, within `reach` of `centre` [m], or None where none is seen to."""
    grey = cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2GRAY).astype(np.float32)
    spot = np.array(centre)
    for step, within in ((COARSE, reach), (FINE, COARSE), (FINEST, FINE)):
        places = _grid(spot, step, within)
        contrast = _contrasts(frame, grey, places, height + BEAKER_HEIGHT)
        spot = places[int(np.argmax(contrast.mean(axis=1)))]
    seen = float((_contrasts(frame, grey, spot[None], height + BEAKER_HEIGHT)[0] > BRIGHTER).mean())
    return Glass((float(spot[0]), float(spot[1])), seen) if seen >= CLEAR else None


def _grid(centre: np.ndarray, step: float, within: float) -> np.ndarray:
    across = np.arange(-within, within + step / 2, step)
    places = centre + np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)
    return np.asarray(places[np.hypot(*(places - centre).T) <= within * 1.001])


def _contrasts(frame: Frame, grey: np.ndarray, places: np.ndarray, height: float) -> np.ndarray:
    """Return how much brighter (n, k) rings at `height` [m] around `places` (n, 2) are than what is around them."""
    on, inside, outside = (_around(frame, grey, places, height, share * BEAKER_RADIUS) for share in RINGS)
    return np.asarray(on - (inside + outside) / 2)


def _around(frame: Frame, grey: np.ndarray, places: np.ndarray, height: float, radius: float) -> np.ndarray:
    ring = np.column_stack((radius * np.cos(CIRCLE), radius * np.sin(CIRCLE), np.full(len(CIRCLE), height)))
    middles = np.column_stack((places, np.zeros(len(places))))[:, None]
    at = pixels(frame, middles + ring).astype(np.float32)
    return np.asarray(cv2.remap(grey, at[..., 0], at[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))
