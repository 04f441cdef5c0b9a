"""The electronics of a top-loading balance at the pouring bench: lag, latency, noise, digits, tare and stability."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from ...truth.measurement import OK, OVERLOAD
from ..parts.balance import CAPACITY, QUANTUM, WINDOW
from .chance import Stream, branch, frozen, thawed

TAU = 0.40
"""Time constant of the first-order filter [s] (estimate: top-loaders settle in 1 to 3 s; 20 g take 2.1 s)."""
LATENCY, JITTER = 0.10, 0.15
"""Age of a new value, at least, and by how much more it may be [s], uniform (estimates). Values last
`SAMPLE`, so that a reader finds them 0.1 to 0.3 s old."""
NOISE = 0.04
"""Standard deviation of a value before rounding [g] (calibrated with the pours)."""
SAMPLE, GRID = 0.05, 0.01
"""Interval between shown values, and of the memory from which late values are taken [s]."""
SPREAD = 0.3
"""Largest spread of the values of one second that counts as stable [g], three digits; noise alone stays below it."""
_KEPT = round((LATENCY + JITTER) / GRID) + 2
_PER_SAMPLE = round(SAMPLE / GRID)
_PER_WINDOW = round(WINDOW / SAMPLE)


@dataclass(frozen=True, slots=True)
class ScaleState:
    """All that a scale remembers, as plain values.

    time      [s]
    ticks     points of the grid that have passed
    filtered  load behind the filter [g]
    zero      load that is shown as 0 [g]
    past      `filtered` at the last points of the grid, oldest first [g]
    values    unrounded values of the stability window, oldest first [g], tare not yet taken off
    stream    where the random numbers stand
    """

    time: float
    ticks: int
    filtered: float
    zero: float
    past: tuple[float, ...]
    values: tuple[float, ...]
    stream: Stream


class Scale:
    """Turn what rests on a pan into what the display says, twenty times a second.

    The load is bookkeeping, not contact force: masses on the pan and the push of a stream. Digits, window and capacity
    are those of the weighing bench's balance.
    """

    unit = "g"

    def __init__(self, rng: np.random.Generator, load: float = 0.0, noise: float = 1.0) -> None:
        """Start settled with `load` [kg] on the pan; `noise` scales the noise, which is seeded from `rng`."""
        if not 0.0 <= load < math.inf:
            raise ValueError(f"A scale cannot start under {load!r} kg; give a load from 0 kg.")
        self._noise, self._dt, self._keeps = noise * NOISE, 0.0, 1.0
        self._time, self._ticks, self._filtered, self._zero = 0.0, 0, 0.0, 0.0
        grams = 1000.0 * load
        self._past: deque[float] = deque(maxlen=_KEPT)
        self._values: deque[float] = deque(maxlen=_PER_WINDOW)
        self.load(ScaleState(0.0, 0, grams, 0.0, (grams,) * _KEPT, (grams,), frozen(branch(rng))))

    @property
    def shown(self) -> float:
        """Return what the digits say [g], a multiple of the display step."""
        # Adding zero turns -0.0 into 0.0.
        return round((self._values[-1] - self._zero) / QUANTUM) / round(1 / QUANTUM) + 0.0

    @property
    def stable(self) -> bool:
        """Return whether the values of the last second lie within `SPREAD`."""
        return (
            self.status == OK and len(self._values) == _PER_WINDOW and max(self._values) - min(self._values) <= SPREAD
        )

    @property
    def status(self) -> int:
        """Return `OK` or `OVERLOAD`; tare uses up capacity."""
        return OVERLOAD if self._values[-1] > CAPACITY else OK

    def display(self) -> str:
        """Return what the five digits spell, with a fixed decimal point in numbers."""
        return f"{self.shown:6.1f}" if self.status == OK else "  OL "

    def tare(self) -> bool:
        """Show what is on the pan as 0.0 g from now on, if the reading is stable; return whether it was."""
        if not self.stable:
            return False
        self._zero = sum(self._values) / len(self._values)
        return True

    def step(self, dt: float, load: float) -> None:
        """Let `dt` [s] pass with `load` [kg] on the pan; readings do not depend on how a constant load is cut."""
        if not (dt > 0.0 and -math.inf < load < math.inf):
            raise ValueError(
                f"A scale cannot step by {dt!r} s under {load!r} kg; give a positive time and a finite load."
            )
        grams, start, before = 1000.0 * load, self._time, self._filtered
        self._time = start + dt
        while (self._ticks + 1) * GRID <= self._time + 1e-9:
            self._ticks += 1
            passed = self._ticks * GRID - start
            self._past.append(grams + (before - grams) * math.exp(-passed / TAU))
            if self._ticks % _PER_SAMPLE == 0:
                self._sample()
        if dt != self._dt:
            self._dt, self._keeps = dt, math.exp(-dt / TAU)
        self._filtered = grams + (before - grams) * self._keeps

    def state(self) -> ScaleState:
        """Return all that is remembered; the same steps from it give the same bits."""
        return ScaleState(
            self._time,
            self._ticks,
            self._filtered,
            self._zero,
            tuple(self._past),
            tuple(self._values),
            frozen(self._rng),
        )

    def load(self, state: ScaleState) -> None:
        """Go on from `state`."""
        self._time, self._ticks = state.time, state.ticks
        self._filtered, self._zero = state.filtered, state.zero
        self._past.clear()
        self._past.extend(state.past)
        self._values.clear()
        self._values.extend(state.values)
        self._rng = thawed(state.stream)

    def _sample(self) -> None:
        """Show a value of a moment ago, between two points of the grid, with noise."""
        late = (LATENCY + JITTER * float(self._rng.random())) / GRID
        whole = int(late)
        newer, older = self._past[-1 - whole], self._past[-2 - whole]
        value = newer + (late - whole) * (older - newer)
        self._values.append(value + self._noise * float(self._rng.standard_normal()))
