"""Reading experience: curves, conductivities, times and gains out of the entries that the memory returned."""

from __future__ import annotations

from collections.abc import Iterable

from ..experience import Draft, word
from ..retrieve import Retrieved
from ..skills.tools import Curve, curve_of


def of_kind(advice: Retrieved, topic: str, **words: str) -> list[tuple[str, Draft]]:
    """Return id and lesson of the entries of a topic whose conditions name these words, the best fitting first."""
    found = []
    for hit in advice.hits:
        terms = {term.field: term for term in hit.entry.lesson.when}
        if topic not in (terms["topic"].among if "topic" in terms else ()):
            continue
        if all(name in terms and terms[name].holds(value) for name, value in words.items()):
            found.append((hit.entry.id, hit.entry.lesson))
    return found


def numbers(draft: Draft) -> dict[str, float]:
    """Return the numbers of a lesson by name."""
    return {each.name: float(each.value) for each in draft.advice.parameters if isinstance(each.value, (int, float))}


def curves(advice: Retrieved, tube: str) -> list[tuple[str, Curve, str]]:
    """Return id, curve, and how EC moved along it ("rises", "falls") for the entries about a tube."""
    found = []
    for name, draft in of_kind(advice, "dose curve", tube=tube):
        moves = next((term.among for term in draft.when if term.field == "ec_change"), ())
        drawn = ((curve_of(numbers(draft), moved), moved) for moved in moves)
        found += [(name, curve, moved) for curve, moved in drawn if curve is not None]
    return found


def number(advice: Retrieved, topic: str, name: str, **words: str) -> tuple[str, float] | None:
    """Return entry and number of the first lesson of a topic that has it."""
    return next(
        ((entry, numbers(draft)[name]) for entry, draft in of_kind(advice, topic, **words) if name in numbers(draft)),
        None,
    )


def workflow(drafts: Iterable[tuple[str, Draft]]) -> tuple[str, list[tuple[str, float]]] | None:
    """Return the doses of the first lesson that lists them in order, as (tube, grams)."""
    for name, draft in drafts:
        text = next((word(each.value) for each in draft.advice.parameters if each.name == "doses"), "")
        doses = [part.partition(" ") for part in text.split("; ") if part]
        if doses:
            return name, [(tube, float(grams)) for grams, _, tube in doses]
    return None
