"""One campaign in numbers: choice, execution, completion and runtime, each with its own denominator."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from . import choice
from .bootstrap import Cluster, Clustered
from .campaign import Campaign
from .choice import Choices, Reach
from .conditions import Condition, conditions
from .quantities import Mean, quantities
from .rate import Bounds, Rate, rate

UNREACHED: dict[str, Any] = {"choice": None, "correct": None}
"""Stands for the first opportunity of an episode that failed before it: no identifiable choice."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """Mean seconds per episode; `simulated` runs on the laboratory's clock, the others on the wall's."""

    simulated: float
    model: float
    rendering: float
    physics: float
    wall: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What a campaign shows.

    decisive     kind of the decision that the task is about, "" for the first one (`choice.DECISIVE`)
    registered   how often that decision was reached and answered correctly
    selection    episodes in which it was answered correctly, of all scored: the paper's table 3
    first        B_next and C_id over the first opportunities, which every system meets in the same states
    all          the same over every opportunity the policy reached, states of its own making
    reports      the explicit track where an operation or stopping was due; `waits` where only waiting was
    conditions   all episodes, then those of each value of each instance field with few values
    execution    correct choices whose own attempt was physically confirmed
    completion   completion bounds over the planned population while episodes are unresolved
    categories   how often each event category occurred, and in how many episodes
    reasons      how episodes ended
    quantities   what else the task measures, by name
    """

    system: str
    task: str
    planned: int
    scored: int
    unresolved: int
    decisive: str
    registered: Reach
    selection: Rate
    first: Choices
    all: Choices
    conditions: tuple[Condition, ...]
    reports: Choices
    waits: Choices
    agreement: Rate
    execution: Rate
    physical: Rate
    valid: Rate
    clean: Rate
    recovered: Rate
    completion: Bounds
    violations: dict[str, int]
    categories: dict[str, tuple[int, int]]
    reasons: dict[str, int]
    runtime: Runtime | None
    quantities: dict[str, Mean] = field(default_factory=dict)


def summarise(campaign: Campaign) -> Summary:
    """Return the summary of `campaign`."""
    scores = list(campaign.scores.values())
    verdicts = [score["verdict"] for score in scores]
    decisions = [choice.physical(verdict) for verdict in verdicts]
    every = [verdict["decisions"] for verdict in verdicts]
    first = [found[0] if found else UNREACHED for found in decisions]
    valid = rate(verdict["valid"] for verdict in verdicts)
    reporting = any(score["reports"] for score in scores)
    decisive = next((kind for kind in choice.DECISIVE if kind in campaign.kinds), "")
    registered = choice.registered(verdicts, decisive)
    return Summary(
        system=campaign.system,
        task=campaign.condition["task"],
        planned=campaign.planned,
        scored=len(scores),
        unresolved=campaign.unresolved,
        decisive=decisive,
        registered=registered,
        selection=registered.correct_of_run,
        first=choice.choices(first),
        all=choice.all_choices(decisions),
        conditions=conditions(campaign),
        reports=choice.reports(
            [[entry for entry in found if reporting and not choice.waits(entry)] for found in every]
        ),
        waits=choice.reports([[entry for entry in found if reporting and choice.waits(entry)] for found in every]),
        agreement=choice.agreement(every),
        execution=_execution(verdicts),
        physical=rate(verdict["physical"] for verdict in verdicts),
        valid=valid,
        clean=rate(verdict["clean"] for verdict in verdicts),
        recovered=rate(verdict["recovered"] for verdict in verdicts),
        completion=Bounds(valid.count, campaign.unresolved, campaign.planned),
        violations=dict(Counter(rule for verdict in verdicts for rule in set(verdict["violations"]))),
        categories=_categories(verdicts),
        reasons=dict(Counter(score["reason"] for score in scores)),
        runtime=_runtime(scores),
        quantities=quantities(campaign),
    )


def _execution(verdicts: list[dict[str, Any]]) -> Clustered:
    """Return how many correct choices were confirmed; those of one episode stay together."""
    found = tuple(Cluster(verdict["correct_confirmed"], verdict["correct_attempts"]) for verdict in verdicts)
    return Clustered(sum(int(entry.total) for entry in found), sum(entry.size for entry in found), found)


def _categories(verdicts: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    names = verdicts[0]["categories"] if verdicts else {}
    counts = {name: [verdict["categories"][name] for verdict in verdicts] for name in names}
    return {name: (sum(values), sum(value > 0 for value in values)) for name, values in counts.items()}


def _runtime(scores: list[dict[str, Any]]) -> Runtime | None:
    if not scores:
        return None
    means = {
        name: sum(score["runtime"][f"{name}_s"] for score in scores) / len(scores)
        for name in ("model", "rendering", "physics", "wall")
    }
    return Runtime(simulated=sum(score["simulated_s"] for score in scores) / len(scores), **means)
