"""Systems whose answers are a function of what robot wires carry; their commands are float32, as vla-eval's are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lab_policies import HERE, Scripted
from labference.wire import Act, Capabilities, Move, Observation, Operation, Script, Wait

THERE = HERE + np.array((0.3, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, -0.04))


def single(rows: np.ndarray) -> np.ndarray:
    """Return rows rounded to what a float32 can hold."""
    return rows.astype(np.float32).astype(float)


def answer(joints: np.ndarray, opening: float, seen: float) -> np.ndarray:
    """Return (n, 8) commands that depend on all that was carried: how long they are, and where they lead."""
    goal = THERE if joints[0] < 0.15 else HERE
    rows = np.linspace(np.append(joints, opening), goal, 8 + int(seen) % 5)
    return single(np.clip(rows[1:], (-2.8,) * 7 + (0.0,), (2.8,) * 7 + (0.08,)))


class Reactive(Scripted):
    """Go back and forth by what joints and a camera say, without memory."""

    wants = Capabilities("reactive", "1", cameras=("front",))

    def act(self, observation: Observation) -> Act:
        robot = observation.senses.robot
        seen = float(observation.senses.frame("front").rgb.mean())
        return Move(answer(np.float32(robot.joints), float(np.float32(robot.opening)), seen))


class Waiting(Scripted):
    """Move, commit, wait and move again: a script with memory that starts over with each episode."""

    wants = Capabilities("waiting", "1", reports=True)

    def work(self, observation: Observation) -> Script[None]:
        del observation
        rows = np.linspace(HERE, THERE, 20)
        while True:
            yield Move(rows, Operation("add", "10 g", "pan"))
            yield Wait(0.7, look=False)
            yield Move(rows[::-1])


class Choosy(Scripted):
    """Needs a camera that the profile does not send."""

    wants = Capabilities("choosy", "1", cameras=("wrist",))


class Broken(Scripted):
    """Raise at the second question, with a word that reaches the records."""

    asked: ClassVar[int] = 0

    def act(self, observation: Observation) -> Act:
        if observation.id > 1:
            raise RuntimeError("the grip is jammed")
        return Move(HERE[None])


class Plastic:
    """An OpenPI-style policy object: `infer(obs, noise=None)`, whose noise decides."""

    def __init__(self) -> None:
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1

    def infer(self, obs: dict[str, Any], noise: np.ndarray | None = None) -> dict[str, Any]:
        rows = np.tile(HERE, (10, 1))
        if noise is not None:
            rows[:, 0] += 0.01 * noise[:, 0]
        return {"actions": rows, "state": obs["joints"]}
