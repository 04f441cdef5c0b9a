"""Support: what may be given at which interface, that nothing else passes, and that receipts say what was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lab_policies
from conftest import Attempt
from labference.bench.laboratory import Laboratory, Unsupported
from labference.bench.oracle import Oracle
from labference.bench.reference import Reference
from labference.policies.modular import replaced
from labference.records.strict import plain
from labference.score.audit import audit
from labference.tasks import all_tasks, find_task
from labference.truth.contract import TaskContract
from labference.truth.draw import draw
from labference.truth.events import Grasped, Lifted, Released, Settled
from labference.truth.identity import PlanError, Seeds
from labference.truth.support import Intervention, SupportError, check, parse, supplied
from labference.wire import (
    Assist,
    Execute,
    Fact,
    GeometryReport,
    Move,
    Operation,
    Reading,
    Report,
    StateReport,
    Target,
    Wait,
    codec,
)
from labference.wire.support import MODES, SCOPES
from labference.wire.tubes import HOLES

TASKS = {name: task for name, task in all_tasks().items() if name.startswith(("weighing", "centrifuge", "recall"))}
"""Tasks whose operations a modular system carries out itself; on the wet bench the hands are the bench's."""
Contract = TaskContract[Any, Any]
SHOWN = (Reading("balance", 123.4, "g", True, "ok", 0.0),)
DOWN = (0.0, 0.0, -1.0)
every_task = pytest.mark.parametrize("contract", TASKS.values(), ids=TASKS.keys())


def states(contract: Contract, count: int = 12) -> Iterator[tuple[Any, Any]]:
    """Yield instances with states that occur: at the start, at the scored choice, with an item taken or moved."""
    for index in range(count):
        instance, _ = draw(contract, 1, index)
        for state in (contract.start(instance), contract.scored(instance)):
            yield instance, state
            for item, origin in contract.located(state).items():
                taken = contract.update(state, Grasped(1, item, origin, 1))
                yield instance, taken
                lifted = contract.update(taken, Lifted(2, item, 1))
                yield instance, lifted
                place = contract.places[index % len(contract.places)]
                yield instance, contract.update(lifted, Settled(3, item, place, origin, 1))


# --- registration of a condition


@pytest.mark.parametrize("text", ["", *(f"{s}:{m}" for s in SCOPES for m in MODES if (s, m) != ("skill", "assist"))])
def test_a_condition_is_read_from_the_words_it_is_written_in(text: str) -> None:
    assert "+".join(map(str, parse(text))) == text
    assert all(entry.site == (entry.scope if entry.mode == "replace" else "observation") for entry in parse(text))


def test_conditions_do_not_depend_on_the_order_in_which_they_are_written() -> None:
    assert parse("geometry:replace+decision:assist") == parse("decision:assist+geometry:replace")
    assert parse("decision:assist") == (Intervention("decision", "assist"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("decision", "'decision'"),
        ("decision:", "'decision:'"),
        (":replace", "':replace'"),
        ("mind:replace", "'mind:replace'"),
        ("decision:tell", "'decision:tell'"),
        ("decision:replace:replace", "decision:replace:replace"),
        ("Decision:Replace", "Decision:Replace"),
        ("decision:replace geometry:replace", "semantic"),
        ("skill:assist", "skill:replace would work"),
        ("decision:replace+decision:assist", "twice"),
        ("decision:replace+decision:replace", "twice"),
    ],
)
def test_a_condition_that_does_not_exist_is_answered_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(PlanError, match=said) as refused:
        parse(text)
    assert "\n" not in str(refused.value)


operations = st.builds(
    Operation, st.sampled_from(("add", "remove", "pick", "wait")), st.sampled_from("abc"), st.sampled_from("xyz")
)


@given(st.sets(operations, min_size=1))
def test_what_is_supplied_is_one_of_the_legal_operations_and_always_the_same(legal: set[Operation]) -> None:
    found = supplied(legal)
    assert found in legal
    assert supplied(frozenset(legal)) == supplied(sorted(legal, reverse=True)) == found
    assert found.kind == "remove" or not any(operation.kind == "remove" for operation in legal)


