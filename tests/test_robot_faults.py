"""Robot policies over websockets that misbehave: each fault ends under its name, nothing hangs, nothing is shifted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import BASIC, Attempt
from labference.bench.campaign import register, run
from labference.bench.laboratory import Laboratory, Result
from labference.bench.plan import Plan
from labference.records.reader import read_run
from labference.score.campaign import read_campaign
from labference.score.summary import summarise
from labference.truth.identity import PlanError
from rogue import INTERFACE, SERVICE
from rogue_robots import ENDINGS, IMPATIENT_S, PATIENT_S, PROFILE, SLOW, Rogue, free_port, serving

WIRES = ("openpi", "vla-eval")
STEPS = 30
Drive = Callable[..., Attempt]


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "rogue.toml"
    path.write_text(PROFILE)
    return str(path)


@pytest.fixture
def drive(laboratory: Laboratory, tmp_path: Path, profile: str) -> Drive:
    """Return a function that runs one attempt of the policy at a port."""

    def attempt(wire: str, port: int, index: int = 0, deadline_s: float = PATIENT_S) -> Attempt:
        plan = Plan(BASIC, f"{wire}://127.0.0.1:{port}", 10, budget=STEPS, profile=profile, deadline_s=deadline_s)
        result = laboratory.attempt(plan, index, tmp_path / "out")
        return Attempt(result, read_run(result.path))

    return attempt


def commands(found: Attempt) -> int:
    return sum(len(action["applied"]) for action in found.actions)


@pytest.mark.parametrize("wire", WIRES)
def test_a_server_that_behaves_is_scored(wire: str, drive: Drive) -> None:
    with serving(Rogue(wire, "", good=99)) as port:
        found = drive(wire, port)
    assert (found.result.status, found.result.reason) == ("scored", "budget")
    assert commands(found) == STEPS


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("fault", ENDINGS)
def test_each_fault_ends_under_its_name(wire: str, fault: str, drive: Drive) -> None:
    if (wire, fault) == ("openpi", "previous"):
        pytest.skip("OpenPI's wire has no numbers; what leads there is refused as 'unasked' and 'late'")
    reason, words = ENDINGS[fault]
    with serving(Rogue(wire, fault)) as port:
        found = drive(wire, port, deadline_s=IMPATIENT_S if fault in SLOW else PATIENT_S)
    assert (found.result.reason, found.result.status) == (reason, "unresolved" if reason == SERVICE else "scored")
    assert words in found.result.sentence
    last = found.named("Refused" if reason == INTERFACE else "Invalidated")
    assert [event["sentence"] for event in last] == [found.result.sentence]
    assert commands(found) == 10, "the first answer was carried out, and nothing of the second"
    assert (found.run.scores is None) == (reason == SERVICE)


@pytest.mark.parametrize("wire", WIRES)
def test_nobody_there_is_a_fault_of_the_service_and_not_a_failure(wire: str, drive: Drive) -> None:
    found = drive(wire, free_port())
    assert (found.result.status, found.result.reason) == ("unresolved", "invalid")
    assert "No server opened a websocket at" in found.result.sentence


@pytest.mark.parametrize("wire", WIRES)
def test_nobody_there_stops_a_campaign_before_it_begins(wire: str, tmp_path: Path, profile: str) -> None:
    plan = Plan(BASIC, f"{wire}://127.0.0.1:{free_port()}", 2, profile=profile)
    with pytest.raises(PlanError, match="could not be reached: No server opened a websocket at"):
        register(plan, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_error_at_the_start_of_an_episode_never_shifts_the_answers(drive: Drive) -> None:
    rogue = Rogue("vla-eval", "episode_start", good=99)
    with serving(rogue) as port:
        first = drive("vla-eval", port, 0)
        rogue.fault = ""
        second = drive("vla-eval", port, 1)
    assert first.result.reason == "invalid"
    assert first.result.sentence == "The server failed: episode_start_failed: KeyError: 'task'"
    assert commands(first) == 0
    assert (second.result.status, commands(second)) == ("scored", STEPS)


def test_an_error_frame_ends_the_attempt(drive: Drive) -> None:
    with serving(Rogue("vla-eval", "error")) as port:
        found = drive("vla-eval", port)
    assert found.result.reason == "invalid"
    assert found.result.sentence == "The server failed: observation_failed: RuntimeError: no GPU"


@pytest.mark.parametrize("wire", WIRES)
def test_each_episode_has_a_connection_of_its_own(wire: str, drive: Drive) -> None:
    rogue = Rogue(wire, "", good=99)
    with serving(rogue) as port:
        for index in range(3):
            assert drive(wire, port, index).result.status == "scored"
    assert rogue.connections == 3


@pytest.mark.parametrize("wire", WIRES)
def test_a_run_survives_a_server_that_is_restarted_between_episodes(wire: str, tmp_path: Path, profile: str) -> None:
    port, out = free_port(), tmp_path / "out"

    def campaign(count: int) -> list[Result]:
        return list(run(Plan(BASIC, f"{wire}://127.0.0.1:{port}", count, budget=10, profile=profile), out))

    with serving(Rogue(wire, "", good=99), port):
        campaign(1)
    with serving(Rogue(wire, "closes", good=1), port):
        assert [found.status for found in campaign(2)] == ["scored"]
    with serving(Rogue(wire, "closes", good=0), port), pytest.raises(PlanError, match="connection was lost"):
        campaign(3)
    with serving(Rogue(wire, "", good=99), port):
        assert [found.status for found in campaign(3)] == ["scored"]
    summary = summarise(read_campaign(out))
    assert (summary.planned, summary.scored, summary.unresolved) == (3, 3, 0)


def test_a_model_server_learns_neither_the_instance_nor_how_it_went(drive: Drive) -> None:
    rogue = Rogue("vla-eval", "", good=99)
    with serving(rogue) as port:
        found = drive("vla-eval", port)
    kinds = [kind for kind, _ in rogue.frames]
    assert (kinds[0], kinds[1], kinds[-1]) == ("hello", "episode_start", "episode_end")
    told: dict[str, dict[str, Any]] = dict(rogue.frames)
    assert told["episode_start"] == {"task": {"name": found.run.run["session"]}}
    assert told["episode_end"] == {"metrics": {}}
    assert set(told["hello"]) == {"harness_version", "protocol_version"}
    assert all(set(request) == {"images", "joints", "task_description"} for request in rogue.requests)


def test_a_stock_openpi_server_is_sent_nothing_that_it_does_not_know(drive: Drive) -> None:
    rogue = Rogue("openpi", "", good=99)
    with serving(rogue) as port:
        found = drive("openpi", port)
    assert all(set(request) == {"joints", "prompt"} for request in rogue.requests)
    assert [receipt["level"] for receipt in found.run.lines("requests.jsonl")] == ["request-only"] * len(rogue.requests)
    assert len(found.run.run["service"]["not_verified"]) == 4
    assert found.run.run["identity"]["policy"].startswith("openpi: rogue profile rogue 1 ")
    assert str(port) not in str(found.run.run["identity"])
