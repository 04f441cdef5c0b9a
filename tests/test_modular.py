"""Systems in four parts: what comes back at an interface is used there and only there, and nothing hangs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.bench.episode import STATEMENTS
from labference.motion import Arm
from labference.policies import make_policy
from labference.policies.damaged import BIAS, MISREADING, DropsGrasps, MisplacesItems, MisreadsDisplay
from labference.policies.loading import LoadingByPlan, LoadingBySight
from labference.policies.modular import Modular, Seen, informed, replaced, work
from labference.policies.recalling import Recalling
from labference.policies.tube_hands import TubeLook
from labference.policies.weighing_by_sight import WeighingBySight
from labference.records.strict import plain
from labference.sight import Item, Naming, Pan, Shown, TubesView, WeighingView
from labference.sight import Seen as SeenItem
from labference.tasks import find_task
from labference.truth.draw import draw
from labference.truth.support import supplied
from labference.wire import (
    Act,
    Assist,
    Execute,
    Fact,
    GeometryReport,
    Goal,
    Move,
    Observation,
    Operation,
    Report,
    RobotState,
    Senses,
    StateReport,
    Stop,
    Target,
    Wait,
)
from labference.wire.action import STROKE
from labference.wire.panda import HOME
from labference.wire.support import SCOPES
from labference.wire.tubes import HOLES, SLOTS, opposite

DOWN = (0.0, 0.0, -1.0)
REMEMBERING = ("reader", "planned", "old_position")
MODULAR = ["reader", "favourite", "random", *REMEMBERING[1:], "misreader", "dropper", "misplacer"]
WEIGHING = find_task("weighing-basic").goal(draw(find_task("weighing-basic"), 0, 0)[0])
LOADING = find_task("centrifuge-extended").goal(draw(find_task("centrifuge-extended"), 0, 0)[0])
NOTHING = TubesView((), (), None, None, None, None)
STATEMENT = (StateReport, Report, GeometryReport, Execute)


def observation(number: int = 1, time: float = 0.0, assists: tuple[Assist, ...] = (), goal: Goal = WEIGHING) -> Any:
    tcp = np.array((0.3, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0))
    robot = RobotState(np.array(HOME), np.zeros(7), STROKE, tcp, np.array([*HOME, STROKE]))
    return Observation(number, goal, Senses(time, robot, (), ()), assists)


# --- the frame in which parts work


@dataclass
class Recorded:
    """Parts that say what the test wants and remember what they were given."""

    said: tuple[Fact, ...] = (Fact("display", 90.0),)
    meant: Operation = Operation("add", "50 g", "pan")  # noqa: RUF009  # frozen
    located: tuple[Target, ...] = (Target("50 g", (0.4, 0.0, 0.0), DOWN),)
    moves: bool = True
    heard: dict[str, Any] = field(default_factory=dict)

    def look(self, shown: Observation) -> Any:
        shown = yield Wait(0.5)
        return Seen(shown, None, self.said)

    def decide(self, facts: tuple[Fact, ...], now: float) -> Operation:
        self.heard["decide"] = facts
        return self.meant

    def locate(self, seen: Seen, operation: Operation) -> tuple[Target, ...]:
        self.heard["locate"] = operation
        return self.located

    def carry_out(self, seen: Seen, operation: Operation, targets: tuple[Target, ...]) -> Any:
        self.heard["carry_out"] = (operation, targets)
        return (yield Wait(1.0)) if self.moves else seen.observation

    def done(self, operation: Operation) -> None:
        self.heard["done"] = operation

    def witness(self, shown: Observation, operation: Operation | None) -> None:
        self.heard["witness"] = (shown, operation)


def converse(parts: Any, answer: Callable[[Act], tuple[Assist, ...]], acts: int, goal: Goal = WEIGHING) -> list[Act]:
    """Return the first acts of a system whose every act is answered with support; only commands take time."""
    number, now, script, said = 1, 0.0, work(parts, observation(goal=goal)), []
    act = next(script)
    for _ in range(acts):
        said.append(act)
        if isinstance(act, Stop):
            break
        number, now = number + 1, now + _seconds(act)
        act = script.send(observation(number, now, answer(act), goal))
    return said


def _seconds(act: Act) -> float:
    if isinstance(act, Move):
        return len(act.commands) / 20
    return act.seconds if isinstance(act, Wait) else 0.0


OTHER = Operation("add", "20 g", "pan")
TRUE = (Target("50 g", (0.5, 0.1, 0.0), DOWN), Target("pan", (0.5, 0.2, 0.07), DOWN))
GIVEN: dict[str, Assist] = {
    "semantic": Assist("semantic", "replace", facts=(Fact("display", 130.0),)),
    "decision": Assist("decision", "replace", operation=OTHER),
    "geometry": Assist("geometry", "replace", targets=TRUE),
    "skill": Assist("skill", "replace", operation=Operation("add", "50 g", "pan")),
}
AT = dict(zip(STATEMENT, SCOPES, strict=True))


def test_without_support_parts_use_each_others_outputs_in_the_order_of_the_interfaces() -> None:
    parts = Recorded()
    said = converse(parts, lambda act: (), 6)
    assert [type(act) for act in said] == [Wait, StateReport, Report, GeometryReport, Execute, Wait]
    assert said[1] == StateReport(parts.said) and said[2] == Report(parts.meant)
    assert said[3] == GeometryReport(parts.meant, parts.located) and said[4] == Execute(parts.meant)
    assert parts.heard == {
        "decide": parts.said,
        "locate": parts.meant,
        "carry_out": (parts.meant, parts.located),
        "done": parts.meant,
    }


@pytest.mark.parametrize("scope", SCOPES)
def test_what_comes_back_at_an_interface_is_used_there_and_only_there(scope: str) -> None:
    base, parts = Recorded(), Recorded()
    converse(base, lambda act: (), 6)
    said = converse(parts, lambda act: (GIVEN[scope],) if AT.get(type(act)) == scope else (), 6)
    assert said[1] == StateReport(base.said) and said[2] == Report(base.meant), "the original output is said"
    changed = {name for name in base.heard if parts.heard.get(name) != base.heard[name]}
    match scope:
        case "semantic":
            assert changed == {"decide"} and parts.heard["decide"] == GIVEN["semantic"].facts
        case "decision":
            assert parts.heard["locate"] == OTHER and parts.heard["done"] == OTHER
            assert parts.heard["carry_out"] == (OTHER, base.located) and parts.heard["decide"] == base.said
        case "geometry":
            assert changed == {"carry_out"}
            assert dict(_places(parts.heard["carry_out"][1])) == dict(_places(TRUE)), "the pan is given too"
        case _:
            assert changed == {"carry_out"} and "carry_out" not in parts.heard


def _places(targets: tuple[Target, ...]) -> list[tuple[str, Any]]:
    return [(target.name, target.position) for target in targets]


def test_support_for_another_interface_that_comes_with_an_observation_changes_nothing_else() -> None:
    base, parts = Recorded(), Recorded()
    converse(base, lambda act: (), 6)
    late = (GIVEN["semantic"], GIVEN["decision"])
    converse(parts, lambda act: late if isinstance(act, Execute | GeometryReport) else (), 6)
    assert parts.heard == base.heard


@pytest.mark.parametrize("kind", ["wait", "stop"])
def test_a_replacement_may_be_to_wait_or_to_stop(kind: str) -> None:
    given_ = Assist("decision", "replace", operation=Operation(kind))
    parts = Recorded()
    said = converse(parts, lambda act: (given_,) if isinstance(act, Report) else (), 9)
    assert not any(isinstance(act, Execute | GeometryReport) for act in said)
    assert isinstance(said[3], Stop if kind == "stop" else Wait)


def test_candidates_correct_what_was_found_and_replace_what_was_not_by_its_own_name() -> None:
    """Geometry assistance gives every candidate: which of them are used is the system's business."""
    every = tuple(Target(name, (float(index), 0.0, 0.0), DOWN) for index, name in enumerate("abcd"))
    at = {target.name: target for target in every}
    found = replaced((Target("b", (9.0, 9.0, 9.0), DOWN),), every, Operation("put", "b", "c"))
    assert at["b"] in found and not any(target.position == (9.0, 9.0, 9.0) for target in found)
    assert {target.name for target in found} <= {"b", "c"}
    assert set(replaced((), every, Operation("put", "a", "d"))) == {at["a"], at["d"]}
    own = (Target("stranger", (1.0, 1.0, 1.0), DOWN),)
    assert own[0] in replaced(own, every, Operation("put", "a", "d"))


