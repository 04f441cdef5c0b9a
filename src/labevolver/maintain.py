"""M ← Maintain(M, e, o), o ∈ {Add, Update, Upvote, Downvote} (paper, section 3.2): a total function.

Whatever is proposed, what follows is a list of operations on the entries as they are now: never an exception, never a
silent drop. A proposal that the bank cannot follow becomes the nearest one that it can, and says so in `asked`, or it
is quarantined.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from .codec import Malformed, plain, read, written
from .compare import alike, same_numbers
from .experience import Advice, Draft, Experience, Source
from .fold import Entries, carry_out, living
from .operations import Add, Decay, Downvote, Logged, Merge, Operation, Quarantine, Settings, Update, Upvote


@dataclass(frozen=True, slots=True)
class Finished:
    """A trial that has ended; `run` is its identity, and a bank learns from it once."""

    run: str
    success: bool
    source: Source = field(default_factory=Source)
    """The task instance and the versions; the run itself is added."""

    def __post_init__(self) -> None:
        if not self.run:
            raise ValueError("A finished trial needs a run id; anything that is its own would have worked.")

    @property
    def whole_source(self) -> Source:
        """Return the source of what this trial teaches."""
        return Source((self.run,)) | self.source


@dataclass(frozen=True, slots=True)
class Teach:
    """Add a lesson; the bank compares it with what it has."""

    lesson: Draft


@dataclass(frozen=True, slots=True)
class Revise:
    """Update an entry with a lesson."""

    entry: str
    lesson: Draft


@dataclass(frozen=True, slots=True)
class Support:
    """Upvote an entry; `followed` if the trial used it."""

    entry: str
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """Downvote an entry; `followed` if the trial used it."""

    entry: str
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Unite:
    """Merge an entry into another that says the same, so that it is said once."""

    entry: str
    """The one that stays."""
    other: str
    sentence: str
    """What it says from then on."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What a mind said that is not a proposal, as it came."""

    raw: str
    reason: str


Proposal = Teach | Revise | Support | Doubt | Unite | Unreadable


@dataclass(frozen=True, slots=True)
class Desk:
    """What a proposal is decided on: the entries now, the trial and its number, and the bank's numbers."""

    entries: Entries
    trial: Finished
    number: int
    settings: Settings
    taken: Callable[[str], bool]
    """Whether an id was ever used."""


def maintain(desk: Desk, proposals: Iterable[object]) -> list[Operation]:
    """Return the operations that carry out proposals, votes first and merges last, and then let one trial pass.

    `desk.entries` becomes what the operations make of it.
    """
    asked = sorted(proposals, key=lambda each: 0 if isinstance(each, (Support, Doubt)) else 1 + isinstance(each, Unite))
    made: list[Operation] = []
    fresh: set[str] = set()
    for proposal in asked:
        for operation in decide(desk, proposal, fresh):
            made.append(operation)
            carry_out(desk.entries, Logged(0, operation))
            if isinstance(operation, Add):
                fresh.add(operation.entry)
    passing = Decay(desk.number, desk.settings.strength, desk.settings.threshold, desk.trial.run)
    carry_out(desk.entries, Logged(0, passing))
    return [*made, passing]


def decide(desk: Desk, proposal: object, fresh: Iterable[str] = ()) -> list[Operation]:
    """Return what becomes of one proposal; nothing where the trial's vote on that entry is already counted."""
    try:
        match proposal:
            case Teach(lesson=lesson):
                return [_teach(desk, _sound(lesson), "")]
            case Revise(entry=str(entry), lesson=lesson):
                return [_revise(desk, entry, _sound(lesson))]
            case Support(entry=str()) | Doubt(entry=str()):
                return _vote(desk, proposal, fresh)
            case Unite(entry=str(), other=str(), sentence=str()):
                return [_unite(desk, proposal)]
            case Unreadable(raw=str(raw), reason=str(reason)):
                return [Quarantine(raw, reason, desk.trial.run)]
            case _:
                raise Malformed(f"This {type(proposal).__name__} is no proposal.")
    except Malformed as error:
        return [Quarantine(repr(proposal), str(error), desk.trial.run)]


def nearest(entries: Iterable[Experience], lesson: Draft) -> tuple[Experience, float] | None:
    """Return the entry in use that is most like a lesson, the first by id among equals, and how like it is."""
    scored = [(entry, alike(entry.lesson, lesson)) for entry in living(entries)]
    return max(scored, key=lambda pair: pair[1], default=None)


def fingerprint(lesson: Draft) -> str:
    """Return the first ten hexadecimal digits of a lesson's SHA-256."""
    return hashlib.sha256(written(lesson).encode()).hexdigest()[:10]


