"""Gymnasium environments: `import labference.integrations.gymnasium`, then `make("labference/WeighingBasic-v1")`.

One environment step is one control period (or a chunk of them), physics pauses in between, and nothing of what an
evaluator knows is in an observation or in `info`. Reward is 1.0 when the episode ends because the task's terminal
window was held, which the contract makes public, and 0.0 everywhere else.
"""

from __future__ import annotations

import re
import string
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from labference.bench.plan import Plan
from labference.tasks import all_tasks, find_task
from labference.truth.draw import draw
from labference.truth.identity import FAST, PHYSICS, PlanError
from labference.truth.measurement import QUANTITIES
from labference.wire import PROFILES, Capabilities, Observation

from .episodes import Episodes, commands
from .performing import PERFORM, Operations
from .views import view

OPTIONS = ("index", "instance", "policy_seed", "record")
"""What `reset(options=...)` takes."""
CHARACTERS = string.printable + "µ°²³·×–"
"""What instructions are written with."""
LONGEST_INSTRUCTION = 1000
"""Room for an instruction [characters]."""
FASTEST, FARTHEST = 100.0, 2.0
"""Bounds that only a broken simulation would leave: of joint velocities [rad/s] and positions [m]."""
SLACK = 0.1
"""How far measured joints [rad] and openings [m] may lie beyond the range of their commands."""
HEAVIEST = 1e6
"""Bound of what a data port says, in its own unit."""
SEEDS = 2**31
"""Campaigns that an environment without a seed draws from."""
COMPLETED = "completed"


