"""Turn measured liquids, samples and poses of a wet bench into confirmed events.

Masses and samples are known at the ends of blocks, and blocks are cut where something happens: a block through which
neither changes may be cut further, or not, with the same events.
"""

from __future__ import annotations

import math

import numpy as np

from .events import (
    Flowed,
    Immersed,
    Measured,
    Rinsed,
    Spilt,
    Stirred,
    Tared,
    Tilted,
    Transferred,
    Weighed,
    Withdrawn,
)
from .measurement import LENGTH, MASS, OK, SPEED, TURN, Block, Channels, Dipped, Readout, Shown
from .wetware import Opening, Wetware
from .window import Dwell

QUIET_S = 1.0
"""What was poured is counted once nothing has flowed for this long [s]."""
LEAST_G = 0.02
"""Smallest mass that counts as poured [g], less than a drop; what hangs on a probe leaves one vessel and enters another
at different times."""
LEAST_SPILT_G = 0.01
"""Smallest mass that counts as spilt [g]."""
TILT = math.radians(30.0)
"""A vessel that leans further than this over another is about to pour [rad]."""
OVER = 0.06
"""Horizontal distance from the mouth of a leaning vessel to the axis of the one below [m]."""
STIR_S = 3.0
"""A tool that moves in a liquid without a pause for this long has stirred it [s]."""
STIR_SPEED = round(0.01 / SPEED)
"""Least speed of a tool that stirs [grid]."""
RINSE_S = 2.0
"""A probe that is in rinse water for this long is rinsed [s]."""
ZERO_G = 0.05
"""What a balance may show at most after it was tared [g]."""
WEIGH_S, DIGIT_G = 1.0, 0.1001
"""A stable display that has not moved by more than a digit [g] for this long [s] is read."""
_LEANS = round(math.sin(TILT / 2) / TURN / math.sqrt(2.0))


