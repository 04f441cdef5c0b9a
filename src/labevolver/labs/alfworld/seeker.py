"""The symbolic mind: a program that reads the task, searches systematically, and carries out what the task asks for.

It plans nothing but the order of its search. With notes it remembers what it saw within the task; with advice it
searches likely receptacles first. It is no language model, and results with it are labelled so.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass, field

from labevolver.labs.alfworld.advice import Advice, Consult
from labevolver.labs.alfworld.goal import APPLIANCE, Goal, parse_goal
from labevolver.labs.alfworld.notes import Notes, kind
from labevolver.labs.alfworld.speech import NOTHING

CO_LOCATED = "co-located"
"""Rule: where `go to` does nothing, one already stands there."""
NOT_AT_DESTINATION = "not at the destination"
"""Rule: what must be brought somewhere is not there yet."""
UNIFORM = 0.1
"""Chance at any receptacle while nothing is known; only ratios matter."""
Turns = Generator[str, str, None]
"""Yields commands and thoughts, is sent what the game said."""


@dataclass(frozen=True, slots=True)
class Style:
    """How much a mind keeps in mind within a task."""

    notes: bool = True
    """Whether sightings elsewhere are remembered; otherwise only the last view counts."""
    thoughts: bool = True
    """Whether it says what it is about to do, at every change of subgoal."""


@dataclass(slots=True)
class Seeker:
    """One player of one game. `turns` is its whole life."""

    opening: str
    consult: Consult
    draw: random.Random
    style: Style = field(default_factory=Style)
    followed: set[str] = field(default_factory=set)
    """Experiences that were acted on."""
    used: set[str] = field(default_factory=set)
    """Those of them that led to what was sought."""
    notes: Notes = field(init=False)
    order: dict[str, float] = field(init=False)
    advice: Advice = field(default_factory=Advice)

    def __post_init__(self) -> None:
        self.notes = Notes.of(self.opening)
        self.order = {place: self.draw.random() for place in self.notes.places}

    def turns(self) -> Turns:
        """Play until the game ends the generator.

        Raises:
            GoalError: The task sentence has none of the known forms.
        """
        goal = parse_goal(self.notes.task)
        delivered: list[str] = []
        destination: str | None = None
        while len(delivered) < goal.count:
            thing = yield from self._fetch(goal, goal.thing, delivered)
            if goal.treatment:
                yield from self._treat(thing, goal)
            if goal.lamp:
                yield from self._light(goal.lamp)
            if goal.destination:
                destination = yield from self._deliver(thing, goal.destination, destination)
            delivered.append(thing)
        while True:
            yield from self._do("look")

    def _fetch(self, goal: Goal, sought: str, but: list[str]) -> Generator[str, str, str]:
        """Find a thing of a class and take it; return its name."""
        while True:
            yield from self._think(f"I need a {sought}.")
            self._ask(sought, goal)
            thing = yield from self._find(sought, but, goal.destination)
            place = self.notes.seen[thing]
            yield from self._visit(place)
            said = yield from self._do(f"take {thing} from {place}")
            if said != NOTHING:
                return thing
            self.notes.seen.pop(thing, None)

    def _treat(self, thing: str, goal: Goal) -> Turns:
        assert goal.treatment
        appliance = self._first(APPLIANCE[goal.treatment])
        yield from self._think(f"Now I {goal.treatment} the {thing} with the {appliance}.")
        yield from self._go(appliance)
        yield from self._do(f"{goal.treatment} {thing} with {appliance}")

    def _light(self, lamp: str) -> Turns:
        yield from self._think(f"Now I need a {lamp}.")
        self._ask(lamp, Goal(lamp))
        found = yield from self._find(lamp, [], None)
        yield from self._go(self.notes.seen[found])
        yield from self._do(f"use {found}")

    def _deliver(self, thing: str, wanted: str, before: str | None) -> Generator[str, str, str]:
        """Put a thing into a receptacle of a class, into the same one as `before`; return which."""
        places = [before] if before else sorted((p for p in self.notes.places if kind(p) == wanted), key=self._nearest)
        yield from self._think(f"Now I bring the {thing} to the {wanted}.")
        for place in [*places, *places]:
            yield from self._visit(place)
            said = yield from self._do(f"move {thing} to {place}")
            if said != NOTHING:
                return place
        return places[0] if places else wanted

    def _find(self, sought: str, but: list[str], destination: str | None) -> Generator[str, str, str]:
        """Look into receptacles until a thing of a class is seen; return its name."""
        while True:
            known = self._in_view(sought, but)
            if known:
                return known
            place = self._likeliest(destination)
            source = self.advice.chances.get(kind(place))
            yield from self._visit(place)
            if source and source.source:
                self.followed.add(source.source)
                if self._in_view(sought, but):
                    self.used.add(source.source)

    def _in_view(self, sought: str, but: list[str]) -> str | None:
        for thing, place in self.notes.seen.items():
            if kind(thing) == sought and thing not in but and (self.style.notes or place in self.notes.near):
                return thing
        return None

    def _likeliest(self, destination: str | None) -> str:
        """Return the receptacle to look into next: the most chance a step."""
        left = [place for place in self.notes.places if place not in self.notes.looked]
        if not left:
            self.notes.looked.clear()
            left = list(self.notes.places)
        skip = destination if NOT_AT_DESTINATION in self.advice.rules else None
        return max(
            left, key=lambda place: (kind(place) != skip, self._chance(place) / self._cost(place), self.order[place])
        )

    def _chance(self, place: str) -> float:
        known = self.advice.chances.get(kind(place))
        if known is not None:
            return known.share
        return UNIFORM if self.advice.elsewhere is None else self.advice.elsewhere

    def _cost(self, place: str) -> float:
        """Return how many steps it takes to look into a receptacle, as far as one knows."""
        same = kind(place)
        known = self.advice.steps.get(same)
        if known is None:
            known = 2.0 if any(kind(other) == same for other in self.notes.closed | self.notes.opened) else 1.0
        return known

    def _nearest(self, place: str) -> tuple[bool, bool, float]:
        return place not in self.notes.near, place not in self.notes.looked, self.order[place]

    def _visit(self, place: str) -> Turns:
        """Go to a receptacle and make its contents visible."""
        yield from self._go(place)
        if place in self.notes.near and place not in self.notes.looked and place not in self.notes.closed:
            yield from self._do(f"examine {place}")
        if place in self.notes.closed:
            yield from self._do(f"open {place}")
        self.notes.looked.add(place)

    def _go(self, place: str) -> Turns:
        """Stand at a receptacle. Without the rule on co-located ones, a look around has to tell."""
        if place in self.notes.near:
            return
        said = yield from self._do(f"go to {place}")
        if said != NOTHING:
            return
        if CO_LOCATED in self.advice.rules:
            self.followed.add(self.advice.rules[CO_LOCATED])
            self.used.add(self.advice.rules[CO_LOCATED])
            self.notes.beside(place)
        else:
            yield from self._do("look")

    def _ask(self, sought: str, goal: Goal) -> None:
        """Refresh the advice at a change of subgoal."""
        situation = {"find": sought, "task": goal.word, "room": " ".join(sorted(self.notes.room))}
        self.advice = self.consult(situation)

    def _first(self, wanted: str) -> str:
        places = [place for place in self.notes.places if kind(place) == wanted]
        return min(places, key=self._nearest) if places else f"{wanted} 1"

    def _think(self, thought: str) -> Turns:
        if self.style.thoughts:
            yield f"think: {thought}"

    def _do(self, command: str) -> Generator[str, str, str]:
        said = yield command
        self.notes.read(said)
        return said
