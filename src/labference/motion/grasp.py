"""Where to take an item and which way to turn the hand, from the outlines of what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..wire.action import STROKE

FINGER_HALF_WIDTH = 0.011
"""Half the width of a finger across its closing axis, with margin [m]."""
FINGER_DEPTH = 0.022
"""How far a finger extends outwards from the face of its pad, with margin [m]."""
ROOMS = (0.012, 0.009, 0.007)
"""Gaps between pad and item before the grasp, widest first; the narrower ones are for crowds [m]."""
RELEASE = 0.007
"""Gap between pad and item after the release [m]; small, so that neighbours are not hit."""
YAWS = np.radians(np.arange(-85, 86, 5))
SAFE = 0.004
"""Finger clearance that makes the widest opening acceptable [m]."""
ENOUGH = 0.012
"""Finger clearance beyond which a smaller turn of the hand is worth more than room [m]."""

Outline = tuple[float, float, float]
"""A round item from above: x, y and radius, robot base frame [m]."""


class Turn(NamedTuple):
    """A yaw [rad] and how far the fingers then stay away from other items [m], negative where they collide."""

    yaw: float
    clearance: float


@dataclass(frozen=True, slots=True)
class Grasp:
    """Say where and how to take an item from above.

    position  of the tool centre point when the fingers close, robot base frame [m]
    yaw       of the hand [rad]; at 0 the fingers close along y
    opening   between the pads before the grasp [m]
    transit   height of the tool centre point while travelling, above everything on the way [m]
    thinnest  opening above which the closed fingers count as having stopped on something [m]
    draw      height over which the item is drawn straight up slowly, out of what holds it, before the lift [m]
    """

    position: tuple[float, float, float]
    yaw: float = 0.0
    opening: float = STROKE
    transit: float = 0.17
    thinnest: float = 0.003
    draw: float = 0.0


def grasp_standing(
    base: Sequence[float], radius: float, body_height: float, height: float, others: Sequence[Outline] = ()
) -> Grasp:
    """Return how to take a round item that stands on `base` (3,) [m] by its body, clear of `others`.

    `radius` and `body_height` [m] are those of the cylinder that the pads press on, `height` [m] is the whole item's.
    """
    openings = [min(STROKE, 2 * (radius + room)) for room in ROOMS]
    turn, opening = roomiest((base[0], base[1]), others, openings)
    rise = max(0.0115, min(0.6 * body_height, height - 0.012))
    return Grasp((float(base[0]), float(base[1]), float(base[2] + rise)), turn.yaw, opening)


def roomiest(target: tuple[float, float], others: Sequence[Outline], openings: Sequence[float]) -> tuple[Turn, float]:
    """Return the first of `openings` [m] that has a safe yaw around `target` [m], or the safest, and that yaw."""
    turns = [clear_yaw(target, others, opening) for opening in openings]
    safe = [index for index, turn in enumerate(turns) if turn.clearance >= SAFE]
    best = safe[0] if safe else int(np.argmax([turn.clearance for turn in turns]))
    return turns[best], openings[best]


def release_opening(radius: float) -> float:
    """Return the opening [m] that frees an item of `radius` [m] without hitting its neighbours."""
    return min(STROKE, 2 * (radius + RELEASE))


def clear_yaw(target: tuple[float, float], others: Sequence[Outline], opening: float) -> Turn:
    """Return the yaw whose fingers, `opening` [m] apart around `target` [m], stay clearest of `others`.

    Small yaws are preferred while there is room, so that the wrist turns little.
    """
    gaps = finger_clearances(np.array([target]), YAWS, others, opening)[0]
    best = int(np.argmax(preferences(gaps, ENOUGH)))
    return Turn(float(YAWS[best]), float(gaps[best]))


def preferences(gaps: np.ndarray, enough: float) -> np.ndarray:
    """Return the worth (..., k) of each yaw of `YAWS` with finger clearances `gaps` (..., k) [m]."""
    return np.minimum(gaps, enough) - 0.001 * np.abs(YAWS)


def finger_clearances(targets: np.ndarray, yaws: np.ndarray, others: Sequence[Outline], opening: float) -> np.ndarray:
    """Return distances (n, k) [m] from the fingers at `targets` (n, 2) [m] and `yaws` (k,) to the nearest item.

    The fingers sweep a rectangle: everything between the outer faces of the pads. Without others it is infinite.
    """
    if len(others) == 0:
        return np.full((len(targets), len(yaws)), np.inf)
    items = np.asarray(others, float)
    apart = (items[None, :, :2] - targets[:, None])[:, None]  # (n, 1, m, 2)
    across = np.stack((np.cos(yaws), np.sin(yaws)), axis=1)[None, :, None]  # (1, k, 1, 2)
    closing = np.stack((np.sin(yaws), -np.cos(yaws)), axis=1)[None, :, None]
    aside = np.maximum(np.abs(np.sum(apart * across, axis=3)) - FINGER_HALF_WIDTH, 0.0)
    outside = np.maximum(np.abs(np.sum(apart * closing, axis=3)) - (opening / 2 + FINGER_DEPTH), 0.0)
    return np.min(np.hypot(aside, outside) - items[None, None, :, 2], axis=2)
