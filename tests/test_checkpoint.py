"""Checkpoints: branches continue from the same start, bit for bit, in whatever process, and nothing passes for it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labference.bench.checkpoint import FACTS, MEASUREMENTS, STATE, Handoff, confirm, load, referee_at, save
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bench.stored import Fast, arrays_of, rest_of
from labference.records.prefix import told
from labference.records.reader import read_run
from labference.records.strict import line
from labference.score.audit import audit
from labference.truth.draw import draw, lay_out
from labference.truth.events import Opened
from labference.truth.identity import PlanError
from labference.truth.referee import WORDLESS
from labference.world.faults import SetupError

BYTES = ("events.jsonl", "measurements.bin", "observations.jsonl", "actions.jsonl")
CASES = {
    "weighing-basic untouched": ("weighing-basic", 0, "", 60, "physics"),
    "weighing-extended after one operation": ("weighing-extended", 1, "", 60, "physics"),
    "centrifuge-extended after the hood": ("centrifuge-extended", 3, "", 60, "physics"),
    "pouring-water untouched, fast": ("pouring-water", 0, "", 400, "fast"),
    "ph after the first reading, fast": ("ph", 4, "", 900, "fast"),
}


@dataclass(frozen=True)
class Start:
    """A checkpoint in memory and on disk, and the first branch from it."""

    bench: Laboratory
    plan: Plan
    index: int
    handoff: Handoff
    stored: Path
    first: Path


def branch(bench: Laboratory, plan: Plan, index: int, handoff: Handoff, path: Path) -> Path:
    system = bench.system(plan, handoff.seeds)
    try:
        bench.negotiate(plan, system)
        bench.branch(replace(plan, budget=(plan.budget or 0) + handoff.steps), index, handoff, system, path)
    finally:
        system.close()
    return path


def reach(bench: Laboratory, plan: Plan, index: int, operations: int, path: Path) -> Handoff:
    _, seeds = draw(bench.contract, plan.seed, index, plan.policy_seed, plan.instances)
    system = bench.system(plan, seeds)
    try:
        bench.negotiate(plan, system)
        return bench.handoff(plan, index, system, operations, path)
    finally:
        system.close()


def restored(start: Start, bench: Laboratory | None = None, stored: Path | None = None) -> Handoff:
    contract = start.bench.contract
    instance, seeds = draw(contract, start.plan.seed, start.index, 0, start.plan.instances)
    channels = (bench or start.bench).world.channels
    return load(stored or start.stored, instance, seeds, lay_out(contract, instance, seeds), channels)


def digests(path: Path) -> dict[str, str]:
    return {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in BYTES if name != "actions.jsonl"}


@pytest.fixture(scope="module", params=CASES.keys())
def start(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    task, operations, instances, budget, fidelity = CASES[request.param]
    bench, where = Laboratory(task, fidelity=fidelity), tmp_path_factory.mktemp("start")
    plan = Plan(task, "expert", 4, 2, budget=budget, instances=instances, fidelity=fidelity)
    handoff = reach(bench, plan, 0, operations, where / "checkpoint" / "prefix")
    save(handoff, where / "checkpoint")
    first = branch(bench, plan, 0, handoff, where / "first")
    yield Start(bench, plan, 0, handoff, where / "checkpoint", first)
    bench.world.close()


def test_a_checkpoint_survives_the_disk(start: Start) -> None:
    found = restored(start)
    assert found.digest == start.handoff.digest
    ours, theirs = arrays_of(start.handoff.world), arrays_of(found.world)
    assert {name: value.tobytes() for name, value in ours.items()} == {
        n: value.tobytes() for n, value in theirs.items()
    }
    assert rest_of(found.world) == rest_of(start.handoff.world) and found.lent == start.handoff.lent
    assert found.deliveries == start.handoff.deliveries and found.steps == start.handoff.steps
    assert found.prefix == start.handoff.prefix
    assert len(found.blocks) == len(start.handoff.blocks)
    for ours, theirs in zip(start.handoff.blocks, found.blocks, strict=True):
        assert (ours.tick, ours.control, ours.generation) == (theirs.tick, theirs.control, theirs.generation)
        assert all(
            np.array_equal(getattr(ours, name), getattr(theirs, name), equal_nan=True)
            for name in ("pose", "speed", "touch", "force", "fixtures")
        )


AGAIN = """
import hashlib, sys
from pathlib import Path
from test_checkpoint import CASES, Start, branch, digests, restored
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
task, instances, budget, stored, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5])
bench = Laboratory(task, fidelity=sys.argv[6])
plan = Plan(task, "expert", 4, 2, budget=budget, instances=instances, fidelity=sys.argv[6])
start = Start(bench, plan, 0, None, stored, out)
for name, digest in digests(branch(bench, start.plan, 0, restored(start), out)).items():
    print(name, digest)
