"""What is so on the bench, one row per physics tick, on a grid that a record can keep exactly.

Live scoring and the replay audit both start from these integers, so they cannot disagree through rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

LENGTH = 1e-6
"""Grid of positions and openings [m]."""
TURN = 1e-5
"""Grid of quaternion components."""
SPEED = 1e-4
"""Grid of linear [m/s] and angular [rad/s] speeds."""

LEFT, RIGHT, HAND, ITEM = 0, 1, 2, 3
"""Touch bits: left finger, right finger, any other part of hand or arm, another item. Surfaces follow."""
FIRST_SURFACE = 4


@dataclass(frozen=True, slots=True)
class Channels:
    """Name what the columns of a `Block` mean.

    items      free bodies, in column order
    surfaces   what can carry an item, in the order of touch bits from `FIRST_SURFACE`
    cells      load cells, in the order of `Block.force`
    timestep   physics step [s]
    """

    items: tuple[str, ...]
    surfaces: tuple[str, ...]
    cells: tuple[str, ...]
    timestep: float

    def bit(self, surface: str) -> int:
        """Return the touch mask of `surface`."""
        return 1 << (FIRST_SURFACE + self.surfaces.index(surface))


@dataclass(frozen=True, slots=True)
class Block:
    """k consecutive physics ticks with n items and c load cells. Row i belongs to the instant (tick + i) * timestep.

    tick      first tick; ticks before 0 belong to the preparation
    pose      (k, n + 1, 7) int32: position / LENGTH and wxyz quaternion / TURN in the robot base frame; the last column
              is the tool centre point
    speed     (k, n, 2) int32: linear and angular speed / SPEED
    touch     (k, n + 1) uint16: what touches each item; the last column is what the hand and arm touch
    opening   (k, 2) int32: distance between the finger pads, measured and commanded, / LENGTH
    force     (k, c) float32: upward force on each load cell [N], NaN where the sensor failed
    """

    tick: int
    pose: np.ndarray
    speed: np.ndarray
    touch: np.ndarray
    opening: np.ndarray
    force: np.ndarray

    @property
    def ticks(self) -> int:
        """Return k."""
        return len(self.pose)

    @property
    def end(self) -> int:
        """Return the tick after the last row."""
        return self.tick + len(self.pose)


class Readout(NamedTuple):
    """What an instrument made of k load-cell samples: the paper's equations 8 and 9 and the display.

    raw, filtered  (k,) float64 [g]
    shown          (k,) float64 [g], multiples of the display quantum
    stable         (k,) bool
    status         (k,) uint8, index into `STATUSES`
    """

    raw: np.ndarray
    filtered: np.ndarray
    shown: np.ndarray
    stable: np.ndarray
    status: np.ndarray


STATUSES = ("ok", "overload", "underload", "fault")
OK, OVERLOAD, UNDERLOAD, FAULT = range(4)


@dataclass(frozen=True, slots=True)
class Pose:
    """Where something starts: position [m] in the robot base frame and a turn about the vertical [rad]."""

    x: float
    y: float
    z: float
    yaw: float = 0.0


@dataclass(frozen=True, slots=True)
class SensorFault:
    """Let a load cell return nothing from `start` to `stop` [s]."""

    cell: str
    start: float
    stop: float
    source: str


@dataclass(frozen=True, slots=True)
class Setup:
    """What distinguishes one instance of a task from another in the laboratory.

    items     initial pose per free body
    fixtures  pose per movable instrument
    masses    mass [kg] per free body whose mass the instance decides
    on_cell   items that the load cells must not carry while they are zeroed
    faults    sensor faults to inject
    """

    items: dict[str, Pose]
    fixtures: dict[str, Pose]
    masses: dict[str, float]
    on_cell: tuple[str, ...] = ()
    faults: tuple[SensorFault, ...] = ()
