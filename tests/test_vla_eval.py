"""A vla-eval run plays our tasks, and what it hands to a model server says nothing of the evaluator's."""

from __future__ import annotations

import asyncio
import copy
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vla_eval", reason="needs the extra 'vla-eval'")

from vla_eval.api import evaluate, serve_background
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.protocol.messages import Message, MessageType, pack_message

import evaluator
from labference.integrations.vla_eval import COUNTS, LabferenceBenchmark
from labference.records import folder, strict
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.score.campaign import find_campaigns
from labference.truth.identity import PlanError

EXAMPLES = Path(__file__).parents[1] / "examples"
CLASS = "labference.integrations.vla_eval:LabferenceBenchmark"
FAMILIES = ("weighing-basic", "centrifuge-extended", "recall-extended")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., LabferenceBenchmark]]:
    """Return a function that makes a benchmark, and clean up what it made."""
    made = []

    def build(task: str = "weighing-basic", *, observed: dict[str, Any] | None = None, **run: Any) -> Any:
        settings = {"task": task, "out": str(tmp_path), "budget": 20, **run}
        made.append(LabferenceBenchmark(run=settings, **(observed or {})))
        return made[-1]

    yield build
    for benchmark in made:
        benchmark.cleanup()


def runs(out: Path) -> list[Path]:
    return sorted(path.parent for path in out.rglob(folder.RUN))