"""


def test_a_fresh_process_continues_with_the_same_bytes(
    start: Start, python: Callable[..., Any], tmp_path: Path
) -> None:
    plan = start.plan
    there = str(tmp_path / "there")
    child = python("-c", AGAIN, plan.task, plan.instances, str(plan.budget), str(start.stored), there, plan.fidelity)
    assert child.returncode == 0, child.stderr
    assert dict(entry.split() for entry in child.stdout.splitlines()) == digests(start.first)


def test_a_second_branch_continues_as_the_first_did_whatever_was_done_in_between(start: Start, tmp_path: Path) -> None:
    start.bench.world.prepare(lay_out(start.bench.contract, *draw(start.bench.contract, 9, 1)))
    again = branch(start.bench, start.plan, 0, restored(start), tmp_path / "again")
    assert digests(again) == digests(start.first)


def test_a_branch_says_where_it_began_and_holds_everything_before(start: Start) -> None:
    run, handoff = read_run(start.first), start.handoff
    assert run.run["checkpoint"] == handoff.digest and run.run["handoff"] == handoff.world.tick
    assert (handoff.world.tick > 0) == bool(handoff.steps) == (handoff.prefix is not None)
    opened = [event for event in run.lines("events.jsonl") if event["event"] == "Opened"]
    later = [event for event in opened if event["tick"] >= handoff.world.tick]
    assert later, "the first choice after the handoff is an opportunity of this branch"
    assert later[0]["tick"] == handoff.world.tick and later[0]["physical"]
    if handoff.prefix is None:
        assert len(later) == len(opened)
        return
    assert len(opened) > len(later)
    prefix = read_run(handoff.prefix)
    for name in ("events.jsonl", "observations.jsonl", "actions.jsonl"):
        assert run.lines(name)[: len(prefix.lines(name))] == prefix.lines(name)
    assert not (handoff.prefix / "scores.json").exists(), "a prefix is no attempt"


def test_the_replay_of_a_branch_reproduces_its_scores(start: Start) -> None:
    assert audit(start.first).difference is None


def test_a_rebuilt_referee_is_the_one_that_lived_through_it(start: Start) -> None:
    bench, handoff = start.bench, start.handoff
    system = bench.system(start.plan, handoff.seeds)
    system.close()
    rebuilt = referee_at(handoff, bench.contract, bench.world.channels)
    if handoff.prefix is None:
        lived = bench.prepare(handoff.instance, handoff.seeds, handoff.setup).referee
        assert rebuilt.state == lived.state and rebuilt.history == lived.history
    else:
        recorded = (handoff.prefix / "events.jsonl").read_text().splitlines()
        told = [json.loads(entry) for entry in recorded]
        ours = [json.loads(line({"event": type(event).__name__})) for event in rebuilt.history]
        assert [entry["event"] for entry in told] == [entry["event"] for entry in ours]
        assert [entry["tick"] for entry in told] == [event.tick for event in rebuilt.history]
    rebuilt.deliver(len(handoff.deliveries) + 1, handoff.world.tick)
    opened = rebuilt.history[-1]
    assert isinstance(opened, Opened), "new evidence waits for the first delivery of a branch"
    legal = bench.contract.legal(rebuilt.state)
    assert legal == set(opened.legal) and all(operation.kind not in WORDLESS for operation in legal)


def _changed_array(path: Path) -> None:
    with np.load(path / STATE) as arrays:
        found = {name: arrays[name].copy() for name in arrays.files}
    found["state" if "state" in found else "history0"][3] += 1e-9
    with (path / STATE).open("wb") as file:
        np.savez(file, **found)


def _changed_cell(path: Path) -> None:
    with np.load(path / STATE) as arrays:
        found = {name: arrays[name].copy() for name in arrays.files}
    found["command" if "command" in found else "cell0"][0] += 1e-9
    with (path / STATE).open("wb") as file:
        np.savez(file, **found)


def _flipped_byte(path: Path) -> None:
    data = bytearray((path / STATE).read_bytes())
    data[len(data) // 2] ^= 0xFF
    (path / STATE).write_bytes(bytes(data))


def _truncated(path: Path) -> None:
    data = (path / STATE).read_bytes()
    (path / STATE).write_bytes(data[: len(data) // 2])


def _fact(name: str, value: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        facts = json.loads((path / FACTS).read_text())
        assert facts[name] != value
        (path / FACTS).write_text(json.dumps({**facts, name: value}))

    return change


def _changed_liquid(path: Path) -> None:
    facts = json.loads((path / FACTS).read_text())
    if "fast" not in facts:
        pytest.skip("no liquids here")
    facts["fast"][Fast._fields.index("plumbing")]["splashed"] += 1e-9
    (path / FACTS).write_text(json.dumps(facts))


def _changed_stream(path: Path) -> None:
    facts = json.loads((path / FACTS).read_text())
    if "fast" not in facts:
        pytest.skip("no chance here")
    facts["fast"][Fast._fields.index("stream")][0] += 1
    (path / FACTS).write_text(json.dumps(facts))


def _forgotten_operation(path: Path) -> None:
    facts = json.loads((path / FACTS).read_text())
    if "lent" not in facts:
        pytest.skip("no operation was carried out before")
    facts["lent"].pop()
    (path / FACTS).write_text(json.dumps(facts))


def _changed_measurement(path: Path) -> None:
    data = bytearray((path / MEASUREMENTS).read_bytes())
    data[-9] ^= 0x01
    (path / MEASUREMENTS).write_bytes(bytes(data))


@pytest.mark.parametrize(
    "tamper",
    [
        _changed_array,
        _changed_cell,
        _flipped_byte,
        _truncated,
        _fact("tick", 7),
        _fact("generation", 9),
        _fact("deliveries", [[1, 0], [2, 0], [3, 0]]),
        _fact("digest", "0" * 64),
        _fact("model", "another"),
        _fact("steps", 12345),
        _fact("prefix", "elsewhere"),
        _fact("told", "0" * 64),
        _changed_measurement,
        _changed_liquid,
        _changed_stream,
        _forgotten_operation,
    ],
    ids=[
        *("state", "command", "flipped byte", "truncated", "tick", "generation", "deliveries", "digest", "model"),
        *("steps", "prefix", "told", "measurements", "liquid", "stream", "lent"),
    ],
)
def test_a_checkpoint_that_was_changed_is_refused(start: Start, tamper: Callable[[Path], None], tmp_path: Path) -> None:
    copy = tmp_path / "checkpoint"
    shutil.copytree(start.stored, copy)
    tamper(copy)
    with pytest.raises(PlanError, match="delete the folder to prepare it again") as refused:
        restored(start, stored=copy)
    assert "\n" not in str(refused.value)


def _rewritten(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change the first line of a JSONL file in a folder."""

    def rewrite(path: Path) -> None:
        first, *rest = (path / name).read_text().splitlines()
        entry = json.loads(first)
        change(entry)
        assert line(entry) != first
        (path / name).write_text("".join(f"{text}\n" for text in (line(entry), *rest)))

    return rewrite


