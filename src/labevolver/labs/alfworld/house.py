"""What never changes in a game: which things there are, how they are called, what can be done with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from labevolver.labs.alfworld.pddl import Problem, ProblemError

MARK = "_bar_"
"""Divides the class of a thing from the coordinates it was found at, as in `mug_bar__plus_01_dot_20`."""
BASIN = "basin"


@dataclass(frozen=True, slots=True)
class House:
    """The fixed part of a problem. Ids are the problem's, in lower case; names are what a player reads."""

    agent: str
    receptacles: tuple[str, ...]
    """In ascending order of id, which is the order of every list that a player reads."""
    location: dict[str, str]
    """Receptacle -> the spot one stands on to reach it; several receptacles can share one."""
    name: dict[str, str]
    receptacle_type: dict[str, str]
    object_type: dict[str, str]
    can_contain: frozenset[tuple[str, ...]]
    openable: frozenset[str]
    pickupable: frozenset[str]
    cleanable: frozenset[str]
    heatable: frozenset[str]
    coolable: frozenset[str]
    toggleable: frozenset[str]
    sliceable: frozenset[str]
    containers: frozenset[str]
    """Objects that can hold other objects."""


def house(problem: Problem) -> House:
    """Return the fixed part of a problem.

    Raises:
        ProblemError: The problem does not say where the agent stands.
    """
    facts = problem.facts

    def having(predicate: str) -> frozenset[str]:
        return frozenset(row[0] for row in facts.get(predicate, ()))

    def mapping(predicate: str) -> dict[str, str]:
        return {row[0]: row[1] for row in facts.get(predicate, ())}

    stands = mapping("atlocation")
    if len(stands) != 1:
        raise ProblemError(f"A problem has one agent at one location; this one places {len(stands)}.")
    location = mapping("receptacleatlocation")
    object_type = mapping("objecttype")
    return House(
        agent=next(iter(stands)),
        receptacles=tuple(sorted(location)),
        location=location,
        name=names({*location, *object_type}),
        receptacle_type=mapping("receptacletype"),
        object_type=object_type,
        can_contain=facts.get("cancontain", frozenset()),
        openable=having("openable"),
        pickupable=having("pickupable"),
        cleanable=having("cleanable"),
        heatable=having("heatable"),
        coolable=having("coolable"),
        toggleable=having("toggleable"),
        sliceable=having("sliceable"),
        containers=having("isreceptacleobject"),
    )


def names(ids: Iterable[str]) -> dict[str, str]:
    """Number the things of each class. In ascending order of id the numbers descend.

    Example: mug_bar_a, mug_bar_b, sink_bar_c_bar_sinkbasin -> mug 2, mug 1, sinkbasin 1
    """
    ordered = sorted(thing for thing in ids if MARK in thing)
    left = Counter(_class(thing) for thing in ordered)
    called = {}
    for thing in ordered:
        kind = _class(thing)
        called[thing] = f"{kind} {left[kind]}"
        left[kind] -= 1
    return called


def _class(thing: str) -> str:
    kind = thing.partition(MARK)[0]
    return kind + BASIN if BASIN in thing else kind
