"""Summarise one judged episode: choice, execution and completion, each with its own counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from labference.wire import Operation

from .events import Chosen, Closed, Completed, Event, Grasped, Noted, Opened, Revised, Settled, Stopped, Violated

CATEGORIES = (
    "premature_advancement",
    "needless_repetition",
    "early_termination",
    "recovery",
    "operation_failure",
    "late_choice",
    "unbound_report",
)


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

    decisions   one per opportunity, in order
    attempts    grasps made; `confirmed` those that ended with the selected operation physically achieved
    physical    the terminal predicate held for the registered duration
    valid       physical completion without an irreversible violation
    clean       valid, every eligible opportunity answered correctly, no failure, no premature or needless step
    recovered   valid, after a documented error or failure that was put right
    coverage    identified choices over eligible opportunities, as a pair of counts
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
    flaws = {"premature_advancement", "needless_repetition", "operation_failure", "late_choice", "early_termination"}
    flawless = not violations and not any(categories[name] for name in flaws)
    wrong = any(decision.correct is False for decision in identified)
    valid = completed is not None and not violations
    attempted, confirmed = _execution(history, decisions)
    return Verdict(
        decisions=decisions,
        attempts=sum(isinstance(event, Grasped) for event in history),
        correct_attempts=attempted,
        correct_confirmed=confirmed,
        physical=completed is not None,
        completed=completed,
        valid=valid,
        clean=valid and flawless and not wrong and len(identified) == len(eligible),
        recovered=valid and categories["recovery"] > 0,
        coverage=(len(identified), len(eligible)),
        violations=violations,
        categories={name: categories[name] for name in CATEGORIES},
        stopped=stopped,
    )


def _decisions(history: tuple[Event, ...]) -> tuple[Decision, ...]:
    return tuple(_decision(event, history) for event in history if isinstance(event, Opened))


def _decision(opened: Opened, history: tuple[Event, ...]) -> Decision:
    mine = [
        event
        for event in history
        if isinstance(event, Chosen | Revised | Closed) and event.opportunity == opened.opportunity
    ]
    chosen = next((e for e in mine if isinstance(e, Chosen) and e.track == "behaviour"), None)
    report = next((e for e in mine if isinstance(e, Chosen) and e.track == "report"), None)
    closed = next((e for e in mine if isinstance(e, Closed)), None)
    return Decision(
        opportunity=opened.opportunity,
        observation=opened.observation,
        opened=opened.tick,
        legal=opened.legal,
        physical=opened.physical,
        choice=chosen.operation if chosen else None,
        chosen=chosen.tick if chosen else None,
        correct=chosen.correct if chosen else None,
        report=report.operation if report else None,
        reported=report.tick if report else None,
        report_correct=report.correct if report else None,
        revisions=tuple((e.tick, e.track, e.operation) for e in mine if isinstance(e, Revised)),
        closed=closed.tick if closed else None,
        because=closed.because if closed else None,
    )


def _execution(history: tuple[Event, ...], decisions: tuple[Decision, ...]) -> tuple[int, int]:
    """Count correct first choices and those whose own attempt was confirmed: execution given the right choice."""
    correct = [decision for decision in decisions if decision.physical and decision.correct]
    confirmed = 0
    for decision in correct:
        assert decision.choice is not None  # correct implies chosen
        confirmed += _outcome(history, decision.choice, decision.chosen) == decision.choice.place
    return len(correct), confirmed


def _outcome(history: tuple[Event, ...], operation: Operation, tick: int | None) -> str | None:
    """Return where the attempt that began at `tick` left its item."""
    attempt = next(
        (e.attempt for e in history if isinstance(e, Grasped) and e.tick == tick and e.item == operation.item), None
    )
    return next((e.place for e in history if isinstance(e, Settled) and e.attempt == attempt), None)
