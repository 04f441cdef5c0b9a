"""CO2 between a liquid and the air above it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .chemistry import Equilibrium, equilibrium
from .solution import Solution

AIR = 420e-6
"""Partial pressure of CO2 in air [atm]."""
TRANSFER = 1.5e-5
"""Transfer velocity of CO2 at the surface of gently stirred water [m/s]: our estimate; still water has less."""
LONGEST = 120.0
"""Longest step [s]: with it, a pH differs by less than 1e-4 however time is cut."""


@dataclass(frozen=True, slots=True)
class Surface:
    """Where a liquid meets the air.

    time_constant: depth of the liquid / transfer velocity [s]. pressure: partial pressure of CO2 [atm].
    """

    time_constant: float
    pressure: float = AIR

    def __post_init__(self) -> None:
        if not (self.time_constant > 0 and self.pressure >= 0):
            raise ValueError(
                f"A surface with {self.time_constant!r} s and {self.pressure!r} atm exchanges no CO2: "
                "give a time constant above 0 s and a pressure of at least 0 atm."
            )


BEAKER = Surface(0.051 / TRANSFER)
"""100 mL, stirred, in a beaker 50 mm wide: 51 mm deep, 3400 s."""


def aerate(solution: Solution, seconds: float, surface: Surface = BEAKER) -> Solution:
    """Return a solution after `seconds` [s] under the air: dissolved CO2 relaxes towards what the air would dissolve.

    Carbon flows at (CO2 - CO2 of the air) / time constant, and the acid-base equilibrium of the whole solution follows
    at once. In acid, where all carbon is CO2, the excess decays as exp(-t / time constant); in base the uptake is slow,
    because it is driven by the air's CO2 alone. What the solution loses or gains in mass is CO2.
    """
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"A solution cannot stand for {seconds!r} s: give a finite time of at least 0 s.")
    if seconds == 0 or not solution.water:
        return solution
    steps = math.ceil(seconds / LONGEST)
    for _ in range(steps):
        solution = _step(solution, seconds / steps, surface)
    return solution


def _step(solution: Solution, seconds: float, surface: Surface) -> Solution:
    """Advance by one step: exact where dissolved CO2 is linear in total carbon, of second order elsewhere."""
    now = equilibrium(solution)
    excess = _excess(now, surface)
    elapsed = seconds / surface.time_constant
    guess = -excess * -math.expm1(-elapsed)
    if abs(guess) < 1e-12:
        return solution
    slope = (equilibrium(_gain(solution, guess)).carbon_dioxide - now.carbon_dioxide) / guess
    return _gain(solution, -excess * elapsed * _mean_decay(slope * elapsed))


def _mean_decay(x: float) -> float:
    """Return (1 - exp(-x)) / x."""
    return -math.expm1(-x) / x if x else 1.0


def _gain(solution: Solution, molality: float) -> Solution:
    return solution.dissolve({"CO2": molality * solution.water})


def _excess(now: Equilibrium, surface: Surface) -> float:
    """Return dissolved CO2 above what the air would dissolve [mol/kg]."""
    return now.carbon_dioxide - surface.pressure * now.solubility
