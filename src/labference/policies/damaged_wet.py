"""Controllers of the wet bench with one part deliberately damaged: what a diagnosis has to find.

Three pour as `best_pd` does and three titrate as `secant` does, but for the part that their sentence names.
"""

from __future__ import annotations

from dataclasses import replace

from labference.wire import Fact, Observation, Operation

from .lent import Facts
from .performing import BALANCE, reading
from .pouring_pd import BestPD, Pouring
from .titrating import ACID, Secant, Titrating

HEAVY = 1.1
"""Share of what is missing that a heavy hand pours."""
MISREAD_PH = 3.0
"""What is taken off every pH: more than lies between the waters of a twin and what is asked for."""
HASTY_S = 10.0
"""How long a hasty controller measures [s]; the meter's lamp needs 10 s of quiet to light."""


class SeesNothingOnThePan(Pouring):
    """Reads 0.0 g, whatever the balance shows."""

    def look(self, observation: Observation) -> tuple[Fact, ...]:
        """Look as `best_pd` does, and misread."""
        right = {"zeroed": True, BALANCE: 0.0}
        return tuple(replace(fact, value=right.get(fact.name, fact.value)) for fact in super().look(observation))


class NeverTares(Pouring):
    """Takes the tube whatever the balance shows."""

    def decide(self, facts: Facts) -> Operation:
        """Decide as `best_pd` does from a balance that shows zero."""
        return super().decide({**facts, "zeroed": True})


class HasAHeavyHand(Pouring):
    """Asks for a tenth too much."""

    def numbers(self, facts: Facts, operation: Operation) -> dict[str, float]:
        """Return the numbers of `best_pd` with a larger amount."""
        found = super().numbers(facts, operation)
        return {name: HEAVY * value if name == "amount_g" else value for name, value in found.items()}


class MisreadsPH(Titrating):
    """Reads every pH 3 units too low."""

    def look(self, observation: Observation) -> tuple[Fact, ...]:
        """Look as `secant` does, and misread."""
        seen = super().look(observation)
        return tuple(Fact("pH", float(fact.value) - MISREAD_PH) if fact.name == "pH" else fact for fact in seen)


class TakesAcidFirst(Titrating):
    """Takes acid wherever something is to be added."""

    def choose(self, facts: Facts) -> str | None:
        """Choose acid unless everything is within its range."""
        return None if super().choose(facts) is None else ACID


class MeasuresInHaste(Titrating):
    """Measures for 10 s and takes whatever is shown."""

    def read(self, observation: Observation, port: str) -> float | None:
        """Return what a port shows, settled or not."""
        found = reading(observation, port)
        return None if found is None else found.value

    def seconds(self) -> float:
        """Return too little."""
        return HASTY_S


class Untared(BestPD):
    """`best_pd` with damaged eyes."""

    name, version, parts = "untared", "1", SeesNothingOnThePan


class Straight(BestPD):
    """`best_pd` with a damaged mind."""

    name, version, parts = "straight", "1", NeverTares


class HeavyHand(BestPD):
    """`best_pd` with damaged numbers."""

    name, version, parts = "heavy_hand", "1", HasAHeavyHand


class MisreaderPH(Secant):
    """`secant` with damaged eyes."""

    name, version, parts = "misreads_ph", "1", MisreadsPH


class AcidFirst(Secant):
    """`secant` with a damaged mind."""

    name, version, parts = "acid_first", "1", TakesAcidFirst


class Hasty(Secant):
    """`secant` that does not wait for the meter: damaged numbers, and eyes that take what is shown."""

    name, version, parts = "hasty", "1", MeasuresInHaste
