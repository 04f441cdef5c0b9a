"""A liquid into which another was poured: what it is as a whole, and what surrounds a probe before it is mixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .solution import Solution

STIRRED_S, STREAM_S, STANDING_S = 5.0, 2.0, 20.0
"""Time constants with which what surrounds a probe follows the whole: stirred, below a landing stream, and left alone
[s] (estimates)."""
NEGLIGIBLE = 1e-9
"""Share of the old liquid below which everything is mixed."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """The contents of a vessel, per amount: masses are kept elsewhere.

    whole   what it is once mixed
    near    what surrounded a probe when something was last added
    passed  time since then in units of the time constants
    """

    whole: Solution
    near: Solution
    passed: float = 0.0

    def __post_init__(self) -> None:
        if self.near is not self.whole and self.near == self.whole:
            object.__setattr__(self, "near", self.whole)

    @property
    def mixed(self) -> bool:
        """Return whether it is the same everywhere."""
        return self.near is self.whole

    @property
    def sensed(self) -> Solution:
        """Return what surrounds a probe now."""
        return self.whole if self.mixed else _between(self.whole, self.near, math.exp(-self.passed))

    def added(self, mass: float, kind: Solution, more: float) -> Mixture:
        """Return `mass` [kg] of it after `more` [kg] of a liquid like `kind` came in."""
        if self.mixed and kind.moles == self.whole.moles == () and kind.temperature == self.whole.temperature:
            return self  # water into water
        whole = portion(self.whole, mass) + portion(kind, more)
        return Mixture(whole, self.sensed if mass > 0.0 and self.whole.mass else whole)

    def stood(self, seconds: float, time_constant: float) -> Mixture:
        """Return it after `seconds` [s] of mixing with `time_constant` [s]."""
        if self.mixed:
            return self
        passed = self.passed + seconds / time_constant
        return of(self.whole) if math.exp(-passed) < NEGLIGIBLE else Mixture(self.whole, self.near, passed)


def of(kind: Solution) -> Mixture:
    """Return a liquid that is the same everywhere."""
    return Mixture(kind, kind)


def portion(kind: Solution, mass: float) -> Solution:
    """Return `mass` [kg] of a liquid that is composed like `kind`."""
    return kind.portion(mass)


def _between(whole: Solution, near: Solution, share: float) -> Solution:
    return portion(near, share) + portion(whole, 1.0 - share)
