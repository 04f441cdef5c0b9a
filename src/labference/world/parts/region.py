"""A marked square of the bench on which something is to be put down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...wire.tubes import REGION_HALF

if TYPE_CHECKING:
    from ..build import Bench

BORDER = 0.006
"""Width of the printed border [m]."""
THICKNESS = 0.0003
"""Of the film it is printed on, which nothing feels [m]."""


@dataclass(frozen=True, slots=True)
class Region:
    """A square that only shows; its origin is its middle on the bench."""

    name: str = "region"

    def add(self, bench: Bench) -> None:
        """Draw a hatched square with a border."""
        region = bench.fixture(self.name)
        bench.hatched(region, f"{self.name}_film", REGION_HALF, BORDER, THICKNESS)
