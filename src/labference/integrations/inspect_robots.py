"""An inspect-robots embodiment, tasks and scorers, found through the entry points of this package.

A scene has an opaque id and the words of the goal; which instance it is, the embodiment looks up. The seed of a trial
decides nothing but the policy seed. Scorers read the verdict in our records after the trial.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from inspect_robots.embodiment import EmbodimentInfo
from inspect_robots.errors import ConfigError, EmbodimentFault
from inspect_robots.rollout import TrialRecord
from inspect_robots.scene import Scene, Target
from inspect_robots.scorer import Score
from inspect_robots.spaces import ActionSemantics, Box, CameraSpec, ObservationSpace, StateField, StateSpec
from inspect_robots.task import Task, TaskEnvelope
from inspect_robots.types import Action, StepResult
from inspect_robots.types import Observation as Delivered

import labference
from labference.bench.plan import Plan
from labference.records import folder, strict
from labference.tasks import find_task
from labference.truth.draw import draw
from labference.truth.identity import PlanError
from labference.wire import ActionSpec, Capabilities, Observation, ServiceFault, Stop
from labference.wire.action import STROKE

from .episodes import Episodes, commands
from .views import view

OUT = "runs/inspect-robots"
TRIALS = "trials.jsonl"
"""In the folder of the records: which trial has which attempt."""
MOST_SCENES = 10_000
"""Scenes of a campaign that an embodiment recognises."""
JOINT_SPEED = 2.61
"""Largest joint velocity of the Panda [rad/s], from the manufacturer's interface specification."""
COMPLETED, SUCCESS = "completed", "success"
"""How an episode ends whose terminal window was held: our word, and the harness's."""
DOCS = """Franka Panda on a laboratory bench, 20 commands per simulated second; physics pauses in between.
Actions are the seven joint targets in rad (absolute; joint 1 at the base) and the gripper, 0 closed and 1 open (80 mm).
`joint_pos` is measured in the same order and units. `eef_pose` is position in m and wxyz quaternion in the frame of the
robot base: x forward, y left, z up; at rest the gripper points down. Frames of all cameras come with every step."""


class LaboratoryEmbodiment:
    """The bench of one labference task as body and world.

    task, seed, instances  what the scenes were made from (`make_task`), so that their ids are recognised
    action                 "joint" or "end_effector"
    cameras, depth         frames in `images`; with depth, `extra` has `depth`, `intrinsics` and `poses` by camera
    out                    folder for the records and for `trials.jsonl`, which the scorers read
    policy, version        who is tested, as the records name it
    """

    def __init__(
        self,
        task: str = "weighing-basic",
        seed: int = 0,
        instances: str = "",
        action: str = "joint",
        cameras: str | tuple[str, ...] = ("front", "wrist"),
        depth: bool = False,
        out: str = OUT,
        policy: str = "policy",
        version: str = "0",
        episodes: int = 0,
    ) -> None:
        names = tuple(cameras.split(",")) if isinstance(cameras, str) and cameras else tuple(cameras)
        plan = Plan(task, "inspect-robots", 1, seed=seed, action=action, instances=instances)
        self._episodes = Episodes(
            plan, Capabilities(policy, str(version), cameras=names, depth=depth), out, episodes, exposed=False
        )
        self._plan, self._out = self._episodes.plan, Path(out)
        self._scenes = {scene_id(task, seed, instances, index): index for index in range(MOST_SCENES)}
        self._observation: Observation | None = None
        self.info = self._describe()

    def bind_task(self, envelope: TaskEnvelope) -> None:
        """Let our budget be the horizon of the harness, so that both end an episode at the same step."""
        self._plan = replace(self._plan, budget=envelope.max_steps)

    def reset(self, scene: Scene, *, seed: int | None = None) -> Delivered:
        """Begin the episode that `scene` names; one that is under way ends as unresolved."""
        if scene.id not in self._scenes:
            raise ConfigError(
                f"Scene {scene.id!r} is none of {self._plan.task} with seed {self._plan.seed}; give embodiment and "
                "task the same task, seed and instances."
            )
        plan = replace(self._plan, policy_seed=seed or 0)
        try:
            self._observation = self._episodes.begin(plan, self._scenes[scene.id])
        except PlanError as error:
            raise ConfigError(str(error)) from error
        except ServiceFault as fault:
            raise EmbodimentFault(str(fault)) from fault
        assert self._episodes.path is not None  # it has begun
        with (self._out / TRIALS).open("a", encoding="utf-8") as file:
            path = self._episodes.path.relative_to(self._out).as_posix()
            file.write(json.dumps({"scene": scene.id, "seed": seed, "path": path}) + "\n")
        return self._shown()

    def step(self, action: Action) -> StepResult:
        """Carry out one command.

        With `request_stop` in its meta, the task is declared finished after it; with `look` false, the observation
        that follows has no frames unless there is new evidence, which saves drawing them within a chunk.
        """
        move = commands(self._metres(action.data), self._episodes.spec)
        found = self._episodes.answer(replace(move, look=bool(action.meta.get("look", True))))
        if found is not None and action.meta.get("request_stop"):
            found = self._episodes.answer(Stop())
        if found is not None:
            self._observation = found
            return StepResult(self._shown(), 0.0)
        result = self._episodes.result
        assert result is not None  # it has just ended
        if result.status != "scored":
            raise EmbodimentFault(result.sentence)
        self._observation = self._episodes.last()
        done, cut = result.reason == COMPLETED, result.reason == "budget"
        reason = SUCCESS if done else result.reason
        return StepResult(self._shown(), float(done), not cut, reason, cut, {"sentence": result.sentence})

    def close(self) -> None:
        """End an episode that is under way as unresolved, and release the laboratory."""
        self._episodes.close()

    def _metres(self, values: np.ndarray) -> np.ndarray:
        """Return a command in our units; the gripper comes as a share of its stroke."""
        row = np.array(values, np.float64).ravel()
        return np.append(row[:-1], row[-1] * STROKE)

    def _shown(self) -> Delivered:
        assert self._observation is not None  # set by reset
        found = view(self._observation)
        share = found["opening"] / STROKE
        state = {
            "joint_pos": np.append(found.pop("joints"), share),
            "joint_vel": found.pop("velocities"),
            "eef_pose": found.pop("tcp"),
            "gripper_width": found.pop("opening"),
        }
        images, instruction, time = found.pop("images", {}), found.pop("instruction"), found["time"]
        return Delivered(images, state, instruction, dict.fromkeys(images, time), time, found)

    def _describe(self) -> EmbodimentInfo:
        wants, world, spec = self._episodes.capabilities, self._episodes.laboratory.world, self._episodes.spec
        sizes = {camera: world.size(camera) for camera in wants.cameras}
        fields = (
            StateField("joint_pos", (8,), "rad"),
            StateField("joint_vel", (7,), "rad/s"),
            StateField("eef_pose", (7,), "m+quat"),
            StateField("gripper_width", (1,), "m"),
        )
        return EmbodimentInfo(
            name="labference",
            action_space=action_box(spec),
            observation_space=ObservationSpace(
                tuple(CameraSpec(camera, high, wide) for camera, (wide, high) in sizes.items()),
                state=StateSpec(fields),
            ),
            control_hz=spec.rate_hz,
            is_simulated=True,
            capabilities=frozenset({"seedable", "resettable", "renderable", "privileged_success"}),
            docs=DOCS,
            environment_id=f"labference {labference.__version__}",
            environment_revision=world.model_digest,
        )


