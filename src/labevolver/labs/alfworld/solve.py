"""Solve a game from its problem, with everything known: for walkthroughs of games of our own making."""

from __future__ import annotations

from labevolver.labs.alfworld.game import Game
from labevolver.labs.alfworld.goal import APPLIANCE, Goal, parse_goal
from labevolver.labs.alfworld.house import House, house
from labevolver.labs.alfworld.pddl import parse_problem
from labevolver.labs.alfworld.rules import State, apply, legal


def solve(game: Game) -> tuple[str, ...]:
    """Return commands that win, found by looking into the problem; no shortest ones are promised.

    Raises:
        ValueError: The game lacks a thing, a place or an appliance that its task needs.
    """
    problem = parse_problem(game.problem)
    solver = _Solver(house(problem), State.of(problem))
    goal = parse_goal(game.task)
    for _ in range(goal.count):
        solver.bring(goal)
    return tuple(solver.commands)


class _Solver:
    def __init__(self, fixed: House, state: State) -> None:
        self.fixed, self.state = fixed, state
        self.commands: list[str] = []
        self.brought: list[str] = []

    def bring(self, goal: Goal) -> None:
        thing = self.first(self.fixed.object_type, goal.thing, self.brought)
        place = next(place for held, place in self.state.facts["inreceptacle"] if held == thing)
        self.reach(place)
        self.say(f"take {self.fixed.name[thing]} from {self.fixed.name[place]}")
        if goal.treatment:
            appliance = self.first(self.fixed.receptacle_type, APPLIANCE[goal.treatment])
            self.go(appliance)
            self.say(f"{goal.treatment} {self.fixed.name[thing]} with {self.fixed.name[appliance]}")
        if goal.lamp:
            lamp = self.first(self.fixed.object_type, goal.lamp)
            self.reach(next(place for held, place in self.state.facts["inreceptacle"] if held == lamp))
            self.say(f"use {self.fixed.name[lamp]}")
        if goal.destination:
            destination = self.first(self.fixed.receptacle_type, goal.destination)
            self.reach(destination)
            self.say(f"move {self.fixed.name[thing]} to {self.fixed.name[destination]}")
        self.brought.append(thing)

    def first(self, kinds: dict[str, str], kind: str, but: list[str] | None = None) -> str:
        for thing in sorted(kinds):
            if kinds[thing] == f"{kind}type" and thing in self.fixed.name and thing not in (but or ()):
                return thing
        raise ValueError(f"The game has no {kind}.")

    def go(self, place: str) -> None:
        if self.fixed.location[place] != self.state.location:
            self.say(f"go to {self.fixed.name[place]}")

    def reach(self, place: str) -> None:
        self.go(place)
        if place in self.fixed.openable and not self.state.true("opened", place):
            self.say(f"open {self.fixed.name[place]}")

    def say(self, command: str) -> None:
        apply(self.fixed, self.state, legal(self.fixed, self.state)[command])
        self.commands.append(command)
