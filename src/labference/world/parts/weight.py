"""Labelled knob weights, OIML R 111 in shape and a little larger than standard so that a camera can read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...wire.labware import LABEL_SHARE, WEIGHTS

if TYPE_CHECKING:
    from ..build import Bench

DIMENSIONS = WEIGHTS
"""Nominal grams -> body radius, body height, neck radius, knob radius, total height [m]."""
KNOB = 0.24
"""Share of the total height that the knob takes."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A standard weight of `grams` nominal mass, labelled on the knob top and around the body."""

    name: str
    grams: int

    def __post_init__(self) -> None:
        if self.grams not in DIMENSIONS:
            raise ValueError(f"There is no {self.grams!r} g weight. Sizes: {', '.join(map(str, DIMENSIONS))} g.")

    def add(self, bench: Bench) -> None:
        """Draw body and knob as two solid cylinders under a turned steel surface; the origin is the bottom centre."""
        radius, body, _, knob, height = DIMENSIONS[self.grams]
        weight = bench.item(self.name)
        rim = KNOB * height
        share = radius**2 * body / (radius**2 * body + knob**2 * rim)
        mass = self.grams / 1000
        bench.standing(weight, radius, body, mass=share * mass)
        bench.round(weight, knob, rim, height - rim / 2, mass=mass - share * mass)
        bench.lathe(weight, f"{self.name}_steel", self._profile(), look="steel")
        bench.label_disc(weight, f"{self.name}_top", LABEL_SHARE * knob, height, str(self.grams))
        bench.label_wrap(weight, f"{self.name}_wrap", 1.015 * radius, 0.08 * body, 0.92 * body, str(self.grams))

    def _profile(self) -> list[tuple[float, float]]:
        """Return the (radius, height) outline from bottom to top [m]."""
        radius, body, neck, knob, height = DIMENSIONS[self.grams]
        rim = KNOB * height
        foot = height - rim
        return [
            (0.93 * radius, 0.0),
            (radius, 0.0008),
            (radius, body - 0.001),
            (0.85 * radius, body),
            (1.3 * neck, body + 0.02 * height),
            (neck, body + 0.06 * height),
            (neck, foot - 0.02 * height),
            (0.9 * knob, foot + 0.01 * height),
            (knob, foot + 0.3 * rim),
            (knob, foot + 0.75 * rim),
            (0.9 * knob, height),
        ]