def action_box(spec: ActionSpec) -> Box:
    """Return the range and meaning of an action: our profile, with the gripper as a share of its stroke."""
    low, high = np.array(spec.low), np.array(spec.high)
    low[-1], high[-1] = 0.0, 1.0
    if spec.space == "joint":
        labels = tuple(f"joint{number}" for number in range(1, 8))
        step: float | None = JOINT_SPEED / spec.rate_hz
        semantics = ActionSemantics(
            "joint_pos", gripper="continuous", dim_labels=(*labels, "gripper"), max_step=(*(step,) * 7, 1.0)
        )
    else:
        labels = ("x", "y", "z", "rx", "ry", "rz", "gripper")
        semantics = ActionSemantics("eef_delta_pose", "axis_angle", "continuous", "base", labels)
    return Box((spec.size,), low, high, semantics)


def make_task(
    task: str = "weighing-basic", episodes: int = 10, seed: int = 0, instances: str = "", out: str = OUT, steps: int = 0
) -> Task:
    """Return `episodes` scenes of a labference task, scored by our verdicts; `steps` stands in for its budget."""
    contract = find_task(task)
    goals = [contract.goal(draw(contract, seed, index, 0, instances)[0]) for index in range(episodes)]
    return Task(
        name=f"labference-{contract.name}",
        scenes=[Scene(scene_id(task, seed, instances, i), goal.instruction) for i, goal in enumerate(goals)],
        scorer=[completion_scorer(out), choice_scorer(out)],
        max_steps=steps or contract.budget_steps,
    )


def scene_id(task: str, seed: int, instances: str, index: int) -> str:
    """Return the name of a scene, which says nothing of its instance."""
    return hashlib.sha256(f"{task} {seed} {instances} {index}".encode()).hexdigest()[:12]


@dataclass(frozen=True)
class VerdictScorer:
    """Read the verdict that the records in `out` hold of a trial."""

    name: str
    out: str

    def __call__(self, record: TrialRecord, target: Target | None) -> Score:
        """Return the score of a trial, with its numerators and denominators."""
        trial = (record.scene_id, record.seed)
        lines = [line for line in strict.read_lines(Path(self.out) / TRIALS) if (line["scene"], line["seed"]) == trial]
        path = Path(self.out) / lines[-1]["path"] / folder.SCORES if lines else None
        if path is None or not path.exists():
            raise ConfigError(f"{self.out} has no scores of scene {record.scene_id!r}; give the embodiment's out.")
        verdict = strict.read(path)["verdict"]
        decisions = [entry for entry in verdict["decisions"] if entry["physical"]]
        counts = {
            "opportunities": len(decisions),
            "chosen": sum(entry["choice"] is not None for entry in decisions),
            "correct": sum(entry["correct"] is True for entry in decisions),
            "confirmed": verdict["correct_confirmed"],
        }
        if self.name == "labference_completion":
            return Score(verdict["valid"], "the terminal window was held without a violation", counts)
        return Score(bool(decisions) and decisions[0]["correct"] is True, "the first choice was legal", counts)


def completion_scorer(out: str = OUT) -> VerdictScorer:
    """Score whether the task was validly completed."""
    return VerdictScorer("labference_completion", out)


def choice_scorer(out: str = OUT) -> VerdictScorer:
    """Score whether the first choice was legal; one that cannot be identified is not."""
    return VerdictScorer("labference_choice", out)
