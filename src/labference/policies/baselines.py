"""Baselines with good eyes and hands that choose without looking at the display."""

from __future__ import annotations

import numpy as np

from labference.motion import Arm
from labference.sight import CAMERAS
from labference.wire import Fact, Goal, Operation
from labference.wire.labware import WEIGHTS

from .modular import Modular, Parts
from .weighing_by_sight import STOP, WAIT, WeighingBySight

TRIES = 3
"""Transfers of the chosen standard that are tried until it is seen to have changed places."""


class OneStandard(WeighingBySight):
    """Move one given standard, from table to pan or the other way, then stop."""

    def __init__(self, arm: Arm, goal: Goal, grams: int) -> None:
        super().__init__(arm, goal)
        self._name = f"{grams} g"
        self._tries = 0
        self._place: str | None = None

    def decide(self, facts: tuple[Fact, ...], now: float) -> Operation:
        """Return the same move until the standard is seen elsewhere."""
        place = next((str(fact.value) for fact in facts if fact.name == self._name), None)
        if self._place is None:
            self._place = place
        if self._tries >= TRIES or (self._tries and place != self._place):
            return STOP
        if place is None:
            return WAIT
        return Operation("remove", self._name, "table") if place == "pan" else Operation("add", self._name, "pan")

    def done(self, operation: Operation) -> None:
        """Count."""
        self._tries += 1


class Favourite(Modular):
    """Move the same standard in every episode, then declare the task finished."""

    name, version, cameras = "favourite", "2", CAMERAS
    grams = 50
    """The favourite [g]: any standard is right in a quarter of the basic instances; a mid-sized one is easy to hold."""

    def assemble(self, goal: Goal, arm: Arm, chance: np.random.Generator) -> Parts:
        """Return eyes and hands of the reader with a mind that knows one standard."""
        del chance
        return OneStandard(arm, goal, self.grams)


class Random(Modular):
    """Move one standard drawn at random, then declare the task finished."""

    name, version, cameras = "random", "2", CAMERAS

    def assemble(self, goal: Goal, arm: Arm, chance: np.random.Generator) -> Parts:
        """Return eyes and hands of the reader with a mind that draws once."""
        return OneStandard(arm, goal, int(chance.choice(tuple(WEIGHTS))))
