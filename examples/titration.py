"""Titrate 100 g of tap water with every bottle of the bench and draw pH and conductivity over the dose.

python examples/titration.py titration.png
"""

from __future__ import annotations

import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from labference.world.wet.chemistry import equilibrium
from labference.world.wet.reagents import REAGENTS, tap_water

matplotlib.use("Agg")
GRAMS = np.linspace(0, 20, 201)


def main(path: str = "titration.png") -> None:
    figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(7, 7), layout="constrained")
    water = tap_water(0.1, alkalinity=2e-3)
    for name, stock in REAGENTS.items():
        curve = [equilibrium(water + stock.portion(grams * 1e-3)) for grams in GRAMS]
        label = f"{name} {stock.strength:g} mol/kg"
        upper.plot(GRAMS, [state.ph for state in curve], label=label)
        lower.plot(GRAMS, [state.conductivity for state in curve])
    upper.axhspan(4.9, 5.1, color="0.9")
    upper.set_ylabel("pH")
    figure.legend(loc="outside upper center", ncols=2, fontsize="small")
    lower.set_ylabel("conductivity at 25 °C [µS/cm]")
    lower.set_xlabel("added to 100 g of tap-like water, alkalinity 2 mmol/kg [g]")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    main(*sys.argv[1:2])