def _teach(desk: Desk, lesson: Draft, asked: str) -> Operation:
    source, run = desk.trial.whole_source, desk.trial.run
    found = nearest(desk.entries.values(), lesson)
    if found is None or found[1] < desk.settings.merge:
        name = _new_id(lesson, desk.taken, desk.entries)
        return Add(name, lesson, desk.settings.first, desk.number, source, run, asked)
    entry, likeness = found
    said = asked or f"Add; {entry.id} is {likeness:.2f} like it"
    amount = 0.0 if run in entry.source.runs else desk.settings.up
    if likeness < desk.settings.duplicate or not same_numbers(entry.lesson, lesson):
        return Update(entry.id, lesson, amount, desk.number, source, run, said)
    return Upvote(entry.id, amount, desk.number, source, run, False, said)


def _sound(lesson: object) -> Draft:
    """Return a lesson as a log would give it back, terms by field; raises `Malformed` for one that no log can hold."""
    if not isinstance(lesson, Draft):
        raise Malformed(f"A {type(lesson).__name__} is no lesson.")
    try:
        held = read(Draft, json.loads(written(lesson)))
    except (TypeError, ValueError) as error:
        raise Malformed(f"No log can hold the lesson: {error}") from error
    return replace(held, when=tuple(sorted(held.when, key=lambda term: term.field)))


def _revise(desk: Desk, name: str, lesson: Draft) -> Operation:
    entry = desk.entries.get(name)
    if entry is None or entry.ended:
        state = "unknown" if entry is None else "no longer in use"
        return _teach(desk, lesson, f"Update of {name!r}, which is {state}")
    likeness = alike(entry.lesson, lesson)
    if likeness < desk.settings.merge:
        return _teach(desk, lesson, f"Update of {entry.id}, which is only {likeness:.2f} like it")
    amount = 0.0 if desk.trial.run in entry.source.runs else desk.settings.up
    return Update(entry.id, lesson, amount, desk.number, desk.trial.whole_source, desk.trial.run)


def _unite(desk: Desk, asked: Unite) -> Operation:
    run, told = desk.trial.run, f"Unite {written(plain(asked))}"
    for name in (asked.entry, asked.other):
        if (entry := desk.entries.get(name)) is None or entry.ended:
            state = "unknown" if entry is None else "no longer in use"
            return Quarantine(told, f"The merge names {name!r}, which is {state}.", run, name)
    one, other = desk.entries[asked.entry], desk.entries[asked.other]
    if one.id == other.id or _words(one.lesson) != _words(other.lesson):
        reason = (
            f"{one.id} and {other.id} do not advise the same; two of one kind with the same words would have worked."
        )
        return Quarantine(told, reason, run, one.id)
    try:
        Advice(asked.sentence, one.lesson.advice.parameters)
    except ValueError as error:
        raise Malformed(str(error)) from error
    return Merge(one.id, other.id, asked.sentence, desk.number, run)


def _words(lesson: Draft) -> tuple[object, ...]:
    """Return what two entries must share to be one: the kind, the units, and every parameter that is a word."""
    parameters = {
        each.name: (each.unit, each.value if isinstance(each.value, str) else None) for each in lesson.advice.parameters
    }
    return lesson.kind, parameters


def _vote(desk: Desk, vote: Support | Doubt, fresh: Iterable[str]) -> list[Operation]:
    run, settings = desk.trial.run, desk.settings
    entry = desk.entries.get(vote.entry)
    if entry is None or entry.ended:
        state = "unknown" if entry is None else "no longer in use"
        return [Quarantine(_told(vote), f"The vote is on {vote.entry!r}, which is {state}.", run, vote.entry)]
    if run in entry.voters or vote.entry in fresh:
        return []
    source = desk.trial.whole_source
    if isinstance(vote, Support):
        won = vote.followed and desk.trial.success
        said = "Upvote as followed, of a trial that failed" if vote.followed and not won else ""
        return [Upvote(entry.id, settings.up, desk.number, source, run, won, said)]
    lost = vote.followed and not desk.trial.success
    said = "Downvote as followed, of a trial that succeeded" if vote.followed and not lost else ""
    return [Downvote(entry.id, settings.failed if lost else settings.down, desk.number, source, run, lost, said)]


def _new_id(lesson: Draft, taken: Callable[[str], bool], entries: Entries) -> str:
    """Return kind, fingerprint, and the first number that this fingerprint never had."""
    stem, number = f"{lesson.kind}-{fingerprint(lesson)}", 1
    while taken(f"{stem}-{number}") or f"{stem}-{number}" in entries:
        number += 1
    return f"{stem}-{number}"


def _told(vote: Support | Doubt) -> str:
    return f"{type(vote).__name__} {written(plain(vote))}"
