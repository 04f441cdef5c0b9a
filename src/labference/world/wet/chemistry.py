"""What becomes of a solution: pH, conductivity, ionic strength and density at equilibrium, by PHREEQC.

D. L. Parkhurst and C. A. J. Appelo, Description of input and examples for PHREEQC version 3, U.S. Geological Survey
Techniques and Methods 6-A43 (2013). The engine and its database phreeqc.dat come with the package `phreeqc`; the acids
that the database lacks are in `species`.

Each solution is solved from pure water, per kilogram of water, so that a result depends on composition and temperature
alone: not on the size of the portion, and not on what was solved before. Nothing precipitates (water near pH 9 is
oversaturated with calcite, and stays so here), and gases neither leave nor enter; for CO2 see `carbon`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ..faults import SimulationFault
from .solution import Solution
from .species import ADDED, ENGINE_NAMES

if TYPE_CHECKING:
    from phreeqc import Phreeqc

DATABASE = "phreeqc.dat"
"""Of the databases that come with the engine, one in which ions have diffusion coefficients and therefore conduct."""
TEMPERATURES = (10.0, 40.0)
"""Range of temperatures that `validate` covers [°C]."""
ACIDITIES = (1.0, 13.0)
"""Range of pH that `validate` covers."""
STRONGEST = 0.12
"""Largest ionic strength that `validate` covers, with a little room [mol/kg]."""
RICHEST = 0.22
"""Largest sum of all that is dissolved that `validate` covers, with a little room [mol per kg of water]."""
INSTALL = "pip install 'labference[wetlab]'"
"""What installs the engine."""
REMEMBERED = 4096
"""How many equilibria are kept; exact totals are the key."""
_PUNCHED = 'PUNCH -LA("H+"), SC, MU, RHO, MOL("CO2"), LK_PHASE("CO2(g)")'


class OutOfRange(SimulationFault):
    """A solution is outside the range in which the chemistry was compared with measurements."""


class ChemistryFault(SimulationFault):
    """The chemistry engine is missing or did not find an equilibrium."""


@dataclass(frozen=True, slots=True)
class Equilibrium:
    """A solution that has reacted, at its own temperature.

    ph: -log10 of the activity of H+. conductivity: [µS/cm], not compensated to 25 °C. ionic_strength: [mol/kg water].
    density: [kg/m3]. carbon_dioxide: dissolved CO2 [mol/kg water]. solubility: of CO2 under 1 atm [mol/kg water].
    """

    ph: float
    conductivity: float
    ionic_strength: float
    density: float
    carbon_dioxide: float
    solubility: float


@lru_cache(maxsize=REMEMBERED)
def equilibrium(solution: Solution) -> Equilibrium:
    """Let a solution react; the same solution gives the same bits, here and in another process of the same machine.

    Raises OutOfRange where results were not compared with measurements, and ChemistryFault when the engine fails.
    """
    return _THREAD.engine().solve(solution)


def volume(solution: Solution) -> float:
    """Return the volume of a solution [m3]."""
    return solution.mass / equilibrium(solution).density if solution.mass else 0.0


def missing() -> str:
    """Return how to install the chemistry engine where it is missing, "" where it is not."""
    try:
        import phreeqc  # noqa: F401  # whether it can be imported is the question
    except ImportError:
        return INSTALL
    return ""


class Engine:
    """A PHREEQC instance with the database and our acids, holding nothing but pure water."""

    def __init__(self) -> None:
        try:
            from phreeqc import Phreeqc
        except ImportError as error:
            raise ChemistryFault(f"Solutions need the package phreeqc: {INSTALL}.") from error
        self._engine = Phreeqc()
        _demand(self._engine, self._engine.LoadBuiltInDatabase(DATABASE))
        self._run(f"{ADDED}SELECTED_OUTPUT 1\n -reset false\nUSER_PUNCH 1\n 10 {_PUNCHED}\n")
        self._run("SOLUTION 1\n temp 25\n pH 7 charge\n")

    def solve(self, solution: Solution) -> Equilibrium:
        """Return the equilibrium of a solution, without looking it up anywhere."""
        check_totals(solution)
        self._run(recipe(solution))
        row = self._engine.GetSelectedOutputRowCount() - 1  # row 0 has the headings
        ph, conductivity, strength, density, dioxide, log_solubility = (
            float(self._engine.GetSelectedOutputValue(row, column)) for column in range(6)
        )
        found = Equilibrium(ph, conductivity, strength, density * 1e3, dioxide, 10**log_solubility)
        check_result(found)
        return found

    def _run(self, text: str) -> None:
        _demand(self._engine, self._engine.RunString(f"{text}END\n"))


def recipe(solution: Solution) -> str:
    """Write what PHREEQC is told: take a kilogram of pure water, add all that is dissolved, bring it to temperature."""
    lines = [
        f" {ENGINE_NAMES[formula]} {amount / solution.water!r}\n" for formula, amount in solution.moles if amount != 0
    ]
    reaction = f"REACTION 1\n{''.join(lines)} 1 moles\n" if lines else ""
    return f"USE solution 1\n{reaction}REACTION_TEMPERATURE 1\n {solution.temperature!r}\n"


def check_totals(solution: Solution) -> None:
    """Raise OutOfRange where the composition alone is outside the range that was validated."""
    if not solution.water > 0:
        raise OutOfRange(f"A solution with {solution.water * 1e3:.6g} g of water has no pH: it needs more than 0 g.")
    _within("temperature", solution.temperature, TEMPERATURES, "°C")
    if solution.carbon < -1e-12 * solution.water:
        raise OutOfRange(
            f"A solution with {solution.carbon:.3g} mol of inorganic carbon cannot be: it needs at least 0 mol."
        )
    total = sum(abs(amount) for _, amount in solution.moles) / solution.water
    _within("total concentration", total, (0.0, RICHEST), "mol/kg of water")


def check_result(found: Equilibrium) -> None:
    """Raise OutOfRange where the equilibrium is outside the range that was validated."""
    _within("ionic strength", found.ionic_strength, (0.0, STRONGEST), "mol/kg")
    _within("pH", found.ph, ACIDITIES, "")


def _within(what: str, value: float, limits: tuple[float, float], unit: str) -> None:
    low, high = limits
    if not (low <= value <= high):
        suffix = f" {unit}" if unit else ""
        raise OutOfRange(
            f"A solution with a {what} of {value:.4g}{suffix} was not validated: {low} to {high}{suffix} was."
        )


def _demand(engine: Phreeqc, errors: int) -> None:
    """Raise ChemistryFault with the engine's first line where it reports errors."""
    if errors:
        reason = next((line for line in engine.GetErrorString().splitlines() if line.strip()), "no reason given")
        raise ChemistryFault(f"PHREEQC reported {errors} error(s), the first: {reason.strip()}")


class _Engines(threading.local):
    """One engine per thread: an instance of PHREEQC must not be shared."""

    _mine: Engine | None = None

    def engine(self) -> Engine:
        if self._mine is None:
            self._mine = Engine()
        return self._mine


_THREAD = _Engines()
