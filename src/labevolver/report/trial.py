"""One trial of the page: its result, its picture, and every proposal with its ruling and what the belief became."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..skills.tools import Dose, Reading
from ..transcript import Change, Moved, Stopped, Transcript
from .picture import Picture, picture, shown

OWN = ("opening",)
"""Fields of the belief that change with every move and tell nothing."""


@dataclass(frozen=True, slots=True)
class Link:
    """A file beside the page."""

    words: str
    target: str


@dataclass(frozen=True, slots=True)
class Result:
    """What the records say of a trial: `run` is its name in a memory bank, `intercepts` -1 where there was no gate."""

    index: int
    run: str
    success: bool
    reason: str
    additions: int
    intercepts: int
    seconds: float
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One proposal: its ruling, the experience that it followed, and what the belief became since the last one."""

    time: float
    intent: str
    action: str
    exception: Stopped | None
    follows: tuple[str, ...]
    learned: tuple[tuple[str, str], ...]
    """Fields with their values, and where and when each is from."""
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One checkpoint: a reading, and the addition that led to it."""

    number: int
    reading: Reading
    added: str


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the belief at the end, with source, time and validity."""

    name: str
    value: str
    source: str
    time: float
    stale: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One line of the list of trials, and what unfolds below it; `problem` says why nothing does."""

    anchor: str
    result: Result
    told: Transcript | None = None
    problem: str = ""
    picture: Picture | None = None
    rows: tuple[Row, ...] = ()
    steps: tuple[Step, ...] = ()
    belief: tuple[Field, ...] = ()

    @property
    def refused(self) -> int:
        """Return how many proposals were refused."""
        return sum(row.exception is not None for row in self.rows)

    @property
    def retrieved(self) -> tuple[str, ...]:
        """Return every entry that the memory gave, each once."""
        found = () if self.told is None else self.told.retrieved
        return tuple(dict.fromkeys(name for names in found for name in names))


def trial(anchor: str, result: Result, told: Transcript | None, problem: str = "") -> Trial:
    """Return a trial as the page shows it."""
    if told is None:
        return Trial(anchor, result, problem=problem)
    return Trial(
        anchor,
        result,
        told,
        problem,
        picture(told),
        tuple(_rows(told.moves)),
        tuple(_steps(told)),
        tuple(_belief(told.moves)),
    )


def _rows(moves: Iterable[Moved]) -> Iterator[Row]:
    last: dict[tuple[str, str], Change] = {}
    for move in moves:
        news: list[Change] = []
        for change in move.belief:
            before = last.get((change.thing, change.field))
            last[change.thing, change.field] = change
            if _dull(change) or (before is None and not move.time):
                continue
            if before is None or (change.value, change.stale) != (before.value, before.stale):
                news.append(change)
        learned = tuple(
            (f"{each.name} = {shown(each)}", f"{each.source}, of {each.time:.0f} s") for each in news if not each.stale
        )
        yield Row(move.time, move.intent, move.action, move.exception, move.follows, learned, tuple(_lost(news)))


def _lost(news: Iterable[Change]) -> Iterator[str]:
    """Yield each reason why fields do not count any more, with their names."""
    reasons: dict[str, list[str]] = {}
    for change in news:
        if change.stale:
            reasons.setdefault(change.stale, []).append(change.name)
    for why, names in reasons.items():
        yield f"stale: {', '.join(names)} ({why})"


def _dull(change: Change) -> bool:
    """Return whether a change is told by another: data ports say what the fields of things say again."""
    return not change.thing and (change.field in OWN or change.field != "hand")


def _steps(told: Transcript) -> Iterator[Step]:
    """Yield the readings in order, each with what was added since the one before."""
    doses: list[Dose] = list(told.checkpoint.doses)
    for number, reading in enumerate(told.checkpoint.readings):
        mine = [dose for dose in doses if dose.after is not None and dose.after.time == reading.time]
        added = ", ".join(f"{dose.grams:.1f} g of {dose.tube}" for dose in mine)
        yield Step(number + 1, reading, added)


def _belief(moves: Iterable[Moved]) -> Iterator[Field]:
    """Yield every field at the last proposal of a trial."""
    last = {change.name: change for move in moves for change in move.belief}
    for name, change in last.items():
        yield Field(name, shown(change), change.source, change.time, change.stale)