TOLD_OTHERWISE = {
    "what was shown": _rewritten("observations.jsonl", lambda entry: entry.update(sha256="0" * 64)),
    "when it was drawn": _rewritten("observations.jsonl", lambda entry: entry["frames"].append({"camera": "above"})),
    "what was done": _rewritten("actions.jsonl", lambda entry: entry.update(clipped=3)),
    "what happened": _rewritten("events.jsonl", lambda entry: entry.update(tick=entry["tick"] - 1)),
}


@pytest.mark.parametrize("change", TOLD_OTHERWISE.values(), ids=TOLD_OTHERWISE.keys())
def test_a_prefix_that_was_changed_is_refused_and_the_audit_of_a_branch_finds_it(
    start: Start, change: Callable[[Path], None], tmp_path: Path
) -> None:
    if start.handoff.prefix is None:
        pytest.skip("this start has no prefix")
    where = tmp_path / "start"
    shutil.copytree(start.stored, where / "checkpoint")
    shutil.copytree(start.first, where / "base" / "attempt-1")
    restored(start, stored=where / "checkpoint")
    assert audit(where / "base" / "attempt-1").difference is None
    change(where / "checkpoint" / "prefix")
    with pytest.raises(PlanError, match="does not match its digest"):
        restored(start, stored=where / "checkpoint")
    with pytest.raises(PlanError, match="does not match its digest"):
        confirm(replace(start.handoff, prefix=where / "checkpoint" / "prefix"), where / "checkpoint")
    said = audit(where / "base" / "attempt-1").difference
    assert said == "The records of the prefix in checkpoint do not have the digest in checkpoint.json."


