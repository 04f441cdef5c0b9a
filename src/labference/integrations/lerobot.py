"""A LeRobot environment plugin: environments in its terms, and its configuration `--env.type=labference`.

`packaging/lerobot_env_labference` is the distribution that LeRobot finds; it imports this module. The configuration
is registered where LeRobot is installed, the environments in any case.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from labference.tasks import all_tasks, find_task
from labference.truth.identity import PlanError

from .gymnasium import COMPLETED, SEEDS, LaboratoryEnv, environment_id

NAMESPACE = "lerobot_env_labference"
"""The namespace of the ids, and the module that LeRobot imports for them."""


FARTHEST_JOINT = 4.0
"""Bound that no joint of the Panda reaches [rad]."""
FIRST_SEED = 1000
"""Where LeRobot's evaluation begins to count, unless told otherwise."""


class LeRobotEnv(gymnasium.Env[dict[str, Any], np.ndarray]):
    """A laboratory bench as LeRobot expects an environment.

    Observations are `pixels` by camera, (h, w, 3) uint8, and `agent_pos` (8,): seven joints [rad] and the distance
    between the finger pads [m]. Actions are commands of the profile. `info["is_success"]` is on every reset and step,
    and true only on the step that ends an episode whose terminal window was held.

    LeRobot seeds each episode with a number of its own, and resets an environment that has finished once more without
    one. So the seed `first_seed` + i names episode i of campaign `campaign`, which `out` keeps, and a reset without a
    seed is practice that leaves no record. Other arguments are those of `LaboratoryEnv`.
    """

    metadata = LaboratoryEnv.metadata

    def __init__(
        self,
        task: str,
        *,
        cameras: tuple[str, ...] | list[str] = ("front", "wrist"),
        campaign: int = 0,
        first_seed: int = FIRST_SEED,
        render_mode: str | None = "rgb_array",
        **settings: Any,
    ) -> None:
        self._env = LaboratoryEnv(task, cameras=tuple(cameras), tool="lerobot", **settings)
        self._campaign, self._first_seed = campaign, first_seed
        self._max_episode_steps = self._env.budget
        self.render_mode = render_mode
        self.task = find_task(task).name
        self.task_description = ""
        agent = spaces.Box(-FARTHEST_JOINT, FARTHEST_JOINT, (8,), np.float64)
        pixels = self._env.observation_space.spaces.get("images", spaces.Dict({}))
        self.observation_space = spaces.Dict({"pixels": pixels, "agent_pos": agent})
        self.action_space = self._env.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the episode that the seed names, or practice."""
        super().reset(seed=seed)
        chosen = dict(options or {})
        if seed is None:
            found, info = self._env.reset(seed=int(self.np_random.integers(SEEDS)), options={"record": False, **chosen})
        else:
            index = seed - self._first_seed
            if index < 0:
                raise PlanError(f"Seed {seed} comes before the first one, {self._first_seed}; lower env.first_seed.")
            found, info = self._env.reset(seed=self._campaign, options={"index": index, **chosen})
        self.task_description = found["instruction"]
        return _shown(found), {**info, "is_success": False}

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out one action."""
        found, reward, terminated, truncated, info = self._env.step(action)
        return _shown(found), reward, terminated, truncated, {**info, "is_success": info.get("ended") == COMPLETED}

    def render(self) -> np.ndarray:
        """Return what the camera `front` shows, (h, w, 3) uint8."""
        return self._env.render()

    def close(self) -> None:
        """End an episode that is under way as unresolved, and release the laboratory."""
        self._env.close()


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    return {"pixels": found.get("images", {}), "agent_pos": np.append(found["joints"], found["opening"])}


for _task in all_tasks():
    # LeRobot looks for attributes on the environment itself, so nothing may be wrapped around it.
    gymnasium.register(
        environment_id(_task, NAMESPACE),
        entry_point=f"{__name__}:LeRobotEnv",
        order_enforce=False,
        disable_env_checker=True,
        kwargs={"task": _task},
    )

if find_spec("lerobot") is not None:
    from . import lerobot_config as lerobot_config
