"""Where something of known shape stands: the place at which its shape, seen by a depth camera, explains the depth best.

Every pixel votes, those with noise too, and what is hidden or has no return is left out. Glass has no shape here: depth
cameras look through it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from scipy.optimize import minimize

from ..wire import Frame
from ..wire.observation import DEPTH_UNIT
from .cloud import pixels, rays

ASTRAY = 0.015
"""Difference of depth from which a pixel does not speak for a shape, however large it is [m]."""
NOISE, LEAST = 0.0031, 0.0015
"""Standard deviation of a depth camera's noise at 1 m, which grows with the square of the distance, and the smallest
difference that is expected anyway [m]. The first is what is told of the RealSense D435."""
HIDDEN_COST = 0.6
"""What a pixel costs that shows something nearer, over one that shows something farther."""
MOST = 800
"""Pixels that are looked at while searching."""
MARGIN = 6
"""Pixels around what was segmented that are looked at."""
CLOSE = 0.0003
"""Step below which a search ends [m]."""


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A part of `radius` around the z axis of its frame, from `low` to `high` [m]; `open` for a wall alone."""

    radius: float
    low: float
    high: float
    open: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A part with half-lengths `half` along x and y, between heights `low` and `high` of its frame [m]."""

    half: tuple[float, float]
    low: float
    high: float


Solid = Cylinder | Block
Solids = Sequence[Solid]


class Placed(NamedTuple):
    """Where a shape is: its origin (3,) [m] and its axes, the columns of a rotation (3, 3), robot base frame."""

    origin: np.ndarray
    turn: np.ndarray


class Fitted(NamedTuple):
    """How well a shape at a place explains a frame.

    agreement  share of its visible pixels whose depth is that of the shape
    seen       share of its pixels that nothing hides
    covered    share of the segmented pixels that it explains
    """

    placed: Placed
    agreement: float
    seen: float
    covered: float

    @property
    def score(self) -> float:
        """Return how much speaks for it, 0..1."""
        return self.agreement * self.covered


def upright(x: float, y: float, z: float = 0.0, yaw: float = 0.0) -> Placed:
    """Return the place of something that stands at (x, y, z) [m], turned by `yaw` [rad]."""
    c, s = np.cos(yaw), np.sin(yaw)
    return Placed(np.array((x, y, z)), np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))))


def along(origin: np.ndarray, axis: np.ndarray) -> Placed:
    """Return the place of something whose z axis points along `axis` (3,)."""
    a, b, c = (float(value) for value in axis)
    size = math.sqrt(a * a + b * b + c * c)
    a, b, c = a / size, b / size, c / size
    # Written out: np.cross takes longer than all the rest of a search.
    side = math.hypot(a, c) if abs(b) < 0.9 else math.hypot(b, c)
    x, y, z = (c / side, 0.0, -a / side) if abs(b) < 0.9 else (0.0, -c / side, b / side)
    across = (b * z - c * y, c * x - a * z, a * y - b * x)
    return Placed(np.asarray(origin, float), np.column_stack(((x, y, z), across, (a, b, c))))


def seen_depth(solids: Solids, placed: Placed, camera: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the depth (n,) [m] at which rays from `camera` (3,) meet the nearest solid, inf where they pass by.

    `directions` (n, 3) are 1 m deep, robot base frame.
    """
    start, way = (camera - placed.origin) @ placed.turn, directions @ placed.turn
    meets = [
        _block(solid, start, way) if isinstance(solid, Block) else _cylinder(solid, start, way) for solid in solids
    ]
    return np.asarray(np.min(meets, axis=0))


def fit(
    frame: Frame, mask: np.ndarray, solids: Solids, start: np.ndarray, steps: np.ndarray, place: Callable[..., Placed]
) -> Fitted:
    """Return the best place of `solids`, searched from `place(*start)` with first `steps` of its parameters.

    `mask` (h, w) are pixels that were segmented as a part of the thing.
    """
    view = _View(frame, mask, MOST)
    corners = np.vstack((start, start + np.diag(steps)))
    found = minimize(
        lambda values: view.cost(solids, place(*values)),
        start,
        method="Nelder-Mead",
        options={"initial_simplex": corners, "xatol": CLOSE, "fatol": 1e-4, "maxfev": 60 * len(start)},
    )
    return check(frame, mask, solids, place(*found.x))


def cheapest(frame: Frame, mask: np.ndarray, solids: Solids, places: Sequence[Placed]) -> list[int]:
    """Return the order of `places` by how little of the depth they leave unexplained, the best first."""
    view = _View(frame, mask, MOST)
    return [int(index) for index in np.argsort([view.cost(solids, placed) for placed in places])]


def check(frame: Frame, mask: np.ndarray, solids: Solids, placed: Placed) -> Fitted:
    """Return how much of what `frame` shows agrees with `solids` at a place."""
    return _View(frame, mask, None).fitted(solids, placed)


def rendered(frame: Frame, solids: Solids, placed: Placed) -> np.ndarray:
    """Return the depth (h, w) [m] at which a camera would see `solids` at a place, inf beside them."""
    window = window_of(frame, _corners(solids) @ placed.turn.T + placed.origin)
    depth = np.full(frame.rgb.shape[:2], np.inf)
    directions = rays(frame, window).astype(float)
    found = seen_depth(solids, placed, frame.pose[:3, 3], directions.reshape(-1, 3))
    depth[window] = found.reshape(directions.shape[:2])
    return depth


