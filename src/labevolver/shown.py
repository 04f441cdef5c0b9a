"""A bank in words: tables and lines for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from .bank import Bank
from .experience import Experience, Term
from .fold import Entries, carry_out
from .forget import lifetime
from .operations import (
    Add,
    Decay,
    Downvote,
    Forget,
    Logged,
    Merge,
    Open,
    Operation,
    Quarantine,
    Settings,
    Trial,
    Undo,
    Update,
    Upvote,
    entry_of,
)

EVERY_STATE = "in every state"


def entries_table(entries: Sequence[Experience]) -> Table:
    """Return the entries with condition, advice and record, the highest score first."""
    table = Table(box=box.SIMPLE_HEAD, caption="Record: followed, of these with success. Ended entries show why.")
    table.add_column("Entry", style="bold", no_wrap=True)
    table.add_column("When")
    table.add_column("Advice")
    table.add_column("Score", justify="right")
    table.add_column("Record", justify="right", no_wrap=True)
    for entry in sorted(entries, key=lambda each: (bool(each.ended), -each.score, each.id)):
        advice = f"{entry.lesson.advice.told}{f' [ended: {entry.ended}]' if entry.ended else ''}"
        record = f"{entry.uses}, {entry.successes}"
        when = printable(_when(entry.lesson.when))
        table.add_row(Text(entry.id), Text(when), Text(printable(advice)), f"{entry.score:.2f}", record)
    return table


def summary(bank: Bank) -> str:
    """Return how much a bank holds."""
    every = bank.entries(ended=True)
    used = sum(not entry.ended for entry in every)
    bad = len(bank.quarantined())
    entries, trials = _several(used, "entry", "entries"), _several(bank.trials, "trial", "trials")
    return f"{entries} in use, {len(every) - used} ended, {bad} quarantined, from {trials}."


def printable(text: str) -> str:
    """Return a text without what a terminal would obey: control characters as their escapes, line ends too."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def entry_lines(entry: Experience, settings: Settings) -> list[str]:
    """Return everything about an entry, a line each."""
    left = lifetime(entry.score, entry.successes, settings.strength, settings.threshold) if entry.score >= 0 else 0.0
    ended = [f"ended     {entry.ended}"] if entry.ended else [f"forgotten after {left:.0f} more trials without reuse"]
    return [
        f"{entry.id}, version {entry.version}",
        f"when      {_when(entry.lesson.when)}",
        f"advice    {entry.lesson.advice.told}",
        *(f"parameter {parameter}" for parameter in entry.lesson.advice.parameters),
        f"score     {entry.score:.3f}",
        f"record    followed {_several(entry.uses, 'time', 'times')}, {entry.successes} of them with success",
        f"born      trial {entry.born}",
        f"reused    {f'trial {entry.reused}' if entry.reused else 'never in a success'}",
        f"runs      {', '.join(entry.source.runs) or 'none'}",
        f"instances {', '.join(entry.source.instances) or 'none'}",
        f"versions  {', '.join(entry.source.versions) or 'none'}",
        *ended,
    ]


def why_lines(name: str, log: Sequence[Logged], undone: set[int]) -> list[str]:
    """Return an entry's history: every operation that concerns it, in order, with its score after each."""
    entries: Entries = {}
    lines = []
    for logged in log:
        struck = logged.number in undone
        before = entries.get(name)
        if not struck:
            carry_out(entries, logged)
        after = entries.get(name)
        told = _told(logged.operation, name)
        if isinstance(logged.operation, Decay):
            told = told if before is not None and after != before else ""
        elif isinstance(logged.operation, Undo):
            told = told if any(each.number == logged.operation.target and _concerns(each, name) for each in log) else ""
        if told:
            score = f" → score {after.score:.3f}" if after is not None and not struck else ""
            lines.append(f"#{logged.number} {logged.name}: {told}{score}{' (undone)' if struck else ''}")
            if after is not None and after.ended and (before is None or not before.ended):
                lines.append(f"   ended: {after.ended}")
    return lines


def histories(log: Sequence[Logged], undone: set[int]) -> dict[str, list[str]]:
    """Return the history of every entry as `why_lines` tells it, without the trials in which it only faded."""
    entries: Entries = {}
    lines: dict[str, list[str]] = {}
    about = {logged.number: entry_of(logged.operation) for logged in log}
    ended: set[str] = set()
    for logged in log:
        struck = logged.number in undone
        changed = set() if struck else carry_out(entries, logged)
        undoes = logged.operation.target if isinstance(logged.operation, Undo) else logged.number
        name = about.get(undoes, "")
        if name and (told := _told(logged.operation, name)):
            after = entries.get(name)
            score = f" → score {after.score:.3f}" if after is not None and not struck else ""
            lines.setdefault(name, []).append(
                f"#{logged.number} {logged.name}: {told}{score}{' (undone)' if struck else ''}"
            )
        gone = sorted(each for each in changed - ended if entries[each].ended)
        for each in gone:
            lines.setdefault(each, []).append(f"   ended: {entries[each].ended}")
        ended.update(gone)
    return lines


def quarantine_lines(quarantined: Sequence[Logged]) -> list[str]:
    """Return what is in quarantine: number, trial, reason and the text as it came."""
    lines = []
    for logged in quarantined:
        assert isinstance(logged.operation, Quarantine)
        by = f" of {logged.operation.run}" if logged.operation.run else ""
        lines += [f"#{logged.number}{by}: {logged.operation.reason}", f"   {logged.operation.raw}"]
    return lines or ["Nothing is in quarantine."]


def _concerns(logged: Logged, name: str) -> bool:
    return (
        isinstance(logged.operation, (Add, Update, Upvote, Downvote, Merge, Forget)) and logged.operation.entry == name
    )


def _told(operation: Operation, name: str) -> str:
    """Return what an operation says of one entry; nothing if it is about another."""
    match operation:
        case Decay():
            numbers = f"strength {operation.strength:g} trials, threshold {operation.threshold:g}"
            return f"trial {operation.trial} passed without reuse ({numbers})"
        case Undo():
            return f"#{operation.target} never happened{_because(operation.reason)}"
        case Open() | Trial():
            return ""
        case Add() | Update() | Upvote() | Downvote() | Merge() | Forget() | Quarantine() if operation.entry != name:
            return ""
        case Add():
            return f"{_by(operation)} says: {operation.lesson.advice.told}{_instead(operation.asked)}"
        case Update():
            return f"{_by(operation)} says: {operation.evidence.advice.told}{_instead(operation.asked)}"
        case Upvote():
            how = "followed it with success" if operation.followed else "speaks for it"
            return f"{_by(operation)} {how}, +{operation.amount:g}{_instead(operation.asked)}"
        case Downvote():
            how = "followed it and failed" if operation.followed else "speaks against it"
            return f"{_by(operation)} {how}, -{operation.amount:g}{_instead(operation.asked)}"
        case Merge():
            return f"{_by(operation)} showed that {operation.other} says the same; both are one: {operation.sentence}"
        case Forget() | Quarantine():
            return operation.reason


def _by(operation: Add | Update | Upvote | Downvote | Merge) -> str:
    return f"trial {operation.trial} ({operation.run})"


def _instead(asked: str) -> str:
    return f" [asked: {asked}]" if asked else ""


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _several(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _when(terms: Sequence[Term]) -> str:
    return ", ".join(map(str, terms)) or EVERY_STATE
