"""A centrifuge rotor at rest: twelve upright slots on a circle, numbered, with a bar that points to slot 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...wire.tubes import (
    BAR,
    BAR_HALF,
    BORE,
    DECK_RADIUS,
    FUNNEL,
    MARKER,
    ROTOR_MOUTH,
    ROTOR_RADIUS,
    SLOT_DEPTH,
    SLOTS,
    slot_position,
)
from .sockets import MOUTH, WALL, collar, funnel, ring

if TYPE_CHECKING:
    from ..build import Bench

WALL_THICKNESS, SIDES = 0.003, 8
"""Thickness [m] and number of the wall boxes of a slot."""
BEVEL = 0.003
RADIUS = DECK_RADIUS + BEVEL
"""Width of the bevel around the deck, and radius of the drum [m]."""
TOP = ROTOR_MOUTH + FUNNEL
"""Height of its upper face [m]."""
HUB = 0.064
"""Radius of the part inside the slots [m]."""
NUMBERS = 0.054
"""Distance of the printed numbers from the axis [m]."""


@dataclass(frozen=True, slots=True)
class Rotor:
    """A rotor that an instance may place anywhere; its origin is on the bench below its axis, slot 0 along +x."""

    name: str = "rotor"

    def add(self, bench: Bench) -> None:
        """Draw a drum with slots, its solid upper face, numbers, knob and bar, and register it as a surface."""
        rotor = bench.fixture(self.name)
        bench.surface(self.name, rotor)
        for index in range(SLOTS):
            x, y = slot_position(index)
            ring(bench, rotor, x, y, ROTOR_MOUTH, SLOT_DEPTH, WALL_THICKNESS, SIDES)
            funnel(bench, rotor, x, y, ROTOR_MOUTH, SIDES)
            collar(bench, rotor, x, y, ROTOR_MOUTH)
        self._fill(bench, rotor)
        self._draw(bench, rotor)

    def _fill(self, bench: Bench, rotor: object) -> None:
        """Make solid what looks solid: the hub, the ribs between the slots, and the outer wall."""
        bench.cylinder(rotor, HUB, TOP, (0, 0, TOP / 2), look=None, solid=WALL)
        outer = ROTOR_RADIUS + MOUTH + 0.001
        rib = ROTOR_RADIUS * math.sin(math.pi / SLOTS) - MOUTH - 0.0002
        for k in range(SLOTS):
            angle = 2 * math.pi * (k + 0.5) / SLOTS
            c, s = math.cos(angle), math.sin(angle)
            axes = (c, s, 0.0, -s, c, 0.0)
            middle = (HUB + outer) / 2
            half = ((outer - HUB) / 2, rib, TOP / 2)
            bench.box(rotor, half, (middle * c, middle * s, TOP / 2), axes=axes, look=None, solid=WALL)
        for k in range(2 * SLOTS):
            angle = math.pi * k / SLOTS
            c, s = math.cos(angle), math.sin(angle)
            axes = (c, s, 0.0, -s, c, 0.0)
            middle = (outer + RADIUS) / 2
            half = ((RADIUS - outer) / 2, RADIUS * math.tan(math.pi / SLOTS / 2), TOP / 2)
            bench.box(rotor, half, (middle * c, middle * s, TOP / 2), axes=axes, look=None, solid=WALL)

    def _draw(self, bench: Bench, rotor: object) -> None:
        metal, dark = (0.66, 0.69, 0.73, 1.0), (0.20, 0.22, 0.25, 1.0)
        bench.holed_disc(
            rotor, f"{self.name}_deck", DECK_RADIUS, TOP, ring=ROTOR_RADIUS, holes=SLOTS, bore=MOUTH, look=metal
        )
        wall = [(RADIUS, 0.0), (RADIUS, TOP - BEVEL), (DECK_RADIUS, TOP)]
        bench.wall(rotor, f"{self.name}_wall", wall, look=(0.45, 0.49, 0.55, 1.0))
        floor = ROTOR_MOUTH - SLOT_DEPTH
        cup = [(BORE + 0.002, floor - 0.001), (MOUTH, TOP), (BORE, ROTOR_MOUTH), (BORE, floor)]
        for index in range(SLOTS):
            x, y = slot_position(index)
            bench.lathe(rotor, f"{self.name}_slot{index}", cup, look=dark, mesh="rotor_slot", position=(x, y, 0.0))
            share = NUMBERS / ROTOR_RADIUS
            at = (share * x, share * y, TOP + 0.0003)
            bench.print_disc(rotor, f"{self.name}_number{index}", 0.0105, at, str(index))
        knob = [(0.020, TOP), (0.020, TOP + 0.006), (0.015, TOP + 0.008), (0.013, TOP + 0.016), (0.010, TOP + 0.018)]
        bench.lathe(rotor, f"{self.name}_knob", knob, look=dark)
        near, far = BAR
        half, middle = ((far - near) / 2, BAR_HALF, 0.0008), ((near + far) / 2, 0.0, TOP + 0.0008)
        bench.box(rotor, half, middle, look=(*MARKER, 1.0), solid=False)
