"""Controllers that bring a water to a pH, and to a conductivity (EC), without knowing what is in which bottle."""

from __future__ import annotations

from dataclasses import dataclass

from labference.wire import Observation, Script

from .performing import EC, NUMBER, PH, Performing, do, reading, take

MEASURE_S = 150.0
"""How long they measure [s]."""
SUPPOSED_ALKALINITY, SUPPOSED_STRENGTH, SUPPOSED_G = 2.0e-3, 0.012, 60.0
"""What open-loop dosing supposes: a usual tap water and stock [mol/kg], and the mass of the water [g]."""
FIRST_G = 2.0
"""First dose of a reagent whose effect is not known yet [g]."""
LEAST_G, MOST_G = 0.5, 12.0
"""Smallest and largest dose [g]."""
STEEPEST, FLATTEST = 3.0, 0.3
"""By how much a dose may grow or shrink from the last one of the same reagent."""
ROUNDS = 25
"""Additions after which they give up."""


def gains(grams: float) -> dict[str, float]:
    """Return the parameters of a pour: small ones are tilted faster for each missing gram."""
    kp = min(2.0, max(0.36, 4.0 / grams))
    return {"amount_g": grams, "kp": kp, "kd": 1.5 * kp, "pre_stop": 0.1}


@dataclass(slots=True)
class Known:
    """What the last dose of a reagent did: value before, grams, value after."""

    before: float
    grams: float
    after: float

    @property
    def slope(self) -> float:
        """Return the change per gram."""
        return (self.after - self.before) / self.grams


class Dosing(Performing):
    """What controllers by a fixed script do."""

    kinds = ("pour", "stir", "measure", "rinse_probe")

    def read(self) -> Script[tuple[float, float]]:
        """Measure the beaker, rinse the probe, put it back; return pH and EC as shown."""
        yield from take("probe", "probe_holder", "take_probe")
        observation = yield from do("measure", "probe", "beaker", seconds=MEASURE_S)
        ph, ec = reading(observation, PH), reading(observation, EC)
        yield from do("rinse_probe", "probe", "rinse")
        yield from do("return_probe", "probe", "probe_holder")
        if ph is None or ec is None or ph.value is None or ec.value is None:
            return 7.0, 0.0
        return ph.value, ec.value

    def add(self, tube: str, grams: float) -> Script[None]:
        """Pour from a tube, put it back, and stir."""
        yield from take(tube, "rack")
        yield from do("pour", tube, "beaker", **gains(grams))
        yield from do("place", tube, "rack")
        yield from do("stir", "rod", "beaker")


class Act(Dosing):
    """Measure once, dose by a textbook rule for a usual water, and finish without looking again."""

    name = "act"

    def work(self, observation: Observation) -> Script[None]:
        """Neutralise the share of the alkalinity that the pH wants."""
        del observation
        target = self.asked(rf"pH {NUMBER}")
        ph, _ = yield from self.read()
        wanted, there = _share(target), _share(ph)
        moles = SUPPOSED_ALKALINITY * abs(wanted - there) * SUPPOSED_G
        grams = min(MOST_G, max(LEAST_G, moles / SUPPOSED_STRENGTH))
        yield from self.add("acid" if ph > target else "base", grams)


def dose(known: Known | None, value: float, goal: float) -> float:
    """Return the grams that bring `value` to `goal` if a reagent acts as it did last time."""
    if known is None:
        return FIRST_G
    slope = known.slope
    grams = (goal - value) / slope if slope * (goal - value) > 0 else STEEPEST * known.grams
    grams = min(max(grams, FLATTEST * known.grams), STEEPEST * known.grams)
    return min(MOST_G, max(LEAST_G, grams))


def _share(ph: float) -> float:
    """Return the share of the alkalinity that carbonate holds at a pH: pK 6.35."""
    return float(1.0 / (1.0 + 10.0 ** (6.35 - ph)))
