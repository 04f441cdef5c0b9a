"""Gymnasium environments keep Gymnasium's contract and the information boundary, and leave our records."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import evaluator
from labference.integrations.gymnasium import LaboratoryEnv, environment_id, register
from labference.records import folder, strict
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.score.campaign import find_campaigns
from labference.score.summary import summarise
from labference.tasks import all_tasks
from labference.truth.identity import PlanError
from labference.wire import ServiceFault
from labference.world.faults import SimulationFault

WEIGHING = "labference/WeighingBasic-v1"
FAMILIES = ("weighing-basic", "centrifuge-extended", "recall-extended")


@pytest.fixture
def make() -> Iterator[Callable[..., LaboratoryEnv]]:
    """Return a function that makes an environment, and close what it made."""
    made = []

    def build(name: str = WEIGHING, **options: Any) -> LaboratoryEnv:
        made.append(gymnasium.make(name, **{"budget": 20, **options}).unwrapped)
        return made[-1]

    yield build
    for env in made:
        env.close()


def runs(out: Path) -> list[Path]:
    return sorted(path.parent for path in out.rglob(folder.RUN))


def test_every_task_has_an_environment_named_after_it_and_its_version() -> None:
    assert environment_id("weighing-basic") == WEIGHING
    for name, contract in all_tasks().items():
        assert environment_id(name) in gymnasium.registry
        assert environment_id(name).endswith(f"-v{contract.version}")


def test_a_task_of_a_third_party_can_be_registered() -> None:
    task = "labference.tasks.weighing:TASKS/weighing-extended"
    assert register(task) == register(task) == "labference/WeighingExtended-v1"


# Joint targets are radians, and stay so: users who want [-1, 1] wrap the environment in RescaleAction.
@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space:UserWarning")
@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("weighing-basic", {"cameras": ("wrist",), "depth": True, "readings": True, "render_mode": "rgb_array"}),
        ("centrifuge-extended", {"action": "end_effector", "commands_per_step": 3}),
    ],
)
def test_the_environment_passes_the_checker(
    make: Callable[..., LaboratoryEnv], task: str, options: dict[str, Any]
) -> None:
    check_env(make(environment_id(task), **options), skip_render_check="render_mode" not in options)


def test_what_is_observed_lies_in_the_declared_space_for_every_task(make: Callable[..., LaboratoryEnv]) -> None:
    for name in [name for name, fidelity in evaluator.laboratories() if fidelity == "physics"]:
        env = make(environment_id(name), readings=True)
        seen, info = env.reset(seed=1)
        assert seen in env.observation_space, name
        assert info == {"instruction": seen["instruction"], "time": 0.0}


def test_a_seed_names_a_campaign_and_every_further_reset_its_next_episode(
    make: Callable[..., LaboratoryEnv], tmp_path: Path
) -> None:
    env = make(out=str(tmp_path), budget=1)
    for seed in (7, None):
        seen, _ = env.reset(seed=seed)
        *_, truncated, info = env.step(seen["command"])
        assert truncated and info["ended"] == "budget"
    identities = [strict.read(path / folder.SCORES)["identity"] for path in runs(tmp_path)]
    assert [(entry["campaign"], entry["index"]) for entry in identities] == [(7, 0), (7, 1)]
    campaign = find_campaigns(tmp_path)[0]
    assert (campaign.planned, len(campaign.scores)) == (2, 2)
    assert summarise(campaign).system == "agent (gymnasium)"


def test_options_choose_instance_index_and_policy_seed(make: Callable[..., LaboratoryEnv], tmp_path: Path) -> None:
    env = make(out=str(tmp_path))
    env.reset(seed=3, options={"instance": "twins", "index": 1, "policy_seed": 5})
    env.close()
    identity = read_run(runs(tmp_path)[0]).run["identity"]
    assert (identity["instances"], identity["index"]) == ("twins", 1)
    with pytest.raises(PlanError, match="no reset option 'mass'; index, instance"):
        env.reset(options={"mass": 3})
    with pytest.raises(PlanError, match="No instances 'odd'"):
        env.reset(options={"instance": "odd"})


def test_the_same_seed_gives_the_same_bytes_in_another_process(
    make: Callable[..., LaboratoryEnv], python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    program = (
        "import gymnasium, test_gymnasium as t\n"
        f"env = gymnasium.make({WEIGHING!r}, budget=20, cameras=('wrist',))\n"
        "print(t.digest(env.unwrapped)); env.close()"
    )
    done = python("-c", program)
    assert done.stdout.strip() == digest(make(cameras=("wrist",))), done.stderr


def digest(env: LaboratoryEnv) -> str:
    """Return the hash of what five steps of the same seed show."""
    shown, _ = env.reset(seed=11)
    target = shown["command"] + 0.01 * np.array((1, 0, 0, 0, 0, 0, 0, -1))
    found = hashlib.sha256()
    for _ in range(5):
        found.update(repr([(name, flat(entry)) for name, entry in sorted(shown.items())]).encode())
        shown, *_ = env.step(target)
    return found.hexdigest()


def flat(entry: Any) -> Any:
    if isinstance(entry, dict):
        return sorted((name, flat(value)) for name, value in entry.items())
    return entry if isinstance(entry, str) else (entry.dtype.str, entry.shape, entry.tobytes())


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (np.full(8, np.nan), "nan at entry 0"),
        (np.full(8, 1e9), "1e\\+09 at entry 0"),
        (np.zeros(3), r"shape \(1, 3\)"),
        (np.array(["up"] * 8), "Commands are str"),
        ([[1.0], [1.0, 2.0]], "Commands are list"),
    ],
)
def test_an_action_that_cannot_be_admitted_ends_the_episode_as_an_interface_failure(
    make: Callable[..., LaboratoryEnv], tmp_path: Path, action: Any, words: str
) -> None:
    env = make(out=str(tmp_path))
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["ended"]) == (0.0, True, False, "interface_failure")
    assert re.search(words, info["sentence"]), info["sentence"]
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(np.zeros(8))
    scores = strict.read(runs(tmp_path)[0] / folder.SCORES)
    assert scores["status"] == "scored" and not scores["verdict"]["valid"]


def test_bounds_in_single_precision_are_admitted(make: Callable[..., LaboratoryEnv]) -> None:
    env = make()
    env.reset(seed=0)
    for bound in (env.action_space.low, env.action_space.high):
        *_, info = env.step(bound.astype(np.float32))
        assert "ended" not in info, info


def test_closing_in_the_middle_leaves_an_unresolved_episode(make: Callable[..., LaboratoryEnv], tmp_path: Path) -> None:
    env = make(out=str(tmp_path))
    seen, _ = env.reset(seed=0)
    env.step(seen["command"])
    env.close()
    campaign = find_campaigns(tmp_path)[0]
    assert (campaign.planned, campaign.unresolved, len(campaign.scores)) == (1, 1, 0)
    assert read_run(runs(tmp_path)[0]).lines(folder.EVENTS)[-1]["event"] != "Refused"


def test_an_episode_is_resumed_and_not_repeated(make: Callable[..., LaboratoryEnv], tmp_path: Path) -> None:
    env = make(out=str(tmp_path), budget=1)
    env.reset(seed=0)
    seen, _ = env.reset(seed=0)  # the first attempt was given up and is unresolved
    env.step(seen["command"])
    with pytest.raises(PlanError, match="has scores of episode 0 already"):
        env.reset(seed=0)
    assert [path.name for path in runs(tmp_path)] == ["attempt-1", "attempt-2"]
    assert audit(runs(tmp_path)[1]).difference is None


def test_a_folder_takes_one_experiment(make: Callable[..., LaboratoryEnv], tmp_path: Path) -> None:
    make(out=str(tmp_path), budget=1).reset(seed=0)
    with pytest.raises(PlanError, match="budget 1, not 2; choose another"):
        make(out=str(tmp_path), budget=2).reset(seed=0)


def test_without_a_folder_nothing_is_kept(
    make: Callable[..., LaboratoryEnv], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    env = make()
    for _ in range(2):
        env.reset(seed=0)
    assert len(runs(tmp_path)) == 1
    env.close()
    assert not list(tmp_path.iterdir())


def test_practice_leaves_no_record_beside_those_that_are_kept(
    make: Callable[..., LaboratoryEnv], tmp_path: Path
) -> None:
    env = make(out=str(tmp_path))
    env.reset(seed=0)
    env.reset(options={"record": False})
    env.close()
    assert len(runs(tmp_path)) == 1 and find_campaigns(tmp_path)[0].planned == 1


def test_practice_takes_no_episode_out_of_a_campaign(make: Callable[..., LaboratoryEnv], tmp_path: Path) -> None:
    env = make(out=str(tmp_path))
    env.reset(seed=0)
    env.reset(options={"record": False})
    env.reset()
    env.close()
    assert [run.parent.name for run in runs(tmp_path)] == ["episode-0000", "episode-0001"]


def test_a_laboratory_that_fails_does_not_say_what_it_knows(
    make: Callable[..., LaboratoryEnv], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such an episode is tried again, and the reason may name what is legal, or how heavy something is."""
    env = make(out=str(tmp_path))
    seen, _ = env.reset(seed=0)
    world = env._episodes.laboratory.world

    def fails(*_: object) -> None:
        raise SimulationFault("The jar weighs 123.4 g.")

    monkeypatch.setattr(world, "step", fails)
    *_, truncated, info = env.step(seen["command"])
    assert truncated and info["ended"] == "invalid" and "says why" in info["sentence"] and "123.4" not in str(info)
    monkeypatch.setattr(world, "prepare", fails)
    with pytest.raises(ServiceFault, match=r"Episode 1 could not be prepared; events\.jsonl below .* says why") as told:
        env.reset()
    assert "123.4" not in str(told.value)
    assert "123.4" in (runs(tmp_path)[-1] / "events.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [{"index": 1.7}, {"index": "1"}, {"index": -1}, {"policy_seed": -1}])
def test_a_reset_option_that_is_no_whole_number_is_named(
    make: Callable[..., LaboratoryEnv], options: dict[str, Any]
) -> None:
    with pytest.raises(PlanError, match=f"{next(iter(options))}' is .*a whole number, 0 or more, would work"):
        make().reset(seed=0, options=options)


def test_a_chunk_takes_as_many_control_periods_as_it_has_commands(make: Callable[..., LaboratoryEnv]) -> None:
    env = make(commands_per_step=4)
    seen, _ = env.reset(seed=0)
    *_, info = env.step(np.tile(seen["command"], (4, 1)))
    assert info["time"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cameras": ("roof",)}, "no camera 'roof'"),
        ({"action": "torque"}, "No action profile 'torque'"),
        ({"commands_per_step": 0}, "0 commands is none; 1 to 50"),
    ],
)
def test_what_a_bench_does_not_offer_is_named(
    make: Callable[..., LaboratoryEnv], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        make(**options)


def test_rendering_shows_the_front_camera_and_changes_nothing(make: Callable[..., LaboratoryEnv]) -> None:
    env = make(render_mode="rgb_array")
    seen, _ = env.reset(seed=0)
    frame = env.render()
    assert frame.dtype == np.uint8 and frame.shape == (224, 224, 3) and frame.std() > 10
    plain = make()
    plain.reset(seed=0)
    assert flat(env.step(seen["command"])[0]) == flat(plain.step(seen["command"])[0])


def test_an_exposed_evaluator_is_told_in_the_records(make: Callable[..., LaboratoryEnv], tmp_path: Path) -> None:
    env = make(out=str(tmp_path), expose_evaluator=True, budget=1)
    seen, info = env.reset(seed=0)
    assert info["evaluator"]["scores"]["opportunities"] == 1
    *_, info = env.step(seen["command"])
    assert info["evaluator"]["verdict"]["valid"] is False
    run = read_run(runs(tmp_path)[0]).run
    assert run["privileged"] is True and "+evaluator" in run["identity"]["policy"]
    assert audit(runs(tmp_path)[0]).difference is None
    hidden = make(out=str(tmp_path), budget=1)
    with pytest.raises(PlanError, match=r"policy 'agent \(gymnasium\)\+evaluator'"):
        hidden.reset(seed=0)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_several_environments_run_side_by_side(mode: str, tmp_path: Path) -> None:
    context = {"context": "spawn"} if mode == "async" else {}
    envs = gymnasium.make_vec(WEIGHING, 2, vectorization_mode=mode, vector_kwargs=context, budget=2, out=str(tmp_path))
    try:
        seen, _ = envs.reset(seed=[4, 5])
        for _ in range(2):
            seen, rewards, terminated, truncated, _ = envs.step(seen["command"])
        assert truncated.all() and not terminated.any() and not rewards.any()
        assert len(set(seen["instruction"])) in (1, 2) and seen["joints"].shape == (2, 7)
    finally:
        envs.close()
    assert sorted(len(campaign.scores) for campaign in find_campaigns(tmp_path)) == [1, 1]


@pytest.mark.parametrize("task", FAMILIES)
def test_nothing_that_is_handed_out_is_the_evaluators(
    make: Callable[..., LaboratoryEnv], tmp_path: Path, task: str
) -> None:
    env = make(environment_id(task), out=str(tmp_path), cameras=("wrist",), depth=True, budget=3)
    handed: list[Any] = [env.reset(seed=2)]
    for _ in range(3):
        handed.append(env.step(handed[-1][0]["command"]))
    assert handed[-1][-1]["ended"] == "budget"
    assert not evaluator.leaks(handed, runs(tmp_path)[0], task)


# What tells twins apart is on the display of the balance, and in recall in the first frames.
@pytest.mark.parametrize(
    ("task", "cameras"), [("weighing-basic", ("labels",)), ("centrifuge-extended", ("wrist",)), ("recall-extended", ())]
)
def test_twins_are_the_same_bytes_until_evidence_shows_the_difference(
    make: Callable[..., LaboratoryEnv], task: str, cameras: tuple[str, ...]
) -> None:
    shown = []
    for index in range(2):
        env = make(environment_id(task), cameras=cameras, depth=True)
        seen, info = env.reset(seed=6, options={"instance": "twins", "index": index})
        stream = [(flat(seen), info)]
        for _ in range(3):
            seen, *rest = env.step(seen["command"])
            stream.append((flat(seen), rest))
        shown.append(stream)
    assert shown[0] == shown[1]


def test_the_data_port_shows_which_twin_it_is(make: Callable[..., LaboratoryEnv]) -> None:
    env = make(readings=True)
    one, two = (env.reset(seed=6, options={"instance": "twins", "index": i})[0]["readings"] for i in range(2))
    assert flat(one) != flat(two)


def test_the_search_for_leaks_finds_what_is_planted(make: Callable[..., LaboratoryEnv], tmp_path: Path) -> None:
    env = make(out=str(tmp_path), expose_evaluator=True, budget=1)
    seen, _ = env.reset(seed=2)
    *_, info = env.step(seen["command"])
    path = runs(tmp_path)[0]
    assert evaluator.leaks(info, path, "weighing-basic")
    run = read_run(path).run
    mass = next(iter(run["setup"]["masses"].values()))
    for planted in (
        {"x": mass},
        {"x": np.array((0.0, 1000 * mass))},
        {"x": run["session"]},
        {"sample": 1},
        [str(path)],
    ):
        assert evaluator.leaks(planted, path, "weighing-basic"), planted
    assert not evaluator.leaks(seen, path, "weighing-basic")


# --- operations

POURING = {
    "name": "labference/PouringWater-v1",
    "action": "perform",
    "fidelity": "fast",
    "readings": True,
    "budget": None,
}


def test_the_bench_pours_for_whoever_asks_for_operations(make: Callable[..., LaboratoryEnv], tmp_path: Path) -> None:
    env = make(**POURING, out=str(tmp_path))
    words = env.operations
    assert words is not None
    seen, info = env.reset(seed=0, options={"instance": "table-1"})
    assert env.observation_space.contains(seen)
    ended = False
    for action in (
        words.action("pick", "water", "rack"),
        words.action("pour", "water", "beaker", amount_g=20.0, pre_stop=0.25),
        words.action("place", "water", "rack"),
        words.action("stop"),
    ):
        assert not ended and env.action_space.contains(action)
        seen, reward, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
    assert seen["readings"]["balance"][0] == pytest.approx(20.0, abs=0.3)
    assert (info["ended"], reward, terminated) == ("completed", 1.0, True)
    (run,) = runs(tmp_path)
    assert audit(run).difference is None
    identity = read_run(run).run["identity"]
    assert (identity["hands"], identity["fidelity"]) == ("bench", "fast")


def test_numbers_that_are_no_number_take_their_defaults(make: Callable[..., LaboratoryEnv], tmp_path: Path) -> None:
    env = make(**POURING, out=str(tmp_path))
    words = env.operations
    assert words is not None
    env.reset(seed=0)
    env.step(words.action("pour", "water", "beaker") | {"parameters": np.full(len(words.settings), np.nan)})
    env.step(words.action("stop"))
    (run,) = runs(tmp_path)
    poured = next(entry for entry in read_run(run).lines(folder.ACTIONS) if entry["operation"]["kind"] == "pour")
    assert [entry["value"] for entry in poured["content"]] == [s.default for s in words.settings if s.kind == "pour"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": 99}, "Operation kind 'number 99' is unknown; use 'pick', "),
        ({"parameters": np.full(7, 1e3)}, "works."),
        ({"parameters": np.zeros(2)}, "is no act"),
        ({"item": None}, "is no act"),
    ],
)
def test_an_operation_that_is_none_is_an_interface_failure(
    make: Callable[..., LaboratoryEnv], changed: dict[str, Any], said: str
) -> None:
    env = make(**POURING)
    words = env.operations
    assert words is not None and len(words.settings) == 7
    env.reset(seed=0)
    *_, terminated, truncated, info = env.step(words.action("pour", "water", "beaker") | changed)
    assert (info["ended"], terminated, truncated) == ("interface_failure", True, False)
    assert said in info["sentence"]


@pytest.mark.parametrize("options", [{"action": "perform"}, {"fidelity": "fast"}])
def test_hands_that_are_not_there_are_refused_with_what_is(
    make: Callable[..., LaboratoryEnv], options: dict[str, Any]
) -> None:
    with pytest.raises(PlanError, match="would work"):
        make(**options)


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space:UserWarning")
def test_the_operations_keep_the_contract_of_gymnasium(make: Callable[..., LaboratoryEnv]) -> None:
    check_env(make(**POURING | {"budget": 400}), skip_render_check=True)
    words = make(**POURING).operations
    assert words is not None
    with pytest.raises(PlanError, match="There is no item 'wine'; 'water', 'beaker' would work"):
        words.action("pick", "wine")
    with pytest.raises(PlanError, match="There is no parameter 'seconds'; 'amount_g', "):
        words.action("pour", "water", "beaker", seconds=1.0)
