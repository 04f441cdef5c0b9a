"""What an agent has used of its limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .terms import Limits


class Exhausted(Exception):
    """A limit is used up, and the episode ends; the sentence names it."""


class Budget:
    """Count calls, told tokens, wall time and simulated time of one episode against its limits."""

    def __init__(self, limits: Limits, wall: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._wall = wall
        self._began = wall()
        self.calls = self.tokens = self.errors = 0
        self.simulated_s = 0.0

    @property
    def wall_s(self) -> float:
        """Return the wall time since the episode began [s]."""
        return self._wall() - self._began

    def check(self) -> None:
        """Raise `Exhausted` when something is used up."""
        limits = self.limits
        for used, limit, what in (
            (self.calls, limits.calls, "calls"),
            (self.tokens, limits.tokens, "tokens"),
            (self.wall_s, limits.wall_s, "s of wall time"),
            (self.simulated_s + 1e-9, limits.simulated_s, "s of simulated time"),
        ):
            if limit is not None and used >= limit:
                raise Exhausted(f"The limit of {limit:g} {what} is used up.")

    @property
    def exhausted(self) -> bool:
        """Return whether something is used up."""
        try:
            self.check()
        except Exhausted:
            return True
        return False

    def remaining(self, steps: int) -> dict[str, Any]:
        """Return what is left, with `steps` left of the control steps; None where there is no limit."""
        limits = self.limits
        return {
            "steps": max(0, steps),
            "calls": _left(limits.calls, self.calls),
            "tokens": _left(limits.tokens, self.tokens),
            "wall_s": _left(limits.wall_s, round(self.wall_s, 3)),
            "simulated_s": _left(limits.simulated_s, self.simulated_s),
        }


def _left(limit: float | None, used: float) -> float | None:
    return None if limit is None else round(max(0, limit - used), 6)
