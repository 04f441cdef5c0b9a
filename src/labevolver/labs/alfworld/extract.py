"""What a finished trial shows, read from its texts alone: which receptacles held what, how the interface behaved."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from labevolver.labs.alfworld.advice import Exchange, Trial
from labevolver.labs.alfworld.goal import Goal, GoalError, parse_goal
from labevolver.labs.alfworld.notes import CLOSED, FACING, NAME, PLACE, Notes, kind
from labevolver.labs.alfworld.speech import NOTHING


@dataclass(slots=True)
class Findings:
    """What one trial showed."""

    room: frozenset[str]
    """Classes of receptacles."""
    goal: Goal | None
    looked: dict[str, dict[str, frozenset[str]]] = field(default_factory=lambda: defaultdict(dict))
    """Receptacle class -> receptacle -> the classes of things when it was first looked into."""
    closed: set[str] = field(default_factory=set)
    """Receptacle classes met closed."""
    taken: str = ""
    """Receptacle class from which the first thing was taken that the task asks for."""
    co_located: bool = False
    """Whether a refused `go to` turned out to be of a receptacle within reach."""

    @property
    def things(self) -> set[str]:
        """Return the classes of things that were seen."""
        return {thing for places in self.looked.values() for things in places.values() for thing in things}

    @property
    def sought(self) -> set[str]:
        """Return the classes of things that the task asked to find."""
        return {word for word in (self.goal.thing, self.goal.lamp) if word} if self.goal else set()

    def share(self, thing: str, place: str) -> float:
        """Return the share of the receptacles of a class, among those looked into, that held a thing of a class."""
        looked = self.looked[place].values()
        return sum(thing in things for things in looked) / len(looked)


def findings(trial: Trial) -> Findings:
    """Return what a trial showed."""
    notes = Notes.of(trial.opening)
    try:
        goal = parse_goal(notes.task)
    except GoalError:
        goal = None
    found = Findings(notes.room, goal)
    refused = ""
    for exchange in trial.exchanges:
        _sight(found, exchange.said)
        _take(found, exchange.command)
        if exchange.command.startswith("go to "):
            refused = exchange.command[6:] if exchange.said == NOTHING else ""
        if refused and _within_reach(refused, exchange):
            found.co_located = True
    return found


def _sight(found: Findings, said: str) -> None:
    if place := PLACE.search(said):
        things = frozenset(kind(name) for name in NAME.findall(place[2]))
        found.looked[kind(place[1])].setdefault(place[1], things)
    if closed := CLOSED.search(said):
        found.closed.add(kind(closed[1]))


def _take(found: Findings, command: str) -> None:
    words = command.split()
    if not found.taken and len(words) == 6 and words[0] == "take" and words[1] in found.sought:
        found.taken = words[4]


def _within_reach(place: str, exchange: Exchange) -> bool:
    """Return whether an exchange shows that a receptacle is at the spot where the player stands."""
    facing = FACING.match(exchange.said)
    if facing:
        return place in NAME.findall(facing[1])
    return exchange.said != NOTHING and exchange.command in (f"examine {place}", f"open {place}")
