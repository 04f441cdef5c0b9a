"""An inspect-robots run plays our tasks, and neither scenes nor observations say what the evaluator knows."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("inspect_robots", reason="needs the extra 'inspect-robots'")

import inspect_robots
from inspect_robots import Action, ActionChunk, Observation, PolicyConfig, PolicyInfo, Scene
from inspect_robots.conformance import check_embodiment
from inspect_robots.errors import ConfigError, EmbodimentFault

import evaluator
from labference.integrations.inspect_robots import LaboratoryEmbodiment, completion_scorer, make_task, scene_id
from labference.records import folder, strict
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.score.campaign import find_campaigns
from labference.tasks import all_tasks
from labference.wire import ServiceFault

EXAMPLES = Path(__file__).parents[1] / "examples"
FAMILIES = ("weighing-basic", "centrifuge-extended", "recall-extended")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., LaboratoryEmbodiment]]:
    """Return a function that makes an embodiment, and close what it made."""
    made = []

    def build(task: str = "weighing-basic", **options: Any) -> LaboratoryEmbodiment:
        made.append(LaboratoryEmbodiment(task, **{"cameras": (), "out": str(tmp_path), **options}))
        return made[-1]

    yield build
    for embodiment in made:
        embodiment.close()


def runs(out: Path) -> list[Path]:
    return sorted(path.parent for path in out.rglob(folder.RUN))


def scene(task: str = "weighing-basic", index: int = 0, instances: str = "") -> Scene:
    return make_task(task, index + 1, instances=instances).scenes[index]


def hold(observation: Observation, **meta: Any) -> Action:
    """Return the action that keeps the robot where it is."""
    command = np.asarray(observation.extra["command"])
    return Action(np.append(command[:7], command[7] / 0.08), meta)


class Holds:
    """Hold still, or answer with what the test put here."""

    config = PolicyConfig()

    def __init__(self, answer: np.ndarray | None = None) -> None:
        self.answer = answer

    def bind(self, info: Any) -> None:
        self.info = PolicyInfo("holds", info.action_space, info.observation_space)

    def reset(self, scene: Scene) -> None:
        pass

    def act(self, observation: Observation) -> ActionChunk:
        return ActionChunk([hold(observation) if self.answer is None else Action(self.answer)])


def test_an_inspect_robots_run_completes_a_weighing_episode(tmp_path: Path) -> None:
    log = reader().main(str(tmp_path))
    assert log.status == "success"
    assert log.results.metrics["labference_completion"] == 1.0
    assert log.results.metrics["labference_choice"] == 1.0
    (attempt,) = runs(tmp_path)
    assert read_run(attempt).scores["verdict"]["valid"]
    assert audit(attempt).difference is None
    assert find_campaigns(tmp_path)[0].planned == 1


def reader() -> ModuleType:
    spec = importlib.util.spec_from_file_location("inspect_robots_reader", EXAMPLES / "inspect_robots_reader.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["inspect_robots_reader"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("action", ["joint", "end_effector"])
def test_the_embodiment_conforms(bench: Callable[..., LaboratoryEmbodiment], action: str) -> None:
    report = check_embodiment(bench(cameras="front,wrist", action=action).info)
    assert report.ok and not report.issues, report.summary()


def test_the_harness_finds_embodiment_task_and_scorers() -> None:
    wanted = {"embodiments": {"labference"}, "tasks": {"labference"}, "scorers": {"labference_choice"}}
    for group, names in wanted.items():
        found = {entry.name: entry for entry in entry_points(group=f"inspect_robots.{group}")}
        assert names <= set(found)
        assert all(callable(found[name].load()) for name in names)


def test_every_task_has_scenes_with_opaque_names() -> None:
    for name in all_tasks():
        task = make_task(name, 3)
        assert len({entry.id for entry in task.scenes}) == 3
        for entry in task.scenes:
            assert (entry.target, entry.init_seed, dict(entry.metadata)) == (None, None, {})
            assert name not in entry.id


def test_an_episode_that_ends_with_the_horizon_is_scored(tmp_path: Path) -> None:
    log = run(tmp_path, make_task("weighing-basic", 2, out=str(tmp_path), steps=3), Holds())
    assert log.status == "success" and log.results.metrics["labference_completion"] == 0.0
    assert [read_run(path).scores["reason"] for path in runs(tmp_path)] == ["budget", "budget"]


def run(out: Path, task: Any, policy: Any) -> Any:
    embodiment = LaboratoryEmbodiment(cameras=(), out=str(out))
    try:
        return inspect_robots.eval(task, policy, embodiment, log_dir=str(out / "logs"), seed=1)[0]
    finally:
        embodiment.close()


def test_epochs_differ_in_the_policy_seed_alone(tmp_path: Path) -> None:
    task = make_task("weighing-basic", 1, out=str(tmp_path), steps=2)
    task.epochs = 2
    run(tmp_path, task, Holds())
    one, two = (read_run(path).run["identity"] for path in runs(tmp_path))
    assert one["seeds"]["policy"] != two["seeds"]["policy"]
    assert {**one, "seeds": {**one["seeds"], "policy": 0}} == {**two, "seeds": {**two["seeds"], "policy": 0}}


def test_what_the_harness_refuses_itself_is_unresolved_for_us(tmp_path: Path) -> None:
    log = run(tmp_path, make_task("weighing-basic", 1, out=str(tmp_path), steps=3), Holds(np.full(8, np.nan)))
    assert log.status == "error"
    campaign = find_campaigns(tmp_path)[0]
    assert (campaign.planned, campaign.unresolved) == (1, 1)


def test_an_action_out_of_range_is_an_interface_failure(
    bench: Callable[..., LaboratoryEmbodiment], tmp_path: Path
) -> None:
    embodiment = bench()
    embodiment.reset(scene())
    ended = embodiment.step(Action(np.full(8, 1e9)))
    assert (ended.terminated, ended.termination_reason, ended.reward) == (True, "interface_failure", 0.0)
    assert strict.read(runs(tmp_path)[0] / folder.SCORES)["status"] == "scored"


def test_the_gripper_is_a_share_of_its_stroke(bench: Callable[..., LaboratoryEmbodiment]) -> None:
    embodiment = bench()
    seen = embodiment.reset(scene())
    closed = hold(seen).data.copy()
    closed[7] = 0.0
    for _ in range(10):
        seen = embodiment.step(Action(closed)).observation
    assert seen.state["joint_pos"][7] < 0.05
    assert seen.extra["command"][7] == 0.0 and seen.state["joint_pos"].shape == (8,)


def test_frames_come_with_every_step_unless_the_action_does_not_look(
    bench: Callable[..., LaboratoryEmbodiment],
) -> None:
    embodiment = bench(cameras=("wrist",))
    seen = embodiment.reset(scene())
    assert set(embodiment.step(hold(seen)).observation.images) == {"wrist"}
    assert not embodiment.step(hold(seen, look=False)).observation.images


def test_a_policy_that_stops_ends_the_episode(bench: Callable[..., LaboratoryEmbodiment], tmp_path: Path) -> None:
    embodiment = bench()
    seen = embodiment.reset(scene())
    ended = embodiment.step(hold(seen, request_stop=True))
    assert (ended.terminated, ended.termination_reason) == (True, "stopped")
    assert strict.read(runs(tmp_path)[0] / folder.SCORES)["reason"] == "stopped"


def test_a_scene_of_another_task_is_refused_with_what_would_work(bench: Callable[..., LaboratoryEmbodiment]) -> None:
    with pytest.raises(ConfigError, match="none of weighing-basic with seed 0; give embodiment and task the same"):
        bench().reset(scene("weighing-extended"))


def test_an_instance_that_cannot_be_prepared_is_a_fault_of_the_embodiment(
    bench: Callable[..., LaboratoryEmbodiment], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ServiceFault("Not at rest.")

    embodiment = bench()
    monkeypatch.setattr(embodiment._episodes, "begin", broken)
    with pytest.raises(EmbodimentFault, match=r"Not at rest\."):
        embodiment.reset(scene())


def test_a_scorer_that_finds_no_record_says_where_it_looked(tmp_path: Path) -> None:
    record = inspect_robots.TrialRecord("abc", 0, 1)
    with pytest.raises(ConfigError, match=r"no scores of scene 'abc'; give the embodiment's out"):
        completion_scorer(str(tmp_path))(record, None)


@pytest.mark.parametrize("task", FAMILIES)
def test_nothing_that_a_policy_is_handed_is_the_evaluators(
    bench: Callable[..., LaboratoryEmbodiment], tmp_path: Path, task: str
) -> None:
    embodiment = bench(task, cameras=("wrist",), depth=True)
    embodiment.bind_task(inspect_robots.TaskEnvelope("any", 2))
    seen = embodiment.reset(scene(task, 1), seed=123456789)
    first = embodiment.step(hold(seen))
    last = embodiment.step(hold(first.observation))
    assert last.truncated and last.termination_reason == "budget"
    handed = [scene(task, 1), seen, first, last, embodiment.info]
    assert not evaluator.leaks(handed, runs(tmp_path)[0], task)


def test_twins_look_alike_to_a_policy(bench: Callable[..., LaboratoryEmbodiment]) -> None:
    shown = []
    for index in range(2):
        embodiment = bench(instances="twins", cameras=("labels",))
        entry = scene(index=index, instances="twins")
        assert entry.id == scene_id("weighing-basic", 0, "twins", index)
        seen = embodiment.reset(entry, seed=1)
        shown.append(
            (seen.instruction, [(name, np.asarray(value).tobytes()) for name, value in evaluator.leaves(seen)])
        )
    assert shown[0] == shown[1]
