"""Make games of our own in the vocabulary of ALFWorld's domain, so that everything runs without its data.

python -m labevolver.labs.alfworld.make FOLDER     # writes the games that ship
"""

from __future__ import annotations

import json
import lzma
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labevolver.labs.alfworld.furnish import CLOSED, NEIGHBOURS, ROOMS, THINGS, fits, kept
from labevolver.labs.alfworld.game import SHORT, TASK_TYPES, Game, TaskType
from labevolver.labs.alfworld.play import Play
from labevolver.labs.alfworld.solve import solve

SPLITS = {"train": range(0, 3), "valid_unseen": range(100, 102)}
"""Split -> seeds; each seed makes one game a task type."""
TREATMENT = {"clean": ("c", "SinkBasin"), "heat": ("h", "Microwave"), "cool": ("k", "Fridge")}
"""Task word -> the trait it needs and the appliance that does it."""
FACT = {"clean": "isClean", "heat": "isHot", "cool": "isCool"}
TRAIT = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
SENTENCE = {
    "put": ("put a {thing} in {place}.", "put some {thing} on {place}."),
    "look": ("look at {thing} under the {place}.", "examine the {thing} with the {place}."),
    "clean": ("put a clean {thing} in {place}.", "clean some {thing} and put it in {place}."),
    "heat": ("put a hot {thing} in {place}.", "heat some {thing} and put it in {place}."),
    "cool": ("put a cool {thing} in {place}.", "cool some {thing} and put it in {place}."),
    "two": ("put two {thing} in {place}.", "find two {thing} and put them in {place}."),
}
"""Task word -> the ways ALFWorld says it."""


@dataclass(frozen=True, slots=True)
class Room:
    """A furnished room: id -> class of its receptacles and objects, and what is where."""

    receptacles: dict[str, str]
    spot: dict[str, str]
    objects: dict[str, str]
    inside: dict[str, str]


def make(task_type: TaskType, seed: int) -> Game:
    """Return the game of a task type that `seed` draws; the same arguments give the same bytes."""
    draw = random.Random(f"{task_type} {seed}")
    word = SHORT[task_type]
    room_name = "kitchen" if word in ("heat", "cool") else draw.choice(sorted(ROOMS))
    if word == "look":
        room_name = draw.choice(["bedroom", "living room"])
    if word == "clean":
        room_name = draw.choice(["kitchen", "bathroom"])
    thing, place = draw.choice(list(_tasks(word, room_name)))
    room = _furnish(room_name, thing, 2 if word == "two" else 1, place, draw)
    sentence = draw.choice(SENTENCE[word]).format(thing=thing.lower(), place=place.lower())
    trial = f"trial_own_{seed:03d}"
    target = f"{thing}-None-{place}-{room_name.replace(' ', '')}"
    game = Game(
        f"{task_type}-{target}/{trial}", sentence, task_type, _problem(trial, room, _goal(word, thing, place)), ()
    )
    return Game(game.id, game.task, task_type, game.problem, solve(game))


def _tasks(word: str, room: str) -> Iterator[tuple[str, str]]:
    """Yield the (object class, destination or lamp) pairs that a room has room for."""
    furniture = ROOMS[room]
    lamps = [name for name, thing in THINGS.items() if "t" in thing.traits and kept(name, room)]
    for name, thing in THINGS.items():
        at_home = kept(name, room)
        if not at_home or "t" in thing.traits or (word in TREATMENT and TREATMENT[word][0] not in thing.traits):
            continue
        if word == "look":
            yield from ((name, lamp) for lamp in lamps)
            continue
        yield from ((name, place) for place in furniture if fits(place, name) and set(at_home) - {place})


def _furnish(name: str, wanted: str, count: int, destination: str, draw: random.Random) -> Room:
    receptacles = {_id(kind, draw): kind for kind, number in ROOMS[name].items() for _ in range(number)}
    spot = {place: f"loc_bar_{index}_bar_{draw.randrange(9)}_bar_0_bar_30" for index, place in enumerate(receptacles)}
    for one, other in NEIGHBOURS:
        near = [place for place, kind in receptacles.items() if kind == one]
        next_to = [place for place, kind in receptacles.items() if kind == other]
        if near and next_to:
            spot[next_to[0]] = spot[near[-1]]
    objects: dict[str, str] = {}
    inside: dict[str, str] = {}
    for kind in THINGS:
        homes = [home for home in kept(kind, name) if not (kind == wanted and home == destination)]
        number = count if kind == wanted else draw.choice((0, 1, 1, 2)) if kind != destination else 1
        for _ in range(number if homes else 0):
            home = draw.choices(homes, [2.0**-rank for rank in range(len(homes))])[0]
            identity = _id(kind, draw)
            objects[identity] = kind
            inside[identity] = draw.choice([place for place, held in receptacles.items() if held == home])
    return Room(receptacles, spot, objects, inside)


