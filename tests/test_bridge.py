"""The agent bridge: tools in, replies out, and what each misuse ends as."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import BASIC
from labference.bench.campaign import register
from labference.bench.episode import STATEMENTS
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bridge import CATALOGUE, Bridge, Limits, Terms
from labference.bridge.seat import LATE_STOPS
from labference.bridge.tools import ToolError, check
from labference.motion import grasp_standing, grasp_tube, tube_insertion
from labference.records.reader import Run, read_run
from labference.score.audit import audit
from labference.score.campaign import read_campaign
from labference.score.summary import summarise
from labference.sight import pixels
from labference.truth.identity import PlanError
from labference.wire import (
    Act,
    ActionSpec,
    Capabilities,
    Goal,
    Move,
    Observation,
    Operation,
    Report,
    ServiceFault,
    Stop,
    Wait,
)
from labference.wire.labware import WEIGHTS
from labference.wire.receipt import RequestReceipt
from labference.wire.tubes import SLOT_DEPTH, opposite
from labference.world.faults import SetupError

BLIND = Terms(cameras=())
PLAN = Plan(BASIC, "agent", 1)
Start = Callable[..., Bridge]


@pytest.fixture
def start(laboratory: Laboratory, tmp_path: Path) -> Iterator[Start]:
    """Return a function that begins an episode under terms."""
    begun: list[Bridge] = []

    def begin(terms: Terms = BLIND, plan: Plan = PLAN) -> Bridge:
        bridge = Bridge(laboratory, replace(plan, policy=terms.name), 0, tmp_path / str(len(begun)), terms)
        bridge.begin()
        begun.append(bridge)
        return bridge

    yield begin
    for bridge in begun:
        bridge.close()


def records(bridge: Bridge) -> Run:
    assert bridge.result is not None
    return read_run(bridge.result.path)


def calls(bridge: Bridge) -> list[dict[str, Any]]:
    return records(bridge).lines("calls.jsonl")


# --- replies


def test_every_reply_says_when_on_what_evidence_and_with_what_left(start: Start) -> None:
    bridge = start(replace(BLIND, limits=Limits(calls=10, tokens=1000, wall_s=1e6, simulated_s=30)))
    bridge.wait(1.0)
    reply = bridge.call("wait", {"seconds": 0.5, "tokens": 300})
    left = reply.pop("budget")
    assert 0 < left.pop("wall_s") < 1e6
    assert left == {"steps": 3570, "calls": 8, "tokens": 700, "simulated_s": 28.5}
    waited = {"waited_s": 0.5, "interrupted": False}
    assert reply == {"sim_time": 1.5, "evidence_version": 1, "opportunity_id": 1, "result": waited}


def test_the_goal_is_told_with_its_words_and_the_terms(start: Start) -> None:
    found = start(replace(BLIND, without=("insert",))).goal()["result"]
    assert "Bring the balance" in found["instruction"]
    assert found["items"] == ["10 g", "20 g", "50 g", "100 g"]
    assert "insert" not in found["tools"] and "vla" not in found["tools"]
    assert found["limits"]["errors"] == 20


def test_a_look_costs_one_control_period_unless_fresh_frames_are_there(start: Start) -> None:
    bridge = start(Terms(cameras=("wrist", "display")))
    first = bridge.observe(cameras=["wrist"])
    assert first["sim_time"] == 0.0 and list(first["result"]["images"]) == ["wrist"]
    assert "depth" not in first["result"]["images"]["wrist"]
    bridge.wait(0.5)
    second = bridge.observe(depth=True)
    assert second["sim_time"] == pytest.approx(0.55)
    assert second["result"]["images"]["display"]["depth"].dtype == np.uint16
    assert "readings" not in second["result"]


def test_proprioception_alone_costs_nothing(start: Start) -> None:
    bridge = start()
    bridge.wait(0.5)
    reply = bridge.observe()
    assert reply["sim_time"] == 0.5 and reply["result"]["images"] == {}
    assert len(reply["result"]["robot"]["command"]) == 8


def test_readings_are_shown_where_the_terms_say_so(start: Start) -> None:
    (reading,) = start(Terms(cameras=(), readings=True)).observe()["result"]["readings"]
    assert reading["instrument"] == "balance" and reading["unit"] == "g"


def test_a_pixel_and_the_eyes_agree_on_where_a_weight_is(start: Start) -> None:
    bridge = start(Terms())
    (target,) = bridge.geometry(name="50 g")["result"]["targets"]
    x, y, z = target["position"]
    top = np.array((x, y, z + target["height"]))
    frame = bridge.observation.senses.frame("labels")
    seen = bridge.geometry(camera="labels", pixel=pixels(frame, top).tolist())["result"]["point"]
    assert np.linalg.norm(np.array(seen) - top) < 0.003
    assert "50 g" in [thing["name"] for thing in bridge.geometry()["result"]["targets"]]


@pytest.mark.parametrize(
    ("terms", "query", "sentence"),
    [
        (BLIND, {}, "No frame has been delivered"),
        (Terms(cameras=("wrist",)), {}, "The eyes need frames with depth of labels"),
        (Terms(cameras=("wrist",)), {"camera": "front", "pixel": [1, 1]}, "no frame of camera 'front'; wrist would"),
        (Terms(cameras=("wrist",), depth=False), {"camera": "wrist", "pixel": [1, 1]}, "without depth"),
        (Terms(cameras=("wrist",)), {"camera": "wrist", "pixel": [1, 9999]}, r"\[1, 9999\]; columns 0 to"),
        (Terms(cameras=("wrist",)), {"camera": "wrist"}, "camera and pixel, or name"),
        (Terms(cameras=("wrist",)), {"camera": "wrist", "pixel": [1, 1], "name": "pan"}, "camera and pixel, or name"),
        (Terms(), {"name": "moon"}, "'moon' is neither an item nor a place"),
        (Terms(), {"name": "table"}, "'table' is not seen"),
    ],
)
def test_a_query_that_frames_cannot_answer_says_why(
    start: Start, terms: Terms, query: dict[str, Any], sentence: str
) -> None:
    bridge = start(terms)
    with raised(sentence):
        raise ToolError(bridge.geometry(**query)["error"])
    assert not bridge.ended


@contextmanager
def raised(sentence: str) -> Iterator[None]:
    with pytest.raises(ToolError, match=sentence):
        yield


# --- motion


def transfer(bridge: Bridge, grams: int, how: str = "continue") -> dict[str, Any]:
    """Take a standard to the pan; return the reply of the last motion."""
    things = {thing["name"]: thing for thing in bridge.geometry()["result"]["targets"]}
    item, pan, size = things[f"{grams} g"]["position"], things["pan"]["position"], WEIGHTS[grams]
    grasp = grasp_standing(item, size.radius, size.body, size.height)
    held = bridge.pick(position=grasp.position, yaw=grasp.yaw, opening=grasp.opening, on_evidence=how)
    assert held["result"]["holding"] and held["result"]["finished"]
    x, y, z = pan
    return bridge.place(position=[x + 0.03, y - 0.03, z + grasp.position[2] - item[2] + 0.0015], on_evidence=how)


@pytest.fixture(scope="module")
def carried(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Carry a weight, and let new evidence interrupt what comes next, once to stop and once to go on."""
    found: dict[str, Any] = {}
    for how, grams in (("stop", 20), ("continue", 50)):  # with the right one, the task would be done on the way
        out = tmp_path_factory.mktemp(how)
        with Bridge(laboratory, PLAN, 0, out, Terms(cameras=("labels", "pan", "display"))) as bridge:
            bridge.commit("add", f"{grams} g", "pan")
            found[f"{how} placed"] = transfer(bridge, grams)
            found[how] = bridge.move(position=[0.4, -0.1, 0.4], speed=0.05, on_evidence=how)
            bridge.finish("done")
            found[f"{how} run"] = records(bridge)
    return found