@every_task
def test_something_can_be_supplied_in_every_state(contract: Contract) -> None:
    for _, state in states(contract):
        assert supplied(contract.legal(state)) in contract.legal(state)


# --- what a task certifies


@every_task
def test_facts_are_public_names_with_public_words_and_what_a_display_shows(contract: Contract) -> None:
    for instance, state in states(contract):
        goal = contract.goal(instance)
        facts = contract.facts(state, SHOWN)
        words = {*goal.items, *goal.places, *contract.places, "hand", "empty", "tube", "display", "steady"}
        assert len({fact.name for fact in facts}) == len(facts)
        assert facts or contract.evidence(state) is None, "where something is asked, something is certified"
        for fact in facts:
            assert fact.name in words and type(fact.value) in (str, bool, float)
            assert fact.value in words if isinstance(fact.value, str) else True
            assert fact.value == SHOWN[0].value if isinstance(fact.value, float) else True
        silent = contract.facts(state, ())
        assert not any(type(fact.value) is float for fact in silent), "numbers come from instruments alone"


@every_task
def test_facts_do_not_depend_on_what_is_hidden(contract: Contract) -> None:
    """A wanted subset, a bound hole, or what the environment has in mind change nothing that is certified."""
    hidden = {
        "goal": (frozenset({"10 g"}), frozenset({"50 g", "20 g"})),
        "target": (111.0, 222.0),
        "bound": ("A1", "C4"),
        "homes": ((), (("distractor 1", "B2"),)),
        "change": ("ahead", "behind"),
        "pending": ("", "red tube"),
    }
    tried = 0
    for _, state in states(contract):
        for name, values in hidden.items():
            if hasattr(state, name):
                one, two = (contract.facts(replace(state, **{name: value}), SHOWN) for value in values)
                assert one == two, f"{name} shows"
                tried += 1
    assert tried


@every_task
def test_twins_certify_the_same_facts_wherever_they_look_alike(contract: Contract) -> None:
    """What tells twins of a basic centrifuge or rack apart is where a tube is; all others look alike at first."""
    for seed in range(20):
        twins = contract.twins(np.random.default_rng(seed))
        starts = [contract.facts(contract.start(twin), SHOWN) for twin in twins]
        places = [contract.located(contract.start(twin)) for twin in twins]
        assert (starts[0] == starts[1]) == (places[0] == places[1])
        assert contract.candidates() == find_task(contract.name).candidates()
    if contract.name in ("recall-extended", "weighing-basic", "weighing-extended"):
        scored = [contract.facts(contract.scored(twin), SHOWN) for twin in twins]
        assert scored[0] == scored[1], "the same holes are taken, by the sample in one or the other"


def test_which_tube_is_the_sample_is_no_fact_and_no_candidate() -> None:
    contract = find_task("recall-extended")
    for _, state in states(contract):
        names = {fact.name for fact in contract.facts(state, ())}
        assert "tube" not in names and not any(name.startswith("distractor") for name in names)
    assert "tube" not in contract.candidates()


def test_a_tube_that_is_stuck_in_a_hole_or_in_the_hand_is_not_certified_elsewhere() -> None:
    contract = find_task("weighing-basic")
    state = contract.start(draw(contract, 0, 0)[0])
    taken = contract.update(contract.update(state, Grasped(1, "50 g", "table", 1)), Lifted(2, "50 g", 1))
    assert Fact("50 g", "table") not in contract.facts(taken, SHOWN), "it is in the hand"


RECALL = find_task("recall-extended")
PUT = Settled(9, "tube", "unseated", "stand", 1)
"""A tube that was let go in a hole and hangs at its rim, or stands on it."""


def recalled(*events: Any, scored: bool = False) -> dict[str, Any]:
    """Return the facts of a recall after `events`."""
    instance, _ = draw(RECALL, 0, 0)
    state = RECALL.scored(instance) if scored else RECALL.start(instance)
    for event in events:
        state = RECALL.update(state, event)
    return {fact.name: fact.value for fact in RECALL.facts(state, ())}


