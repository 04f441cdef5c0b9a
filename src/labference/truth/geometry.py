"""Reference geometry of a task: what its items measure and where its places are."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A round item that stands on its bottom centre: radius and height of the body that fingers press on, and the
    height of the whole [m]. An item with a `cap`, its radius [m], is taken by it: from `body` up to `height`.
    """

    radius: float
    body: float
    height: float
    cap: float = 0.0


@dataclass(frozen=True, slots=True)
class Round:
    """A disc on which an item may be put: centre (2,), radius and height of its surface, robot base frame [m]."""

    centre: tuple[float, float]
    radius: float
    height: float


@dataclass(frozen=True, slots=True)
class Rectangular:
    """An axis-aligned rectangle on which an item may be put, robot base frame [m]."""

    low: tuple[float, float]
    high: tuple[float, float]
    height: float


@dataclass(frozen=True, slots=True)
class Socket:
    """A vertical slot or hole: centre of its mouth (3,) in the robot base frame, and its effective depth [m]."""

    mouth: tuple[float, float, float]
    depth: float


Region = Round | Rectangular | Socket

Vector = tuple[float, float, float]


def position_error(said: Vector, true: Vector) -> float | None:
    """Return the distance [m] of equation 2, None for a position that is not finite."""
    return math.dist(said, true) if all(map(math.isfinite, said)) else None


def axis_error(said: Vector, true: Vector) -> float | None:
    """Return the angle [rad] between directed axes of equation 2, None for a zero axis or one that is not finite."""
    length = math.hypot(*said)
    if not math.isfinite(length) or length == 0.0:
        return None
    cosine = sum(a * b for a, b in zip(said, true, strict=True)) / (length * math.hypot(*true))
    return math.acos(min(1.0, max(-1.0, cosine)))


def region_distance(said: Vector, region: Region) -> float | None:
    """Return how far a position is outside a region [m], 0 inside; for a socket, from the middle of its mouth."""
    if not all(map(math.isfinite, said)):
        return None
    match region:
        case Socket():
            return math.dist(said, region.mouth)
        case Round():
            aside = max(0.0, math.dist(said[:2], region.centre) - region.radius)
        case Rectangular():
            spans = zip(said[:2], region.low, region.high, strict=True)
            aside = math.hypot(*(max(low - value, 0.0, value - high) for value, low, high in spans))
    return math.hypot(aside, said[2] - region.height)
