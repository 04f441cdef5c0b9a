"""Measured properties of well-known solutions, with where each number comes from and how far to trust it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .chemistry import Equilibrium, equilibrium
from .solution import Solution
from .species import MOLAR_MASS

Origin = Literal["looked up", "recalled", "derived"]
"""looked up: in a table that we had before us. recalled: a well-known number of the named source, which we did not have
before us; treat it as softer. derived: calculated here from the constants in the note."""
Quantity = Literal["pH", "EC", "density"]

READ: Mapping[Quantity, Callable[[Equilibrium], float]] = {
    "pH": lambda found: found.ph,
    "EC": lambda found: found.conductivity,
    "density": lambda found: found.density,
}
UNITS: Mapping[Quantity, str] = {"pH": "", "EC": "µS/cm", "density": "kg/m3"}


@dataclass(frozen=True, slots=True)
class Reference:
    """What a solution should show.

    value: of the quantity, in its unit. tolerance: largest error, absolute for pH, a share of the value otherwise.
    """

    what: str
    solution: Solution
    quantity: Quantity
    value: float
    tolerance: float
    source: str
    origin: Origin

    def error(self) -> float:
        """Return how far the chemistry is off, absolute for pH, as a share of the value otherwise."""
        found = READ[self.quantity](equilibrium(self.solution))
        return found - self.value if self.quantity == "pH" else found / self.value - 1.0


PRATT = "K. W. Pratt et al., Pure Appl. Chem. 73 (2001) 1783, in the CRC Handbook's table of KCl standards"
HAMER_DEWANE = "W. J. Hamer, H. J. DeWane, NSRDS-NBS 33 (1970), in the CRC Handbook's table of hydrohalogen acids"
CRC_EC = "CRC Handbook, electrical conductivity of aqueous solutions at 20 °C (one or two digits)"
CRC_DENSITY = "CRC Handbook, concentrative properties of aqueous solutions at 20 °C"
CRC_EQUIVALENT = "CRC Handbook, equivalent conductivity of electrolytes in aqueous solution"
MACINNES = "D. A. MacInnes, T. Shedlovsky, J. Am. Chem. Soc. 54 (1932) 1429"
STAPLES = "B. R. Staples, R. G. Bates, J. Res. Natl. Bur. Stand. 73A (1969) 37"
CARBONATE_TABLE = "NBS carbonate buffer, two-digit table of an instrument maker (Foxboro MI 611-211)"
PHOSPHATE_TABLE = "JIS Z 8802 neutral phosphate, the NBS buffer to two digits"
IUPAC = "IUPAC Recommendations 2002, Pure Appl. Chem. 74 (2002) 2169, primary and secondary standards"
HAMER_WU = "-log10(m γ±), W. J. Hamer, Y.-C. Wu, J. Phys. Chem. Ref. Data 1 (1972) 1047; γ(H+) = γ± by convention"
NEUTRAL = "half of pKw, H. S. Harned, B. B. Owen: 14.535, 13.995, 13.535 at 10, 25, 40 °C"
WATER_EC = "T. S. Light et al., Electrochem. Solid-State Lett. 8 (2005) E16"
CARBONIC = "sqrt(KH K1 p): KH 10^-1.468, K1 10^-6.352, p 420e-6 atm; EC from 349.65 and 44.5 S cm2/mol"


def references() -> tuple[Reference, ...]:
    """Return all references, strong electrolytes first."""
    return (*_conductivities(), *_weak(), *_strong_ph(), *_buffers(), *_waters(), *_densities())


def molar(moles: Mapping[str, float], temperature: float = 25.0) -> Solution:
    """Return a solution of given concentrations [mol/L], by finding how much water a litre of it holds."""
    solutes = sum(amount * MOLAR_MASS[formula] for formula, amount in moles.items())
    water = 1.0
    for _ in range(6):
        density = equilibrium(Solution.of(moles, water=water, temperature=temperature)).density
        water = density * 1e-3 - solutes
    return Solution.of(moles, water=water, temperature=temperature)


def _molal(moles: Mapping[str, float], temperature: float = 25.0) -> Solution:
    return Solution.of(moles, water=1.0, temperature=temperature)


def _percent(formula: str, percent: float) -> Solution:
    """Return a solution of a share by mass [%] at 20 °C."""
    return Solution.of({formula: percent / 100 / MOLAR_MASS[formula]}, water=1 - percent / 100, temperature=20.0)


def _conductivities() -> Iterator[Reference]:
    table = {
        10.0: (1013.95, 9291.72),
        15.0: (1141.45, 10437.1),
        20.0: (1273.03, 11615.9),
        25.0: (1408.23, 12824.6),
        30.0: (1546.63, 14059.2),
        35.0: (1687.79, 15316.0),
        40.0: (1831.27, 16591.0),
    }
    for temperature, values in table.items():
        for molality, value in zip((0.01, 0.1), values, strict=True):
            what = f"KCl {molality} mol/kg, {temperature:g} °C"
            yield Reference(what, _molal({"KCl": molality}, temperature), "EC", value, 0.01, PRATT, "looked up")
    for concentration, value in ((0.001, 421.2), (0.01, 411.9), (0.05, 398.9), (0.1, 391.1)):
        what, kappa = f"HCl {concentration} mol/L", value * concentration * 1e3
        yield Reference(what, molar({"HCl": concentration}), "EC", kappa, 0.01, HAMER_DEWANE, "looked up")
    equivalents = {
        "KCl": ((0.001, 146.88), (0.01, 141.20), (0.1, 128.90)),
        "NaCl": ((0.001, 123.68), (0.01, 118.45), (0.1, 106.69)),
        "NaOH": ((0.001, 244.6), (0.01, 237.9)),
        "KHCO3": ((0.001, 115.28), (0.01, 110.03)),
        "CH3COONa": ((0.001, 88.5), (0.01, 83.72), (0.1, 72.76)),
    }
    for formula, rows in equivalents.items():
        for concentration, value in rows:
            what, kappa = f"{formula} {concentration} mol/L", value * concentration * 1e3
            yield Reference(what, molar({formula: concentration}), "EC", kappa, 0.015, CRC_EQUIVALENT, "recalled")


def _weak() -> Iterator[Reference]:
    for concentration, value in ((1.02831e-3, 48.146), (9.8421e-3, 16.371), (0.05, 7.358), (0.1, 5.201)):
        what, kappa = f"CH3COOH {concentration:.4g} mol/L", value * concentration * 1e3
        yield Reference(what, molar({"CH3COOH": concentration}), "EC", kappa, 0.02, MACINNES, "recalled")
    # The same table's 0.5 % rows, 300 and 1200 µS/cm, are not used: a weak acid that is halved loses a third, not half.
    yield Reference("CH3COOH 1 %, 20 °C", _percent("CH3COOH", 1.0), "EC", 600.0, 0.10, CRC_EC, "looked up")
    yield Reference("C6H8O7 1 %, 20 °C", _percent("C6H8O7", 1.0), "EC", 2100.0, 0.05, CRC_EC, "looked up")


def _strong_ph() -> Iterator[Reference]:
    for molality, value in ((0.001, 3.016), (0.01, 2.043), (0.1, 1.099)):
        yield Reference(f"HCl {molality} mol/kg", _molal({"HCl": molality}), "pH", value, 0.02, HAMER_WU, "recalled")
    for molality, value in ((0.01, 11.950), (0.05, 12.609), (0.1, 12.880)):
        yield Reference(f"NaOH {molality} mol/kg", _molal({"NaOH": molality}), "pH", value, 0.03, HAMER_WU, "recalled")


def _buffers() -> Iterator[Reference]:
    citrate = _molal({"KC6H7O7": 0.05})
    yield Reference("KC6H7O7 0.05 mol/kg", citrate, "pH", 3.776, 0.03, STAPLES, "looked up")
    for molarity, value in ((0.1, 4.644), (0.01, 4.713)):
        acetate = molar({"CH3COOH": molarity, "CH3COONa": molarity})
        yield Reference(f"CH3COOH + CH3COONa, {molarity} mol/L each", acetate, "pH", value, 0.01, IUPAC, "recalled")
    equal = {"KH2PO4": 0.025, "Na2HPO4": 0.025}
    for temperature, value in ((10.0, 6.92), (20.0, 6.88), (30.0, 6.85), (40.0, 6.84)):
        what = f"KH2PO4 + Na2HPO4, 0.025 mol/kg each, {temperature:g} °C"
        yield Reference(what, _molal(equal, temperature), "pH", value, 0.03, PHOSPHATE_TABLE, "looked up")
    what = "KH2PO4 + Na2HPO4, 0.025 mol/kg each"
    yield Reference(what, _molal(equal), "pH", 6.865, 0.01, IUPAC, "recalled")
    what = "KH2PO4 0.008695 + Na2HPO4 0.03043 mol/kg"
    blood = _molal({"KH2PO4": 0.008695, "Na2HPO4": 0.03043})
    yield Reference(what, blood, "pH", 7.413, 0.01, IUPAC, "recalled")
    carbonate = {"NaHCO3": 0.025, "Na2CO3": 0.025}
    what = "NaHCO3 + Na2CO3, 0.025 mol/kg each"
    yield Reference(what, _molal(carbonate), "pH", 10.012, 0.03, STAPLES, "looked up")
    for temperature, value in ((10.0, 10.18), (20.0, 10.06), (30.0, 9.97), (40.0, 9.89)):
        yield Reference(
            f"{what}, {temperature:g} °C",
            _molal(carbonate, temperature),
            "pH",
            value,
            0.04,
            CARBONATE_TABLE,
            "looked up",
        )


def _waters() -> Iterator[Reference]:
    for temperature, value in ((10.0, 7.267), (25.0, 6.998), (40.0, 6.768)):
        water = Solution(1.0, (), temperature)
        yield Reference(f"water, {temperature:g} °C", water, "pH", value, 0.01, NEUTRAL, "recalled")
    yield Reference("water", Solution(1.0), "EC", 0.05501, 0.01, WATER_EC, "recalled")
    saturated = _molal({"CO2": 10**-1.468 * 420e-6 + 2.52e-6})
    yield Reference("water under air with 420 ppm CO2", saturated, "pH", 5.599, 0.01, CARBONIC, "derived")
    yield Reference("water under air with 420 ppm CO2", saturated, "EC", 0.993, 0.02, CARBONIC, "derived")


def _densities() -> Iterator[Reference]:
    for formula, percent, value in (("NaCl", 0.5, 1001.8), ("CH3COOH", 0.5, 998.9), ("C6H8O7", 0.5, 1000.2)):
        what = f"{formula} {percent} %, 20 °C"
        yield Reference(what, _percent(formula, percent), "density", value, 5e-4, CRC_DENSITY, "recalled")
