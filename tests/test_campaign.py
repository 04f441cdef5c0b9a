"""Campaigns: resumable after anything, in one process or several, with the same results in the same order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import lab_policies
from conftest import BASIC, environment, without_runtime
from labference.bench.campaign import TRIES, register, remaining, run
from labference.bench.patience import SILENT, GivenUp
from labference.bench.plan import Plan
from labference.records import folder, strict
from labference.records.lock import hold, hold_episode
from labference.score.audit import audit
from labference.score.campaign import read_campaign
from labference.score.summary import Summary, summarise
from labference.truth.identity import PlanError

PLAN = Plan(BASIC, "expert", 3, seed=3)
SAME = ("events.jsonl", "measurements.bin", "online_scores.jsonl")
"""Files that must agree byte for byte; the others hold wall-clock seconds."""


def scores(out: Path) -> dict[int, dict[str, Any]]:
    return {index: without_runtime(score) for index, score in read_campaign(out).scores.items()}


def summary(out: Path) -> Summary:
    return replace(summarise(read_campaign(out)), runtime=None)


def differing(one: Path, two: Path) -> list[str]:
    """Return what differs between the newest finished attempts of two campaigns."""
    pairs = zip(folder.episodes(one), folder.episodes(two), strict=True)
    found = []
    for first, second in pairs:
        a, b = folder.finished(first), folder.finished(second)
        assert a is not None and b is not None
        found += [f"{first.name}/{name}" for name in SAME if (a / name).read_bytes() != (b / name).read_bytes()]
    return found


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign that ran from beginning to end in this process."""
    out = tmp_path_factory.mktemp("uninterrupted")
    results = list(run(PLAN, out))
    assert [result.index for result in results] == [0, 1, 2]
    return out