def test_new_evidence_interrupts_a_motion_and_says_how_much_was_carried_out(carried: dict[str, Any]) -> None:
    reply, before = carried["stop"], carried["stop placed"]
    result = reply["result"]
    assert result["interrupted"] and not result["finished"]
    assert 0 < result["applied"] < result["sent"]
    assert reply["evidence_version"] == before["evidence_version"] + 1
    assert reply["opportunity_id"] > before["opportunity_id"]
    assert reply["sim_time"] - before["sim_time"] == pytest.approx(result["applied"] / 20)
    assert result["robot"]["tcp"][0] != pytest.approx(0.4, abs=1e-3)


def test_a_motion_may_go_on_after_new_evidence(carried: dict[str, Any]) -> None:
    result = carried["continue"]["result"]
    assert result["finished"] and result["interrupted"] and result["applied"] < result["sent"]
    assert result["robot"]["tcp"][:3] == pytest.approx([0.4, -0.1, 0.4], abs=2e-3)


def test_what_the_bench_recorded_was_carried_out_is_what_the_agent_was_told(carried: dict[str, Any]) -> None:
    run = carried["stop run"]
    told = [entry["reply"]["result"]["applied"] for entry in run.lines("calls.jsonl") if entry["call"] == "move"]
    last = [entry for entry in run.lines("actions.jsonl") if entry["act"] == "Move"][-1]
    assert 0 < len(last["applied"]) <= told[0] and last["dropped"] > 0