def _corners(solids: Solids) -> np.ndarray:
    """Return the corners (n, 3) [m] of the boxes around solids, in their frame."""
    corners = []
    for solid in solids:
        half = solid.half if isinstance(solid, Block) else (solid.radius, solid.radius)
        corners += [(i * half[0], j * half[1], z) for i in (-1, 1) for j in (-1, 1) for z in (solid.low, solid.high)]
    return np.array(corners)


def silhouette(frame: Frame, solids: Solids, placed: Placed) -> np.ndarray:
    """Return the pixels (h, w) in which `solids` at a place are seen, those included where something hides them."""
    return np.asarray(np.isfinite(rendered(frame, solids, placed)))


def cleaned(frame: Frame) -> np.ndarray:
    """Return the depth (h, w) of a frame [m] as the median around each pixel; 0 where most of it has no return."""
    if frame.depth is None:
        raise ValueError(f"Frame {frame.camera!r} has no depth; ask for it with Capabilities(depth=True).")
    return np.asarray(cv2.medianBlur((frame.depth * np.float32(DEPTH_UNIT)).astype(np.float32), 5))


class _View:
    """The pixels of a window of a frame, some of them or all."""

    def __init__(self, frame: Frame, mask: np.ndarray, most: int | None) -> None:
        if frame.depth is None:
            raise ValueError(f"Frame {frame.camera!r} has no depth; ask for it with Capabilities(depth=True).")
        rows, columns = np.nonzero(mask)
        margin = MARGIN + (int(max(np.ptp(rows), np.ptp(columns))) // 4 if len(rows) else 0)
        window = tuple(
            slice(max(0, int(found.min()) - margin), min(size, int(found.max()) + margin + 1))
            for found, size in ((rows, mask.shape[0]), (columns, mask.shape[1]))
        )
        depth = frame.depth[window].ravel() * DEPTH_UNIT
        own = mask[window].ravel()
        kept = np.flatnonzero(depth > 0)
        if most is not None and len(kept) > most:
            kept = kept[:: len(kept) // most + 1]
        self.depth, self.own = depth[kept], own[kept]
        self.directions = rays(frame, (window[0], window[1])).reshape(-1, 3)[kept].astype(float)
        self.camera = frame.pose[:3, 3].astype(float)

    def cost(self, solids: Solids, placed: Placed) -> float:
        """Return what is not explained, over the number of segmented pixels."""
        expected = seen_depth(solids, placed, self.camera, self.directions)
        met = np.isfinite(expected)
        apart = self.depth - np.where(met, expected, 0.0)
        off = np.minimum(np.abs(apart) / ASTRAY, 1.0)
        off = np.where(apart < -ASTRAY, HIDDEN_COST, off)
        return float((off[met].sum() + (self.own & ~met).sum()) / max(1, self.own.sum()))

    def fitted(self, solids: Solids, placed: Placed) -> Fitted:
        """Return agreement and visibility at a place."""
        expected = seen_depth(solids, placed, self.camera, self.directions)
        met = np.isfinite(expected)
        if not met.any():
            return Fitted(placed, 0.0, 0.0, 0.0)
        apart = self.depth[met] - expected[met]
        near = 3 * NOISE * expected[met] ** 2 + LEAST
        hidden = apart < -np.maximum(near, ASTRAY)
        open_ = ~hidden
        agreement = float((np.abs(apart[open_]) < near[open_]).mean()) if open_.any() else 0.0
        covered = float(met[self.own].mean()) if self.own.any() else 0.0
        return Fitted(placed, agreement, float(open_.mean()), covered)


def _block(block: Block, start: np.ndarray, way: np.ndarray) -> np.ndarray:
    low = np.array((-block.half[0], -block.half[1], block.low))
    high = np.array((block.half[0], block.half[1], block.high))
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (low - start) / way, (high - start) / way
    enter, leave = np.minimum(one, other).max(axis=1), np.maximum(one, other).min(axis=1)
    return np.where((enter <= leave) & (enter > 0), enter, np.inf)


def _cylinder(cylinder: Cylinder, start: np.ndarray, way: np.ndarray) -> np.ndarray:
    a = (way[:, :2] ** 2).sum(axis=1)
    b = way[:, :2] @ start[:2]
    c = start[:2] @ start[:2] - cylinder.radius**2
    inside = b**2 - a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        side = (-b - np.sqrt(np.where(inside >= 0, inside, np.nan))) / a
        height = start[2] + side * way[:, 2]
        best = np.where((side > 0) & (height >= cylinder.low) & (height <= cylinder.high), side, np.inf)
        for level in () if cylinder.open else (cylinder.low, cylinder.high):
            end = (level - start[2]) / way[:, 2]
            away = np.hypot(*(start[:2, None] + end * way[:, :2].T))
            best = np.where((end > 0) & (away <= cylinder.radius) & (end < best), end, best)
    return np.asarray(best)


def window_of(frame: Frame, places: np.ndarray, margin: int = MARGIN) -> tuple[slice, slice]:
    """Return the rows and columns of a frame that show places (n, 3) [m], with a margin of pixels."""
    at = pixels(frame, places)
    height, width = frame.rgb.shape[:2]
    left, top = np.floor(at.min(axis=0)).astype(int) - margin
    right, bottom = np.ceil(at.max(axis=0)).astype(int) + margin + 1
    return slice(max(0, top), max(0, min(height, bottom))), slice(max(0, left), max(0, min(width, right)))