def command(out: Path, *more: str, plan: Plan = PLAN) -> list[str]:
    settings = ["--policy", plan.policy, "--episodes", str(plan.episodes), "--seed", str(plan.seed)]
    return [
        sys.executable,
        "-c",
        "from labference.cli import main; main()",
        "run",
        BASIC,
        *settings,
        "--out",
        str(out),
        *more,
    ]


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts `labference run` as a process and waits until an episode is under way."""
    children: list[subprocess.Popen[str]] = []

    def start(out: Path, *more: str, episode: int, plan: Plan = PLAN) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            command(out, *more, plan=plan),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        children.append(child)
        watched = folder.episode_folder(out, episode) / "attempt-1"
        deadline = time.monotonic() + 60
        while len(strict.read_lines(watched / folder.OBSERVATIONS)) < 4:
            assert time.monotonic() < deadline and child.poll() is None, child.communicate()
            time.sleep(0.005)
        return child

    yield start
    for child in children:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


# --- resuming


def test_a_finished_campaign_has_nothing_left_to_run(uninterrupted: Path) -> None:
    before = sorted(uninterrupted.rglob("*"))
    assert remaining(PLAN, uninterrupted) == []
    assert list(run(PLAN, uninterrupted)) == []
    assert sorted(uninterrupted.rglob("*")) == before


def test_only_what_is_missing_is_run_again_and_earlier_attempts_are_kept(uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    subprocess.run(["cp", "-r", str(uninterrupted), str(out)], check=True)
    lost = folder.episode_folder(out, 2) / "attempt-1"
    (lost / folder.SCORES).unlink()
    kept = {path: path.read_bytes() for path in lost.iterdir()}
    assert remaining(PLAN, out) == [2]
    (result,) = run(PLAN, out)
    assert (result.index, result.path.name) == (2, "attempt-2")
    assert {path: path.read_bytes() for path in lost.iterdir()} == kept
    assert summary(out) == summary(uninterrupted)
    assert scores(out) == scores(uninterrupted)
    assert differing(out, uninterrupted) == []


def test_a_campaign_killed_in_the_middle_of_an_episode_resumes_to_the_same_numbers(
    uninterrupted: Path, tmp_path: Path, started: Any
) -> None:
    out = tmp_path / "killed"
    child = started(out, episode=1)
    child.kill()
    child.wait()
    torn = folder.episode_folder(out, 1) / "attempt-1"
    assert not (torn / folder.SCORES).exists()
    assert remaining(PLAN, out) == [1, 2]
    assert audit(torn).difference is None, "what a kill leaves contradicts nothing"
    assert [result.index for result in run(PLAN, out)] == [1, 2]
    assert torn.exists()
    assert summary(out) == summary(uninterrupted)
    assert scores(out) == scores(uninterrupted)
    assert differing(out, uninterrupted) == []


def test_an_interrupted_campaign_is_valid_says_so_and_resumes(
    uninterrupted: Path, tmp_path: Path, started: Any
) -> None:
    out = tmp_path / "interrupted"
    child = started(out, episode=1)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "same command resumes" in said and "Traceback" not in said
    assert list(scores(out)) == [0]
    done = subprocess.run(command(out), env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "3/3" in done.stdout
    assert scores(out) == scores(uninterrupted)


def test_interrupting_two_workers_finishes_what_is_under_way_and_begins_nothing_new(
    uninterrupted: Path, tmp_path: Path, started: Any
) -> None:
    out = tmp_path / "interrupted"
    child = started(out, "--workers", "2", episode=1, plan=replace(PLAN, episodes=12))
    begun = len(folder.episodes(out))
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "same command resumes" in said and "Traceback" not in said
    assert begun <= len(folder.episodes(out)) <= begun + 2, "those handed out before the signal arrives may begin"
    list(run(PLAN, out))
    assert {index: score for index, score in scores(out).items() if index < 3} == scores(uninterrupted)


@pytest.mark.skipif(os.name != "posix", reason="a policy in a process of its own needs a POSIX system")
def test_a_second_interrupt_does_not_wait_for_workers_whose_policy_hangs(tmp_path: Path, started: Any) -> None:
    plan = replace(PLAN, policy="rogue:HangsLater", episodes=2)
    child = started(tmp_path / "out", "--workers", "2", episode=1, plan=plan)
    child.send_signal(signal.SIGINT)
    time.sleep(1)
    assert child.poll() is None, "what is under way is waited for at first"
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "same command resumes" in said and "Traceback" not in said


def test_torn_last_lines_do_not_stop_anybody_from_reading_a_run(uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "torn"
    subprocess.run(["cp", "-r", str(uninterrupted / "episode-0000"), str(out)], check=True)
    attempt = out / "attempt-1"
    (attempt / folder.SCORES).unlink()
    for name in (folder.EVENTS, folder.OBSERVATIONS, folder.ACTIONS, folder.ONLINE):
        with (attempt / name).open("a") as file:
            file.write('{"event":"Gras')
    assert audit(attempt).difference is None


# --- several processes


def test_two_workers_give_what_one_gives_in_the_same_order(uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "two"
    results = list(run(PLAN, out, workers=2))
    assert [result.index for result in results] == [0, 1, 2]
    assert differing(out, uninterrupted) == []
    assert scores(out) == scores(uninterrupted)
    assert list(scores(out)) == [0, 1, 2]
    assert summary(out) == summary(uninterrupted)


# --- what a folder may hold


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("task", "weighing-extended"),
        ("policy", "still"),
        ("seed", 4),
        ("action", "end_effector"),
        ("render", "quality"),
        ("video", ("front",)),
    ],
)
def test_other_settings_in_the_same_folder_are_refused_by_name(tmp_path: Path, field: str, value: Any) -> None:
    register(PLAN, tmp_path)
    folder.episode_folder(tmp_path, 0).mkdir()
    before = (tmp_path / folder.CAMPAIGN).read_bytes()
    with pytest.raises(PlanError, match=f"with {field} ") as refused:
        register(replace(PLAN, **{field: value}), tmp_path)
    assert "--out" in str(refused.value)
    assert (tmp_path / folder.CAMPAIGN).read_bytes() == before


def test_a_population_may_grow_and_never_shrinks(tmp_path: Path) -> None:
    register(PLAN, tmp_path)
    register(replace(PLAN, episodes=6), tmp_path)
    assert read_campaign(tmp_path).planned == 6
    register(replace(PLAN, episodes=2), tmp_path)
    assert read_campaign(tmp_path).planned == 6
    assert remaining(replace(PLAN, episodes=6), tmp_path) == [0, 1, 2, 3, 4, 5]


def test_a_grown_campaign_keeps_what_it_had(uninterrupted: Path, tmp_path: Path) -> None:
    out = tmp_path / "grown"
    list(run(replace(PLAN, episodes=1), out))
    (result,) = run(replace(PLAN, episodes=2), out)
    assert result.index == 1
    assert scores(out) == {index: score for index, score in scores(uninterrupted).items() if index < 2}


def test_an_empty_population_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="1 or more"):
        register(replace(PLAN, episodes=0), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("policy", ["still", "expert"])
def test_a_profile_of_a_local_policy_is_refused_and_not_ignored(policy: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=f"'{policy}' is no server and has no profile; leave out --profile droid"):
        run(Plan(BASIC, policy, 1, profile="droid"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_episodes_of_unknown_origin_are_not_added_to(tmp_path: Path) -> None:
    folder.episode_folder(tmp_path, 0).mkdir()
    with pytest.raises(PlanError, match="choose another --out"):
        register(PLAN, tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"task": "weighing-basik"},
        {"policy": "expret"},
        {"action": "joints"},
        {"render": "slow"},
        {"video": ("keyhole",)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_plan_that_cannot_run_leaves_no_trace_that_would_stop_the_right_one(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    out = tmp_path / "out"
    with pytest.raises(Exception) as refused:  # the kinds are tested with the command line
        list(run(replace(PLAN, **wrong), out))
    assert not isinstance(refused.value, KeyError), "a user can do nothing with a KeyError"
    register(PLAN, out)


# --- validity


def test_a_lost_service_is_tried_again_and_both_attempts_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_policies.OutOfService, "failures", 1)
    (result,) = run(Plan(BASIC, "lab_policies:OutOfService", 1, budget=40), tmp_path)
    assert (result.status, result.path.name) == ("scored", "attempt-2")
    first, second = folder.attempts(folder.episode_folder(tmp_path, 0))
    assert not (first / folder.SCORES).exists() and (second / folder.SCORES).exists()
    keys = [strict.read(path / folder.RUN)["key"] for path in (first, second)]
    assert keys[0] == keys[1], "a retry is the same experiment"


def test_an_episode_that_never_resolves_is_counted_as_unresolved_and_retried_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_policies.OutOfService, "failures", 99)
    plan = Plan(BASIC, "lab_policies:OutOfService", 2, budget=40)
    assert {result.status for result in run(plan, tmp_path)} == {"unresolved"}
    assert len(folder.attempts(folder.episode_folder(tmp_path, 0))) == TRIES
    found = summary(tmp_path)
    assert (found.scored, found.unresolved) == (0, 2)
    assert (found.completion.low, found.completion.high) == (0.0, 1.0)
    assert remaining(plan, tmp_path) == [0, 1]


def test_a_run_stops_soon_where_nobody_is_and_goes_on_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_policies.NotThere, "failures", TRIES + 1)
    plan = Plan(BASIC, "lab_policies:NotThere", 6, budget=20)
    results = run(plan, tmp_path)
    (first, second) = islice(results, 2)
    assert [first.status, second.status] == ["unresolved", "scored"], "one that came back is not given up"
    monkeypatch.setattr(lab_policies.NotThere, "failures", 99)
    rest = []
    with pytest.raises(GivenUp, match="3 times in a row before its first answer"):
        rest += [result.index for result in results]
    assert sorted(path.name for path in folder.episodes(tmp_path)) == [f"episode-{i:04d}" for i in range(2 + SILENT)]
    found = summarise(read_campaign(tmp_path))
    assert (found.planned, found.scored, found.unresolved) == (6, 1, 5)
    monkeypatch.setattr(lab_policies.NotThere, "failures", 0)
    assert [result.status for result in run(plan, tmp_path)] == ["scored"] * 5


def test_a_service_that_fails_after_an_answer_is_not_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_policies.OutOfService, "failures", 99)
    results = list(run(Plan(BASIC, "lab_policies:OutOfService", SILENT + 1, budget=20), tmp_path))
    assert [result.silent for result in results] == [False] * (SILENT + 1)


def test_a_policy_outcome_is_never_retried(tmp_path: Path) -> None:
    results = list(run(Plan(BASIC, "lab_policies:Raises", 2), tmp_path))
    assert [(result.status, result.reason) for result in results] == [("scored", "interface_failure")] * 2
    assert all(len(folder.attempts(path)) == 1 for path in folder.episodes(tmp_path))


def test_a_policy_that_cannot_even_open_is_said_so_in_a_sentence(tmp_path: Path) -> None:
    plan = Plan(BASIC, "lab_policies:RaisesOnOpen", 1)
    try:
        (result,) = run(plan, tmp_path)
    except PlanError as error:
        assert "no licence" in str(error)
        return
    assert "no licence" in result.sentence
    assert result.reason == "interface_failure" or result.status == "unresolved"


def test_the_seed_of_a_policy_is_its_own(uninterrupted: Path) -> None:
    seeds = [
        json.loads((path / "attempt-1" / "run.json").read_text())["identity"]["seeds"]
        for path in folder.episodes(uninterrupted)
    ]
    values = [value for entry in seeds for value in entry.values()]
    assert len(set(values)) == len(values) == 15


# --- two processes on one folder


def test_a_second_process_on_a_folder_is_refused_and_a_killed_one_is_no_obstacle(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]], uninterrupted: Path
) -> None:
    out = tmp_path / "out"
    first = started(out, episode=0)
    os.killpg(first.pid, signal.SIGSTOP)
    second = subprocess.run(command(out), env=environment(), capture_output=True, text=True)
    assert second.returncode == 2
    assert second.stderr.strip() == f"Process {first.pid} has {out} open; wait until it ends, or choose another --out."
    assert summarise(read_campaign(out)).planned == PLAN.episodes, "reading is free"
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert (out / folder.LOCK).exists(), "the file stays behind, and says nothing"
    list(run(PLAN, out))
    assert not (out / folder.LOCK).exists()
    assert not differing(out, uninterrupted)


def test_a_run_that_nobody_goes_on_with_lets_its_folder_go(tmp_path: Path) -> None:
    results = run(PLAN, tmp_path)
    with pytest.raises(PlanError, match=f"Process {os.getpid()} has"):
        run(PLAN, tmp_path)
    del results
    with hold(tmp_path), pytest.raises(PlanError, match="open; wait until it ends"):
        register(PLAN, tmp_path)
    register(PLAN, tmp_path)


def test_many_may_be_in_a_folder_but_each_in_an_episode_of_its_own(tmp_path: Path) -> None:
    with hold_episode(tmp_path, 0), hold_episode(tmp_path, 1):
        with pytest.raises(PlanError, match="open"), hold_episode(tmp_path, 1):
            raise AssertionError
        with pytest.raises(PlanError, match="open"):
            hold(tmp_path)
    with hold(tmp_path), pytest.raises(PlanError, match="open"), hold_episode(tmp_path, 2):
        raise AssertionError
    assert not list(tmp_path.iterdir()), "nothing is left behind"
