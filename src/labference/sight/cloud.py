"""From delivered depth to points in the robot base frame, and back to pixels."""

from __future__ import annotations

import numpy as np

from ..wire import Frame
from ..wire.observation import DEPTH_UNIT


def points(frame: Frame) -> np.ndarray:
    """Return the point (h, w, 3) [m] that each pixel shows, robot base frame; NaN where depth had no return."""
    if frame.depth is None:
        raise ValueError(f"Frame {frame.camera!r} has no depth; ask for it with Capabilities(depth=True).")
    distance = np.where(frame.depth > 0, frame.depth * np.float32(DEPTH_UNIT), np.float32(np.nan))
    return np.asarray(distance[..., None] * rays(frame) + frame.pose[:3, 3].astype(np.float32))


def rays(frame: Frame, window: tuple[slice, slice] = (slice(None), slice(None))) -> np.ndarray:
    """Return the directions (h, w, 3) in which the pixels of a `window` look, robot base frame, 1 m deep."""
    height, width = frame.rgb.shape[:2]
    right, down, ahead = (frame.pose[:3, :3] @ np.linalg.inv(frame.intrinsics)).T
    rows, columns = np.arange(height)[window[0], None, None], np.arange(width)[None, window[1], None]
    return np.asarray((columns * right).astype(np.float32) + (rows * down + ahead).astype(np.float32))


def crossings(
    frame: Frame,
    point: np.ndarray,
    normal: np.ndarray,
    window: tuple[slice, slice] = (slice(None), slice(None)),
) -> np.ndarray:
    """Return where (h, w, 3) [m] the rays of a `window` cross the plane through `point` (3,) [m] across `normal`."""
    directions = rays(frame, window).astype(float)
    origin = frame.pose[:3, 3]
    depth = ((point - origin) @ normal) / (directions @ normal)
    return np.asarray(origin + depth[..., None] * directions)


def pixels(frame: Frame, places: np.ndarray) -> np.ndarray:
    """Return the image positions (..., 2), column and row, of points (..., 3) [m] in the robot base frame."""
    seen = (places - frame.pose[:3, 3]) @ frame.pose[:3, :3]
    image = seen @ frame.intrinsics.T
    return np.asarray(image[..., :2] / image[..., 2:])


def in_disc(cloud: np.ndarray, centre: tuple[float, float], radius: float) -> np.ndarray:
    """Return which points (h, w) lie above a disc of the support [m]."""
    return np.asarray(np.hypot(cloud[..., 0] - centre[0], cloud[..., 1] - centre[1]) <= radius)


def in_rectangle(cloud: np.ndarray, low: tuple[float, float], high: tuple[float, float]) -> np.ndarray:
    """Return which points (h, w) lie above a rectangle of the support, given by opposite corners [m]."""
    x, y = cloud[..., 0], cloud[..., 1]
    return np.asarray((x >= low[0]) & (x <= high[0]) & (y >= low[1]) & (y <= high[1]))
