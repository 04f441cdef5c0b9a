"""A hollow 100 mL beaker, free on its feet or fixed to a plate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...wire.glassware import BEAKER_HEIGHT, BEAKER_MASS, BEAKER_RADIUS, BEAKER_WALL, RINSE_FLOOR, RINSE_HALF
from .contact import Contact

if TYPE_CHECKING:
    from ..build import Bench

GLASS = (0.80, 0.89, 0.95, 0.30)
INSIDE = BEAKER_RADIUS - BEAKER_WALL
"""Inner radius [m]."""
SIDES = 12
"""Boxes of the wall."""
FEET, FOOT = 6, 0.0025
"""Number and radius [m] of the balls that it stands on."""
RAISED = 0.0022
"""Gap between the lower edge of the wall and the surface that the feet stand on [m], so that only the feet are near."""
STANDING = Contact(friction=(0.6, 0.003, 0.0001), condim=4)
SHARES = {"wall": 0.70, "floor": 0.20, "feet": 0.10}


@dataclass(frozen=True, slots=True)
class Beaker:
    """A beaker that an instance may put anywhere; its origin is the centre of its bottom."""

    name: str = "beaker"

    def add(self, bench: Bench) -> None:
        """Draw it as a free body, and register it as a vessel."""
        draw_beaker(bench, self.name, bench.item(self.name), 0.0)


@dataclass(frozen=True, slots=True)
class RinseStation:
    """A beaker with water to rinse a probe in, fixed on a heavy plate."""

    name: str = "rinse"

    def add(self, bench: Bench) -> None:
        """Draw plate and beaker, and register them as a surface and a vessel."""
        station = bench.fixture(self.name)
        bench.surface(self.name, station)
        look = (0.24, 0.26, 0.29, 1.0)
        bench.box(station, (RINSE_HALF, RINSE_HALF, RINSE_FLOOR / 2), (0, 0, RINSE_FLOOR / 2), look=look)
        draw_beaker(bench, self.name, station, RINSE_FLOOR)


def draw_beaker(bench: Bench, name: str, body: Any, low: float) -> None:
    """Give `body` the floor, wall and feet of a beaker that stands at height `low` [m] of its frame."""
    mass = {part: share * BEAKER_MASS for part, share in SHARES.items()}
    height = BEAKER_HEIGHT - RAISED
    middle = BEAKER_RADIUS - BEAKER_WALL / 2
    half = (BEAKER_WALL / 2, BEAKER_RADIUS * math.tan(math.pi / SIDES), height / 2)
    for k in range(SIDES):
        c, s = math.cos(2 * math.pi * k / SIDES), math.sin(2 * math.pi * k / SIDES)
        at = (middle * c, middle * s, low + RAISED + height / 2)
        bench.box(body, half, at, axes=(c, s, 0.0, -s, c, 0.0), look=None, mass=mass["wall"] / SIDES, solid=STANDING)
    inside = 0.8 * INSIDE
    floor = (0, 0, low + BEAKER_WALL / 2 + RAISED)
    bench.box(body, (inside, inside, BEAKER_WALL / 2), floor, look=None, mass=mass["floor"], solid=STANDING)
    for k in range(FEET):
        angle = 2 * math.pi * k / FEET
        ring = BEAKER_RADIUS - FOOT
        at = (ring * math.cos(angle), ring * math.sin(angle), low + FOOT)
        bench.ball(body, FOOT, at, look=None, mass=mass["feet"] / FEET, solid=STANDING)
    bottom = low + BEAKER_WALL
    bench.vessel(name, body, radius=INSIDE, length=BEAKER_HEIGHT - BEAKER_WALL, floor=bottom)
    _draw(bench, name, body, low)


def _draw(bench: Bench, name: str, body: Any, low: float) -> None:
    top, r = low + BEAKER_HEIGHT, BEAKER_RADIUS
    wall = [(0.93 * r, low), (r, low + 0.003), (r, top - 0.0015), (1.05 * r, top)]
    bench.wall(body, f"{name}_wall", wall, look=GLASS)
    bench.lathe(body, f"{name}_floor", [(0.93 * r, low), (INSIDE, low + BEAKER_WALL)], look=GLASS)
    rim = [(1.05 * r, top - 0.0008), (1.05 * r, top), (INSIDE, top), (INSIDE, top - 0.0008)]
    bench.wall(body, f"{name}_rim", rim, look=(0.86, 0.93, 0.97, 0.75))
