"""What may be dissolved: formulas, molar masses, and the acids that we add to the database of PHREEQC."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import MappingProxyType

ENGINE_NAMES = MappingProxyType(
    {
        "HCl": "HCl",
        "NaOH": "NaOH",
        "NaCl": "NaCl",
        "KCl": "KCl",
        "CO2": "CO2",
        "NaHCO3": "NaHCO3",
        "KHCO3": "KHCO3",
        "Na2CO3": "Na2CO3",
        "Ca(HCO3)2": "Ca(HCO3)2",
        "CaCl2": "CaCl2",
        "MgSO4": "MgSO4",
        "KH2PO4": "KH2PO4",
        "Na2HPO4": "Na2HPO4",
        "CH3COOH": "HAcetate",
        "CH3COONa": "NaAcetate",
        "C6H8O7": "H3Citrate",
        "KC6H7O7": "KH2Citrate",
    }
)
"""Formula -> how PHREEQC reads it. Acetate and citrate are components of their own: given as C, H and O they would turn
into carbonate and methane. Nitrate is left out on purpose: its redox shifts the pH."""
CARBONATES = MappingProxyType({"CO2": 1, "NaHCO3": 1, "KHCO3": 1, "Na2CO3": 1, "Ca(HCO3)2": 2})
"""Formula -> mol of inorganic carbon in a mol of it."""
WEIGHTS = MappingProxyType(
    {
        "H": 1.008,
        "C": 12.011,
        "O": 15.999,
        "Na": 22.990,
        "Mg": 24.305,
        "P": 30.974,
        "S": 32.06,
        "Cl": 35.45,
        "K": 39.098,
        "Ca": 40.078,
    }
)
"""Standard atomic weights, abridged to five digits (IUPAC 2021) [g/mol]."""

ADDED = """
SOLUTION_MASTER_SPECIES
Acetate Acetate-  0  59.044  59.044
Citrate Citrate-3 0 189.099 189.099
SOLUTION_SPECIES
Acetate- = Acetate-
 log_k 0
 -gamma 4.5 0
 -Vm 9.67
 -dw 1.089e-9
Acetate- + H+ = HAcetate
 log_k 4.756
 delta_h 0.41 kJ
 -gamma 0 0
 -Vm 12.40
Citrate-3 = Citrate-3
 log_k 0
 -gamma 5 0
 -Vm 17.2
 -dw 0.623e-9
Citrate-3 + H+ = HCitrate-2
 log_k 6.396
 delta_h 3.38 kJ
 -gamma 4.5 0
 -Vm 20.8
 -dw 0.70e-9
Citrate-3 + 2 H+ = H2Citrate-
 log_k 11.157
 delta_h 1.15 kJ
 -gamma 4 0
 -Vm 24.1
 -dw 0.799e-9
Citrate-3 + 3 H+ = H3Citrate
 log_k 14.285
 delta_h -2.92 kJ
 -gamma 0 0
 -Vm 27.1
Ca+2 + Citrate-3 = CaCitrate-
 log_k 4.87
 -gamma 4.5 0
 -Vm 13
 -dw 0.62e-9
Ca+2 + Citrate-3 + H+ = CaHCitrate
 log_k 9.26
 -gamma 0 0
 -Vm 16
Ca+2 + Citrate-3 + 2 H+ = CaH2Citrate+
 log_k 12.257
 -gamma 4.5 0
 -Vm 20
 -dw 0.62e-9
Mg+2 + Citrate-3 = MgCitrate-
 log_k 4.89
 delta_h 8.4 kJ
 -gamma 4.5 0
 -Vm 13
 -dw 0.62e-9
Mg+2 + Citrate-3 + H+ = MgHCitrate
 log_k 8.91
 delta_h 3.3 kJ
 -gamma 0 0
 -Vm 16
Mg+2 + Citrate-3 + 2 H+ = MgH2Citrate+
 log_k 12.2
 -gamma 4.5 0
 -Vm 20
 -dw 0.62e-9
Ca+2 + Acetate- = CaAcetate+
 log_k 1.18
 delta_h 4 kJ
 -gamma 4.5 0
 -Vm 6
 -dw 0.70e-9
Mg+2 + Acetate- = MgAcetate+
 log_k 1.27
 -gamma 4.5 0
 -Vm 6
 -dw 0.70e-9
END
"""
"""Two acids which phreeqc.dat lacks, and what they form with the hardness of water.

log_k, delta_h of the acids: R. N. Goldberg et al., J. Phys. Chem. Ref. Data 31 (2002) 231: acetate pK 4.756,
    ΔH -0.41 kJ/mol; citrate pK 3.128, 4.761, 6.396, ΔH 4.07, 2.23, -3.38 kJ/mol, summed here over the protons.
log_k, delta_h of complexes: the NIST selection (Standard Reference Database 46) that MINTEQ uses, but no ΔH for
    CaCitrate-: R. P. Singh et al., J. Chem. Eng. Data 36 (1991) 52, found K = 7.0e4 (log 4.85), the same from 18 to
    45 °C. They matter: without them, citric acid would leave tap water up to 0.4 pH and 50 % of conductivity too high.
-dw: diffusion coefficients [m2/s] in the CRC Handbook's table of ionic conductivities (P. Vanýsek): acetate 1.089,
    citrate3- 0.623, H2citrate- 0.799 (1e-9 m2/s). Those of Hcitrate2- and of complexes are our estimates. An ion
    without -dw would silently conduct nothing.
-gamma: ion sizes [Å] of J. Kielland, J. Am. Chem. Soc. 59 (1937) 1675, and 4.5 for complexes.
-Vm: a constant apparent volume / 4.184 [cm3/mol]: acetate- 40.5, acetic acid 51.9, citrate 72 to 113 (protonated);
    ours, rounded, and of use for the density only.
"""


def elements(formula: str) -> Iterator[tuple[str, int]]:
    """Yield the elements of a formula with their numbers, an element perhaps twice.

    Example: "Ca(HCO3)2" -> ("Ca", 1), ("H", 2), ("C", 2), ("O", 6)
    """
    for group, times, symbol, number in re.findall(r"\(([^)]*)\)(\d*)|([A-Z][a-z]?)(\d*)", formula):
        if symbol:
            yield symbol, int(number or 1)
        else:
            yield from ((inner, count * int(times or 1)) for inner, count in elements(group))


MOLAR_MASS = MappingProxyType(
    {formula: sum(WEIGHTS[symbol] * count for symbol, count in elements(formula)) / 1000 for formula in ENGINE_NAMES}
)
"""Formula -> molar mass [kg/mol]."""
