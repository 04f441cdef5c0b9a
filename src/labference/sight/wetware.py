"""The things of a wet bench as cameras see them: what of each is opaque, how its pixels are told apart, where it is.

Of tubes, that is the label; of the rod, the grip; of the rinse station, the plate: depth cameras look through glass.
The balance is found by its pan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from ..wire import Frame
from ..wire.glassware import (
    HOLDER_HALF,
    HOLDER_HEIGHT,
    LABEL_BAND,
    LABEL_RADIUS,
    PROBE_COLLAR,
    PROBE_HANDLE,
    PROBE_LENGTH,
    PROBE_RADIUS,
    RACK_HALF,
    RACK_HEIGHT,
    RINSE_FLOOR,
    RINSE_HALF,
    ROD_COLLAR,
    ROD_HANDLE,
    ROD_LENGTH,
    TUBE_RADIUS,
)
from ..wire.labware import PAN_HEIGHT, PAN_RADIUS
from .cloud import crossings, rays
from .planar import hues
from .solids import Block, Cylinder, Fitted, Placed, Solid, along, cheapest, cleaned, fit, upright

TUBE, PROBE, ROD, RACK, HOLDER, RINSE, BALANCE = "tube", "probe", "rod", "rack", "holder", "rinse", "balance"
LOOSE, FIXED = (TUBE, PROBE, ROD), (RACK, HOLDER, RINSE, BALANCE)
"""Kinds that a hand can move, and that stand upright wherever they are."""


@dataclass(frozen=True, slots=True)
class Colour:
    """Colours of a kind: hue from `hues[0]` to `hues[1]` [degrees], saturation likewise, value at least `darkest`."""

    hues: tuple[float, float]
    saturations: tuple[float, float]
    darkest: float = 25.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What is opaque of a kind, in its own frame; `grip` is the part whose colour tells it, lower and upper end [m].

    top     height of the upper face of a fixed thing [m], `layer` how far from it a pixel may be, `area` its size [m2]
    rests   height of the axis of one that lies on the bench [m]
    """

    solids: tuple[Solid, ...]
    colour: Colour | None = None
    grip: tuple[float, float] = (0.0, 0.0)
    rests: float = 0.0
    top: float = 0.0
    layer: float = 0.006
    area: float = 0.0


def _prism(half: tuple[float, float], top: float, layer: float = 0.006) -> Shape:
    return Shape((Block(half, 0.0, top),), top=top, layer=layer, area=4 * half[0] * half[1])


SHAPES = {
    TUBE: Shape(
        (Cylinder(LABEL_RADIUS, *LABEL_BAND, open=True),), Colour((30, 75), (0.10, 0.30), 45), LABEL_BAND, TUBE_RADIUS
    ),
    PROBE: Shape(
        (Cylinder(PROBE_HANDLE, PROBE_COLLAR, PROBE_LENGTH), Cylinder(PROBE_RADIUS, 0.008, PROBE_COLLAR)),
        Colour((190, 235), (0.5, 1.0), 40),
        (PROBE_COLLAR, PROBE_LENGTH),
        PROBE_HANDLE,
    ),
    ROD: Shape(
        (Cylinder(ROD_HANDLE, ROD_COLLAR, ROD_LENGTH),),
        Colour((5, 40), (0.5, 1.0), 40),
        (ROD_COLLAR, ROD_LENGTH),
        ROD_HANDLE,
    ),
    RACK: _prism(RACK_HALF, RACK_HEIGHT),
    HOLDER: _prism((HOLDER_HALF, HOLDER_HALF), HOLDER_HEIGHT),
    RINSE: _prism((RINSE_HALF, RINSE_HALF), RINSE_FLOOR, 0.005),
    BALANCE: Shape(
        (Cylinder(PAN_RADIUS, PAN_HEIGHT - 0.003, PAN_HEIGHT),),
        top=PAN_HEIGHT,
        layer=0.007,
        area=np.pi * PAN_RADIUS**2,
    ),
}
"""By kind; sizes from the catalogue."""
WITHIN = ((-0.10, -0.62), (0.85, 0.66))
"""Part of the bench that is looked at, opposite corners (x, y) in the robot base frame [m]."""
BASE = 0.17
"""Radius around the middle of the robot's base in which things are its own [m]."""
LOWEST, HIGHEST = 0.004, 0.26
"""Heights over the bench between which its things are [m]: a parked hand is higher."""
FEWEST = 24
"""Fewest pixels of something."""
SHARE = (0.25, 1.5)
"""Smallest and largest size of a seen upper face over that of its kind."""
SURE, SURE_LOOSE, LEANING = 0.65, 0.80, 0.90
"""Score from which something fixed and something loose counts as found, and below which what seems to stand is tried
leaning."""
LEAN = np.radians(10)
"""Lean up to which something stands [rad]."""
DARK = 135.0
"""Value up to which the plate of the rinse station is dark, also through glass, of 255."""


