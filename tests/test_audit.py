"""The audit: a run replays to itself, and whatever was changed afterwards is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from conftest import BASIC
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.cli import app
from labference.records import folder
from labference.records.measurements import MeasurementWriter
from labference.records.reader import RecordError, read_run
from labference.score.audit import audit
from labference.truth.identity import digest

cli = CliRunner()


@pytest.fixture(scope="module")
def finished(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an attempt of the reference executor."""
    return laboratory.attempt(Plan(BASIC, "expert", 10), 0, tmp_path_factory.mktemp("audit")).path


@pytest.fixture
def attempt(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of it to spoil."""
    return Path(shutil.copytree(finished, tmp_path / "attempt-1"))


def lines(attempt: Path, name: str) -> list[str]:
    return (attempt / name).read_text().splitlines()


def rewrite(attempt: Path, name: str, change: Callable[[list[str]], list[str]]) -> None:
    (attempt / name).write_text("".join(f"{entry}\n" for entry in change(lines(attempt, name))))


def edit(attempt: Path, name: str, change: Callable[[Any], None]) -> None:
    value = json.loads((attempt / name).read_text())
    change(value)
    (attempt / name).write_text(json.dumps(value))


def difference(attempt: Path) -> str:
    """Return the difference that the audit names, checked for its manners."""
    found = audit(attempt).difference
    assert found is not None, "the audit saw nothing"
    assert "\n" not in found
    return found


def test_an_untouched_run_replays_to_itself(finished: Path) -> None:
    found = audit(finished)
    assert found.difference is None
    assert found.events == len(lines(finished, folder.EVENTS))
    assert found.ticks > 1500, "the preparation is replayed too"


def test_a_changed_event_is_named_with_its_line_and_both_versions(attempt: Path) -> None:
    number = next(i for i, entry in enumerate(lines(attempt, folder.EVENTS)) if '"Grasped"' in entry)
    grasped = lines(attempt, folder.EVENTS)[number]
    changed = grasped.replace('"origin":"table"', '"origin":"pan"')
    assert changed != grasped
    rewrite(attempt, folder.EVENTS, lambda all_: [changed if entry == grasped else entry for entry in all_])
    found = difference(attempt)
    assert found.startswith(f"events.jsonl line {number + 1}: ")
    assert changed in found and grasped in found


@pytest.mark.parametrize("position", [0, 6, -2, -1])
def test_a_removed_event_is_noticed(attempt: Path, position: int) -> None:
    rewrite(attempt, folder.EVENTS, lambda all_: [entry for entry in all_ if entry != all_[position]])
    assert difference(attempt).startswith("events.jsonl line ")


def test_an_added_event_is_noticed(attempt: Path) -> None:
    rewrite(attempt, folder.EVENTS, lambda all_: [*all_, '{"event":"Completed","tick":1}'])
    assert "replay nothing" in difference(attempt)


def test_any_flipped_byte_of_the_events_is_noticed(attempt: Path) -> None:
    path = attempt / folder.EVENTS
    whole = path.read_bytes()
    for position in np.random.default_rng(0).integers(0, len(whole) - 1, 8):
        spoiled = bytearray(whole)
        spoiled[position] ^= 0x01
        path.write_bytes(spoiled)
        assert "events.jsonl" in difference(attempt), position


@pytest.mark.parametrize(
    ("field", "value"), [("valid", False), ("clean", False), ("physical", False), ("attempts", 7), ("decisions", [])]
)
def test_an_edited_verdict_is_named_by_its_field(attempt: Path, field: str, value: Any) -> None:
    edit(attempt, folder.SCORES, lambda scores: scores["verdict"].update({field: value}))
    assert difference(attempt).startswith(f"scores.json {field}: ")


@pytest.mark.parametrize("field", ["reason", "steps", "queries", "simulated_s", "key", "identity", "reports"])
def test_scores_are_checked_beyond_the_verdict(attempt: Path, field: str) -> None:
    def change(scores: dict[str, Any]) -> None:
        old = scores[field]
        if isinstance(old, dict):
            scores[field] = old | {"policy": "another 1"}
        else:
            scores[field] = not old if isinstance(old, bool) else f"{old}!" if isinstance(old, str) else old + 1

    edit(attempt, folder.SCORES, change)
    assert f"scores.json {field}" in difference(attempt)


@pytest.mark.parametrize("position", [0, 5, -1])
def test_a_removed_delivery_is_noticed(attempt: Path, position: int) -> None:
    rewrite(attempt, folder.OBSERVATIONS, lambda all_: [entry for entry in all_ if entry != all_[position]])
    assert "jsonl" in difference(attempt)


def test_a_delivery_removed_together_with_its_answer_is_noticed(attempt: Path) -> None:
    rewrite(attempt, folder.OBSERVATIONS, lambda all_: all_[:-1])
    rewrite(attempt, folder.ACTIONS, lambda all_: all_[:-1])
    difference(attempt)


def test_a_removed_answer_is_noticed(attempt: Path) -> None:
    rewrite(attempt, folder.ACTIONS, lambda all_: [entry for number, entry in enumerate(all_) if number != 3])
    assert "actions.jsonl" in difference(attempt)


def test_an_answer_to_stale_evidence_is_named(attempt: Path) -> None:
    def change(all_: list[str]) -> list[str]:
        answer = json.loads(all_[4])
        return [*all_[:4], json.dumps(answer | {"observation": answer["observation"] - 1}), *all_[5:]]

    rewrite(attempt, folder.ACTIONS, change)
    assert "actions.jsonl line 5" in difference(attempt)


def test_measurements_that_were_changed_lead_to_other_conclusions(attempt: Path) -> None:
    blocks = list(read_run(attempt).blocks())
    writer = MeasurementWriter(attempt / folder.MEASUREMENTS)
    for block in blocks:
        writer.write(replace(block, force=block.force - np.float32(0.05) * (block.tick > 0)))
    writer.close()
    assert difference(attempt).startswith("events.jsonl line ")


def test_damaged_measurements_are_a_difference_and_not_a_crash(attempt: Path) -> None:
    path = attempt / folder.MEASUREMENTS
    whole = path.read_bytes()
    for share in (0.02, 0.5, 0.9):
        spoiled = bytearray(whole)
        spoiled[int(share * len(whole))] ^= 0xFF
        path.write_bytes(spoiled)
        difference(attempt)


def test_measurements_cut_short_contradict_committed_scores(attempt: Path) -> None:
    path = attempt / folder.MEASUREMENTS
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    difference(attempt)


def test_another_instance_in_the_record_is_noticed(attempt: Path) -> None:
    def change(run: dict[str, Any]) -> None:
        run["instance"]["goal"] = [10] if run["instance"]["goal"] != [10] else [20]

    edit(attempt, folder.RUN, change)
    assert difference(attempt)


def test_an_interrupted_run_is_consistent_as_far_as_it_goes(attempt: Path) -> None:
    (attempt / folder.SCORES).unlink()
    rewrite(attempt, folder.EVENTS, lambda all_: all_[:-1])
    assert audit(attempt).difference is None


@pytest.mark.parametrize("share", [0.4, 0.7, 0.95])
def test_a_run_that_lost_its_last_second_of_measurements_to_a_kill_contradicts_nothing(
    attempt: Path, share: float
) -> None:
    (attempt / folder.SCORES).unlink()
    rewrite(attempt, folder.EVENTS, lambda all_: all_[:-1])
    path = attempt / folder.MEASUREMENTS
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert audit(attempt).difference is None


def test_an_interrupted_run_with_a_forged_event_is_still_noticed(attempt: Path) -> None:
    (attempt / folder.SCORES).unlink()
    rewrite(attempt, folder.EVENTS, lambda all_: [entry.replace('"attempt":1', '"attempt":3') for entry in all_[:-1]])
    assert difference(attempt).startswith("events.jsonl line ")


@pytest.fixture(scope="module")
def supported(tmp_path_factory: pytest.TempPathFactory, laboratory: Laboratory) -> Path:
    """Return an attempt of a modular system with decision and semantic support."""
    plan = Plan(BASIC, "favourite", 1, budget=60, support="decision:replace+semantic:assist")
    return laboratory.attempt(plan, 0, tmp_path_factory.mktemp("supported")).path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"evidence":1', '"evidence":2', "line 1 evidence: recorded 2, replay 1"),
        ('"opportunity":1', '"opportunity":3', "line 1 opportunity: recorded 3, replay 1"),
        ('"observation":1,', '"observation":999,', "belongs to observation 999, which was not delivered"),
        ('"value":"table"', '"value":"pan"', "line 1"),
        ('"reference":[{"kind":"add"', '"reference":[{"kind":"remove"', "reference"),
        ('"operation":{"kind":"add"', '"operation":{"kind":"remove"', "supplies"),
    ],
)
def test_support_that_does_not_belong_to_its_evidence_is_named(
    supported: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = tmp_path / "attempt-1"
    shutil.copytree(supported, path)
    assert audit(path).difference is None
    text = (path / folder.INTERFACES).read_text()
    assert old in text
    (path / folder.INTERFACES).write_text(text.replace(old, new, 1))
    difference = audit(path).difference
    assert difference is not None and said in difference


def test_an_attempt_that_never_began_has_nothing_to_replay(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"plan":{},"index":0,"seeds":{},"instance":{}}')
    (tmp_path / "events.jsonl").write_text('{"event":"Invalidated","tick":0,"cause":"SetupError","sentence":"x."}\n')
    with pytest.raises(RecordError):
        audit(tmp_path)


def test_the_command_says_identical_and_succeeds(finished: Path) -> None:
    done = cli.invoke(app, ["audit", str(finished)])
    assert done.exit_code == 0, done.output
    assert "identical" in done.output


def test_the_command_exits_with_one_and_names_the_difference(attempt: Path) -> None:
    edit(attempt, folder.SCORES, lambda scores: scores["verdict"].update(valid=False))
    done = cli.invoke(app, ["audit", str(attempt)])
    assert done.exit_code == 1
    assert "scores.json valid: online false, replay true" in " ".join(done.output.split())


def test_the_command_audits_whole_campaigns_and_stops_at_the_first_difference(attempt: Path, tmp_path: Path) -> None:
    for index in range(3):
        shutil.copytree(attempt, tmp_path / "c" / f"episode-{index:04d}" / "attempt-1")
    spoiled = tmp_path / "c" / "episode-0001" / "attempt-1"
    edit(spoiled, folder.SCORES, lambda scores: scores["verdict"].update(valid=False))
    done = cli.invoke(app, ["audit", str(tmp_path / "c")])
    assert done.exit_code == 1
    assert "episode-0001" in done.output and "episode-0002" not in done.output


def _first_line(change: Callable[[Any], None]) -> Callable[[list[str]], list[str]]:
    def apply(entries: list[str]) -> list[str]:
        value = json.loads(entries[0])
        change(value)
        return [json.dumps(value, separators=(",", ":")), *entries[1:]]

    return apply


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (folder.OBSERVATIONS, lambda entry: entry.update(evidence=7)),
        (folder.OBSERVATIONS, lambda entry: entry.update(time=1.5)),
        (folder.ACTIONS, lambda entry: entry["requested"][0].__setitem__(0, 0.1)),
        (folder.ACTIONS, lambda entry: entry["applied"][0].__setitem__(7, 0.01)),
        (folder.ACTIONS, lambda entry: entry.update(dropped=3)),
        (folder.ONLINE, lambda entry: entry["scores"].update(correct=9)),
    ],
    ids=["evidence", "time", "requested", "applied", "dropped", "live scores"],
)
def test_a_changed_line_of_any_log_is_named(attempt: Path, name: str, change: Callable[[Any], None]) -> None:
    rewrite(attempt, name, _first_line(change))
    assert difference(attempt).startswith(name)


def test_live_scores_that_are_missing_are_noticed(attempt: Path) -> None:
    rewrite(attempt, folder.ONLINE, lambda entries: [])
    assert difference(attempt).startswith(folder.ONLINE)


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.update(privileged=False),
        lambda run: run["plan"].update(policy="reader"),
        lambda run: run["goal"].update(instruction="Do as you like."),
        lambda run: run["instance"].update(sample=61.0),
        lambda run: run["contract"].update(budget_steps=100),
        lambda run: run["setup"]["masses"].update(sample=0.1),
        lambda run: run["identity"]["seeds"].update(policy=1),
        lambda run: run["identity"].update(instance="0" * 64),
        lambda run: run["identity"].update(layout="0" * 64),
        lambda run: run["identity"].update(contract="0" * 64),
    ],
    ids=["privilege", "plan", "goal", "instance", "budget", "mass", "seed", "instance hash", "layout hash", "contract"],
)
def test_a_changed_setting_is_named(attempt: Path, change: Callable[[Any], None]) -> None:
    def both(run: Any) -> None:
        change(run)
        run["key"] = digest(run["identity"])
        edit(attempt, folder.SCORES, lambda scores: scores.update(key=run["key"], identity=run["identity"]))

    edit(attempt, folder.RUN, both)
    assert difference(attempt).startswith(folder.RUN)


def test_a_validity_event_beside_a_verdict_is_noticed(attempt: Path) -> None:
    forged = '{"event":"Invalidated","tick":1,"cause":"x","sentence":"y"}'
    rewrite(attempt, folder.EVENTS, lambda entries: [*entries, forged])
    assert difference(attempt).startswith(folder.EVENTS)
