"""The timed loop under policies that misbehave, cheat, talk, dawdle or merely wait; real physics throughout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import av
import numpy as np
import pytest

import lab_policies
from conftest import Attempt
from labference.bench.episode import substeps
from labference.bench.laboratory import Laboratory
from labference.motion import grasp_standing
from labference.score.audit import audit, replay
from labference.tasks import find_task
from labference.truth.contract import cells_of, read_cells
from labference.truth.draw import draw
from labference.truth.identity import PlanError
from labference.truth.measurement import SensorFault, Setup
from labference.wire import Goal, Move, Operation, Report, Stop, Wait
from labference.wire.panda import HOME
from labference.world.faults import SetupError, SimulationFault

Run = Callable[..., Attempt]
HERE = np.array([*HOME, 0.08])


def changed(column: int, value: float) -> np.ndarray:
    """Return one command that holds still but for one entry."""
    command = HERE.copy()
    command[column] = value
    return command[None]


@pytest.fixture
def says(attempt: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs an attempt of a policy that gives these answers and then waits."""

    def run(*answers: object, policy: str = "Answers", **options: Any) -> Attempt:
        monkeypatch.setattr(lab_policies.Answers, "says", answers)
        monkeypatch.setattr(lab_policies, "SAW", [])
        return attempt(f"lab_policies:{policy}", **options)

    return run


NONSENSE = {
    "not a number": (Move(changed(2, float("nan"))), "nonfinite"),
    "infinite": (Move(changed(7, float("inf"))), "nonfinite"),
    "one row, no matrix": (Move(HERE), "shape"),
    "seven entries": (Move(HERE[None, :7]), "shape"),
    "no rows": (Move(np.empty((0, 8))), "empty"),
    "too long": (Move(np.repeat(HERE[None], 51, axis=0)), "too_long"),
    "beyond a joint limit": (Move(changed(0, 3.0)), "out_of_range"),
    "wider than the gripper": (Move(changed(7, 0.081)), "out_of_range"),
    "a list": (Move([HERE.tolist()]), "dtype"),  # type: ignore[arg-type]
    "nothing": (None, "unknown_act"),
    "a dictionary": ({"commands": HERE}, "unknown_act"),
    "an endless wait": (Wait(float("inf")), "nonfinite"),
    "a wait into the past": (Wait(-1.0), "out_of_range"),
    "a report never offered": (Report(Operation("wait")), "unsupported"),
}


