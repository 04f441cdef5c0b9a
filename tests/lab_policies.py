"""Tested systems of the tests, each given to the bench as `lab_policies:Class`, like a third party's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from labference.motion import Arm, Grasp, go, home, pick, place
from labference.motion.kinematics import top_down
from labference.motion.place import Placement
from labference.wire import (
    Act,
    ActionSpec,
    Capabilities,
    Goal,
    Move,
    Observation,
    Operation,
    Report,
    Script,
    ServiceFault,
    Stop,
    Wait,
)
from labference.wire.labware import PAN_HEIGHT
from labference.wire.panda import HOME

HERE = np.array([*HOME, 0.08])
SAW: list[Observation] = []
"""What the systems below were delivered, for tests that look over their shoulder."""


class Scripted:
    """Follow a script; subclasses write it."""

    wants: ClassVar[Capabilities] = Capabilities("scripted", "1", actions=("joint", "end_effector"))

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def open(self) -> Capabilities:
        return self.wants

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        self.goal, self.spec, self.session = goal, spec, session
        self.script: Script[None] | None = None

    def act(self, observation: Observation) -> Act:
        if self.script is None:
            self.script = self.work(observation)
            return next(self.script)
        return self.script.send(observation)

    def work(self, observation: Observation) -> Script[None]:
        while True:
            observation = yield Wait(1.0)

    def close(self) -> None:
        pass


class Answers(Scripted):
    """Say what the test put here, then wait."""

    says: ClassVar[tuple[object, ...]] = ()

    def work(self, observation: Observation) -> Script[None]:
        for answer in self.says:
            SAW.append(observation)
            observation = yield answer  # type: ignore[misc]  # nonsense is the point
        while True:
            SAW.append(observation)
            observation = yield Wait(1.0)


class ReportingAnswers(Answers):
    wants = Capabilities("reporter", "1", reports=True)


class Raises(Scripted):
    error: ClassVar[BaseException] = RuntimeError("the grip is jammed")

    def act(self, observation: Observation) -> Act:
        raise self.error


class RaisesOnReset(Scripted):
    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        raise RuntimeError("no weights loaded")


class RaisesOnOpen(Scripted):
    def open(self) -> Capabilities:
        raise RuntimeError("no licence")


class OutOfService(Scripted):
    """Lose the service behind it at the second question, the first `failures` times it is asked."""

    failures: ClassVar[int] = 99

    def work(self, observation: Observation) -> Script[None]:
        observation = yield Wait(0.5)
        if type(self).failures > 0:
            type(self).failures -= 1
            raise ServiceFault("The connection to the model was lost.")
        while True:
            observation = yield Wait(1.0)


class Slow(Scripted):
    """Think for 0.2 s before every answer."""

    def act(self, observation: Observation) -> Act:
        time.sleep(0.2)
        return super().act(observation)


class OnlyJoint(Scripted):
    wants = Capabilities("only joint", "1", actions=("joint",))


class OddCamera(Scripted):
    wants = Capabilities("odd", "1", cameras=("keyhole",))


class Vandal(Scripted):
    """Overwrite everything it is handed."""

    wants = Capabilities("vandal", "1", cameras=("front",), depth=True, readings=True)

    def work(self, observation: Observation) -> Script[None]:
        while True:
            robot = observation.senses.robot
            for array in (robot.joints, robot.velocities, robot.tcp, robot.command):
                array[:] = 1e9
            for frame in observation.senses.frames:
                frame.rgb[:] = 0
                frame.pose[:] = np.nan
            observation = yield Wait(0.5)


class AlternatingReports(Scripted):
    """Never let time pass, and never say the same thing twice in a row."""

    wants = Capabilities("talker", "1", reports=True)

    def work(self, observation: Observation) -> Script[None]:
        while True:
            for kind in ("wait", "stop"):
                observation = yield Report(Operation(kind))


class Hands(Scripted):
    """Skills at places that the test knows and puts here."""

    wants = Capabilities("hands", "1", readings=True)
    target: ClassVar[float] = 0.0
    item: ClassVar[Grasp]
    spot: ClassVar[tuple[float, float]] = (0.0, 0.0)
    rise: ClassVar[float] = 0.02
    arm: ClassVar[Arm | None] = None

    def work(self, observation: Observation) -> Script[None]:
        if Hands.arm is None:
            Hands.arm = Arm()
        self.hands = Hands.arm
        observation = yield from self.do(observation)
        while True:
            observation = yield Wait(0.5)

    def do(self, observation: Observation) -> Script[Observation]:
        raise NotImplementedError

    def weigh_down(self, observation: Observation, low: np.ndarray, seconds: float) -> Script[Observation]:
        """Sink from the pose in force towards joints `low`, steered by the display until it reads the target.

        An integral controller on the share of the way: a millimetre is some hundred grams, the display wants one.
        """
        high, opening = observation.senses.robot.command[:7].copy(), observation.senses.robot.command[7]
        share, end = 0.0, observation.senses.time + seconds
        while observation.senses.time < end:
            shown = observation.senses.readings[0].value
            missing = self.target - (shown if shown is not None else 0.0)
            share += float(np.clip(missing * 2e-5, -0.01, 0.01))
            row = np.append(high + share * (low - high), opening)
            observation = yield Move(np.array([row, row]))
        return observation


class HoldsOnPan(Hands):
    """Bring the right weight to the pan, press it on until the display reads the target, and never let go."""

    def do(self, observation: Observation) -> Script[Observation]:
        picked = yield from pick(self.hands, observation, self.item)
        assert picked.holding
        held = 0.0
        above = np.array((*self.spot, PAN_HEIGHT + self.rise + 0.004))
        observation = yield from go(self.hands, picked.observation, above + (0, 0, 0.08), 0.0, held)
        observation = yield from go(self.hands, observation, above, 0.0, held, 0.16, settle=0.5)
        low = self.hands.inverse(above - (0, 0, 0.012), top_down(0.0), observation.senses.robot.command[:7])
        return (yield from self.weigh_down(observation, low, 25.0))


class PressesPan(Hands):
    """Press the closed hand on the pan until the display reads the target."""

    def do(self, observation: Observation) -> Script[Observation]:
        above = np.array((*self.spot, PAN_HEIGHT + 0.016))
        observation = yield from go(self.hands, observation, above + (0, 0, 0.08), 0.0, 0.0)
        observation = yield from go(self.hands, observation, above, 0.0, 0.0, 0.16, settle=0.5)
        low = self.hands.inverse(above - (0, 0, 0.024), top_down(0.0), observation.senses.robot.command[:7])
        return (yield from self.weigh_down(observation, low, 25.0))


class PutsAndRests(Hands):
    """Put the right weight on the pan, let go, and leave for home."""

    def do(self, observation: Observation) -> Script[Observation]:
        picked = yield from pick(self.hands, observation, self.item)
        at = Placement((*self.spot, PAN_HEIGHT + self.rise + 0.0015), 0.0, 0.05)
        observation = yield from place(self.hands, picked.observation, at)
        return (yield from home(self.hands, observation))


class Swings(Scripted):
    """Send long chunks back and forth, so that there is always a queue to drop."""

    def work(self, observation: Observation) -> Script[None]:
        there = HERE.copy()
        there[0] = 0.3
        back_and_forth = np.vstack([np.linspace(HERE, there, 20), np.linspace(there, HERE, 20)])
        while True:
            observation = yield Move(back_and_forth)


def words(operation: Operation) -> Iterator[str]:
    """Return the non-empty words of an operation."""
    return iter(str(operation).split())
