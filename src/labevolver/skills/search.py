"""Self-exploration of a skill: which gains to try next, from the pours so far.

A few rounds with fewer and fewer candidates: each pour moves its candidate's pre-stop by the error that was seen, and
the candidates with the smallest error and time go on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

ROUNDS = ((16, 1), (6, 2), (3, 2), (1, 6))
"""Candidates and pours of each in every round: 40 pours."""
TRIALS = sum(candidates * pours for candidates, pours in ROUNDS)
WEIGHT = 0.01
"""What a second of pouring counts beside a gram of error [g/s]."""
FIRST_PRE = 0.3
"""Pre-stop of a candidate that was not tried yet [g]."""
KP = (0.12, 0.9)
"""Range from which kp is drawn, evenly in its logarithm [deg/s/g]."""
RATIO = (0.7, 3.0)
"""Range of kd / sqrt(0.3 kp), which decides how much a pour overshoots."""


@dataclass(frozen=True, slots=True)
class Gains:
    """Numbers of a pour: kp [deg/s/g], kd [deg/g], pre_stop [g]."""

    kp: float
    kd: float
    pre_stop: float

    @property
    def numbers(self) -> tuple[tuple[str, float], ...]:
        """Return them by name."""
        return (("kd", self.kd), ("kp", self.kp), ("pre_stop", self.pre_stop))


@dataclass(frozen=True, slots=True)
class Pour:
    """One pour with gains: what the balance showed too much [g], and how long it took [s]."""

    gains: Gains
    error: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate with its pours so far."""

    gains: Gains
    pours: tuple[Pour, ...] = ()

    @property
    def score(self) -> float:
        """Return mean error and weighted time; lower is better."""
        if not self.pours:
            return math.inf
        return float(np.mean([abs(each.error) + WEIGHT * each.seconds for each in self.pours[-4:]]))


def candidates(seed: int) -> list[Tried]:
    """Return the first candidates."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(ROUNDS[0][0]):
        kp = float(np.exp(rng.uniform(*np.log(KP))))
        kd = float(rng.uniform(*RATIO)) * math.sqrt(0.3 * kp)
        found.append(Tried(Gains(round(kp, 4), round(kd, 4), FIRST_PRE)))
    return found


def explore(seed: int, errors: Sequence[tuple[float, float]]) -> tuple[Gains, bool]:
    """Return the gains of the next pour after (error [g], seconds [s]) of those before, and whether all are done.

    When all are done the gains are the best ones. Deterministic in both arguments, so an exploration can go on later.
    """
    held = candidates(seed)
    told = iter(errors)
    for kept, pours in ROUNDS:
        held = sorted(held, key=lambda each: each.score)[:kept] if held[0].pours else held
        for _ in range(pours):
            for index, tried in enumerate(held):
                seen = next(told, None)
                if seen is None:
                    return tried.gains, False
                held[index] = _moved(tried, *seen)
    best = min(held, key=lambda each: each.score)
    return best.gains, True


def _moved(tried: Tried, error: float, seconds: float) -> Tried:
    """Return a candidate after a pour: early pours move its pre-stop by the whole error, later ones by less."""
    step = 1.0 / max(1, len(tried.pours))
    pre = min(3.0, max(0.0, tried.gains.pre_stop + step * error))
    pours = (*tried.pours, Pour(tried.gains, error, seconds))
    return Tried(replace(tried.gains, pre_stop=round(pre, 3)), pours)
