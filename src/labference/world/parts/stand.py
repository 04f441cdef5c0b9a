"""A low stand that hands tubes out: four loose holes in a row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...truth.measurement import Pose
from ...wire.tubes import STAND_FLOOR, STAND_HALF, STAND_HEIGHT, STAND_PLACES, TUBE_RADIUS, stand_position
from .sockets import WALL, grid

if TYPE_CHECKING:
    from ..build import Bench

LOOSE = 0.0012
"""Radial gap between a tube and the wall of a hole [m]."""


def standing_in(stand: Pose, hole: int) -> Pose:
    """Return where a tube starts in `hole`, counted from 0, of a stand at `stand`: 0.3 mm above its floor."""
    x, y = stand_position(hole)
    c, s = math.cos(stand.yaw), math.sin(stand.yaw)
    return Pose(stand.x + c * x - s * y, stand.y + s * x + c * y, STAND_FLOOR + 0.0003, stand.yaw)


@dataclass(frozen=True, slots=True)
class Stand:
    """A stand that an instance may place anywhere; its origin is on the bench below its middle, holes along y."""

    name: str = "stand"

    def add(self, bench: Bench) -> None:
        """Draw a block with square holes and register it as a surface."""
        stand = bench.fixture(self.name)
        bench.surface(self.name, stand)
        base = (0.24, 0.26, 0.29, 1.0)
        bench.box(stand, (*STAND_HALF, STAND_FLOOR / 2), (0, 0, STAND_FLOOR / 2), look=base, solid=WALL)
        rows = tuple(stand_position(place)[1] for place in range(STAND_PLACES))
        look = (0.80, 0.79, 0.75, 1.0)
        grid(bench, stand, STAND_HALF, (0.0,), rows, TUBE_RADIUS + LOOSE, STAND_FLOOR, STAND_HEIGHT, look)
