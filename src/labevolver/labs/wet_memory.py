"""What the wet-lab agent asks of its memory: by topic and tube, with the goal and the state now and at the start."""

from __future__ import annotations

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
        hits = {hit.entry.id: hit for part in parts for hit in part.hits}
        return replace(parts[0], hits=tuple(hits.values()), nearest=None)

    def _ask(self, state: State, kinds: tuple[Kind, ...], words: dict[str, str], most: int, floor: float) -> Retrieved:
        asked = Query({**state, **words}, " ".join(words.values()), kinds, most, floor, self._evaluation)
        found = retrieve(self._bank, asked)
        hits = tuple(hit for hit in found.hits if all(_names(hit.entry.lesson.when, *each) for each in words.items()))
        return replace(found, hits=hits)


def _names(when: tuple[object, ...], name: str, word: str) -> bool:
    return any(getattr(term, "field", "") == name and term.holds(word) for term in when)  # type: ignore[attr-defined]
