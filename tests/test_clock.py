"""Clocks: what an answer costs, when it comes too late, and that a recorded latency can be replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lab_policies
from conftest import BASIC, Attempt, without_runtime
from labference.bench.campaign import register
from labference.bench.campaign import run as run_campaign
from labference.bench.clock import identity_of, pace
from labference.bench.episode import STATEMENTS
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.records.reader import read_run
from labference.records.strict import plain
from labference.score.audit import audit
from labference.truth.clock import parse, periods
from labference.truth.identity import PlanError
from labference.wire import Move, Observation, Operation, Report, Stop, Wait

Run = Callable[..., Attempt]


@pytest.fixture
def under(laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs answers under a clock."""

    def run(clock: str, *answers: object, policy: str = "Answers", budget: int = 100) -> Attempt:
        monkeypatch.setattr(lab_policies.Answers, "says", answers)
        monkeypatch.setattr(lab_policies, "SAW", [])
        plan = Plan(BASIC, f"lab_policies:{policy}", 1, budget=budget, clock=clock)
        result = laboratory.attempt(plan, 0, tmp_path / f"{len(list(tmp_path.iterdir()))}")
        return Attempt(result, read_run(result.path))

    return run


def here(rows: int) -> Move:
    return Move(lab_policies.HERE[None].repeat(rows, axis=0))


def test_physics_waits_for_the_answer_unless_the_clock_says_otherwise(under: Run) -> None:
    paused, charged = under("paused", here(4), here(4)), under("latency:0.26", here(4), here(4))
    assert [entry["tick"] for entry in paused.actions[:3]] == [0, 100, 200]
    assert [entry["tick"] for entry in charged.actions[:3]] == [150, 400, 650]
    assert [entry["tick"] for entry in charged.observations[:3]] == [0, 250, 500]
    assert all(entry["charge"] == 0.26 for entry in charged.actions)
    assert [entry["late"] for entry in charged.actions] == [False] * 5 + [True], "the budget ran out over the last one"
    assert charged.scores["steps"] == paused.scores["steps"] == 100, "thinking spends the budget"
    assert charged.scores["identity"]["clock"] == "latency:0.26"


def test_an_answer_after_the_response_deadline_is_recorded_and_not_carried_out(under: Run) -> None:
    ended = under("latency:0.3:0.2", here(4), Stop())
    assert ended.result.reason == "budget", "a late stop stops nothing"
    assert all(entry["late"] and not entry["applied"] for entry in ended.actions)
    assert [entry["dropped"] for entry in ended.actions[:2]] == [4, 0]
    assert not ended.named("Stopped")


def test_a_late_report_is_not_scored(under: Run) -> None:
    report = Report(Operation("wait"))
    in_time = under("latency:0.1:0.2", report, policy="ReportingAnswers")
    late = under("latency:0.3:0.2", report, policy="ReportingAnswers")
    assert in_time.named("Chosen") or in_time.named("Noted")
    assert not late.named("Chosen") and not late.named("Noted")


def test_new_evidence_while_thinking_makes_an_answer_stale(laboratory: Laboratory, tmp_path: Path) -> None:
    """After each transfer the reading steadies while the executor thinks about waiting for it."""
    result = laboratory.attempt(Plan(BASIC, "expert", 1, clock="latency:0.4"), 0, tmp_path)
    ended = Attempt(result, read_run(result.path))
    assert result.reason == "completed" and audit(result.path).difference is None
    stale = [entry["observation"] for entry in ended.actions if entry["late"]]
    evidence = {entry["observation"]: entry["evidence"] for entry in ended.observations}
    assert any(evidence[number + 1] > evidence[number] for number in stale if number + 1 in evidence)
    assert all(not entry["applied"] for entry in ended.actions if entry["late"])


@pytest.mark.parametrize("budget", [9, 10, 11])
def test_the_end_of_the_budget_overtakes_an_answer_in_its_last_period(under: Run, budget: int) -> None:
    ended = under("latency:0.5", Stop(), budget=budget)
    assert ended.result.reason == ("stopped" if budget > 10 else "budget")
    assert [entry["late"] for entry in ended.actions] == [budget <= 10]
    assert audit(ended.run.path).difference is None


def test_a_late_wait_is_still_a_wait_between_statements(under: Run) -> None:
    """Agents are told so, too."""
    many = [Report(Operation("wait"))] * STATEMENTS
    ended = under("latency:0.1:0.05", *many, Wait(0.5), *many, policy="ReportingAnswers")
    assert all(entry["late"] for entry in ended.actions)
    assert ended.result.reason == "budget"
    assert under("latency:0.1:0.05", *many, many[0], policy="ReportingAnswers").result.reason == "interface_failure"


def test_an_answer_slower_than_any_may_be_is_later_than_every_limit() -> None:
    live = pace("real-time:60", 0)
    assert live.charge(1, 59.9) <= live.limit_s < live.charge(1, 100.0)
    assert periods(live.charge(1, 100.0), 20.0) == 60 * 20


