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
MOST = 12.0
"""Brightness over which a place of the ring counts no more, of 255."""
TRIES, APART = 6, 0.007
"""How many places are looked at closely, and their distance from each other [m]."""
CLEAR = 0.75
"""Share of the rim that has to be seen."""


class Glass(NamedTuple):
    """A beaker: the middle of its bottom, x and y [m], robot base frame, and the share of its rim that is seen."""

    position: tuple[float, float]
    seen: float


def find_beaker(frame: Frame, height: float, centre: tuple[float, float], reach: float) -> Glass | None:
    """Return the beaker that stands at `height`, within `reach` of `centre` [m], or None where none is seen to."""
    grey = cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2GRAY).astype(np.float32)
    top = height + BEAKER_HEIGHT
    places = _grid(np.array(centre), COARSE, reach)
    tries = [_refined(frame, grey, spot, top) for spot in _likeliest(places, _worth(frame, grey, places, top))]
    best = max(tries, key=lambda each: each.seen)
    return best if best.seen >= CLEAR else None


def _likeliest(places: np.ndarray, worth: np.ndarray) -> list[np.ndarray]:
    """Return the best of `places` (n, 2), each apart from those before."""
    chosen: list[np.ndarray] = []
    for index in np.argsort(-worth):
        if all(np.hypot(*(places[index] - other)) >= APART for other in chosen):
            chosen.append(places[index])
        if len(chosen) == TRIES:
            break
    return chosen


def _refined(frame: Frame, grey: np.ndarray, spot: np.ndarray, top: float) -> Glass:
    """Return the beaker nearby whose rim has most contrast: without a limit, which would flatten the peak."""
    for step, within in ((FINE, COARSE), (FINEST, FINE)):
        places = _grid(spot, step, within)
        spot = places[int(np.argmax(_contrasts(frame, grey, places, top).mean(axis=1)))]
    seen = float((_contrasts(frame, grey, spot[None], top)[0] > BRIGHTER).mean())
    return Glass((float(spot[0]), float(spot[1])), seen)


def _worth(frame: Frame, grey: np.ndarray, places: np.ndarray, top: float) -> np.ndarray:
    """Return how much of a ring is bright (n,): a part that is very bright, like an edge of the balance, is no more."""
    return np.asarray(np.clip(_contrasts(frame, grey, places, top), -MOST, MOST).mean(axis=1))


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
