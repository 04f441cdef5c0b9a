"""Controllers that pour once, with fixed gains of a PD law, and differ in when they stop.

The tilt speed is kp e - kd dm/dt, with e the missing mass; a pour ends once e is below the pre-stop.
"""

from __future__ import annotations

from labference.wire import Observation, Script

from .performing import BALANCE, NUMBER, Performing, do, reading, take

KP, KD = 0.16, 0.18
"""Gains [deg/s/g, deg/g]."""
ZERO_G = 0.1001
"""What a balance may show that is not tared [g]."""
HAND_SHARE = 0.02
"""Pre-stop of the hand-tuned rule, as a share of the mass asked for."""
BEST_G = 0.25
"""Pre-stop [g] with which 40 pours of 20 g of water, none of them in a registered population, missed least in the fast
laboratory: 0.050 g on average, against 0.21 g without and 0.12 g with 0.4 g."""


class FixedPD(Performing):
    """Stop when nothing is missing any more: what is in the air and in the filter comes on top."""

    name = "fixed_pd"
    kinds = ("pick", "pour", "tare")

    def pre_stop(self, amount: float) -> float:
        """Return the missing mass at which the pour ends [g]."""
        del amount
        return 0.0

    def work(self, observation: Observation) -> Script[None]:
        """Tare where the balance does not show zero, pour once, put the tube back."""
        tube, beaker = self.goal.items[:2]
        amount = self.asked(rf"Pour {NUMBER} g")
        shown = reading(observation, BALANCE)
        if shown is None or not shown.stable:
            observation = yield from do("weigh", beaker, "balance")
            shown = reading(observation, BALANCE)
        if shown is None or shown.value is None or abs(shown.value) > ZERO_G:
            yield from do("tare", beaker, "balance")
        yield from take(tube, "rack")
        pre = self.pre_stop(amount)
        yield from do("pour", tube, beaker, amount_g=amount, kp=KP, kd=KD, pre_stop=pre)
        yield from do("place", tube, "rack")


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