TAKEN = (Grasped(1, "tube", "stand", 1), Lifted(2, "tube", 1))


def test_no_hole_is_certified_empty_while_a_tube_hangs_unseated_in_one_of_them() -> None:
    """Which hole it hangs in, no predicate says: seated tubes are in theirs, of every other hole nothing is certain."""
    before, unseated = recalled(), recalled(*TAKEN, Released(3, "tube", 1), PUT)
    holes = {name: value for name, value in unseated.items() if name in HOLES}
    assert holes == {name: value for name, value in before.items() if name in HOLES and value == "tube"} and holes
    assert unseated["region"] == "empty" and unseated["hand"] == "empty"
    again = recalled(*TAKEN, Released(3, "tube", 1), PUT, Grasped(11, "tube", "unseated", 2), Lifted(12, "tube", 2))
    assert again["hand"] == "tube" and not any(value == "empty" for name, value in again.items() if name in HOLES)


def test_nothing_is_certified_of_a_tube_between_the_hand_and_its_rest() -> None:
    """It may hang in a hole already; in the hand it is not any more, or not yet."""
    for events in ((TAKEN[0],), (*TAKEN, Released(3, "tube", 1))):
        loose = recalled(*events)
        assert "hand" not in loose and set(loose.values()) == {"tube"}
    held, instance = recalled(*TAKEN), draw(RECALL, 0, 0)[0]
    assert {name for name in HOLES if held[name] == "empty"} == set(HOLES) - set(instance.others)


def test_a_tube_somewhere_else_may_lean_over_the_region_too() -> None:
    lost = recalled(*TAKEN, Released(3, "tube", 1), Settled(9, "tube", "elsewhere", "stand", 1))
    assert "region" not in lost and not any(value == "empty" for name, value in lost.items() if name in HOLES)


def test_a_hole_from_which_a_tube_is_being_lifted_is_neither_taken_nor_empty() -> None:
    hole = RECALL.scored(draw(RECALL, 0, 0)[0]).bound
    lifted = recalled(Grasped(1, "tube", hole, 1), Lifted(2, "tube", 1), scored=True)
    assert hole not in lifted and lifted["hand"] == "tube"
    assert {*lifted} == {*HOLES, "region", "hand"} - {hole}


@every_task
def test_the_geometry_of_an_operation_is_that_of_things_which_a_system_can_name(contract: Contract) -> None:
    for instance, state in states(contract):
        goal = contract.goal(instance)
        for operation in contract.legal(state):
            frames = contract.frames(operation)
            assert set(frames) <= {*goal.items, *goal.places, ""}
            assert operation.kind in ("wait", "stop") or any(frames)
            assert set(frames) <= {operation.item, operation.place, contract.destination(operation)}


# --- the check before delivery


@every_task
def test_support_within_its_scope_passes(contract: Contract) -> None:
    for _, state in states(contract, 4):
        facts = contract.facts(state, SHOWN)
        check(Assist("semantic", "assist", facts=facts), contract, state, SHOWN, ())
        for operation in contract.legal(state):
            check(Assist("decision", "replace", operation=operation), contract, state, SHOWN, ())
        named = contract.candidates()
        targets = tuple(Target(name, (0.0, 0.0, 0.0), DOWN) for name in named)
        check(Assist("geometry", "assist", targets=targets), contract, state, SHOWN, named)