@pytest.mark.parametrize("clock", ["paused", "latency:0.26", "latency:0.3:0.2", "latency:2", "real-time"])
def test_the_audit_replays_a_run_under_any_clock(under: Run, clock: str) -> None:
    ended = under(clock, here(4), here(9), Wait(0.5), Stop())
    assert audit(ended.run.path).difference is None


def test_the_audit_finds_a_charge_and_a_lateness_that_were_changed(under: Run) -> None:
    path = under("latency:0.3:0.2", here(4)).run.path / "actions.jsonl"
    honest = path.read_text(encoding="utf-8")
    for before, after in (('"late":true', '"late":false'), ('"charge":0.3', '"charge":0.1')):
        assert before in honest
        path.write_text(honest.replace(before, after), encoding="utf-8")
        assert "actions.jsonl" in str(audit(path.parent).difference)


class Dawdler(lab_policies.Scripted):
    """Take a moment over every answer."""

    def act(self, observation: Observation) -> Any:
        lab_policies.time.sleep(0.12 if observation.id % 2 else 0.01)
        return here(3)


def test_wall_time_becomes_simulated_time_and_its_record_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_policies, "Dawdler", Dawdler, raising=False)
    plan = Plan(BASIC, "lab_policies:Dawdler", 2, budget=60, clock="real-time:5")
    (*live,) = run_campaign(plan, tmp_path / "live")
    charges = [entry["charge"] for entry in read_run(live[0].path).lines("actions.jsonl")]
    assert all(charge > 0 for charge in charges) and max(charges) > 0.1
    again = replace(plan, clock=f"replay:{tmp_path / 'live'}")
    (*replayed,) = run_campaign(again, tmp_path / "again")
    for one, two in zip(live, replayed, strict=True):
        assert (one.path / "events.jsonl").read_bytes() == (two.path / "events.jsonl").read_bytes()
        assert (one.path / "measurements.bin").read_bytes() == (two.path / "measurements.bin").read_bytes()
        first, second = (without_runtime(dict(read_run(entry.path).scores or {})) for entry in (one, two))
        assert first["verdict"] == second["verdict"] and first["steps"] == second["steps"]
        assert second["identity"]["clock"] == "real-time:5, replayed"
        assert audit(two.path).difference is None


def test_a_refusal_after_thinking_is_the_same_refusal_in_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_policies.Answers, "says", (Report(Operation("wait")),) * (STATEMENTS + 1))
    plan = Plan(BASIC, "lab_policies:ReportingAnswers", 1, budget=100, clock="latency:0.1")
    (live,) = run_campaign(plan, tmp_path / "live")
    (again,) = run_campaign(replace(plan, clock=f"replay:{tmp_path / 'live'}"), tmp_path / "again")
    assert live.reason == again.reason == "interface_failure"
    for name in ("events.jsonl", "measurements.bin"):
        assert (live.path / name).read_bytes() == (again.path / name).read_bytes()


def test_a_replay_needs_a_finished_episode_and_the_same_answers(tmp_path: Path, laboratory: Laboratory) -> None:
    plan = Plan(BASIC, "still", 1, budget=60, clock="latency:0.1")
    list(run_campaign(plan, tmp_path / "live"))
    again = replace(plan, clock=f"replay:{tmp_path / 'live'}", budget=200)
    (result,) = run_campaign(again, tmp_path / "longer")
    assert (result.status, result.reason) == ("unresolved", "invalid")
    assert "this run differs" in result.sentence
    with pytest.raises(PlanError, match="no finished episode 1"):
        pace(f"replay:{tmp_path / 'live'}", 1)
    with pytest.raises(PlanError, match="no finished episode 1"):
        next(run_campaign(replace(again, episodes=2), tmp_path / "more"))
    assert not (tmp_path / "more").exists(), "known before anything is run"


@pytest.mark.parametrize(
    "clock",
    [
        "",
        "fast",
        "paused:",
        "paused:1",
        "real-time:-1",
        "real-time:nan",
        "latency",
        "latency:x",
        "latency:1:2:3",
        "replay:",
    ],
)
def test_a_clock_that_is_none_is_refused_in_one_sentence(tmp_path: Path, clock: str) -> None:
    with pytest.raises(PlanError, match=r"latency:0\.25"):
        register(Plan(BASIC, "still", 1, clock=clock), tmp_path / "out")


def test_a_folder_without_a_clock_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no clock to replay"):
        identity_of(f"replay:{tmp_path}")


def test_a_run_that_replays_nothing_does_not_say_that_it_does(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="names no records to replay; replay:FOLDER would work"):
        register(Plan(BASIC, "still", 1, clock="real-time:2, replayed"), tmp_path / "out")


def test_runs_under_different_clocks_are_different_experiments(tmp_path: Path) -> None:
    plan = Plan(BASIC, "still", 1, budget=20)
    list(run_campaign(plan, tmp_path / "one"))
    with pytest.raises(PlanError, match="clock 'paused', not 'latency:1'"):
        register(replace(plan, clock="latency:1"), tmp_path / "one")


def test_charges_are_whole_control_periods() -> None:
    assert [periods(charge, 20.0) for charge in (0.0, 1e-6, 0.05, 0.1, 0.26)] == [0, 1, 1, 2, 6]
    assert plain(parse("real-time:2"))["limit_s"] == 2.0
