"""A capped 15 mL-like tube with some liquid in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...wire.tubes import CAP_COLOURS, CAP_HEIGHT, CAP_RADIUS, TUBE_LENGTH, TUBE_MASS, TUBE_RADIUS
from .contact import Contact

if TYPE_CHECKING:
    from ..build import Bench

FEET, FOOT = 6, 0.0022
"""Number and radius [m] of the balls that a tube stands on: a rounded bottom stands by luck, a flat one jumps."""
BODY_RAISED = 0.0008
"""Gap between the lowest point of the rounded body and the surface that the feet stand on [m]."""
FILL = 0.055
"""Height of the liquid over the bottom [m]."""
GRIPPED = Contact(friction=(0.6, 0.005, 0.0001), condim=4, solimp=(0.95, 0.99, 0.001, 0.5, 2.0))
"""Feet."""
ROLLING = Contact(friction=(0.6, 0.003, 0.0005), condim=6, solimp=(0.95, 0.99, 0.001, 0.5, 2.0))
"""Body and cap of a tube on its side: pushed, it stops instead of leaving the bench."""
SHARES = {"body": 0.28, "feet": 0.05, "liquid": 0.47, "cap": 0.20}
"""Where the mass is: low, so that a tube hangs and stands upright."""


@dataclass(frozen=True, slots=True)
class Tube:
    """A closed tube; its origin is the centre of its bottom, z up. `Setup.colours` gives its cap a colour."""

    name: str

    def add(self, bench: Bench) -> None:
        """Draw a capsule on six feet, a cap that is gripped around, and what is seen of them."""
        tube = bench.item(self.name)
        bench.gripped(self.name, CAP_RADIUS)
        mass = {part: share * TUBE_MASS for part, share in SHARES.items()}
        r, length = TUBE_RADIUS, TUBE_LENGTH
        low = r + BODY_RAISED
        bench.capsule(tube, r, low, length, look=None, mass=mass["body"], solid=ROLLING)
        for k in range(FEET):
            angle = 2 * math.pi * k / FEET
            at = ((r - FOOT) * math.cos(angle), (r - FOOT) * math.sin(angle), FOOT)
            bench.ball(tube, FOOT, at, look=None, mass=mass["feet"] / FEET, solid=GRIPPED)
        middle = (0.0, 0.0, length + CAP_HEIGHT / 2)
        bench.cylinder(tube, CAP_RADIUS, CAP_HEIGHT, middle, look=None, mass=mass["cap"], solid=ROLLING)
        bench.cylinder(tube, 0.85 * r, FILL, (0, 0, FILL / 2), look=None, mass=mass["liquid"], solid=False)
        self._draw(bench, tube)

    def _draw(self, bench: Bench, tube: object) -> None:
        r, length, cap, top = TUBE_RADIUS, TUBE_LENGTH, CAP_RADIUS, TUBE_LENGTH + CAP_HEIGHT
        white = (*CAP_COLOURS["white"], 1.0)
        liquid = [(0.45 * r, 0.0010), (0.80 * r, 0.0040), (0.86 * r, 0.0080), (0.86 * r, FILL)]
        bench.lathe(tube, f"{self.name}_liquid", liquid, look=(0.90, 0.62, 0.22, 1.0), mesh="tube_liquid")
        cup = [(cap, length), (cap, top - 0.0015), (0.90 * cap, top)]
        bench.lathe(tube, f"{self.name}_cap", cup, look=white, mesh="tube_cap")
        rim = [(1.03 * cap, length - 0.0004), (1.03 * cap, length + 0.0030), (cap, length + 0.0034)]
        bench.lathe(tube, f"{self.name}_rim", rim, look=white, mesh="tube_rim")
        glass = [(0.55 * r, 0.0), (0.85 * r, 0.0012), (r, 0.0050), (r, length)]
        bench.lathe(tube, f"{self.name}_glass", glass, look=(0.86, 0.92, 0.96, 0.38), mesh="tube_glass")
        bench.coloured(self.name, f"{self.name}_cap")
        bench.coloured(self.name, f"{self.name}_rim", shade=0.68)
