"""The choice level: does the first selected operation belong to the legal set (paper sections 5.4 and 7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .rate import Rate, rate

Verdict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Choices:
    """Rates over one population of opportunities with a scorable physical choice.

    correct     B_next, equation 4
    identified  C_id, equation 5
    accuracy    correct among identified, to be read with its coverage `identified`
    """

    correct: Rate
    identified: Rate
    accuracy: Rate


@dataclass(frozen=True, slots=True)
class Reach:
    """A registered later decision in complete rollouts: N_reach/N_run, N_correct/N_reach, N_correct/N_run."""

    decision: int
    reached: Rate
    correct_of_reached: Rate
    correct_of_run: Rate


def physical(verdict: Verdict) -> list[dict[str, Any]]:
    """Return the decisions of an episode that behaviour can answer."""
    return [decision for decision in verdict["decisions"] if decision["physical"]]


def waits(decision: dict[str, Any]) -> bool:
    """Return whether waiting was the only legal answer."""
    return bool(decision["legal"]) and all(operation["kind"] == "wait" for operation in decision["legal"])


def choices(decisions: Sequence[dict[str, Any]]) -> Choices:
    """Return the behavioural rates over `decisions`."""
    identified = [decision for decision in decisions if decision["choice"] is not None]
    return Choices(
        correct=rate(decision["correct"] is True for decision in decisions),
        identified=rate(decision["choice"] is not None for decision in decisions),
        accuracy=rate(decision["correct"] is True for decision in identified),
    )


def reports(decisions: Sequence[dict[str, Any]]) -> Choices:
    """Return the same rates on the explicit report track, over every decision, wait and stop included."""
    stated = [decision for decision in decisions if decision["report"] is not None]
    return Choices(
        correct=rate(decision["report_correct"] is True for decision in decisions),
        identified=rate(decision["report"] is not None for decision in decisions),
        accuracy=rate(decision["report_correct"] is True for decision in stated),
    )


def agreement(decisions: Sequence[dict[str, Any]]) -> Rate:
    """Return how often the behaviour that followed matched the report."""
    both = [entry for entry in decisions if entry["report"] is not None and entry["choice"] is not None]
    return rate(entry["report"] == entry["choice"] for entry in both)


def reach(verdicts: Sequence[Verdict], decision: int) -> Reach:
    """Return the three rates of the `decision`-th physical opportunity, counted from 1."""
    reached = [found[decision - 1] for verdict in verdicts if len(found := physical(verdict)) >= decision]
    correct = sum(entry["correct"] is True for entry in reached)
    runs = len(verdicts)
    return Reach(decision, Rate(len(reached), runs), Rate(correct, len(reached)), Rate(correct, runs))