def test_information_adds_to_what_was_seen_and_a_replacement_stands_in_its_place() -> None:
    own = (Fact("display", 90.0), Fact("hand", "empty"))
    told = (Fact("display", 130.0), Fact("steady", True))
    assert set(informed(own, Assist("semantic", "assist", facts=told))) == {*told, own[1]}
    assert informed(own, Assist("semantic", "replace", facts=told)) == told
    assert informed(own, None) == own


def test_a_tube_is_brought_to_the_square_that_only_the_candidates_show() -> None:
    """Where the eyes see neither rack nor square, geometry assistance leads the hands from the hole to the square."""
    reached: list[Any] = []
    contract = find_task("recall-extended")
    every = tuple(Target(name, (0.4, index / 100, 0.1), DOWN) for index, name in enumerate(contract.candidates()))
    at = {target.name: target.position for target in every}
    import labference.policies.recalling as hands

    def reach(arm: Arm, shown: Observation, where: Any, *rest: Any) -> Any:
        reached.append(tuple(where))
        return (yield Wait(1.0))

    def look(arm: Arm, shown: Observation) -> Any:
        shown = yield Wait(0.5)
        return TubeLook(shown, NOTHING)

    parts = Recalling(Arm(), np.random.default_rng(0), "hole")
    parts.witness(observation(), Operation("insert", "tube", "B3"))
    held = iter((False, False, True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hands, "take", reach)
        patch.setattr(hands, "put_down", reach)
        patch.setattr(hands, "look", look)
        patch.setattr(hands, "holding", lambda shown: next(held, True))
        assist = (Assist("geometry", "assist", targets=every),)
        converse(parts, lambda act: assist if isinstance(act, GeometryReport) else (), 8)
    hole, square = reached[:2]
    assert hole[:2] == at["B3"][:2] and square == at["region"][:2]


def test_nobody_acts_on_a_hand_of_which_nothing_is_certain() -> None:
    parts = Recalling(Arm(), np.random.default_rng(0), "hole")
    assert parts.decide(tuple(Fact(hole, "empty") for hole in HOLES), 0.0) == Operation("wait")


def test_a_slot_that_was_not_found_is_taken_from_the_candidates_and_not_the_tube_that_comes_first() -> None:
    """The hands must not push the tube to where a tube is, only because it is the first target."""
    reached: list[Any] = []

    class Loading(LoadingBySight):
        def look(self, shown: Observation) -> Any:
            shown = yield Wait(0.5)
            return Seen(shown, NOTHING, (Fact("red tube", "hand"), Fact("blue tube", "slot 2")))

    contract = find_task("centrifuge-extended")
    every = tuple(Target(name, (0.4, index / 100, 0.1), DOWN) for index, name in enumerate(contract.candidates()))
    mouth = next(target.position for target in every if target.name == f"slot {opposite(2)}")
    import labference.policies.loading as hands

    def seat(arm: Arm, shown: Observation, at: Any, *rest: Any) -> Any:
        reached.append(at)
        return (yield Wait(1.0))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hands, "seat", seat)
        patch.setattr(hands, "withdraw", lambda arm, shown: iter(()))
        parts = Loading(Arm(), replace(LOADING, instruction="rotor"), np.random.default_rng(0))
        assist = (Assist("geometry", "assist", targets=every),)
        converse(parts, lambda act: assist if isinstance(act, GeometryReport) else (), 6, LOADING)
    assert reached == [mouth]


