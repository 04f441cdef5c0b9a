"""Controllers that pour once, with fixed gains of a PD law, and differ in when they stop.

The tilt speed is kp e - kd dm/dt, with e the missing mass; a pour ends once e is below the pre-stop.
"""

from __future__ import annotations

from collections.abc import Callable

from labference.wire import Fact, Observation, Operation

from .lent import STOP, Facts, Hand, Lent, LentParts, stable
from .performing import BALANCE, NUMBER, TRIES

KP, KD = 0.16, 0.18
"""Gains [deg/s/g, deg/g]."""
ZERO_G = 0.1001
"""What a balance may show that is not tared [g]."""
HAND_SHARE = 0.02
"""Pre-stop of the hand-tuned rule, as a share of the mass asked for."""
BEST_G = 0.25
"""Pre-stop [g] with which 40 pours of 20 g of water, none of them in a registered population, missed least in the fast
laboratory: 0.050 g on average, against 0.21 g without and 0.12 g with 0.4 g."""


class Pouring:
    """Tare where the balance does not show zero, pour once, put the tube back."""

    def __init__(self, tube: str, beaker: str, amount: float, pre_stop: float) -> None:
        self.tube, self._beaker, self.amount, self._pre_stop = tube, beaker, amount, pre_stop
        self._hand = Hand()
        self._tared = self._poured = False
        self._tries = 0

    def look(self, observation: Observation) -> tuple[Fact, ...]:
        """Read the balance where it is stable; it counts what is poured once it has shown zero."""
        shown = stable(observation, BALANCE)
        self._tared = self._tared or (shown is not None and abs(shown) <= ZERO_G and not self._poured)
        known = () if shown is None else (Fact(BALANCE, shown),)
        return (*self._hand.facts(observation), *known, Fact("zeroed", self._tared))

    def decide(self, facts: Facts) -> Operation:
        """Return the next operation of the one pour."""
        if facts.get("hand", "empty") != "empty":
            return Operation("place", self.tube, "rack") if self._poured else Operation("pour", self.tube, self._beaker)
        if self._poured or self._tries >= TRIES:
            return STOP
        if BALANCE not in facts:
            return Operation("weigh", self._beaker, BALANCE)
        if not facts.get("zeroed"):
            return Operation("tare", self._beaker, BALANCE)
        return Operation("pick", self.tube, "rack")

    def numbers(self, facts: Facts, operation: Operation) -> dict[str, float]:
        """Return amount, gains and pre-stop of the pour."""
        if operation.kind != "pour":
            return {}
        return {"amount_g": self.amount, "kp": KP, "kd": KD, "pre_stop": self._pre_stop}

    def done(self, operation: Operation, numbers: dict[str, float] | None) -> None:
        """Remember what was taken, tared and poured."""
        self._hand.took(operation)
        self._tries += operation.kind == "pick"
        self._tared = self._tared or operation.kind == "tare"
        self._poured = self._poured or operation.kind == "pour"


class FixedPD(Lent):
    """Stop when nothing is missing any more: what is in the air and in the filter comes on top."""

    name, version = "fixed_pd", "2"
    kinds = ("pick", "pour", "tare")
    parts: Callable[[str, str, float, float], LentParts] = Pouring

    def pre_stop(self, amount: float) -> float:
        """Return the missing mass at which the pour ends [g]."""
        del amount
        return 0.0

    def assemble(self) -> LentParts:
        """Return the parts for the amount asked for."""
        tube, beaker = self.goal.items[:2]
        amount = self.asked(rf"Pour {NUMBER} g")
        return type(self).parts(tube, beaker, amount, self.pre_stop(amount))


class AdaptivePD(FixedPD):
    """Stop earlier by a share of the mass, a rule set by hand."""

    name = "adaptive_pd"

    def pre_stop(self, amount: float) -> float:
        """Return a share of the mass."""
        return HAND_SHARE * amount


class BestPD(FixedPD):
    """Stop earlier by the pre-stop that was best for 20 g of water."""

    name = "best_pd"

    def pre_stop(self, amount: float) -> float:
        """Return the same for every mass."""
        del amount
        return BEST_G
