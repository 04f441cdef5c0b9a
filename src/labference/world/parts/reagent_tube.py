"""An open test tube with a reagent, and the rack that it stands in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...truth.measurement import Pose
from ...wire.glassware import (
    LABEL_BAND,
    LABEL_RADIUS,
    RACK_FLOOR,
    RACK_HALF,
    RACK_HEIGHT,
    RACK_PLACES,
    TUBE_BOTTOM,
    TUBE_GRIP,
    TUBE_LENGTH,
    TUBE_MASS,
    TUBE_RADIUS,
    TUBE_WALL,
    tube_place,
)
from .beaker import GLASS
from .contact import GRIP, Contact
from .sockets import WALL, grid

if TYPE_CHECKING:
    from ..build import Bench

FEET, FOOT = 6, 0.0030
"""Number and radius [m] of the balls that a tube stands on: a rounded bottom stands by luck."""
RAISED = 0.0010
"""Gap between the rounded body and the surface that the feet stand on [m]."""
HELD = 0.020
"""Half the length around the grip where fingers hold it [m]."""
LOOSE = 0.0020
"""Gap between a tube and the wall of a hole of the rack [m]."""
GRIPPED = Contact(friction=(0.6, 0.005, 0.0001), condim=4, solimp=(0.95, 0.99, 0.001, 0.5, 2.0))
ROLLING = Contact(friction=(0.6, 0.003, 0.0005), condim=6, solimp=(0.95, 0.99, 0.001, 0.5, 2.0))
"""Feet, and the body of a tube on its side, which stops rolling instead of leaving the bench."""
SHARES = {"body": 0.85, "feet": 0.15}
FACING = 0.3
"""Turn of a tube whose label faces the front camera from the right half of the bench [rad]."""


@dataclass(frozen=True, slots=True)
class ReagentTube:
    """A tube whose label says `text`; its origin is its lowest point. What it holds, an instance decides."""

    name: str
    text: str = ""

    def add(self, bench: Bench) -> None:
        """Draw capsules on feet that look like hollow glass, and register it as a vessel."""
        tube = bench.item(self.name)
        r, length = TUBE_RADIUS, TUBE_LENGTH
        bench.gripped(self.name, r)
        mass = {part: share * TUBE_MASS for part, share in SHARES.items()}
        low, high = TUBE_GRIP - HELD, TUBE_GRIP + HELD
        for start, stop, contact in ((r + RAISED, low, ROLLING), (low, high, GRIP), (high, length - r, ROLLING)):
            share = (stop - start) / (length - 2 * r - RAISED)
            bench.capsule(tube, r, start, stop, look=None, mass=share * mass["body"], solid=contact)
        for k in range(FEET):
            angle = 2 * math.pi * k / FEET
            at = ((r - FOOT) * math.cos(angle), (r - FOOT) * math.sin(angle), FOOT)
            bench.ball(tube, FOOT, at, look=None, mass=mass["feet"] / FEET, solid=GRIPPED)
        inside = r - TUBE_WALL
        bench.vessel(self.name, tube, radius=inside, length=length - TUBE_BOTTOM, floor=TUBE_BOTTOM)
        glass = [(0.45 * r, 0.0), (0.80 * r, 0.0022), (r, 0.0080), (r, length - 0.002), (1.08 * r, length)]
        bench.wall(tube, f"{self.name}_glass", glass, look=GLASS)
        rim = [(1.08 * r, length), (inside, length), (inside, length - 0.001)]
        bench.wall(tube, f"{self.name}_rim", rim, look=(0.86, 0.93, 0.97, 0.75))
        bottom = [(0.40 * r, 0.0008), (0.75 * r, 0.0028), (inside, TUBE_BOTTOM)]
        bench.lathe(tube, f"{self.name}_bottom", bottom, look=(0.80, 0.89, 0.95, 0.45))
        bench.label_wrap(tube, f"{self.name}_label", LABEL_RADIUS, *LABEL_BAND, self.text or self.name)


@dataclass(frozen=True, slots=True)
class TubeRack:
    """A rack that an instance may place anywhere; its origin is on the bench below its middle, holes along y."""

    name: str = "rack"

    def add(self, bench: Bench) -> None:
        """Draw a plinth and a block with square holes, and register it as a surface."""
        rack = bench.fixture(self.name)
        bench.surface(self.name, rack)
        base, look = (0.24, 0.26, 0.29, 1.0), (0.80, 0.79, 0.75, 1.0)
        bench.box(rack, (*RACK_HALF, RACK_FLOOR / 2), (0, 0, RACK_FLOOR / 2), look=base, solid=WALL)
        rows = tuple(tube_place(place)[1] for place in range(RACK_PLACES))
        grid(bench, rack, RACK_HALF, (0.0,), rows, TUBE_RADIUS + LOOSE, RACK_FLOOR, RACK_HEIGHT, look)


def tube_in_rack(rack: Pose, place: int) -> Pose:
    """Return where a tube starts in hole `place`, counted from 0, of a rack at `rack`: 0.3 mm above its floor.

    Its label faces the cameras in front.
    """
    x, y = tube_place(place)
    c, s = math.cos(rack.yaw), math.sin(rack.yaw)
    return Pose(rack.x + c * x - s * y, rack.y + s * x + c * y, RACK_FLOOR + 0.0003, FACING)
