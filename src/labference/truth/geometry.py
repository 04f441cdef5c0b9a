"""Reference geometry of a task: what its items measure and where its places are."""

from __future__ import annotations

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
