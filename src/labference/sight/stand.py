"""Find the stand that hands tubes out, and the marked region of the bench."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from ..wire import Frame
from ..wire.tubes import REGION_HALF, STAND_HALF, STAND_HEIGHT, STAND_PLACES, stand_position
from .items import patches
from .planar import agreement, fit, hues, level, rectangle, rectangular, to_base, to_local

AROUND = 0.015
"""How far around a stand or region is looked [m]."""
ALIKE = 0.70
"""Smallest agreement between what is seen and a stand or region in the pose found."""
FILM = 0.0015
"""How far from the bench points may be to belong to a printed region [m]."""
GREEN = (140.0, 195.0)
"""Hues of the print of a region, edge and stripes [degrees]; the bench has 210."""
PALEST = 0.05
"""Smallest saturation of the print."""
FEWEST = 500
"""Fewest pixels of a region, of every second row and column."""
CLOSE = 0.010
"""How far the sides of what looks like a region may be from the catalogue [m]."""


@dataclass(frozen=True, slots=True)
class StandView:
    """A stand in the robot base frame: middle (x, y) [m] and yaw [rad] of its long axis, -pi/2..pi/2 about +y."""

    centre: tuple[float, float]
    yaw: float

    def mouths(self) -> dict[int, tuple[float, float]]:
        """Return where the holes are [m], in order along its +y axis; which end comes first cannot be seen."""
        pose = np.array((*self.centre, self.yaw))
        at = {place: to_base(np.array(stand_position(place)), pose) for place in range(STAND_PLACES)}
        return {place: (float(x), float(y)) for place, (x, y) in at.items()}


@dataclass(frozen=True, slots=True)
class RegionView:
    """A marked square of the bench in the robot base frame: middle (x, y) [m] and yaw [rad], -pi/4..pi/4."""

    centre: tuple[float, float]
    yaw: float

    def inside(self, place: tuple[float, float]) -> float:
        """Return how far (x, y) [m] lies inside the nearest side [m], negative outside."""
        u, v = to_local(np.array(place), np.array((*self.centre, self.yaw)))
        return float(REGION_HALF - max(abs(u), abs(v)))


def find_stand(frame: Frame, cloud: np.ndarray) -> StandView | None:
    """Return the stand that `frame`, with points `cloud` (h, w, 3) [m], shows, or None where too little is seen."""
    start = rectangular(cloud, STAND_HEIGHT, STAND_HALF)
    if start is None:
        return None
    plane = level(frame, cloud, STAND_HEIGHT, (start[0], start[1]), float(np.hypot(*STAND_HALF)) + AROUND)
    seen = plane.on[:, None].astype(float)
    pose = fit(plane.places, seen, _stand, start)
    if agreement(plane.places, seen, _stand, pose) < ALIKE:
        return None
    return StandView((float(pose[0]), float(pose[1])), _folded(pose[2], np.pi))


def find_region(frame: Frame, cloud: np.ndarray) -> RegionView | None:
    """Return the marked region that `frame`, with points `cloud` (h, w, 3) [m], shows, or None where it is hidden."""
    coarse, colours = cloud[::2, ::2], frame.rgb[::2, ::2]
    with np.errstate(invalid="ignore"):
        flat = np.abs(coarse[..., 2]) < FILM
    film = coarse[flat][_printed(*hues(colours[flat]))][:, :2]
    if len(film) < FEWEST:
        return None
    labels = patches(film)
    names, counts = np.unique(labels, return_counts=True)
    (x, y), sides, angle = cv2.minAreaRect(np.asarray(1000 * film[labels == names[np.argmax(counts)]], np.float32))
    if np.any(np.abs(np.array(sides) / 1000 - 2 * REGION_HALF) > CLOSE):
        return None
    start = np.array((x / 1000, y / 1000, np.radians(angle)))
    plane = level(frame, cloud, 0.0, (start[0], start[1]), float(np.sqrt(2) * REGION_HALF) + AROUND)
    seen = (plane.on & _printed(plane.hue, plane.saturation))[:, None].astype(float)
    pose = fit(plane.places, seen, _region, start)
    if agreement(plane.places, seen, _region, pose) < ALIKE:
        return None
    return RegionView((float(pose[0]), float(pose[1])), _folded(pose[2], np.pi / 2))


def _printed(hue: np.ndarray, saturation: np.ndarray) -> np.ndarray:
    return np.asarray((hue > GREEN[0]) & (hue < GREEN[1]) & (saturation > PALEST))


def _stand(places: np.ndarray, width: float) -> np.ndarray:
    """Return how much (n, 1) of the upper face of a stand, holes included, is at `places` (n, 2) [m] in its frame."""
    x, y = STAND_HALF
    return rectangle(places, (-x, -y), (x, y), width)[:, None]


def _region(places: np.ndarray, width: float) -> np.ndarray:
    """Return how much (n, 1) of a region is at `places` (n, 2) [m] in its frame."""
    return rectangle(places, (-REGION_HALF, -REGION_HALF), (REGION_HALF, REGION_HALF), width)[:, None]


def _folded(yaw: float, turn: float) -> float:
    """Return the yaw nearest to 0 of something that looks the same after `turn` [rad]."""
    return float(yaw - turn * np.rint(yaw / turn))
