"""What a player has read so far in one game: where things are, what was looked into, what is closed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from labevolver.labs.alfworld.speech import MIDDLE, TASK

ROOM = re.compile(re.escape(MIDDLE) + r" (.*?)\.\n")
PLACE = re.compile(r"(?:On the|The) (\w+ \d+)(?:,| is open\. In it,) you see (.*?)\.$")
CLOSED = re.compile(r"The (\w+ \d+) is closed\.$")
ARRIVED = re.compile(r"You arrive at (\w+ \d+)\.")
FACING = re.compile(r"You are facing the (.*?)\. Next to it")
NAME = re.compile(r"\w+ \d+")
TAKEN = re.compile(r"You pick up the (\w+ \d+) from")
MOVED = re.compile(r"You move the (\w+ \d+) to the (\w+ \d+)\.")


def kind(name: str) -> str:
    """Return the class of a named thing: mug 1 -> mug."""
    return name.partition(" ")[0]


@dataclass(slots=True)
class Notes:
    """A player's notes; every name is as the game says it."""

    places: list[str]
    """Receptacles of the room, in the order of the first text."""
    task: str
    seen: dict[str, str] = field(default_factory=dict)
    """Object -> the receptacle it was last seen in or on."""
    looked: set[str] = field(default_factory=set)
    """Receptacles whose contents were seen."""
    opened: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    """Receptacles last seen closed."""
    near: set[str] = field(default_factory=set)
    """Receptacles known to be within reach now."""
    spots: list[set[str]] = field(default_factory=list)
    """Receptacles known to share a spot."""
    held: str | None = None

    @classmethod
    def of(cls, opening: str) -> Notes:
        """Return what the first text of a game says."""
        room = ROOM.search(opening)
        _, _, task = opening.partition(TASK)
        return cls(NAME.findall(room[1]) if room else [], task.strip())

    @property
    def room(self) -> frozenset[str]:
        """Return the classes of receptacles in this room."""
        return frozenset(kind(place) for place in self.places)

    def read(self, said: str) -> None:
        """Take in what the game said."""
        if arrived := ARRIVED.match(said):
            self._stand({arrived[1]})
        if closed := CLOSED.search(said):
            self.closed.add(closed[1])
            self._stand({*self.near, closed[1]})
        if place := PLACE.search(said):
            self._see(place[1], NAME.findall(place[2]), "is open" in said)
        if facing := FACING.match(said):
            self._stand(set(NAME.findall(facing[1])))
        self._hands(said)

    def beside(self, place: str) -> None:
        """Conclude that a receptacle is within reach."""
        self._stand({*self.near, place})

    def _see(self, place: str, things: list[str], opened: bool) -> None:
        self.looked.add(place)
        self.closed.discard(place)
        if opened:
            self.opened.add(place)
        for thing in [thing for thing, where in self.seen.items() if where == place and thing not in things]:
            del self.seen[thing]
        self.seen.update(dict.fromkeys(things, place))
        if place not in self.near:
            self._stand({*self.near, place})

    def _stand(self, names: set[str]) -> None:
        """Note that these are within reach, and so is all that is known to share their spot."""
        joined = set(names)
        apart = []
        for spot in self.spots:
            if spot & joined:
                joined |= spot
            else:
                apart.append(spot)
        self.spots = [*apart, joined]
        self.near = joined

    def _hands(self, said: str) -> None:
        if taken := TAKEN.match(said):
            self.held = taken[1]
            self.seen.pop(taken[1], None)
        if moved := MOVED.match(said):
            self.held = None
            self.seen[moved[1]] = moved[2]
