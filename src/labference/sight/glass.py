"""Find a beaker by its edges in colour: a depth camera looks through glass."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

from ..wire import Frame
from ..wire.glassware import BEAKER_HEIGHT, BEAKER_RADIUS
from .cloud import pixels

RIM = 1.05 * BEAKER_RADIUS
"""Radius of the rim of a beaker [m]: it is flared."""
COARSE, FINE, FINEST = 0.004, 0.001, 0.00025
"""Steps of the search [m]."""
NEAR = 1.5
"""How far an edge may be from where it is expected [pixels]."""
EDGES = (20, 50)
"""Thresholds of the edge detector, of 255."""
CIRCLE = np.linspace(0.0, 2 * np.pi, 96, endpoint=False)
CLEAR = 0.70
"""Share of the rim and the lower edge that has to be seen."""


class Glass(NamedTuple):
    """A beaker: the middle of its bottom, x and y [m], robot base frame, and the share of its edges that is seen."""

    position: tuple[float, float]
    seen: float


def find_beaker(frame: Frame, height: float, centre: tuple[float, float], reach: float) -> Glass | None:
    """Return the beaker that stands at `height`, within `reach` of `centre` [m], or None where none is seen to."""
    grey = cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2GRAY)
    edges = cv2.Canny(grey, *EDGES)
    away = cv2.distanceTransform(255 - edges, cv2.DIST_L2, 5)
    best, spot = 0.0, np.array(centre)
    for step, within in ((COARSE, reach), (FINE, COARSE), (FINEST, FINE)):
        places = _grid(spot, step, within)
        worth = _worth(frame, away, places, height)
        spot, best = places[int(np.argmax(worth))], float(worth.max())
    seen = _seen(frame, away, spot[None], height)[0]
    return Glass((float(spot[0]), float(spot[1])), float(seen)) if best > 0 and seen >= CLEAR else None


def _grid(centre: np.ndarray, step: float, within: float) -> np.ndarray:
    across = np.arange(-within, within + step / 2, step)
    places = centre + np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)
    return np.asarray(places[np.hypot(*(places - centre).T) <= within * 1.001])


def _outlines(frame: Frame, places: np.ndarray, height: float) -> np.ndarray:
    """Return how far (n, k) [pixels] is meant: the image places (n, k, 2) of rim and lower edge of beakers at `places`.

    Of the lower edge, only the half that faces the camera is used.
    """
    towards = frame.pose[:2, 3] - places.mean(axis=0)
    facing = np.arctan2(towards[1], towards[0])
    front = facing + np.linspace(-np.pi / 2, np.pi / 2, 32)
    rim = np.stack((RIM * np.cos(CIRCLE), RIM * np.sin(CIRCLE), np.full_like(CIRCLE, height + BEAKER_HEIGHT)), axis=1)
    low = 0.97 * BEAKER_RADIUS
    foot = np.stack((low * np.cos(front), low * np.sin(front), np.full_like(front, height + 0.001)), axis=1)
    local = np.vstack((rim, foot))
    return pixels(frame, np.column_stack((places, np.zeros(len(places))))[:, None] + local)


def _distances(frame: Frame, away: np.ndarray, places: np.ndarray, height: float) -> np.ndarray:
    at = _outlines(frame, places, height).astype(np.float32)
    found = cv2.remap(
        away, at[..., 0], at[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=100.0
    )
    return np.asarray(found)


def _worth(frame: Frame, away: np.ndarray, places: np.ndarray, height: float) -> np.ndarray:
    return np.asarray(np.exp(-((_distances(frame, away, places, height) / NEAR) ** 2) / 2).mean(axis=1))


def _seen(frame: Frame, away: np.ndarray, places: np.ndarray, height: float) -> np.ndarray:
    return np.asarray((_distances(frame, away, places, height) <= NEAR).mean(axis=1))
