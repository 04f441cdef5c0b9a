"""The agent bridge on the wet bench: the bench lends its hands, and instruments say what came of it."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from labference.bench.campaign import register
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bridge import CATALOGUE, Bridge, Terms
from labference.bridge.desk import Desk
from labference.bridge.http import Door
from labference.bridge.mcp import server
from labference.records.reader import read_run
from labference.score.audit import audit

ROOT = Path(__file__).parents[1]
FAST = Plan("pouring-water", "agent", 1, fidelity="fast")
Call = Callable[[str, dict[str, Any]], Any]
POUR = (
    ("goal", {}),
    ("perform", {"kind": "pick", "item": "water", "place": "rack"}),
    ("perform", {"kind": "pour", "item": "water", "place": "beaker", "parameters": {"amount_g": 7, "pre_stop": 0.25}}),
    ("perform", {"kind": "pour", "item": "water", "place": "beaker", "parameters": {"amount_g": 99}}),
    ("perform", {"kind": "place", "item": "water", "place": "rack"}),
    ("observe", {}),
    ("perform", {"kind": "finish"}),
)


@pytest.fixture(scope="module")
def wet() -> Laboratory:
    return Laboratory(FAST.task, fidelity="fast")


@pytest.fixture
def bridge(wet: Laboratory, tmp_path: Path) -> Iterator[Bridge]:
    with Bridge(wet, FAST, 0, tmp_path) as begun:
        yield begun


def test_an_agent_by_rules_brings_a_water_to_its_ph_through_tools_alone(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("agent_titrates", ROOT / "examples" / "agent_titrates.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    plan = Plan(example.TASK, example.NAME, 1, fidelity="fast")
    register(plan, tmp_path, driven=True)
    with Bridge(Laboratory(plan.task, fidelity="fast"), plan, 0, tmp_path, Terms(example.NAME)) as bridge:
        example.titrate(lambda name, **given: bridge.call(name, given))
        assert bridge.result is not None
    run = read_run(bridge.result.path)
    assert run.scores is not None and run.scores["verdict"]["valid"]
    assert run.scores["identity"]["hands"] == "bench" and run.scores["identity"]["fidelity"] == "fast"
    assert audit(bridge.result.path).difference is None


def test_a_bench_that_lends_its_hands_offers_no_motion_of_the_arm_and_an_arm_no_hands(bridge: Bridge) -> None:
    offered = bridge.goal()["result"]["tools"]
    assert "perform" in offered and not {"move", "pick", "insert", "vla", "geometry", "commit"} & set(offered)
    assert "There is no tool 'move'; tools: goal, " in bridge.move(opening=0.02)["error"]
    assert "perform" not in Terms().tools() and "move" in Terms().tools()
    for setting in bridge.goal()["result"]["parameters"]:
        assert f"{setting['name']} [{setting['unit']}]" in CATALOGUE["perform"].description


def test_what_was_carried_out_is_said_with_all_numbers_and_what_instruments_show(bridge: Bridge) -> None:
    taken = bridge.perform("pick", "water", "rack")["result"]
    assert taken["carried_out"] and taken["new_evidence"] and 0 < taken["opening"] < 0.08
    reply = bridge.perform("pour", "water", "beaker", amount_g=7.0)
    poured = reply["result"]
    assert poured["parameters"]["amount_g"] == 7.0 and poured["parameters"]["kp"] == 0.16, "the default"
    shown = next(entry for entry in poured["readings"] if entry["instrument"] == "balance")
    assert shown["value"] == pytest.approx(7.0, abs=1.0)
    assert reply["sim_time"] == pytest.approx(taken["took_s"] + poured["took_s"])
    assert len(json.dumps(reply)) < 2000
    for word in ("legal", "valid", "correct", "score", "success"):
        assert word not in json.dumps(reply)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"kind": "fly"}, "Operation kind 'fly' is unknown; use 'pick', "),
        ({"kind": "pick", "item": "wine"}, "Operation item 'wine' is unknown; use '', 'water'"),
        ({"kind": "pour", "parameters": {"amount_g": 99}}, "is 99; 0.1 to 50 g works."),
        ({"kind": "pour", "parameters": {"speed": 1}}, "parameters: 'amount_g', 'kp'"),
        ({"kind": "pour", "parameters": {"kp": "high"}}, "is 'high'; a number would work."),
        ({"kind": "pour", "parameters": [1]}, "an object would work"),
        ({}, "perform needs the argument 'kind'"),
    ],
)
def test_what_the_bench_cannot_be_asked_for_costs_a_call_and_gets_a_sentence(
    bridge: Bridge, arguments: dict[str, Any], said: str
) -> None:
    reply = bridge.call("perform", arguments)
    assert said in reply["error"]
    assert reply["sim_time"] == 0.0 and "ended" not in reply


def test_an_operation_that_comes_too_late_is_not_carried_out(wet: Laboratory, tmp_path: Path) -> None:
    plan = Plan(FAST.task, "agent", 1, fidelity="fast", clock="latency:2:1")
    with Bridge(wet, plan, 0, tmp_path) as bridge:
        reply = bridge.perform("pick", "water", "rack")
        assert reply["late"] and not reply["result"]["carried_out"]
        assert reply["result"]["opening"] == pytest.approx(0.08)


def through_http(desk: Desk, calls: Callable[[Call], list[Any]]) -> list[Any]:
    import http.client

    with Door(desk, "secret") as door:
        thread = threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        host, port = door.server_address[:2]

        def call(name: str, given: dict[str, Any]) -> Any:
            connection = http.client.HTTPConnection(str(host), int(port), timeout=60)
            body = json.dumps({"method": name, "kwargs": given})
            connection.request("POST", "/call", body, {"Authorization": "Bearer secret"})
            found = json.loads(connection.getresponse().read())["result"]
            connection.close()
            return found

        try:
            return calls(call)
        finally:
            door.shutdown()
            thread.join()


def through_mcp(desk: Desk, calls: Callable[[Call], list[Any]]) -> list[Any]:
    found: list[Any] = []

    async def talk() -> None:
        async with Client(server(desk)) as client:
            assert "perform" in [tool.name for tool in (await client.list_tools()).tools]
            for name, given in POUR:
                found.append(json.loads((await client.call_tool(name, given)).content[0].text))

    anyio.run(talk)
    return found


@pytest.mark.parametrize("through", [through_http, through_mcp])
def test_every_door_gives_the_replies_of_python(
    through: Callable[[Desk, Callable[[Call], list[Any]]], list[Any]], wet: Laboratory, tmp_path: Path
) -> None:
    def calls(call: Call) -> list[Any]:
        return [call(name, dict(given)) for name, given in POUR]

    with Bridge(wet, FAST, 0, tmp_path / "python") as bridge:
        expected = json.loads(json.dumps(calls(bridge.call)))
    assert expected[-1]["ended"] and "error" in expected[3]
    with Desk(FAST, tmp_path / "door") as desk:
        assert through(desk, calls) == expected
    one, two = (next((tmp_path / name).rglob("attempt-1")) for name in ("python", "door"))
    for name in ("events.jsonl", "measurements.bin"):
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_the_simulated_arm_carries_out_what_an_agent_asks_for(tmp_path: Path) -> None:
    plan = Plan("ph", "agent", 1)
    with Bridge(Laboratory(plan.task), plan, 0, tmp_path, Terms(cameras=())) as bridge:
        assert bridge.perform("wait")["result"]["took_s"] > 0, "a kind of the goal that needs no hands"
        found = bridge.perform("pick", "acid", "rack")["result"]
        assert found["carried_out"] and found["took_s"] > 1.0
        assert found["opening"] < 0.05, "the fingers are round a tube"