def test_a_commitment_is_stated_with_the_motion_that_follows(carried: dict[str, Any]) -> None:
    chosen = [json.loads(line) for line in carried["stop run"].events() if '"report"' in line]
    first = chosen[0]
    assert (first["event"], first["operation"]) == ("Chosen", {"kind": "add", "item": "20 g", "place": "pan"})
    acts = [entry for entry in carried["stop run"].lines("actions.jsonl") if entry["operation"]]
    assert len(acts) == 1 and acts[0]["act"] == "Move"


def test_an_agents_episode_is_scored_and_replayed_like_any_other(carried: dict[str, Any]) -> None:
    run = carried["stop run"]
    assert run.scores is not None and run.scores["verdict"]["decisions"][0]["correct"]
    assert audit(run.path).difference is None


def test_joints_and_gripper_can_be_moved_alone(start: Start) -> None:
    bridge = start()
    wanted = np.array([0.3, -0.2, 0.1, -2.0, 0.0, 1.9, 0.5])
    reply = bridge.move(joints=wanted, opening=0.02)
    assert reply["result"]["finished"]
    bridge.wait(0.5)
    robot = bridge.observe()["result"]["robot"]
    assert robot["joints"] == pytest.approx(wanted, abs=5e-3)
    assert robot["opening"] == pytest.approx(0.02, abs=2e-3)
    bridge.move(opening=0.06)
    assert bridge.observe()["result"]["robot"]["command"] == pytest.approx([*wanted, 0.06])


def test_out_of_reach_is_a_sentence_and_no_mistake(start: Start) -> None:
    bridge = start(replace(BLIND, limits=Limits(errors=1)))
    for _ in range(3):
        assert "its flange reaches up to 0.855 m" in bridge.pick(position=[2.0, 0.0, 0.3])["error"]
    assert bridge.wait(0.5)["result"]["waited_s"] == 0.5