@every_task
def test_support_beyond_its_scope_is_refused(contract: Contract) -> None:
    instance, state = next(states(contract))
    facts, legal = contract.facts(state, SHOWN), contract.legal(state)
    (one, *_), named = sorted(legal), contract.candidates()
    everything = tuple(Target(name, (0.0, 0.0, 0.0), DOWN) for name in named)
    goal = contract.goal(instance)
    wrong = [
        Operation(kind, item, place)
        for kind in goal.kinds
        for item in ("", *goal.items)
        for place in ("", *goal.places)
        if Operation(kind, item, place) not in legal
    ]
    hidden = [value for value in plain(instance).values() if isinstance(value, float)]
    adversarial = [
        Assist("semantic", "assist", facts=facts, operation=one),
        Assist("semantic", "assist", facts=facts, targets=everything[:1]),
        Assist("semantic", "replace", facts=(*facts, Fact("sample", 90.0))),
        Assist("semantic", "replace", facts=(*facts, Fact("display", 90.0))),
        Assist("semantic", "replace", facts=(Fact(facts[-1].name, "nowhere"),)),
        Assist("semantic", "replace", facts=(*facts, Fact("next", str(one)))),
        *(Assist("semantic", "replace", facts=(Fact("mass", value),)) for value in hidden),
        Assist("decision", "assist", facts=facts, operation=one),
        Assist("decision", "assist", operation=one, targets=everything[:1]),
        Assist("decision", "replace"),
        *(Assist("decision", "replace", operation=operation) for operation in wrong[:40]),
        Assist("geometry", "assist", facts=facts, targets=everything),
        Assist("geometry", "assist", operation=one, targets=everything),
        Assist("geometry", "assist", targets=(*everything, Target("sample", (0.0, 0.0, 0.0), DOWN))),
        Assist("skill", "replace", facts=facts, operation=one),
        Assist("skill", "replace", operation=one, targets=everything[:1]),
    ]
    for assist in adversarial:
        with pytest.raises(SupportError) as refused:
            check(assist, contract, state, SHOWN, named)
        assert "\n" not in str(refused.value)


@every_task
def test_geometry_support_gives_no_hint_by_what_it_leaves_out_or_puts_first(contract: Contract) -> None:
    _, state = next(states(contract))
    named = contract.candidates()
    everything = tuple(Target(name, (0.0, 0.0, 0.0), DOWN) for name in named)
    for targets in (everything[:1], everything[1:], everything[::-1], (*everything, everything[0])):
        with pytest.raises(SupportError):
            check(Assist("geometry", "assist", targets=targets), contract, state, SHOWN, named)


def test_a_skill_is_done_and_never_told() -> None:
    contract = find_task("weighing-basic")
    _, state = next(states(contract))
    with pytest.raises(SupportError):
        check(Assist("skill", "assist", operation=min(contract.legal(state))), contract, state, SHOWN, ())


# --- in the laboratory


