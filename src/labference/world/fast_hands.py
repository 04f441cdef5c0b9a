"""What hands do on the bench of the fast laboratory: each operation as a sequence of states and times.

The sequence is that of the simulated arm's operations. An operation that cannot be carried out as the bench is leaves
it as it is, and takes a moment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..truth.wet_watch import WEIGH_S as READ_S
from ..wire import Operation
from ..wire.glassware import (
    BEAKER_HEIGHT,
    BEAKER_WALL,
    HOLDER_FLOOR,
    PROBE_GRIP,
    RACK_FLOOR,
    RACK_PLACES,
    RINSE_FLOOR,
    ROD_GRIP,
    TILT_START,
    TUBE_GRIP,
    tube_place,
)
from .fast_activities import PERIOD, Pouring, Stirring
from .fast_rows import Where
from .parts.wet_bench import BEAKER, PROBE, PROBE_HOLDER, RACK, RINSE, ROD, ROD_HOLDER
from .wet.timing import NOTHING_S, TIMINGS

if TYPE_CHECKING:
    from .fast import FastWorld

SETTLED = 12
"""Ticks after which what was released has come to rest, and the watch has seen it."""
HOLDING = 3
"""Ticks that the fingers are closed before they lift, and that the watch needs to see it."""
QUIET = 22
"""Ticks after which the watch has seen that nothing flows any more."""
LONGEST_DRIP = 400
"""Ticks after which one no longer waits for drops."""
LOOK, LONGEST_LOOK = 10, 80
"""Ticks between two looks at a balance that is not stable yet, and after which one stops looking."""
CARRIED = 0.30
"""Height over the bench at which the lower end of a carried thing travels [m]."""
TIP_OVER_FLOOR = 0.006
"""Height of a dipped tip over the inner floor of a vessel [m]; the same as with the simulated arm."""
FREE = 0.015
"""A hole with no tube nearer than this is free [m]."""
_GRIPS = {PROBE: PROBE_GRIP, ROD: ROD_GRIP}
_HOLDERS = {PROBE: PROBE_HOLDER, ROD: ROD_HOLDER}


class FastHands:
    """Carry out one operation at a time; yields numbers of ticks that pass before it goes on.

    Whatever changes, changes after the first of those: a block begins with the state in which the last one ended.
    """

    def __init__(self, world: FastWorld) -> None:
        self._world, self._things = world, world.things

    def perform(self, operation: Operation, given: Mapping[str, float]) -> Iterator[int]:
        """Carry out `operation` with parameters by name."""
        match operation.kind:
            case "pick":
                yield from self._pick(operation.item, "pick")
            case "take_probe":
                yield from self._pick(PROBE, "take_probe")
            case "place" | "return_probe":
                yield from self._place(operation.kind)
            case "pour":
                yield from self._pour(operation.place or BEAKER, given)
            case "stir":
                yield from self._stir(operation.place or BEAKER, given["seconds"])
            case "measure":
                yield from self._dip(operation.place or BEAKER, "measure", given["seconds"])
            case "rinse_probe":
                yield from self._dip(RINSE, "rinse_probe", given["seconds"])
            case "tare" | "weigh":
                yield from self._weigh(operation.kind, given["seconds"])
            case _:
                yield from self._nothing()

    def _pass(self, ticks: int) -> Iterator[int]:
        """Let ticks pass, in as many blocks as it takes."""
        until = self._world.tick + ticks
        while self._world.tick < until:
            yield min(until - self._world.tick, self._world.longest)

    def _nothing(self) -> Iterator[int]:
        yield from self._pass(round(NOTHING_S / PERIOD))

    def _drawn(self, kind: str) -> tuple[int, bool]:
        """Return how many ticks an operation takes, and whether it fails."""
        timing, rng = TIMINGS[kind], self._world.rng
        seconds = max(0.3 * timing.mean, timing.mean + timing.spread * float(rng.standard_normal()))
        return max(4 * HOLDING, round(seconds / PERIOD)), bool(rng.random() < timing.fails)

    def _pick(self, item: str, kind: str) -> Iterator[int]:
        stock = self._world.stock
        if self._things.held() or item not in stock.grips or item not in stock.items or self._out(item):
            yield from self._nothing()
            return
        ticks, fails = self._drawn(kind)
        yield from self._pass(round(0.6 * ticks))
        if fails:
            yield from self._pass(ticks - round(0.6 * ticks))
            return
        yield from self._take(item)
        yield from self._pass(max(HOLDING, ticks - round(0.6 * ticks) - HOLDING))

    def _out(self, item: str) -> bool:
        """Return whether an item is not where such things stand."""
        return not self._things.on(item, _HOLDERS.get(item, RACK))

    def _take(self, item: str) -> Iterator[int]:
        """Close the fingers on an item and lift it."""
        things, height = self._things, _GRIPS.get(item, TUBE_GRIP)
        things.grip(item, height)
        yield from self._pass(HOLDING)
        x, y, _ = things.where[item].at
        things.lift(item, Where((x, y, CARRIED)), height)

    def _place(self, kind: str) -> Iterator[int]:
        item = self._things.held()
        spot = self._spot(item) if item else None
        if spot is None:
            yield from self._nothing()
            return
        ticks, _ = self._drawn(kind)
        yield from self._pass(round(0.6 * ticks))
        yield from self._put(item, spot)
        yield from self._pass(max(SETTLED, ticks - round(0.6 * ticks) - 1))

    def _put(self, item: str, spot: tuple[float, float, float]) -> Iterator[int]:
        things = self._things
        things.lower(item, Where(spot), _HOLDERS.get(item, RACK), _GRIPS.get(item, TUBE_GRIP))
        yield from self._pass(1)
        things.release(item)

    def _spot(self, item: str) -> tuple[float, float, float] | None:
        """Return where a held thing belongs: its holder, or a free hole of the rack."""
        things = self._things
        if item in _HOLDERS:
            at = things.fixture(_HOLDERS[item])
            return at.x, at.y, at.z + HOLDER_FLOOR
        rack = things.fixture(RACK)
        c, s = math.cos(rack.yaw), math.sin(rack.yaw)
        others = [where.at for name, where in things.where.items() if name != item]
        for place in range(RACK_PLACES):
            x, y = tube_place(place)
            spot = (rack.x + c * x - s * y, rack.y + s * x + c * y, RACK_FLOOR)
            if all(math.hypot(spot[0] - other[0], spot[1] - other[1]) > FREE for other in others):
                return spot
        return None

    def _pour(self, vessel: str, given: Mapping[str, float]) -> Iterator[int]:
        world, things = self._world, self._things
        item, rim = things.held(), self._rim(vessel)
        if item in ("", PROBE, ROD) or rim is None:
            yield from self._nothing()
            return
        ticks, fails = self._drawn("pour")
        yield from self._pass(round(0.6 * ticks))
        if not fails:
            pouring = Pouring(item, rim, given)
            things.move(item, pouring.where(TILT_START), TUBE_GRIP)
            yield from self._steady(LONGEST_LOOK)
            world.activity = pouring
            while world.activity is not None:
                yield world.longest
        x, y, _ = rim
        things.move(item, Where((x, y, CARRIED)), TUBE_GRIP)
        yield from self._pass(max(QUIET, ticks - round(0.6 * ticks)))
        yield from self._dry()
        yield from self._steady(LONGEST_LOOK)

    def _stir(self, vessel: str, seconds: float) -> Iterator[int]:
        """Stir with the rod; an empty hand takes it before and puts it back afterwards."""
        world, things, at = self._world, self._things, self._inside(vessel)
        held = things.held()
        if held not in ("", ROD) or at is None or (not held and self._out(ROD)):
            yield from self._nothing()
            return
        ticks, _ = self._drawn("stir")
        yield from self._pass(round(0.3 * ticks))
        if not held:
            yield from self._take(ROD)
            yield from self._pass(round(0.2 * ticks))
        world.activity = Stirring(ROD, ROD_GRIP, at, round(seconds / PERIOD))
        while world.activity is not None:
            yield world.longest
        things.move(ROD, Where((at[0], at[1], CARRIED)), ROD_GRIP)
        yield from self._pass(round(0.2 * ticks))
        if not held:
            spot = self._spot(ROD)
            assert spot is not None  # a holder is free when its tool is in the hand
            yield from self._put(ROD, spot)
            yield from self._pass(SETTLED)
        yield from self._steady(LONGEST_LOOK)

    def _dip(self, vessel: str, kind: str, seconds: float) -> Iterator[int]:
        world, things, at = self._world, self._things, self._inside(vessel)
        if things.held() != PROBE or at is None:
            yield from self._nothing()
            return
        ticks, _ = self._drawn(kind)
        yield from self._pass(round(0.6 * ticks))
        if kind == "rinse_probe":
            world.activity = Stirring(PROBE, PROBE_GRIP, at, round(seconds / PERIOD))
            while world.activity is not None:
                yield world.longest
        else:
            things.move(PROBE, Where(at), PROBE_GRIP)
            yield from self._pass(round(seconds / PERIOD))
        things.move(PROBE, Where((at[0], at[1], CARRIED)), PROBE_GRIP)
        yield from self._pass(ticks - round(0.6 * ticks))

    def _weigh(self, kind: str, seconds: float) -> Iterator[int]:
        """Wait for a stable reading, `seconds` at most; `tare` then makes it 0, `weigh` lets it stay and reads it."""
        yield from self._pass(1)
        yield from self._steady(round(seconds / PERIOD))
        if kind == "tare":
            self._world.tare(self._world.channels.cells[0])
            yield from self._pass(2)
        else:
            yield from self._pass(round(READ_S / PERIOD) + 2)

    def _dry(self) -> Iterator[int]:
        """Wait for the last drops, which a thick liquid keeps for long."""
        passed = 0
        while passed < LONGEST_DRIP and not self._world.calm():
            yield from self._pass(QUIET)
            passed += QUIET

    def _steady(self, longest: int) -> Iterator[int]:
        passed = 0
        while passed < longest and not self._world.stable():
            ticks = min(LOOK, longest - passed)
            yield from self._pass(ticks)
            passed += ticks

    def _inside(self, vessel: str) -> tuple[float, float, float] | None:
        """Return where a tip is that is deep in a vessel [m]; None where that is no open vessel."""
        rim = self._rim(vessel)
        if rim is None:
            return None
        x, y, z = rim
        return x, y, z - BEAKER_HEIGHT + BEAKER_WALL + TIP_OVER_FLOOR

    def _rim(self, vessel: str) -> tuple[float, float, float] | None:
        """Return the middle of the rim of a vessel that stands open [m]."""
        if vessel == RINSE and RINSE in self._world.channels.fixtures:
            at = self._things.fixture(RINSE)
            return at.x, at.y, at.z + RINSE_FLOOR + BEAKER_HEIGHT
        if vessel != BEAKER:
            return None
        x, y, z = self._things.where[BEAKER].at
        return x, y, z + BEAKER_HEIGHT
