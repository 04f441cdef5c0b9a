"""The agent at its interfaces: what it says, what it takes, and that it is not evaluated on what it learned from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labevolver.agent import Agent
from labevolver.bank import Bank
from labevolver.diagnosed import SITES, Interfaces, stated, told
from labevolver.experience import Source
from labevolver.experiments.diagnosis import BANK, PLAN, Experienced, InnerOnly, instances
from labevolver.maintain import Finished
from labevolver.observe.detector import NoDetector
from labevolver.observe.observer import Observer
from labference.bench.diagnosis import run
from labference.bench.laboratory import Laboratory
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.score.diagnosis import read_diagnosis
from labference.tasks import contract_digest, find_task
from labference.truth.diagnosis import Registration, register, written
from labference.truth.draw import draw, lay_out
from labference.wire import Assist, Fact, Observation, Refusal


def registered(**options: object) -> Registration:
    contract = find_task("ph")
    values = {"instances": "paper", "starts": 1, "operations": 4, "fidelity": "fast", **options}
    return register(contract, contract_digest(contract), task="ph", **values)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def first() -> Observation:
    bench = Laboratory("ph", fidelity="fast")
    instance, seeds = draw(bench.contract, 0, 0)
    bench.prepare(instance, seeds, lay_out(bench.contract, instance, seeds))
    return Observation(1, bench.contract.goal(instance), bench.world.sense(readings=True))


def test_it_states_what_it_believes_and_nothing_else(first: Observation) -> None:
    belief = Observer().initial(first)
    facts = {fact.name: fact.value for fact in stated(belief)}
    assert facts == {"hand": "empty", "balance": belief.number("beaker", "shown_g"), "mixed": True, "rinsed": True}


class Looks(NoDetector):
    """A detector that asks for a camera."""

    cameras = ("front",)


def test_an_agent_that_looks_keeps_its_cameras_at_its_interfaces() -> None:
    operator = InnerOnly().operator
    alone, observed = Agent(operator, detector=Looks()).open(), Interfaces(operator, detector=Looks()).open()
    assert (observed.cameras, observed.depth, observed.name) == (alone.cameras, True, alone.name)
    assert observed.sites == SITES and observed.witnesses and not alone.sites


def test_given_facts_take_the_place_of_its_own_and_what_is_not_given_no_longer_counts(first: Observation) -> None:
    belief = Observer().initial(first)
    given = (
        Fact("hand", "probe"),
        Fact("mixed", False),
        Fact("rinsed", False),
        Fact("pH", 5.5),
        Fact("EC", 300.0),
    )
    replaced = told(belief, Assist("semantic", "replace", facts=given))
    assert {fact.name: fact.value for fact in stated(replaced)} == {fact.name: fact.value for fact in given}
    added = told(belief, Assist("semantic", "assist", facts=given))
    assert {fact.name for fact in stated(added)} == {"hand", "balance", "mixed", "rinsed", "pH", "EC"}
    assert told(belief, None) is belief
    own = tuple(stated(belief))
    assert tuple(stated(told(belief, Assist("semantic", "replace", facts=own)))) == own


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    one = registered(budget=700, branches=("", "semantic:replace", "decision:replace", "skill:replace"))
    out = tmp_path_factory.mktemp("diagnosed") / "out"
    found = list(run(one, "labevolver.experiments.diagnosis:InnerOnly", out))
    assert [entry.status for entry in found] == ["scored"] * 4, found
    return out


def test_it_takes_over_after_a_reading_and_chooses_from_it(diagnosed: Path) -> None:
    diagnosis = read_diagnosis(diagnosed)
    for support in ("", "semantic:replace", "decision:replace"):
        (branch,) = diagnosis.of(support)
        assert branch.outcome is not None and branch.outcome.choice and branch.outcome.subgoal
        assert branch.path is not None and audit(branch.path).difference is None
        said = branch.first("semantic")
        assert said is not None and {"pH", "EC"} <= {fact["name"] for fact in said["said"]}


def test_where_support_says_what_it_would_have_done_it_does_the_same(diagnosed: Path) -> None:
    told_ = [
        (read_run(diagnosed / "start-0000" / name / "attempt-1").path / "measurements.bin").read_bytes()
        for name in ("base", "decision-replace", "semantic-replace", "skill-replace")
    ]
    assert told_[0] == told_[1]
    assert told_[0] != told_[3], "the reference pours something else"


def learned(path: Path, *names: str) -> Path:
    with Bank(path) as bank:
        for name in names:
            bank.learn(Finished(name, True, Source(instances=(name,))), ())
    return path


def test_a_bank_that_has_learned_on_a_start_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = registered(starts=3)
    assert instances(one) == {"ph:1:0", "ph:1:1", "ph:1:2"}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(written(one)))
    monkeypatch.setenv(PLAN, str(plan))
    monkeypatch.setenv(BANK, str(learned(tmp_path / "seen.db", "ph:1:1", "ph:0:1")))
    with pytest.raises(Refusal, match="ph:1:1"):
        Experienced()
    monkeypatch.setenv(BANK, str(learned(tmp_path / "other.db", "ph:0:1")))
    found = Experienced().open()
    assert found.sites == InnerOnly().open().sites == ("semantic", "decision", "skill") and found.witnesses


@pytest.mark.parametrize("missing", [BANK, PLAN])
def test_what_experience_needs_is_named_in_one_sentence(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(written(registered())))
    monkeypatch.setenv(PLAN, str(plan))
    monkeypatch.setenv(BANK, str(learned(tmp_path / "bank.db", "ph:0:0")))
    monkeypatch.delenv(missing)
    with pytest.raises(Refusal, match=f"{missing} names no file; .* would work") as refused:
        Experienced()
    assert "\n" not in str(refused.value)
    monkeypatch.setenv(missing, str(tmp_path / "nowhere"))
    with pytest.raises(Refusal, match="nowhere"):
        Experienced()