# --- misuse


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("fly", {}, "There is no tool 'fly'; tools: goal, observe"),
        ("vla", {"instruction": "x"}, "There is no tool 'vla'"),
        ("wait", {}, "wait needs the argument 'seconds': a number from 0.05 to 60"),
        ("wait", {"seconds": "1"}, "wait: seconds is '1'; a number from 0.05 to 60 would work"),
        ("wait", {"seconds": float("nan")}, "seconds is nan"),
        ("wait", {"seconds": 1e300}, "seconds is 1e"),
        ("wait", {"seconds": True}, "seconds is True"),
        ("wait", {"seconds": 1, "speed": 2}, "wait has no argument 'speed'; it takes: seconds, tokens"),
        ("wait", {"seconds": 1, "tokens": -1}, "tokens is -1"),
        ("wait", [1], "wait takes named arguments, not a list"),
        ("move", {}, "needs a position, joints, or an opening"),
        ("move", {"position": [0.4, 0.0]}, "move: position has 2 entries; a list of 3 numbers"),
        ("move", {"position": [0.4, 0.0, None]}, r"position\[2\] is None"),
        (
            "move",
            {"position": [1e8, 0.0, 0.3]},
            r"move: position\[0\] is 100000000.0; a number from -2 to 2 would work",
        ),
        ("wait", {"seconds": 10**5000}, "seconds is too long to show; a number from 0.05 to 60 would work"),
        ("move", {"position": [0.4, 0.0, 0.3], "joints": [0.0] * 7}, "not both"),
        ("move", {"position": [0.4, 0.0, 0.3], "yaw": 0, "rotation": [0, 1, 0, 0]}, "yaw or rotation"),
        ("move", {"position": [0.4, 0.0, 0.3], "rotation": [0, 0, 0, 0]}, "quaternion of length 0"),
        ("move", {"opening": 0.04, "yaw": 0.1}, "yaw goes with a position"),
        ("move", {"joints": [9.0] + [0.0] * 6}, r"joints\[0\] is 9 rad; -2.8973 to 2.8973 rad"),
        ("move", {"opening": 0.2}, "opening is 0.2; a number from 0 to 0.08"),
        ("pick", {"position": [0.4, 0, 0.1], "on_evidence": "maybe"}, "'stop' or 'continue' would work"),
        ("observe", {"cameras": ["roof"]}, "there is no camera 'roof'"),
        ("observe", {"cameras": "roof"}, "cameras is 'roof'; a list of at most 16 strings"),
        ("report_choice", {"kind": "add", "item": "11 g", "place": "pan"}, "item '11 g' is unknown"),
        ("commit", {"kind": "throw"}, "kind 'throw' is unknown"),
        ("report_state", {"facts": {"a": [1]}}, r"report_state: facts: 'a' is \[1\]; number or string or boolean"),
        ("report_state", {"facts": {"x" * 70: 1}}, "A word of 70 characters"),
        (
            "report_geometry",
            {"kind": "add", "targets": [{"name": "pan", "position": [0, 0, 0]}]},
            r"report_geometry: targets\[0\] needs the entry 'axis'",
        ),
    ],
)
def test_bad_arguments_are_one_sentence_counted_as_a_call_and_the_episode_goes_on(
    start: Start, tool: str, arguments: object, sentence: str
) -> None:
    bridge = start(replace(BLIND, limits=Limits(calls=9)))
    reply = bridge.call(tool, arguments)
    with raised(sentence):
        raise ToolError(reply["error"])
    assert reply["sim_time"] == 0.0 and reply["budget"]["calls"] == 8
    assert bridge.wait(0.5)["result"]["waited_s"] == 0.5


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 80) | st.floats(-2, 70) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("name", CATALOGUE)
def test_what_is_taken_fits_the_schema_that_clients_are_shown(name: str) -> None:
    schema = CATALOGUE[name].schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    words = st.sampled_from([*schema["properties"], "other"])

    @settings(max_examples=15, deadline=None)
    @given(st.dictionaries(words, JSON, max_size=4))
    def agree(arguments: dict[str, Any]) -> None:
        try:
            check(CATALOGUE[name], arguments)
        except ToolError:
            assert not validator.is_valid(arguments) or "tokens" in arguments or _integral(arguments)
        else:
            assert validator.is_valid(arguments)

    agree()


def _integral(arguments: dict[str, Any]) -> bool:
    """JSON Schema takes 3.0 for an integer."""
    return any(isinstance(value, float) and value.is_integer() for value in arguments.values())


def test_too_many_bad_calls_are_an_interface_failure(start: Start) -> None:
    bridge = start(replace(BLIND, limits=Limits(errors=2)))
    replies = [bridge.call("wait") for _ in range(3)]
    assert [("ended" in reply) for reply in replies] == [False, False, True]
    assert bridge.result is not None
    assert (bridge.result.status, bridge.result.reason) == ("scored", "interface_failure")
    assert bridge.result.sentence == "More than 2 calls had bad arguments."


