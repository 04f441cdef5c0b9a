"""The console of the water-quality meter: pH above, conductivity below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .display import draw_display

if TYPE_CHECKING:
    from ..build import Bench

SLOPE = math.radians(60)
"""Angle between the face and the bench [rad]."""
FACE = (0.098, 0.052)
"""Half the width and height of the face [m]."""
ROW, ASIDE = 0.024, 0.022
"""Distances of the middles of the displays from that of the face, up or down and to the right [m]."""
LABEL, LABEL_AT = (0.019, 0.0105), -0.074
"""Half the width and height of the printed units, and where their middles are, to the right of that of the face [m]."""
DIGITS_BEHIND_DOT = {"pH": 2, "EC": 0}
UNITS = {"pH": "pH", "EC": "uS/cm"}


@dataclass(frozen=True, slots=True)
class MeterConsole:
    """A console that faces +x; its origin is on the bench below its middle."""

    name: str = "meter_console"
    meter: str = "meter"

    def add(self, bench: Bench) -> None:
        """Draw a wedge with two displays, register it as a surface, and wire the displays to the meter."""
        wedge = bench.fixture(self.name)
        bench.surface(self.name, wedge)
        c, s = math.cos(SLOPE), math.sin(SLOPE)
        face = bench.attached(f"{self.name}_face", wedge, (0.0, 0.0, FACE[1] * s + 0.008), (0.0, 1.0, 0.0, -c, 0.0, s))
        bench.surface(self.name, face)
        bench.box(face, (*FACE, 0.006), (0, 0, -0.006), look=(0.22, 0.23, 0.25, 1.0))
        foot = (0.040, FACE[0], 0.006)
        bench.box(wedge, foot, (-0.004, 0, foot[2]), look=(0.30, 0.31, 0.33, 1.0))
        for quantity, up in (("pH", ROW), ("EC", -ROW)):
            instrument = f"{self.meter} {quantity}"
            row = bench.attached(f"{self.name}_{quantity}", face, (ASIDE, up, 0.0))
            elements = draw_display(bench, f"{self.name}_{quantity}", row, DIGITS_BEHIND_DOT[quantity])
            bench.display(instrument, elements)
            at = (LABEL_AT, up, 0.0006)
            bench.print_plate(face, f"{self.name}_{quantity}_unit", LABEL, at, UNITS[quantity], letters=66)
