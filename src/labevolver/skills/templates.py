"""Semantic templates: procedures made of atomic actions and tools, as guidelines and as lists of actions.

A template proposes; every one of its actions still needs its ruling, and the Operator may leave it at any point.
"""

from __future__ import annotations

from dataclasses import dataclass

from .atomic import STOP, Action, action


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


@dataclass(frozen=True, slots=True)
class Template:
    """A template as the Operator is told it: a guideline, and the kinds of actions that it is made of."""

    guideline: str
    kinds: tuple[str, ...]


def _row(cycle: tuple[Action, ...]) -> tuple[str, tuple[str, ...]]:
    kinds = tuple(each.kind for each in cycle)
    return " > ".join(kinds), kinds


def _templates() -> dict[str, Template]:
    measuring, adding, rinsing = (_row(each) for each in (measure_cycle(60.0), add_cycle("TUBE"), rinse_cycle()))
    return {
        "measure cycle": Template(*measuring),
        "add cycle": Template(*adding),
        "dose and measure": Template(
            "an add cycle, then a measure cycle; decide on the next dose by what it shows", (*adding[1], *measuring[1])
        ),
        "rinse cycle": Template(*rinsing),
        "pour a mass": Template(
            "tare where the balance does not show 0 > pick > pour > place", ("tare", "pick", "pour", "place", "weigh")
        ),
        "end": Template(
            "put away what is held, then stop to claim that the goal is reached, or abandon to give up",
            (*rinsing[1], "place", STOP),
        ),
    }


TEMPLATES = _templates()
"""The templates by name."""
GUIDELINES = tuple(f"{name}: {each.guideline}" for name, each in TEMPLATES.items())
"""The templates as the Operator is told them, a line each."""