def test_a_branch_that_says_it_was_shown_something_else_in_the_prefix_is_found(start: Start, tmp_path: Path) -> None:
    if start.handoff.prefix is None:
        pytest.skip("this start has no prefix")
    shutil.copytree(start.stored, tmp_path / "checkpoint")
    branch_ = Path(shutil.copytree(start.first, tmp_path / "base" / "attempt-1"))
    TOLD_OTHERWISE["what was shown"](branch_)
    assert audit(branch_).difference == "observations.jsonl line 1 is not what the prefix of its checkpoint holds."


@pytest.mark.parametrize("name", ["digest", "tick", "measured", "told"])
def test_a_branch_beside_another_checkpoint_is_found(start: Start, name: str, tmp_path: Path) -> None:
    shutil.copytree(start.stored, tmp_path / "checkpoint")
    branch_ = Path(shutil.copytree(start.first, tmp_path / "base" / "attempt-1"))
    _fact(name, 7 if name == "tick" else "0" * 64)(tmp_path / "checkpoint")
    assert "checkpoint.json" in str(audit(branch_).difference)


def test_wall_time_is_not_part_of_what_a_prefix_told(start: Start, tmp_path: Path) -> None:
    if start.handoff.prefix is None:
        assert told(start.handoff.prefix) == ""
        return
    prefix = Path(shutil.copytree(start.handoff.prefix, tmp_path / "prefix"))
    _rewritten("actions.jsonl", lambda entry: entry.update(seconds=entry["seconds"] + 1))(prefix)
    assert told(prefix) == told(start.handoff.prefix)


def test_a_checkpoint_of_another_start_is_not_this_one(start: Start) -> None:
    other = reach(start.bench, replace(start.plan, seed=3), 1, 0, start.stored.parent / "unused")
    assert other.digest != start.handoff.digest


def test_what_was_delivered_belongs_to_the_start_even_if_every_pose_coincides(start: Start) -> None:
    """Paper section 6.1: a failed attempt and an untouched bench are different evidence."""
    handoff = start.handoff
    extended = (*handoff.deliveries, (len(handoff.deliveries) + 1, handoff.world.tick))
    assert replace(handoff, deliveries=extended).digest != handoff.digest


def test_a_prefix_that_the_executor_does_not_complete_is_a_preparation_failure(tmp_path: Path) -> None:
    bench = Laboratory("weighing-basic")
    try:
        plan = Plan("weighing-basic", "expert", 4, 2, budget=60)
        with pytest.raises(SetupError, match="before the handoff"):
            reach(bench, plan, 0, 2, tmp_path / "prefix")
        assert not (tmp_path / "prefix" / "scores.json").exists()
    finally:
        bench.world.close()


def test_a_start_after_a_failed_attempt_is_other_evidence_than_an_untouched_one() -> None:
    bench = Laboratory("centrifuge-basic")
    try:
        contract, found = bench.contract, []
        for index in (0, 1):
            plan = Plan("centrifuge-basic", "expert", 24, 2, instances="recovery")
            found.append(reach(bench, plan, index, 0, Path("unused")))
        assert found[0].seeds == found[1].seeds and found[0].digest != found[1].digest
        legal = [contract.legal(referee_at(one, contract, bench.world.channels).state) for one in found]
        assert not legal[0] & legal[1]
    finally:
        bench.world.close()
