"""The rows of the level table, written once for the terminal and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from labference.score.choice import Reach
from labference.score.rate import Rate
from labference.score.summary import Runtime, Summary

from . import phrases

TIMES = 4
"""How often the same question may have been asked before for a decision to have rows of its own."""
MANY = 10
"""Later decisions of which each still has rows of its own; more are one row each, where they are met first."""


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity, with a cell per system; `meaning` says what is counted over what."""

    label: str
    meaning: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong to one level."""

    name: str
    rows: tuple[Row, ...]


def sections(summaries: Sequence[Summary]) -> tuple[Section, ...]:
    """Return every level of `summaries`, one column per summary; what never occurred in any of them is left out."""
    made = (
        Section("Choice", (*_choice(summaries), *_reports(summaries))),
        *_registered(summaries),
        *_later(summaries),
        Section("Execution", _execution(summaries)),
        Section("Completion", _completion(summaries)),
        Section("Measured", _measured(summaries)),
        Section("Event categories", _categories(summaries)),
        Section("Violations", _counted(summaries, lambda summary: summary.violations, "of scored episodes")),
        Section("How episodes ended", (*_endings(summaries), *_unresolved(summaries))),
        Section("Mean runtime [s]", _runtime(summaries)),
    )
    return tuple(section for section in made if section.rows)


def _row(summaries: Sequence[Summary], label: str, meaning: str, cell: Callable[[Summary], object]) -> Row:
    return Row(label, meaning, tuple(str(cell(summary)) for summary in summaries))


def _choice(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    return (
        _row(summaries, "B_next, first choices", "correct, of first opportunities", lambda s: s.first.correct),
        _row(summaries, "C_id, first choices", "identified, of first opportunities", lambda s: s.first.identified),
        _row(summaries, "accuracy, first choices", "correct, of identified (C_id)", lambda s: s.first.accuracy),
        _row(summaries, "B_next, all choices", "correct, of opportunities reached", lambda s: s.all.correct),
        _row(summaries, "C_id, all choices", "identified, of opportunities", lambda s: s.all.identified),
        _row(summaries, "accuracy, all choices", "correct, of identified (C_id)", lambda s: s.all.accuracy),
    )


def _registered(summaries: Sequence[Summary]) -> Iterator[Section]:
    """Yield the decision that each task is about; the first one is in the rows of first choices."""
    for name in dict.fromkeys(summary.registered.name for summary in summaries if summary.decisive):
        found = [summary.registered if summary.registered.name == name else None for summary in summaries]
        yield Section(f"Registered: {name}", _reached(found))


def _later(summaries: Sequence[Summary]) -> Iterator[Section]:
    """Yield the later decisions; one that opens every episode is in the rows of first choices.

    A decision that no system reached in a task stays empty there: nothing says that the task has it.
    """
    reaches = [entry for summary in summaries for entry in summary.conditions[0].reach]
    opening = {entry.name for entry in reaches if entry.opening} - {e.name for e in reaches if not e.opening}
    later = [entry for entry in reaches if entry.name not in opening and entry.time <= TIMES]
    names = tuple(dict.fromkeys(entry.name for entry in later))
    if len(names) > MANY:
        first = tuple(dict.fromkeys(entry.name for entry in later if entry.time == 1))
        rows = (Row(name, "correct, where first met", _correct(summaries, name)) for name in first)
        yield Section("Decisions", tuple(rows))
        return
    for name in names:
        yield Section(f"Decision: {name}", _reached(_found(summaries, name)))


def _found(summaries: Sequence[Summary], name: str) -> list[Reach | None]:
    """Return a decision for each summary of a task that asks it."""
    asking = {s.task for s in summaries if any(entry.name == name for entry in s.conditions[0].reach)}
    return [s.conditions[0].reached(name) if s.task in asking else None for s in summaries]


def _correct(summaries: Sequence[Summary], name: str) -> tuple[str, ...]:
    return tuple("–" if reach is None else str(reach.correct_of_reached) for reach in _found(summaries, name))


def _reached(found: Sequence[Reach | None]) -> tuple[Row, ...]:
    """Return a decision's rows; identification has one only where a choice was not identified."""
    rows: list[tuple[str, str, Callable[[Reach], Rate]]] = [
        ("reached", "of scored episodes", lambda reach: reach.reached),
        ("identified/reached", "of episodes that reached it", lambda reach: reach.identified),
        ("correct/reached", "of episodes that reached it", lambda reach: reach.correct_of_reached),
        ("correct/run", "of scored episodes", lambda reach: reach.correct_of_run),
    ]
    if not any(reach and reach.identified.count < reach.reached.count for reach in found):
        del rows[1]
    return tuple(
        Row(label, meaning, tuple(str(rate(reach)) if reach else "–" for reach in found))
        for label, meaning, rate in rows
    )


