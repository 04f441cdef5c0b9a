"""What a game says: the sentences of ALFWorld's grammar, release 0.4 (`move X to Y`)."""

from __future__ import annotations

from collections.abc import Iterable

from labevolver.labs.alfworld.house import House
from labevolver.labs.alfworld.rules import Action, State, here

BANNER = "-= Welcome to TextWorld, ALFRED! =-"
MIDDLE = "You are in the middle of a room. Looking quickly around you, you see"
TASK = "Your task is to:"
NOTHING = "Nothing happens."
HELP = """\
Say one command a turn. THING and PLACE are names such as mug 1 or cabinet 3.
  look, inventory, help
  go to PLACE, open PLACE, close PLACE, examine PLACE, examine THING (in your hand)
  take THING from PLACE, move THING to PLACE
  clean THING with PLACE (a sinkbasin), heat THING with PLACE (a microwave), cool THING with PLACE (a fridge)
  use THING (a lamp), slice THING with THING (a knife in your hand)
"""
"""Answer to `help` in games whose grammar does not come with them."""


def listed(names: Iterable[str], article: str = "a ") -> str:
    """Return an enumeration as the grammar writes it.

    Example: [] -> nothing; [mug 1] -> a mug 1; [mug 2, mug 1] -> a mug 2, and a mug 1
    """
    words = [article + name for name in names]
    if not words:
        return "nothing"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + ", and " + words[-1]


def opening(house: House, task: str) -> str:
    """Return the first text of a game: the room and the task."""
    room = listed(house.name[place] for place in house.receptacles)
    return f"{BANNER}\n\n{MIDDLE} {room}.\n\n{TASK} {task}"


def feedback(house: House, state: State, action: Action, help_text: str = HELP) -> str:
    """Return what is said after `action` was applied to `state`."""
    thing, place = house.name.get(action.thing, ""), house.name.get(action.place, "")
    match action.verb:
        case "look":
            return _look(house, state)
        case "inventory":
            return f"You are carrying: a {house.name[state.held]}." if state.held else "You are not carrying anything."
        case "help":
            return help_text
        case "go":
            return f"You arrive at {thing}. {_receptacle(house, state, action.thing)}"
        case "open":
            return f"You open the {thing}. {_receptacle(house, state, action.thing)}"
        case "close":
            return f"You close the {thing}."
        case "examine":
            looks_at_place = action.thing in house.location
            return (_receptacle if looks_at_place else _object)(house, state, action.thing)
        case "take":
            return f"You pick up the {thing} from the {place}."
        case "move":
            return f"You move the {thing} to the {place}."
        case "use":
            return f"You turn on the {thing}."
        case "slice":
            return f"You sliced the {thing} with the {place}."
        case verb:
            return f"You {verb} the {thing} using the {place}."


def _receptacle(house: House, state: State, place: str) -> str:
    name = house.name[place]
    inside = listed(house.name[thing] for thing in state.contents(place))
    if place not in house.openable:
        return f"On the {name}, you see {inside}."
    if state.true("opened", place):
        return f"The {name} is open. In it, you see {inside}."
    return f"The {name} is closed."


def _object(house: House, state: State, thing: str) -> str:
    name = house.name[thing]
    if thing in house.containers:
        inside = sorted(inner for inner, outer in state.facts.get("inreceptacleobject", ()) if outer == thing)
        return f"This is a normal {name}. In it, you see {listed(house.name[inner] for inner in inside)}."
    clean, hot, cool, sliced = (state.true(fact, thing) for fact in ("isclean", "ishot", "iscool", "issliced"))
    warmth = "hot" if hot else "cool" if cool else ""
    if not (clean or warmth):
        if thing in house.toggleable and state.true("istoggled", thing):
            return f"This {name} is on."
        return f"This is a sliced {name}." if sliced else f"There's nothing special about {name}."
    if warmth == "cool" and not clean and not sliced:
        warmth = "cold"
    words = " and ".join(word for word in (warmth, "clean" if clean else "") if word)
    return f"This is a {words}{' sliced' if sliced else ''} {name}."


def _look(house: House, state: State) -> str:
    near = here(house, state)
    if not near:
        return f"{MIDDLE} nothing."
    beside = {
        thing
        for thing, location in state.facts["objectatlocation"]
        if location == state.location and any((thing, place) in state.left for place in near)
    }
    facing = listed((house.name[place] for place in near), article="")
    return f"You are facing the {facing}. Next to it, you see {listed(house.name[thing] for thing in sorted(beside))}."
