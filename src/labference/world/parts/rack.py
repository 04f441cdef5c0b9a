"""A tube rack of three rows and four columns with labelled holes and coloured edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...wire.tubes import (
    BORE,
    EDGE,
    EDGE_COLOURS,
    FUNNEL,
    HOLE_DEPTH,
    HOLES,
    MARKER,
    PITCH,
    RACK_HALF,
    RACK_MOUTH,
    hole_position,
)
from .sockets import MOUTH, WALL, collar, funnel, grid

if TYPE_CHECKING:
    from ..build import Bench

TOP = RACK_MOUTH + FUNNEL
"""Height of the upper face [m]."""
EDGE_DEPTH = 0.012
"""How far down the coloured edges reach [m]."""
LABEL_HALF = (0.0125, 0.0080)
"""Half the width and height of a label [m]."""
MARKER_RADIUS = 0.008
"""[m]"""


@dataclass(frozen=True, slots=True)
class Rack:
    """A rack that an instance may place anywhere; its origin is on the bench below its middle, columns along +x."""

    name: str = "rack"

    def add(self, bench: Bench) -> None:
        """Draw a block with square holes, labels beside them, edges and marker, and register it as a surface."""
        rack = bench.fixture(self.name)
        bench.surface(self.name, rack)
        columns = tuple(sorted({hole_position(hole)[0] for hole in HOLES}))
        rows = tuple(sorted({hole_position(hole)[1] for hole in HOLES}))
        floor = RACK_MOUTH - HOLE_DEPTH
        body, face, slope = (0.30, 0.34, 0.40, 1.0), (0.58, 0.62, 0.67, 1.0), (0.36, 0.40, 0.46, 1.0)
        bench.box(rack, (*RACK_HALF, floor / 2), (0, 0, floor / 2), look=(0.16, 0.18, 0.21, 1.0), solid=WALL)
        grid(bench, rack, RACK_HALF, columns, rows, BORE, floor, RACK_MOUTH, body)
        grid(bench, rack, RACK_HALF, columns, rows, MOUTH, RACK_MOUTH, TOP, face)
        for hole in HOLES:
            x, y = hole_position(hole)
            funnel(bench, rack, x, y, RACK_MOUTH, 4, slope)
            collar(bench, rack, x, y, RACK_MOUTH)
            at = (x, y + PITCH / 2, TOP + 0.0003)
            bench.print_plate(rack, f"{self.name}_{hole}", LABEL_HALF, at, hole)
        self._edges(bench, rack)

    def _edges(self, bench: Bench, rack: object) -> None:
        (hx, hy), half = RACK_HALF, EDGE / 2
        middle = TOP - EDGE_DEPTH / 2
        for edge, x, y, length in (
            ("A", 0.0, hy + half, hx),
            ("C", 0.0, -hy - half, hx),
            ("1", -hx - half, 0.0, hy + EDGE),
            ("4", hx + half, 0.0, hy + EDGE),
        ):
            size = (length, half, EDGE_DEPTH / 2) if edge in "AC" else (half, length, EDGE_DEPTH / 2)
            bench.box(rack, size, (x, y, middle), look=(*EDGE_COLOURS[edge], 1.0), solid=WALL)
        corner = (-hx - half, hy + half, TOP + 0.0010)
        bench.cylinder(rack, MARKER_RADIUS, 0.0020, corner, look=(*MARKER, 1.0), solid=False)
