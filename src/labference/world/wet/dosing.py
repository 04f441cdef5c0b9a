"""How much of one liquid brings another to a wanted mass, pH or conductivity: known to whoever knows what they are."""

from __future__ import annotations

from collections.abc import Mapping

from .chemistry import equilibrium
from .meter import PER_KELVIN, REFERENCE
from .mixing import portion
from .plumbing import GRAMS, Plumbing
from .solution import Solution

MOST = 50.0
"""Largest dose [g]."""
HALVINGS = 14
"""How often the range of doses is halved: to 3 mg."""


def needed(plumbing: Plumbing, source: str, vessel: str, aim: Mapping[str, float]) -> float:
    """Return the grams of `source` after which `vessel`, mixed, has the `aim`: "grams" to add, "ph", or "ec" at 25 C.

    `MOST` where no dose reaches it.
    """
    if "grams" in aim:
        return aim["grams"]
    names = [cup.name for cup in plumbing.cups]
    into, kind = plumbing.contents(names.index(vessel)), plumbing.contents(names.index(source))
    quantity, wanted = next((name, aim[name]) for name in ("ph", "ec") if name in aim)

    def value(grams: float) -> float:
        return _measured(into + portion(kind, grams / GRAMS), quantity)

    low, high = 0.0, MOST
    rising = value(high) > value(low)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if (value(middle) < wanted) == rising:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def holds(plumbing: Plumbing, vessel: str, quantity: str) -> float:
    """Return the "grams" in a vessel, or its "ph", or its "ec" at 25 C [uS/cm], everything mixed."""
    index = [cup.name for cup in plumbing.cups].index(vessel)
    if quantity == "grams":
        return float(plumbing.grams()[index])
    return _measured(plumbing.contents(index), quantity)


def _measured(mixed: Solution, quantity: str) -> float:
    found = equilibrium(mixed)
    if quantity == "ph":
        return found.ph
    return found.conductivity / (1.0 + PER_KELVIN * (mixed.temperature - REFERENCE))
