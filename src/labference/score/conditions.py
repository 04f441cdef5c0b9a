"""Episodes by what their instance is like: the strata of a population, counted apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import choice
from .campaign import Campaign
from .choice import Reach
from .rate import Rate, rate

FEW = 12
"""Most values of a field by which episodes are counted apart: a rotor or a rack has 12 slots."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Episodes whose instance has `value` in `field`, or all of them where `field` is ""."""

    field: str
    value: str
    reach: tuple[Reach, ...]
    valid: Rate

    def reached(self, name: str) -> Reach:
        """Return the rates of the decision called `name`, also where no episode reached it."""
        runs = self.valid.population
        nobody = Reach(name, Rate(0, runs), Rate(0, 0), Rate(0, 0), Rate(0, runs))
        return next((entry for entry in self.reach if entry.name == name), nobody)


def conditions(campaign: Campaign) -> tuple[Condition, ...]:
    """Return all scored episodes and, for each instance field with few values, those of each value.

    Real numbers are usually drawn and not chosen: they count as values only where they recur.
    """
    everyone = list(campaign.scores)
    found = [_condition(campaign, "", "", everyone)]
    for field, values in varying(campaign).items():
        different = sorted(set(values.values()), key=_rank)
        recurring = not isinstance(different[0], float) or 2 * len(different) <= len(everyone)
        if len(different) <= FEW and recurring:
            groups = ((value, [index for index in everyone if values[index] == value]) for value in different)
            found += [_condition(campaign, field, word(value), indices) for value, indices in groups]
    return tuple(found)


def varying(campaign: Campaign) -> dict[str, dict[int, Any]]:
    """Return the single values of the instances of scored episodes, by field and episode; constant ones are left out.

    A field of a dataclass inside the instance has its own name, or a dotted one where that name occurs twice.
    """
    fields = {index: _fields(campaign.instances.get(index, {})) for index in campaign.scores}
    names = dict.fromkeys(name for values in fields.values() for name in values)
    leaves = Counter(name.rpartition(".")[2] for name in names)
    found = {}
    for name in names:
        values = {index: own.get(name, "") for index, own in fields.items()}
        leaf = name.rpartition(".")[2]
        if len(set(values.values())) > 1:
            found[leaf if leaves[leaf] == 1 else name] = values
    return found


def word(value: Any) -> str:
    """Return an instance's value as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) or "none"


def _condition(campaign: Campaign, field: str, value: str, indices: Sequence[int]) -> Condition:
    verdicts = [campaign.scores[index]["verdict"] for index in indices]
    revealed = [campaign.revealed.get(index, math.inf) for index in indices]
    valid = rate(verdict["valid"] for verdict in verdicts)
    return Condition(field, value, choice.reaches(verdicts, revealed), valid)


def _fields(instance: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in instance.items():
        if isinstance(value, dict):
            found |= _fields(value, f"{prefix}{name}.")
        elif isinstance(value, str | int | float):
            found[prefix + name] = value
    return found


def _rank(value: Any) -> tuple[bool, float, str]:
    """Order numbers by size and words by alphabet."""
    number = isinstance(value, int | float)
    return (not number, float(value) if number else 0.0, str(value))
