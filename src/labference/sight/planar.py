"""Fit the pose of a flat pattern: colours on a plane of known height, parts of which may be hidden."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from ..wire import Frame
from .cloud import crossings, pixels
from .items import patches

Template = Callable[[np.ndarray, float], np.ndarray]
"""From places (n, 2) [m] in the frame of a pattern, and the width [m] of its blurred edges, to how much of each colour
(n, k) is there, 0..1."""

STAGES = ((0.0040, 9), (0.0020, 5), (0.0012, 2))
"""Widths of the blurred edges of a template, from the first rounds to the last [m], and of how many places one is
looked at; a pixel is about 1.2 mm wide."""
ROUNDS = 8
"""Most Gauss-Newton rounds per stage."""
STEP = np.array((1e-4, 1e-4, 1e-3))
"""Differences for derivatives with respect to x, y [m] and yaw [rad]."""
LONGEST = np.array((0.004, 0.004, 0.06))
"""Longest step of a round: x, y [m] and yaw [rad]."""
BELOW, ABOVE = 0.0006, 0.0026
"""How far under and over a plane something still belongs to it [m]: bars and markers are raised by 2 mm."""
LAYER = 0.0010
"""How far from a plane points may be to show how far it extends [m]."""
CLOSE = 0.008
"""How far the sides of what looks like a known rectangle may be from the catalogue [m]."""
LARGEST = 4
"""Patches that may be it, from the largest on."""


def to_local(places: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return places (..., 2) [m] of the robot base frame in a frame at `pose`: x, y [m] and yaw [rad]."""
    c, s = np.cos(pose[2]), np.sin(pose[2])
    return np.asarray((places - pose[:2]) @ np.array(((c, -s), (s, c))))


