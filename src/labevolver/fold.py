"""What a log amounts to: the entries, as a fold over its operations.

Total: an operation that finds no entry has no effect. Undone operations are skipped, so that everything after them is
as if they had never been.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .experience import PLACE, Advice, Draft, Experience, Parameter, hull
from .forget import decayed
from .operations import Add, Decay, Downvote, Forget, Logged, Merge, Undo, Update, Upvote

Entries = dict[str, Experience]
BELOW_ZERO = "its score fell below zero"


def fold(log: Sequence[Logged]) -> Entries:
    """Return the entries after a whole log, ended ones too."""
    skipped = undone(log)
    entries: Entries = {}
    for logged in log:
        if logged.number not in skipped:
            carry_out(entries, logged)
    return entries


def undone(log: Sequence[Logged]) -> set[int]:
    """Return the numbers of the operations that stand undone; an `Undo` may itself be among them."""
    skipped: set[int] = set()
    for logged in reversed(log):
        if isinstance(logged.operation, Undo) and logged.number not in skipped:
            skipped.add(logged.operation.target)
    return skipped


def carry_out(entries: Entries, logged: Logged) -> set[str]:
    """Change `entries` by one operation, `Undo` apart, and return the ids of those that changed."""
    operation = logged.operation
    match operation:
        case Add():
            return _put(entries, _born(operation)) if operation.entry not in entries else set()
        case Decay():
            ids = [entry.id for entry in entries.values() if not entry.ended]
            return {each for name in ids for each in _put(entries, _aged(entries[name], operation), logged)}
        case Merge():
            return _merge(entries, operation, logged.number)
        case Update() | Upvote() | Downvote() | Forget():
            entry = entries.get(operation.entry)
            if entry is None or entry.ended:
                return set()
            return _put(entries, _changed(entry, operation), logged)
        case _:
            return set()


def merged(entry: Experience, evidence: Draft, weight: int) -> Draft:
    """Return an entry's lesson with evidence of `weight` trials: the hull of the conditions, parameters averaged.

    A word, and the sentence, are the newer ones. A parameter that only one has is kept.
    """
    held = entry.lesson
    new = {each.name: each for each in evidence.advice.parameters}
    share = weight / (weight + max(1, len(entry.source.runs)))
    mixed = [_mixed(each, new.pop(each.name, each), share) for each in held.advice.parameters]
    advice = Advice(evidence.advice.sentence, (*mixed, *new.values()))
    return Draft(held.kind, hull(held.when, evidence.when), advice)


def _merge(entries: Entries, operation: Merge, number: int) -> set[str]:
    """Put one entry in the place of two; nothing where either is not in use."""
    one, other = entries.get(operation.entry), entries.get(operation.other)
    if one is None or other is None or one.id == other.id or one.ended or other.ended:
        return set()
    gone = replace(other, ended=f"it was merged into {one.id} at #{number} (Merge)")
    return _put(entries, _united(one, other, operation.sentence)) | _put(entries, gone)


def _united(one: Experience, other: Experience, sentence: str) -> Experience:
    """Return what two entries amount to: conditions and numbers as in an update, votes and records together."""
    lesson = merged(one, other.lesson, max(1, len(other.source.runs)))
    named = {each.name for each in lesson.advice.parameters}
    told = sentence if named.issuperset(PLACE.findall(sentence)) else one.lesson.advice.sentence
    return replace(
        one,
        version=one.version + 1,
        lesson=replace(lesson, advice=Advice(told, lesson.advice.parameters)),
        score=max(one.score, other.score),
        uses=one.uses + other.uses,
        successes=one.successes + other.successes,
        source=one.source | other.source,
        voters=tuple(dict.fromkeys((*one.voters, *other.voters))),
        born=min(one.born, other.born),
        reused=max(one.reused, other.reused),
        settled=max(one.settled, other.settled),
    )


def _mixed(old: Parameter, new: Parameter, share: float) -> Parameter:
    if isinstance(old.value, str) or isinstance(new.value, str) or old.unit != new.unit:
        return new
    return replace(old, value=old.value + share * (new.value - old.value))


def _born(operation: Add) -> Experience:
    return Experience(
        operation.entry,
        1,
        operation.lesson,
        operation.score,
        source=operation.source,
        born=operation.trial,
        settled=operation.trial,
    )


def _aged(entry: Experience, operation: Decay) -> Experience:
    score = decayed(entry, operation.trial, operation.strength, operation.threshold)
    return replace(entry, score=score, settled=max(entry.settled, operation.trial))


def _changed(entry: Experience, operation: Update | Upvote | Downvote | Forget) -> Experience:
    match operation:
        case Forget():
            return replace(entry, ended=operation.reason or "it was taken out")
        case Update():
            lesson = merged(entry, operation.evidence, max(1, len(operation.source.runs)))
            amount = 0.0 if operation.run in entry.voters else operation.amount
            return replace(_voted(entry, operation, amount), lesson=lesson, version=entry.version + 1)
        case _ if operation.run and operation.run in entry.voters:
            return entry
        case Upvote():
            won = int(operation.followed)
            reused = max(entry.reused, operation.trial) if operation.followed else entry.reused
            return replace(_voted(entry, operation, operation.amount), successes=entry.successes + won, reused=reused)
        case Downvote():
            return _voted(entry, operation, -operation.amount)


def _voted(entry: Experience, vote: Update | Upvote | Downvote, amount: float) -> Experience:
    followed = not isinstance(vote, Update) and vote.followed
    new = vote.run and vote.run not in entry.voters
    return replace(
        entry,
        score=entry.score + amount,
        uses=entry.uses + followed,
        source=entry.source | vote.source,
        voters=(*entry.voters, vote.run) if new else entry.voters,
    )


def _put(entries: Entries, entry: Experience, logged: Logged | None = None) -> set[str]:
    """Store an entry, ended if its score is below zero, and return its id if it differs from what was there."""
    if entry.score < 0 and not entry.ended:
        by = f" at #{logged.number} ({logged.name})" if logged else ""
        entry = replace(entry, ended=BELOW_ZERO + by)
    if entries.get(entry.id) == entry:
        return set()
    entries[entry.id] = entry
    return {entry.id}


def living(entries: Iterable[Experience]) -> list[Experience]:
    """Return the entries in use, by id."""
    return sorted((entry for entry in entries if not entry.ended), key=lambda entry: entry.id)