def test_statements_in_a_row_are_refused_before_the_bench_refuses_them(start: Start) -> None:
    bridge = start()
    replies = [bridge.report_choice("wait") for _ in range(STATEMENTS + 1)]
    assert all("error" not in reply for reply in replies[:-1])
    assert "wait or move before the next one" in replies[-1]["error"]
    assert "result" in bridge.commit("add", "10 g", "pan"), "a commitment is no statement until its motion begins"
    bridge.wait(0.5)
    assert "result" in bridge.report_state(facts={"steady": True})
    assert "result" in bridge.report_geometry(
        kind="add", item="10 g", place="pan", targets=[{"name": "pan", "position": [0.5, 0, 0], "axis": [0, 0, -1]}]
    )
    bridge.finish()
    assert [entry["site"] for entry in records(bridge).lines("interfaces.jsonl")][-2:] == ["semantic", "geometry"]


def test_support_comes_with_the_reply_to_what_it_answers(start: Start) -> None:
    bridge = start(plan=replace(PLAN, support="decision:replace"))
    assert "support" not in bridge.goal()
    reply = bridge.report_choice("add", "50 g", "pan")
    (support,) = reply["support"]
    assert (support["scope"], support["mode"]) == ("decision", "replace")
    assert support["operation"] == {"kind": "add", "item": "20 g", "place": "pan"}
    assert "support" not in bridge.wait(0.5)


def test_a_centrifuge_is_loaded_through_tools(tmp_path: Path) -> None:
    name = "centrifuge-basic"
    with Bridge(Laboratory(name), Plan(name, "agent", 1), 0, tmp_path, Terms(cameras=("above",))) as bridge:
        things = {thing["name"]: thing for thing in bridge.geometry()["result"]["targets"]}
        (seated,) = [thing for thing in things.values() if thing.get("place", "").startswith("slot")]
        (waiting,) = [thing for thing in things.values() if thing.get("place") == "stand"]
        at = grasp_tube(waiting["position"])
        taken = bridge.pick(
            position=at.position, opening=at.opening, transit=at.transit, draw=at.draw, on_evidence="continue"
        )
        assert taken["result"]["holding"] and taken["result"]["interrupted"]
        slot = things[f"slot {opposite(int(seated['place'][5:]))}"]
        into = tube_insertion(slot["position"], SLOT_DEPTH)
        bridge.insert(position=into.position, entry=into.entry, yaw=into.yaw, on_evidence="continue")
        for _ in range(3):  # new evidence ends a wait
            bridge.wait(5.0)
        assert bridge.ended and bridge.result is not None and bridge.result.reason == "completed"


# --- ends


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(calls=3), "The limit of 3 calls is used up."),
        (Limits(tokens=100), "The limit of 100 tokens is used up."),
        (Limits(wall_s=1e-6), "The limit of 1e-06 s of wall time is used up."),
        (Limits(simulated_s=1.0), "The limit of 1 s of simulated time is used up."),
    ],
)
def test_a_limit_that_is_used_up_ends_the_episode_as_a_measured_outcome(
    start: Start, limits: Limits, reason: str
) -> None:
    bridge = start(replace(BLIND, limits=limits))
    replies = [bridge.call("wait", {"seconds": 0.4, "tokens": 40}) for _ in range(3)]
    assert replies[-1]["ended"] == f"{reason} The episode has ended."
    assert bridge.result is not None and (bridge.result.status, bridge.result.reason) == ("scored", "stopped")
    assert [entry["reply"].get("ended", "") for entry in calls(bridge)][-1] == replies[-1]["ended"]
    assert "Stopped" in [event["event"] for event in records(bridge).lines("events.jsonl")]


def test_no_more_than_the_limit_of_simulated_time_passes(start: Start) -> None:
    bridge = start(replace(BLIND, limits=Limits(simulated_s=1.0)))
    assert bridge.move(position=[0.5, 0.2, 0.2], speed=0.05)["sim_time"] == pytest.approx(1.0)
    assert bridge.ended


