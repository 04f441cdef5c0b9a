"""Bottles on the bench: reagents of a certain strength, and waters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from .chemistry import equilibrium
from .solution import Solution
from .species import MOLAR_MASS

TAP_PH = 7.74
"""pH of the tap-like water at its own temperature."""
TAP = MappingProxyType({"Ca(HCO3)2": 0.30, "NaHCO3": 0.40, "MgSO4": 0.075, "NaCl": 0.20})
"""Formula -> mol per mol of alkalinity: our choice of a moderately hard water; 142 µS/cm per mmol/kg at 25 °C."""
TAP_ALKALINITIES = (1e-4, 1e-2)
"""Range of alkalinities for which the pH is found [mol/kg of water]."""
TAP_PHS = (6.0, 8.2)
"""Range of pH that free CO2 can give to such a water."""
FREE = (-0.1, 4.0)
"""Mol of free CO2 per mol of alkalinity between which the pH is found; hard water at pH 8.2 has lost a little."""
HALVINGS = 48
"""How often that interval is halved: to the last digits of a float."""


@dataclass(frozen=True, slots=True)
class Stock:
    """A reagent in water, as a bottle holds it. An instance may hide which one it is and how strong.

    formula: of the reagent. strength: mol per kg of solution, as one prepares it on a balance; in such dilute solutions
    mol/L is the same within 0.4 %.
    """

    formula: str
    strength: float

    def __post_init__(self) -> None:
        if self.formula not in MOLAR_MASS:
            raise ValueError(f"{self.formula!r} is not a formula that can be dissolved here: {', '.join(MOLAR_MASS)}.")
        if not 0 < self.strength * MOLAR_MASS[self.formula] < 1:
            raise ValueError(
                f"A stock of {self.strength!r} mol/kg cannot be made: it needs more than 0 and some water."
            )

    def portion(self, mass: float, temperature: float = 25.0) -> Solution:
        """Return `mass` [kg] of it."""
        moles = self.strength * mass
        return Solution.of(
            {self.formula: moles}, water=mass - moles * MOLAR_MASS[self.formula], temperature=temperature
        )


HYDROCHLORIC_ACID = Stock("HCl", 0.024)
"""The hard acid: an S-shaped curve with a cliff behind the equivalence point."""
ACETIC_ACID = Stock("CH3COOH", 0.0365)
"""The easy acid: it buffers near pH 5, and lowers the conductivity of tap water."""
CITRIC_ACID = Stock("C6H8O7", 0.012)
"""An acid with three steps, between the two; it binds calcium and so lowers the conductivity most."""
SODIUM_HYDROXIDE = Stock("NaOH", 0.024)
SODIUM_CHLORIDE = Stock("NaCl", 0.05)
REAGENTS = MappingProxyType(
    {
        "hydrochloric acid": HYDROCHLORIC_ACID,
        "acetic acid": ACETIC_ACID,
        "citric acid": CITRIC_ACID,
        "sodium hydroxide": SODIUM_HYDROXIDE,
        "sodium chloride": SODIUM_CHLORIDE,
    }
)
"""Name -> stock, the catalogue of the bench."""


def pure_water(mass: float, temperature: float = 25.0) -> Solution:
    """Return `mass` [kg] of water without anything in it, CO2 included."""
    return Solution(mass, (), temperature)


def tap_water(mass: float, alkalinity: float, ph: float = TAP_PH, temperature: float = 25.0) -> Solution:
    """Return `mass` [kg] of tap-like water with an alkalinity [mol/kg of water] and as much free CO2 as its pH needs.

    An alkalinity of 2e-3 mol/kg is 2 mmol/kg, or 5.6 German degrees of carbonate hardness.
    """
    per_kilogram = _tap(alkalinity, ph, temperature)
    return _scaled(per_kilogram, mass)


def _scaled(solution: Solution, mass: float) -> Solution:
    times = mass / solution.mass
    moles = {formula: amount * times for formula, amount in solution.moles}
    return Solution.of(moles, water=solution.water * times, temperature=solution.temperature)


@lru_cache(maxsize=256)
def _tap(alkalinity: float, ph: float, temperature: float) -> Solution:
    """Return such a water with 1 kg of water in it."""
    softest, hardest = TAP_ALKALINITIES
    if not softest <= alkalinity <= hardest:
        raise ValueError(
            f"No tap-like water has {alkalinity!r} mol/kg of alkalinity: give {softest} to {hardest} mol/kg."
        )
    if not TAP_PHS[0] <= ph <= TAP_PHS[1]:
        raise ValueError(f"Free CO2 cannot bring tap-like water to pH {ph!r}: give pH {TAP_PHS[0]} to {TAP_PHS[1]}.")
    salts = {formula: share * alkalinity for formula, share in TAP.items()}
    low, high = (share * alkalinity for share in FREE)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        water = Solution.of({**salts, "CO2": middle}, water=1.0, temperature=temperature)
        low, high = (middle, high) if equilibrium(water).ph > ph else (low, middle)
    return water