class LaboratoryEnv(gymnasium.Env[dict[str, Any], Any]):
    """One laboratory bench.

    task               name of a task, or `module:TASKS/name`
    action             action profile: "joint" (8,) absolute targets, or "end_effector" (7,) increments; or "perform",
                       an operation that the bench carries out with its own hands, where it does (`operations`)
    fidelity           "physics", with the simulated arm, or "fast", for "perform" and without cameras
    cameras            names of the cameras in the observation; none renders nothing and is fast
    depth, readings    whether depth with calibration, and the instruments' data ports, are observed as well
    commands_per_step  control periods per step; more than 1 makes an action of shape (n, size), and new evidence
                       drops the rest of it
    budget             control steps per episode, in place of the contract's
    out                folder for the records; without one nothing is kept
    policy, version    who is tested, as the records name it; `tool` is who runs the episodes
    episodes           how many episodes each campaign counts at least; one that is never begun is unresolved
    expose_evaluator   whether `info["evaluator"]` carries the live scores: for training, and said in every record

    `reset(seed=s)` begins episode 0 of campaign s, which is episode 0 of `labference run --seed s`; every further
    `reset()` begins the next. Options choose another `index`, an `instance` (LIST or LIST:LABEL) and a `policy_seed`;
    with `record` false the episode is practice: it leaves no record, and the next `reset()` begins what it would have.
    `info` holds `instruction`, `time` (simulated [s]), and after the last step `ended` (completed, budget,
    interface_failure, or invalid for a failure that is not the policy's) with a `sentence` where there is one.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012  # as the base has it

    def __init__(
        self,
        task: str,
        *,
        action: str = "joint",
        cameras: tuple[str, ...] = (),
        depth: bool = False,
        readings: bool = False,
        commands_per_step: int = 1,
        budget: int | None = None,
        out: str | None = None,
        policy: str = "agent",
        version: str = "0",
        episodes: int = 0,
        expose_evaluator: bool = False,
        rendering: str = "fast",
        tool: str = "gymnasium",
        render_mode: str | None = None,
        fidelity: str = PHYSICS,
    ) -> None:
        performs = action == PERFORM
        self.operations = _operations(task, commands_per_step) if performs else None
        if fidelity == FAST and (not performs or render_mode is not None):
            asked = f"action {action!r}" if not performs else f"render_mode {render_mode!r}"
            raise PlanError(f"The fast laboratory has no arm and no camera for {asked}; action 'perform' would work.")
        capabilities = Capabilities(
            policy, version, cameras=tuple(cameras), depth=depth, readings=readings, performs=performs
        )
        profile = "joint" if performs else action
        plan = Plan(task, tool, 1, action=profile, render=rendering, budget=budget, fidelity=fidelity)
        self._episodes = Episodes(plan, capabilities, out, episodes, exposed=expose_evaluator)
        self._exposed = expose_evaluator
        self._campaign: int | None = None
        self._next = 0
        self._observation: Observation | None = None
        self.render_mode = render_mode
        self.action_space: spaces.Space[Any] = (
            action_space(action, commands_per_step) if self.operations is None else self.operations.space()
        )
        self.observation_space: spaces.Dict = observation_space(self._episodes)

    @property
    def budget(self) -> int:
        """Return the most control steps that an episode takes."""
        return self._episodes.budget

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode; one that is under way ends as unresolved."""
        super().reset(seed=seed)
        chosen = dict(options or {})
        if unknown := sorted(set(chosen) - set(OPTIONS)):
            raise PlanError(f"There is no reset option {unknown[0]!r}; {', '.join(OPTIONS)} would work.")
        if seed is not None or self._campaign is None:
            self._campaign, self._next = int(self.np_random.integers(SEEDS)) if seed is None else seed, 0
        index = _whole("index", chosen.get("index", self._next))
        plan = replace(
            self._episodes.plan,
            seed=self._campaign,
            instances=str(chosen.get("instance", "")),
            policy_seed=_whole("policy_seed", chosen.get("policy_seed", 0)),
        )
        keep = bool(chosen.get("record", True))
        self._observation = self._episodes.begin(plan, index, keep=keep)
        if keep:
            self._next = index + 1
        return self._shown(), self._info()

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out one action; what cannot be admitted ends the episode as an interface failure."""
        if self._observation is None or self._episodes.result is not None:
            raise ResetNeeded("No episode is under way; call reset() first.")
        operations = self.operations
        act = commands(action, self._episodes.spec) if operations is None else operations.act(action)
        found = self._episodes.answer(act)
        if found is not None:
            self._observation = found
            return self._shown(), 0.0, False, False, self._info()
        result = self._episodes.result
        assert result is not None  # the episode has just ended
        if result.status == "scored":
            self._observation = self._episodes.last()
        truncated = result.reason in ("budget", "invalid")
        reward = float(result.reason == COMPLETED)
        return self._shown(), reward, not truncated, truncated, self._info()

    def render(self) -> np.ndarray:
        """Return what the camera `front` shows, (h, w, 3) uint8; it is no part of the observation."""
        return self._episodes.laboratory.world.frame("front").rgb

    def close(self) -> None:
        """End an episode that is under way as unresolved, and release the laboratory."""
        self._episodes.close()

    def _shown(self) -> dict[str, Any]:
        assert self._observation is not None  # set by reset
        found = view(self._observation)
        del found["time"]
        return found

    def _info(self) -> dict[str, Any]:
        """Return what may be known: words of the goal, simulated time, and how the episode ended."""
        assert self._observation is not None  # set by reset
        info: dict[str, Any] = {
            "instruction": self._observation.goal.instruction,
            "time": self._observation.senses.time,
        }
        result = self._episodes.result
        if result is not None:
            scored = result.status == "scored"  # otherwise the reason may name what is hidden, and it is tried again
            sentence = result.sentence if scored else f"The laboratory failed; {result.path} says why."
            info |= {"ended": result.reason, "sentence": sentence}
        if self._exposed:
            info["evaluator"] = {"scores": self._episodes.snapshot(), "verdict": self._verdict()}
        return info

    def _verdict(self) -> dict[str, Any]:
        scores = self._episodes.scores
        return {} if scores is None else dict(scores["verdict"])


def _operations(task: str, commands_per_step: int) -> Operations:
    """Return the operations of a task, one a step."""
    if commands_per_step != 1:
        raise PlanError(f"A step of {commands_per_step} operations is none; 1 would work.")
    contract = find_task(task)
    return Operations(task, contract.goal(draw(contract, 0, 0)[0]))


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise PlanError(f"The reset option {name!r} is {value!r}; a whole number, 0 or more, would work.")
    return int(value)


def action_space(action: str, commands_per_step: int) -> spaces.Box:
    """Return the range of the commands of a profile, (size,) for one and (n, size) for several."""
    spec = PROFILES[action]
    if not 1 <= commands_per_step <= spec.longest_chunk:
        raise PlanError(f"A step of {commands_per_step} commands is none; 1 to {spec.longest_chunk} would work.")
    low, high = np.array(spec.low), np.array(spec.high)
    if commands_per_step > 1:
        low, high = (np.tile(bound, (commands_per_step, 1)) for bound in (low, high))
    return spaces.Box(low, high, dtype=np.float64)


def observation_space(episodes: Episodes) -> spaces.Dict:
    """Return what `view` shows of an observation, the time apart."""
    joint, wants, world = PROFILES["joint"], episodes.capabilities, episodes.laboratory.world
    low, high = np.array(joint.low), np.array(joint.high)
    place, turn = np.full(3, FARTHEST), np.ones(4)
    found: dict[str, spaces.Space[Any]] = {
        "instruction": spaces.Text(LONGEST_INSTRUCTION, charset=CHARACTERS),
        "joints": spaces.Box(low[:7] - SLACK, high[:7] + SLACK, dtype=np.float64),
        "velocities": spaces.Box(-FASTEST, FASTEST, (7,), np.float64),
        "opening": spaces.Box(-SLACK, high[7] + SLACK, (1,), np.float64),
        "tcp": spaces.Box(np.append(-place, -turn), np.append(place, turn), dtype=np.float64),
        "command": spaces.Box(low, high, dtype=np.float64),
    }
    sizes = {camera: world.size(camera) for camera in wants.cameras}
    if sizes:
        found["images"] = spaces.Dict(
            {camera: spaces.Box(0, 255, (high, wide, 3), np.uint8) for camera, (wide, high) in sizes.items()}
        )
    if sizes and wants.depth:
        far = np.iinfo(np.uint16).max
        found["depth"] = spaces.Dict(
            {camera: spaces.Box(0, far, (high, wide), np.uint16) for camera, (wide, high) in sizes.items()}
        )
        calibration = spaces.Box(-1e4, 1e4, (3, 3), np.float64)
        found["intrinsics"] = spaces.Dict({camera: calibration for camera in sizes})
        pose = spaces.Box(-1e4, 1e4, (4, 4), np.float64)
        found["poses"] = spaces.Dict({camera: pose for camera in sizes})
    dipped = [f"{meter} {quantity}" for meter in world.channels.meters for quantity in QUANTITIES]
    if wants.readings and (world.channels.cells or dipped):
        port = spaces.Box(np.array((-HEAVIEST, 0, 0)), np.array((HEAVIEST, 1, 1)), dtype=np.float64)
        found["readings"] = spaces.Dict({instrument: port for instrument in (*world.channels.cells, *dipped)})
    return spaces.Dict(found)


def environment_id(task: str, namespace: str = "labference") -> str:
    """Return the id of a task: weighing-basic in version 1 becomes labference/WeighingBasic-v1."""
    contract = find_task(task)
    name = "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", contract.name) if word)
    version = re.match(r"\d+", contract.version)
    if version is None:
        raise PlanError(f"Version {contract.version!r} of {contract.name} makes no environment id; a number would.")
    return f"{namespace}/{name}-v{version[0]}"


def register(task: str) -> str:
    """Make `task` (of the registry, or `module:TASKS/name`) known to `gymnasium.make`; return its id."""
    name = environment_id(task)
    if name not in gymnasium.registry:
        gymnasium.register(name, entry_point=f"{__name__}:LaboratoryEnv", kwargs={"task": task})
    return name


for _task in all_tasks():
    register(_task)
