"""A count over a population, with its interval; a rate over nobody is unavailable, not zero."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """Bounds of a proportion."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `population`, a fixed number of independent episodes or of opportunities."""

    count: int
    population: int

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.population:
            raise ValueError(f"A rate of {self.count} in {self.population} does not exist.")

    @property
    def value(self) -> float | None:
        """Return the proportion, None where the population is empty."""
        return self.count / self.population if self.population else None

    @property
    def interval(self) -> Interval | None:
        """Return the Wilson score interval at `CONFIDENCE`, None where the population is empty."""
        from scipy.stats import binomtest  # here: it takes a second, and most commands print no interval

        if not self.population:
            return None
        bounds = binomtest(self.count, self.population).proportion_ci(CONFIDENCE, method="wilson")
        return Interval(float(bounds.low), float(bounds.high))

    def __str__(self) -> str:
        interval = self.interval
        if interval is None:
            return f"unavailable ({self.count}/{self.population})"
        share = 100 * self.count / self.population
        return f"{share:.0f} % ({self.count}/{self.population}, {100 * interval.low:.0f}–{100 * interval.high:.0f})"


def rate(outcomes: Iterable[bool]) -> Rate:
    """Return how many of `outcomes` are true."""
    values = [bool(outcome) for outcome in outcomes]
    return Rate(sum(values), len(values))


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of a rate while `unresolved` of `planned` have no outcome (paper section 7.4)."""

    successes: int
    unresolved: int
    planned: int

    @property
    def low(self) -> float:
        """Return s/N."""
        return self.successes / self.planned

    @property
    def high(self) -> float:
        """Return (s + u)/N."""
        return (self.successes + self.unresolved) / self.planned