def test_tokens_are_told_without_a_call(start: Start) -> None:
    bridge = start(replace(BLIND, limits=Limits(calls=5, tokens=100)))
    left = bridge.tell(60)["budget"]
    assert (left["calls"], left["tokens"]) == (5, 40)
    assert "100 tokens" in bridge.tell(60)["ended"]


def test_the_budget_of_the_bench_ends_the_episode_and_the_reply_says_no_more(start: Start) -> None:
    bridge = start(plan=replace(PLAN, budget=20))
    assert bridge.wait(0.5)["budget"]["steps"] == 10
    reply = bridge.wait(5.0)
    assert reply["ended"] == "The episode has ended." and "result" not in reply
    assert bridge.result is not None and bridge.result.reason == "budget"


def test_after_the_end_every_call_says_so_and_nothing_else(start: Start) -> None:
    bridge = start()
    last = bridge.finish("I give up")
    assert last["ended"] == "The episode has ended." and "result" not in last
    before = calls(bridge)
    for name in CATALOGUE:
        reply = bridge.call(name, {})
        assert reply["error"] == reply["ended"] == "The episode has ended."
    assert calls(bridge) == before
    assert before[-1]["arguments"] == {"summary": "I give up"}


def test_an_agent_that_goes_away_leaves_an_unresolved_episode(start: Start) -> None:
    bridge = start()
    bridge.wait(0.5)
    bridge.close()
    bridge.close()
    assert bridge.result is not None and bridge.result.status == "unresolved"
    assert records(bridge).scores is None and len(calls(bridge)) == 1


def test_calls_are_recorded_with_their_replies_and_images_as_digests(start: Start) -> None:
    bridge = start(Terms(cameras=("display",)))
    bridge.wait(0.5)
    bridge.observe(depth=True)
    bridge.call("wait", {"seconds": float("nan")})
    bridge.finish()
    entries = calls(bridge)
    assert [entry["call"] for entry in entries] == ["wait", "observe", "wait", "finish"]
    assert [entry["tick"] for entry in entries] == [0, 250, 275, 275]
    image = entries[1]["reply"]["result"]["images"]["display"]
    assert image["rgb"]["image"] == [224, 224, 3] and len(image["rgb"]["sha256"]) == 64
    assert image["depth"]["image"] == [224, 224]
    assert all(len(entry["sha256"]) == 64 and entry["wall_ms"] >= 0 for entry in entries)


def test_terms_are_part_of_the_identity(laboratory: Laboratory, start: Start) -> None:
    versions = set()
    for terms in (BLIND, replace(BLIND, limits=Limits(calls=5)), replace(BLIND, without=("pick",))):
        bridge = start(terms)
        bridge.finish()
        versions.add(records(bridge).run["identity"]["policy"])
    assert len(versions) == 3 and all(version.startswith("agent: agent 1 (") for version in versions)