@dataclass(frozen=True, slots=True)
class View:
    """A frame, the points (h, w, 3) [m] of its cleaned depth, robot base frame, and hue, saturation and value (h, w).

    `bench` (h, w) are the pixels that show something that stands on the bench, and is not the robot's base.
    """

    frame: Frame
    cloud: np.ndarray
    hue: np.ndarray
    saturation: np.ndarray
    value: np.ndarray
    bench: np.ndarray


def view(frame: Frame) -> View:
    """Return what a frame with depth shows; raises `ValueError` for one without."""
    depth = cleaned(frame)
    depth = np.where(depth > 0, depth, np.float32(np.nan))
    cloud = depth[..., None] * rays(frame) + frame.pose[:3, 3].astype(np.float32)
    shape = frame.rgb.shape[:2]
    hue, saturation = hues(frame.rgb.reshape(-1, 3))
    value = frame.rgb.max(axis=2).astype(float)
    return View(frame, cloud, hue.reshape(shape), saturation.reshape(shape), value, _on_bench(cloud))


def _on_bench(cloud: np.ndarray) -> np.ndarray:
    x, y, z = np.moveaxis(cloud, -1, 0)
    (left, low), (right, high) = WITHIN
    with np.errstate(invalid="ignore"):
        inside = (x > left) & (x < right) & (y > low) & (y < high) & (z < HIGHEST) & (z > LOWEST)
        return np.asarray(inside & (np.hypot(x, y) > BASE))


