"""Rooms of our own making: which furniture stands in them, and where things are usually kept."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

ROOMS: MappingProxyType[str, dict[str, int]] = MappingProxyType(
    {
        "kitchen": {
            "CounterTop": 2, "Cabinet": 5, "Drawer": 3, "Fridge": 1, "Microwave": 1, "SinkBasin": 1,
            "DiningTable": 1, "StoveBurner": 2, "CoffeeMachine": 1, "GarbageCan": 1,
        },
        "bathroom": {
            "CounterTop": 1, "Cabinet": 3, "SinkBasin": 1, "BathtubBasin": 1, "Toilet": 1,
            "TowelHolder": 1, "GarbageCan": 1, "Shelf": 2,
        },
        "bedroom": {
            "Bed": 1, "Desk": 1, "Dresser": 1, "Drawer": 4, "SideTable": 2, "Shelf": 3, "GarbageCan": 1, "Safe": 1,
        },
        "living room": {
            "Sofa": 1, "ArmChair": 1, "CoffeeTable": 1, "SideTable": 2, "Drawer": 2, "Shelf": 2, "TVStand": 1,
        },
    }
)  # fmt: skip
"""Room -> receptacle class -> how many."""
CLOSED = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})
NEIGHBOURS = (("StoveBurner", "StoveBurner"), ("SinkBasin", "CounterTop"), ("CoffeeTable", "Sofa"))
"""Classes that stand so close that the last of one and the first of the other are reached from one spot."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A class of objects: where it is kept, the likeliest place first, and what can be done with it."""

    rooms: tuple[str, ...]
    homes: tuple[str, ...]
    traits: str = ""
    """Of: c cleanable, h heatable, k coolable, s sliceable, r receptacle, t toggleable and fixed."""


THINGS: MappingProxyType[str, Thing] = MappingProxyType(
    {
        "Mug": Thing(("kitchen", "bedroom"), ("CoffeeMachine", "Cabinet", "CounterTop", "Desk"), "chkr"),
        "Plate": Thing(("kitchen",), ("Cabinet", "DiningTable", "CounterTop"), "chkr"),
        "Apple": Thing(("kitchen",), ("Fridge", "DiningTable", "GarbageCan"), "chks"),
        "Potato": Thing(("kitchen",), ("Fridge", "SinkBasin", "CounterTop"), "chks"),
        "Egg": Thing(("kitchen",), ("Fridge", "CounterTop"), "chk"),
        "Bread": Thing(("kitchen",), ("CounterTop", "DiningTable"), "hks"),
        "Pan": Thing(("kitchen",), ("StoveBurner", "Cabinet"), "ckr"),
        "Fork": Thing(("kitchen",), ("Drawer", "DiningTable", "SinkBasin"), "c"),
        "Knife": Thing(("kitchen",), ("Drawer", "CounterTop"), "c"),
        "SaltShaker": Thing(("kitchen",), ("Cabinet", "DiningTable")),
        "SoapBar": Thing(("bathroom",), ("BathtubBasin", "SinkBasin", "Toilet"), "c"),
        "Cloth": Thing(("bathroom",), ("Cabinet", "BathtubBasin"), "c"),
        "Candle": Thing(("bathroom",), ("Shelf", "Toilet")),
        "ToiletPaper": Thing(("bathroom",), ("Toilet", "Cabinet")),
        "Towel": Thing(("bathroom",), ("TowelHolder",)),
        "AlarmClock": Thing(("bedroom",), ("SideTable", "Dresser", "Shelf")),
        "Book": Thing(("bedroom", "living room"), ("Bed", "Desk", "Shelf", "CoffeeTable")),
        "Pen": Thing(("bedroom",), ("Desk", "Drawer", "SideTable")),
        "CD": Thing(("bedroom",), ("Safe", "Drawer", "Desk")),
        "CellPhone": Thing(("bedroom",), ("Bed", "SideTable", "Sofa")),
        "RemoteControl": Thing(("living room",), ("Sofa", "TVStand", "ArmChair")),
        "KeyChain": Thing(("bedroom", "living room"), ("Drawer", "Safe", "SideTable", "CoffeeTable")),
        "Statue": Thing(("living room",), ("TVStand", "Shelf")),
        "DeskLamp": Thing(("bedroom",), ("Desk",), "t"),
        "FloorLamp": Thing(("living room",), ("SideTable",), "t"),
    }
)
"""Object class -> what it is like."""
HOLDS_ANYTHING = ("CounterTop", "DiningTable", "CoffeeTable", "Desk", "Dresser", "SideTable", "Shelf", "GarbageCan")
ALSO_HOLDS = MappingProxyType({"Drawer": ("Fork", "Knife", "Pen", "CD", "KeyChain", "Cloth", "SoapBar", "Candle")})


def fits(place: str, thing: str) -> bool:
    """Return whether a receptacle class takes an object class."""
    if "t" in THINGS[thing].traits:
        return place in THINGS[thing].homes
    return place in THINGS[thing].homes or place in HOLDS_ANYTHING or thing in ALSO_HOLDS.get(place, ())


def kept(thing: str, room: str) -> list[str]:
    """Return the receptacle classes of a room in which a class of objects is kept, the likeliest first."""
    kind = THINGS[thing]
    return [home for home in kind.homes if home in ROOMS[room]] if room in kind.rooms else []
