"""Semantic templates: procedures made of atomic actions and tools, as guidelines and as lists of actions.

A template proposes; every one of its actions still needs its ruling, and the Operator may leave it at any point.
"""

from __future__ import annotations

from .atomic import Action, action


def measure_cycle(seconds: float) -> tuple[Action, ...]:
    """Return the actions that read the beaker and leave the probe clean and put away; `seconds` in the liquid."""
    return (
        action("take_probe"),
        action("measure", seconds=seconds),
        *rinse_cycle(),
    )


def rinse_cycle() -> tuple[Action, ...]:
    """Return the actions that end with the held probe clean in its holder."""
    return (action("rinse_probe"), action("return_probe"))


def add_cycle(tube: str, **numbers: float) -> tuple[Action, ...]:
    """Return the actions that pour from a tube, put it back and stir; numbers of the pour by name."""
    return (action("pick", tube), action("pour", tube, **numbers), action("place", tube), action("stir"))


def dose_and_measure(tube: str, seconds: float, **numbers: float) -> tuple[Action, ...]:
    """Return an addition, and the reading that shows what it did."""
    return (*add_cycle(tube, **numbers), *measure_cycle(seconds))


GUIDELINES = (
    "measure cycle: " + " > ".join(each.kind for each in measure_cycle(60.0)),
    "add cycle: " + " > ".join(each.kind for each in add_cycle("TUBE")),
    "dose and measure: an add cycle, then a measure cycle; decide on the next dose by what it shows",
    "rinse cycle: " + " > ".join(each.kind for each in rinse_cycle()),
    "pour a mass: tare where the balance does not show 0 > pick > pour > place",
)
"""The templates as the Operator is told them."""