@pytest.fixture(scope="module", params=TASKS.keys())
def bench(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    found = Laboratory(request.param)
    yield found
    found.world.close()


def oracle(bench: Laboratory, prepared: Any, support: str) -> Oracle:
    scene = bench._scene()
    executor = Reference(bench.contract, scene, bench.arm, 0)
    return Oracle(bench.contract, prepared.referee, scene, executor, parse(support))


def test_assists_of_twins_that_look_alike_are_the_same_bytes(bench: Laboratory) -> None:
    contract, told = bench.contract, []
    twins = contract.twins(np.random.default_rng(5))
    if contract.located(contract.start(twins[0])) != contract.located(contract.start(twins[1])):
        pytest.skip("these twins differ in what is seen at first")
    for twin in twins:
        prepared = bench.prepare(twin, Seeds(0, 9, 0), contract.setup(twin, Seeds(0, 9, 0)))
        prepared.referee.deliver(1, 0)
        given = oracle(bench, prepared, "semantic:assist+geometry:assist").supports(1, 0, SHOWN)
        assert [assist.scope for assist in given] == ["geometry", "semantic"]
        told.append(codec.encode(given))
    assert told[0] == told[1]


def test_geometry_is_given_for_all_candidates_and_replaced_for_the_operation_that_was_selected(
    bench: Laboratory,
) -> None:
    contract = bench.contract
    instance, seeds = draw(contract, 0, 0)
    prepared = bench.prepare(instance, seeds, contract.setup(instance, seeds))
    prepared.referee.deliver(1, 0)
    every = oracle(bench, prepared, "geometry:assist").supports(1, 0, ())[0].targets
    assert tuple(target.name for target in every) == contract.candidates()
    at = {target.name: target for target in every}
    goal, legal = contract.goal(instance), contract.legal(prepared.referee.state)
    item = goal.items[0]
    if contract.name.startswith("weighing"):
        wrong = [Operation("add", name, "pan") for name in goal.items]
    elif contract.name.startswith("centrifuge"):
        wrong = [Operation("insert", item, "slot 3"), *(Operation("pick", name) for name in goal.items)]
    else:
        wrong = [Operation("insert", item, "B2"), Operation("retrieve", item, "C3")]
    assert set(wrong) - legal
    for operation in wrong:
        listening = oracle(bench, prepared, "geometry:replace")
        said = Target(operation.place or operation.item, (float("nan"), 0.0, 0.0), (0.0, 0.0, 0.0))
        listening.hear(GeometryReport(operation, (said,)), 2, 0, ())
        (reply,) = listening.supports(2, 0, ())
        assert tuple(target.name for target in reply.targets) == contract.frames(operation)
        assert all(target == at.get(target.name, target) for target in reply.targets)
        (receipt,) = listening.taken()
        assert (receipt.scope, receipt.mode, receipt.site) == ("geometry", "replace", "geometry")
        assert receipt.supplied == reply and receipt.reference == reply.targets
        (miss,) = receipt.misses
        assert (miss.name, miss.position, miss.axis) == (said.name, None, None)
        again = oracle(bench, prepared, "")
        far = replace(reply.targets[0], position=(9.0, 9.0, 9.0), axis=(0.0, 0.0, 2.5))
        again.hear(GeometryReport(operation, (*reply.targets, far, Target("nothing", (0.0, 0.0, 0.0), DOWN))), 2, 0, ())
        assert again.supports(2, 0, ()) == ()
        (receipt,) = again.taken()
        *right, off, unknown = receipt.misses
        assert all(miss.position == pytest.approx(0.0, abs=1e-9) and miss.axis == 0.0 for miss in right)
        assert off.position > 1.0 and off.axis == pytest.approx(np.pi)
        assert unknown.position is None


def test_where_the_sample_is_remains_the_systems_to_remember() -> None:
    """After the hood, geometry of "the tube" would answer which hole it is in."""
    contract = find_task("recall-extended")
    instance, _ = draw(contract, 0, 0)
    state = contract.scored(instance)
    bench = Laboratory("recall-extended")
    try:
        seeds = draw(contract, 0, 0)[1]
        prepared = bench.prepare(instance, seeds, contract.setup(instance, seeds))
        prepared.referee.state = state
        listening = oracle(bench, prepared, "geometry:replace")
        listening.hear(GeometryReport(Operation("pick", "tube"), ()), 2, 0, ())
        (reply,) = listening.supports(2, 0, ())
        assert "tube" not in {target.name for target in reply.targets}
    finally:
        bench.world.close()


@pytest.mark.parametrize("scope", ["semantic", "decision", "geometry"])
def test_the_reader_takes_assistance_at_the_first_opportunity_of_every_task(
    bench: Laboratory, scope: str, attempt: Callable[..., Attempt]
) -> None:
    """Delivered with the observation that opens the opportunity, and recorded once."""
    ended = attempt("reader", support=f"{scope}:assist", bench=bench, budget=12)
    assert ended.result.status == "scored" and ended.result.reason == "budget", ended.result
    assert audit(ended.result.path).difference is None
    given = [entry for entry in ended.interfaces if entry["supplied"] is not None]
    (first, *_) = given
    opened = ended.named("Opened")[0]
    assert (first["scope"], first["mode"], first["site"]) == (scope, "assist", "observation")
    assert (first["opportunity"], first["observation"]) == (opened["opportunity"], opened["observation"])
    assert len(given) == len({entry["opportunity"] for entry in given})
    contract, instance = bench.contract, draw(bench.contract, 0, 0)[0]
    content = first["supplied"]["operation"] if scope == "decision" else first["supplied"]
    if scope == "decision":
        assert content == plain(supplied(contract.legal(contract.start(instance))))
    if scope == "semantic":
        assert {fact["name"] for fact in content["facts"]} >= {
            fact.name for fact in contract.facts(contract.start(instance), ())
        }
    if scope == "geometry":
        assert [target["name"] for target in content["targets"]] == list(contract.candidates())


@every_task
def test_candidates_give_the_hands_all_that_an_operation_needs_where_nothing_is_seen(contract: Contract) -> None:
    """All but the item itself where "the tube" would say which one is meant."""
    every = tuple(Target(name, (0.1, 0.2, 0.3), DOWN) for name in contract.candidates())
    for _, state in states(contract):
        for operation in contract.legal(state):
            if operation.kind in ("wait", "stop"):
                continue
            needed = {name for name in contract.frames(operation) if name in contract.candidates()}
            assert {target.name for target in replaced((), every, operation)} >= needed
            assert {target.name for target in replaced((), every, operation)} <= {
                *needed,
                operation.item,
                operation.place,
            }


# --- in the loop


Run = Callable[..., Attempt]


@pytest.fixture
def spoken(attempt: Run) -> Iterator[Callable[..., tuple[Attempt, list[Any]]]]:
    """Return a function that lets a system say things under support, and returns the attempt and what it was shown."""

    def run(*says: object, support: str = "", **options: Any) -> tuple[Attempt, list[Any]]:
        lab_policies.SAW.clear()
        lab_policies.Answers.says = says
        ended = attempt("lab_policies:SpeakingAnswers", support=support, **options)
        assert audit(ended.result.path).difference is None
        return ended, list(lab_policies.SAW)

    yield run
    lab_policies.Answers.says = ()


CONTRACT = find_task("weighing-basic")
INSTANCE = draw(CONTRACT, 0, 0)[0]
(RIGHT,) = CONTRACT.legal(CONTRACT.start(INSTANCE))
WRONG = next(Operation("add", f"{mass} g", "pan") for mass in (20, 50) if f"{mass} g" != RIGHT.item)
LIE = StateReport((Fact("display", 1.0), Fact("steady", True)))
OFF = GeometryReport(WRONG, (Target(WRONG.item, (0.4, 0.0, 0.0), DOWN),))


def test_without_support_everything_said_is_recorded_beside_what_is_so(spoken: Any) -> None:
    ended, saw = spoken(LIE, Report(WRONG), OFF, Execute(WRONG), budget=10)
    assert not any(observation.assists for observation in saw)
    assert saw[0].senses.time == saw[4].senses.time, "statements take no simulated time"
    assert [entry["scope"] for entry in ended.interfaces] == list(SCOPES)
    for number, entry in enumerate(ended.interfaces, start=2):
        assert (entry["mode"], entry["supplied"], entry["site"]) == ("none", None, entry["scope"])
        assert (entry["tick"], entry["opportunity"], entry["evidence"]) == (0, 1, 1)
        assert entry["observation"] == number
    state, decision, geometry, skill = ended.interfaces
    assert state["said"] == plain(LIE.facts) and {fact["name"] for fact in state["reference"]} > {"display", "steady"}
    assert decision["said"] == plain(WRONG) and decision["reference"] == [plain(RIGHT)]
    assert geometry["misses"][0]["position"] > 0.0 and geometry["misses"][0]["axis"] == 0.0
    assert skill["said"] == plain(WRONG)
    assert [entry["act"] for entry in ended.actions[:4]] == ["StateReport", "Report", "GeometryReport", "Execute"]
    assert ended.actions[0]["content"] == plain(LIE.facts) and ended.actions[2]["content"] == plain(OFF.targets)
    assert not ended.named("Chosen"), "what is said at an interface is no report"


@pytest.mark.parametrize("scope", ["semantic", "decision", "geometry"])
def test_a_replacement_answers_at_its_own_site_once_and_keeps_the_original(spoken: Any, scope: str) -> None:
    ended, saw = spoken(LIE, Report(WRONG), OFF, Execute(WRONG), budget=10, support=f"{scope}:replace")
    for said, observation in zip(("", *SCOPES), saw, strict=False):
        assert [assist.scope for assist in observation.assists] == ([scope] if said == scope else [])
    receipts = {entry["scope"]: entry for entry in ended.interfaces}
    assert set(receipts) == set(SCOPES)
    for name, entry in receipts.items():
        assert entry["mode"] == ("replace" if name == scope else "none")
        assert (entry["supplied"] is None) == (name != scope)
    (reply,) = next(observation for observation in saw if observation.assists).assists
    assert receipts[scope]["supplied"] == plain(reply)
    number = next(observation.id for observation in saw if observation.assists)
    assert receipts[scope]["observation"] == number, "the receipt names the delivery that carried it"
    match scope:
        case "semantic":
            assert reply.facts == CONTRACT.facts(CONTRACT.start(INSTANCE), _display(ended))
            assert receipts[scope]["said"] == plain(LIE.facts)
        case "decision":
            assert reply.operation == RIGHT and receipts[scope]["said"] == plain(WRONG)
        case _:
            assert [target.name for target in reply.targets] == [WRONG.item, "pan"], "the selected identity is kept"
    assert ended.run.run["identity"]["intervention"] == f"{scope}:replace"


def _display(ended: Attempt) -> tuple[Reading, ...]:
    shown = next(fact["value"] for fact in ended.interfaces[0]["reference"] if fact["name"] == "display")
    return (Reading("balance", shown, "g", True, "ok", 0.0),)


ALL_ASSISTS = "decision:assist+geometry:assist+semantic:assist"


def test_skill_support_does_what_was_selected_even_if_it_is_wrong_and_asks_nobody_meanwhile(spoken: Any) -> None:
    ended, saw = spoken(Execute(WRONG), budget=300, support="skill:replace")
    before, after = saw[0], saw[1]
    assert after.id == before.id + 1 and after.senses.time > before.senses.time + 3.0
    (reply,) = after.assists
    assert (reply.scope, reply.mode, reply.operation) == ("skill", "replace", WRONG)
    assert len(saw) == 2 or not saw[2].assists
    (choice,) = ended.named("Chosen")
    assert choice["operation"] == plain(WRONG) and choice["correct"] is False
    assert WRONG.item in {event["item"] for event in ended.named("Settled") if event["place"] == "pan"}
    (receipt,) = ended.interfaces
    assert receipt["mode"] == "replace" and receipt["said"] == plain(WRONG)
    (executed, *_) = ended.actions
    assert executed["act"] == "Execute" and executed["applied"], "the executor's commands are on record"


def test_assists_are_refreshed_at_the_next_opportunity_and_drop_the_queue(spoken: Any) -> None:
    here = np.repeat(lab_policies.HERE[None], 50, axis=0)
    ended, saw = spoken(
        Execute(RIGHT), *(Move(here) for _ in range(6)), budget=360, support=f"{ALL_ASSISTS}+skill:replace"
    )
    opened = {event["observation"]: event for event in ended.named("Opened")}
    assert set(opened) >= {1} and len(opened) == 2, "the loaded pan is new evidence"
    first, second = sorted(opened)
    by_number = {observation.id: observation.assists for observation in saw}
    old = {assist.scope: assist for assist in by_number[first]}
    new = {assist.scope: assist for assist in by_number[second]}
    assert old["decision"].operation == RIGHT and new["decision"].operation == Operation("stop")
    assert Fact(RIGHT.item, "table") in old["semantic"].facts and Fact(RIGHT.item, "pan") in new["semantic"].facts
    assert Fact("display", INSTANCE.target) in new["semantic"].facts
    assert len(old["geometry"].targets) == len(new["geometry"].targets) == len(CONTRACT.candidates())
    dropped = [entry for entry in ended.actions if entry["dropped"]]
    assert dropped, "what was queued before the handoff is invalidated"
    given = [entry for entry in ended.interfaces if entry["mode"] == "assist"]
    assert len(given) == 6, "one receipt per scope and opportunity"
    for entry in given:
        event = opened[entry["observation"]]
        assert (entry["tick"], entry["opportunity"], entry["evidence"]) == (
            event["tick"],
            event["opportunity"],
            event["evidence"],
        )
        assert entry["site"] == "observation" and entry["said"] is None
        carried = {assist.scope: assist for assist in by_number[entry["observation"]]}
        assert entry["supplied"] == plain(carried[entry["scope"]])


def test_evidence_that_is_delivered_again_opens_nothing_and_is_supported_by_the_same_words(spoken: Any) -> None:
    ended, saw = spoken(*(Wait(0.2) for _ in range(5)), budget=25, support=ALL_ASSISTS)
    assert len(ended.named("Opened")) == 1 and len(saw) > 4
    assert len([entry for entry in ended.interfaces if entry["mode"] == "assist"]) == 3
    assert all(observation.assists == saw[0].assists for observation in saw)


def test_as_many_statements_as_allowed_pass_and_one_more_is_an_interface_failure(spoken: Any) -> None:
    ended, _ = spoken(*([LIE] * 16), Wait(0.1), *([LIE] * 16), budget=10)
    assert ended.result.reason == "budget"
    ended, _ = spoken(*([LIE] * 17), budget=10, out=ended.result.path.parent.parent / "more")
    assert ended.result.reason == "interface_failure" and "17 statements" in ended.result.sentence


@pytest.mark.parametrize(
    "operation",
    [
        Operation("wait"),
        Operation("stop"),
        Operation("add"),
        Operation("add", "", "pan"),
        Operation("add", "50 g", ""),
        Operation("add", "50 g", "table"),
        Operation("remove", "50 g", "table"),
    ],
    ids=str,
)
def test_whatever_is_selected_under_skill_support_is_attempted_or_left(spoken: Any, operation: Operation) -> None:
    """A strange operation is the system's mistake: never the laboratory's."""
    ended, _ = spoken(Execute(operation), budget=60, support="skill:replace")
    assert ended.result.status == "scored" and ended.result.reason in ("budget", "completed")


@pytest.mark.parametrize(
    ("policy", "support"),
    [
        ("still", "semantic:assist"),
        ("still", "decision:replace"),
        ("lab_policies:ReportingAnswers", "decision:replace"),
        ("lab_policies:ReportingAnswers", "skill:replace"),
    ],
)
def test_support_that_a_system_cannot_take_is_incompatible_and_no_score(
    attempt: Run, policy: str, support: str, tmp_path: Path
) -> None:
    with pytest.raises(Unsupported, match=support):
        attempt(policy, support=support, out=tmp_path / "none")
    assert not list(tmp_path.rglob("scores.json"))


def test_malformed_output_at_a_supported_interface_is_an_interface_failure(spoken: Any) -> None:
    ended, _ = spoken(StateReport([Fact("display", 1.0)]), support="semantic:replace", budget=10)  # type: ignore[arg-type]
    assert ended.result.status == "scored" and ended.result.reason == "interface_failure"


# --- recall: the hole that was selected is the one that is reached


def test_skill_support_fetches_from_the_hole_that_was_selected_and_not_from_where_the_sample_is(
    attempt: Run,
) -> None:
    bench = Laboratory("recall-extended")
    try:
        contract = bench.contract
        instance, _ = draw(contract, 0, 0, instances="slots")
        wrong = instance.others[0]
        assert wrong != instance.kind.hole
        lab_policies.SAW.clear()
        lab_policies.Answers.says = (Wait(6.0), Execute(Operation("retrieve", "tube", wrong)))
        ended = attempt(
            "lab_policies:SpeakingAnswers", support="skill:replace", bench=bench, instances="slots", budget=420
        )
    finally:
        bench.world.close()
        lab_policies.Answers.says = ()
    chosen = [
        event["operation"]["place"] for event in ended.named("Chosen") if event["operation"]["kind"] == "retrieve"
    ]
    assert chosen == [wrong]
