"""The reader with one part deliberately damaged: what a diagnosis has to find."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from labference.motion import Arm, grip
from labference.sight import CAMERAS
from labference.wire import Fact, Goal, Observation, Operation, Script, Target
from labference.wire.action import STROKE

from .modular import Modular, Parts, Seen
from .weighing_by_sight import WeighingBySight

MISREADING = 40.0
"""What is taken off every number on the display [g]: the sum of two differences between standards that occur."""
DROPPED = 1 / 3
"""Share of grasps that open in mid-air."""
BIAS = 0.015
"""Error of every located standard, towards the robot [m]."""
LIFTED = 0.12
"""Height of the tool centre point above which a taken standard is in mid-air [m]."""


class MisreadsDisplay(WeighingBySight):
    """Reads every display 40 g too low."""

    def look(self, observation: Observation) -> Script[Seen]:
        """Look as the reader does, and misread."""
        seen = yield from super().look(observation)
        facts = tuple(
            Fact(fact.name, float(fact.value) - MISREADING) if fact.name == "display" else fact for fact in seen.facts
        )
        return replace(seen, facts=facts)


class DropsGrasps(WeighingBySight):
    """Lets go in mid-air in one of three transfers."""

    def __init__(self, arm: Arm, goal: Goal, chance: np.random.Generator) -> None:
        super().__init__(arm, goal)
        self._chance = chance

    def carry_out(self, seen: Seen, operation: Operation, targets: tuple[Target, ...]) -> Script[Observation]:
        """Carry out, unless this is the one."""
        script = super().carry_out(seen, operation, targets)
        if self._chance.random() >= DROPPED:
            return (yield from script)
        observation = seen.observation
        while not _carries(observation):
            try:
                observation = yield script.send(observation) if observation is not seen.observation else next(script)
            except StopIteration as ended:
                found: Observation = ended.value
                return found
        return (yield from grip(self._arm, observation, STROKE, 0.5))


class MisplacesItems(WeighingBySight):
    """Locates every standard 15 mm off."""

    def locate(self, seen: Seen, operation: Operation) -> tuple[Target, ...]:
        """Locate as the reader does, and be wrong."""
        return tuple(
            _shifted(target) if target.name == operation.item else target for target in super().locate(seen, operation)
        )


class Misreader(Modular):
    """The reader with damaged eyes."""

    name, version, cameras = "misreader", "1", CAMERAS

    def assemble(self, goal: Goal, arm: Arm, chance: np.random.Generator) -> Parts:
        """Return the reader's parts with eyes that misread."""
        del chance
        return MisreadsDisplay(arm, goal)


class Dropper(Modular):
    """The reader with damaged hands."""

    name, version, cameras = "dropper", "1", CAMERAS

    def assemble(self, goal: Goal, arm: Arm, chance: np.random.Generator) -> Parts:
        """Return the reader's parts with hands that drop."""
        return DropsGrasps(arm, goal, chance)


class Misplacer(Modular):
    """The reader with damaged localisation."""

    name, version, cameras = "misplacer", "1", CAMERAS

    def assemble(self, goal: Goal, arm: Arm, chance: np.random.Generator) -> Parts:
        """Return the reader's parts with a bias in the room."""
        del chance
        return MisplacesItems(arm, goal)


def _carries(observation: Observation) -> bool:
    robot = observation.senses.robot
    return bool(robot.command[7] < 0.010 and robot.opening > 0.012 and robot.tcp[2] > LIFTED)


def _shifted(target: Target) -> Target:
    x, y, z = target.position
    return replace(target, position=(x - BIAS, y, z))
