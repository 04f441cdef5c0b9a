"""What the bench's hands did for a tested system, operation by operation: the execution test of such systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labference.truth.events import Chosen, Finished, Performed

AMOUNT = "amount_g"
"""The parameter that says how much."""


@dataclass(frozen=True, slots=True)
class Carried:
    """One operation that the bench carried out after the handoff.

    operation  as recorded
    chosen     whether it answered a decision, rightly; False too where it was no first choice
    confirmed  whether its physical subgoal was confirmed
    effect     the quantity it was for, beside what it led to, as recorded; None where it was for none
    """

    operation: dict[str, Any]
    chosen: bool
    confirmed: bool
    effect: dict[str, Any] | None

    @property
    def reached(self) -> bool:
        """Return whether it did what it is for: confirmed, and its quantity within the margin."""
        known = self.effect
        return self.confirmed and (known is None or abs(known["value"] - known["aim"]) <= known["margin"])

    @property
    def words(self) -> str:
        """Return what kind of operation this was."""
        return str(self.operation["kind"])


@dataclass(frozen=True, slots=True)
class Ratios:
    """Distribution of positive ratios: how many, their 10th percentile, median and 90th percentile."""

    count: int
    low: float
    median: float
    high: float


def carried(events: Sequence[dict[str, Any]], receipts: Sequence[dict[str, Any]], handoff: int) -> tuple[Carried, ...]:
    """Return what the bench's hands began at the handoff or later, and finished, in order."""
    effects = {entry["tick"]: entry["effect"] for entry in receipts if entry.get("effect") is not None}
    found: list[Carried] = []
    begun: dict[str, Any] | None = None
    right = False
    for event in events:
        name = event["event"]
        if event["tick"] < handoff:
            continue
        if name == Performed.__name__:
            begun, right = event["operation"], False
        elif name == Chosen.__name__ and event["operation"] == begun:
            right = event["correct"]
        elif name == Finished.__name__ and begun is not None:
            found.append(Carried(begun, right, event["done"], effects.get(event["tick"])))
            begun = None
    return tuple(found)


def firsts(done: Sequence[Carried]) -> dict[str, Carried]:
    """Return the first rightly chosen operation of each kind, and of each tube that is poured from."""
    found: dict[tuple[str, str], Carried] = {}
    for entry in done:
        if entry.chosen:
            found.setdefault((entry.words, entry.operation["item"]), entry)
    kinds: dict[str, Carried] = {}
    for (kind, _), entry in found.items():
        kinds[kind] = entry if kind not in kinds or kinds[kind].reached else kinds[kind]
    return kinds


def dose(receipts: Sequence[dict[str, Any]]) -> float | None:
    """Return the first amount that was stated for a pour over that of the reference, None where none was."""
    for entry in receipts:
        if entry["scope"] != "skill" or entry["said"] is None or not entry["reference"]:
            continue
        stated = {each["name"]: each["value"] for each in entry.get("stated", ())}
        right = {each["name"]: each["value"] for each in entry["reference"]}
        if AMOUNT in stated and right.get(AMOUNT):
            return float(stated[AMOUNT] / right[AMOUNT])
    return None


def ratios(values: Sequence[float]) -> Ratios | None:
    """Return the distribution of `values`, None where there are none."""
    if not values:
        return None
    low, median, high = (float(value) for value in np.percentile(values, (10, 50, 90)))
    return Ratios(len(values), low, median, high)
