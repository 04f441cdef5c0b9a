"""LeRobot's configuration of our environments; imported where LeRobot is installed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig
from lerobot.utils.constants import ACTION, OBS_IMAGES, OBS_STATE

from .lerobot import FIRST_SEED, NAMESPACE


@EnvConfig.register_subclass("labference")
@dataclass
class LabferenceEnv(EnvConfig):
    """One labference task for `lerobot-eval`: `--env.type=labference --env.task=WeighingBasic-v1`.

    `cameras` is a comma-separated list. `budget` stands in for the contract's control steps (0 for that), `out` is the
    folder for the records (empty for none), and `episodes` how many the campaign counts at least.
    """

    task: str | None = "WeighingBasic-v1"
    fps: int = 20
    cameras: str = "front,wrist"
    campaign: int = 0
    first_seed: int = FIRST_SEED
    budget: int = 0
    out: str = ""
    episodes: int = 0
    policy: str = "lerobot policy"
    version: str = "0"
    features: dict[str, PolicyFeature] = field(default_factory=dict)
    features_map: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Declare the action, the state and one image per camera."""
        from labference.bench.laboratory import Laboratory  # MuJoCo binds its renderer when it is imported

        world = Laboratory(gymnasium.spec(self.gym_id).kwargs["task"]).world
        self.features[ACTION] = PolicyFeature(type=FeatureType.ACTION, shape=(8,))
        self.features["agent_pos"] = PolicyFeature(type=FeatureType.STATE, shape=(8,))
        self.features_map |= {ACTION: ACTION, "agent_pos": OBS_STATE}
        for camera in self._cameras:
            wide, high = world.size(camera)
            self.features[f"pixels/{camera}"] = PolicyFeature(type=FeatureType.VISUAL, shape=(high, wide, 3))
            self.features_map[f"pixels/{camera}"] = f"{OBS_IMAGES}.{camera}"

    @property
    def _cameras(self) -> tuple[str, ...]:
        return tuple(name for name in self.cameras.split(",") if name)

    @property
    def package_name(self) -> str:
        """Return the module that registers the environments, which is the namespace of their ids."""
        return NAMESPACE

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        """Return the arguments of an environment."""
        return {
            "cameras": self._cameras,
            "campaign": self.campaign,
            "first_seed": self.first_seed,
            "budget": self.budget or None,
            "out": self.out or None,
            "episodes": self.episodes,
            "policy": self.policy,
            "version": self.version,
        }
