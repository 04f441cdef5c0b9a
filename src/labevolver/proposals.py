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

FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
NAMES = ("operations", "proposals")
"""Fields under which models put the list, if they put it under one."""


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
    """Return the proposals of a text, fenced or not, amid prose or not; each that is none comes as `Unreadable`."""
    data = _found(text)
    if isinstance(data, dict):
        data = next((data[name] for name in NAMES if name in data), [data])
    if not isinstance(data, list):
        return [Unreadable(text, "It holds no list of operations.")]
    return [_item(item, followed) for item in data]


def _item(item: object, followed: Iterable[str]) -> Proposal:
    try:
        return proposal(read(Said, item, "The operation"), followed)
    except Malformed as error:
        return Unreadable(json.dumps(item, ensure_ascii=False), str(error))


def _found(text: str) -> object:
    """Return the first JSON list or object in a text, or None; prose before it may hold brackets of its own."""
    for candidate in (*FENCE.findall(text), text):
        for start in (at for at, character in enumerate(candidate) if character in "[{"):
            try:
                value, _ = json.JSONDecoder().raw_decode(candidate, start)
            except (ValueError, RecursionError):
                continue
            if value:
                return value
    return None
