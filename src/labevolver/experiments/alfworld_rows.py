"""What a study leaves: one line of JSON a trial, complete enough to go on after an interruption."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from labevolver.labs.alfworld.advice import Exchange, Trial

Phase: TypeAlias = Literal["train", "valid_unseen"]
"""The stream that is learned from, or the tasks that a memory is frozen for."""


@dataclass(frozen=True, slots=True)
class Row:
    """One trial."""

    phase: Phase
    index: int
    game: str
    task_type: str
    """For tables; no system was told."""
    won: bool
    commands: int
    turns: int
    """Commands and thoughts."""
    size: int
    """Memories after the trial."""
    tokens: int
    """What a model used; of the symbolic mind the advice it was given, at four characters a token."""
    seconds: float
    """Of processor time."""
    opening: str
    exchanges: tuple[Exchange, ...]
    followed: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    asked: tuple[Mapping[str, str], ...] = ()
    fault: str = ""
    """Why a trial ended early through the model's own fault, which counts as a failure."""

    def success(self, limit: int, thoughts_cost: bool) -> bool:
        """Return whether the task was done within `limit` steps under a counting rule."""
        return self.won and (self.turns if thoughts_cost else self.commands) <= limit

    @property
    def trial(self) -> Trial:
        """Return what a memory learns from."""
        run = f"{self.phase}-{self.index:04d}"
        return Trial(
            run,
            self.game,
            self.opening,
            self.exchanges,
            self.won,
            frozenset(self.followed),
            frozenset(self.used),
            self.asked,
        )


def append(path: Path, row: Row) -> None:
    """Write one line, whole or not at all for who reads it."""
    values = asdict(row)
    values["exchanges"] = [[each.command, each.said] for each in row.exchanges]
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(values, ensure_ascii=False) + "\n")


def rows(path: Path) -> list[Row]:
    """Return the trials on record; a last line that was cut off is dropped from the file, so that it is run again."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return [_row(json.loads(line)) for line in whole.splitlines()]


def _row(values: dict[str, Any]) -> Row:
    values["exchanges"] = tuple(Exchange(*each) for each in values["exchanges"])
    for name in ("followed", "used", "asked"):
        values[name] = tuple(values[name])
    return Row(**values)
