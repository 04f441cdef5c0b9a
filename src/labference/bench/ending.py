"""What an episode continues from, how it ended, and where its wall time went."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from labference.truth.verdict import Verdict
from labference.wire import Observation, Operation


@dataclass(frozen=True, slots=True)
class Resumed:
    """What an episode continues from: deliveries and control steps so far, and the observations of the prefix with the
    operation that was confirmed before each.
    """

    delivered: int
    steps: int
    witnessed: tuple[tuple[Observation, Operation | None], ...] = ()


@dataclass(slots=True)
class Clock:
    """Where the wall time of an episode goes [s]; simulated time is separate.

    `physics` includes measuring and judging. Delivery, admission and recording are in none of the three.
    """

    model: float = 0.0
    rendering: float = 0.0
    physics: float = 0.0
    started: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True, slots=True)
class Ending:
    """How an episode ended: completed, stopped, budget, interface_failure or invalid."""

    reason: str
    verdict: Verdict
    steps: int
    simulated: float
    queries: int
    clock: Clock
    sentence: str = ""
