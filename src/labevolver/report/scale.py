"""Positions on a drawing: from a value to pixels, with ticks that people read easily."""

from __future__ import annotations

import math
from dataclasses import dataclass

STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
"""Distances between ticks of an axis of time [s]."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled position on an axis [px]."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """From values between `start` and `stop` to positions between `left` and `right` [px]; right may be less."""

    start: float
    stop: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        """Return the position of a value; what lies outside is drawn at the edge."""
        share = (value - self.start) / ((self.stop - self.start) or 1.0)
        return self.left + (self.right - self.left) * min(1.0, max(0.0, share))

    def ticks(self, step: float) -> tuple[Tick, ...]:
        """Return the multiples of `step` that lie inside."""
        first, last = math.ceil(self.start / step - 1e-9), math.floor(self.stop / step + 1e-9)
        return tuple(Tick(self(number * step), f"{number * step:g}") for number in range(first, last + 1))


def vertical(low: float, high: float, height: float) -> Scale:
    """Return a scale that counts down from the top of a panel."""
    return Scale(low, high, height, 0.0)


def times(scale: Scale) -> tuple[Tick, ...]:
    """Return ticks of an axis of time in seconds."""
    span = scale.stop - scale.start
    return scale.ticks(next((step for step in STEPS_S if span / step <= 10), round_step(span / 10)))


def round_step(least: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least `least`."""
    if not least > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
