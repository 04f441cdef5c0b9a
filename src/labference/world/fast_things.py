"""What stands, lies and is held on the bench of the fast laboratory: poses and touch, moved by hands that jump."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..truth.measurement import FIRST_SURFACE, LEFT, LENGTH, RIGHT, Channels, Pose, Setup
from ..wire.action import STROKE
from .fast_rows import DOWN, UPRIGHT, Where, grid, lean, turn
from .inventory import Inventory
from .wet.plumbing import Placed

PARKED = (0.35, 0.0, 0.45)
"""Position of an empty hand that is not told where to go [m]."""
_HELD = 1 << LEFT | 1 << RIGHT


class Load(NamedTuple):
    """What rests on a pan: mass that does not change [kg], and indices of vessels."""

    still: float
    vessels: tuple[int, ...]


class Things:
    """The bodies of one bench.

    where    of each item
    touch    what touches each item, and last the hand: masks as in `Block.touch`
    tool     position of the hand [m]
    opening  between the fingers, measured and commanded [m]
    placed   where each vessel is, in the order of `Channels.vessels`
    """

    def __init__(self, stock: Inventory, channels: Channels) -> None:
        self._stock, self._channels = stock, channels
        self._columns = {item: column for column, item in enumerate(channels.items)}
        self._vessels = {name: index for index, name in enumerate(channels.vessels)}
        self._bits = {name: 1 << (FIRST_SURFACE + index) for index, name in enumerate(channels.surfaces)}
        self._pans = [self._surface_of(body) for _, body, _ in stock.cells]

    def lay_out(self, setup: Setup) -> None:
        """Stand everything where it starts, with an empty hand."""
        self._fixed = setup.fixtures
        fixed = [setup.fixtures[name] for name in self._channels.fixtures]
        self.fixtures = np.array([grid((at.x, at.y, at.z), turn(at.yaw)) for at in fixed], np.int32).reshape(-1, 7)
        self.touch = [self._bits[self._below(item, setup)] for item in self._channels.items] + [0]
        masses = (setup.masses.get(item, self._stock.bodies[item].mass) for item in self._channels.items)
        self._masses = tuple(masses)
        self.tool: tuple[float, float, float] = PARKED
        self.opening: tuple[float, float] = (STROKE, STROKE)
        stands = {name: Placed((at.x, at.y, at.z), UPRIGHT) for name, at in setup.fixtures.items()}
        self.placed = [stands.get(name, Placed((0.0, 0.0, 0.0), UPRIGHT)) for name in self._channels.vessels]
        self._rows = np.zeros((len(self._channels.items) + 1, 7), np.int32)
        self.put({item: Where((at.x, at.y, at.z), UPRIGHT, at.yaw) for item, at in setup.items.items()})

    def put(self, where: dict[str, Where]) -> None:
        """Let all items be elsewhere at once."""
        self.where: dict[str, Where] = {}
        self._stale: set[str] = set()
        for item, at in where.items():
            self._stand(item, at)

    def poses(self) -> np.ndarray:
        """Return where items and hand are, (n + 1, 7) int32 as in `Block.pose`; a copy."""
        for item in self._stale:
            at, axis, yaw = self.where[item]
            self._rows[self._columns[item]] = grid(at, turn(yaw) if axis == UPRIGHT else lean(axis))
        self._stale.clear()
        self._rows[-1] = grid(self.tool, DOWN)
        return self._rows.copy()

    def openings(self) -> np.ndarray:
        """Return how far the hand is open, (2,) int32 as in `Block.opening`."""
        return np.array([round(value / LENGTH) for value in self.opening], np.int32)

    def loads(self) -> list[Load]:
        """Return what rests on each pan."""
        names, found = self._channels.items, []
        for (_, body, _), surface in zip(self._stock.cells, self._pans, strict=True):
            bit = self._bits[surface]
            on = [i for i, touch in enumerate(self.touch[:-1]) if touch & bit and not touch & _HELD]
            still = self._stock.bodies[body].mass + sum(self._masses[i] for i in on)
            found.append(Load(still, tuple(self._vessels[names[i]] for i in on if names[i] in self._vessels)))
        return found

    def held(self) -> str:
        """Return the item in the hand, "" for none."""
        return next((item for item, touch in zip(self._channels.items, self.touch, strict=False) if touch & _HELD), "")

    def on(self, item: str, surface: str) -> bool:
        """Return whether an item stands on a surface."""
        return bool(self.touch[self._columns[item]] & self._bits[surface])

    def fixture(self, name: str) -> Pose:
        """Return where a fixture stands."""
        return self._fixed[name]

    def column(self, item: str) -> int:
        """Return the column of an item."""
        return self._columns[item]

    # --- what hands do

    def grip(self, item: str, height: float) -> None:
        """Close the fingers on an item at `height` [m] of its axis, where it stands."""
        self.touch[self._columns[item]] |= _HELD
        x, y, z = self.where[item].at
        self.tool = (x, y, z + height)
        self.opening = (2 * self._stock.grips[item], 0.0)

    def lift(self, item: str, where: Where, height: float) -> None:
        """Carry a held item to `where`; the hand is at `height` [m] of its axis."""
        self.touch[self._columns[item]] = _HELD
        self.move(item, where, height)

    def move(self, item: str, where: Where, height: float) -> None:
        """Put a held item elsewhere."""
        self._stand(item, where)
        (x, y, z), (ax, ay, az), _ = where
        self.tool = (x + height * ax, y + height * ay, z + height * az)

    def lower(self, item: str, where: Where, surface: str, height: float) -> None:
        """Stand a held item on a surface; the fingers still hold it."""
        self.move(item, where, height)
        self.touch[self._columns[item]] = _HELD | self._bits[surface]

    def release(self, item: str) -> None:
        """Open the fingers around an item that stands, and go away."""
        self.touch[self._columns[item]] &= ~_HELD
        self.opening = (STROKE, STROKE)
        self.tool = PARKED

    # --- inside

    def _stand(self, item: str, where: Where) -> None:
        self.where[item] = where
        self._stale.add(item)
        if item in self._vessels:
            self.placed[self._vessels[item]] = Placed(where.at, where.axis)

    def _surface_of(self, body: str) -> str:
        return next(name for name, bodies in self._stock.surfaces.items() if body in bodies)

    def _below(self, item: str, setup: Setup) -> str:
        """Return the surface that an item stands on: that of the nearest fixture, the pan where it has one."""
        at = setup.items[item]
        nearest = min(
            self._channels.fixtures,
            key=lambda name: math.hypot(setup.fixtures[name].x - at.x, setup.fixtures[name].y - at.y),
        )
        pans = [body for _, body, _ in self._stock.cells if self._stock.mounted.get(body) == nearest]
        return self._surface_of(pans[0] if pans else nearest)
