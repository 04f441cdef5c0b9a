"""What the wet-lab agent asks of its memory: by topic and tube, with the goal and the state now and at the start.

Lessons by rule name their topic. Those of a language model do not: they are found by their state and words alone.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from ..bank import Bank
from ..experience import Kind, State
from ..retrieve import Query, Retrieved, retrieve
from .wetlab import ACID, BASE, SALT, WATER

CURVE, CONDUCTIVITY, MEASURING, GAINS, WORKFLOW = (
    "dose curve",
    "apparent conductivity",
    "measuring time",
    "gains",
    "workflow",
)
"""Topics of skills and strategies."""
MOST_PRECAUTIONS = 60
"""Safety lessons that are always at hand."""
MOST = 4
"""Entries for each topic and tube."""
MOST_FREE = 6
"""Entries without a topic."""
WORDS = "pH EC acid base salt water dose add pour measure"
"""By which advice without a condition is found."""


class WetMemory:
    """Reads a bank for one method; `use` names what it may see ("experience" or "workflow")."""

    def __init__(self, bank: Bank, use: str = "experience", evaluation: frozenset[str] = frozenset()) -> None:
        self._bank, self._use, self._evaluation = bank, use, evaluation

    def recall(self, state: State) -> Retrieved:
        """Return what fits a situation, the topics one after the other; raises `SeenInstance`."""
        if self._use == "workflow":
            return self._ask(state, ("strategy",), {"topic": WORKFLOW}, 1, 0.0)
        parts = [self._ask(state, ("safety",), {}, MOST_PRECAUTIONS, 0.0)]
        if state.get("objective") == "mass":
            parts.append(self._ask(state, ("skill",), {"topic": GAINS}, MOST, 0.6))
        else:
            parts.append(self._ask(state, ("skill",), {"topic": MEASURING}, 1, 0.6))
            parts += [
                self._ask(state, ("strategy",), {"topic": CURVE, "tube": tube}, MOST, 0.6) for tube in (ACID, BASE)
            ]
        if state.get("objective") == "ph-ec":
            parts += [
                self._ask(state, ("strategy",), {"topic": CONDUCTIVITY, "tube": tube}, 1, 0.6)
                for tube in (ACID, BASE, SALT, WATER)
            ]
        parts.append(self._free(state))
        hits = {hit.entry.id: hit for part in parts for hit in part.hits}
        return replace(parts[0], hits=tuple(hits.values()), nearest=None)

    def _free(self, state: State) -> Retrieved:
        """Return the skills and strategies that name no topic."""
        found = retrieve(self._bank, Query(state, WORDS, ("skill", "strategy"), sys.maxsize, 0.6, self._evaluation))
        hits = [hit for hit in found.hits if all(term.field != "topic" for term in hit.entry.lesson.when)]
        return replace(found, hits=tuple(hits[:MOST_FREE]))

    def _ask(self, state: State, kinds: tuple[Kind, ...], words: dict[str, str], most: int, floor: float) -> Retrieved:
        asked = Query({**state, **words}, " ".join(words.values()), kinds, most, floor, self._evaluation)
        found = retrieve(self._bank, asked)
        hits = tuple(hit for hit in found.hits if all(_names(hit.entry.lesson.when, *each) for each in words.items()))
        return replace(found, hits=hits)


def _names(when: tuple[object, ...], name: str, word: str) -> bool:
    return any(getattr(term, "field", "") == name and term.holds(word) for term in when)  # type: ignore[attr-defined]
