"""What a liquid does at a lip: density, viscosity, how it wets glass, and what it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Liquid:
    """A Newtonian liquid at 20 °C, and how it behaves at the rim of a glass vessel.

    name
    density    [kg/m3]
    viscosity  dynamic viscosity [Pa s]
    spread     standard deviation of the logarithm of the viscosity between bottles and room temperatures
    wets       head above the lip at which a dry lip starts to run [m]
    dries      head below which a running lip stops [m]; smaller than `wets`, because a wet lip holds less back
    lag        time constant with which the level at the lip follows the equilibrium level [s]
    film       mass that wall and lip hold once the liquid has run over them [kg]
    drain      time constant with which that film collects at the lip after the flow has stopped [s]
    drop       mass at which a pendant drop falls [kg]
    """

    name: str
    density: float
    viscosity: float
    spread: float
    wets: float
    dries: float
    lag: float
    film: float
    drain: float
    drop: float


# Density and viscosity are handbook values at 20 °C, rounded: water 998.2 kg/m3 and 1.00 mPa s (CRC Handbook of
# Chemistry and Physics), sucrose 40 % by mass 1176 kg/m3 and 6.2 mPa s (CRC Handbook, concentrative properties of
# aqueous solutions), olive oil 911-918 kg/m3 and about 80 mPa s. The spread is an estimate: the viscosity of water
# changes by 2 % per kelvin, that of oil by 4 %, and oils differ.
#
# Everything after `spread` is an estimate. The starting heads stay below the capillary length sqrt(sigma / (rho g)),
# 2.7 mm for water and 1.9 mm for olive oil, which bounds what surface tension can hold back at an edge; a drop of water
# of 0.045 g is close to the "20 drops a millilitre" of medicine droppers. Film, its drainage and the lag of the level
# grow with viscosity.
WATER = Liquid("water", 998.0, 1.0e-3, 0.02, 2.4e-3, 0.9e-3, 0.12, 0.12e-3, 0.6, 0.045e-3)
"""Also stands for the dilute aqueous stocks of the wet bench, which differ from it by less than 0.5 % in density."""
SUCROSE = Liquid("sucrose", 1176.0, 6.2e-3, 0.08, 2.2e-3, 0.9e-3, 0.15, 0.15e-3, 1.0, 0.050e-3)
OLIVE_OIL = Liquid("olive oil", 913.0, 8.0e-2, 0.08, 1.4e-3, 0.6e-3, 0.40, 0.25e-3, 3.0, 0.025e-3)

LIQUIDS = {liquid.name: liquid for liquid in (WATER, SUCROSE, OLIVE_OIL)}
