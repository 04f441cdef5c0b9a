"""The environments of the LeRobot plugin; with LeRobot itself where it is installed."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import evaluator
from labference.integrations.gymnasium import environment_id
from labference.integrations.lerobot import NAMESPACE, LeRobotEnv
from labference.records import folder, strict
from labference.score.campaign import find_campaigns
from labference.tasks import all_tasks
from labference.truth.identity import PlanError

PACKAGING = Path(__file__).parents[1] / "packaging" / NAMESPACE
FAMILIES = ("weighing-basic", "centrifuge-extended", "recall-extended")


@pytest.fixture
def make() -> Iterator[Callable[..., LeRobotEnv]]:
    """Return a function that makes an environment as LeRobot does, and close what it made."""
    made = []

    def build(task: str = "weighing-basic", **options: Any) -> LeRobotEnv:
        made.append(gymnasium.make(environment_id(task, NAMESPACE), **{"cameras": ("wrist",), "budget": 2, **options}))
        return made[-1]

    yield build
    for env in made:
        env.close()


def runs(out: Path) -> list[Path]:
    return sorted(path.parent for path in out.rglob(folder.RUN))


def test_nothing_is_wrapped_around_an_environment_so_that_its_attributes_are_found(
    make: Callable[..., LeRobotEnv],
) -> None:
    env = make()
    assert type(env) is LeRobotEnv
    _, info = env.reset(seed=1000)
    assert (env.task, env.task_description) == ("weighing-basic", info["instruction"])
    assert env._max_episode_steps == 2 and env.metadata["render_fps"] == 20


def test_every_task_has_an_environment() -> None:
    assert {environment_id(name, NAMESPACE) for name in all_tasks()} <= set(gymnasium.registry)


def test_observations_are_pixels_and_the_position_of_the_agent(make: Callable[..., LeRobotEnv]) -> None:
    env = make(cameras=["wrist", "front"])
    seen, info = env.reset(seed=1000)
    assert seen in env.observation_space and set(seen["pixels"]) == {"wrist", "front"}
    assert seen["agent_pos"].shape == (8,) and info["is_success"] is False
    assert env.render().shape == (224, 224, 3)


def test_a_seed_names_an_episode_and_a_reset_without_one_is_practice(
    make: Callable[..., LeRobotEnv], tmp_path: Path
) -> None:
    env = make(out=str(tmp_path), episodes=3)
    for seed in (1000, 1001):
        seen, _ = env.reset(seed=seed)
        for _ in range(2):
            seen, _, _, truncated, info = env.step(seen["agent_pos"].clip(env.action_space.low, env.action_space.high))
            assert info["is_success"] is False
        assert truncated
        env.reset()  # as a vector environment does with one that has finished
    (campaign,) = find_campaigns(tmp_path)
    assert (campaign.planned, sorted(campaign.scores)) == (3, [0, 1])
    assert campaign.condition["policy"] == "agent (lerobot)"
    with pytest.raises(PlanError, match=r"Seed 3 comes before the first one, 1000; lower env\.first_seed"):
        env.reset(seed=3)


def test_success_is_the_end_of_a_completed_episode(
    make: Callable[..., LeRobotEnv], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make()
    seen, _ = env.reset(seed=1000)
    within = env._env.step
    shown, *_ = within(np.append(seen["agent_pos"][:7], 0.08))
    monkeypatch.setattr(env._env, "step", lambda action: (shown, 1.0, True, False, {"ended": "completed"}))
    assert env.step(np.zeros(8))[-1]["is_success"] is True
    monkeypatch.setattr(env._env, "step", lambda action: (shown, 0.0, True, False, {"ended": "interface_failure"}))
    assert env.step(np.zeros(8))[-1]["is_success"] is False


@pytest.mark.parametrize("task", FAMILIES)
def test_nothing_that_is_handed_out_is_the_evaluators(
    make: Callable[..., LeRobotEnv], tmp_path: Path, task: str
) -> None:
    env = make(task, out=str(tmp_path))
    handed: list[Any] = [env.reset(seed=1000)]
    for _ in range(2):
        seen = handed[-1][0]["agent_pos"]
        handed.append(env.step(seen.clip(env.action_space.low, env.action_space.high)))
    handed += [env.task, env.task_description]
    assert not evaluator.leaks(handed, runs(tmp_path)[0], task)


def test_twins_look_alike(make: Callable[..., LeRobotEnv]) -> None:
    shown = []
    for index in range(2):
        env = make(cameras=("labels",))
        seen, info = env.reset(seed=1000 + index, options={"instance": "twins"})
        shown.append((seen["pixels"]["labels"].tobytes(), seen["agent_pos"].tobytes(), info))
    assert shown[0] == shown[1]


def test_the_distribution_has_the_name_that_lerobot_looks_for() -> None:
    project = tomllib.loads((PACKAGING / "pyproject.toml").read_text())["project"]
    assert project["name"] == NAMESPACE and NAMESPACE.startswith("lerobot_env_")
    assert "labference.integrations" in (PACKAGING / NAMESPACE / "__init__.py").read_text()


@pytest.mark.skipif(find_spec("lerobot") is None, reason="LeRobot is not installed; it needs torch")
def test_lerobot_makes_our_environments(tmp_path: Path) -> None:
    from lerobot.envs.configs import EnvConfig
    from lerobot.envs.factory import make_env
    from lerobot.envs.utils import env_to_policy_features

    config = EnvConfig.get_choice_class("labference")(budget=2, out=str(tmp_path), cameras="wrist")
    assert set(env_to_policy_features(config)) == {"action", "observation.state", "observation.images.wrist"}
    envs = make_env(config, n_envs=2)["labference"][0]
    try:
        envs.reset(seed=[1000, 1001])
        assert envs.call("_max_episode_steps") == (2, 2) and len(set(envs.call("task_description"))) > 0
    finally:
        envs.close()
    identities = [strict.read(path / folder.RUN)["identity"]["index"] for path in runs(tmp_path)]
    assert sorted(identities) == [0, 1]
