"""A hood that the environment puts over a rack or rotor to hide what it does there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...truth.measurement import Pose

if TYPE_CHECKING:
    from ..build import Bench

WAITING = Pose(0.0, 0.0, -2.0)
"""Where a hood waits: below the floor, where no camera sees it."""
THICKNESS = 0.003
"""Of its walls [m]."""


def covering(x: float, y: float) -> Pose:
    """Return where a hood stands on the bench around (x, y) [m]."""
    return Pose(x, y, 0.0)


@dataclass(frozen=True, slots=True)
class Hood:
    """A box without a floor that only shows; its origin is on the bench below its middle.

    `half` gives its half-lengths in x and y, `height` its height [m]; as set, it covers a rack at any angle, or a
    rotor, with tubes that stand in their mouths.
    """

    name: str = "hood"
    half: tuple[float, float] = (0.136, 0.136)
    height: float = 0.190

    def add(self, bench: Bench) -> None:
        """Draw four walls, a lid, a dark lower edge and a handle."""
        hood = bench.fixture(self.name)
        (x, y), z, t = self.half, self.height, THICKNESS / 2
        shell, trim = (0.80, 0.82, 0.84, 1.0), (0.28, 0.31, 0.36, 1.0)
        band = 0.012
        for low, high, look, out in ((band, z, shell, 0.0), (0.0, band, trim, 0.0006)):
            middle, half = (low + high) / 2, (high - low) / 2
            for side in (-1, 1):
                bench.box(hood, (t + out, y + out, half), (side * (x - t), 0, middle), look=look, solid=False)
                bench.box(hood, (x + out, t + out, half), (0, side * (y - t), middle), look=look, solid=False)
        bench.box(hood, (x, y, t), (0, 0, z - t), look=shell, solid=False)
        for side in (-1, 1):
            bench.box(hood, (0.006, 0.006, 0.012), (0, side * 0.045, z + 0.012), look=trim, solid=False)
        bench.box(hood, (0.007, 0.051, 0.005), (0, 0, z + 0.029), look=trim, solid=False)
