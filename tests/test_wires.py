"""The same system over every wire: the same events, frames, statements and scores to the byte."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import BASIC, Attempt
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.policies import make_policy
from labference.policies.remote import process
from labference.records import folder
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.serving.http import Server
from labference.truth.identity import RunId
from labference.wire import JOINT, Fact, Goal, Observation, Operation, RobotState, Senses, StateReport, Witness

WIRES = ("process", "http-json", "http-msgpack")
SAME = (folder.EVENTS, folder.OBSERVATIONS, folder.INTERFACES, folder.MEASUREMENTS, folder.ONLINE)
"""Files that must agree byte for byte; the others hold wall-clock seconds."""
SYSTEMS = {"rogue:Seeded": 60, "reader": None}
"""Systems, and the control steps they are given: one whose every motion follows from its seed, one that sees."""


@pytest.fixture(scope="module", params=SYSTEMS)
def runs(
    request: Any, laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Attempt]]:
    """Return an attempt at the same episode over every wire."""
    policy, budget = request.param, SYSTEMS[request.param]
    out = tmp_path_factory.mktemp("wires")
    server = Server(partial(make_policy, policy), "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def attempt(name: str, reached: str, **more: Any) -> Attempt:
        plan = Plan(BASIC, reached, 3, 5, budget=budget, policy_seed=11, **more)
        result = laboratory.attempt(plan, 2, out / name)
        return Attempt(result, read_run(result.path))

    try:
        yield {
            "in-process": attempt("here", policy),
            "process": attempt("process", policy, transport="process"),
            "http-json": attempt("json", f"{server.address}?format=json"),
            "http-msgpack": attempt("msgpack", f"{server.address}?format=msgpack"),
        }
    finally:
        process.dismiss()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("wire", WIRES)
def test_the_records_are_those_of_a_run_in_process(wire: str, runs: dict[str, Attempt]) -> None:
    ours, theirs = runs["in-process"].result.path, runs[wire].result.path
    for name in SAME:
        assert present(ours / name) == present(theirs / name), name
    assert (ours / folder.EVENTS).stat().st_size > 0 and (ours / folder.MEASUREMENTS).stat().st_size > 0


def present(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize("wire", WIRES)
def test_the_scores_are_those_of_a_run_in_process(wire: str, runs: dict[str, Attempt]) -> None:
    ours, theirs = runs["in-process"].scores, runs[wire].scores
    for name in ("verdict", "reason", "sentence", "steps", "queries", "simulated_s", "status"):
        assert ours[name] == theirs[name], name
    assert ours["queries"] > 5


@pytest.mark.parametrize("wire", WIRES)
def test_the_commands_are_those_of_a_run_in_process(wire: str, runs: dict[str, Attempt]) -> None:
    ours, theirs = (
        [{name: value for name, value in act.items() if name != "seconds"} for act in runs[name].actions]
        for name in ("in-process", wire)
    )
    assert ours == theirs


@pytest.mark.parametrize("wire", WIRES)
def test_only_the_way_to_the_system_differs_in_the_identity(wire: str, runs: dict[str, Attempt]) -> None:
    ours, theirs = (runs[name].scores["identity"] for name in ("in-process", wire))
    differing = {name for name in ours if ours[name] != theirs[name]}
    assert differing == ({"transport"} if wire == "process" else {"transport", "policy"})
    assert theirs["transport"] == wire.partition("-")[0]
    assert set(ours) == set(RunId.__dataclass_fields__)


@pytest.mark.parametrize("wire", WIRES)
def test_a_prefix_is_shown_over_every_wire(wire: str) -> None:
    goal, seen = Goal("Weigh.", ("wait",), (), ()), Operation("add", "20 g", "pan")
    at_rest = RobotState(np.zeros(7), np.zeros(7), 0.08, np.ones(7), np.zeros(8))
    shown = Observation(2, goal, Senses(1.25, at_rest))
    server = Server(partial(make_policy, "rogue:Onlooker"), "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    system = (
        make_policy("rogue:Onlooker", 0, isolated=True)
        if wire == "process"
        else make_policy(f"{server.address}?format={wire.partition('-')[2]}", 0)
    )
    try:
        assert system.open().witnesses and isinstance(system, Witness)
        system.reset(goal, JOINT, "session")
        system.witness(shown, seen)
        system.witness(shown, None)
        said = StateReport((Fact("20 g", "pan"), Fact("seen", 1.25), Fact("seen", 1.25)))
        assert system.act(shown) == said
    finally:
        system.close()
        process.dismiss()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("wire", ("in-process", *WIRES))
def test_the_records_audit(wire: str, runs: dict[str, Attempt]) -> None:
    assert audit(runs[wire].result.path).difference is None


def test_a_reader_completes_over_every_wire(runs: dict[str, Attempt]) -> None:
    reasons = {attempt.result.reason for attempt in runs.values()}
    assert reasons in ({"completed"}, {"budget"})
    assert all(asdict(attempt.result)["status"] == "scored" for attempt in runs.values())


def test_what_the_bench_is_asked_to_carry_out_is_the_same_over_every_wire(tmp_path: Path) -> None:
    wet = Laboratory("ph", fidelity="fast")
    server = Server(partial(make_policy, "act"), "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    over = {
        "here": ("act", "in-process"),
        "process": ("act", "process"),
        "http-json": (f"{server.address}?format=json", "in-process"),
        "http-msgpack": (f"{server.address}?format=msgpack", "in-process"),
    }
    paths: dict[str, Path] = {}
    try:
        for wire, (policy, transport) in over.items():
            plan = Plan("ph", policy, 1, 5, transport=transport, fidelity="fast")
            paths[wire] = wet.attempt(plan, 0, tmp_path / wire).path
    finally:
        process.dismiss()
        server.shutdown()
        server.server_close()
    poured = [entry for entry in read_run(paths["here"]).lines(folder.ACTIONS) if entry["act"] == "Perform"]
    assert any(entry["operation"]["kind"] == "pour" for entry in poured)
    timeless = [{name: value for name, value in entry.items() if name != "seconds"} for entry in poured]
    for wire in WIRES:
        for name in SAME:
            assert present(paths["here"] / name) == present(paths[wire] / name), (wire, name)
        acts = [entry for entry in read_run(paths[wire]).lines(folder.ACTIONS) if entry["act"] == "Perform"]
        assert [{name: value for name, value in entry.items() if name != "seconds"} for entry in acts] == timeless
