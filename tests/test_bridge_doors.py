"""Every door of the agent bridge leads to the same episode, and none breaks it."""

from __future__ import annotations

import base64
import http.client
import importlib.util
import io
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import numpy as np
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from PIL import Image

from conftest import BASIC, environment
from labference.bench.laboratory import Laboratory, Result
from labference.bench.plan import Plan
from labference.bridge import CATALOGUE, Bridge, Limits, Terms
from labference.bridge import http as door
from labference.bridge.desk import Desk
from labference.bridge.http import LARGEST, Door
from labference.bridge.mcp import serve_http, server
from labference.records import strict
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.truth.identity import PROCESS, PlanError

ROOT = Path(__file__).parents[1]
COMMAND = ("-c", "from labference.cli import main; main()")
PLAN = Plan(BASIC, "agent", 1)
BLIND = Terms(cameras=())
Calls = list[tuple[str, dict[str, Any]]]


@contextmanager
def opened(out: Path, plan: Plan = PLAN, terms: Terms = BLIND, **options: Any) -> Iterator[tuple[Desk, list[Result]]]:
    results: list[Result] = []
    with Desk(plan, out, terms, heard=results.append, **options) as desk:
        yield desk, results


@dataclass
class Caller:
    """A client of the HTTP door."""

    door: Door

    def send(self, body: bytes, token: str = "secret", path: str = "/call", **headers: str) -> Any:
        host, port = self.door.server_address[:2]
        connection = http.client.HTTPConnection(str(host), int(port), timeout=60)
        try:
            connection.request("POST", path, body, {"Authorization": f"Bearer {token}", **headers})
            response = connection.getresponse()
            assert response.status == (200 if path == "/call" else 404)
            return json.loads(response.read())
        finally:
            connection.close()

    def __call__(self, method: str, *args: Any, images: str = "png", **kwargs: Any) -> Any:
        message = {"method": method, "args": list(args), "kwargs": kwargs, "images": images}
        return self.send(json.dumps(message).encode())


