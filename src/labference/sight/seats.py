"""Which slot or hole of known place a tube stands in, and how deep."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ..wire import Frame
from ..wire.observation import DEPTH_UNIT
from ..wire.tubes import CAP_HEIGHT, GRIP_HEIGHT
from .caps import Cap
from .cloud import pixels

SHALLOWEST = 0.05
"""Share of the depth below which a tube stands on a mouth rather than in it."""
OFF_AXIS = 0.008
"""How far the axis of a tube may pass from the middle of the mouth that it stands in [m]."""
NEAR_MOUTH = 0.016
"""How near to the middle of a mouth a tube may not pass that is not in it [m]."""
FARTHER = 0.004
"""How much farther than a place one has to see for nothing to be at that place [m]."""

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Seat:
    """A tube in a slot or hole: its cap, and how deep it stands as a share of the effective depth, 0..1."""

    cap: Cap
    depth: float


def seated(
    caps: tuple[Cap, ...], mouths: Mapping[Name, tuple[float, float]], height: float, depth: float
) -> dict[Name, Seat]:
    """Return which of `mouths` (x, y) [m] hold a tube; they are at `height` and `depth` deep [m]."""
    found: dict[Name, Seat] = {}
    for cap in caps if mouths else ():
        share = (height - cap.base[2]) / depth
        if not share >= SHALLOWEST:
            continue
        apart = {name: _aside(cap, mouth, height) for name, mouth in mouths.items()}
        nearest = min(apart, key=lambda name: apart[name])
        if apart[nearest] <= OFF_AXIS:
            found[nearest] = Seat(cap, float(share))
    return found


def vacant(
    frame: Frame,
    caps: tuple[Cap, ...],
    mouths: Mapping[Name, tuple[float, float]],
    height: float,
    depth: float,
) -> frozenset[Name]:
    """Return which of `mouths`, as in `seated`, hold no tube and have none on them.

    No tube that is seen passes there, and `frame` sees through wherever the cap of an upright one could be.
    """
    steps = int(np.ceil(depth / (CAP_HEIGHT / 2))) + 1
    heights = height + GRIP_HEIGHT - np.linspace(0.0, depth, steps)
    free = []
    for name, (x, y) in mouths.items():
        places = np.stack((np.full(steps, x), np.full(steps, y), heights), axis=1)
        passed = any(_aside(cap, (x, y), height) < NEAR_MOUTH for cap in caps)
        if not passed and _sees_through(frame, places):
            free.append(name)
    return frozenset(free)


def _aside(cap: Cap, mouth: tuple[float, float], height: float) -> float:
    """Return how far from the middle of a mouth at `height` the axis of a tube passes [m]."""
    entry = np.array(cap.position) - (cap.top - height) / cap.axis[2] * np.array(cap.axis[:2])
    return float(np.hypot(*(entry - mouth)))


def _sees_through(frame: Frame, places: np.ndarray) -> bool:
    """Tell whether what `frame` shows is behind all of `places` (n, 3) [m]."""
    if frame.depth is None:
        return False
    columns, rows = np.rint(pixels(frame, places)).astype(int).T
    height, width = frame.depth.shape
    if np.any((columns < 0) | (rows < 0) | (columns >= width) | (rows >= height)):
        return False
    ahead = (places - frame.pose[:3, 3]) @ frame.pose[:3, 2]
    return bool(np.all(DEPTH_UNIT * frame.depth[rows, columns] > ahead + FARTHER))
