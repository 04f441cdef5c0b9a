"""A vla-eval model server with labference's own `reader` behind it: it weighs by sight, through the harness's wire.

    python examples/vla_eval_reader.py --port 8000

Then, elsewhere, `vla-eval run -c examples/vla_eval.yaml --no-docker`. A model of yours has its own `predict`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from vla_eval.model_servers.base import SessionContext
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import run_server
from vla_eval.specs import IMAGE_RGB, LANGUAGE, DimSpec

from labference.integrations.views import observation_of
from labference.policies.reader import Reader
from labference.wire import JOINT, Goal, Move, Observation, Stop, Wait

VOCABULARY = {
    "kinds": ("add", "remove", "wait", "stop"),
    "items": ("10 g", "20 g", "50 g", "100 g"),
    "places": ("pan", "table"),
}
"""The words of a weighing bench; the harness hands a server only the instruction."""


class ReaderServer(PredictModelServer):
    """Answer each observation with the chunk of joint targets that the reader wants carried out next."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(chunk_size=None)  # whole chunks reach the bench, which drops what new evidence makes stale
        self._seed = seed
        self._readers: dict[str, Reader] = {}
        self._seen = 0

    def predict(self, obs: dict[str, Any], ctx: SessionContext) -> dict[str, Any]:
        self._seen += 1
        observation = observation_of(obs, Goal(obs["task_description"], **VOCABULARY), self._seen)
        if ctx.is_first:
            self._readers[ctx.session_id] = Reader(seed=self._seed)
            self._readers[ctx.session_id].reset(observation.goal, JOINT, ctx.session_id)
        return answer(self._readers[ctx.session_id], observation)

    def get_observation_params(self) -> dict[str, Any]:
        return {"cameras": ["labels", "pan", "display"], "depth": True}

    def get_action_spec(self) -> dict[str, DimSpec]:
        return {
            "joints": DimSpec("arm", 7, "absolute_joint_positions_rad"),
            "gripper": DimSpec("gripper", 1, "opening_m_0_closed", (0.0, 0.08)),
        }

    def get_observation_spec(self) -> dict[str, DimSpec]:
        return {"image": IMAGE_RGB, "language": LANGUAGE}


def answer(reader: Reader, observation: Observation) -> dict[str, Any]:
    """Return the reader's next motion; what it says about its own parts has no place on this wire."""
    act = reader.act(observation)
    while not isinstance(act, Move | Wait | Stop):
        act = reader.act(observation)
    match act:
        case Move():
            return {"actions": act.commands}
        case Wait():
            periods = max(1, round(act.seconds * JOINT.rate_hz))
            return {"actions": np.tile(observation.senses.robot.command, (min(periods, JOINT.longest_chunk), 1))}
        case _:
            return {"actions": observation.senses.robot.command, "stop": True}


if __name__ == "__main__":
    run_server(ReaderServer)
