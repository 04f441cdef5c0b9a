"""Proposals as a language model writes them: a list of operations, each read alone, so that none spoils another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .codec import Malformed, read
from .experience import Draft
from .maintain import Doubt, Proposal, Revise, Support, Teach, Unreadable

START = re.compile(r"[\[{]")
OBJECT = re.compile(r'[\[\s]*\{\s*"')
"""How an object begins, or a list of objects."""
MOST_TRIES = 500
"""Brackets that lead nowhere before a text is given up; prose has a few."""


@dataclass(frozen=True, slots=True)
class Said:
    """One operation as it is written."""

    operation: Literal["add", "update", "upvote", "downvote"]
    entry: str = ""
    """Id of the entry; empty for add."""
    lesson: Draft | None = None
    """What to remember; for add and update."""

    def __post_init__(self) -> None:
        if (self.operation == "add") == bool(self.entry):
            raise ValueError(f"{self.operation!r} has the entry {self.entry!r}; all but add name one.")
        if (self.operation in ("add", "update")) != (self.lesson is not None):
            raise ValueError(
                f"{self.operation!r} has {'no' if self.lesson is None else 'a'} lesson; add and update do."
            )


def proposal(said: Said, followed: Iterable[str]) -> Proposal:
    """Return what an operation proposes; whether an entry was followed is what the trial recorded, not what is said."""
    match said.operation:
        case "upvote":
            return Support(said.entry, said.entry in set(followed))
        case "downvote":
            return Doubt(said.entry, said.entry in set(followed))
        case _:
            assert said.lesson is not None
            return Revise(said.entry, said.lesson) if said.entry else Teach(said.lesson)


def from_text(text: str, followed: Iterable[str] = ()) -> list[Proposal]:
    """Return the proposals of a text, fenced or not, amid prose or not, in one list or line by line.

    What is none comes as `Unreadable`; so does the whole text if it holds none, or something that begins like an
    object and cannot be read. An empty list of operations is an answer: nothing is to be remembered.
    """
    lists, broken = _lists(text)
    if not lists:
        return [Unreadable(text, "It holds no operation.")]
    made = [_item(item, followed) for items in lists for item in items]
    return [*made, Unreadable(text, "Part of it cannot be read.")] if broken else made


def _item(item: object, followed: Iterable[str]) -> Proposal:
    try:
        return proposal(read(Said, item, "The operation"), followed)
    except Malformed as error:
        return Unreadable(json.dumps(item, ensure_ascii=False), str(error))


def _lists(text: str) -> tuple[list[list[object]], bool]:
    """Return the lists of operations that a text holds as JSON, in order, and whether something in it broke off."""
    decoder = json.JSONDecoder()
    lists: list[list[object]] = []
    at, tries, broken = 0, 0, False
    while tries < MOST_TRIES and (begin := START.search(text, at)):
        try:
            value, at = decoder.raw_decode(text, begin.start())
            found = _operations(value)
            lists += [] if found is None else [found]
        except (ValueError, RecursionError):
            tries += 1
            broken = broken or OBJECT.match(text, begin.start()) is not None
            at = begin.start() + 1
    return lists, broken or tries == MOST_TRIES


def _operations(value: object) -> list[object] | None:
    """Return a list of operations, that of an object that holds one, or an object as the only item; None for prose."""
    match value:
        case {"operations": list(items)} | {"proposals": list(items)}:
            return items
        case dict():
            return [value]
        case list() if not value or any(isinstance(each, dict) for each in value):
            return value
        case _:
            return None
