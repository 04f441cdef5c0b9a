"""One diagnosed system as the page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from labference.score.branch import Branch
from labference.score.diagnosis import DIAGNOSIS, Diagnosis
from labference.score.finding import Findings, findings, sentences

from . import phrases
from .diagnosis import Line, answers, branch_words, conditions, labels
from .episode import Link, link
from .forest import forest_figure
from .plots import svg
from .strips import Strips, differing, start_name

LISTED = 500
"""Most starts of a system that the page lists."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One branch of a start: outcomes and where its records lie, or why there are none."""

    status: str
    words: str
    outcomes: tuple[bool, ...] = ()
    target: str = ""


@dataclass(frozen=True, slots=True)
class StartRow:
    """One registered start and its branches; `anchor` leads to what they did, "" where they all did the same."""

    name: str
    anchor: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """A diagnosis, ready for the page; `hidden` starts are not listed, `strips` shows those whose branches differ."""

    label: str
    anchor: str
    findings: Findings
    sentences: tuple[str, ...]
    answers: tuple[Line, ...]
    forest: Markup | None
    condition: dict[str, str]
    plan: Link
    branches: tuple[str, ...]
    starts: tuple[StartRow, ...]
    strips: tuple[Strips, ...]
    hidden: int


def diagnosed(diagnoses: Sequence[Diagnosis], page: Path) -> tuple[Diagnosed, ...]:
    """Return what a page to be written to `page` says about each of `diagnoses`."""
    found = [findings(diagnosis) for diagnosis in diagnoses]
    named = zip(found, labels(found), strict=True)
    return tuple(_diagnosed(entry, name, f"system-{number}", page) for number, (entry, name) in enumerate(named, 1))


def _diagnosed(found: Findings, label: str, anchor: str, page: Path) -> Diagnosed:
    diagnosis = found.diagnosis
    strips = differing(diagnosis, anchor, page)
    return Diagnosed(
        label=label,
        anchor=anchor,
        findings=found,
        sentences=sentences(found),
        answers=answers(found),
        forest=Markup(svg(forest_figure(found), f"forest-{anchor}")) if found.supports else None,
        condition=conditions(diagnosis),
        plan=Link(DIAGNOSIS, link(diagnosis.path / DIAGNOSIS, page)),
        branches=tuple(map(phrases.support, diagnosis.registration.branches)),
        starts=_starts(diagnosis, {entry.name: entry.anchor for entry in strips}, page),
        strips=strips,
        hidden=max(0, len(diagnosis.registration.starts) - LISTED),
    )


def _starts(diagnosis: Diagnosis, anchors: dict[str, str], page: Path) -> tuple[StartRow, ...]:
    return tuple(
        StartRow(
            start_name(start),
            anchors.get(start_name(start), ""),
            tuple(
                _cell(diagnosis.branches[support, start.number], page) for support in diagnosis.registration.branches
            ),
        )
        for start in diagnosis.registration.starts[:LISTED]
    )


def _cell(branch: Branch, page: Path) -> Cell:
    words, found = branch_words(branch), branch.outcome
    if found is None or branch.path is None:
        return Cell(branch.status, words)
    return Cell(branch.status, words, (found.choice, found.subgoal, found.completion), link(branch.path, page))