class WetWatch:
    """Follow the liquids of a scene across blocks."""

    def __init__(self, channels: Channels, ware: Wetware) -> None:
        self._channels, self._ware = channels, ware
        self._openings = dict(ware.vessels)
        self._quiet, self._rinse, self._stir = (
            round(seconds / channels.timestep) for seconds in (QUIET_S, RINSE_S, STIR_S)
        )
        self._weigh = round(WEIGH_S / channels.timestep)
        self._anchors = [math.nan] * len(channels.cells)
        self._steady = [0] * len(channels.cells)
        self._before: np.ndarray | None = None
        self._last: np.ndarray | None = None
        self._changed: int | None = None
        probes = dict(ware.probes)
        self._probes = tuple(probes[meter] for meter in channels.meters)
        self._inside = [-1] * len(self._probes)
        self._since = [0] * len(self._probes)
        self._told = [False] * len(self._probes)
        self._stirring = Dwell(max(1, len(ware.rods)))
        self._pouring = [name for name in channels.vessels if name in channels.items]
        self._columns = [channels.items.index(name) for name in self._pouring]
        self._leaning = [""] * len(self._pouring)

    def update(self, block: Block, readouts: tuple[Readout, ...], dipped: tuple[Dipped, ...]) -> list[Flowed]:
        """Return the events of `block` in order of time."""
        events = [
            *self._keys(block, readouts),
            *self._weights(block, readouts),
            *self._flows(block),
            *self._leans(block),
            *self._dips(block, dipped),
            *self._stirs(block),
        ]
        events.sort(key=lambda event: event.tick)
        return events

    def _keys(self, block: Block, readouts: tuple[Readout, ...]) -> list[Flowed]:
        if not block.pressed:
            return []
        return [
            Tared(block.tick, name)
            for index, (name, readout) in enumerate(zip(self._channels.cells, readouts, strict=True))
            if block.pressed >> index & 1 and readout.status[0] == OK and abs(readout.shown[0]) <= ZERO_G
        ]

    def _weights(self, block: Block, readouts: tuple[Readout, ...]) -> list[Flowed]:
        """Tell what a balance shows once that has stayed."""
        events: list[Flowed] = []
        for index, (name, readout) in enumerate(zip(self._channels.cells, readouts, strict=True)):
            valid = readout.stable & (readout.status == OK)
            shown = readout.shown
            anchor = self._anchors[index]
            if valid.all() and (np.abs(shown - anchor) <= DIGIT_G).all():
                before, self._steady[index] = self._steady[index], self._steady[index] + len(shown)
                if before < self._weigh <= self._steady[index]:
                    row = self._weigh - before - 1
                    events.append(Weighed(block.tick + row, name, float(shown[row])))
                continue
            for row in range(len(shown)):
                if not valid[row] or not abs(shown[row] - self._anchors[index]) <= DIGIT_G:
                    self._anchors[index], self._steady[index] = float(shown[row]) if valid[row] else math.nan, 0
                self._steady[index] += bool(valid[row])
                if self._steady[index] == self._weigh:
                    events.append(Weighed(block.tick + row, name, float(shown[row])))
        return events

    def _flows(self, block: Block) -> list[Flowed]:
        """Tell what went where once nothing has flowed for a while."""
        last, self._last = self._last, block.liquid
        if last is None:
            self._before = block.liquid
            return []
        events: list[Flowed] = []
        due = None if self._changed is None else self._changed + self._quiet
        same = np.array_equal(block.liquid, last)
        if due is not None and due < (block.end if same else block.tick):
            events = self._settled(due, last)
            self._changed = None
        if same:
            return events
        self._changed = block.end - block.still
        if block.still > self._quiet:
            events += self._settled(self._changed + self._quiet, block.liquid)
            self._changed = None
        return events

    def _settled(self, tick: int, now: np.ndarray) -> list[Flowed]:
        assert self._before is not None  # known since the first block
        grams, self._before = (now - self._before) * MASS, now
        names = self._channels.vessels
        events: list[Flowed] = []
        order = np.argsort(grams[:-1], kind="stable")
        source = int(order[0])
        if grams[source] <= -LEAST_G:
            for index in order[::-1]:
                if grams[index] < LEAST_G:
                    break
                events.append(Transferred(tick, names[source], names[int(index)], round(float(grams[index]), 6)))
        if grams[-1] >= LEAST_SPILT_G:
            events.append(Spilt(tick, round(float(grams[-1]), 6)))
        return events

    def _leans(self, block: Block) -> list[Flowed]:
        """Tell which vessel begins to lean over which other one; rows like the one before tell nothing."""
        block = block.thinned()
        turns = block.pose[:, self._columns, 3:]
        if not any(self._leaning) and not (np.abs(turns[:, :, 1:3]) > _LEANS).any():
            return []
        events: list[Flowed] = []
        for number, (name, column) in enumerate(zip(self._pouring, self._columns, strict=True)):
            w, x, y, z = (turns[:, number, part] * TURN for part in range(4))
            axis = np.stack((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)), axis=1)
            leans = axis[:, 2] < math.cos(TILT)
            rows = np.flatnonzero(leans)
            if not len(rows):
                self._leaning[number] = ""
                continue
            row = int(rows[0])
            mouth = block.pose[row, column, :3] * LENGTH + self._openings[name].high * axis[row]
            below = self._below(block, row, name, mouth)
            if below and below != self._leaning[number]:
                events.append(Tilted(block.tick + row, name, below))
            self._leaning[number] = below if leans[-1] else ""
        return events

    def _below(self, block: Block, row: int, source: str, mouth: np.ndarray) -> str:
        """Return the open vessel below `mouth` (3,) [m], "" for none."""
        for name, opening in self._openings.items():
            if name == source:
                continue
            at = self._where(block, row, name)
            if math.hypot(mouth[0] - at[0], mouth[1] - at[1]) <= OVER and mouth[2] > at[2] + opening.low:
                return name
        return ""

    def _where(self, block: Block, row: int, body: str) -> np.ndarray:
        """Return the position of an item or a fixture [m]."""
        channels = self._channels
        if body in channels.items:
            found = block.pose[row, channels.items.index(body), :3]
        else:
            found = block.fixtures[channels.fixtures.index(body), :3]
        return np.asarray(found * LENGTH)

    def _dips(self, block: Block, dipped: tuple[Dipped, ...]) -> list[Flowed]:
        events: list[Flowed] = []
        names = self._channels.vessels
        for index, (meter, found) in enumerate(zip(self._channels.meters, dipped, strict=True)):
            probe, vessel = self._probes[index], int(block.sample[index, 3])
            if vessel != self._inside[index]:
                events += self._moved(index, block.tick, vessel, found)
            if vessel < 0:
                continue
            until = self._since[index] + self._rinse
            if names[vessel] in self._ware.rinses and block.tick <= until < block.end:
                events.append(Rinsed(until, probe))
            for tick, shown in zip(found.ticks, found.values, strict=True):
                settled = all(entry.stable and entry.status == "ok" for entry in shown)
                if settled and not self._told[index]:
                    events.append(_measured(tick, meter, names[vessel], shown, settled=True))
                self._told[index] = settled
        return events

    def _moved(self, index: int, tick: int, vessel: int, found: Dipped) -> list[Flowed]:
        """Tell that a probe left a vessel, or entered one."""
        probe, meter, names, before = (
            self._probes[index],
            self._channels.meters[index],
            self._channels.vessels,
            self._inside[index],
        )
        events: list[Flowed] = []
        if before >= 0:
            if not self._told[index] and all(entry.value is not None for entry in found.shown[:2]):
                events.append(_measured(tick, meter, names[before], found.shown, settled=False))
            events.append(Withdrawn(tick, probe, names[before]))
        if vessel >= 0:
            events.append(Immersed(tick, probe, names[vessel]))
        self._inside[index], self._since[index], self._told[index] = vessel, tick, False
        return events

    def _stirs(self, block: Block) -> list[Flowed]:
        columns = [self._channels.items.index(rod) for rod in self._ware.rods]
        moving = block.speed[:, columns, 0] >= STIR_SPEED
        if not moving.any():
            self._stirring.held[:] = 0
            return []
        events: list[Flowed] = []
        inside = np.zeros(moving.shape, bool)
        where = [""] * len(columns)
        for number, column in enumerate(columns):
            tip = block.pose[:, column, :3] * LENGTH
            for name, opening in self._openings.items():
                within = _within(tip, self._where(block, 0, name), opening)
                if within.any():
                    inside[:, number], where[number] = within, name
        run = self._stirring.update(moving & inside)
        for number, name in enumerate(where):
            rows = np.flatnonzero(run[:, number] == self._stir)
            events += [Stirred(block.tick + int(row), name) for row in rows]
        return events


def _within(tip: np.ndarray, at: np.ndarray, opening: Opening) -> np.ndarray:
    """Return where the path `tip` (k, 3) [m] is inside a vessel that stands at `at` [m]."""
    aside = np.hypot(tip[:, 0] - at[0], tip[:, 1] - at[1])
    height = tip[:, 2] - at[2]
    return np.asarray((aside < opening.radius) & (height > opening.low) & (height < opening.high))


def _measured(tick: int, meter: str, vessel: str, shown: tuple[Shown, ...], *, settled: bool) -> Measured:
    ph, ec, _ = (entry.value for entry in shown)
    assert ph is not None and ec is not None  # only valid displays are told
    return Measured(tick, meter, vessel, ph, ec, settled)
