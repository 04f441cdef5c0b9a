"""What hands do on the bench of the fast laboratory: each operation as a sequence of states and times.

The sequence is that of the simulated arm's operations. An operation that cannot be carried out as the bench is leaves
it as it is, and takes a moment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..wire import Operation
from ..wire.glassware import (
    BEAKER_HEIGHT,
    BEAKER_WALL,
    DRAINED_S,
    HOLDER_FLOOR,
    LIP_UPSTREAM,
    PROBE_GRIP,
    RACK_FLOOR,
    RACK_PLACES,
    RINSE_FLOOR,
    ROD_GRIP,
    TILT_BACK,
    TILT_FORWARD,
    TILT_MOST,
    TILT_START,
    TUBE_GRIP,
    TUBE_LENGTH,
    TUBE_RADIUS,
    TUBE_WALL,
    lip_height,
    tube_place,
)
from .parts.wet_bench import BEAKER, PROBE, PROBE_HOLDER, RACK, RINSE, ROD, ROD_HOLDER
from .wet.timing import NOTHING_S, TIMINGS

if TYPE_CHECKING:
    from .fast import FastWorld

PERIOD = 0.05
"""Control period of a pour [s]."""
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
TIP_OVER_FLOOR = 0.005
"""Height of a dipped tip over the inner floor of a vessel [m]."""
CIRCLE, TURNS_HZ = 0.008, 1.2
"""Radius of the circle that a stirring tip makes [m], and turns per second."""
FREE = 0.015
"""A hole with no tube nearer than this is free [m]."""
OLD, NEW = 0.6, 0.4
"""Weights of the old and of the newest slope of the reading in its filter."""
EMPTY_S, LATE_S = 5.0, 90.0
"""Time at the largest tilt without a change after which a tube counts as empty, and longest pour [s]."""
_GRIPS = {PROBE: PROBE_GRIP, ROD: ROD_GRIP}
_HOLDERS = {PROBE: PROBE_HOLDER, ROD: ROD_HOLDER}


UPRIGHT = (0.0, 0.0, 1.0)


class Where(NamedTuple):
    """Where an item is: its origin [m], the direction of its axis, and its turn about the vertical if upright [rad]."""

    at: tuple[float, float, float]
    axis: tuple[float, float, float] = UPRIGHT
    yaw: float = 0.0


class FastHands:
    """Carry out one operation at a time; yields numbers of ticks that pass before it goes on.

    Whatever changes, changes after the first of those: a block begins with the state in which the last one ended.
    """

    def __init__(self, world: FastWorld) -> None:
        self._world = world

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
        world = self._world
        if world.held() or item not in world.stock.grips or item not in world.channels.items or self._out(item):
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
        holder = _HOLDERS.get(item, RACK)
        return not self._world.touch[self._world.channels.items.index(item)] & self._world.bit(holder)

    def _take(self, item: str) -> Iterator[int]:
        """Close the fingers on an item and lift it."""
        world, height = self._world, _GRIPS.get(item, TUBE_GRIP)
        world.grip(item, height)
        yield from self._pass(HOLDING)
        x, y, _ = world.where[item].at
        world.lift(item, Where((x, y, CARRIED)), height)

    def _place(self, kind: str) -> Iterator[int]:
        item = self._world.held()
        spot = self._spot(item) if item else None
        if spot is None:
            yield from self._nothing()
            return
        ticks, _ = self._drawn(kind)
        yield from self._pass(round(0.6 * ticks))
        yield from self._put(item, spot)
        yield from self._pass(max(SETTLED, ticks - round(0.6 * ticks) - 1))

    def _put(self, item: str, spot: tuple[float, float, float]) -> Iterator[int]:
        world = self._world
        world.lower(item, Where(spot), _HOLDERS.get(item, RACK), _GRIPS.get(item, TUBE_GRIP))
        yield from self._pass(1)
        world.release(item)

    def _spot(self, item: str) -> tuple[float, float, float] | None:
        """Return where a held thing belongs: its holder, or a free hole of the rack."""
        world = self._world
        if item in _HOLDERS:
            at = world.fixture(_HOLDERS[item])
            return at.x, at.y, at.z + HOLDER_FLOOR
        rack = world.fixture(RACK)
        c, s = math.cos(rack.yaw), math.sin(rack.yaw)
        others = [where.at for name, where in world.where.items() if name != item]
        for place in range(RACK_PLACES):
            x, y = tube_place(place)
            spot = (rack.x + c * x - s * y, rack.y + s * x + c * y, RACK_FLOOR)
            if all(math.hypot(spot[0] - other[0], spot[1] - other[1]) > FREE for other in others):
                return spot
        return None

    def _pour(self, vessel: str, given: Mapping[str, float]) -> Iterator[int]:
        world = self._world
        item, rim = world.held(), self._rim(vessel)
        if item in ("", PROBE, ROD) or rim is None:
            yield from self._nothing()
            return
        ticks, fails = self._drawn("pour")
        yield from self._pass(round(0.6 * ticks))
        if not fails:
            pouring = Pouring(item, rim, given)
            world.move(item, pouring.where(TILT_START), TUBE_GRIP)
            yield from self._steady(LONGEST_LOOK)
            world.activity = pouring
            while world.activity is not None:
                yield world.longest
        x, y, _ = rim
        world.move(item, Where((x, y, CARRIED)), TUBE_GRIP)
        yield from self._pass(max(QUIET, ticks - round(0.6 * ticks)))
        yield from self._dry()
        yield from self._steady(LONGEST_LOOK)

    def _stir(self, vessel: str, seconds: float) -> Iterator[int]:
        """Stir with the rod; an empty hand takes it before and puts it back afterwards."""
        world, at = self._world, self._inside(vessel)
        held = world.held()
        if held not in ("", ROD) or at is None or (not held and self._out(ROD)):
            yield from self._nothing()
            return
        ticks, _ = self._drawn("stir")
        yield from self._pass(round(0.3 * ticks))
        if not held:
            yield from self._take(ROD)
            yield from self._pass(round(0.2 * ticks))
        world.activity = Stirring(ROD, at, round(seconds / PERIOD))
        while world.activity is not None:
            yield world.longest
        world.move(ROD, Where((at[0], at[1], CARRIED)), ROD_GRIP)
        yield from self._pass(round(0.2 * ticks))
        if not held:
            spot = self._spot(ROD)
            assert spot is not None  # a holder is free when its tool is in the hand
            yield from self._put(ROD, spot)
            yield from self._pass(SETTLED)
        yield from self._steady(LONGEST_LOOK)

    def _dip(self, vessel: str, kind: str, seconds: float) -> Iterator[int]:
        world, at = self._world, self._inside(vessel)
        if world.held() != PROBE or at is None:
            yield from self._nothing()
            return
        ticks, _ = self._drawn(kind)
        yield from self._pass(round(0.6 * ticks))
        if kind == "rinse_probe":
            world.activity = Stirring(PROBE, at, round(seconds / PERIOD))
            while world.activity is not None:
                yield world.longest
        else:
            world.move(PROBE, Where(at), PROBE_GRIP)
            yield from self._pass(round(seconds / PERIOD))
        world.move(PROBE, Where((at[0], at[1], CARRIED)), PROBE_GRIP)
        yield from self._pass(ticks - round(0.6 * ticks))

    def _weigh(self, kind: str, seconds: float) -> Iterator[int]:
        """Wait for a stable reading, `seconds` at most; `tare` then makes it 0."""
        yield from self._pass(1)
        yield from self._steady(round(seconds / PERIOD))
        if kind == "tare":
            self._world.tare(self._world.channels.cells[0])
            yield from self._pass(2)

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
            at = self._world.fixture(RINSE)
            return at.x, at.y, at.z + RINSE_FLOOR + BEAKER_HEIGHT
        if vessel != BEAKER:
            return None
        x, y, z = self._world.where[BEAKER].at
        return x, y, z + BEAKER_HEIGHT


class Pouring:
    """Tilt a held tube under control of the reading, tilt it back, and let the last drops fall: a state machine."""

    def __init__(self, item: str, rim: tuple[float, float, float], given: Mapping[str, float]) -> None:
        self._item, self._rim, self._given = item, rim, given
        self._tilt, self._slope, self._passed, self._still = TILT_START, 0.0, 0, 0
        self._base: float | None = None
        self._last = 0.0
        self._phase = "control"
        self._left = round(DRAINED_S / PERIOD)

    def tick(self, world: FastWorld, shown: float | None) -> bool:
        """Go on with what the balance shows; return whether the pour goes on."""
        match self._phase:
            case "control":
                self._control(shown)
            case "back":
                self._tilt = max(TILT_START, self._tilt - TILT_BACK * PERIOD)
                self._phase = "back" if self._tilt > TILT_START else "drain"
            case _:
                self._left -= 1
        world.move(self._item, self.where(self._tilt), TUBE_GRIP)
        return self._left > 0

    def where(self, tilt: float) -> Where:
        """Return where the tube is when it leans by `tilt` [deg] with its lip over the vessel."""
        x, y, z = self._rim
        lean, away = math.radians(tilt), math.hypot(x, y)
        left = (-y / away, x / away) if away else (0.0, 1.0)
        c, s = math.cos(lean), math.sin(lean)
        axis = (s * left[0], s * left[1], c)
        downhill = (c * left[0], c * left[1], -s)
        radius = TUBE_RADIUS - TUBE_WALL
        lip = (x - LIP_UPSTREAM * left[0], y - LIP_UPSTREAM * left[1], z + lip_height(lean))
        base = tuple(p - radius * d - TUBE_LENGTH * a for p, d, a in zip(lip, downhill, axis, strict=True))
        return Where((base[0], base[1], base[2]), axis)

    def _control(self, shown: float | None) -> None:
        given, self._passed = self._given, self._passed + 1
        if self._base is None:
            self._base = self._last = shown if shown is not None else 0.0
        value = self._last if shown is None else shown
        self._still = 0 if value != self._last else self._still + 1
        self._slope = OLD * self._slope + NEW * (value - self._last) / PERIOD
        self._last = value
        missing = given["amount_g"] - (value - self._base)
        limit = given.get("limit", TILT_MOST)
        empty = self._tilt >= limit and self._still * PERIOD > EMPTY_S
        if missing <= given["pre_stop"] + 1e-6 or empty or self._passed * PERIOD >= LATE_S:
            self._phase = "back"
            return
        speed = min(TILT_FORWARD, max(-TILT_FORWARD, given["kp"] * missing - given["kd"] * self._slope))
        self._tilt = min(limit, max(TILT_START, self._tilt + speed * PERIOD))


class Stirring:
    """Lead the lower end of a held tool around in a vessel."""

    def __init__(self, item: str, at: tuple[float, float, float], ticks: int) -> None:
        self._item, self._at, self._left = item, at, ticks
        self._passed = 0

    def tick(self, world: FastWorld, shown: float | None) -> bool:
        """Go on; return whether there is time left."""
        del shown
        self._passed += 1
        angle = 2 * math.pi * TURNS_HZ * self._passed * PERIOD
        x, y, z = self._at
        at = (x + CIRCLE * math.cos(angle), y + CIRCLE * math.sin(angle), z)
        world.move(self._item, Where(at), _GRIPS[self._item])
        return self._passed < self._left
