"""Retrieval before a trial and at checkpoints (paper, section 3.2): the top K by structured state first, words second.

Nothing is returned only because nothing better is there: below the floor, the answer is empty and names what was
nearest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .bank import Bank
from .compare import applies, fit
from .experience import KINDS, Experience, Kind, Value

GRAIN = 20
"""Steps of the state's fit: entries within 0.05 of each other are equal before words decide; a convention of ours."""


class SeenInstance(Exception):
    """A bank has learned on task instances on which it is to be evaluated; the sentence names them."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of a bank."""

    state: Mapping[str, Value]
    """Goal and state now, as fields with values in the units of their owner."""
    text: str = ""
    kinds: tuple[Kind, ...] = KINDS
    most: int = 5
    """K."""
    floor: float = 0.6
    """Least fit of the state, in [0, 1]; just above what is counted when nothing is known."""
    evaluation: frozenset[str] = field(default_factory=frozenset)
    """Task instances on which the run is evaluated; what they taught must not be used."""

    def __post_init__(self) -> None:
        if self.most < 0 or not 0 <= self.floor <= 1:
            raise ValueError(
                f"K is {self.most} and the floor {self.floor:g}; K >= 0 and a floor in [0, 1] would have worked."
            )


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that was found, with what it was found by."""

    entry: Experience
    state: float
    """Mean fit of its condition's terms, in [0, 1]."""
    words: float
    """BM25 score; 0 if it shares no word."""
    because: tuple[str, ...]
    """Each term with its fit."""

    @property
    def record(self) -> str:
        """Return how often it was followed, and with what success."""
        return f"followed {self.entry.uses} times, {self.entry.successes} of them with success"


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The answer of a bank: hits in order, and what a reader of an empty one wants to know."""

    hits: tuple[Hit, ...]
    considered: int
    """Entries in use, of the kinds asked for."""
    floor: float
    nearest: Hit | None = None
    """Best entry below the floor."""

    @property
    def sentence(self) -> str:
        """Say what was found, or why nothing was."""
        if self.hits:
            return f"{len(self.hits)} of {self.considered} entries fit."
        if self.nearest is None:
            return "The bank has no such entries yet." if not self.considered else "No entry was asked for."
        best = f"the nearest is {self.nearest.entry.id} with {self.nearest.state:.2f}"
        return f"None of {self.considered} entries fits the state by {self.floor:g} or more; {best}."


def retrieve(bank: Bank, query: Query) -> Retrieved:
    """Return the entries that fit a query best; ties go by words, utility, score and id.

    Advice without a condition is for every state, and found by its words only. Raises `SeenInstance` if the bank has
    learned on the instances under evaluation.
    """
    entries = bank.entries()
    refuse_seen(bank, entries, query.evaluation)
    scores = bank.words(query.text) if query.text else {}
    asked = [entry for entry in entries if entry.lesson.kind in query.kinds]
    hits = sorted((_hit(entry, query, scores.get(entry.id, 0.0)) for entry in asked), key=_order)
    fitting = [hit for hit in hits if _fits(hit, query)]
    missed = [hit for hit in hits if not _fits(hit, query)]
    return Retrieved(tuple(fitting[: query.most]), len(asked), query.floor, missed[0] if missed else None)


def refuse_seen(bank: Bank, entries: Iterable[Experience], evaluation: frozenset[str]) -> None:
    """Raise `SeenInstance` if any of these instances has taught the bank something that stands."""
    if not evaluation:
        return
    seen = bank.seen(evaluation)
    if not seen:
        return
    touched = sum(bool(seen & set(entry.source.instances)) for entry in entries)
    shown = ", ".join(sorted(seen)[:3]) + (f" and {len(seen) - 3} more" if len(seen) > 3 else "")
    where = f"{touched} of its entries in use come from there" if touched else "it let scores fade there"
    raise SeenInstance(
        f"The bank has learned on {shown}, on which it is to be evaluated: {where}; retract those runs or take another."
    )


def _hit(entry: Experience, query: Query, words: float) -> Hit:
    because = tuple(f"{term}: {fit(term, query.state):.2f}" for term in entry.lesson.when)
    return Hit(entry, applies(entry.lesson.when, query.state), words, because or ("for every state",))


def _fits(hit: Hit, query: Query) -> bool:
    return hit.state >= query.floor if hit.entry.lesson.when else hit.words > 0


def _order(hit: Hit) -> tuple[float, float, float, float, str]:
    entry = hit.entry
    return (-round(hit.state * GRAIN), -round(hit.words, 6), -entry.utility, -entry.score, entry.id)
