"""The operations of a bank's log: what was done to which entry, by which trial, with which numbers.

Each carries the numbers that it used, so that a log explains itself after defaults have changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from .codec import Malformed, plain, read, written
from .experience import Draft, Source


@dataclass(frozen=True, slots=True)
class Settings:
    """Numbers of a bank. The paper names the mechanisms and leaves the numbers open.

    Votes are as in G-Memory's public code, which starts at 2, adds 1 and takes 2 after a failure; the two thresholds
    are those of MemRL's public code, there over embeddings and here over structure. `strength` and `threshold` are
    ours: an entry that is never reused lasts for 219 trials. In the paper 24 % of the entries of 500 trials go.
    """

    first: float = 2.0
    """Score of a new entry."""
    up: float = 1.0
    """What a vote for an entry adds."""
    down: float = 1.0
    """What a vote against an entry takes."""
    failed: float = 2.0
    """What it takes when the trial followed the entry and failed."""
    duplicate: float = 0.90
    """Likeness from which a new lesson only votes for the entry that already says it, its numbers included."""
    merge: float = 0.85
    """Likeness from which a new lesson is merged into an entry."""
    strength: float = 200.0
    """Trials after which an entry that was never reused retains exp(-1)."""
    threshold: float = 1.0
    """Retained strength below which an entry is forgotten: the zero of the score."""

    def __post_init__(self) -> None:
        if min(self.first, self.up, self.down, self.failed) < 0:
            raise ValueError("Scores and votes of a bank are at least 0.")
        if not 0 < self.merge <= self.duplicate <= 1:
            raise ValueError(f"The thresholds are {self.merge} and {self.duplicate}; 0 < merge <= duplicate <= 1.")
        if self.strength <= 0 or self.threshold <= 0:
            raise ValueError("Strength in trials and threshold are above 0.")


@dataclass(frozen=True, slots=True)
class Open:
    """A bank begins, or goes on with other settings."""

    settings: Settings
    rules: int = 1
    """Version of what the operations mean."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished trial is about to teach; all operations with its `run` belong to it."""

    number: int
    run: str
    success: bool
    source: Source


@dataclass(frozen=True, slots=True)
class Add:
    """A new entry."""

    entry: str
    lesson: Draft
    score: float
    trial: int
    source: Source
    run: str = ""
    asked: str = ""
    """What was proposed instead, where the bank decided otherwise, and why."""


@dataclass(frozen=True, slots=True)
class Update:
    """Evidence is merged into an entry as it stands when the operation is carried out; it is a vote as well."""

    entry: str
    evidence: Draft
    amount: float
    trial: int
    source: Source
    run: str = ""
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Upvote:
    """A trial speaks for an entry; `followed` if it followed the advice and succeeded."""

    entry: str
    amount: float
    trial: int
    source: Source
    run: str = ""
    followed: bool = False
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Downvote:
    """A trial speaks against an entry; `followed` if it followed the advice and failed."""

    entry: str
    amount: float
    trial: int
    source: Source
    run: str = ""
    followed: bool = False
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """Two entries become one: `other` goes into `entry`, both as they stand when it is carried out."""

    entry: str
    other: str
    sentence: str
    """What the one entry says from then on."""
    trial: int
    run: str = ""


@dataclass(frozen=True, slots=True)
class Decay:
    """Time passes, counted in trials, for all entries that no successful trial has reused since."""

    trial: int
    strength: float
    threshold: float
    run: str = ""


@dataclass(frozen=True, slots=True)
class Forget:
    """Somebody takes an entry out of use."""

    entry: str
    reason: str


@dataclass(frozen=True, slots=True)
class Undo:
    """An earlier operation never happened. Undoing an `Undo` brings it back."""

    target: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Something that could not be used is kept as it came."""

    raw: str
    reason: str
    run: str = ""
    entry: str = ""


Operation = Open | Trial | Add | Update | Upvote | Downvote | Merge | Decay | Forget | Undo | Quarantine
OPERATIONS: dict[str, type[Operation]] = {
    each.__name__: each for each in (Open, Trial, Add, Update, Upvote, Downvote, Merge, Decay, Forget, Undo, Quarantine)
}


@dataclass(frozen=True, slots=True)
class Logged:
    """An operation with its number in the log, from 1."""

    number: int
    operation: Operation

    @property
    def name(self) -> str:
        """Return the operation's name."""
        return type(self.operation).__name__


def entry_of(operation: Operation) -> str:
    """Return the entry that an operation is about, or nothing."""
    match operation:
        case Add() | Update() | Upvote() | Downvote() | Merge() | Forget() | Quarantine():
            return operation.entry
        case _:
            return ""


def run_of(operation: Operation) -> str:
    """Return the trial that an operation belongs to, or nothing."""
    match operation:
        case Open() | Forget() | Undo():
            return ""
        case _:
            return operation.run


def body(operation: Operation) -> str:
    """Return an operation as a line of JSON, without its name."""
    return written(operation)


def parse(name: str, text: str) -> Operation:
    """Return the operation of a log's line; raises `Malformed`."""
    if name not in OPERATIONS:
        raise Malformed(f"The operation {name!r} is unknown; {', '.join(OPERATIONS)} would have worked.")
    return read(OPERATIONS[name], json.loads(text))


def line(logged: Logged) -> dict[str, object]:
    """Return a logged operation as one JSON object, for export."""
    return {"seq": logged.number, "operation": logged.name, **plain(logged.operation)}
