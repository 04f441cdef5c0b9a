"""A vla-eval benchmark: `benchmark: "labference.integrations.vla_eval:LabferenceBenchmark"` in its YAML.

The harness hands a model server whatever a benchmark gives it: the fields of a task, observations, and at the end of
each episode its metrics. So tasks have opaque names, observations are delivered ones, and `blind` keeps metrics from
the server. Records are ours as well, so `labference score`, `audit` and `report` work on what a run leaves.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
from vla_eval.benchmarks.base import Benchmark
from vla_eval.recording import EpisodeRecorder
from vla_eval.render import apply_env
from vla_eval.specs import IMAGE_RGB, LANGUAGE, DimSpec

from labference.bench.plan import Plan
from labference.truth.identity import PROCESS, PlanError
from labference.wire import Capabilities, Move, Observation, Stop
from labference.wire.action import STROKE
from labference.wire.panda import HOME

from .episodes import Episodes, commands
from .views import view

COUNTS = ("episodes", "scored", "unresolved", "interface_failures", "completed", "opportunities", "chosen", "correct")
"""What an episode adds to the totals: numerators and denominators, which the harness adds up as `sum_...`."""
SOFTWARE = {"LIBGL_ALWAYS_SOFTWARE": "1"}
"""Makes drivers draw on the CPU; which of them there is, the laboratory finds out itself."""
RUN = ("task", "seed", "first", "out", "budget", "action", "instances", "policy", "version", "episodes", "blind")
"""What the parameter `run` takes."""


class LabferenceBenchmark(Benchmark):
    """One labference task as a vla-eval benchmark.

    run       what is evaluated, a mapping that only the YAML gives: `task` (weighing-basic), `seed` of the campaign,
              `first` episode, `out` (runs/vla-eval), `budget`, `action` (joint), `instances`, name of the `policy`
              and its `version` in the records, `episodes` that the campaign counts at least, and `blind`
    cameras   names of the cameras in `images`; the model server may name them in its observation parameters
    depth     whether `depth`, `intrinsics` and `poses` are sent as well
    readings  whether the instruments' data ports are

    An action is `{"actions": (size,) or (n, size)}` in the units of the profile: a chunk of n is carried out at once,
    and new evidence drops the rest of it. `{"stop": True}` declares the task finished. What cannot be admitted ends
    the episode as an interface failure.
    """

    render_backends: ClassVar[frozenset[str]] = frozenset({"gpu", "cpu"})
    _ALL_RECORD_FIELDS = frozenset({"time"})

    @classmethod
    def configure_render(cls, mode: str) -> dict[str, str]:
        """Choose where frames are drawn, before anything else is loaded."""
        return apply_env(SOFTWARE) if mode == "cpu" else {}

    def __init__(
        self,
        run: dict[str, Any] | None = None,
        cameras: tuple[str, ...] | list[str] = (),
        depth: bool = False,
        readings: bool = False,
    ) -> None:
        super().__init__()
        chosen = dict(run or {})
        if unknown := sorted(set(chosen) - set(RUN)):
            raise PlanError(f"There is no {unknown[0]!r} in params.run; {', '.join(RUN)} would work.")
        self._first, self._blind = int(chosen.get("first", 0)), bool(chosen.get("blind", False))
        plan = Plan(
            str(chosen.get("task", "weighing-basic")),
            "vla-eval",
            1,
            seed=int(chosen.get("seed", 0)),
            action=str(chosen.get("action", "joint")),
            budget=chosen.get("budget"),
            instances=str(chosen.get("instances", "")),
            transport=PROCESS,
        )
        capabilities = Capabilities(
            str(chosen.get("policy", "model server")),
            str(chosen.get("version", "0")),
            cameras=tuple(cameras),
            depth=depth,
            readings=readings,
        )
        out = os.path.expanduser(str(chosen.get("out", "runs/vla-eval")))
        self._episodes = Episodes(plan, capabilities, out, int(chosen.get("episodes", 0)), exposed=False)
        self._episodes.check_remaining()
        self._observation: Observation | None = None
        self._recorder: EpisodeRecorder | None = None

    def get_tasks(self) -> list[dict[str, Any]]:
        """Return one task with an opaque name: its fields are sent to the model server."""
        return [{"name": "bench", "suite": "labference"}]

    async def start_episode(self, task: dict[str, Any], recorder: EpisodeRecorder | None = None) -> None:
        """Begin the next episode; one that the harness gave up on ends as unresolved."""
        # The harness sends what is left in `task` to the model server, which need not know the episode's number.
        index = self._first + int(task.pop("episode_idx", 0))
        self._recorder = recorder
        self._observation = self._episodes.begin(self._episodes.plan, index)

    async def apply_action(self, action: dict[str, Any]) -> None:
        """Carry out one command or a chunk of them."""
        found = self._episodes.answer(self._act(action))
        if found is not None:
            self._observation = found
        elif self._ended() == "scored":
            self._observation = self._episodes.last()
        self._record()

    async def get_observation(self) -> dict[str, Any]:
        """Return the newest observation: `images` by camera, `task_description`, `state` (8,), and all of `view`."""
        assert self._observation is not None  # asked after start_episode only
        found = view(self._observation)
        found["task_description"] = found.pop("instruction")
        found["state"] = np.append(found["joints"], found["opening"]).astype(np.float32)
        return found

    async def is_done(self) -> bool:
        """Return whether the episode has ended."""
        return self._episodes.result is not None

    async def get_time(self) -> float:
        """Return simulated time [s]."""
        return self._time()

    async def get_result(self) -> dict[str, Any]:
        """Return what the episode adds to the totals; where `blind`, nothing that says how it went."""
        if self._episodes.result is None:
            self._episodes.abandon(
                f"The harness ended the episode after {self._time():g} s of simulated time, before its budget of "
                f"{self._episodes.budget} control steps; raise max_steps, or give a budget in params.run."
            )
        if self._blind:
            return {"success": False, "episodes": 1}
        return self._counts()

    def get_metric_keys(self) -> dict[str, str]:
        """Return how the harness adds episodes up."""
        if self._blind:
            return {"episodes": "sum"}
        return {"success": "mean", **{name: "sum" for name in COUNTS}}

    def get_metadata(self) -> dict[str, Any]:
        """Return the most steps of an episode: with one command each, its whole budget."""
        return {"max_steps": self._episodes.budget}

    def get_action_spec(self) -> dict[str, DimSpec]:
        """Declare the commands of the profile."""
        spec = self._episodes.spec
        arm = "absolute_joint_positions_rad" if spec.space == "joint" else "delta_xyz_rotvec_robot_base"
        return {
            "joints" if spec.space == "joint" else "pose": DimSpec("arm", spec.size - 1, arm),
            "gripper": DimSpec("gripper", 1, "opening_m_0_closed", (0.0, spec.high[-1])),
        }

    def get_observation_spec(self) -> dict[str, DimSpec]:
        """Declare images, words and the state vector."""
        state = DimSpec("state", 8, "joint_positions_rad7_opening_m1")
        images = {"image": IMAGE_RGB} if self._episodes.capabilities.cameras else {}
        return {**images, "language": LANGUAGE, "state": state}

    def get_hold_action(self, last_action: dict[str, Any] | None) -> dict[str, Any]:
        """Return the command that keeps the robot where it is told to be, at home before the first observation."""
        seen = self._observation
        command = np.array((*HOME, STROKE)) if seen is None else seen.senses.robot.command
        if self._episodes.spec.space == "joint":
            return {"actions": command.copy()}
        return {"actions": np.append(np.zeros(6), command[7])}

    def cleanup(self) -> None:
        """End an episode that is under way as unresolved, and release the laboratory."""
        self._episodes.close()

    def render(self) -> np.ndarray:
        """Return what the camera `front` shows, (h, w, 3) uint8."""
        return self._episodes.laboratory.world.frame("front").rgb

    def _act(self, action: dict[str, Any]) -> Move | Stop | None:
        """Return the act that a model server's answer means; an answer without actions is refused by name."""
        if action.get("stop") is True:
            return Stop()
        return commands(action["actions"], self._episodes.spec) if "actions" in action else None

    def _counts(self) -> dict[str, Any]:
        """Return numerators and denominators of one episode."""
        result, scores = self._episodes.result, self._episodes.scores
        assert result is not None  # it has ended
        verdict = {} if scores is None else scores["verdict"]
        decisions = [entry for entry in verdict.get("decisions", ()) if entry["physical"]]
        completed = bool(verdict.get("valid", False))
        counted = {
            "episodes": 1,
            "scored": int(result.status == "scored"),
            "unresolved": int(result.status != "scored"),
            "interface_failures": int(result.reason == "interface_failure"),
            "completed": int(completed),
            "opportunities": len(decisions),
            "chosen": sum(entry["choice"] is not None for entry in decisions),
            "correct": sum(entry["correct"] is True for entry in decisions),
        }
        return {"success": completed, **counted}

    def _time(self) -> float:
        return 0.0 if self._observation is None else self._observation.senses.time

    def _ended(self) -> str:
        return "" if self._episodes.result is None else self._episodes.result.status

    def _record(self) -> None:
        """Give the harness's recorder simulated time and the frame of the first camera; the rest is in our records."""
        if self._recorder is None or self._observation is None:
            return
        self._recorder.record_step(time=self._time())
        for frame in self._observation.senses.frames[:1]:
            self._recorder.record_video(frame.rgb)