@pytest.mark.parametrize("moves", [True, False])
def test_time_passes_in_every_round_even_if_the_hands_do_nothing(moves: bool) -> None:
    said = converse(Recorded(moves=moves), lambda act: (), 120)
    assert _longest(said) <= 4
    assert _longest(converse(Recorded(moves=moves), _all, 120)) <= 4


def _all(act: Act) -> tuple[Assist, ...]:
    scope = AT.get(type(act))
    return () if scope is None else (GIVEN[scope],)


def _longest(said: list[Act]) -> int:
    run = longest = 0
    for act in said:
        run = run + 1 if isinstance(act, STATEMENT) else 0
        longest = max(longest, run)
    return longest


# --- odd situations


class Blind:
    """Give parts eyes that see what the test says, without taking any time."""

    view: Any = NOTHING
    facts: tuple[Fact, ...] = ()

    def look(self, shown: Observation) -> Any:
        return Seen(shown, type(self).view, type(self).facts)
        yield Wait(0.5)  # a generator


def blind(kind: type, seen: Any, facts: tuple[Fact, ...], *arguments: Any) -> Any:
    return type("Blinded", (Blind, kind), {"view": seen, "facts": facts})(*arguments)


def _dark() -> dict[str, tuple[Any, Goal]]:
    chance, arm = np.random.default_rng(0), Arm()
    empty = WeighingView(None, (), None)
    rack = find_task("recall-extended").goal(draw(find_task("recall-extended"), 0, 0)[0])
    full = tuple(Fact(hole, "tube") for hole in HOLES)
    return {
        "no display, no standards": (blind(WeighingBySight, empty, (), arm, WEIGHING), WEIGHING),
        "a wanted standard that is nowhere": (
            blind(
                WeighingBySight,
                empty,
                (Fact("display", 1.0), Fact("steady", True), *(Fact(f"{m} g", "table") for m in (10, 20, 50, 100))),
                arm,
                WEIGHING,
            ),
            WEIGHING,
        ),
        "no rotor, nothing": (blind(LoadingBySight, NOTHING, (), arm, LOADING, chance), LOADING),
        "a tube in the hand and no rotor": (
            blind(LoadingBySight, NOTHING, (Fact("red tube", "hand"),), arm, LOADING, chance),
            LOADING,
        ),
        "a tube that lies on the table": (
            blind(
                LoadingBySight, NOTHING, (Fact("red tube", "slot 1"), Fact("blue tube", "table")), arm, LOADING, chance
            ),
            LOADING,
        ),
        "a plan without sight": (blind(LoadingByPlan, NOTHING, (), arm, LOADING, chance), LOADING),
        "no rack": (blind(Recalling, NOTHING, (), arm, chance, "hole"), rack),
        "a full rack": (blind(Recalling, NOTHING, (*full, Fact("hand", "tube")), arm, chance, "hole"), rack),
    }


