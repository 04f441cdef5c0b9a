"""Time what a dose costs: mix, react, read pH and conductivity, beside two other ways of getting the same pH.

    python benchmarks/chemistry.py

The bare engine is PHREEQC fed with text that was prepared beforehand; what we add to it is the price of our layer. The
textbook is a charge balance with Davies' activity coefficients, bisected in plain Python: carbonate, sulphate as a bare
ion, no complexes, no conductivity. CPU seconds are the smallest of several rounds: other work on the machine only adds.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from labference.world.wet.carbon import aerate
from labference.world.wet.chemistry import Engine, equilibrium, recipe
from labference.world.wet.reagents import HYDROCHLORIC_ACID, tap_water
from labference.world.wet.solution import Solution

DOSES, ROUNDS = 400, 7
GRAM, ALKALINITY, WATER = 1e-3, 2e-3, 0.1
LAYER, TEXTBOOK, CYCLE = 1.8, 8.0, 6.0
"""Budgets: a dose against the bare engine, against the textbook, and 240 s under the air against a dose."""
BUDGET_MS = 0.3
"""What a dose may cost on a free core [ms]; printed, and no failure, because this core may not be free."""
AGREEMENT = 0.1
"""Largest difference of pH between the textbook and PHREEQC over the whole titration."""
KW, K1, K2 = 10**-13.997, 10**-6.352, 10**-10.329
"""Water and carbonic acid at 25 °C."""
CHARGES = {"HCl": -1, "NaCl": 0, "NaHCO3": 1, "Ca(HCO3)2": 2, "MgSO4": 0, "CO2": 0}
STRENGTHS = {"HCl": 0.5, "NaCl": 1.0, "NaHCO3": 0.5, "Ca(HCO3)2": 2.0, "MgSO4": 4.0, "CO2": 0.0}
"""What a mol of each adds to the strong charge, and to the ionic strength without H+, OH- and carbonate."""


@dataclass(frozen=True)
class Measured:
    what: str
    value: float
    unit: str
    budget: float

    @property
    def met(self) -> bool:
        return self.value <= self.budget


def textbook_ph(solution: Solution) -> float:
    """Return the pH at which the charges balance, by bisection; three rounds for the ionic strength."""
    moles = {formula: amount / solution.water for formula, amount in solution.moles}
    strong = sum(CHARGES[formula] * amount for formula, amount in moles.items())
    salts = sum(STRENGTHS[formula] * amount for formula, amount in moles.items())
    carbon = solution.carbon / solution.water
    ph, bicarbonate = 7.0, carbon
    for _ in range(3):
        root = math.sqrt(salts + bicarbonate / 2)
        g = 10 ** (-0.509 * (root / (1 + root) - 0.3 * root**2))
        low, high = 1.0, 13.0
        for _ in range(40):
            ph = (low + high) / 2
            h = 10**-ph
            first, second = K1 / (h * g), K1 * K2 / (h * h * g**4)
            share = carbon / (1 + first + second)
            balance = strong + (h - KW / h) / g - share * (first + 2 * second)
            low, high = (low, ph) if balance < 0 else (ph, high)
        bicarbonate = share * first
    return ph


def titration() -> list[Solution]:
    """Return beaker after beaker: tap water with a little more acid each time."""
    water = tap_water(WATER, ALKALINITY)
    return [water + HYDROCHLORIC_ACID.portion(10 * GRAM * (n + 1) / DOSES) for n in range(DOSES)]


def cost(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a piece of work, the smallest of several rounds."""
    best = math.inf
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def dose_all() -> None:
    """Mix, react and read, never the same twice."""
    equilibrium.cache_clear()
    for found in map(equilibrium, titration()):
        assert found.ph > 0 and found.conductivity > 0


def stand_all(beakers: list[Solution]) -> None:
    equilibrium.cache_clear()
    for beaker in beakers:
        aerate(beaker, 240.0)


def measure() -> list[Measured]:
    tap_water(WATER, ALKALINITY)  # found once, by bisection
    beakers = titration()
    engine = Engine()
    texts = [f"{recipe(beaker)}END\n" for beaker in beakers]
    bare = cost(lambda: [engine._engine.RunString(text) for text in texts])
    textbook = cost(lambda: [textbook_ph(beaker) for beaker in beakers])
    dose, standing = cost(dose_all), cost(lambda: stand_all(beakers))
    remembered = cost(lambda: [equilibrium(beaker) for beaker in beakers])
    apart = max(abs(textbook_ph(beaker) - equilibrium(beaker).ph) for beaker in beakers)
    return [
        Measured("dose / bare PHREEQC on prepared text", dose / bare, "x", LAYER),
        Measured("dose / textbook charge balance in Python", dose / textbook, "x", TEXTBOOK),
        Measured("240 s under the air / dose", standing / dose, "x", CYCLE),
        Measured("remembered equilibrium / dose", remembered / dose, "x", 0.1),
        Measured("largest difference of pH, textbook - PHREEQC", apart, "", AGREEMENT),
        Measured("dose: mix, react, pH and conductivity", dose / DOSES * 1e3, "ms", BUDGET_MS),
    ]


def main() -> int:
    rows = measure()
    table = Table("what", "measured", "at most", title=f"{DOSES} doses of acid into tap water")
    for row in rows:
        colour = "green" if row.met else "red"
        table.add_row(row.what, f"[{colour}]{row.value:.3g} {row.unit}[/]", f"{row.budget:g} {row.unit}")
    Console().print(table)
    return 0 if all(row.met for row in rows if row.unit != "ms") else 1


if __name__ == "__main__":
    sys.exit(main())
