"""The bench top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..build import Bench


class View(NamedTuple):
    """A camera that watches the bench: it looks from `position` at `target` [m], with a vertical field of view `fovy`
    [degrees] and frames of `size` (width, height) pixels.
    """

    name: str
    position: tuple[float, float, float]
    target: tuple[float, float, float]
    fovy: float
    size: tuple[int, int]


WEIGHING_VIEWS = (
    View("front", (1.25, -0.08, 0.74), (0.40, 0.00, 0.17), 48.0, (224, 224)),
    View("labels", (0.80, -0.16, 0.52), (0.4650, -0.16, 0.010), 30.0, (640, 480)),
)
"""The whole bench, and the region of the weights from near by."""
TUBE_VIEWS = (
    View("front", (1.20, -0.12, 0.96), (0.46, 0.015, 0.07), 37.0, (640, 480)),
    View("above", (1.00, 0.02, 1.16), (0.50, 0.02, 0.03), 33.5, (960, 720)),
)
"""The whole bench from in front, and from so high that neither tubes nor the parked arm hide the labels."""


@dataclass(frozen=True, slots=True)
class Table:
    """A bench top whose upper face is z = 0 of the robot base frame.

    `centre` and `half` give its place and half-lengths in x and y [m], `views` the cameras that watch it.
    """

    name: str = "table"
    centre: tuple[float, float] = (0.40, 0.0)
    half: tuple[float, float] = (0.50, 0.65)
    views: tuple[View, ...] = WEIGHING_VIEWS

    def add(self, bench: Bench) -> None:
        """Draw the top and register it as a surface, with the cameras that watch it."""
        top = bench.attached(self.name, None)
        bench.box(top, (*self.half, 0.02), (*self.centre, -0.02), look=(0.62, 0.66, 0.70, 1.0))
        bench.surface(self.name, top)
        for view in self.views:
            bench.camera(view.name, view.position, view.target, fovy=view.fovy, size=view.size)