@pytest.mark.parametrize("name", list(_dark()))
@pytest.mark.parametrize("support", ["", "wait", "stop", "geometry", "skill"])
def test_whatever_is_not_seen_no_system_talks_for_ever_without_time_passing(name: str, support: str) -> None:
    parts, goal = _dark()[name]

    def answer(act: Act) -> tuple[Assist, ...]:
        if isinstance(act, Report) and support in ("wait", "stop"):
            return (Assist("decision", "replace", operation=Operation(support)),)
        if isinstance(act, GeometryReport) and support == "geometry":
            return (Assist("geometry", "replace", targets=()),)
        if isinstance(act, Execute) and support == "skill":
            return (Assist("skill", "replace", operation=act.operation),)
        return ()

    said = converse(parts, answer, 80, goal)
    assert _longest(said) <= STATEMENTS
    assert support != "stop" or isinstance(said[-1], Stop)


# --- minds


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(("weighing-basic", "weighing-extended")), st.integers(0, 500))
def test_the_readers_mind_is_right_wherever_its_eyes_are(task: str, index: int) -> None:
    contract = find_task(task)
    instance, _ = draw(contract, 5, index)
    state = contract.start(instance)
    shown = instance.sample + sum(instance.start)
    facts = tuple(
        Fact("display", shown) if fact.name == "display" else fact
        for fact in (Fact("display", shown), *contract.facts(state, ()))
    )
    operation = WeighingBySight(Arm(), contract.goal(instance)).decide(facts, 0.0)
    assert operation in contract.legal(state)
    if len(contract.legal(state)) == 1:
        assert operation == supplied(contract.legal(state)), "decision support changes nothing where it is right"


