"""What the base and each supported branch of one start did, as strips over the same time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labference.records import folder, strict
from labference.score.branch import Branch
from labference.score.diagnosis import BASE, Diagnosis
from labference.truth.diagnosis import Start

from . import phrases
from .diagnosis import branch_words
from .episode import Link, link
from .lanes import Drawing, Event, Mark, steps
from .timeline import STEPS_S, Tick

WIDTH, MARGIN = 640.0, 10.0
"""Width of a strip and the margin at its ends [px]."""
SHORTEST_S = 10.0
"""Least time that strips span [s]."""
QUIET = 1.2
"""Share of the time of the last step up to which strips go."""
DRAWN = 100
"""Most starts of a system whose strips are drawn."""


@dataclass(frozen=True, slots=True)
class Strip:
    """What one or several branches did; they took the same steps, and the first of them is drawn.

    branches  each with a link to its records
    words     how they ended, or why there is no outcome
    tone      good, bad or nothing: whether the first choice was right and confirmed
    """

    branches: tuple[Link, ...]
    words: str
    tone: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Strips:
    """The strips of a start, that of the base first, over one time axis."""

    anchor: str
    name: str
    words: str
    strips: tuple[Strip, ...]
    ticks: tuple[Tick, ...]
    width: float = WIDTH


def differing(diagnosis: Diagnosis, anchor: str, page: Path) -> tuple[Strips, ...]:
    """Return the strips of the starts whose branches did not all do the same, in order."""
    found: list[Strips] = []
    for start in diagnosis.registration.starts:
        branches = [diagnosis.branches[support, start.number] for support in diagnosis.registration.branches]
        branches.sort(key=lambda branch: branch.support != BASE)
        made = _strips(branches, f"{anchor}-start-{start.number}", start_name(start), page)
        if len(made.strips) > 1:
            found.append(made)
        if len(found) == DRAWN:
            break
    return tuple(found)


def start_name(start: Start) -> str:
    """Return what a start is called: its number, and its place in a list."""
    return f"{start.number}: {start.label}" if start.label else str(start.number)


def _strips(branches: Sequence[Branch], anchor: str, name: str, page: Path) -> Strips:
    told = [_told(branch) for branch in branches]
    end_s = max([SHORTEST_S, *(QUIET * events[-1]["tick"] * step for events, step in told if events)])
    groups: dict[object, list[int]] = {}
    lanes = []
    for number, (branch, (events, step)) in enumerate(zip(branches, told, strict=True)):
        marks = steps(events, _drawing(end_s, step))
        lanes.append(marks)
        key = (branch_words(branch), branch.status, *((mark.kind, mark.title.rpartition(", ")[0]) for mark in marks))
        groups.setdefault(key, []).append(number)
    strips = tuple(
        Strip(
            tuple(_link(branches[number], page) for number in numbers),
            branch_words(branches[numbers[0]]),
            _tone(branches[numbers[0]]),
            lanes[numbers[0]],
        )
        for numbers in groups.values()
    )
    every = next(step for step in (*STEPS_S, end_s) if end_s / step <= 9)
    ticks = tuple(Tick(_place(n * every, end_s), f"{n * every:g}") for n in range(int(end_s / every) + 1))
    return Strips(anchor, name, _summary(branches, groups), strips, ticks)


def _told(branch: Branch) -> tuple[list[Event], float]:
    """Return the events of a branch at the handoff and later, counted from there, and the time step [s]."""
    if branch.path is None or branch.run is None:
        return [], 1.0
    handoff = branch.run["handoff"]
    events = [entry for entry in strict.read_lines(branch.path / folder.EVENTS) if entry["tick"] >= handoff]
    return [entry | {"tick": entry["tick"] - handoff} for entry in events], branch.run["channels"]["timestep"]


def _drawing(end_s: float, step: float) -> Drawing:
    return Drawing(lambda tick: _place(tick * step, end_s), step, round(end_s / step), WIDTH - MARGIN)


def _place(seconds: float, end_s: float) -> float:
    return MARGIN + (WIDTH - 2 * MARGIN) * min(1.0, seconds / end_s)


def _link(branch: Branch, page: Path) -> Link:
    return Link(phrases.support(branch.support), "" if branch.path is None else link(branch.path, page))


def _tone(branch: Branch) -> str:
    if branch.outcome is None:
        return ""
    return "good" if branch.outcome.choice and branch.outcome.subgoal else "bad"


def _summary(branches: Sequence[Branch], groups: dict[object, list[int]]) -> str:
    """Return how the base ended, and how many supported branches did something else."""
    alike = next(len(numbers) for numbers in groups.values() if 0 in numbers)
    return f"base: {branch_words(branches[0])}; {len(branches) - alike} of {len(branches) - 1} supported differ"
