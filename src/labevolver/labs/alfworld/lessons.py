"""Lessons of ALFWorld: where things are (strategy), how long a look takes (skill), what to avoid (safety)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from labevolver.experience import Advice as Said
from labevolver.experience import Draft, Experience, Parameter, Term
from labevolver.labs.alfworld.extract import Findings
from labevolver.labs.alfworld.seeker import CO_LOCATED, NOT_AT_DESTINATION

PRESENT = "present"
"""Value of the state's field for each class of furniture in the room."""
FIND = "find"
"""The state's field for what is sought."""
CHANCE = "chance"
"""The parameter that trials revise: the share of receptacles that held what was sought."""
HERE = Term("laboratory", among=("alfworld",))
BRINGING = ("put", "two")
"""Tasks whose thing needs nothing but to be brought."""


def place_lesson(thing: str, place: str, share: float) -> Draft:
    """Return that a thing is found at a class of receptacles, with the share of them that held one."""
    when = (Term(FIND, among=(thing,)), Term(place, among=(PRESENT,)))
    return Draft("strategy", when, Said(search(thing, place), (Parameter("place", place), Parameter(CHANCE, share))))


def search(thing: str, place: str) -> str:
    """Return the advice to look for a thing at a class of receptacles."""
    return f"Look for a {thing} in or on the {place}."


def restated(lesson: Draft, chance: float) -> Draft:
    """Return a lesson with another chance."""
    parameters = (replace(each, value=chance) if each.name == CHANCE else each for each in lesson.advice.parameters)
    return replace(lesson, advice=replace(lesson.advice, parameters=tuple(parameters)))


def closed_lesson(place: str) -> Draft:
    """Return that receptacles of a class are closed at first."""
    sentence = f"Every {place} is closed at first: opening it costs one more step."
    parameters = (Parameter("place", place), Parameter("steps", 2.0))
    return Draft("skill", (HERE, Term(place, among=(PRESENT,))), Said(sentence, parameters))


def co_located_lesson() -> Draft:
    """Return what a refused `go to` means."""
    sentence = "Where `go to` does nothing, you already stand there: examine or open it, or use it, without going."
    return Draft("safety", (HERE,), Said(sentence, (Parameter("rule", CO_LOCATED),)))


def not_there_lesson(task: str, share: float) -> Draft:
    """Return that what a kind of task wants brought is not at its destination yet."""
    sentence = f"In a task of the kind {task!r}, do not search where the thing has to go; it is not there yet."
    when = (Term("laboratory", among=("alfworld",)), Term("task", among=(task,)))
    return Draft("strategy", when, Said(sentence, (Parameter("rule", NOT_AT_DESTINATION), Parameter(CHANCE, share))))


def lessons(found: Findings) -> Iterator[Draft]:
    """Yield what one trial teaches: of all that was seen, where it was and where it was not."""
    things = sorted(found.things)
    for place in found.looked:
        yield from (place_lesson(thing, place, found.share(thing, place)) for thing in things)
    yield from (closed_lesson(place) for place in sorted(found.closed))
    if found.co_located:
        yield co_located_lesson()
    goal = found.goal
    if goal and goal.destination and found.taken and goal.word in BRINGING:
        yield not_there_lesson(goal.word, float(found.taken == goal.destination))


def sought(lesson: Draft) -> tuple[str, ...]:
    """Return the classes of things that a lesson is about; one without a name for a lesson on no thing."""
    return next((term.among for term in lesson.when if term.field == FIND), ("",))


def subjects(lesson: Draft) -> Iterator[tuple[str, ...]]:
    """Yield what a lesson is about, one for each thing: kind, condition and words; numbers are what trials revise."""
    words = (f"{each.name} {each.value}" for each in lesson.advice.parameters if isinstance(each.value, str))
    about = (lesson.kind, *sorted(str(term) for term in lesson.when if term.field != FIND), *words)
    yield from ((*about, thing) for thing in sought(lesson))


def word(entry: Experience, name: str) -> str:
    """Return a parameter that is a word, or nothing."""
    return next((str(each.value) for each in entry.lesson.advice.parameters if each.name == name), "")


def number(entry: Experience, name: str) -> float | None:
    """Return a parameter that is a number, or None."""
    values: Iterable[float | str] = (each.value for each in entry.lesson.advice.parameters if each.name == name)
    return next((float(value) for value in values if not isinstance(value, str)), None)