@pytest.mark.parametrize("name", ["destination", "recovery", "equivariance"])
def test_the_readers_mind_loads_as_the_contract_says_wherever_its_eyes_are_right(name: str) -> None:
    contract = find_task("centrifuge-basic")
    for index in range(24):
        instance, _ = draw(contract, 5, index, instances=name)
        state = contract.start(instance)
        mind = LoadingBySight(Arm(), contract.goal(instance), np.random.default_rng(index))
        assert mind.decide(contract.facts(state, ()), 0.0) in contract.legal(state)


@pytest.mark.parametrize("name", MODULAR)
def test_built_in_systems_expose_every_interface(name: str) -> None:
    policy = make_policy(name, seed=0)
    assert isinstance(policy, Modular)
    declared = policy.open()
    assert declared.sites == SCOPES and set(declared.accepts) == {"semantic", "decision", "geometry"}
    assert not declared.reports and declared.witnesses == (name in REMEMBERING)


def test_a_plan_goes_on_where_the_prefix_left_it() -> None:
    def facts(red: str, blue: str) -> tuple[Fact, ...]:
        return (Fact("red tube", red), Fact("blue tube", blue))

    one = LoadingByPlan(Arm(), LOADING, np.random.default_rng(3))
    first = one.decide(facts("stand", "stand"), 0.0)
    assert first.kind == "pick"
    one.done(first)
    second = one.decide(facts("hand", "stand"), 0.0)
    assert second.kind == "insert" and second.item == first.item
    other = LoadingByPlan(Arm(), LOADING, np.random.default_rng(3))
    other._plan = other._planned({"red tube": "stand", "blue tube": "stand"})
    taken = "blue tube" if first.item == "red tube" else "red tube"
    other.witness(observation(goal=LOADING), Operation("pick", taken))
    going_on = other.decide(facts("slot 9", "table"), 0.0)
    assert going_on == Operation("insert", taken, second.place), "tubes are alike; the slots are the plan"
    other.witness(observation(goal=LOADING), Operation("insert", taken, f"slot {(int(second.place[5:]) + 1) % SLOTS}"))
    other.witness(observation(goal=LOADING), Operation("pick", first.item))
    assert other.decide((), 0.0) == Operation("insert", first.item, f"slot {opposite(int(second.place[5:]))}")


# --- damage, and only there


def view() -> WeighingView:
    items = [
        SeenItem(
            Item((0.4, index / 10 - 0.2), 0.0, 0.012, 0.03, 0.01, True, 0.0, 0.02), "table", Naming(mass, 1.0, "label")
        )
        for index, mass in enumerate((10, 20, 50, 100))
    ]
    return WeighingView(Pan((0.5, 0.2), 0.078, 0.06), tuple(items), Shown(130.0, "ok", stable=True))


def looking(kind: Callable[..., Any], *rest: Any) -> tuple[Any, Seen]:
    """Return parts with what they make of one view."""
    import labference.policies.weighing_by_sight as eyes
    from labference.policies.bench_hands import Look

    def look(arm: Arm, shown: Observation) -> Any:
        shown = yield Wait(0.5)
        return Look(shown, view())

    parts = kind(Arm(), WEIGHING, *rest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eyes, "look", look)
        script = parts.look(observation())
        next(script)
        try:
            script.send(observation(2, 0.5))
        except StopIteration as ended:
            return parts, ended.value
    raise AssertionError("one look is enough")


ADD = Operation("add", "20 g", "pan")


