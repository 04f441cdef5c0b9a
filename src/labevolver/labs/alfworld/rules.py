"""What a player may do in a state, and what it changes: the actions of ALFWorld's domain, release 0.4.

Three properties surprise players, and are kept: `go to` refuses a receptacle at the spot where one already stands; of
all objects only the held one can be examined; a lamp that was switched stays on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from labevolver.labs.alfworld.house import House
from labevolver.labs.alfworld.pddl import Fact, Problem

Verb: TypeAlias = Literal[
    "look",
    "inventory",
    "help",
    "go",
    "open",
    "close",
    "examine",
    "take",
    "move",
    "clean",
    "heat",
    "cool",
    "use",
    "slice",
]
SINKS = ("sinktype", "sinkbasintype")
MICROWAVES = ("microwavetype",)
FRIDGES = ("fridgetype",)
KNIVES = ("knifetype", "butterknifetype")
CHANGING = ("opened", "inreceptacle", "objectatlocation", "isclean", "ishot", "iscool", "istoggled", "issliced")


class Action(NamedTuple):
    """A verb with the ids of what it is done to and with."""

    verb: Verb
    thing: str = ""
    place: str = ""


@dataclass(slots=True)
class State:
    """The facts that hold now. `facts` is what the goal is judged on."""

    facts: dict[str, set[Fact] | frozenset[Fact]]
    location: str
    held: str | None = None
    left: set[Fact] = field(default_factory=set)
    """(object, receptacle) pairs that held once and no longer do; `look` tells them from what never was so."""

    @classmethod
    def of(cls, problem: Problem) -> State:
        """Return the state a problem starts in."""
        facts: dict[str, set[Fact] | frozenset[Fact]] = dict(problem.facts)
        for predicate in CHANGING:
            facts[predicate] = set(problem.facts.get(predicate, ()))
        facts["holds"] = set()
        (_, location) = next(iter(problem.facts["atlocation"]))
        return cls(facts, location)

    def true(self, predicate: str, *arguments: str) -> bool:
        """Return whether a fact holds."""
        return arguments in self.facts[predicate]

    def contents(self, receptacle: str) -> list[str]:
        """Return the objects in or on a receptacle, in ascending order of id."""
        return sorted(thing for thing, place in self.facts["inreceptacle"] if place == receptacle)

    def add(self, predicate: str, *arguments: str) -> None:
        """Make a fact true."""
        self.facts[predicate] = {*self.facts[predicate], arguments}

    def drop(self, predicate: str, *arguments: str) -> None:
        """Make a fact false."""
        self.facts[predicate] = self.facts[predicate] - {arguments}


def here(house: House, state: State) -> list[str]:
    """Return the receptacles within reach."""
    return [place for place in house.receptacles if house.location[place] == state.location]


def legal(house: House, state: State) -> dict[str, Action]:
    """Return every admissible command with its action."""
    commands = {"look": Action("look"), "inventory": Action("inventory"), "help": Action("help")}
    name = house.name
    for place in house.receptacles:
        if house.location[place] != state.location:
            commands[f"go to {name[place]}"] = Action("go", place)
    near = here(house, state)
    for place in near:
        commands.update(_with_place(house, state, place))
    if state.held is not None:
        commands[f"examine {name[state.held]}"] = Action("examine", state.held)
        commands.update(_slicing(house, state, state.held, bool(near)))
    return commands


def _with_place(house: House, state: State, place: str) -> Iterator[tuple[str, Action]]:
    """Yield what can be done at a receptacle within reach."""
    name = house.name
    opened = state.true("opened", place)
    reachable = opened or place not in house.openable
    yield f"examine {name[place]}", Action("examine", place)
    if place in house.openable:
        verb: Verb = "close" if opened else "open"
        yield f"{verb} {name[place]}", Action(verb, place)
    for thing in state.contents(place):
        if reachable and state.held is None and thing in house.pickupable:
            yield f"take {name[thing]} from {name[place]}", Action("take", thing, place)
        if thing in house.toggleable:
            yield f"use {name[thing]}", Action("use", thing)
    if state.held is not None:
        yield from _with_held(house, state.held, place, reachable)


def _with_held(house: House, held: str, place: str, reachable: bool) -> Iterator[tuple[str, Action]]:
    """Yield what can be done with the held object at a receptacle; appliances need not be open."""
    kind, name = house.receptacle_type.get(place, ""), house.name
    if reachable and (kind, house.object_type[held]) in house.can_contain:
        yield f"move {name[held]} to {name[place]}", Action("move", held, place)
    appliances: tuple[tuple[Verb, frozenset[str], tuple[str, ...]], ...] = (
        ("clean", house.cleanable, SINKS),
        ("heat", house.heatable, MICROWAVES),
        ("cool", house.coolable, FRIDGES),
    )
    for verb, treatable, kinds in appliances:
        if held in treatable and kind in kinds:
            yield f"{verb} {name[held]} with {name[place]}", Action(verb, held, place)


def _slicing(house: House, state: State, knife: str, near: bool) -> Iterator[tuple[str, Action]]:
    if house.object_type[knife] not in KNIVES or not near:
        return
    for thing, location in state.facts["objectatlocation"]:
        if location == state.location and thing in house.sliceable:
            yield f"slice {house.name[thing]} with {house.name[knife]}", Action("slice", thing, knife)


def apply(house: House, state: State, action: Action) -> None:
    """Change `state` as an admissible action does; looking changes nothing."""
    thing, place = action.thing, action.place
    match action.verb:
        case "go":
            state.location = house.location[thing]
            state.facts["atlocation"] = {(house.agent, state.location)}
        case "open":
            state.add("opened", thing)
        case "close":
            state.drop("opened", thing)
        case "take":
            _take(house, state, thing, place)
        case "move":
            _put(house, state, thing, place)
        case "clean":
            state.add("isclean", thing)
        case "heat":
            state.add("ishot", thing)
            state.drop("iscool", thing)
        case "cool":
            state.add("iscool", thing)
            state.drop("ishot", thing)
        case "use":
            state.add("istoggled", thing)
        case "slice":
            state.add("issliced", thing)


def _take(house: House, state: State, thing: str, place: str) -> None:
    state.drop("inreceptacle", thing, place)
    state.drop("objectatlocation", thing, state.location)
    state.left.add((thing, place))
    state.held = thing
    state.facts["holds"] = {(house.agent, thing)}


def _put(house: House, state: State, thing: str, place: str) -> None:
    state.add("inreceptacle", thing, place)
    state.add("objectatlocation", thing, state.location)
    state.left.discard((thing, place))
    state.held = None
    state.facts["holds"] = set()
