"""Registration and running of a diagnosis: what is fixed beforehand, what is paired, and that nothing runs twice."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import lab_policies
from conftest import environment
from labference.bench import diagnosis
from labference.bench.diagnosis import BranchResult, register_out, remaining, run, start_folder
from labference.bench.laboratory import Laboratory
from labference.bench.patience import GivenUp
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.tasks import all_tasks, contract_digest, find_task
from labference.truth.contract import TaskContract
from labference.truth.diagnosis import (
    BRANCHES,
    SPLITS,
    Registration,
    branch_folder,
    read,
    register,
    restore,
    written,
)
from labference.truth.draw import TWINS, draw, lay_out
from labference.truth.geometry import Round, Socket, axis_error
from labference.truth.identity import PlanError
from labference.wire import Execute, Operation, ServiceFault, Wait
from labference.world.faults import SetupError

TASKS = all_tasks()
LISTS = [(task, name) for task in TASKS.values() for name in ("", TWINS, *task.lists())]
every_list = pytest.mark.parametrize(
    ("contract", "name"), LISTS, ids=[f"{task.name}-{name or 'strata'}" for task, name in LISTS]
)
Contract = TaskContract[Any, Any]


def registered(task: str = "weighing-basic", **options: Any) -> Registration:
    contract = find_task(task)
    return register(contract, contract_digest(contract), task=task, **{"starts": 4, **options})


# --- registration


@every_list
def test_the_same_registration_has_the_same_digest_and_another_one_another(contract: Contract, name: str) -> None:
    one = registered(contract.name, instances=name)
    assert registered(contract.name, instances=name) == one
    others = [
        registered(contract.name, instances=name, seed=1),
        registered(contract.name, instances=name, starts=5),
        registered(contract.name, instances=name, split="development"),
        registered(contract.name, instances=name, operations=1),
        registered(contract.name, instances=name, budget=77),
        registered(contract.name, instances=name, branches=("", "skill:replace")),
        registered(contract.name, instances=name, policy_seed=1),
        replace(one, contract="another"),
    ]
    assert len({entry.sha256 for entry in (one, *others)}) == len(others) + 1


def test_the_digest_is_the_same_in_another_process(python: Callable[..., Any]) -> None:
    program = "from test_diagnosis import registered; print(registered('weighing-basic', instances='twins').sha256)"
    child = python("-c", program)
    assert child.returncode == 0, child.stderr
    assert child.stdout.split() == [registered("weighing-basic", instances="twins").sha256]


@every_list
def test_a_registration_survives_its_file(contract: Contract, name: str, tmp_path: Path) -> None:
    one = registered(contract.name, instances=name)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(written(one)))
    assert read(path) == one
    assert restore(json.loads(json.dumps(asdict(one)))) == one


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["registration"].update(seed=5),
        lambda record: record["registration"].update(budget=1),
        lambda record: record["registration"]["starts"].pop(),
        lambda record: record["registration"]["pairs"].pop(),
        lambda record: record["registration"]["starts"][0].update(instance="0" * 64),
        lambda record: record["registration"]["branches"].append("skill:replace"),
        lambda record: record.update(sha256="0" * 64),
    ],
)
def test_a_changed_file_is_refused(change: Callable[[Any], object], tmp_path: Path) -> None:
    record = json.loads(json.dumps(written(registered(instances=TWINS, branches=("",)))))
    change(record)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(record))
    with pytest.raises(PlanError, match="was changed after it was registered"):
        read(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"registration": {}}', '{"registration": {"starts": 3}}', "null"]
)
def test_a_file_that_holds_no_registration_is_answered_with_what_writes_one(text: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(PlanError, match="`labference plan` writes one"):
        read(path)
    with pytest.raises(PlanError, match="`labference plan` writes one"):
        read(tmp_path / "missing.json")


@every_list
def test_development_and_held_out_share_no_instance_seed_whatever_their_seeds(contract: Contract, name: str) -> None:
    found: dict[str, set[int]] = {split: set() for split in SPLITS}
    for split in SPLITS:
        for seed in range(12):
            entry = replace(registered(contract.name, starts=1), seed=seed, split=split)
            for index in range(12):
                _, seeds = draw(contract, entry.campaign, index, 0, name)
                found[split] |= {seeds.task_state, seeds.layout, seeds.colour, seeds.motion}
    assert not found["development"] & found["held-out"]
    assert all(len(entry) >= 12 * 4 for entry in found.values())


BEFORE = {("centrifuge-basic", TWINS): 1, ("centrifuge-extended", TWINS): 3, ("ph", TWINS): 4, ("ph-ec", TWINS): 4}
"""Operations before the choice in which twins differ, where that is not the first one."""


@pytest.mark.parametrize("task", ["centrifuge-basic", "centrifuge-extended"])
def test_starts_whose_first_choice_is_the_same_are_no_state_pair(task: str) -> None:
    assert registered(task, instances=TWINS, starts=30).pairs == ()


@every_list
def test_pairs_are_what_their_kind_says(contract: Contract, name: str) -> None:
    one = registered(contract.name, instances=name, starts=30, operations=BEFORE.get((contract.name, name), 0))
    drawn = [draw(contract, one.campaign, start.index, 0, name) for start in one.starts]
    legal = [contract.legal(contract.scored(instance)) for instance, _ in drawn]
    layouts = [lay_out(contract, instance, seeds) for instance, seeds in drawn]
    used = [number for pair in one.pairs for number in (pair.one, pair.two)]
    assert len(set(used)) == len(used), "no start is in two pairs"
    for pair in one.pairs:
        a, b = pair.one, pair.two
        assert one.starts[a].group == one.starts[b].group and drawn[a][1] == drawn[b][1]
        assert contract.goal(drawn[a][0]) == contract.goal(drawn[b][0])
        if pair.kind == "state":
            assert not legal[a] & legal[b]
            assert layouts[a].fixtures == layouts[b].fixtures
        else:
            assert pair.kind == "geometry" and legal[a] == legal[b]
            assert layouts[a].fixtures != layouts[b].fixtures or layouts[a].after != layouts[b].after
    expected = {"": 0, TWINS: 15, "destination": 15, "recovery": 15, "equivariance": 15}
    assert len(one.pairs) == expected.get(name, 0)
    kinds = {"equivariance": {"geometry"}}.get(name, {"state"})
    assert {pair.kind for pair in one.pairs} <= kinds


@every_list
def test_more_starts_keep_those_that_there_were(contract: Contract, name: str) -> None:
    few, many = (
        registered(contract.name, instances=name, starts=6),
        registered(contract.name, instances=name, starts=30),
    )
    assert many.starts[:6] == few.starts
    assert len({(start.label, start.group) for start in many.starts}) == len(many.starts)
    assert [start.number for start in many.starts] == [start.index for start in many.starts] == list(range(30))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"starts": 0}, "0 starts"),
        ({"starts": -3}, "-3 starts"),
        ({"starts": 10_001}, "10001 starts"),
        ({"split": "test"}, "'test'"),
        ({"split": ""}, "development or held-out"),
        ({"operations": -1}, "-1 operations"),
        ({"seed": -1}, "-1"),
        ({"policy_seed": -1}, "-1"),
        ({"budget": 0}, "0 control steps"),
        ({"budget": -5}, "-5 control steps"),
        ({"branches": ()}, "base"),
        ({"branches": ("decision:replace",)}, "base"),
        ({"branches": ("", "")}, "differ"),
        ({"branches": ("", "skill:assist")}, "skill"),
        ({"branches": ("", "mind:replace")}, "'mind:replace'"),
        ({"branches": ("", "geometry:replace+decision:replace", "decision:replace+geometry:replace")}, "differ"),
        ({"instances": "nonesuch"}, "nonesuch"),
    ],
    ids=str,
)
def test_what_cannot_be_registered_is_answered_in_one_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError) as refused:
        registered(**options)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_every_branch_has_a_folder_of_its_own() -> None:
    names = [branch_folder(branch) for branch in BRANCHES]
    assert len(set(names)) == len(names) and names[0] == "base"
    assert all(name and not set(name) & set(':/\\ "') for name in names)


# --- running


QUICK = ("", "decision:replace", "semantic:assist")
FILES = ("events.jsonl", "observations.jsonl", "measurements.bin", "interfaces.jsonl")


def digests(out: Path) -> dict[str, str]:
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.name in FILES
    }


@pytest.fixture
def speaks() -> Iterator[Callable[..., str]]:
    def says(*acts: object) -> str:
        lab_policies.Answers.says = acts
        return "lab_policies:SpeakingAnswers"

    yield says
    lab_policies.Answers.says = ()


def results(registration: Registration, policy: str, out: Path, workers: int = 1) -> list[BranchResult]:
    return list(run(registration, policy, out, workers))


def test_every_branch_of_a_start_continues_from_its_checkpoint_and_reruns_have_nothing_to_do(
    tmp_path: Path, speaks: Callable[..., str]
) -> None:
    policy = speaks(Wait(0.2))
    one = registered(instances=TWINS, starts=2, branches=QUICK, budget=20)
    out = tmp_path / "out"
    found = results(one, policy, out)
    assert [(entry.start, entry.branch) for entry in found] == [(n, branch) for n in (0, 1) for branch in QUICK]
    assert all(entry.status == "scored" for entry in found), found
    assert len({entry.path for entry in found}) == len(found)
    for number in (0, 1):
        runs = [read_run(entry.path).run for entry in found if entry.start == number]
        assert len({entry["checkpoint"] for entry in runs}) == 1
        assert [entry["identity"]["intervention"] for entry in runs] == ["none", *QUICK[1:]]
        assert {entry["identity"]["instance"] for entry in runs} == {runs[0]["identity"]["instance"]}
    assert all(audit(entry.path).difference is None for entry in found)
    before = digests(out)
    assert not remaining(one, out) and results(one, policy, out) == [] and digests(out) == before


def test_two_workers_leave_the_same_records_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    one = registered(instances=TWINS, starts=2, branches=("", "decision:replace"), budget=20)
    found = [results(one, "lab_policies:SpeakingAnswers", tmp_path / str(n), n) for n in (1, 2)]
    order = [[(entry.start, entry.branch, entry.status) for entry in entries] for entries in found]
    assert order[0] == order[1] and len(order[0]) == 4
    assert digests(tmp_path / "1") == digests(tmp_path / "2")


KILLED = """
import sys
from pathlib import Path
from labference.bench.diagnosis import run
from labference.truth.diagnosis import read
for result in run(read(Path(sys.argv[1])), "lab_policies:SpeakingAnswers", Path(sys.argv[2])):
    print(result.start, result.branch, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a kill without cleaning up")
def test_a_killed_run_goes_on_where_it_was_and_leaves_what_an_undisturbed_one_leaves(tmp_path: Path) -> None:
    one = registered("weighing-extended", starts=2, branches=QUICK, budget=40, operations=1)
    plan, out = tmp_path / "plan.json", tmp_path / "out"
    plan.write_text(json.dumps(written(one)))
    program = [sys.executable, "-c", KILLED, str(plan), str(out)]
    child = subprocess.Popen(program, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    first = start_folder(out, 0) / branch_folder(QUICK[1])
    deadline = time.monotonic() + 60
    while not list(first.rglob("scores.json")) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    done = {path.parent for path in out.rglob("scores.json")}
    left = remaining(one, out)
    assert done and left, "killed in between"
    kept = digests(out)
    found = results(one, "lab_policies:SpeakingAnswers", out)
    assert {(entry.start, entry.branch) for entry in found} == set(left), "nothing is repeated"
    assert all(entry.status == "scored" for entry in found)
    again = digests(out)
    assert all(again[name] == digest for name, digest in kept.items() if (out / name).parent in done)
    whole = tmp_path / "whole"
    results(one, "lab_policies:SpeakingAnswers", whole)
    for start in one.starts:
        for branch in one.branches:
            final = [
                read_run(path.parent).path
                for where in (out, whole)
                for path in (start_folder(where, start.number) / branch_folder(branch)).rglob("scores.json")
            ]
            assert len(final) == 2
            assert len({(path / "events.jsonl").read_bytes() for path in final}) == 1
            assert len({(path / "measurements.bin").read_bytes() for path in final}) == 1


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    one = registered(budget=20)
    register_out(one, "still", tmp_path / "out")
    register_out(one, "still", tmp_path / "out")
    with pytest.raises(PlanError, match="sha256"):
        register_out(registered(budget=21), "still", tmp_path / "out")
    with pytest.raises(PlanError, match="policy"):
        register_out(one, "expert", tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    with pytest.raises(PlanError, match="something else"):
        register_out(one, "still", tmp_path / "full")
    with pytest.raises(PlanError, match="has changed since"):
        register_out(replace(one, contract="old"), "still", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_unsupported_branch_is_a_compatibility_result_and_is_not_tried_again(tmp_path: Path) -> None:
    one = registered(starts=1, branches=("", "decision:replace", "skill:replace"), budget=10)
    found = results(one, "still", tmp_path / "out")
    assert [entry.status for entry in found] == ["scored", "unsupported", "unsupported"]
    assert "no interface for decision:replace" in found[1].sentence
    assert not list((start_folder(tmp_path / "out", 0) / branch_folder("decision:replace")).rglob("scores.json"))
    assert remaining(one, tmp_path / "out") == []


def test_a_preparation_that_fails_stays_unresolved_on_record_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, asked = registered(starts=2, branches=("", "decision:replace"), budget=10), []
    prepare = Laboratory.prepare

    def fails(self: Laboratory, instance: Any, *rest: Any, **options: Any) -> Any:
        asked.append(instance)
        if instance == asked[0]:
            raise SetupError("The jar has tipped over.")
        return prepare(self, instance, *rest, **options)

    policy, out = "lab_policies:SpeakingAnswers", tmp_path / "out"
    monkeypatch.setattr(Laboratory, "prepare", fails)
    found = results(one, policy, out)
    assert [entry.status for entry in found] == ["unresolved"] * 2 + ["scored"] * 2
    assert all("tipped over" in entry.sentence for entry in found[:2])
    assert asked.count(asked[0]) == 2 * diagnosis.TRIES
    assert remaining(one, out) == [(0, ""), (0, "decision:replace")]
    for entry in found[:2]:
        events = read_run(entry.path).lines("events.jsonl")
        assert events[-1]["event"] == "Invalidated" and "tipped over" in str(events[-1]), "the failure is on record"
    monkeypatch.setattr(Laboratory, "prepare", prepare)
    again = results(one, policy, out)
    assert [(entry.start, entry.branch, entry.status) for entry in again] == [
        (0, "", "scored"),
        (0, "decision:replace", "scored"),
    ]
    assert remaining(one, out) == []


def test_a_diagnosis_stops_soon_where_nobody_is(tmp_path: Path) -> None:
    several = registered(starts=4, branches=("",), budget=20)
    with pytest.raises(GivenUp, match="3 times in a row"):
        results(several, "lab_policies:NotThere", tmp_path / "out")
    assert len(remaining(several, tmp_path / "out")) == 4


def test_a_service_that_fails_is_a_validity_event_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_policies.OutOfService, "failures", 1)
    one = registered(starts=1, branches=("",), budget=40)
    (found,) = results(one, "lab_policies:OutOfService", tmp_path / "out")
    assert found.status == "scored"
    monkeypatch.setattr(lab_policies.OutOfService, "failures", 99)
    (found,) = results(one, "lab_policies:OutOfService", tmp_path / "more")
    assert found.status == "unresolved" and "connection" in found.sentence
    assert remaining(one, tmp_path / "more") == [(0, "")]

    def unbuilt(*_: Any) -> Any:
        raise ServiceFault("The model does not answer.")

    monkeypatch.setattr(Laboratory, "system", unbuilt)
    (found,) = results(one, "lab_policies:SpeakingAnswers", tmp_path / "gone")
    assert found.status == "unresolved" and "does not answer" in found.sentence


def test_the_budget_of_a_branch_does_not_shorten_its_prefix(tmp_path: Path) -> None:
    one = registered("weighing-extended", starts=1, branches=("",), budget=15, operations=1)
    (found,) = results(one, "expert", tmp_path / "out")
    assert found.status == "scored", found.sentence
    run_ = read_run(found.path).run
    assert run_["handoff"] > 0
    assert read_run(found.path).scores["reason"] == "budget"  # type: ignore[index]


def test_choices_of_the_prefix_are_not_counted_as_the_tested_systems(tmp_path: Path) -> None:
    one = registered("weighing-extended", starts=1, branches=("",), budget=15, operations=1)
    (found,) = results(one, "still", tmp_path / "out")
    run_ = read_run(found.path)
    assert run_.scores is not None
    handoff, decisions = run_.run["handoff"], run_.scores["verdict"]["decisions"]
    before = [entry for entry in decisions if entry["opened"] < handoff]
    after = [entry for entry in decisions if entry["opened"] >= handoff]
    assert [entry["choice"] is not None for entry in before] == [True]
    assert after and all(entry["choice"] is None for entry in after), "doing nothing is no choice"
    assert run_.scores["steps"] - 15 > 0 and run_.scores["queries"] > 0


class Watching(lab_policies.SpeakingAnswers):
    """Remember what it was shown of a prefix."""

    shown: list[list[tuple[int, int, Operation | None]]] = []  # noqa: RUF012
    wants = replace(lab_policies.SpeakingAnswers.wants, name="watching", witnesses=True, cameras=("front",))

    def reset(self, *arguments: Any) -> None:
        super().reset(*arguments)
        type(self).shown.append([])

    def witness(self, observation: Any, operation: Operation | None) -> None:
        type(self).shown[-1].append((observation.id, len(observation.senses.frames), operation))


class Forgetful(Watching):
    wants = replace(Watching.wants, name="forgetful", witnesses=False)
    shown: list[list[tuple[int, int, Operation | None]]] = []  # noqa: RUF012


def test_a_stateful_system_is_shown_the_same_prefix_in_every_branch_and_a_stateless_one_none(tmp_path: Path) -> None:
    one = registered("weighing-extended", starts=1, branches=("", "decision:replace"), budget=10, operations=1)
    for policy in (Watching, Forgetful):
        policy.shown.clear()
        found = results(one, f"test_diagnosis:{policy.__name__}", tmp_path / policy.__name__)
        assert [entry.status for entry in found] == ["scored", "scored"], found
    import test_diagnosis as seen  # the module that the bench has imported by name

    first, second = (entry for entry in seen.Watching.shown if entry)
    assert first == second
    assert [operation for *_, operation in first if operation is not None], "the operation of the prefix is told"
    assert first[0][:2] == (1, 1) and first[0][2] is None, "the first sight of the bench comes first"
    assert len([operation for *_, operation in first if operation is not None]) == 1
    assert not any(seen.Forgetful.shown)


def tree(path: Path) -> dict[str, str]:
    """Return the digest of every file below `path`."""
    return {
        str(entry.relative_to(path)): hashlib.sha256(entry.read_bytes()).hexdigest()
        for entry in sorted(path.rglob("*"))
        if entry.is_file()
    }


def test_a_stateful_system_goes_on_after_a_kill_from_the_very_checkpoint_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    one = registered("weighing-extended", starts=1, branches=("", "decision:replace"), budget=10, operations=1)
    out, policy = tmp_path / "out", "test_diagnosis:Watching"
    first, second = results(one, policy, out)
    checkpoint = start_folder(out, 0) / "checkpoint"
    stored = tree(checkpoint)
    assert {Path(name).parts[0] for name in stored} == {"checkpoint.json", "state.npz", "measurements.bin", "prefix"}
    shutil.rmtree(second.path)
    (checkpoint / "prefix.draft").mkdir()
    (checkpoint / "prefix.draft" / "run.json").write_text("{}")  # of a run that was killed while it prepared
    (again,) = results(one, policy, out)
    assert again.status == "scored" and again.path == second.path
    assert tree(checkpoint) == stored
    assert len({read_run(entry.path).run["checkpoint"] for entry in (first, again)}) == 1
    assert all(audit(entry.path).difference is None for entry in (first, again))
    shutil.rmtree(again.path)
    facts = json.loads((checkpoint / "checkpoint.json").read_text())
    (checkpoint / "checkpoint.json").write_text(json.dumps(facts | {"told": "0" * 64}))
    (other,) = results(one, policy, out)
    assert other.status == "unresolved" and "differs from the one stored" in other.sentence


def test_a_run_that_was_killed_before_its_checkpoint_was_whole_prepares_it_again(tmp_path: Path) -> None:
    one = registered("weighing-extended", starts=1, branches=("",), budget=10, operations=1)
    (first,) = results(one, "still", tmp_path / "out")
    checkpoint = start_folder(tmp_path / "out", 0) / "checkpoint"
    (checkpoint / "checkpoint.json").unlink()
    (checkpoint / "prefix" / "events.jsonl").write_text("")
    shutil.rmtree(first.path)
    (again,) = results(one, "still", tmp_path / "out")
    assert again.status == "scored" and audit(again.path).difference is None
    assert not list(checkpoint.glob("*draft*")) and (checkpoint / "prefix" / "events.jsonl").read_text()


def test_a_supported_branch_differs_from_the_base_after_the_handoff_only(tmp_path: Path, speaks: Any) -> None:
    contract = find_task("weighing-basic")
    policy = speaks(Execute(Operation("add", "10 g", "pan")))
    one = registered(starts=1, branches=("", "skill:replace"), budget=120)
    base, done = results(one, policy, tmp_path / "out")
    events = [read_run(entry.path).lines("events.jsonl") for entry in (base, done)]
    same = [event for event in events[0] if event["tick"] < 0]
    assert same and events[1][: len(same)] == same
    assert not any(event["event"] == "Grasped" for event in events[0])
    assert any(event["event"] == "Grasped" and event["item"] == "10 g" for event in events[1])
    assert contract.name == one.task


# --- a prefix of operations in the recall task: what was seen before the hood decides


@pytest.fixture(scope="module")
def recalled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Return the attempts of systems that take over after the hood, from the same start."""
    one = registered("recall-extended", starts=1, branches=("",), budget=700, operations=2)
    found = {}
    for policy in ("reader", "planned", "old_position"):
        ended = results(one, policy, tmp_path_factory.mktemp(policy) / "out")
        assert [entry.status for entry in ended] == ["scored"], ended
        found[policy] = [entry.path for entry in ended]
    return found


def test_a_reader_that_was_shown_the_placement_fetches_the_tube_after_the_hood(recalled: dict[str, list[Path]]) -> None:
    for path in recalled["reader"]:
        run_ = read_run(path)
        assert run_.scores is not None and run_.scores["verdict"]["valid"], run_.scores
        chosen = [event for event in run_.lines("events.jsonl") if event["event"] == "Chosen"]
        assert chosen[-1]["operation"]["kind"] == "retrieve" and chosen[-1]["correct"]
        assert chosen[-1]["tick"] >= run_.run["handoff"], "the prefix has placed it, the reader has fetched it"


@pytest.mark.parametrize("policy", ["planned", "old_position"])
def test_systems_that_remember_a_place_in_the_room_go_there_from_the_same_checkpoint(
    recalled: dict[str, list[Path]], policy: str
) -> None:
    for path, same in zip(recalled[policy], recalled["reader"], strict=True):
        run_, reader = read_run(path), read_run(same)
        assert run_.run["checkpoint"] == reader.run["checkpoint"]
        placed = next(event for event in run_.lines("events.jsonl") if event["event"] == "Confirmed")
        assert placed["tick"] < run_.run["handoff"]
        said = next(entry for entry in run_.lines("interfaces.jsonl") if entry["scope"] == "geometry")
        hole = next(target for target in said["said"] if target["name"] != "region")
        contract, one = find_task("recall-extended"), registered("recall-extended")
        instance, seeds = draw(contract, one.campaign, run_.run["identity"]["index"])
        setup = lay_out(contract, instance, seeds)
        before, after = (contract.regions(setup.fixtures | more)[hole["name"]].mouth for more in ({}, setup.after))
        off = [math.dist(hole["position"][:2], mouth[:2]) for mouth in (before, after)]
        assert off[0] < 0.006 < 0.03 < off[1], "where it was before the rack moved"
        assert not run_.scores["verdict"]["valid"]  # type: ignore[index]


def _middles(regions: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Return the middle of each place that can move: mouths of sockets, and round places."""
    mouths = {name: region.mouth for name, region in regions.items() if isinstance(region, Socket)}
    return mouths | {
        name: (*region.centre, region.height) for name, region in regions.items() if isinstance(region, Round)
    }


@pytest.mark.parametrize("task", [name for name, task in TASKS.items() if "equivariance" in task.lists()])
def test_geometric_pairs_move_the_reference_point_and_axis_rigidly_and_keep_the_local_answer(task: str) -> None:
    """Paper section 7.3: p' = R p + d and v' = R v, with what moved the fixture; the legal set stays."""
    contract = find_task(task)
    one = registered(task, instances="equivariance", starts=24)
    pairs = [pair for pair in one.pairs if pair.kind == "geometry"]
    assert len(pairs) == 12
    for pair in pairs:
        scenes, legal, carried = [], [], []
        for number in (pair.one, pair.two):
            instance, seeds = draw(contract, one.campaign, number, 0, "equivariance")
            setup = lay_out(contract, instance, seeds)
            scenes.append(setup.fixtures | {name: setup.after[name] for name in setup.after if name in setup.fixtures})
            legal.append({(entry.kind, entry.place) for entry in contract.legal(contract.scored(instance))})
            carried.append({name: setup.items[name] for name in setup.on_cell})
        assert legal[0] == legal[1], "the same local answer"
        (fixture,) = {name for name in scenes[0] if scenes[0][name] != scenes[1][name]} & {"rotor", "rack", "balance"}
        before, after = (scene[fixture] for scene in scenes)
        turn = after.yaw - before.yaw
        c, s = math.cos(turn), math.sin(turn)
        d = (after.x - (c * before.x - s * before.y), after.y - (s * before.x + c * before.y))
        points = [_middles(contract.regions(scene)) for scene in scenes]
        for which, load in zip(points, carried, strict=True):
            which.update({name: (pose.x, pose.y, pose.z) for name, pose in load.items()})
        assert len(points[0]) >= 2
        for name, (x, y, z) in points[0].items():
            assert points[1][name] == pytest.approx((c * x - s * y + d[0], s * x + c * y + d[1], z), abs=1e-9)
        assert all(carried[1][name].yaw == pytest.approx(carried[0][name].yaw + turn) for name in carried[0])
        axis = (0.0, 0.0, -1.0)  # R turns about the vertical
        assert axis_error((c * axis[0] - s * axis[1], s * axis[0] + c * axis[1], axis[2]), axis) == 0.0
        off = [math.dist(points[0][name], points[1][name]) for name in points[0]]
    assert max(off) > 0.005, "the world position of at least one point differs"
