"""Diagnosis of systems that let the bench carry out their operations: supports, receipts, branches and verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labference.bench.diagnosis import remaining, run
from labference.bench.laboratory import Laboratory, Unsupported
from labference.bench.plan import Plan
from labference.policies.damaged_wet import (
    HASTY_S,
    HasAHeavyHand,
    MeasuresInHaste,
    MisreadsPH,
    NeverTares,
    SeesNothingOnThePan,
    TakesAcidFirst,
)
from labference.policies.lent import Hand, Lent, work
from labference.policies.pouring_pd import Pouring
from labference.policies.titrating import Titrating, Wanted
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.score.diagnosis import read_diagnosis
from labference.score.finding import findings, sentences
from labference.score.interfaces import interface_tests
from labference.score.lent import Carried, carried, dose, firsts, ratios
from labference.tasks import all_tasks, contract_digest, find_task
from labference.truth.contract import TaskContract
from labference.truth.diagnosis import LENT_BRANCHES, Registration, register
from labference.truth.draw import draw
from labference.truth.identity import PlanError
from labference.truth.support import SupportError, check
from labference.wire import (
    Act,
    Assist,
    Capabilities,
    Execute,
    Fact,
    Goal,
    Observation,
    Operation,
    Parameter,
    Perform,
    Reading,
    Report,
    RobotState,
    Senses,
    StateReport,
    Stop,
)

WET = {name: task for name, task in all_tasks().items() if task.wetware().vessels}
every_task = pytest.mark.parametrize("contract", WET.values(), ids=WET.keys())
Contract = TaskContract[Any, Any]
POUR = Operation("pour", "water", "beaker")


def registered(task: str, **options: Any) -> Registration:
    contract = find_task(task)
    return register(contract, contract_digest(contract), task=task, **{"fidelity": "fast", "starts": 2, **options})


# --- what a task certifies, and what may be given


@every_task
def test_facts_are_what_was_shown_and_confirmed(contract: Contract) -> None:
    names = {"hand", "balance", "mixed", "rinsed", "zeroed", "pH", "EC"}
    for index in range(8):
        instance, _ = draw(contract, 1, index)
        goal = contract.goal(instance)
        for state in (contract.start(instance), contract.scored(instance)):
            facts = contract.facts(state, ())
            assert {fact.name for fact in facts} <= names and len({fact.name for fact in facts}) == len(facts)
            words = [fact.value for fact in facts if isinstance(fact.value, str)]
            assert set(words) <= {*goal.items, "empty"}
            hidden = [value for value in vars_of(instance) if isinstance(value, float)]
            shown = [fact.value for fact in facts if type(fact.value) is float]
            assert not set(hidden) & set(shown) - {0.0}
            check(Assist("semantic", "replace", facts=facts), contract, state, (), ())
            with pytest.raises(SupportError):
                check(Assist("semantic", "replace", facts=(*facts, Fact("strength", 0.01))), contract, state, (), ())


def vars_of(instance: Any) -> list[Any]:
    return [getattr(instance, name) for name in instance.__dataclass_fields__]


@every_task
def test_every_quantity_that_an_operation_aims_at_has_a_margin(contract: Contract) -> None:
    instance, _ = draw(contract, 1, 0)
    state = contract.scored(instance)
    for tube in contract.goal(instance).items[:1]:
        operation = Operation("pour", tube, "beaker")
        aimed = contract.aim(replace(state, shown=0.0), operation)
        assert aimed and set(aimed) <= set(contract.margin(state, operation))


def test_a_registration_of_lent_hands_has_no_branch_for_geometry_and_names_its_laboratory() -> None:
    one = registered("pouring-water")
    assert one.branches == LENT_BRANCHES and not any("geometry" in branch for branch in one.branches)
    assert one.sha256 != replace(one, fidelity="physics").sha256
    with pytest.raises(PlanError, match="physics would work"):
        registered("weighing-basic")


# --- the frame in which parts work


def shown(number: int = 1, assists: tuple[Assist, ...] = (), *, opening: float = 0.08, **ports: float) -> Observation:
    robot = RobotState([], [], opening, [], [])  # type: ignore[arg-type]  # never looked at
    readings = tuple(Reading(name.replace("_", " "), value, "", True, "ok", 0.0) for name, value in ports.items())
    return Observation(number, Goal("", (), (), ()), Senses(float(number), robot, (), readings), assists)


def converse(parts: Any, acts: int, answer: Callable[[Act], tuple[Assist, ...]], **ports: float) -> list[Act]:
    """Return the first acts of parts whose every act is answered with support."""
    script, said = work(parts, shown(**ports)), []
    act = next(script)
    for number in range(acts):
        said.append(act)
        if isinstance(act, Stop):
            break
        act = script.send(shown(number + 2, answer(act), **ports))
    return said


def nothing(act: Act) -> tuple[Assist, ...]:
    return ()


OTHER = Operation("tare", "beaker", "balance")


def test_without_support_the_parts_use_what_the_others_say() -> None:
    state, decision, skill, done = converse(Pouring("water", "beaker", 20.0, 0.25), 4, nothing, balance=0.0)
    assert isinstance(state, StateReport) and Fact("balance", 0.0) in state.facts
    assert decision == Report(Operation("pick", "water", "rack"))
    assert skill == Execute(Operation("pick", "water", "rack")) and done == Perform(Operation("pick", "water", "rack"))


@pytest.mark.parametrize("scope", ["semantic", "decision", "skill"])
def test_what_comes_back_is_used_at_its_own_interface(scope: str) -> None:
    site = {"semantic": StateReport, "decision": Report, "skill": Execute}[scope]

    def answer(act: Act) -> tuple[Assist, ...]:
        if type(act) is not site:
            return ()
        facts = (Fact("hand", "empty"), Fact("balance", 12.0), Fact("zeroed", False))
        given = {
            "semantic": Assist("semantic", "replace", facts=facts),
            "decision": Assist("decision", "replace", operation=OTHER),
            "skill": Assist("skill", "replace", operation=OTHER),
        }
        return (given[scope],)

    said = converse(Pouring("water", "beaker", 20.0, 0.25), 5, answer, balance=0.0)
    kinds = [type(act) for act in said]
    performed = [act.operation for act in said if isinstance(act, Perform)]
    if scope == "skill":
        assert Perform not in kinds and kinds[3] is StateReport, "it was carried out already"
    else:
        assert performed == [OTHER]
        assert (said[1] == Report(OTHER)) == (scope == "semantic")


def test_a_dose_that_somebody_else_measured_out_is_read_from_the_balance() -> None:
    parts = Titrating(Wanted(5.0, 0.2))
    parts.done(Operation("measure", "probe", "beaker"), None)
    facts = {
        fact.name: fact.value for fact in parts.look(shown(balance=60.0, meter_pH=7.7, meter_EC=300.0, meter_T=25.0))
    }
    assert parts.decide(facts) == Operation("rinse_probe", "probe", "rinse") or facts["hand"] == "empty"
    parts.done(Operation("pour", "acid", "beaker"), None)
    parts.done(Operation("stir", "rod", "beaker"), {})
    parts.done(Operation("measure", "probe", "beaker"), {})
    later = {
        fact.name: fact.value for fact in parts.look(shown(balance=64.0, meter_pH=6.7, meter_EC=320.0, meter_T=25.0))
    }
    parts.decide(later)
    known = parts.known["acid"]
    assert (known.before, known.grams, known.after) == (7.7, 4.0, 6.7)


def test_what_the_meter_shows_in_the_rinse_beaker_is_no_reading() -> None:
    parts = Titrating(Wanted(5.0, 0.2))
    parts.done(Operation("measure", "probe", "beaker"), {})
    parts.look(shown(balance=60.0, meter_pH=7.7, meter_EC=300.0, meter_T=25.0))
    parts.done(Operation("rinse_probe", "probe", "rinse"), {})
    facts = parts.look(shown(balance=60.0, meter_pH=6.9, meter_EC=2.0, meter_T=25.0))
    assert Fact("pH", 7.7) in facts and Fact("rinsed", True) in facts


def test_an_opening_tells_something_after_a_grasp_and_nothing_after_a_release() -> None:
    """Hands that open no further than they need to leave a tube standing, and are empty."""
    hand, close, wide = Hand(), shown(opening=0.03), shown()
    assert hand.facts(close) == () and hand.facts(wide) == (Fact("hand", "empty"),)
    hand.took(Operation("pick", "acid", "rack"))
    assert hand.facts(close) == (Fact("hand", "acid"),) and hand.facts(wide) == (Fact("hand", "empty"),)
    for done in (Operation("pour", "acid", "beaker"), Operation("stir", "rod", "beaker")):
        hand.took(done)
        assert hand.facts(close) == (Fact("hand", "acid"),)
    hand.took(Operation("place", "acid", "rack"))
    assert hand.facts(close) == (Fact("hand", "empty"),)


# --- damaged on purpose: each is the sound one but for one part


def test_each_damaged_pourer_differs_in_one_part() -> None:
    def parts(kind: type[Pouring]) -> Pouring:
        return kind("water", "beaker", 20.0, 0.25)

    begun = shown(balance=12.0)
    facts = {fact.name: fact.value for fact in parts(Pouring).look(begun)}
    assert parts(SeesNothingOnThePan).look(begun) != parts(Pouring).look(begun)
    assert parts(NeverTares).look(begun) == parts(HasAHeavyHand).look(begun) == parts(Pouring).look(begun)
    assert parts(NeverTares).decide(facts).kind == "pick"
    for kind in (Pouring, SeesNothingOnThePan, HasAHeavyHand):
        assert parts(kind).decide(facts) == OTHER
    sound = parts(Pouring).numbers(facts, POUR)
    assert parts(SeesNothingOnThePan).numbers(facts, POUR) == parts(NeverTares).numbers(facts, POUR) == sound
    assert parts(HasAHeavyHand).numbers(facts, POUR) == sound | {"amount_g": 22.0}


def test_each_damaged_titrator_differs_in_one_part() -> None:
    def parts(kind: type[Titrating]) -> Titrating:
        made = kind(Wanted(6.0, 0.2))
        made.done(Operation("measure", "probe", "beaker"), {})
        return made

    sour = shown(balance=60.0, meter_pH=4.1, meter_EC=290.0, meter_T=25.0)
    facts = {fact.name: fact.value for fact in parts(Titrating).look(sour)}
    assert parts(TakesAcidFirst).look(sour) == parts(MeasuresInHaste).look(sour) == parts(Titrating).look(sour)
    assert Fact("pH", pytest.approx(1.1)) in parts(MisreadsPH).look(sour)
    assert [parts(kind).choose(facts) for kind in (Titrating, MisreadsPH, TakesAcidFirst)] == ["base", "base", "acid"]
    dip = Operation("measure", "probe", "beaker")
    assert parts(MeasuresInHaste).numbers(facts, dip) == {"seconds": HASTY_S} != parts(Titrating).numbers(facts, dip)


# --- in the laboratory


class Blunt(Lent):
    """Pours once without a word at any interface, as a system does that knows of none."""

    name, version = "blunt", "1"

    def open(self) -> Capabilities:
        return Capabilities("blunt", "1", readings=True, performs=True)

    def assemble(self) -> Any:
        return None

    def work(self, observation: Observation) -> Iterator[Act]:  # type: ignore[override]
        yield Perform(Operation("pick", "water", "rack"))
        yield Perform(POUR, (Parameter("amount_g", 3.0),))
        yield Perform(Operation("place", "water", "rack"))


@pytest.fixture(scope="module")
def blunt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    one = registered("pouring-water", instances="figure-6", starts=2, budget=2400)
    out = tmp_path_factory.mktemp("blunt") / "out"
    found = list(run(one, "test_lent:Blunt", out))
    expected = {"": "scored", "skill:replace": "scored"}
    assert all(entry.status == expected.get(entry.branch, "unsupported") for entry in found), found
    assert not remaining(one, out)
    return out


def test_a_system_without_interfaces_is_supported_where_it_asks_the_bench_to_carry_something_out(blunt: Path) -> None:
    base, given = (read_run(blunt / "start-0000" / name / "attempt-1") for name in ("base", "skill-replace"))
    for one, amount, reached in ((base, 3.0, False), (given, 10.0, True)):
        assert audit(one.path).difference is None
        poured = next(
            entry for entry in one.lines("actions.jsonl") if entry["operation"] and entry["operation"]["kind"] == "pour"
        )
        assert {each["name"]: each["value"] for each in poured["content"]}["amount_g"] == pytest.approx(amount)
        said = next(e for e in one.lines("interfaces.jsonl") if e["said"] and e["said"]["kind"] == "pour")
        assert {each["name"]: each["value"] for each in said["stated"]}["amount_g"] == 3.0
        assert {each["name"]: each["value"] for each in said["reference"]}["amount_g"] == pytest.approx(10.0)
        (effect,) = [e["effect"] for e in one.lines("interfaces.jsonl") if e["effect"]]
        assert (abs(effect["value"] - effect["aim"]) <= effect["margin"]) == reached and effect["quantity"] == "grams"
        assert (one.scores or {})["verdict"]["valid"] == reached
        assert not any("skill" in str(entry.get("assists")) for entry in one.lines("observations.jsonl"))


def test_without_a_decision_interface_execution_is_tested_over_what_was_chosen_rightly(blunt: Path) -> None:
    tests = interface_tests(read_diagnosis(blunt))
    verdicts = {test.interface: test.verdict for test in tests.tests}
    assert verdicts["state"] == verdicts["decision"] == "unsupported" and verdicts["geometry"] == "not applicable"
    assert tests.of("skill").source == "" and tests.of("skill").passed.count == 0
    assert tests.skill is not None and tests.skill.kinds["pick"].count == 2 and tests.skill.kinds["pour"].count == 0
    assert tests.skill.doses is not None and tests.skill.doses.median == pytest.approx((0.3 + 0.15) / 2)


def test_geometry_of_lent_hands_is_refused_in_one_sentence() -> None:
    bench = Laboratory("pouring-water", fidelity="fast")
    plan = Plan("pouring-water", "best_pd", 1, fidelity="fast", support="geometry:replace")
    system = bench.system(plan, draw(bench.contract, 0, 0)[1])
    with pytest.raises(Unsupported, match="no geometry to support; semantic"):
        bench.negotiate(plan, system)
    system.close()


@pytest.mark.parametrize(
    ("policy", "damaged"),
    [("best_pd", ()), ("untared", ("state",)), ("straight", ("decision",)), ("heavy_hand", ("skill",))],
)
def test_the_diagnosis_names_the_damage_and_what_helps(policy: str, damaged: tuple[str, ...], tmp_path: Path) -> None:
    one = registered("pouring-water", instances="twins", budget=2400)
    results = list(run(one, policy, tmp_path / "out"))
    assert all(entry.status == "scored" for entry in results), results
    assert all(audit(entry.path).difference is None for entry in results[:5])
    found = findings(read_diagnosis(tmp_path / "out"))
    counts = {test.interface: test.passed.count for test in found.tests.tests if test.applicable}
    for interface, count in counts.items():
        assert (count <= 1) if interface in damaged else (count == 2), counts
    helps = {"state": "semantic", "decision": "decision", "skill": "skill"}
    for support in found.supports:
        gained = next(gain.value for gain in support.gains if gain.outcome == "completion")
        repaired = any(f"{helps[name]}:replace" in support.support for name in damaged)
        decided = damaged == ("state",) and "decision" in support.support
        assert gained is not None and (gained > 0) == (repaired or decided), support
    assert not any("geometry" in said for said in sentences(found))


def test_a_start_after_the_first_reading_is_shown_to_a_system_that_remembers(tmp_path: Path) -> None:
    one = registered("ph", instances="twins", operations=4, starts=2, budget=300, branches=("", "decision:replace"))
    assert [pair.kind for pair in one.pairs] == ["state"]
    results = list(run(one, "secant", tmp_path / "out"))
    assert [entry.status for entry in results] == ["scored"] * 4
    assert all(audit(entry.path).difference is None for entry in results)
    diagnosis = read_diagnosis(tmp_path / "out")
    outcomes = [branch.outcome for branch in diagnosis.of("") if branch.outcome is not None]
    assert [outcome.choice for outcome in outcomes] == [True, True], "it read the water in the prefix"
    assert {json.dumps(outcome.chosen) for outcome in outcomes} == {
        json.dumps({"kind": "pick", "item": tube, "place": "rack"}) for tube in ("acid", "base")
    }
    (tmp_path / "out" / "start-0000" / "base" / "attempt-1" / "scores.json").unlink()
    again = list(run(one, "secant", tmp_path / "out"))
    assert [(entry.start, entry.branch, entry.status) for entry in again] == [(0, "", "scored")]
    first, second = (read_run(tmp_path / "out" / "start-0000" / "base" / f"attempt-{n}") for n in (1, 2))
    assert (first.path / "measurements.bin").read_bytes() == (second.path / "measurements.bin").read_bytes()


def test_what_listens_changes_nothing_that_happens(tmp_path: Path) -> None:
    """True compositions are looked up for the receipts; the liquids must not notice."""
    bench = Laboratory("ph", fidelity="fast")
    plan = Plan("ph", "expert", 1, 3, fidelity="fast", budget=6000)
    result = bench.attempt(plan, 0, tmp_path / "told")
    handoff = reach(bench, plan, tmp_path)
    system = bench.system(plan, handoff.seeds)
    bench.negotiate(plan, system)
    bench.branch(plan, 0, handoff, system, tmp_path / "listened")
    system.close()
    listened = read_run(tmp_path / "listened").lines("interfaces.jsonl")
    assert any(entry["effect"] for entry in listened)
    assert (result.path / "measurements.bin").read_bytes() == (tmp_path / "listened" / "measurements.bin").read_bytes()


def reach(bench: Laboratory, plan: Plan, where: Path) -> Any:
    system = bench.system(plan, draw(bench.contract, plan.seed, 0)[1])
    try:
        bench.negotiate(plan, system)
        return bench.handoff(plan, 0, system, 0, where / "prefix")
    finally:
        system.close()


# --- what is counted


def event(name: str, tick: int, **fields: Any) -> dict[str, Any]:
    return {"event": name, "tick": tick, **fields}


PICK = {"kind": "pick", "item": "acid", "place": "rack"}
TWO = {"kind": "pour", "item": "acid", "place": "beaker"}
OFF = {"operation": TWO, "quantity": "ph", "aim": 5.0, "margin": 0.2, "value": 6.9}


def test_only_what_began_after_the_handoff_counts_and_only_if_it_was_the_right_choice() -> None:
    events = [
        event("Performed", 5, operation=PICK),
        event("Finished", 10, operation=PICK, done=True),
        event("Performed", 10, operation=PICK),
        event("Chosen", 10, operation=PICK, correct=True),
        event("Finished", 20, operation=PICK, done=False),
        event("Performed", 20, operation=TWO),
        event("Chosen", 20, operation=PICK, correct=True),
        event("Finished", 40, operation=TWO, done=True),
        event("Performed", 40, operation=PICK),
    ]
    found = carried(events, [{"tick": 40, "effect": OFF}], 10)
    assert [(entry.words, entry.chosen, entry.confirmed, entry.reached) for entry in found] == [
        ("pick", True, False, False),
        ("pour", False, True, False),
    ]
    assert set(firsts(found)) == {"pick"}


def test_the_first_of_each_kind_decides_and_the_worst_tube_where_there_are_several() -> None:
    good, bad = OFF | {"value": 5.1}, OFF
    base = TWO | {"item": "base"}
    done = [Carried(TWO, True, True, good), Carried(TWO, True, True, bad), Carried(base, True, True, bad)]
    assert firsts(done[:2])["pour"].reached and not firsts(done)["pour"].reached
    assert ratios([]) is None and ratios([0.2, 0.3, 0.4]).median == 0.3  # type: ignore[union-attr]


def test_a_dose_is_the_first_amount_stated_over_the_one_needed() -> None:
    def line(kind: str, stated: dict[str, float], right: dict[str, float]) -> dict[str, Any]:
        told = [[{"name": name, "value": value} for name, value in each.items()] for each in (stated, right)]
        return {"scope": "skill", "said": {"kind": kind}, "stated": told[0], "reference": told[1], "effect": None}

    receipts = [
        line("measure", {"seconds": 60.0}, {"seconds": 180.0}),
        {"scope": "skill", "said": None, "stated": [], "reference": None, "effect": OFF},
        line("pour", {"amount_g": 2.0}, {"amount_g": 8.0}),
        line("pour", {"amount_g": 6.0}, {"amount_g": 6.0}),
    ]
    assert dose(receipts) == 0.25 and dose(receipts[:2]) is None