@contextmanager
def over_http(desk: Desk) -> Iterator[Caller]:
    with Door(desk, "secret") as opened_door:
        thread = threading.Thread(target=opened_door.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Caller(opened_door)
        finally:
            opened_door.shutdown()
            thread.join()


def read(result: Any) -> dict[str, Any]:
    return json.loads(result.content[0].text)


# --- the same episode through every door


@pytest.fixture(scope="module")
def rules() -> Any:
    """Return the example of an agent by rules as a module."""
    spec = importlib.util.spec_from_file_location("agent_by_rules", ROOT / "examples" / "agent_by_rules.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def weighed(rules: Any, laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the attempt in which the agent by rules weighed, in Python."""
    plan = Plan(BASIC, rules.TERMS.name, 1)
    with Bridge(laboratory, plan, 0, tmp_path_factory.mktemp("python"), rules.TERMS) as bridge:
        rules.weigh(bridge)
        assert bridge.result is not None
        return bridge.result.path


@pytest.fixture(scope="module")
def script(weighed: Path) -> Calls:
    """Return the calls that the agent made, looks included."""
    return [(line["call"], line["arguments"]) for line in strict.read_lines(weighed / "calls.jsonl")]


def test_the_agent_by_rules_completes_a_weighing_through_tools_alone(weighed: Path) -> None:
    scores = read_run(weighed).scores
    assert scores is not None and scores["verdict"]["valid"] and scores["verdict"]["clean"]
    assert audit(weighed).difference is None


def through_http(calls: Calls, out: Path, plan: Plan, terms: Terms) -> None:
    with opened(out, plan, terms) as (desk, _), over_http(desk) as call:
        for method, arguments in calls:
            assert "result" in call(method, **arguments)


def through_mcp(calls: Calls, out: Path, plan: Plan, terms: Terms) -> None:
    async def main() -> None:
        with opened(out, plan, terms) as (desk, _):
            async with Client(server(desk)) as client:
                for method, arguments in calls:
                    read(await client.call_tool(method, arguments))

    anyio.run(main)


def through_stdio(calls: Calls, out: Path, plan: Plan, terms: Terms) -> None:
    cameras = [word for camera in terms.cameras or () for word in ("--camera", camera)]
    arguments = [*COMMAND, "bridge", plan.task, "--over", "mcp", "--name", terms.name, "--out", str(out)]
    parameters = StdioServerParameters(command=sys.executable, args=[*arguments, *cameras], env=environment())

    async def main() -> None:
        async with Client(stdio_client(parameters)) as client:
            for method, given in calls:
                read(await client.call_tool(method, given))

    anyio.run(main)


def through_streamable_http(calls: Calls, out: Path, plan: Plan, terms: Terms) -> None:
    async def main(desk: Desk) -> None:
        async with streamable(desk) as client:
            for method, arguments in calls:
                read(await client.call_tool(method, arguments))

    with opened(out, plan, terms) as (desk, _):
        anyio.run(main, desk)


@asynccontextmanager
async def streamable(desk: Desk, token: str = "secret") -> AsyncIterator[Client]:
    """Serve a desk over streamable HTTP in a thread, and connect."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_http, args=(desk, "secret", listener))
        thread.start()
        try:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http_client,
                Client(streamable_http_client(address, http_client=http_client)) as client,
            ):
                yield client
        finally:
            desk.over.set()
            await anyio.to_thread.run_sync(thread.join)


@pytest.mark.parametrize("through", [through_http, through_mcp, through_stdio, through_streamable_http])
def test_every_door_leads_to_the_same_events_and_the_same_verdict(
    through: Callable[..., None], script: Calls, weighed: Path, rules: Any, tmp_path: Path
) -> None:
    through(script, tmp_path, Plan(BASIC, rules.TERMS.name, 1), rules.TERMS)
    found = tmp_path / "episode-0000" / "attempt-1"
    for name in ("events.jsonl", "observations.jsonl", "measurements.bin", "online_scores.jsonl"):
        assert (found / name).read_bytes() == (weighed / name).read_bytes(), name
    one, two = read_run(found).scores, read_run(weighed).scores
    assert one is not None and two is not None and one["verdict"] == two["verdict"]
    told = [[line["sha256"] for line in strict.read_lines(path / "calls.jsonl")] for path in (found, weighed)]
    assert told[0] == told[1]


# --- the desk


def test_calls_from_many_threads_are_carried_out_one_after_the_other(tmp_path: Path) -> None:
    with opened(tmp_path) as (desk, _), ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda index: desk.call("wait", {"seconds": 0.1}), range(16)))
        assert sorted(reply["sim_time"] for reply in replies) == pytest.approx([0.1 * n for n in range(1, 17)])
        assert desk.call("finish")["ended"]


def test_reset_begins_one_episode_after_the_other_and_never_again_the_same(tmp_path: Path) -> None:
    plan = Plan(BASIC, "agent", 2)
    with opened(tmp_path, plan) as (desk, results):
        assert "instruction" in desk.call("reset")["result"]
        assert "finish ends it" in desk.call("reset")["error"]
        desk.call("finish")
        assert desk.call("wait", {"seconds": 1})["error"] == "The episode has ended."
        desk.call("reset")
        desk.call("finish")
        assert desk.call("reset")["error"] == "All 2 episodes are done."
    assert [(result.index, result.status) for result in results] == [(0, "scored"), (1, "scored")]
    assert desk.call("wait", {"seconds": 1})["ended"] == "The bench is closed."
    with pytest.raises(PlanError, match="holds all 2 episodes already"), opened(tmp_path, plan):
        pass


def test_a_desk_resumes_what_was_left_unresolved(tmp_path: Path) -> None:
    plan = Plan(BASIC, "agent", 2)
    with opened(tmp_path, plan) as (desk, results):
        desk.call("finish")
        desk.call("reset")
    assert [result.status for result in results] == ["scored", "unresolved"]
    with opened(tmp_path, plan) as (desk, results):
        desk.call("finish")
    assert [(result.index, result.path.name) for result in results] == [(1, "attempt-2")]


def test_two_desks_do_not_run_the_same_episodes(tmp_path: Path) -> None:
    with opened(tmp_path) as (desk, _):
        desk.call("goal")
        with pytest.raises(PlanError, match=r"Process [0-9]+ has"), opened(tmp_path):
            pass
        assert desk.call("finish")["ended"]
    assert [path.name for path in tmp_path.rglob("attempt-*")] == ["attempt-1"]


def test_episodes_under_other_terms_are_not_put_beside_each_other(tmp_path: Path) -> None:
    plan = Plan(BASIC, "agent", 2)
    with opened(tmp_path, plan) as (desk, _):
        desk.call("finish")
    other = Terms(cameras=(), limits=Limits(calls=9))
    sentence = r"holds episodes of 'agent: agent 1 \(errors 20.*choose another --out"
    with pytest.raises(PlanError, match=sentence), opened(tmp_path, plan, other):
        pass
    found = Bridge(Laboratory(BASIC), plan, 1, tmp_path, other)
    with pytest.raises(PlanError, match="with policy"):
        found.begin()


def test_an_episode_in_which_nobody_calls_any_more_ends_unresolved(tmp_path: Path) -> None:
    told = threading.Event()
    results: list[Result] = []

    def heard(result: Result) -> None:
        results.append(result)
        told.set()

    with Desk(PLAN, tmp_path, BLIND, idle_s=0.05, heard=heard) as desk:
        desk.call("wait", {"seconds": 0.1})
        assert told.wait(60)
    assert [result.status for result in results] == ["unresolved"]


def test_wall_time_runs_out_while_nobody_calls(tmp_path: Path) -> None:
    told = threading.Event()
    results: list[Result] = []

    def heard(result: Result) -> None:
        results.append(result)
        told.set()

    with Desk(PLAN, tmp_path, Terms(cameras=(), limits=Limits(wall_s=0.3)), heard=heard) as desk:
        desk.call("goal")
        assert told.wait(60)
    assert [(result.status, result.reason) for result in results] == [("scored", "stopped")]
    assert "wall time" in strict.read_lines(results[0].path / "calls.jsonl")[-1]["reply"]["ended"]


def test_what_does_not_fit_is_refused_before_anything_is_recorded(tmp_path: Path) -> None:
    for terms, sentence in (
        (Terms(cameras=("roof",)), "no camera 'roof'"),
        (Terms(vla="nobody:Nothing"), "nobody"),
    ):
        with pytest.raises(Exception, match=sentence), opened(tmp_path, PLAN, terms):
            pass
    wet, helped = Plan("pouring-oil", "agent", 1, fidelity="fast"), Terms(vla="still")
    with pytest.raises(PlanError, match="leave out the vla 'still'"), opened(tmp_path, wet, helped):
        pass
    assert not list(tmp_path.rglob("run.json"))


# --- HTTP


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with opened(tmp_path_factory.mktemp("http"), terms=Terms(cameras=("display",))) as (desk, _), over_http(desk) as c:
        yield c


def test_the_catalogue_is_there_for_everybody(caller: Caller) -> None:
    host, port = caller.door.server_address[:2]
    connection = http.client.HTTPConnection(str(host), int(port), timeout=60)
    for path, expected in (("/tools", [*CATALOGUE, "reset"]), ("/healthz", "ok")):
        connection.request("GET", path)
        found = json.loads(connection.getresponse().read())
        names = [tool["name"] for tool in found] if path == "/tools" else found["status"]
        assert names == (
            expected if path != "/tools" else [name for name in expected if name not in ("vla", "perform")]
        )
    connection.request("GET", "/else")
    assert connection.getresponse().status == 404
    connection.close()


def test_images_come_as_png_or_as_arrays(caller: Caller) -> None:
    shown = [caller("observe", depth=True, images=how)["result"]["result"]["images"] for how in ("png", "ndarray")]
    png, raw = shown[0]["display"], shown[1]["display"]
    for name, kind in (("rgb", np.uint8), ("depth", np.uint16)):
        image = np.asarray(Image.open(io.BytesIO(base64.b64decode(png[name]["data"]))))
        array = np.frombuffer(base64.b64decode(raw[name]["__ndarray__"]), raw[name]["dtype"])
        assert raw[name]["dtype"] == np.dtype(kind).name
        assert (image == array.reshape(raw[name]["shape"])).all()


def test_arguments_come_by_place_or_by_name(caller: Caller) -> None:
    assert caller("wait", 0.1)["result"]["result"]["waited_s"] == pytest.approx(0.1)
    assert caller("wait", seconds=0.1)["ok"]
    assert "at most 1 arguments" in caller("wait", 0.1, 2)["error"]
    assert "in args and in kwargs" in caller("wait", 0.1, seconds=0.1)["error"]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"method": "wait", "kwargs": {"seconds": ' + b"[" * 900 + b"]" * 900 + b"}}", "not a str"),
        (b'{"method": "wait", "kwargs": {"seconds": NaN}}', "NaN is no JSON number"),
        (b'{"method": "wait", "args": [1' + b"0" * 5000 + b"]}", "no JSON"),
        (b"[]", "The body is no call"),
        (b'{"method": 1}', "The body is no call"),
        (b'{"method": "wait", "kwargs": []}', "kwargs an object"),
        (b'{"method": "wait", "args": {}}', "args is a list"),
        (b'{"method": "wait", "images": "jpeg"}', "'jpeg'; png or ndarray"),
        (b'{"method": "wait", "images": []}', "png or ndarray"),
        (b'{"method": "wait", "seconds": 1}', "no field 'seconds'"),
    ],
)
def test_malformed_requests_are_one_sentence_and_touch_no_episode(caller: Caller, body: bytes, sentence: str) -> None:
    before = caller("goal")["result"]["sim_time"]
    reply = caller.send(body)
    assert not reply["ok"] and sentence in reply["error"] and "Traceback" not in reply["error"]
    assert caller("goal")["result"]["sim_time"] == before


def test_a_wrong_token_opens_nothing(caller: Caller) -> None:
    for token in ("", "wrong", "secret ", "sécret"):
        reply = caller.send(b'{"method": "finish"}', token.encode("utf-8").decode("latin-1"))
        assert not reply["ok"] and "token" in reply["error"]
    assert caller("goal")["ok"]


def test_a_huge_body_is_refused_unread(caller: Caller) -> None:
    host, port = caller.door.server_address[:2]
    for length in (str(LARGEST + 1), "9" * 400, "-1", "1e3", ""):
        with socket.create_connection((str(host), int(port)), timeout=60) as raw:
            head = f"POST /call HTTP/1.1\r\nAuthorization: Bearer secret\r\nContent-Length: {length}\r\n\r\n"
            raw.sendall(head.encode())
            answer = raw.makefile("rb").read()
        assert b"200" in answer.splitlines()[0] and b'"ok": false' in answer
    assert caller("goal")["ok"]


def test_a_client_that_breaks_off_is_forgotten(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door.Handler, "timeout", 0.2)
    host, port = caller.door.server_address[:2]
    with socket.create_connection((str(host), int(port)), timeout=60) as raw:
        raw.sendall(b"POST /call HTTP/1.1\r\nAuthorization: Bearer secret\r\nContent-Length: 50\r\n\r\n{")
        raw.shutdown(socket.SHUT_WR)
        assert b"ended after 1 of 50 bytes" in raw.makefile("rb").read()
    with socket.create_connection((str(host), int(port)), timeout=60) as raw:
        raw.sendall(b"POST /call HTTP/1.1\r\nAuthorization: Bearer secret\r\nContent-Length: 50\r\n\r\n{")
        assert raw.makefile("rb").read() == b""  # given up after the patience of the door
    assert caller("goal")["ok"]
    assert caller.send(b"{}", path="/else")["error"]


def test_a_bench_that_breaks_says_so_without_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise OSError("disk full at /secret/path")

    results: list[Result] = []
    desk = Desk(PLAN, tmp_path, BLIND, heard=results.append)
    with over_http(desk) as call:
        call("goal")
        monkeypatch.setattr("labference.bridge.work.Work.do", broken)
        reply = call("wait", seconds=1)
        assert reply == {"ok": False, "error": "The bench failed, and has stopped."}
        assert call("wait", seconds=1)["error"] == "The bench is closed."
    with pytest.raises(OSError, match="disk full"):
        desk.close()
    desk.close()
    assert [result.status for result in results] == ["unresolved"]


def test_whatever_stops_a_bench_leaves_nobody_waiting(tmp_path: Path) -> None:
    def heard(result: Result) -> None:
        raise BrokenPipeError("nobody reads")

    desk = Desk(PLAN, tmp_path, BLIND, heard=heard)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(desk.call, "finish") for _ in range(8)]
        assert all("ended" in reply.result(60) for reply in asked)
        assert pool.submit(desk.call, "goal").result(60)["error"] == "The bench is closed."
    with pytest.raises(BrokenPipeError):
        desk.close()


def test_a_local_policy_behind_vla_that_hangs_is_given_up_in_its_own_process(tmp_path: Path) -> None:
    plan = replace(PLAN, transport=PROCESS, deadline_s=5.0)
    with opened(tmp_path, plan, replace(BLIND, vla="rogue:Hangs")) as (desk, results), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(desk.call, "vla", {"instruction": "anything", "max_chunks": 2})
        assert "policy behind vla is not available" in asked.result(60)["ended"]
    assert [(result.status, result.reason) for result in results] == [("unresolved", "invalid")]
    assert "no answer within 5 s" in results[0].sentence


# --- MCP


def test_an_mcp_client_sees_the_catalogue_and_images_beside_the_text(tmp_path: Path) -> None:
    async def main(desk: Desk) -> None:
        async with Client(server(desk)) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == [tool.name for tool in desk.tools]
            assert listed[1].input_schema == CATALOGUE["observe"].schema()
            look = await client.call_tool("observe", {"cameras": ["display"], "depth": True})
            assert [part.type for part in look.content] == ["text", "image", "image"]
            shown = read(look)["result"]["images"]["display"]
            assert (shown["rgb"], shown["depth"]) == ({"image": 1}, {"image": 2})
            sizes = [np.asarray(Image.open(io.BytesIO(base64.b64decode(part.data)))).shape for part in look.content[1:]]
            assert sizes == [(224, 224, 3), (224, 224)]
            bad = await client.call_tool("wait", {"seconds": "long"})
            assert bad.is_error and "a number from 0.05 to 60" in read(bad)["error"]
            unknown = await client.call_tool("fly", {})
            assert unknown.is_error and "There is no tool 'fly'" in read(unknown)["error"]

    with opened(tmp_path, terms=Terms(cameras=("display",))) as (desk, _):
        anyio.run(main, desk)


def test_parallel_tool_calls_are_carried_out_one_after_the_other(tmp_path: Path) -> None:
    times: list[float] = []

    async def main(desk: Desk) -> None:
        async with Client(server(desk)) as client, anyio.create_task_group() as group:

            async def wait() -> None:
                times.append(read(await client.call_tool("wait", {"seconds": 0.1}))["sim_time"])

            for _ in range(8):
                group.start_soon(wait)

    with opened(tmp_path) as (desk, _):
        anyio.run(main, desk)
    assert sorted(times) == pytest.approx([0.1 * n for n in range(1, 9)])


def test_streamable_http_asks_for_the_token(tmp_path: Path) -> None:
    async def main(desk: Desk) -> None:
        with pytest.raises(BaseExceptionGroup):
            async with streamable(desk, "wrong"):
                pass

    with opened(tmp_path) as (desk, results):
        anyio.run(main, desk)
    assert results == []


INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
GOAL_OVER_STDIO = "".join(
    json.dumps({"jsonrpc": "2.0", **line}) + "\n"
    for line in (
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "goal", "arguments": {}}},
    )
)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent to a process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_on_stdio_ends_when_it_is_told_to_whether_or_not_its_client_does(
    number: signal.Signals, tmp_path: Path
) -> None:
    arguments = [sys.executable, *COMMAND, "bridge", BASIC, "--over", "mcp", "--out", str(tmp_path / "runs")]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as served:
        try:
            assert served.stdin and served.stdout and served.stderr
            served.stdin.write(GOAL_OVER_STDIO)
            served.stdin.flush()
            assert [json.loads(served.stdout.readline())["id"] for _ in range(2)] == [1, 2]
            served.send_signal(number)
            assert served.wait(60) == 130
            assert "Episode 0: unresolved" in served.stderr.read()
        finally:
            served.kill()


def test_a_client_of_stdio_that_goes_away_leaves_an_unresolved_episode(
    python: Callable[..., Any], tmp_path: Path
) -> None:
    arguments = [*COMMAND, "bridge", BASIC, "--over", "mcp", "--out", str(tmp_path / "runs")]
    done = python(*arguments, input=GOAL_OVER_STDIO)
    assert done.returncode == 3, done.stderr
    assert "Episode 0: unresolved" in done.stderr
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in done.stdout.splitlines())


# --- the command line


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--over", "pigeon"], "There is no door 'pigeon'; http or mcp would work."),
        (["--port", "99999"], "There is no port 99999"),
        (["--name", "reader"], "An agent cannot be called 'reader'"),
        (["--calls", "0"], "A limit of 0 calls"),
        (["--camera", "roof"], "There is no camera 'roof'"),
        (["--clock", "sundial"], "No clock 'sundial'"),
        (["--without", "fly"], "There is no tool 'fly'"),
    ],
)
def test_a_bridge_that_cannot_be_opened_says_why_in_one_sentence(
    options: list[str], sentence: str, tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from labference.cli import app

    done = CliRunner().invoke(app, ["bridge", BASIC, "--out", str(tmp_path / "runs"), *options])
    assert done.exit_code == 2, done.output
    assert sentence in done.output and not (tmp_path / "runs").exists()
