"""An inspect-robots run of labference's own `reader`: a policy in their terms that weighs by sight.

    python examples/inspect_robots_reader.py

leaves their log in `runs/inspect-robots/logs` and our records in `runs/inspect-robots`.
"""

from __future__ import annotations

import sys

import inspect_robots
import numpy as np
from inspect_robots import Action, ActionChunk, EmbodimentInfo, Observation, PolicyConfig, PolicyInfo, Scene

from labference.integrations.inspect_robots import LaboratoryEmbodiment, make_task
from labference.integrations.views import observation_of
from labference.policies.reader import Reader
from labference.wire import JOINT, Goal, Move, Stop, Wait
from labference.wire.action import STROKE

CAMERAS = ("labels", "pan", "display")
KINDS, PLACES = ("add", "remove", "wait", "stop"), ("pan", "table")
ITEMS = ("10 g", "20 g", "50 g", "100 g")


class ReaderPolicy:
    """Answer with the chunk of joint targets that the reader wants carried out next."""

    config = PolicyConfig(action_horizon=JOINT.longest_chunk)

    def bind(self, embodiment_info: EmbodimentInfo) -> None:
        self.info = PolicyInfo("reader", embodiment_info.action_space, embodiment_info.observation_space)

    def reset(self, scene: Scene) -> None:
        self._reader, self._seen = Reader(seed=0), 0
        self._goal = Goal(scene.instruction, KINDS, ITEMS, PLACES)
        self._reader.reset(self._goal, JOINT, scene.id)

    def act(self, observation: Observation) -> ActionChunk:
        self._seen += 1
        state = observation.state
        seen = {
            **observation.extra,
            "images": observation.images,
            "joints": state["joint_pos"][:7],
            "velocities": state["joint_vel"],
            "opening": state["gripper_width"],
            "tcp": state["eef_pose"],
        }
        act = self._reader.act(observation_of(seen, self._goal, self._seen))
        while not isinstance(act, Move | Wait | Stop):  # what it says about its own parts has no place here
            act = self._reader.act(observation_of(seen, self._goal, self._seen))
        return chunk(act, np.asarray(observation.extra["command"]))


def chunk(act: Move | Wait | Stop, command: np.ndarray) -> ActionChunk:
    """Return an act of ours as actions of theirs: the gripper is a share of its stroke, holding still repeats."""
    rows = act.commands if isinstance(act, Move) else command[None]
    if isinstance(act, Wait):
        rows = np.tile(command, (max(1, round(act.seconds * JOINT.rate_hz)), 1))
    last = {"look": True, "request_stop": isinstance(act, Stop), "stop_reason": "finished"}
    metas = [{"look": False}] * (len(rows) - 1) + [last]  # frames in the middle of a motion would be drawn for nobody
    actions = [Action(np.append(row[:7], row[7] / STROKE), meta) for row, meta in zip(rows, metas, strict=True)]
    return ActionChunk(actions, JOINT.rate_hz)


def main(out: str = "runs/inspect-robots", episodes: int = 1) -> inspect_robots.EvalLog:
    bench = LaboratoryEmbodiment(cameras=CAMERAS, depth=True, out=out, policy="reader", version="3")
    try:
        return inspect_robots.eval(
            make_task("weighing-basic", episodes, out=out), ReaderPolicy(), bench, log_dir=f"{out}/logs"
        )[0]
    finally:
        bench.close()


if __name__ == "__main__":
    log = main(*sys.argv[1:2])
    print(log.status, {name: value for name, value in log.results.metrics.items()})