@pytest.mark.parametrize(("answer", "kind"), NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_ends_the_episode_as_a_named_interface_failure_before_any_physics(
    says: Run, answer: object, kind: str
) -> None:
    ended = says(Wait(0.25), answer)
    assert (ended.result.status, ended.result.reason) == ("scored", "interface_failure")
    (refused,) = ended.named("Refused")
    assert refused["kind"] == kind
    assert refused["sentence"] == ended.scores["sentence"] == ended.result.sentence
    assert refused["sentence"].endswith(".") and "np." not in refused["sentence"]
    assert ended.scores["steps"] == 5
    assert not ended.verdict["physical"] and not ended.verdict["valid"] and not ended.verdict["clean"]
    assert audit(ended.result.path).difference is None


def test_an_exception_inside_a_policy_is_an_interface_failure_that_names_it(attempt: Run) -> None:
    ended = attempt("lab_policies:Raises")
    assert (ended.result.status, ended.result.reason) == ("scored", "interface_failure")
    assert ended.named("Refused")[0]["kind"] == "exception"
    assert "RuntimeError: the grip is jammed" in ended.result.sentence
    assert not ended.verdict["valid"]


def test_an_exception_with_several_lines_still_makes_one_line(attempt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_policies.Raises, "error", ValueError("first\nsecond\nthird"))
    assert "\n" not in attempt("lab_policies:Raises").result.sentence


def test_an_exception_while_resetting_is_an_interface_failure(attempt: Run) -> None:
    ended = attempt("lab_policies:RaisesOnReset")
    assert (ended.result.status, ended.result.reason) == ("scored", "interface_failure")
    assert "no weights loaded" in ended.result.sentence
    assert ended.scores["queries"] == 0


def test_a_lost_service_leaves_the_episode_unresolved_and_unscored(attempt: Run) -> None:
    ended = attempt("lab_policies:OutOfService")
    assert (ended.result.status, ended.result.reason) == ("unresolved", "invalid")
    assert ended.run.scores is None
    (event,) = ended.named("Invalidated")
    assert event["cause"] == "ServiceFault"
    assert event["sentence"] == "The connection to the model was lost."
    assert event["tick"] == 250
    assert audit(ended.result.path).difference is None


def unsuitable(attempt: Run, policy: str, **options: Any) -> str:
    """Return the sentence that says why a policy cannot be run here; it must not be scored."""
    try:
        ended = attempt(policy, **options)
    except PlanError as error:
        return str(error)
    assert ended.result.status != "scored"
    return ended.result.sentence


def test_a_profile_that_a_policy_never_offered_is_not_scored_against_it(attempt: Run) -> None:
    sentence = unsuitable(attempt, "lab_policies:OnlyJoint", action="end_effector")
    assert "'end_effector'" in sentence and "joint" in sentence


def test_the_reference_executor_is_not_scored_in_a_profile_it_cannot_drive(attempt: Run) -> None:
    assert "'end_effector'" in unsuitable(attempt, "expert", action="end_effector")


def test_a_camera_that_is_not_there_is_said_so_and_not_a_crash(attempt: Run) -> None:
    for options in ({"policy": "lab_policies:OddCamera"}, {"policy": "still", "video": ("keyhole",)}):
        sentence = unsuitable(attempt, **options)
        assert "'keyhole'" in sentence and "front" in sentence


def test_a_diverged_simulation_is_nobodys_failure(
    attempt: Run, laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverge(command: np.ndarray, steps: int, control: int = 0) -> None:
        raise SimulationFault("The simulation diverged after 0.000 s: BADQACC.")

    with monkeypatch.context() as patch:
        patch.setattr(laboratory.world, "step", diverge)
        ended = attempt("still")
    assert (ended.result.status, ended.result.reason) == ("unresolved", "invalid")
    assert ended.named("Invalidated")[0]["cause"] == "SimulationFault"
    assert attempt("lab_policies:Scripted", budget=3).result.status == "scored", "the laboratory can be used again"


def test_a_bench_that_does_not_come_to_rest_is_nobodys_failure(
    attempt: Run, laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shake(setup: Setup) -> None:
        raise SetupError("Not at rest after 6.0 s. Still moving: 10 g.")

    monkeypatch.setattr(laboratory.world, "prepare", shake)
    ended = attempt("still")
    assert ended.result.status == "unresolved" and ended.run.scores is None
    (event,) = ended.events
    assert (event["event"], event["cause"]) == ("Invalidated", "SetupError")


def test_doing_nothing_scores_nothing(attempt: Run) -> None:
    ended = attempt("still", budget=200)
    assert ended.result.reason == "budget"
    assert ended.scores["steps"] == 200
    assert not ended.verdict["physical"] and not ended.verdict["valid"]
    assert ended.verdict["coverage"] == [0, 1]
    assert ended.verdict["attempts"] == 0


def test_success_is_false_at_reset_whatever_the_budget(says: Run) -> None:
    ended = says(budget=0)
    assert ended.result.reason == "budget" and ended.scores["steps"] == 0
    assert not ended.verdict["physical"]


def test_stopping_at_once_is_early_termination_and_not_completion(says: Run) -> None:
    ended = says(Stop(), budget=400)
    assert ended.result.reason == "stopped"
    assert ended.verdict["categories"]["early_termination"] == 1
    assert ended.verdict["stopped"] == 0
    assert not ended.verdict["physical"]
    assert ended.scores["queries"] == 1, "nobody is asked after Stop"
    assert ended.scores["simulated_s"] == pytest.approx(6.0), (
        "a reading may still steady, and the window may still pass"
    )


def test_a_wait_consumes_simulated_time_and_thinking_does_not(attempt: Run) -> None:
    quick, slow = attempt("lab_policies:Scripted", budget=60), attempt("lab_policies:Slow", budget=60)
    for ended in (quick, slow):
        assert [entry["time"] for entry in ended.observations] == pytest.approx([0.0, 1.0, 2.0])
        assert ended.scores["simulated_s"] == pytest.approx(3.0)
    assert slow.scores["runtime"]["model_s"] >= 0.6 > quick.scores["runtime"]["model_s"]
    assert all(entry["seconds"] >= 0.2 for entry in slow.actions)
    assert slow.scores["runtime"]["physics_s"] < slow.scores["runtime"]["wall_s"]
    quick_bytes, slow_bytes = ((a.result.path / "measurements.bin").read_bytes() for a in (quick, slow))
    assert quick_bytes == slow_bytes, "physics does not know how long anybody thought"


def test_the_seconds_of_an_answer_are_simulated_by_the_number_asked_for(says: Run) -> None:
    ended = says(Wait(0.05), Wait(0.01), Wait(0.5), Move(np.repeat(HERE[None], 3, axis=0)), budget=40)
    times = [entry["time"] for entry in ended.observations]
    assert np.diff(times).round(6).tolist() == [0.05, 0.05, 0.5, 0.15, 1.0]


def test_requested_and_applied_commands_are_recorded_and_agree_in_the_joint_profile(says: Run) -> None:
    rows = np.repeat(HERE[None], 7, axis=0)
    rows[:, 0] = np.linspace(0.0, 0.1, 7)
    rows[:, 7] = np.linspace(0.08, 0.02, 7)
    ended = says(Move(rows), budget=30)
    first = ended.actions[0]
    assert first["act"] == "Move" and first["observation"] == 1 and first["tick"] == 0
    assert first["requested"] == first["applied"] == rows.tolist()
    assert first["dropped"] == first["clipped"] == 0
    assert ended.actions[1]["act"] == "Wait" and ended.actions[1]["requested"] == []
    assert lab_policies.SAW[1].senses.robot.command == pytest.approx(rows[-1])


def test_a_budget_cuts_a_chunk_short_and_says_what_was_left(says: Run) -> None:
    ended = says(Move(np.repeat(HERE[None], 30, axis=0)), budget=12)
    assert ended.scores["steps"] == 12
    assert (len(ended.actions[0]["applied"]), ended.actions[0]["dropped"]) == (12, 18)


def test_closing_means_small_and_opening_means_large(says: Run) -> None:
    closing, opening = HERE.copy(), HERE.copy()
    closing[7] = 0.0
    says(*(Move(np.repeat(row[None], 20, axis=0)) for row in (closing, opening)), budget=60)
    seen = [observation.senses.robot.opening for observation in lab_policies.SAW]
    assert seen[0] == pytest.approx(0.08, abs=0.002)
    assert seen[1] == pytest.approx(0.0, abs=0.002)
    assert seen[2] == pytest.approx(0.08, abs=0.002)


def test_increments_of_the_end_effector_move_the_tool_as_asked(says: Run) -> None:
    for axis in range(3):
        step = np.zeros((20, 7))
        step[:, axis], step[:, 6] = 0.003, 0.08
        ended = says(Move(step), Wait(0.5), action="end_effector", budget=40)
        before, after = lab_policies.SAW[0].senses.robot.tcp, lab_policies.SAW[2].senses.robot.tcp
        wanted = np.zeros(3)
        wanted[axis] = 0.06
        assert after[:3] - before[:3] == pytest.approx(wanted, abs=0.003)
        assert abs(float(before[3:] @ after[3:])) > 0.9995, "the tool does not turn"
        record = ended.actions[0]
        assert record["requested"] == step.tolist()
        assert np.shape(record["applied"]) == (20, 8), "what reached the robot are joint targets"
    assert audit(ended.result.path).difference is None


def test_a_rotation_increment_turns_the_tool_about_the_axis_of_the_base(says: Run) -> None:
    step = np.zeros((10, 7))
    step[:, 5], step[:, 6] = 0.05, 0.08
    says(Move(step), Wait(0.5), action="end_effector", budget=30)
    before, after = lab_policies.SAW[0].senses.robot.tcp, lab_policies.SAW[2].senses.robot.tcp
    assert after[:3] == pytest.approx(before[:3], abs=0.004)
    assert 2 * np.arccos(abs(float(before[3:] @ after[3:]))) == pytest.approx(0.5, abs=0.02)


def test_a_queue_outlives_neither_the_episode_nor_the_evidence_it_was_computed_from(attempt: Run, says: Run) -> None:
    ended = attempt("expert", index=0, budget=600)
    cut = says(Move(np.repeat(HERE[None], 50, axis=0)), budget=3)
    fresh = attempt("lab_policies:Scripted", budget=20)
    assert cut.actions[0]["dropped"] == 47
    assert fresh.actions[0]["act"] == "Wait" and fresh.actions[0]["applied"] == []
    first, second = ended.named("Opened")
    assert first["observation"] == 1 and first["physical"]
    assert second["legal"] == [{"kind": "stop", "item": "", "place": ""}] and not second["physical"]


def test_new_evidence_drops_the_queue_and_the_record_says_how_much(attempt: Run) -> None:
    ended = attempt("expert", budget=400)
    handoff = ended.observations[ended.named("Opened")[1]["observation"] - 1]
    cut, after = ended.actions[handoff["observation"] - 2 : handoff["observation"]]
    assert cut["dropped"] > 0
    assert after["tick"] == handoff["tick"] < cut["tick"] + 500, "the wait was cut short"
    assert handoff["evidence"] == 2
    assert ended.named("Closed")[0]["because"] == "new evidence"


LOOSE = SensorFault("balance", 0.5, 1.5, "loose plug")


def test_a_failed_sensor_is_an_event_with_its_source_and_invalidates_the_window(
    attempt: Run, laboratory: Laboratory
) -> None:
    ended = attempt("still", budget=80, faults=(LOOSE,))
    (faulted,) = ended.named("Faulted")
    assert faulted["instrument"] == "balance" and faulted["status"] == "fault" and faulted["tick"] == 250
    assert faulted["source"]
    assert ended.named("Disturbed")[0]["tick"] == 250
    assert ended.named("Restored")[0]["tick"] == 750
    steady = [event["tick"] for event in ended.named("Steadied") if event["tick"] > 0]
    assert steady == [750 + 499], "a stable window is full of valid samples"


def test_the_source_of_a_failed_sensor_is_the_one_that_the_laboratory_knows(
    attempt: Run, laboratory: Laboratory
) -> None:
    ended = attempt("still", budget=20, faults=(LOOSE,))
    assert "loose plug" in ended.named("Faulted")[0]["source"]


def test_nothing_completes_while_the_sensor_is_down(attempt: Run, laboratory: Laboratory, hands: Any) -> None:
    hands(0)
    ended = attempt("lab_policies:PutsAndRests", budget=500, faults=(SensorFault("balance", 0.5, 40.0, "dead cell"),))
    placed = [event for event in ended.named("Settled") if event["place"] == "pan" and event["tick"] > 0]
    assert placed and placed[-1]["item"] == ended.named("Opened")[0]["legal"][0]["item"]
    assert not ended.verdict["physical"] and not ended.named("Completed")


@pytest.mark.parametrize(("rate", "near"), [(30.0, "31.25 or 29.4118"), (19.0, "19.2308 or 18.5185")])
def test_a_control_period_that_is_not_whole_steps_is_refused_with_rates_that_work(rate: float, near: str) -> None:
    with pytest.raises(ValueError) as refused:
        substeps(rate, 0.002)
    assert all(word in str(refused.value) for word in near.split(" or "))
    assert substeps(20.0, 0.002) == 25 and substeps(500.0, 0.002) == 1


def test_a_choice_after_the_response_window_is_late_and_does_not_count(
    attempt: Run, laboratory: Laboratory, hands: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands(1)
    monkeypatch.setattr(laboratory, "contract", replace(laboratory.contract, response_s=0.5))  # type: ignore[type-var]
    ended = attempt("lab_policies:PutsAndRests", index=1, budget=400)
    assert ended.verdict["coverage"] == [0, 1]
    assert ended.verdict["categories"]["late_choice"] == 1
    assert ended.verdict["valid"] and not ended.verdict["clean"]
    closed = ended.named("Closed")[0]
    assert closed["because"] == "response window" and 250 < closed["tick"] <= 275


# --- the report track


def test_the_first_report_is_frozen_and_revisions_keep_their_own_times(says: Run, laboratory: Laboratory) -> None:
    instance, _ = draw(laboratory.contract, 0, 0)
    right = Operation("add", f"{instance.goal[0]} g", "pan")
    wrong = Operation("wait")
    ended = says(
        Report(wrong), Wait(0.5), Report(right), Report(right), Report(Operation("stop")),
        policy="ReportingAnswers", budget=40,
    )  # fmt: skip
    (decision,) = ended.verdict["decisions"]
    assert decision["report"]["kind"] == "wait" and decision["report_correct"] is False and decision["reported"] == 0
    assert [(tick, track, operation["kind"]) for tick, track, operation in decision["revisions"]] == [
        (250, "report", "add"),
        (250, "report", "add"),
        (250, "report", "stop"),
    ]
    assert decision["choice"] is None, "a word is not a grasp"
    assert ended.scores["reports"] is True
    assert audit(ended.result.path).difference is None


def test_a_correct_report_is_scored_before_any_motion(says: Run, laboratory: Laboratory) -> None:
    instance, _ = draw(laboratory.contract, 0, 0)
    right = Operation("add", f"{instance.goal[0]} g", "pan")
    ended = says(Report(right), policy="ReportingAnswers", budget=10)
    assert ended.verdict["decisions"][0]["report_correct"] is True
    assert ended.scores["simulated_s"] == pytest.approx(0.5)
    assert ended.verdict["coverage"] == [0, 1], "the behavioural track stays empty"


def test_what_a_motion_commits_to_counts_as_a_report(says: Run, laboratory: Laboratory) -> None:
    instance, _ = draw(laboratory.contract, 0, 0)
    right = Operation("add", f"{instance.goal[0]} g", "pan")
    ended = says(Move(HERE[None], commits=right), policy="ReportingAnswers", budget=10)
    assert ended.verdict["decisions"][0]["report_correct"] is True
    assert ended.actions[0]["operation"]["item"] == right.item


def test_the_live_referee_and_the_record_agree_on_whether_reports_are_scored(says: Run) -> None:
    ended = says(Wait(0.2), policy="ReportingAnswers", budget=10)
    assert ended.run.run["reports"] is True
    assert replay(ended.run).referee.reports is True
    assert audit(ended.result.path).difference is None


def test_waiting_is_a_legal_report_while_the_reading_is_not_valid_and_only_on_that_track(says: Run) -> None:
    options: Any = {"budget": 40, "faults": (LOOSE,)}
    silent = says(Wait(1.0), **options)
    assert len(silent.verdict["decisions"]) == 1, "behaviour cannot show a wait"
    spoken = says(Wait(1.0), Report(Operation("wait")), policy="ReportingAnswers", **options)
    waiting = [entry for entry in spoken.verdict["decisions"] if not entry["physical"]]
    assert waiting and waiting[0]["legal"] == [{"kind": "wait", "item": "", "place": ""}]
    assert waiting[0]["report_correct"] is True
    assert audit(spoken.result.path).difference is None


def test_stopping_is_a_report_of_a_system_that_reports_and_wordless_for_any_other(says: Run) -> None:
    spoken = says(Stop(), policy="ReportingAnswers", budget=10)
    assert spoken.verdict["decisions"][0]["report"]["kind"] == "stop"
    assert spoken.verdict["decisions"][0]["report_correct"] is False
    silent = says(Stop(), budget=10)
    assert silent.verdict["decisions"][0]["report"] is None


def test_endless_talk_ends_as_an_interface_failure_and_does_not_hang(attempt: Run) -> None:
    ended = attempt("lab_policies:Talks")
    assert ended.result.reason == "interface_failure"
    assert ended.named("Refused")[0]["kind"] == "too_many"
    assert ended.scores["simulated_s"] == 0.0
    assert audit(ended.result.path).difference is None


# --- what a policy is given


def test_a_policy_is_built_with_its_own_seed_and_no_other(attempt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(lab_policies.Scripted, "__init__", lambda self, seed: made.append(seed))
    ended = attempt("lab_policies:Scripted", budget=1)
    assert made == [ended.scores["identity"]["seeds"]["policy"]]


def test_only_what_a_policy_asked_for_is_delivered(says: Run) -> None:
    says(budget=1)
    (observation,) = lab_policies.SAW
    assert observation.senses.frames == () and observation.senses.readings == ()


def test_filming_changes_neither_physics_nor_evidence(attempt: Run) -> None:
    filmed = attempt("lab_policies:Swings", budget=20, video=("front",))
    plain = attempt("still", budget=1)
    assert plain.result.status == "scored"
    again = attempt("lab_policies:Swings", budget=20)
    for name in ("measurements.bin", "events.jsonl", "observations.jsonl"):
        assert (filmed.result.path / name).read_bytes() == (again.result.path / name).read_bytes(), name
    with av.open(str(filmed.result.path / "front.mp4")) as video:
        pictures = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
    assert len(pictures) == 10, "one every 0.1 s"
    assert pictures[0].max() - pictures[0].min() > 50, "not black"


def test_overwriting_an_observation_changes_nothing_on_the_bench(attempt: Run) -> None:
    vandal, calm = attempt("lab_policies:Vandal", budget=30), attempt("lab_policies:Scripted", budget=30)
    assert vandal.result.reason == "budget"
    assert (vandal.result.path / "measurements.bin").read_bytes() == (
        calm.result.path / "measurements.bin"
    ).read_bytes()


def test_a_session_names_nothing_of_the_instance(attempt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions: list[tuple[str, Goal]] = []
    kept = lab_policies.Scripted.reset

    def reset(self: Any, goal: Goal, spec: Any, session: str) -> None:
        sessions.append((session, goal))
        kept(self, goal, spec, session)

    monkeypatch.setattr(lab_policies.Scripted, "reset", reset)
    found = [attempt("lab_policies:Scripted", index=index, budget=1) for index in (0, 1)]
    (first, _), (second, _) = sessions
    assert first != second
    for ended, (session, goal) in zip(found, sessions, strict=True):
        identity = ended.scores["identity"]
        assert session not in (ended.scores["key"], identity["instance"], identity["layout"])
        assert session.isalnum() and len(session) >= 8
        assert str(ended.run.run["instance"]["sample"]) not in goal.instruction


def test_observations_count_from_one_and_a_receipt_is_kept_of_each(says: Run) -> None:
    ended = says(Wait(0.2), Wait(0.2), budget=12)
    assert [entry["observation"] for entry in ended.observations] == [1, 2, 3]
    assert [observation.id for observation in lab_policies.SAW] == [1, 2, 3]
    assert all(len(entry["sha256"]) == 64 for entry in ended.observations)
    assert {entry["evidence"] for entry in ended.observations} == {1}, "the same evidence is the same opportunity"
    assert len(ended.named("Opened")) == 1


# --- cheating


@pytest.fixture
def hands(laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Any]:
    """Return a function that tells the policies with hands where everything is in an episode."""

    def tell(index: int) -> Any:
        contract = laboratory.contract
        instance, seeds = draw(contract, 0, index)
        setup = contract.setup(instance, seeds)
        name = f"{instance.goal[0]} g"
        pose, shape = setup.items[name], contract.shapes()[name]
        others = [(p.x, p.y, contract.shapes()[n].radius) for n, p in setup.items.items() if n != name]
        grasp = grasp_standing((pose.x, pose.y, pose.z), shape.radius, shape.body, shape.height, others)
        balance, sample = setup.fixtures["balance"], setup.items["sample"]
        kind = lab_policies.Hands
        monkeypatch.setattr(kind, "item", grasp, raising=False)
        monkeypatch.setattr(kind, "rise", grasp.position[2] - pose.z)
        monkeypatch.setattr(kind, "spot", (2 * balance.x - sample.x, 2 * balance.y - sample.y))
        monkeypatch.setattr(kind, "target", instance.target)
        return instance

    return tell


def shown_within(ended: Attempt, target: float, tolerance: float = 1.0) -> int:
    """Return the most consecutive ticks after the handoff for which the display agreed with the target."""
    contract_cells = _cells(ended)
    best = now = 0
    for block in ended.run.blocks():
        (readout,) = read_cells(contract_cells, block)
        for value, status in zip(readout.shown, readout.status, strict=True):
            now = now + 1 if status == 0 and abs(value - target) <= tolerance and block.tick >= 0 else 0
            best = max(best, now)
    return best


def _cells(ended: Attempt) -> Any:
    cells = cells_of(find_task("weighing-basic").parts(), ended.run.channels.timestep)
    cells[0].zero(np.array([ended.run.run["zero"]["balance"]]))
    return cells


def test_the_same_hands_complete_when_they_let_go(attempt: Run, hands: Any) -> None:
    hands(1)
    ended = attempt("lab_policies:PutsAndRests", index=1, budget=400)
    assert ended.verdict["valid"] and ended.verdict["clean"]
    assert ended.result.reason == "completed"


def test_a_weight_held_on_the_pan_at_the_target_reading_never_counts(attempt: Run, hands: Any) -> None:
    instance = hands(1)
    ended = attempt("lab_policies:HoldsOnPan", index=1, budget=620)
    assert shown_within(ended, instance.target) >= 3.0 / 0.002, "the display was fooled for the whole terminal window"
    assert ended.verdict["decisions"][0]["correct"] is True, "the choice was right all the same"
    assert not ended.verdict["physical"] and not ended.named("Completed")
    assert ended.verdict["correct_confirmed"] == 0
    assert audit(ended.result.path).difference is None


def test_a_hand_that_presses_the_pan_to_the_target_reading_never_counts(attempt: Run, hands: Any) -> None:
    instance = hands(1)
    ended = attempt("lab_policies:PressesPan", index=1, budget=620)
    assert shown_within(ended, instance.target) >= 3.0 / 0.002, "the display was fooled for the whole terminal window"
    assert ended.named("Pressed")[0]["surface"] == "pan"
    assert not ended.verdict["physical"] and not ended.named("Completed")
    assert ended.verdict["attempts"] == 0