def to_base(places: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return places (..., 2) [m] of a frame at `pose` in the robot base frame."""
    c, s = np.cos(pose[2]), np.sin(pose[2])
    return np.asarray(places @ np.array(((c, s), (-s, c))) + pose[:2])


def fit(places: np.ndarray, seen: np.ndarray, template: Template, start: np.ndarray) -> np.ndarray:
    """Return the pose (3,) of a pattern, searched from `start`, that explains best what is `seen` (n, k) at `places`.

    `places` (n, 2) [m] lie on the plane of the pattern; leave out those where something hides it.
    """
    pose = np.array(start, float)
    for width, every in STAGES:
        some = places[::every]
        for _ in range(ROUNDS):
            expected = template(to_local(some, pose), width)
            slopes = np.stack(
                [
                    (template(to_local(some, pose + step), width) - expected).ravel() / step[axis]
                    for axis, step in enumerate(np.diag(STEP))
                ],
                axis=1,
            )
            normal = slopes.T @ slopes
            damped = normal + 1e-6 * np.diag(np.diag(normal)) + 1e-9 * np.eye(3)
            move = np.clip(np.linalg.solve(damped, slopes.T @ (seen[::every] - expected).ravel()), -LONGEST, LONGEST)
            pose += move
            if np.all(np.abs(move) < 0.03 * STEP):
                break
    pose[2] = (pose[2] + np.pi) % (2 * np.pi) - np.pi
    return pose


def step_up(distance: np.ndarray, width: float) -> np.ndarray:
    """Return 0 well before an edge at 0 and 1 well after it, rising over `width` [m]."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(4.0 * distance / width, -30, 30))))


def rectangle(places: np.ndarray, low: tuple[float, float], high: tuple[float, float], width: float) -> np.ndarray:
    """Return how much (n,) of `places` (n, 2) [m] lies inside a rectangle with blurred edges."""
    u, v = places[:, 0], places[:, 1]
    across = step_up(u - low[0], width) * step_up(high[0] - u, width)
    return np.asarray(across * step_up(v - low[1], width) * step_up(high[1] - v, width))


def agreement(places: np.ndarray, seen: np.ndarray, template: Template, pose: np.ndarray) -> float:
    """Return how much of what is `seen` (n, k) at `places` (n, 2) [m] a pattern at `pose` explains: 1 for all of it.

    Of every colour, what both show counts over what either shows.
    """
    expected = template(to_local(places, pose), STAGES[-1][0])
    both, either = np.minimum(seen, expected).sum(axis=0), np.maximum(seen, expected).sum(axis=0)
    return float(np.min(both / np.maximum(either, 1e-9)))


@dataclass(frozen=True, slots=True)
class Level:
    """What pixels show that look at a level plane, those apart where something above the plane hides it.

    places      (n, 2) where they look at the plane, robot base frame [m]
    on          (n,) whether they show something at the height of the plane; the others show something lower
    hue         (n,) [degrees]; saturation (n,) 0..1
    area        mean area of a pixel on the plane [m2]
    """

    places: np.ndarray
    on: np.ndarray
    hue: np.ndarray
    saturation: np.ndarray
    area: float


def level(frame: Frame, cloud: np.ndarray, height: float, centre: tuple[float, float], reach: float) -> Level:
    """Return what is seen of the level plane at `height`, within `reach` of `centre` [m]."""
    corners = np.array([(centre[0] + i * reach, centre[1] + j * reach, height) for i in (-1, 1) for j in (-1, 1)])
    at = pixels(frame, corners)
    low = np.maximum(np.floor(at.min(axis=0)).astype(int), 0)
    high = np.ceil(at.max(axis=0)).astype(int) + 1
    window = (slice(low[1], high[1]), slice(low[0], high[0]))
    places = crossings(frame, np.array((0.0, 0.0, height)), np.array((0.0, 0.0, 1.0)), window)[..., :2]
    columns = np.hypot(*np.moveaxis(np.diff(places, axis=1), -1, 0)).mean()
    rows = np.hypot(*np.moveaxis(np.diff(places, axis=0), -1, 0)).mean()
    rise = cloud[window][..., 2] - height
    with np.errstate(invalid="ignore"):
        kept = (rise < ABOVE) & (np.hypot(*np.moveaxis(places - centre, -1, 0)) < reach)
    hue, saturation = hues(frame.rgb[window][kept])
    return Level(places[kept], rise[kept] > -BELOW, hue, saturation, float(columns * rows))


def hues(rgb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return hue [degrees] and saturation (0..1) of colours (n, 3) on any scale."""
    most, least = rgb.max(axis=1).astype(float), rgb.min(axis=1).astype(float)
    red, green, blue = rgb.T.astype(float)
    x, y = red - (green + blue) / 2, np.sqrt(0.75) * (green - blue)
    return np.degrees(np.arctan2(y, x)) % 360.0, (most - least) / np.maximum(most, 1e-9)


def rectangular(cloud: np.ndarray, height: float, half: tuple[float, float]) -> np.ndarray | None:
    """Return x, y [m] and yaw [rad] (3,) of the patch of points at `height` that has the size of a rectangle.

    `half` are half its sides along x and y [m]; yaw is one of two, or of four where the sides differ little. None where
    nothing of that size is at that height.
    """
    with np.errstate(invalid="ignore"):
        layer = cloud[np.abs(cloud[..., 2] - height) < LAYER][:, :2]
    if len(layer) == 0:
        return None
    labels = patches(layer)
    names, counts = np.unique(labels, return_counts=True)
    for name in names[np.argsort(counts)[::-1][:LARGEST]]:
        (x, y), sides, angle = cv2.minAreaRect(np.asarray(1000 * layer[labels == name], np.float32))
        if np.all(np.abs(np.sort(sides) / 1000 - 2 * np.sort(half)) < CLOSE):
            along_x = (sides[0] >= sides[1]) == (half[0] >= half[1])
            return np.array((x / 1000, y / 1000, np.radians(angle if along_x else angle + 90)))
    return None
