"""What is so on the bench, one row per physics tick, on a grid that a record can keep exactly.

Live scoring and the replay audit both start from these integers, so they cannot disagree through rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

LENGTH = 1e-6
"""Grid of positions and openings [m]."""
TURN = 1e-5
"""Grid of quaternion components."""
SPEED = 1e-4
"""Grid of linear [m/s] and angular [rad/s] speeds."""
MASS = 1e-6
"""Grid of liquid masses [g]."""

LEFT, RIGHT, HAND, ITEM = 0, 1, 2, 3
"""Touch bits: left finger, right finger, any other part of hand or arm, another item. Surfaces follow."""
FIRST_SURFACE = 4
POLICY, ENVIRONMENT, HANDOFF = 0, 1, 2
"""The control mask: the tested system acts; the environment does, and operation recognition pauses; the environment's
last block, at whose end the tested system is shown the scene again.
"""


@dataclass(frozen=True, slots=True)
class Channels:
    """Name what the columns of a `Block` mean.

    items      free bodies, in column order
    surfaces   what can carry an item, in the order of touch bits from `FIRST_SURFACE`
    cells      load cells, in the order of `Block.force`
    fixtures   instruments and racks that the environment may move, in the order of `Block.fixtures`
    timestep   physics step [s]
    vessels    what holds liquid, in the order of `Block.liquid`
    meters     instruments that are dipped into liquid, in the order of `Block.sample`
    """

    items: tuple[str, ...]
    surfaces: tuple[str, ...]
    cells: tuple[str, ...]
    fixtures: tuple[str, ...]
    timestep: float
    vessels: tuple[str, ...] = ()
    meters: tuple[str, ...] = ()

    def bit(self, surface: str) -> int:
        """Return the touch mask of `surface`."""
        return 1 << (FIRST_SURFACE + self.surfaces.index(surface))


NO_LIQUID = np.empty(0, np.int64)
NO_SAMPLE = np.empty((0, 4))


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
    fixtures  (f, 7) int32: where each fixture stands throughout the block, on the grid of `pose`
    control   who decides what happens: `POLICY`, `ENVIRONMENT`, or `HANDOFF` for the environment's last block
    generation  how often the environment has rebuilt free bodies
    liquid    (v + 1,) int64: liquid in each vessel, and what was spilled so far, at the end of the block / MASS; empty
              where there is no vessel
    sample    (m, 4) float64: what the tip of each meter is in at the end of the block: pH, conductivity [uS/cm],
              temperature [C], and the index of the vessel, -1 in the air
    pressed   mask of the cells whose tare key was pressed just before the first row
    still     rows at the end through which no liquid moved, as far as that is known
    """

    tick: int
    pose: np.ndarray
    speed: np.ndarray
    touch: np.ndarray
    opening: np.ndarray
    force: np.ndarray
    fixtures: np.ndarray
    control: int = POLICY
    generation: int = 0
    liquid: np.ndarray = field(default_factory=lambda: NO_LIQUID)
    sample: np.ndarray = field(default_factory=lambda: NO_SAMPLE)
    pressed: int = 0
    still: int = 0

    @property
    def ticks(self) -> int:
        """Return k."""
        return len(self.pose)

    @property
    def end(self) -> int:
        """Return the tick after the last row."""
        return self.tick + len(self.pose)

    @property
    def uniform(self) -> bool:
        """Return whether all rows are known to be the same, but for the forces: they are one row, told many times."""
        fields = (self.pose, self.speed, self.touch, self.opening)
        return all([not field.strides[0] for field in fields]) or len(self.pose) == 1

    def thinned(self) -> Block:
        """Return the first row of a `uniform` block, and any other block as it is."""
        if not self.uniform or len(self.pose) == 1:
            return self
        return Block(
            self.tick,
            self.pose[:1],
            self.speed[:1],
            self.touch[:1],
            self.opening[:1],
            self.force[:1],
            self.fixtures,
            self.control,
            self.generation,
            self.liquid,
            self.sample,
            self.pressed,
            min(self.still, 1),
        )


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


class Shown(NamedTuple):
    """One quantity on a display; `value` is None unless `status` is "ok"."""

    value: float | None
    unit: str
    stable: bool
    status: str


QUANTITIES = ("pH", "EC", "T")
"""What a water-quality meter shows, in this order."""


class Dipped(NamedTuple):
    """What a water-quality meter made of a block.

    vessel   index of the vessel that its tip is in, -1 in the air
    ticks    at which the display changed, and what it `values` then, one entry per quantity
    shown    what it says at the end of the block; out of a liquid it keeps the last values
    since    tick of those
    """

    vessel: int
    ticks: tuple[int, ...]
    values: tuple[tuple[Shown, ...], ...]
    shown: tuple[Shown, ...]
    since: int

    @property
    def settled(self) -> bool:
        """Return whether everything that is shown is valid and stable."""
        return all(entry.stable and entry.status == "ok" for entry in self.shown)


STATUSES = ("ok", "overload", "underload", "fault")
OK, OVERLOAD, UNDERLOAD, FAULT = range(4)


@dataclass(frozen=True, slots=True)
class Pose:
    """Where something starts: position [m] in the robot base frame, and a turn about the vertical [rad].

    `lean` follows the turn: a small rotation vector about x and y [rad].
    """

    x: float
    y: float
    z: float
    yaw: float = 0.0
    lean: tuple[float, float] = (0.0, 0.0)


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
    colours   red, green and blue (0..1) of the coloured shapes of an item
    held      an item that the closed gripper holds from the start, and how far above its origin the tool centre point
              is [m]; its pose in `items` does not count
    after     where fixtures stand, and items that the environment brings or moves, once it has acted; empty where it
              never does
    """

    items: dict[str, Pose]
    fixtures: dict[str, Pose]
    masses: dict[str, float]
    on_cell: tuple[str, ...] = ()
    faults: tuple[SensorFault, ...] = ()
    colours: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    held: tuple[str, float] | None = None
    after: dict[str, Pose] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Carry:
    """Move a free body rigidly with a frame from `before` to `after`: T' = after before^-1 T (equation 10)."""

    item: str
    before: Pose
    after: Pose


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """What the environment changes between two physics steps; bodies that it moves are rebuilt at zero velocity.

    fixtures  new poses of fixtures
    carried   free bodies that keep their pose relative to a frame
    items     free bodies that get a pose of their own
    """

    fixtures: dict[str, Pose]
    carried: tuple[Carry, ...] = ()
    items: dict[str, Pose] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Transition:
    """An occluded environment transition (paper section 8.3): cover, rearrange, settle, check, reveal.

    cover    fixture that hides what changes
    inside   where the cover stands while it hides
    aside    beside the bench, where it comes from and goes to in a straight line
    outside  where it waits, out of sight
    change   what happens below it
    """

    cover: str
    inside: Pose
    aside: Pose
    outside: Pose
    change: Rearrangement