def _id(kind: str, draw: random.Random) -> str:
    """Return an id as ALFWorld's planner writes them: a class and three coordinates."""
    numbers = (draw.uniform(-3, 3), draw.uniform(0, 2), draw.uniform(-3, 3))
    words = (f"_bar_{'_plus_' if n >= 0 else '_minus_'}{abs(n):05.2f}".replace(".", "_dot_") for n in numbers)
    base = kind.removesuffix("Basin")
    return base + "".join(words) + (f"_bar_{kind}" if base != kind else "")


def _problem(name: str, room: Room, goal: str) -> str:
    kinds = sorted(set(room.objects.values()))
    places = sorted(set(room.receptacles.values()))
    declared = ["agent1 - agent", *(f"{thing} - object" for thing in room.objects)]
    declared += [f"{place} - receptacle" for place in room.receptacles]
    declared += [f"{spot} - location" for spot in dict.fromkeys((*room.spot.values(), "loc_bar_start"))]
    declared += [f"{kind}Type - otype" for kind in sorted({*kinds, *THINGS})] + [
        f"{kind}Type - rtype" for kind in places
    ]
    facts = "\n  ".join(_facts(room, kinds, places))
    objects = "\n  ".join(declared)
    return f"(define (problem {name})\n(:domain alfred)\n(:objects\n  {objects})\n(:init\n  {facts})\n(:goal {goal}))\n"


def _facts(room: Room, kinds: list[str], places: list[str]) -> Iterator[str]:
    yield "(= (total-cost) 0)"
    yield "(atLocation agent1 loc_bar_start)"
    for place, kind in room.receptacles.items():
        yield f"(receptacleType {place} {kind}Type)"
        yield f"(receptacleAtLocation {place} {room.spot[place]})"
        if kind in CLOSED:
            yield f"(openable {place})"
    predicates = {"c": "cleanable", "h": "heatable", "k": "coolable", "s": "sliceable", "r": "isReceptacleObject"}
    for thing, kind in room.objects.items():
        yield f"(objectType {thing} {kind}Type)"
        yield f"(inReceptacle {thing} {room.inside[thing]})"
        yield f"(objectAtLocation {thing} {room.spot[room.inside[thing]]})"
        traits = THINGS[kind].traits
        yield f"({'toggleable' if 't' in traits else 'pickupable'} {thing})"
        yield from (f"({predicates[trait]} {thing})" for trait in traits if trait in predicates)
    yield from (f"(canContain {place}Type {kind}Type)" for place in places for kind in kinds if fits(place, kind))


def _goal(word: str, thing: str, place: str) -> str:
    if word == "look":
        lamp = f"(objectType ?t {place}Type) (isToggled ?t) (inReceptacle ?t ?r) (receptacleAtLocation ?r ?l)"
        near = f"(exists (?t - object ?r - receptacle ?a - agent ?l - location) (and {lamp} (atLocation ?a ?l)))"
        return f"(and {near} (exists (?o - object ?a - agent) (and (objectType ?o {thing}Type) (holds ?a ?o))))"
    there = f"(receptacleType ?r {place}Type)"
    first = f"(objectType ?o {thing}Type) (inReceptacle ?o ?r)"
    if word == "two":
        second = f"(objectType ?p {thing}Type) (inReceptacle ?p ?r) (not (= ?o ?p))"
        return f"(exists (?r - receptacle ?o - object ?p - object) (and {there} {first} {second}))"
    treated = f" ({TRAIT[word]} ?o) ({FACT[word]} ?o)" if word in FACT else ""
    return f"(exists (?r - receptacle ?o - object) (and {there} {first}{treated}))"


def lines(split: str) -> Iterator[str]:
    """Yield the games of a split that ship, one line each, as a bundle holds them.

    Raises:
        ValueError: A walkthrough does not win.
    """
    for seed in SPLITS[split]:
        for task_type in TASK_TYPES:
            game = make(task_type, seed)
            play = Play(game)
            for command in game.walkthrough:
                play.step(command)
            if not play.won:
                raise ValueError(f"The walkthrough of {game.id} does not win.")
            row = {"id": game.id, "goal": game.task, "walkthrough": game.walkthrough, "problem": game.problem}
            yield json.dumps(row) + "\n"


def main(folder: Path) -> None:
    """Write the games that ship, one file a split."""
    for split in SPLITS:
        with lzma.open(folder / f"{split}.jsonl.xz", "wt", encoding="utf-8") as file:
            file.writelines(lines(split))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
