"""Tested systems of the tests, each given to the bench as `lab_policies:Class`, like a third party's."""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np

from labference.motion import Arm, Grasp, go, home, pick, place
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
    Wait,
)
from labference.wire.labware import PAN_HEIGHT
from labference.wire.panda import HOME
from labference.wire.support import SCOPES

HERE = np.array([*HOME, 0.08])
RAISED = np.array((0.0, 0.0, 0.08))
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
            yield Wait(1.0)

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


class SpeakingAnswers(Answers):
    """Say what the test put here at interfaces, without eyes."""

    wants = Capabilities("speaker", "1", sites=SCOPES, accepts=("semantic", "decision", "geometry"))


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
        yield Wait(0.5)
        if type(self).failures > 0:
            type(self).failures -= 1
            raise ServiceFault("The connection to the model was lost.")
        while True:
            yield Wait(1.0)


class NotThere(Scripted):
    """Lose the service behind it at the first question, the first `failures` times it is asked."""

    failures: ClassVar[int] = 99

    def work(self, observation: Observation) -> Script[None]:
        if type(self).failures > 0:
            type(self).failures -= 1
            raise ServiceFault("The connection to the model was lost.")
        while True:
            yield Wait(1.0)


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


class Talks(Scripted):
    """Say two different things about the same evidence, the second one for ever."""

    wants = Capabilities("talker", "1", reports=True)

    def work(self, observation: Observation) -> Script[None]:
        yield Report(Operation("wait"))
        while True:
            yield Report(Operation("stop"))


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

    def weigh_down(self, observation: Observation, depth: float, seconds: float) -> Script[Observation]:
        """Sink until the display moves, then press so that it reads the target, up to `depth` [m] below this pose.

        Pressed a millimetre deep, the pan carries some 1.8 kg, and the display lags by 0.25 s: an integral controller
        with 60 nm per missing gram, ten times a second, is steady.
        """
        force = observation.senses.robot.command
        high, opening = force[:7].copy(), force[7]
        at = self.hands.forward(high)
        low = self.hands.inverse(at[:3] - (0.0, 0.0, depth), at[3:], high)
        began, end = observation.senses.readings[0].value, observation.senses.time + seconds
        sunk, touched = 0.0, False
        while observation.senses.time < end:
            shown = observation.senses.readings[0].value
            touched = touched or shown is None or began is None or abs(shown - began) > 2.0
            missing = self.target - shown if shown is not None else -100.0
            sunk += float(np.clip(missing * 6e-8, -2e-4, 2e-4)) if touched else 2e-4
            row = np.append(high + np.clip(sunk / depth, 0.0, 1.0) * (low - high), opening)
            observation = yield Move(np.array([row, row]))
        return observation


class HoldsOnPan(Hands):
    """Bring the right weight to the pan, press it on until the display reads the target, and never let go."""

    def do(self, observation: Observation) -> Script[Observation]:
        picked = yield from pick(self.hands, observation, self.item)
        assert picked.holding
        above = np.array((*self.spot, PAN_HEIGHT + self.rise + 0.004))
        observation = yield from go(self.hands, picked.observation, above + RAISED, 0.0, 0.0)
        observation = yield from go(self.hands, observation, above, 0.0, 0.0, 0.16, settle=0.5)
        return (yield from self.weigh_down(observation, 0.012, 25.0))


class PressesPan(Hands):
    """Press the closed hand on the pan until the display reads the target."""

    def do(self, observation: Observation) -> Script[Observation]:
        above = np.array((*self.spot, PAN_HEIGHT + 0.016))
        observation = yield from go(self.hands, observation, above + RAISED, 0.0, 0.0)
        observation = yield from go(self.hands, observation, above, 0.0, 0.0, 0.16, settle=0.5)
        return (yield from self.weigh_down(observation, 0.024, 25.0))


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
            yield Move(back_and_forth)