def segment(seen: View, kind: str, where: np.ndarray) -> Iterator[np.ndarray]:
    """Yield masks (h, w) of what may be things of a kind among the pixels `where` (h, w), the likeliest first."""
    shape = SHAPES[kind]
    marked = where & seen.bench
    if not marked.any():
        return
    window = _window(marked)
    part = _coloured(seen, shape.colour, window) if shape.colour else _level(seen, kind, window)
    part &= marked[window]
    closed = cv2.morphologyEx(part.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
    masks = []
    for index in range(1, count):
        if stats[index, cv2.CC_STAT_AREA] >= FEWEST:
            masks.append(np.zeros_like(marked))
            masks[-1][window] = (labels == index) & part
    if shape.colour:
        yield from sorted(masks, key=lambda mask: -int(mask.sum()))
        return
    sizes = [(_size(seen, shape, mask), number) for number, mask in enumerate(masks)]
    for size, number in sorted(sizes, key=lambda each: abs(np.log(max(each[0], 1e-9)))):
        if SHARE[0] <= size <= SHARE[1]:
            yield masks[number]


def locate(seen: View, kind: str, mask: np.ndarray) -> Fitted | None:
    """Return where a thing of a kind is that `mask` is a part of, or None where nothing of its shape is there.

    Of what lies on the bench, either end may be the lower one: see `turned`.
    """
    found = _fixed(seen, kind, mask) if kind in FIXED else _loose(seen, kind, mask)
    return found if found is not None and found.score >= (SURE if kind in FIXED else SURE_LOOSE) else None


def turned(kind: str, placed: Placed) -> Placed:
    """Return the place of something that looks the same with its ends exchanged."""
    middle = sum(SHAPES[kind].grip) / 2
    axis = placed.turn[:, 2]
    return along(placed.origin + 2 * middle * axis, -axis)


def stands(placed: Placed) -> bool:
    """Return whether something stands upright, more or less."""
    return bool(placed.turn[2, 2] >= np.cos(LEAN))


def _window(mask: np.ndarray) -> tuple[slice, slice]:
    """Return the rows and columns of a mask that has some pixels."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _coloured(seen: View, colour: Colour, window: tuple[slice, slice]) -> np.ndarray:
    hue, saturation = seen.hue[window], seen.saturation[window]
    kept = (hue >= colour.hues[0]) & (hue <= colour.hues[1]) & (seen.value[window] >= colour.darkest)
    return np.asarray(kept & (saturation >= colour.saturations[0]) & (saturation <= colour.saturations[1]))


def _level(seen: View, kind: str, window: tuple[slice, slice]) -> np.ndarray:
    """Return the pixels of a window at the height of the upper face of a kind."""
    shape = SHAPES[kind]
    with np.errstate(invalid="ignore"):
        level = np.abs(seen.cloud[window][..., 2] - shape.top) < shape.layer
    return np.asarray(level & (seen.value[window] < DARK) if kind == RINSE else level)


def _size(seen: View, shape: Shape, mask: np.ndarray) -> float:
    """Return the size of what may be an upper face over that of the kind."""
    hull = cv2.convexHull(np.asarray(1000 * _on_top(seen, shape, mask), np.float32))
    return float(cv2.contourArea(hull)) / 1e6 / shape.area


def _on_top(seen: View, shape: Shape, mask: np.ndarray) -> np.ndarray:
    """Return where (n, 2) [m] the rays of `mask` cross the plane of an upper face: without the noise of the depth."""
    window = _window(mask)
    plane = crossings(seen.frame, np.array((0.0, 0.0, shape.top)), np.array((0.0, 0.0, 1.0)), window)
    return np.asarray(plane[mask[window]][:, :2])


def _fixed(seen: View, kind: str, mask: np.ndarray) -> Fitted:
    """Search from the rectangle around an upper face, once more from what was found: long sides make flat valleys."""
    shape = SHAPES[kind]
    (x, y), sides, angle = cv2.minAreaRect(np.asarray(1000 * _on_top(seen, shape, mask), np.float32))
    solid = shape.solids[0]
    if isinstance(solid, Cylinder):
        at, step = np.array((x, y)) / 1000, np.array((0.006, 0.006))
        return fit(seen.frame, mask, shape.solids, at, step, lambda x, y: upright(x, y))
    along_x = (sides[0] >= sides[1]) == (solid.half[0] >= solid.half[1])
    yaw = np.radians(angle if along_x else angle + 90)
    if solid.half[0] == solid.half[1]:
        yaw = (yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4
    start, steps = np.array((x / 1000, y / 1000, yaw)), np.array((0.008, 0.008, 0.08))
    found = fit(seen.frame, mask, shape.solids, start, steps, _standing)
    x, y, _ = found.placed.origin
    start = np.array((x, y, np.arctan2(found.placed.turn[1, 0], found.placed.turn[0, 0])))
    return fit(seen.frame, mask, shape.solids, start, -steps / 2, _standing)


def _standing(x: float, y: float, yaw: float) -> Placed:
    return upright(x, y, 0.0, yaw)


def _loose(seen: View, kind: str, mask: np.ndarray) -> Fitted | None:
    shape = SHAPES[kind]
    points = seen.cloud[mask]
    points = points[np.isfinite(points[:, 2])]
    if len(points) < FEWEST:
        return None
    middle = np.median(points, axis=0).astype(float)
    radius = next(solid.radius for solid in shape.solids if isinstance(solid, Cylinder))
    away = middle - seen.frame.pose[:3, 3]
    middle += 0.7 * radius * away / np.linalg.norm(away)
    if middle[2] < (shape.grip[0] + shape.grip[1]) / 4:
        return _lying(seen, shape, mask, middle)
    found = _search(seen, shape, mask, middle, np.array((0.0, 0.0, 1.0)), lean=False)
    if found.score < LEANING:
        leaning = _search(seen, shape, mask, middle, np.array((0.0, 0.0, 1.0)), lean=True)
        found = max(found, leaning, key=lambda each: each.score)
    return found


def _lying(seen: View, shape: Shape, mask: np.ndarray, middle: np.ndarray) -> Fitted:
    """Search from the two best directions in the plane of the bench, both ways where the shape tells its ends apart."""
    full = 1 if len(shape.solids) == 1 else 2
    yaws, place = np.arange(0.0, full * np.pi, np.pi / 8), _flat(shape)
    order = cheapest(seen.frame, mask, shape.solids, [place(middle[0], middle[1], yaw) for yaw in yaws])
    steps = np.array((0.006, 0.006, 0.25))
    tries = [
        fit(seen.frame, mask, shape.solids, np.array((middle[0], middle[1], yaws[index])), steps, place)
        for index in order[:2]
    ]
    return max(tries, key=lambda each: each.score)


def _flat(shape: Shape) -> Callable[..., Placed]:
    middle = sum(shape.grip) / 2

    def place(x: float, y: float, yaw: float) -> Placed:
        axis = np.array((np.cos(yaw), np.sin(yaw), 0.0))
        return along(np.array((x, y, shape.rests)) - middle * axis, axis)

    return place


def _search(seen: View, shape: Shape, mask: np.ndarray, middle: np.ndarray, axis: np.ndarray, *, lean: bool) -> Fitted:
    height = sum(shape.grip) / 2

    def place(x: float, y: float, z: float, a: float = 0.0, b: float = 0.0) -> Placed:
        tilted = axis + np.array((a, b, 0.0))
        return along(np.array((x, y, z)) - height * tilted / np.linalg.norm(tilted), tilted)

    steps = (0.006, 0.006, 0.006, 0.2, 0.2) if lean else (0.006, 0.006, 0.006)
    start = np.zeros(len(steps))
    start[:3] = middle
    return fit(seen.frame, mask, shape.solids, start, np.array(steps), place)