def test_the_misreader_reads_a_wrong_number_and_is_the_reader_otherwise() -> None:
    (sane, right), (damaged, wrong) = looking(WeighingBySight), looking(MisreadsDisplay)
    changed = [(a, b) for a, b in zip(right.facts, wrong.facts, strict=True) if a != b]
    assert changed == [(Fact("display", 130.0), Fact("display", 130.0 - MISREADING))]
    assert damaged.locate(wrong, ADD) == sane.locate(right, ADD)
    assert damaged.decide(right.facts, 0.0) == sane.decide(right.facts, 0.0), "the mind is sound"
    assert MisreadsDisplay.carry_out is WeighingBySight.carry_out


def test_the_misplacer_is_off_by_its_bias_in_the_item_and_in_nothing_else() -> None:
    (sane, right), (damaged, wrong) = looking(WeighingBySight), looking(MisplacesItems)
    assert right.facts == wrong.facts and damaged.decide(right.facts, 0.0) == sane.decide(right.facts, 0.0)
    true, said = (dict(_places(parts.locate(seen, ADD))) for parts, seen in ((sane, right), (damaged, wrong)))
    assert said["pan"] == true["pan"]
    assert np.linalg.norm(np.subtract(said["20 g"], true["20 g"])) == pytest.approx(BIAS)
    assert MisplacesItems.carry_out is WeighingBySight.carry_out


def test_the_dropper_drops_a_third_of_its_grasps_and_is_the_reader_otherwise() -> None:
    chance = np.random.default_rng(0)
    (sane, right), (damaged, wrong) = looking(WeighingBySight), looking(DropsGrasps, chance)
    assert right.facts == wrong.facts and damaged.locate(wrong, ADD) == sane.locate(right, ADD)
    assert damaged.decide(right.facts, 0.0) == sane.decide(right.facts, 0.0)
    before = chance.bit_generator.state
    damaged.decide(right.facts, 0.0)
    assert chance.bit_generator.state == before, "only a transfer rolls the dice"


# --- in the laboratory


def choices(ended: Any) -> list[Any]:
    return [event["operation"] for event in ended.named("Chosen")]


@pytest.fixture(scope="module")
def plainly(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("support", ["semantic:replace", "decision:replace", "geometry:replace", "decision:assist"])
def test_support_changes_nothing_where_the_reader_is_right(
    attempt: Callable[..., Any], plainly: dict[str, Any], support: str, tmp_path: Any
) -> None:
    if "base" not in plainly:
        plainly["base"] = attempt("reader", budget=200, index=1, out=tmp_path / "base")
    base, supported = plainly["base"], attempt("reader", budget=200, index=1, support=support, out=tmp_path / "with")
    assert choices(base) == choices(supported) and choices(base)
    right = find_task("weighing-basic")
    assert choices(base)[0] in [plain(entry) for entry in right.legal(right.start(draw(right, 0, 1)[0]))]
    scopes = {entry["scope"] for entry in supported.interfaces}
    assert scopes == set(SCOPES)


@pytest.mark.parametrize(("policy", "support"), [("misreader", "semantic:replace"), ("misreader", "decision:replace")])
def test_support_at_the_damaged_interface_or_behind_it_repairs_the_choice(
    attempt: Callable[..., Any], policy: str, support: str
) -> None:
    contract = find_task("weighing-basic")
    index = 1
    legal = [plain(entry) for entry in contract.legal(contract.start(draw(contract, 0, index)[0]))]
    ended = attempt(policy, budget=90, index=index, support=support)
    assert choices(ended)[:1] == legal
    (said,) = [entry for entry in ended.interfaces if entry["scope"] == "semantic"][:1]
    read = {fact["name"]: fact["value"] for fact in said["said"]}
    true = {fact["name"]: fact["value"] for fact in said["reference"]}
    assert read["display"] == pytest.approx(true["display"] - MISREADING, abs=0.2)
    assert {name: value for name, value in read.items() if name != "display"} == {
        name: value for name, value in true.items() if name != "display"
    }


def test_skill_support_works_in_the_place_of_the_hands(attempt: Callable[..., Any]) -> None:
    ended = attempt("dropper", budget=300, index=1, support="skill:replace")
    assert ended.result.reason == "completed", ended.result.sentence
    assert [entry["act"] for entry in ended.actions if entry["applied"] and entry["act"] == "Execute"]
    assert not ended.named("Dropped")
