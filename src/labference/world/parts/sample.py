"""An unlabelled sample whose mass only the balance can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...wire.labware import SAMPLE_HEIGHT, SAMPLE_RADIUS

if TYPE_CHECKING:
    from ..build import Bench


@dataclass(frozen=True, slots=True)
class Sample:
    """A closed jar that looks the same whatever it holds.

    `mass` [kg] is only a default: an instance decides it through `Setup.masses`. `radius` and `height` [m].
    """

    name: str = "sample"
    mass: float = 0.1
    radius: float = SAMPLE_RADIUS
    height: float = SAMPLE_HEIGHT

    def add(self, bench: Bench) -> None:
        """Draw one solid cylinder with a rim for the lid; its origin is the centre of the bottom."""
        jar = bench.item(self.name)
        bench.standing(jar, self.radius, self.height, mass=self.mass)
        lid = 0.72 * self.height
        r = self.radius
        bench.lathe(
            jar,
            f"{self.name}_jar",
            [(0.92 * r, 0.0), (0.97 * r, 0.04 * self.height), (0.97 * r, lid - 0.002), (0.86 * r, lid)],
            look=(0.36, 0.52, 0.66, 1.0),
        )
        bench.lathe(
            jar,
            f"{self.name}_lid",
            [(0.86 * r, lid), (r, lid), (r, self.height - 0.001), (0.94 * r, self.height)],
            look=(0.90, 0.90, 0.88, 1.0),
        )
