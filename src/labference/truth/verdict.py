"""Summarise one judged episode: choice, execution and completion, each with its own counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from labference.wire import Operation

from .events import (
    Chosen,
    Closed,
    Completed,
    Confirmed,
    Deviated,
    Event,
    Grasped,
    Noted,
    Opened,
    Revealed,
    Revised,
    Stopped,
    Violated,
)

CATEGORIES = (
    "premature_advancement",
    "needless_repetition",
    "early_termination",
    "recovery",
    "operation_failure",
    "late_choice",
    "late_report",
    "unbound_report",
)
FLAWS = (
    "premature_advancement",
    "needless_repetition",
    "early_termination",
    "recovery",
    "operation_failure",
    "late_choice",
)
"""Categories without which a completion is clean; reports are a track of their own."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One opportunity with what was chosen at it. Times are ticks; `choice` is None where none was identifiable."""

    opportunity: int
    observation: int
    opened: int
    legal: tuple[Operation, ...]
    physical: bool
    choice: Operation | None = None
    chosen: int | None = None
    correct: bool | None = None
    report: Operation | None = None
    reported: int | None = None
    report_correct: bool | None = None
    revisions: tuple[tuple[int, str, Operation], ...] = ()
    closed: int | None = None
    because: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The three levels of results.

    decisions          one per opportunity, in order
    attempts           grasps made
    correct_attempts   correct first choices; `correct_confirmed` those whose own attempt was physically confirmed
    revealed           ticks at which the environment showed the scene again
    deviations         attempts that ended elsewhere: tick, item, intended place, and where it came to rest
    physical           the terminal predicate held for the registered duration, at tick `completed`
    valid              physical completion without an irreversible violation
    clean              valid, every eligible opportunity answered correctly and at once, nothing failed or recovered
    recovered          valid, after a documented error or failure that was put right
    coverage           identified choices over eligible opportunities, as a pair of counts
    stopped            tick at which the system declared the task finished
    """

    decisions: tuple[Decision, ...]
    attempts: int
    correct_attempts: int
    correct_confirmed: int
    physical: bool
    completed: int | None
    valid: bool
    clean: bool
    recovered: bool
    coverage: tuple[int, int]
    violations: tuple[str, ...]
    categories: dict[str, int]
    stopped: int | None
    deviations: tuple[tuple[int, str, str, str], ...]
    revealed: tuple[int, ...]


def judge(history: Iterable[Event]) -> Verdict:
    """Return the verdict over a complete event history."""
    history = tuple(history)
    decisions = _decisions(history)
    categories = Counter(event.category for event in history if isinstance(event, Noted))
    violations = tuple(event.rule for event in history if isinstance(event, Violated))
    completed = next((event.tick for event in history if isinstance(event, Completed)), None)
    stopped = next((event.tick for event in history if isinstance(event, Stopped)), None)
    eligible = [decision for decision in decisions if decision.physical]
    identified = [decision for decision in eligible if decision.choice is not None]
    flawless = not violations and not any(categories[name] for name in FLAWS)
    wrong = any(decision.correct is False for decision in decisions)
    revised = any(track == "behaviour" for decision in decisions for _, track, _ in decision.revisions)
    valid = completed is not None and not violations
    attempted, confirmed = _execution(history, decisions)
    return Verdict(
        decisions=decisions,
        attempts=sum(isinstance(event, Grasped) and event.tick >= 0 for event in history),
        correct_attempts=attempted,
        correct_confirmed=confirmed,
        physical=completed is not None,
        completed=completed,
        valid=valid,
        clean=valid and flawless and not wrong and not revised and len(identified) == len(eligible),
        recovered=valid and categories["recovery"] > 0,
        coverage=(len(identified), len(eligible)),
        violations=violations,
        categories={name: categories[name] for name in CATEGORIES},
        stopped=stopped,
        deviations=tuple(
            (event.tick, event.item, event.intended, event.place) for event in history if isinstance(event, Deviated)
        ),
        revealed=tuple(event.tick for event in history if isinstance(event, Revealed)),
    )


def _decisions(history: tuple[Event, ...]) -> tuple[Decision, ...]:
    """Gather what happened to each opportunity, in one pass."""
    found: dict[int, Decision] = {}
    revisions: dict[int, list[tuple[int, str, Operation]]] = {}
    for event in history:
        match event:
            case Opened():
                found[event.opportunity] = Decision(
                    event.opportunity, event.observation, event.tick, event.legal, event.physical
                )
                revisions[event.opportunity] = []
            case Chosen():
                found[event.opportunity] = _answered(found[event.opportunity], event)
            case Revised():
                revisions[event.opportunity].append((event.tick, event.track, event.operation))
            case Closed():
                closed = replace(found[event.opportunity], closed=event.tick, because=event.because)
                found[event.opportunity] = closed
            case _:
                pass
    return tuple(replace(decision, revisions=tuple(revisions[number])) for number, decision in found.items())


def _answered(decision: Decision, event: Chosen) -> Decision:
    if event.track == "report":
        return replace(decision, report=event.operation, reported=event.tick, report_correct=event.correct)
    return replace(decision, choice=event.operation, chosen=event.tick, correct=event.correct)


def _execution(history: tuple[Event, ...], decisions: tuple[Decision, ...]) -> tuple[int, int]:
    """Count correct first choices and those whose own attempt was confirmed: execution given the right choice."""
    correct = {decision.opportunity for decision in decisions if decision.physical and decision.correct}
    confirmed = {event.opportunity for event in history if isinstance(event, Confirmed)}
    return len(correct), len(correct & confirmed)
