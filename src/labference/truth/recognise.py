"""Recognise choices from interaction patterns. Thresholds are looser than, and independent of, those that confirm.

Measured on approaches, near misses and aborted entries: a directed entry is recognised in all of 60 insertions that are
up to 9 mm off, and never while a tube hovers above a mouth, crosses mouths, or touches the rim between two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .events import Approached, Entered, Recognised, Returned, Withdrew
from .measurement import LEFT, LENGTH, RIGHT, Block, Channels
from .sockets import Sockets, axes
from .window import Dwell

FINGERS = np.uint16(1 << LEFT | 1 << RIGHT)

ENTRY_S, ENTRY_FALL = 0.06, 0.0003
"""A tip below the mouth selects a socket after this long [s], having sunk at least so much meanwhile [m]."""
ENTRY_RADIAL = 0.012
"""Distance from the axis of a socket within which an entry is directed at it [m]."""
ENTRY_UPRIGHT = math.cos(math.radians(25))
TOUCH_S, TOUCH_SHARE, TOUCH_ABOVE = 0.10, 0.45, 0.008
"""A held tube that touches the fixture for this long [s], within this share of the spacing of one socket and at most
this far above its mouth [m], selects it too."""
OUT, AWAY = 0.005, 0.030
"""Heights of the tip over the mouth above which a held tube is outside, so that it can enter, and above which an
attempt is over [m]."""

LOW, HIGH = -0.020, 0.050
"""Heights of the tool centre point over the tops of the caps between which an approach counts [m]."""
AVERAGE_S = 0.14
"""Time over which the velocity of the hand is taken [s]."""
DESCENT, CONE = 0.020, math.cos(math.radians(60))
"""Least speed downwards [m/s], and cosine of the largest angle between velocity and vertical."""
HAND_UPRIGHT = math.cos(math.radians(30))
AIM_SHARE, NEAR_SHARE = 0.40, 0.75
"""Distances from one slot, over the spacing, within which the aim point and the tool centre point lie."""
APPROACH_S, APPROACH_FALL = 0.16, 0.012
"""An approach is sustained for this long [s] and this far down [m]."""

CLEAR_HEIGHT, CLEAR_S = 0.25, 0.2
"""Height of the tool centre point above which an empty hand is clear of the bench [m], and for how long [s]."""


@dataclass(slots=True)
class Aim:
    """What a recogniser remembers of one run of ticks: where it points, how long, and where it began."""

    slot: int = -1
    ticks: int = 0
    height: float = 0.0
    told: bool = False


class Entry:
    """First directed entry of a held tube into a unique socket."""

    def __init__(self, sockets: Sockets, channels: Channels) -> None:
        self._sockets, self._channels = sockets, channels
        self._window, self._touch_ticks = round(ENTRY_S / channels.timestep), round(TOUCH_S / channels.timestep)
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        count = len(self._channels.items)
        self._inside, self._touching = Dwell(count), Dwell(count)
        self._slot = np.full(count, -1)
        self._depths = np.full((self._window - 1, count), np.nan)
        self._told = np.full(count, -1)
        self._outside = np.zeros(count, bool)

    def update(self, block: Block) -> list[Recognised]:
        """Return the entries that `block` shows."""
        held = (block.touch[:, :-1] & FINGERS) == FINGERS
        if not held.any():
            self.reset()
            return []
        found = self._sockets.relate(block, self._channels)
        slot = np.where(held, found.nearest, -1)
        same = slot == np.vstack((self._slot[None], slot[:-1]))
        self._slot = slot[-1].copy()
        aligned = held & same & (found.upright >= ENTRY_UPRIGHT)
        inside = self._inside.update(aligned & (found.depth >= 0) & (found.radial <= ENTRY_RADIAL))
        touch = (block.touch[:, :-1] & np.uint16(self._channels.bit(self._sockets.surface))) != 0
        near = (found.depth >= -TOUCH_ABOVE) & (found.radial <= TOUCH_SHARE * self._sockets.spacing)
        touching = self._touching.update(aligned & touch & near)
        depths = np.vstack((self._depths, np.where(held, found.depth, np.nan)))
        self._depths = depths[len(depths) - self._window + 1 :]
        with np.errstate(invalid="ignore"):
            sinking = depths[self._window - 1 :] - depths[: -(self._window - 1)] >= ENTRY_FALL
        fires = ((inside >= self._window) & sinking) | (touching >= self._touch_ticks)
        # 0 inside, 1 outside, 2 far outside, 3 not held: a tube that is taken out of a slot has not entered it.
        phase = np.where(held, (found.depth < -OUT) + (found.depth < -AWAY).astype(int), 3)
        events: list[Recognised] = []
        for column in np.flatnonzero(held.any(axis=0)):
            events += self._tell(int(column), block.tick, fires[:, column], phase[:, column], found.nearest[:, column])
        return events

    def _tell(
        self, column: int, tick: int, fires: np.ndarray, phase: np.ndarray, nearest: np.ndarray
    ) -> list[Recognised]:
        """Report each socket once per attempt."""
        events: list[Recognised] = []
        turns = np.flatnonzero(np.diff(phase, prepend=-1) != 0)
        for row in np.union1d(turns, np.flatnonzero(fires)):
            if phase[row]:
                self._outside[column] = phase[row] < 3
            if phase[row] >= 2:
                self._told[column] = -1
            elif fires[row] and self._outside[column] and nearest[row] != self._told[column]:
                self._told[column] = nearest[row]
                name = self._sockets.names[nearest[row]]
                events.append(Entered(tick + int(row), self._channels.items[column], name))
        return events


@dataclass(slots=True)
class Approach:
    """Sustained, descending approach of the open hand into one local slot region before contact.

    `tops` is the height of the tops of seated caps in the frame of the fixture [m], `grasp` how far below them a hand
    closes, `width` the diameter of a cap [m]: a hand that is told to be narrower is not open.
    """

    sockets: Sockets
    channels: Channels
    tops: float
    grasp: float
    width: float
    _past: np.ndarray = field(init=False)
    _aim: Aim = field(init=False)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self._past = np.full((round(AVERAGE_S / self.channels.timestep), 3), np.nan)
        self._aim = Aim()

    def update(self, block: Block) -> list[Recognised]:
        """Return the approaches that `block` shows."""
        tool = block.pose[:, -1]
        path = np.vstack((self._past, tool[:, :3] * LENGTH))
        span = len(self._past)
        self._past = path[-span:]
        local = self.sockets.local(path, block, self.channels)
        heights = local[span:, 2] - self.tops
        if ((heights < LOW) | (heights > HIGH)).all():
            self._aim = Aim()
            return []
        velocity = (local[span:] - local[:-span]) / AVERAGE_S
        slots = self._slots(block, local[span:], heights, velocity)
        events: list[Recognised] = []
        for row, slot in enumerate(slots.tolist()):
            if slot < 0 or slot != self._aim.slot:
                self._aim = Aim(slot, 0, float(local[span + row, 2]))
            self._aim.ticks += slot >= 0
            fallen = self._aim.height - float(local[span + row, 2])
            sustained = self._aim.ticks >= round(APPROACH_S / self.channels.timestep) and fallen >= APPROACH_FALL
            if sustained and not self._aim.told:
                self._aim.told = True
                events.append(Approached(block.tick + row, self.sockets.names[slot]))
        return events

    def _slots(self, block: Block, places: np.ndarray, heights: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return the slot that the hand descends towards at each tick, -1 for none."""
        fall = -velocity[:, 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            descending = (fall >= DESCENT) & (fall >= CONE * np.linalg.norm(velocity, axis=1))
            ahead = velocity[:, :2] / fall[:, None] * np.maximum(heights + self.grasp, 0.0)[:, None]
        upright = -axes(block.pose[:, -1, 3:])[:, 2] >= HAND_UPRIGHT
        empty = ~((block.touch[:, :-1] & FINGERS) != 0).any(axis=1)
        opened = block.opening[:, 1] >= round(self.width / LENGTH)
        ok = descending & upright & empty & opened & (heights >= LOW) & (heights <= HIGH)
        mouths = np.array(self.sockets.mouths)
        aim = np.where(ok[:, None], places[:, :2] + ahead, 0.0)
        apart = np.hypot(*(aim[:, None] - mouths).transpose(2, 0, 1))
        slot = np.argmin(apart, axis=1)
        beside = np.hypot(*(places[:, :2] - mouths[slot]).T)
        close = (apart.min(axis=1) <= AIM_SHARE * self.sockets.spacing) & (beside <= NEAR_SHARE * self.sockets.spacing)
        return np.where(ok & close, slot, -1)


class Withdrawal:
    """Tell when the empty hand is clear of the bench, and when it no longer is."""

    def __init__(self, channels: Channels) -> None:
        self._ticks = round(CLEAR_S / channels.timestep)
        self._clear, self._away = Dwell(1), False

    def reset(self) -> None:
        """Keep on: the environment does not move the hand."""

    def update(self, block: Block) -> list[Recognised]:
        """Return the changes that `block` shows."""
        empty = ((block.touch[:, :-1] & FINGERS) == 0).all(axis=1)
        clear = empty & (block.pose[:, -1, 2] >= round(CLEAR_HEIGHT / LENGTH))
        if clear.all() and self._away:
            self._clear.held += block.ticks
            return []
        run = self._clear.update(clear[:, None])[:, 0]
        if not self._away and not (run == self._ticks).any():
            return []
        events: list[Recognised] = []
        for row in np.flatnonzero((run == self._ticks) | (run == 0)):
            tick = block.tick + int(row)
            if run[row] and not self._away:
                self._away = True
                events.append(Withdrew(tick))
            elif not run[row] and self._away:
                self._away = False
                events.append(Returned(tick))
        return events
