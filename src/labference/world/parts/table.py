"""The bench top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..build import Bench


@dataclass(frozen=True, slots=True)
class Table:
    """A bench top whose upper face is z = 0 of the robot base frame.

    `centre` and `half` give its place and half-lengths in x and y [m].
    """

    name: str = "table"
    centre: tuple[float, float] = (0.40, 0.0)
    half: tuple[float, float] = (0.50, 0.65)

    def add(self, bench: Bench) -> None:
        """Draw the top and register it as a surface, with the cameras that watch it."""
        top = bench.attached(self.name, None)
        bench.box(top, (*self.half, 0.02), (*self.centre, -0.02), look=(0.62, 0.66, 0.70, 1.0))
        bench.surface(self.name, top)
        bench.camera("front", (1.25, -0.08, 0.74), (0.40, 0.00, 0.17), fovy=48.0, size=(224, 224))
        bench.camera("labels", (0.80, -0.16, 0.52), (0.4650, -0.16, 0.010), fovy=30.0, size=(640, 480))