def _reports(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    if not any(summary.reports.correct.population for summary in summaries):
        return ()
    return (
        _row(summaries, "report correct", "of decisions open to reports", lambda s: s.reports.correct),
        _row(summaries, "report stated", "of decisions open to reports", lambda s: s.reports.identified),
        _row(summaries, "report accuracy", "correct, of stated", lambda s: s.reports.accuracy),
        _row(summaries, "waiting reported", "of times to wait", lambda s: s.waits.correct),
        _row(summaries, "report = behaviour", "of decisions with both", lambda s: s.agreement),
    )


def _execution(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    return (_row(summaries, "confirmed", "of correct choices, by their own attempt", lambda s: s.execution),)


def _completion(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    return (
        _row(summaries, "physical", "terminal state held", lambda s: s.physical),
        _row(summaries, "valid", "physical, no violation", phrases.completion),
        _row(summaries, "clean", "valid, all choices right, no failure", lambda s: s.clean),
        _row(summaries, "recovered", "valid, a failure was put right", lambda s: s.recovered),
    )


def _measured(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    rows = []
    for name in dict.fromkeys(name for summary in summaries for name in summary.quantities):
        rows.append(_row(summaries, name, "mean ± 95 % (episodes)", partial(_quantity, name=name)))
        if name.startswith("error "):
            rows.append(_row(summaries, f"{name}, SD", "standard deviation", partial(_spread, name=name)))
    return tuple(rows)


def _spread(summary: Summary, name: str) -> str:
    found = summary.quantities.get(name)
    return "–" if found is None or found.deviation is None else f"{found.deviation:.3f}"


def _quantity(summary: Summary, name: str) -> str:
    return str(summary.quantities.get(name, "–"))


def _categories(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    names = dict.fromkeys(name for s in summaries for name, (times, _) in s.categories.items() if times)
    return tuple(
        _row(summaries, phrases.plain(name), "times, in episodes", partial(_occurrences, name=name)) for name in names
    )


def _occurrences(summary: Summary, name: str) -> str:
    times, episodes = summary.categories.get(name, (0, 0))
    return f"{times} in {episodes}/{summary.scored}"


def _endings(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    rows = _counted(summaries, lambda summary: summary.reasons, "of scored episodes")
    return tuple(Row(phrases.ending(row.label), row.meaning, row.cells) for row in rows)


def _unresolved(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    if not any(summary.unresolved for summary in summaries):
        return ()
    return (_row(summaries, "unresolved", "of planned episodes", lambda s: f"{s.unresolved}/{s.planned}"),)


def _counted(
    summaries: Sequence[Summary], counts: Callable[[Summary], dict[str, int]], meaning: str
) -> tuple[Row, ...]:
    names = dict.fromkeys(name for summary in summaries for name in counts(summary))
    return tuple(
        Row(name, meaning, tuple(f"{counts(summary).get(name, 0)}/{summary.scored}" for summary in summaries))
        for name in names
    )


def _runtime(summaries: Sequence[Summary]) -> tuple[Row, ...]:
    clocks: tuple[tuple[str, str, Callable[[Runtime], float]], ...] = (
        ("simulated", "clock of the laboratory", lambda means: means.simulated),
        ("model", "wall clock, inside the system", lambda means: means.model),
        ("rendering", "wall clock, cameras", lambda means: means.rendering),
        ("physics", "wall clock, simulation", lambda means: means.physics),
        ("whole episode", "wall clock", lambda means: means.wall),
    )
    return tuple(
        Row(
            label,
            meaning,
            tuple(phrases.seconds(clock(s.runtime)) if s.runtime else "unavailable" for s in summaries),
        )
        for label, meaning, clock in clocks
    )
