"""The data port of a water-quality meter: what a block of samples makes of its display."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...truth.measurement import Dipped, Shown
from .meter import DRY, SAMPLE, Meter, MeterState, calibrated
from .meter import Sample as Liquid

CALIBRATION, NOISE = 11, 12
"""Keep the draws of calibration and noise apart from those of the liquids."""

MANY = 3
"""Shown values that are worth being computed at once."""


@dataclass(frozen=True, slots=True)
class PortState:
    """All that a port remembers."""

    meter: MeterState
    passed: int
    inside: int
    shown: tuple[Shown, ...]
    since: int


class Port:
    """A meter that reads blocks; the last values stay on its display when the tip has left the liquid, as with a hold
    key.
    """

    def __init__(self, timestep: float, seed: int, noise: float = 1.0, temperature: float = 25.0) -> None:
        calibration = calibrated(np.random.default_rng([seed, CALIBRATION]), noise)
        self._meter = Meter(calibration, np.random.default_rng([seed, NOISE]), noise, temperature)
        self._timestep, self._every = timestep, round(SAMPLE / timestep)
        self._passed, self._inside = 0, -1
        self._shown: tuple[Shown, ...] = DRY
        self._since = 0

    def update(self, tick: int, ticks: int, sample: np.ndarray) -> Dipped:
        """Read `ticks` physics ticks from `tick` on, through all of which the tip is in `sample` (4,)."""
        vessel = int(sample[3])
        if vessel != self._inside:
            self._move(vessel)
        if vessel < 0:
            self._meter.step(ticks * self._timestep, None)
            self._passed += ticks
            return Dipped(vessel, (), (), self._shown, self._since)
        liquid = Liquid(float(sample[0]), float(sample[1]), float(sample[2]))
        when: list[int] = []
        values: list[tuple[Shown, ...]] = []
        left = ticks
        while left:
            if left >= MANY * self._every and self._passed % self._every == 0:
                count = left // self._every
                values += self._meter.watch(count, liquid)
                last = tick + ticks - left - 1
                when += range(last + self._every, last + count * self._every + 1, self._every)
                self._shown, self._since = values[-1], when[-1]
                self._passed += count * self._every
                left -= count * self._every
                continue
            part = min(left, self._every - self._passed % self._every)
            self._meter.step(part * self._timestep, liquid)
            self._passed += part
            left -= part
            if self._passed % self._every == 0:
                self._since = tick + ticks - left - 1
                self._shown = self._meter.display()
                when.append(self._since)
                values.append(self._shown)
        return Dipped(vessel, tuple(when), tuple(values), self._shown, self._since)

    def state(self) -> PortState:
        """Return all that is remembered; the same blocks after it give the same displays."""
        return PortState(self._meter.state(), self._passed, self._inside, self._shown, self._since)

    def load(self, state: PortState) -> None:
        """Go on from `state`, in a port of the same calibration."""
        self._meter.load(state.meter)
        self._passed, self._inside = state.passed, state.inside
        self._shown, self._since = state.shown, state.since

    def _move(self, vessel: int) -> None:
        if self._inside >= 0:
            self._meter.lift()
        if vessel >= 0:
            self._meter.dip(str(vessel))
            self._shown = DRY
        self._inside = vessel
