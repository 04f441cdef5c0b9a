"""Vertical holes that tubes are seated in: walls, a lead-in, and a collar that holds by friction.

The numbers come from drop tests and insertions of 15 mL-like tubes at 2 ms steps: a collar of this strength holds
0.9 N, so that a tube stays at the depth at which it was left, and lets a hand pull it out; stiffer or more damped ones
do not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...wire.tubes import BORE, FUNNEL, TUBE_RADIUS
from .contact import Contact

if TYPE_CHECKING:
    from ..build import Bench

MOUTH = BORE + FUNNEL
"""Half the width of a hole at the upper edge of the lead-in [m]."""
WALL = Contact(friction=(0.6, 0.005, 0.0001), condim=4, priority=1, solimp=(0.95, 0.99, 0.001, 0.5, 2.0))
"""Walls and floors."""
SLIDE = Contact(friction=(0.15, 0.001, 0.0001), condim=4, priority=2, solimp=WALL.solimp)
"""A lead-in; with the friction of a wall, tubes jam in square ones."""
RUBBER = Contact(
    friction=(0.8, 0.005, 0.0001), condim=4, priority=1, solref=(-800.0, -8.0), solimp=(0.95, 0.99, 0.001, 0.5, 2.0)
)
"""The collar."""
COLLAR_RADIUS, COLLAR_DEPTH, PINCH = 0.003, 0.008, 0.0005
"""Radius of the four balls of a collar, depth of their centres below the mouth, and how far a tube presses into each
[m]."""
FUNNEL_PLATE = 0.001
"""Half the thickness of the plates of a lead-in [m]."""


def collar(bench: Bench, body: Any, x: float, y: float, mouth: float) -> None:
    """Add the four balls that pinch a tube in the hole at (x, y) whose mouth is at height `mouth` [m]."""
    bench.hold_by_friction()
    reach = TUBE_RADIUS - PINCH + COLLAR_RADIUS
    for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        at = (x + reach * dx, y + reach * dy, mouth - COLLAR_DEPTH)
        bench.ball(body, COLLAR_RADIUS, at, look=None, solid=RUBBER)


def funnel(bench: Bench, body: Any, x: float, y: float, mouth: float, sides: int, look: Any = None) -> None:
    """Add a 45 degree lead-in of `sides` plates above the mouth of the hole at (x, y)."""
    slant = math.sqrt(0.5)
    first = 0.5 if sides > 4 else 0.0
    for k in range(sides):
        angle = 2 * math.pi * (k + first) / sides
        c, s = math.cos(angle), math.sin(angle)
        # The plate lies below its sloping face: out along the slope, around the hole, and out of the face.
        out = BORE + FUNNEL / 2 + FUNNEL_PLATE * slant
        at = (x + out * c, y + out * s, mouth + FUNNEL / 2 - FUNNEL_PLATE * slant)
        half = (FUNNEL * slant, MOUTH * math.tan(math.pi / sides), FUNNEL_PLATE)
        bench.box(body, half, at, axes=(slant * c, slant * s, slant, -s, c, 0.0), look=look, solid=SLIDE)


def ring(bench: Bench, body: Any, x: float, y: float, mouth: float, depth: float, wall: float, sides: int) -> None:
    """Add a round hole of `sides` wall boxes `wall` thick and a floor [m], which only collide."""
    for k in range(sides):
        angle = 2 * math.pi * (k + 0.5) / sides
        c, s = math.cos(angle), math.sin(angle)
        out = BORE + wall / 2
        half = (wall / 2, (BORE + wall) * math.tan(math.pi / sides), depth / 2)
        at = (x + out * c, y + out * s, mouth - depth / 2)
        bench.box(body, half, at, axes=(c, s, 0.0, -s, c, 0.0), look=None, solid=WALL)
    floor = mouth - depth
    bench.box(body, (BORE + wall / 2, BORE + wall / 2, 0.0015), (x, y, floor - 0.0015), look=None, solid=WALL)


def grid(
    bench: Bench,
    body: Any,
    half: tuple[float, float],
    columns: tuple[float, ...],
    rows: tuple[float, ...],
    opening: float,
    low: float,
    high: float,
    look: Any,
) -> None:
    """Fill a block of half-lengths `half` between heights `low` and `high` except for square holes [m].

    `columns` and `rows` are the x and y of the holes, ascending, and `opening` is half their width.
    """
    middle, thick = (low + high) / 2, (high - low) / 2
    for along, (reach, places) in enumerate(((half[0], columns), (half[1], rows))):
        edges = [-reach, *(edge for place in places for edge in (place - opening, place + opening)), reach]
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            centre, width = (start + stop) / 2, (stop - start) / 2
            if along == 0:
                bench.box(body, (width, half[1], thick), (centre, 0.0, middle), look=look, solid=WALL)
            else:
                bench.box(body, (half[0], width, thick), (0.0, centre, middle), look=look, solid=WALL)