def start(benchmark: LabferenceBenchmark, index: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Begin an episode as the harness does; return what it sends as the task, and the first observation."""
    task = {**benchmark.get_tasks()[0], "episode_idx": index}
    asyncio.run(benchmark.start_episode(task))
    return task, asyncio.run(benchmark.get_observation())


def act(benchmark: LabferenceBenchmark, **action: Any) -> bool:
    asyncio.run(benchmark.apply_action(action))
    return asyncio.run(benchmark.is_done())


def result(benchmark: LabferenceBenchmark) -> dict[str, Any]:
    return asyncio.run(benchmark.get_result())


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_vla_eval_run_completes_a_weighing_episode(
    tmp_path: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    config = (EXAMPLES / "vla_eval.yaml").read_text().replace("episodes_per_task: 2", "episodes_per_task: 1")
    handed: list[Any] = []

    class Watched(example("vla_eval_reader").ReaderServer):
        """The example, and all that reaches it."""

        async def on_episode_start(self, config: dict[str, Any], ctx: Any) -> None:
            handed.append(config)
            await super().on_episode_start(config, ctx)

        def predict(self, obs: dict[str, Any], ctx: Any) -> dict[str, Any]:
            handed.append(copy.deepcopy(obs))
            return super().predict(obs, ctx)

    with serve_background(Watched()) as server:
        config = config.replace("ws://127.0.0.1:8000", server.url).replace("episodes: 2", "episodes: 1")
        (tmp_path / "config.yaml").write_text(config)
        done = python("-m", "vla_eval.cli.main", "run", "-c", "config.yaml", "--no-docker", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "100.0%" in done.stdout + done.stderr
    campaign = find_campaigns(tmp_path / "runs" / "vla-eval")[0]
    assert campaign.planned == 1 and campaign.scores[0]["verdict"]["valid"]
    assert campaign.scores[0]["identity"]["policy"] == "reader server (vla-eval): reader server 1"
    attempt = runs(tmp_path)[0]
    assert audit(attempt).difference is None
    moves = read_run(attempt).lines(folder.ACTIONS)
    assert any(len(move["applied"]) < len(move["requested"]) for move in moves), "new evidence drops a chunk's rest"
    assert len(handed) > 10 and not evaluator.leaks(handed, attempt, "weighing-basic")


class Answers(PredictModelServer):
    """Answer everything with what the test gave it."""

    def __init__(self, actions: Any) -> None:
        super().__init__(chunk_size=None)
        self.actions = actions

    def predict(self, obs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        if self.actions is None:
            raise RuntimeError("no weights")
        return {"actions": self.actions}


def config(out: Path, **run: Any) -> dict[str, Any]:
    params = {"run": {"task": "weighing-basic", "out": str(out), "budget": 20, **run}}
    entry = {"benchmark": CLASS, "name": "lab", "episodes_per_task": 2, "params": params}
    return {"render": "cpu", "output_dir": str(out / "harness"), "benchmarks": [entry]}


def test_nonsense_from_a_model_server_is_an_interface_failure_in_both_records(tmp_path: Path) -> None:
    (found,) = evaluate(Answers(np.full(8, np.nan, np.float32)), config(tmp_path), docker=False, no_save=True)
    assert (found["mean_success"], found["sum_episodes"], found["sum_interface_failures"]) == (0.0, 2, 2)
    assert (found["sum_scored"], found["sum_unresolved"], found["num_errors"]) == (2, 0, 0)
    assert [score["reason"] for score in find_campaigns(tmp_path)[0].scores.values()] == ["interface_failure"] * 2


def test_a_model_server_that_fails_leaves_unresolved_episodes_and_no_failures_of_the_policy(tmp_path: Path) -> None:
    evaluate(Answers(None), config(tmp_path, episodes=2), docker=False, no_save=True)
    campaign = find_campaigns(tmp_path)[0]
    assert (campaign.planned, campaign.unresolved) == (2, 2)


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (np.full((2, 8), np.nan), "nan at entry 0"),
        (np.zeros(3, np.float32), "shape (1, 3)"),
        (np.full(8, 1e9), "1e+09"),
        (np.zeros((51, 8)), "51 commands"),
        (np.zeros((0, 8)), "0 commands"),
    ],
)
def test_what_cannot_be_admitted_is_named(
    bench: Callable[..., LabferenceBenchmark], tmp_path: Path, actions: np.ndarray, words: str
) -> None:
    benchmark = bench()
    start(benchmark)
    assert act(benchmark, actions=actions)
    counted = result(benchmark)
    assert (counted["success"], counted["interface_failures"], counted["scored"]) == (False, 1, 1)
    assert words in strict.read(runs(tmp_path)[0] / folder.SCORES)["sentence"]


def test_an_answer_without_actions_is_no_act(bench: Callable[..., LabferenceBenchmark]) -> None:
    benchmark = bench()
    start(benchmark)
    assert act(benchmark, text="I would rather not")
    assert result(benchmark)["interface_failures"] == 1


def test_a_chunk_is_carried_out_at_once_and_time_is_simulated(bench: Callable[..., LabferenceBenchmark]) -> None:
    benchmark = bench()
    _, seen = start(benchmark)
    assert not act(benchmark, actions=np.tile(seen["command"], (10, 1)).astype(np.float32))
    assert asyncio.run(benchmark.get_time()) == pytest.approx(0.5)
    assert act(benchmark, actions=np.tile(seen["command"], (20, 1)))
    assert result(benchmark)["success"] is False and asyncio.run(benchmark.get_time()) == pytest.approx(1.0)


@pytest.mark.parametrize("action", ["joint", "end_effector"])
def test_holding_still_is_declared_before_and_during_an_episode(
    bench: Callable[..., LabferenceBenchmark], action: str
) -> None:
    benchmark = bench(action=action)
    before = benchmark.get_hold_action(None)["actions"]
    _, seen = start(benchmark)
    assert np.array_equal(before, benchmark.get_hold_action(None)["actions"])
    act(benchmark, **benchmark.get_hold_action(None))
    moved = asyncio.run(benchmark.get_observation())
    assert np.allclose(moved["joints"], seen["joints"], atol=1e-4)


def test_a_server_may_declare_the_task_finished(bench: Callable[..., LabferenceBenchmark], tmp_path: Path) -> None:
    benchmark = bench()
    _, seen = start(benchmark)
    assert act(benchmark, stop=True, actions=seen["command"])
    assert strict.read(runs(tmp_path)[0] / folder.SCORES)["reason"] == "stopped"


def test_a_harness_that_ends_early_leaves_an_unresolved_episode_with_its_reason(
    bench: Callable[..., LabferenceBenchmark], tmp_path: Path
) -> None:
    benchmark = bench()
    _, seen = start(benchmark)
    act(benchmark, actions=seen["command"])
    counted = result(benchmark)
    assert (counted["scored"], counted["unresolved"], counted["success"]) == (0, 1, False)
    events = read_run(runs(tmp_path)[0]).lines(folder.EVENTS)
    (said,) = (event["sentence"] for event in events if event["event"] == "Invalidated")
    assert "raise max_steps" in said


def test_totals_are_numerators_and_denominators(bench: Callable[..., LabferenceBenchmark]) -> None:
    benchmark = bench()
    assert benchmark.get_metric_keys() == {"success": "mean", **dict.fromkeys(COUNTS, "sum")}
    assert benchmark.get_metadata() == {"max_steps": 20}
    start(benchmark)
    act(benchmark, stop=True, actions=np.zeros(8))
    assert set(result(benchmark)) == {"success", *COUNTS}


def test_a_blind_run_sends_no_result_to_the_server(bench: Callable[..., LabferenceBenchmark], tmp_path: Path) -> None:
    benchmark = bench(blind=True)
    start(benchmark)
    act(benchmark, actions=np.full(8, np.nan))
    assert result(benchmark) == {"success": False, "episodes": 1}
    assert benchmark.get_metric_keys() == {"episodes": "sum"}
    assert strict.read(runs(tmp_path)[0] / folder.SCORES)["reason"] == "interface_failure"


def test_a_server_may_ask_for_cameras_and_for_nothing_that_decides_what_is_evaluated() -> None:
    from vla_eval.orchestrator import _merge_observation_params

    asked = {"cameras": ["labels"], "depth": True, "task": "weighing-extended", "out": "elsewhere", "seed": 9}
    merged = _merge_observation_params(LabferenceBenchmark, {"run": {"task": "weighing-basic"}}, asked)
    assert merged == {"run": {"task": "weighing-basic"}, "cameras": ["labels"], "depth": True}


def test_a_finished_campaign_is_not_run_again(bench: Callable[..., LabferenceBenchmark]) -> None:
    benchmark = bench(episodes=1)
    start(benchmark)
    act(benchmark, actions=np.zeros(3))
    with pytest.raises(PlanError, match="has scores of all 1 episodes already; choose another out or seed"):
        bench(episodes=1)
    with pytest.raises(PlanError, match="has scores of episode 0 already"):
        start(bench())


def test_the_configuration_in_the_documentation_is_the_one_of_the_example() -> None:
    page = (EXAMPLES.parent / "docs" / "vla-eval.md").read_text()
    assert (EXAMPLES / "vla_eval.yaml").read_text() in page


def test_a_setting_that_does_not_exist_is_named() -> None:
    with pytest.raises(PlanError, match=r"no 'sead' in params\.run; task, seed"):
        LabferenceBenchmark(run={"sead": 3})


@pytest.mark.parametrize("task", FAMILIES)
def test_nothing_that_reaches_a_model_server_is_the_evaluators(
    bench: Callable[..., LabferenceBenchmark], tmp_path: Path, task: str
) -> None:
    benchmark = bench(task, observed={"cameras": ["wrist"], "depth": True}, budget=2, blind=True)
    sent, seen = start(benchmark, 1)
    handed: list[Any] = [sent, seen, [spec.to_dict() for spec in benchmark.get_observation_spec().values()]]
    handed.append([spec.to_dict() for spec in benchmark.get_action_spec().values()])
    assert not act(benchmark, actions=seen["command"])
    handed.append(asyncio.run(benchmark.get_observation()))
    assert act(benchmark, actions=seen["command"])
    handed.append(result(benchmark))
    assert not evaluator.leaks(handed, runs(tmp_path)[0], task)
    assert sent == {"name": "bench", "suite": "labference"}


def test_twins_are_the_same_bytes_on_the_wire(bench: Callable[..., LabferenceBenchmark]) -> None:
    messages = []
    for index in range(2):
        _, seen = start(bench("weighing-basic", observed={"cameras": ["labels"]}, instances="twins"), index)
        messages.append(pack_message(Message(MessageType.OBSERVATION, seen, 1, 0.0)))
    assert messages[0] == messages[1]
