"""The choice level: does the first selected operation belong to the legal set (paper sections 5.4 and 7.1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .bootstrap import clustered
from .rate import Rate, rate

Verdict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Choices:
    """Rates over one population of opportunities with a scorable physical choice; episodes with several stay together.

    correct     B_next, equation 4
    identified  C_id, equation 5
    accuracy    correct among identified, to be read with its coverage `identified`
    """

    correct: Rate
    identified: Rate
    accuracy: Rate


TOGETHER = {"add": "add or remove", "remove": "add or remove"}
"""Operation kinds that stand in one legal set: they answer the same question."""
DECISIVE = ("retrieve", "insert")
"""Kinds of the decision that a task is about, the first of them that its goal names; else it is the first decision."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a decision asks; decisions that ask the same are comparable across episodes and systems.

    kind      of the legal operations
    free      the item is given and several places would do, so that the answer needs no evidence
    revealed  asked after the environment acted and showed the scene again
    """

    kind: str
    free: bool = False
    revealed: bool = False

    def __str__(self) -> str:
        return self.kind + " anywhere" * self.free + " after reveal" * self.revealed


@dataclass(frozen=True, slots=True)
class Reach:
    """A registered later decision in complete rollouts: N_reach/N_run, N_correct/N_reach, N_correct/N_run.

    name        "insert after reveal" the first time that an episode is asked, "insert 2 after reveal" the second time
    identified  decisions with an identifiable choice, of those reached
    time        how often the question had been asked with it, 1 for the first time
    opening     whether it is the first decision of every episode that reached it
    """

    name: str
    reached: Rate
    identified: Rate
    correct_of_reached: Rate
    correct_of_run: Rate
    time: int = 1
    opening: bool = False


def physical(verdict: Verdict) -> list[dict[str, Any]]:
    """Return the decisions of an episode that behaviour can answer."""
    return [decision for decision in verdict["decisions"] if decision["physical"]]


def waits(decision: dict[str, Any]) -> bool:
    """Return whether waiting was the only legal answer."""
    return bool(decision["legal"]) and all(operation["kind"] == "wait" for operation in decision["legal"])


def choices(decisions: Sequence[dict[str, Any]]) -> Choices:
    """Return the behavioural rates over `decisions`, one of each episode."""
    identified = [decision for decision in decisions if decision["choice"] is not None]
    return Choices(
        correct=rate(decision["correct"] is True for decision in decisions),
        identified=rate(decision["choice"] is not None for decision in decisions),
        accuracy=rate(decision["correct"] is True for decision in identified),
    )


def all_choices(episodes: Sequence[Sequence[dict[str, Any]]]) -> Choices:
    """Return the behavioural rates over every decision of each of `episodes`."""
    return Choices(
        correct=clustered([entry["correct"] is True for entry in found] for found in episodes),
        identified=clustered([entry["choice"] is not None for entry in found] for found in episodes),
        accuracy=clustered(
            [entry["correct"] is True for entry in found if entry["choice"] is not None] for found in episodes
        ),
    )


def reports(episodes: Sequence[Sequence[dict[str, Any]]]) -> Choices:
    """Return the same rates on the explicit report track, over every decision, wait and stop included."""
    return Choices(
        correct=clustered([entry["report_correct"] is True for entry in found] for found in episodes),
        identified=clustered([entry["report"] is not None for entry in found] for found in episodes),
        accuracy=clustered(
            [entry["report_correct"] is True for entry in found if entry["report"] is not None] for found in episodes
        ),
    )


def agreement(episodes: Sequence[Sequence[dict[str, Any]]]) -> Rate:
    """Return how often the behaviour that followed matched the report."""
    return clustered(
        [
            entry["report"] == entry["choice"]
            for entry in found
            if entry["report"] is not None and entry["choice"] is not None
        ]
        for found in episodes
    )


def question(decision: dict[str, Any], revealed: float) -> Question:
    """Return what a physical `decision` asks; the environment showed the scene again at tick `revealed`."""
    legal = decision.get("legal", ())
    kinds = dict.fromkeys(TOGETHER.get(operation["kind"], operation["kind"]) for operation in legal)
    selected = {(operation["kind"], operation["item"]) for operation in legal}
    free = len(selected) == 1 and len(legal) > 1
    return Question(" or ".join(kinds) or "any", free, decision.get("opened", 0) >= revealed)


def decisive(verdict: Verdict, kind: str) -> dict[str, Any] | None:
    """Return the first decision of `kind` that needs evidence, the very first where `kind` is "", None if unreached."""
    found = physical(verdict)
    if kind:
        found = [entry for entry in found if not (asked := question(entry, math.inf)).free and asked.kind == kind]
    return found[0] if found else None


def registered(verdicts: Sequence[Verdict], kind: str) -> Reach:
    """Return the rates of the decision that `decisive` names, where nobody reached it too."""
    reached = [entry for verdict in verdicts if (entry := decisive(verdict, kind)) is not None]
    return _reach(f"choice to {kind}" if kind else "first choice", reached, len(verdicts), 1, opening=not kind)


def reaches(verdicts: Sequence[Verdict], revealed: Sequence[float]) -> tuple[Reach, ...]:
    """Return the rates of every question that any episode was asked, each time that it was asked.

    `revealed` has the tick for each verdict at which the environment showed the scene again, infinite where it did not.
    What is asked first comes first; what is asked again, or after the environment acted, comes later.
    """
    reached: dict[tuple[Question, int], list[dict[str, Any]]] = {}
    opening: set[tuple[Question, int]] = set()
    later: set[tuple[Question, int]] = set()
    for verdict, tick in zip(verdicts, revealed, strict=True):
        times: Counter[Question] = Counter()
        for number, entry in enumerate(physical(verdict)):
            asked = question(entry, tick)
            times[asked] += 1
            key = asked, times[asked]
            reached.setdefault(key, []).append(entry)
            (later if number else opening).add(key)
    runs, order = len(verdicts), sorted(reached, key=lambda key: (key[0].revealed, key[1]))
    return tuple(_reach(_name(*key), reached[key], runs, key[1], opening=key in opening - later) for key in order)


def _name(asked: Question, time: int) -> str:
    return str(asked) if time == 1 else str(replace(asked, kind=f"{asked.kind} {time}"))


def _reach(name: str, reached: Sequence[dict[str, Any]], runs: int, time: int, *, opening: bool) -> Reach:
    found = choices(reached)
    correct = Rate(found.correct.count, runs)
    return Reach(name, Rate(len(reached), runs), found.identified, found.correct, correct, time, opening)