def test_a_campaign_of_an_agent_is_summarised(laboratory: Laboratory, tmp_path: Path) -> None:
    plan = replace(PLAN, episodes=3)
    register(plan, tmp_path, driven=True)
    for index in range(2):
        with Bridge(laboratory, plan, index, tmp_path, BLIND) as bridge:
            if index == 0:
                bridge.finish()
    summary = summarise(read_campaign(tmp_path))
    assert (summary.planned, summary.unresolved) == (3, 2)


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        (lambda: Terms("expert"), "An agent cannot be called 'expert'"),
        (lambda: Terms("reader"), "cannot be called 'reader'"),
        (lambda: Terms("http://x"), "cannot be called"),
        (lambda: Terms(""), "cannot be called ''"),
        (lambda: Terms(without=("fly",)), "no tool 'fly' to leave out"),
        (lambda: Terms(limits=Limits(calls=0)), "A limit of 0 calls"),
        (lambda: Terms(limits=Limits(wall_s=float("nan"))), "A limit of nan wall_s"),
    ],
)
def test_terms_that_mean_nothing_are_refused(terms: Callable[[], Terms], sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        terms()


def test_a_plan_that_the_tools_cannot_drive_is_refused(laboratory: Laboratory, tmp_path: Path) -> None:
    for plan, sentence in (
        (replace(PLAN, action="end_effector"), "not 'end_effector'"),
        (replace(PLAN, policy="other"), "The plan is for 'other'"),
    ):
        with pytest.raises(PlanError, match=sentence):
            Bridge(laboratory, plan, 0, tmp_path, BLIND)
    with pytest.raises(PlanError, match="no camera 'roof'"):
        Bridge(laboratory, PLAN, 0, tmp_path, Terms(cameras=("roof",))).begin()
    with pytest.raises(PlanError, match="has not begun"):
        Bridge(laboratory, PLAN, 0, tmp_path, BLIND).wait(1.0)
    assert not list(tmp_path.iterdir())


# --- clock


def test_an_answer_that_comes_too_late_is_not_carried_out_and_the_agent_is_told(start: Start) -> None:
    bridge = start(plan=replace(PLAN, clock="latency:0.5:0.2"))
    reply = bridge.wait(5.0)
    assert reply["late"] and reply["sim_time"] == pytest.approx(0.5)
    bridge.commit("add", "20 g", "pan")
    moved = bridge.move(position=[0.4, 0.0, 0.4])
    assert moved["late"] and moved["sim_time"] == pytest.approx(1.0)
    assert (moved["result"]["finished"], moved["result"]["applied"]) == (False, 0)
    assert "too late" in bridge.finish()["error"]
    assert not bridge.ended


def test_thinking_costs_simulated_time_where_the_clock_says_so(start: Start) -> None:
    bridge = start(plan=replace(PLAN, clock="latency:0.5"))
    reply = bridge.move(opening=0.05)
    assert "late" not in reply and reply["result"]["applied"] == reply["result"]["sent"] == 8
    assert reply["sim_time"] == pytest.approx(0.9)


def test_a_late_wait_between_statements_counts_at_the_seat_as_it_does_at_the_bench(start: Start) -> None:
    bridge = start(plan=replace(PLAN, clock="latency:0.1:0.05"))
    for act in (lambda: bridge.wait(0.5), bridge.finish):
        assert [bridge.report_choice("wait")["late"] for _ in range(STATEMENTS)] == [True] * STATEMENTS
        assert act()["late"]
    assert "result" in bridge.report_choice("wait")


def test_a_limit_ends_an_episode_in_which_every_answer_is_late(start: Start) -> None:
    bridge = start(replace(BLIND, limits=Limits(calls=1)), replace(PLAN, clock="latency:0.5:0.2"))
    assert "1 calls" in bridge.wait(1.0)["ended"]
    assert bridge.result is not None and bridge.result.status == "scored"
    assert bridge.result.reason == "interface_failure" and "3 stops in a row" in bridge.result.sentence
    actions = read_run(bridge.result.path).lines("actions.jsonl")
    assert [(entry["act"], entry["late"]) for entry in actions] == [("Wait", True), *[("Stop", True)] * LATE_STOPS]


# --- the policy behind vla


class Nudger:
    """Turn the first joint a little with every chunk, as told."""

    wants = Capabilities("nudger", "3", cameras=("wrist",), reports=True)
    saw: list[Observation] = []  # noqa: RUF012
    told: list[str] = []  # noqa: RUF012

    def __init__(self, seed: int) -> None: ...

    def open(self) -> Capabilities:
        return self.wants

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        self.told.append(goal.instruction)

    def act(self, observation: Observation) -> Act:
        self.saw.append(observation)
        match observation.goal.instruction:
            case "stop":
                return Stop()
            case "talk":
                return Report(Operation("wait"))
            case "wait":
                return Wait(0.5)
            case "nonsense":
                return Move(np.full((2, 8), np.nan))
            case "raise":
                raise ValueError("no idea")
            case "break":
                raise ServiceFault("127.0.0.1:9 hung up.")
        rows = np.tile(observation.senses.robot.command, (4, 1))
        rows[:, 0] += np.linspace(0.005, 0.02, 4)
        return Move(rows)

    def close(self) -> None: ...


class Vouching(Nudger):
    """Say what was sent, as a system behind a wire does."""

    def receipts(self) -> tuple[RequestReceipt, ...]:
        return (RequestReceipt(1, "request-only", (("wrist", "0" * 64),)),)

    def declared(self) -> str:
        return '{"profile": "vouching"}'


class Absent(Nudger):
    def open(self) -> Capabilities:
        raise ServiceFault("Nobody at 127.0.0.1:9.")


class EndEffector(Nudger):
    wants = Capabilities("end", "1", actions=("end_effector",))


HELPED = Terms(cameras=(), vla="test_bridge:Nudger")


def test_the_policy_behind_vla_sees_its_own_cameras_and_the_agents_instruction(start: Start) -> None:
    bridge = start(HELPED)
    Nudger.saw.clear()
    reply = bridge.vla("turn left", max_chunks=3)
    assert (reply["result"]["chunks"], reply["result"]["applied"], reply["result"]["sent"]) == (3, 12, 12)
    assert reply["sim_time"] == pytest.approx(0.6)
    assert {observation.goal.instruction for observation in Nudger.saw} == {"turn left"}
    assert all([frame.camera for frame in seen.senses.frames] == ["wrist"] for seen in Nudger.saw)
    assert all(frame.depth is None for seen in Nudger.saw for frame in seen.senses.frames)
    assert "there is no camera 'wrist'" in bridge.observe(cameras=["wrist"])["error"]
    bridge.finish()
    assert "vla nudger 3" in records(bridge).run["identity"]["policy"]


@pytest.mark.parametrize(
    ("instruction", "sentence"),
    [
        ("nonsense", "Command 0 has nan"),
        ("raise", "raised ValueError: no idea"),
        ("talk", "answered with a Report; only"),
    ],
)
def test_nonsense_of_the_policy_behind_vla_is_told_to_the_agent(start: Start, instruction: str, sentence: str) -> None:
    bridge = start(replace(HELPED, limits=Limits(errors=1)))
    for _ in range(2):
        reply = bridge.vla(instruction)
        assert sentence in reply["error"] and not bridge.ended


def test_the_policy_behind_vla_may_wait_and_stop(start: Start) -> None:
    bridge = start(HELPED)
    assert bridge.vla("wait", max_chunks=2)["sim_time"] == pytest.approx(1.0)
    reply = bridge.vla("stop", max_chunks=5)
    assert reply["result"]["finished"] and reply["result"]["chunks"] == 0


def test_a_service_that_fails_behind_vla_leaves_the_episode_unresolved(start: Start) -> None:
    bridge = start(HELPED)
    reply = bridge.vla("break")
    assert "not available" in reply["ended"] and "127.0.0.1" not in json.dumps(reply)
    assert bridge.result is not None and bridge.result.status == "unresolved"


def test_an_episode_that_cannot_be_prepared_is_unresolved_and_every_call_says_so(
    laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **named: object) -> None:
        raise SetupError("The sample fell over.")

    monkeypatch.setattr(laboratory, "prepare", broken)
    for terms, out in ((BLIND, tmp_path / "one"), (replace(HELPED, vla="test_bridge:Absent"), tmp_path / "two")):
        with Bridge(laboratory, PLAN, 0, out, terms) as bridge:
            assert bridge.ended and "sample" not in bridge.wait(1.0)["ended"]
        assert bridge.result is not None and bridge.result.status == "unresolved"
        assert read_run(bridge.result.path).scores is None


def test_receipts_of_the_policy_behind_vla_are_kept(start: Start) -> None:
    bridge = start(replace(HELPED, vla="test_bridge:Vouching"))
    bridge.vla("turn left")
    bridge.finish()
    assert records(bridge).run["service"] == {"profile": "vouching"}
    assert records(bridge).lines("requests.jsonl")[0]["sent"] == [["wrist", "0" * 64]]


def test_a_policy_that_writes_other_commands_cannot_be_behind_vla(laboratory: Laboratory, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="does not support action profile 'joint'"):
        Bridge(laboratory, PLAN, 0, tmp_path, replace(HELPED, vla="test_bridge:EndEffector")).begin()
