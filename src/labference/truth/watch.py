"""Turn measured blocks into confirmed physical events.

Attempt and outcome share no threshold: a grasp is bilateral contact with closing effort, an outcome is support without
the robot, at low motion, for the settling time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .events import (
    Disturbed,
    Dropped,
    Faulted,
    Fell,
    Freed,
    Grasped,
    Handled,
    Lifted,
    Pressed,
    Released,
    Restored,
    Sensed,
    Settled,
    Steadied,
)
from .measurement import (
    FAULT,
    FIRST_SURFACE,
    HAND,
    LEFT,
    LENGTH,
    OK,
    RIGHT,
    SPEED,
    STATUSES,
    Block,
    Channels,
    Readout,
    SensorFault,
)
from .window import Dwell

GRASP_S = 0.1
"""Bilateral contact with closing effort selects an item after this long [s]."""
EFFORT = round(0.0005 / LENGTH)
"""Closing effort: the commanded opening is at least this much below the measured one [grid]."""
LIFT_S = 0.1
"""A grasped item is lifted when nothing but the robot has carried it for this long [s]."""
RELEASE_S = 0.04
"""An item is out of the gripper after this long without any contact with the robot [s]."""
SLOW = round(0.005 / SPEED)
"""Low motion: at most 5 mm/s [grid]."""
SLOW_TURN = round(0.2 / SPEED)
"""Low motion: at most 0.2 rad/s [grid]."""
FLOOR = round(-0.10 / LENGTH)
"""An item below this height has left the bench [grid]."""
_BOTH = np.uint16(1 << LEFT | 1 << RIGHT)
_ROBOT = np.uint16(1 << LEFT | 1 << RIGHT | 1 << HAND)
_SLOW = np.array([SLOW, SLOW_TURN], np.int32)


def low_motion(block: Block) -> np.ndarray:
    """Return which items move slowly at each tick, (k, n) bool."""
    return np.asarray((block.speed[:, :, 0] <= SLOW) & (block.speed[:, :, 1] <= SLOW_TURN))


def touched_by_robot(block: Block) -> np.ndarray:
    """Return which items touch the hand, a finger or the arm at each tick, (k, n) bool."""
    return np.asarray((block.touch[:, :-1] & _ROBOT) != 0)


@dataclass(slots=True)
class Track:
    """What the watch remembers of one item."""

    place: str
    attempt: int = 0
    grasped: bool = False
    lifted: bool = False
    grasp_opening: int = 0
    stirred: bool = False
    fallen: bool = False


class Watch:
    """Follow every item and instrument of a scene across blocks."""

    def __init__(
        self,
        channels: Channels,
        places: tuple[str, ...],
        located: dict[str, str],
        settle_s: float,
        faults: tuple[SensorFault, ...] = (),
    ) -> None:
        self._faults = faults
        self.channels = channels
        self.places = places
        self.attempts = 0
        self.tracks = [Track(located[item]) for item in channels.items]
        count = len(channels.items)
        self._confirmed = np.array([places.index(located[item]) for item in channels.items], dtype=np.int8)
        self._last_place = self._confirmed.copy()
        self._grip, self._free, self._quiet, self._air = Dwell(count), Dwell(count), Dwell(count), Dwell(count)
        self._grasp_ticks, self._release_ticks, self._settle_ticks, self._lift_ticks = (
            round(seconds / channels.timestep) for seconds in (GRASP_S, RELEASE_S, settle_s, LIFT_S)
        )
        self._busy = False
        self._hand = 0
        self._stable = [False] * len(channels.cells)
        self._status = [OK] * len(channels.cells)

    def update(self, block: Block, readouts: tuple[Readout, ...], place: np.ndarray) -> list[Handled | Sensed]:
        """Return the events of `block` in order of time; `place` is the contract's reading of it."""
        events = [*self._items(block, place), *self._surfaces(block), *self._instruments(block, readouts)]
        events.sort(key=lambda event: event.tick)
        return events

    def _items(self, block: Block, place: np.ndarray) -> list[Handled]:
        ticks, rows = block.ticks, block.thinned()
        where = place[: rows.ticks]
        if not self._busy and self._quiet_block(rows, where):
            self._grip.held[:] = self._air.held[:] = 0
            self._free.held += ticks
            self._quiet.held += ticks
            return []
        touched, slow = touched_by_robot(rows), low_motion(rows)
        closing = rows.opening[:, 1:] <= rows.opening[:, :1] - EFFORT
        grips, airs = ((rows.touch[:, :-1] & _BOTH) == _BOTH) & closing, touched & (where < 0)
        rests = ~touched & slow & (where >= 0)
        if rows.ticks < ticks:
            marks = self._marked_once(ticks, grips[0], ~touched[0], rests[0], airs[0], where[0])
        else:
            marks = self._marked(grips, ~touched, rests, airs, where)
        self._last_place = where[-1].copy()
        below = rows.pose[:, :-1, 2] < FLOOR
        if below.any():
            for column in np.flatnonzero(below.any(axis=0)).tolist():
                marks[column].append((int(below[:, column].argmax()), 3))
        loose = touched | ~slow
        moved = loose | (where != self._confirmed)
        stirs = moved.any(axis=0).tolist()
        events: list[Handled] = []
        for column, track in enumerate(self.tracks):
            if marks[column]:
                alone = (
                    np.broadcast_to(loose, place.shape)[:, column],
                    np.repeat(moved[:, column], ticks // rows.ticks),
                )
                events += self._item(column, block, marks[column], *alone, place[:, column])
            elif not track.fallen:
                track.stirred |= stirs[column]
        self._busy = any(track.stirred or track.grasped for track in self.tracks)
        return events

    def _quiet_block(self, block: Block, place: np.ndarray) -> bool:
        """Return whether every item rests where it was confirmed, untouched, through the whole block."""
        return bool(
            (block.speed <= _SLOW).all()
            and not (block.touch[:, :-1] & _ROBOT).any()
            and (place == self._confirmed).all()
        )

    def _marked(
        self, grips: np.ndarray, frees: np.ndarray, rests: np.ndarray, airs: np.ndarray, place: np.ndarray
    ) -> list[list[tuple[int, int]]]:
        """Return for each item the rows at which something about it may change, each with a number for what."""
        grip, free, air = self._grip.update(grips), self._free.update(frees), self._air.update(airs)
        previous = np.vstack([self._last_place[None], place[:-1]])
        quiet = self._quiet.update(rests & (place == previous))
        marks: list[list[tuple[int, int]]] = [[] for _ in self.tracks]
        reached = (grip == self._grasp_ticks, free == self._release_ticks, quiet == self._settle_ticks)
        for mark, found in enumerate(reached):
            for row, column in np.argwhere(found).tolist():
                marks[column].append((row, mark))
        for column in self._liftable(marks):
            marks[column] += [(row, 4) for row in np.flatnonzero(air[:, column] >= self._lift_ticks).tolist()]
        return marks

    def _marked_once(
        self, ticks: int, grips: np.ndarray, frees: np.ndarray, rests: np.ndarray, airs: np.ndarray, place: np.ndarray
    ) -> list[list[tuple[int, int]]]:
        """Return the same for `ticks` rows that are all like one, (n,)."""
        self._quiet.held[place != self._last_place] = -1  # the first row breaks what was
        begins = (self._grip.stay(grips, ticks), self._free.stay(frees, ticks), self._quiet.stay(rests, ticks))
        air = self._air.stay(airs, ticks)
        marks: list[list[tuple[int, int]]] = [[] for _ in self.tracks]
        for mark, (begin, after) in enumerate(
            zip(begins, (self._grasp_ticks, self._release_ticks, self._settle_ticks), strict=True)
        ):
            row = begin + (after - 1)
            for column in np.flatnonzero((row >= 0) & (row < ticks)).tolist():
                marks[column].append((int(row[column]), mark))
        for column in self._liftable(marks):
            marks[column] += [(row, 4) for row in range(max(0, int(air[column]) + self._lift_ticks - 1), ticks)]
        return marks

    def _liftable(self, marks: list[list[tuple[int, int]]]) -> list[int]:
        """Return the columns of items that are grasped and not lifted yet, or may be grasped now."""
        return [
            column
            for column, track in enumerate(self.tracks)
            if (track.grasped and not track.lifted) or (marks[column] and marks[column][0][1] == 0)
        ]

    def _item(
        self,
        column: int,
        block: Block,
        marks: list[tuple[int, int]],
        loose: np.ndarray,
        moved: np.ndarray,
        place: np.ndarray,
    ) -> list[Handled]:
        """Run one item's small state machine over the ticks at which something about it changes: `loose` (k,) where it
        was touched or fast, `moved` (k,) where it was that or elsewhere than confirmed, and its `place` (k,).
        """
        track, item = self.tracks[column], self.channels.items[column]
        if track.fallen:
            return []
        events: list[Handled] = []
        done = 0
        for row, mark in sorted(marks):
            track.stirred |= bool(moved[done : row + 1].any())
            done = row + 1
            tick = block.tick + row
            if mark == 0 and not track.grasped:
                self.attempts += 1
                track.attempt, track.grasped, track.lifted = self.attempts, True, False
                track.grasp_opening = int(block.opening[row, 0])
                events.append(Grasped(tick, item, track.place, track.attempt))
            elif mark == 1 and track.grasped:
                track.grasped = False
                opened = int(block.opening[row, 1]) > track.grasp_opening
                out = Released if opened else Dropped
                events.append(out(tick, item, track.attempt))
            elif mark == 4 and track.grasped and not track.lifted:
                track.lifted = True
                events.append(Lifted(tick, item, track.attempt))
            elif mark == 2 and track.stirred:
                events.append(self._settle(column, tick, int(place[row])))
                moved = loose | (place != self._confirmed[column])
            elif mark == 3:
                events.append(Fell(tick, item, track.attempt))
                track.fallen, track.grasped, track.stirred = True, False, False
                return events
        track.stirred |= bool(moved[done:].any())
        return events

    def _settle(self, column: int, tick: int, place: int) -> Settled:
        track = self.tracks[column]
        event = Settled(tick, self.channels.items[column], self.places[place], track.place, track.attempt)
        track.place, track.attempt, track.stirred = self.places[place], 0, False
        self._confirmed[column] = place
        return event

    def _surfaces(self, block: Block) -> list[Sensed]:
        hand = block.touch[:, -1]
        if (hand == self._hand).all():
            return []
        events: list[Sensed] = []
        for row in np.flatnonzero(np.diff(hand, prepend=np.uint16(self._hand))):
            now = int(hand[row])
            for index, surface in enumerate(self.channels.surfaces):
                bit = 1 << (FIRST_SURFACE + index)
                if (now ^ self._hand) & bit:
                    events.append((Pressed if now & bit else Freed)(block.tick + int(row), surface))
            self._hand = now
        return events

    def _instruments(self, block: Block, readouts: tuple[Readout, ...]) -> list[Sensed]:
        events: list[Sensed] = []
        for index, (name, readout) in enumerate(zip(self.channels.cells, readouts, strict=True)):
            stable, status = readout.stable, readout.status
            if (stable == self._stable[index]).all() and (status == self._status[index]).all():
                continue
            for row in range(block.ticks):
                events += self._instrument(index, name, block.tick + row, readout, row)
        return events

    def _instrument(self, index: int, name: str, tick: int, readout: Readout, row: int) -> list[Sensed]:
        events: list[Sensed] = []
        status, stable = int(readout.status[row]), bool(readout.stable[row])
        if status != self._status[index]:
            self._status[index] = status
            faulted = Faulted(tick, name, STATUSES[status], self._source(name, tick, status))
            events.append(Restored(tick, name) if status == OK else faulted)
        if stable != self._stable[index]:
            self._stable[index] = stable
            events.append(Steadied(tick, name, float(readout.shown[row])) if stable else Disturbed(tick, name))
        return events

    def _source(self, name: str, tick: int, status: int) -> str:
        """Return what is at fault: the load on the cell, or whatever silenced it."""
        if status != FAULT:
            return f"load on {name}"
        time = tick * self.channels.timestep
        known = (fault.source for fault in self._faults if fault.cell == name and fault.start <= time < fault.stop)
        return next(known, f"load cell of {name} returned no force")
