"""Belief, Observer and safety gate: no proposal that breaks a rule is dispatched, and no expert is stopped."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labevolver.belief import Belief, Known
from labevolver.gate.gate import ABANDON, Gate, Unruled
from labevolver.gate.rules import LAYERS, RULES, Need
from labevolver.gate.view import view
from labevolver.labs.wetlab import Target, read_goal
from labevolver.observe.observer import Observer
from labevolver.skills.atomic import ARGUMENTS, Action, action, catalogue, tubes_of
from labference.bench.laboratory import Laboratory, Result
from labference.bench.plan import Plan
from labference.bench.system import System, answered
from labference.tasks import find_task
from labference.truth.draw import draw
from labference.wire import (
    Act,
    ActionSpec,
    Capabilities,
    Goal,
    Observation,
    Perform,
    Policy,
    Reading,
    RobotState,
    Senses,
    Stop,
)

TASKS = ("pouring-water", "ph", "ph-ec")


@lru_cache
def goal_of(task: str) -> Goal:
    contract = find_task(task)
    return contract.goal(draw(contract, 1, 0)[0])


def seen(goal: Goal, time: float = 0.0, opening: float = 0.08, **values: tuple[float | None, bool]) -> Observation:
    """Return what a bench would deliver; values and stability by port, blanks as underscores."""
    robot = RobotState(np.zeros(7), np.zeros(7), opening, np.zeros(7), np.zeros(8))
    readings = tuple(
        Reading(name.replace("_", " "), value, "", steady, "ok" if value is not None else "dry", time)
        for name, (value, steady) in values.items()
    )
    return Observation(1, goal, Senses(time, robot, readings=readings))


METER = {"meter_pH": (7.7, True), "meter_EC": (280.0, True), "meter_T": (25.0, True)}


def start(task: str, **values: tuple[float | None, bool]) -> Belief:
    return Observer().initial(seen(goal_of(task), balance=(0.0 if task == "pouring-water" else 60.0, True), **values))


# --- belief and Observer


def test_a_belief_tells_source_time_and_validity_of_every_field() -> None:
    belief = start("ph", meter_pH=(None, False))
    assert belief.known("beaker", "grams") == Known(60.0, "", "data port", 0.0)
    assert belief.hand == "" and belief.agent["hand"].source == "robot feedback"
    assert belief.readings["meter pH"].stale == "the instrument says dry"
    assert belief.known("beaker", "ph").value is None and not belief.known("beaker", "ph").valid
    assert "beaker grams: 60 (data port, 0 s)" in belief.lines()


def carried(task: str, *steps: tuple[Action, Observation]) -> Belief:
    belief, observer = start(task), Observer()
    for done, observation in steps:
        belief = observer.update(belief, done, observation)
    return belief


def test_a_reading_counts_only_when_settled_and_until_something_is_added() -> None:
    goal = goal_of("ph")
    steady = {"balance": (60.0, True), **METER}
    unsteady = {"balance": (60.0, True), **METER, "meter_pH": (7.4, False)}
    taken = (action("take_probe"), seen(goal, 8.0, 0.02, **steady))
    early = carried("ph", taken, (action("measure"), seen(goal, 40.0, 0.02, **unsteady)))
    assert early.known("beaker", "ph").stale == "the reading had not settled" and early.number("beaker", "ph") is None
    late = carried("ph", taken, (action("measure"), seen(goal, 90.0, 0.02, **steady)))
    assert late.number("beaker", "ph") == 7.7 and late.known("beaker", "ph").time == 90.0
    poured = Observer().update(late, action("pour", "acid", amount_g=2.0), seen(goal, 99.0, 0.02, balance=(62.0, True)))
    assert poured.known("beaker", "ph").stale == "something was added since"
    assert poured.known("beaker", "mixed").value is False and poured.known("beaker", "additions").value == 1
    assert poured.number("acid", "poured_g") == pytest.approx(2.0) and poured.known("probe", "coat").value == "old"


def test_a_reading_of_what_was_not_stirred_does_not_count() -> None:
    goal = goal_of("ph")
    poured = (action("pour", "acid", amount_g=2.0), seen(goal, 30.0, 0.02, balance=(62.0, True)))
    belief = carried("ph", poured, (action("measure"), seen(goal, 90.0, 0.02, balance=(62.0, True), **METER)))
    assert belief.known("beaker", "ph").stale == "it was not stirred since"


def test_a_pour_that_changed_nothing_leaves_the_reading_and_tells_an_empty_tube() -> None:
    goal = goal_of("ph")
    measured = (action("measure"), seen(goal, 90.0, 0.02, balance=(60.0, True), **METER))
    belief = carried(
        "ph", measured, (action("pour", "acid", amount_g=5.0), seen(goal, 120.0, 0.02, balance=(60.0, True)))
    )
    assert belief.number("beaker", "ph") == 7.7 and belief.known("acid", "empty").value is True


def test_a_tare_keeps_what_the_beaker_holds() -> None:
    observer, goal = Observer(), goal_of("pouring-water")
    belief = observer.initial(seen(goal, balance=(12.3, True)))
    belief = observer.update(belief, action("tare"), seen(goal, 4.0, balance=(0.0, True)))
    belief = observer.update(belief, action("pour", "water", amount_g=5.0), seen(goal, 30.0, balance=(5.1, True)))
    assert belief.number("beaker", "shown_g") == 5.1 and belief.number("beaker", "grams") == pytest.approx(17.4)


def test_a_hand_that_lets_go_without_opening_wide_is_believed_empty() -> None:
    goal = goal_of("ph")
    with_arm = (  # what the simulated arm shows: closed on the probe, rinsed, and let go just wide enough
        (action("take_probe"), seen(goal, 5.0, 0.0219)),
        (action("rinse_probe"), seen(goal, 77.0, 0.0219)),
    )
    assert carried("ph", *with_arm).hand == "probe"
    assert carried("ph", *with_arm, (action("return_probe"), seen(goal, 80.0, 0.038))).hand == ""
    assert carried("ph", *with_arm, (action("return_probe"), seen(goal, 80.0, 0.0225))).hand == "probe"
    assert carried("ph", (action("pick", "acid"), seen(goal, 5.0, 0.001))).hand == ""


def test_a_hand_that_closes_on_nothing_is_believed_empty() -> None:
    goal = goal_of("ph")
    assert carried("ph", (action("pick", "acid"), seen(goal, 7.0, 0.08, balance=(60.0, True)))).hand == ""
    assert carried("ph", (action("pick", "acid"), seen(goal, 7.0, 0.025, balance=(60.0, True)))).hand == "acid"


def test_what_was_done_in_vain_is_counted_until_something_changes() -> None:
    goal, missed = goal_of("ph"), action("pick", "acid")
    empty = {"balance": (60.0, True)}
    twice = carried("ph", (missed, seen(goal, 7.0, 0.08, **empty)), (missed, seen(goal, 14.0, 0.08, **empty)))
    assert (twice.agent["in_vain"].value, twice.agent["in_vain_times"].value) == (str(missed), 2)
    other = Observer().update(twice, action("pick", "base"), seen(goal, 21.0, 0.08, **empty))
    assert (other.agent["in_vain"].value, other.agent["in_vain_times"].value) == ("pick base rack", 1)
    taken = Observer().update(twice, missed, seen(goal, 21.0, 0.025, **empty))
    assert taken.hand == "acid" and "in_vain" not in taken.agent and "in_vain_times" not in taken.agent


# --- rules as data


def test_every_rule_names_its_layer_source_and_what_is_allowed_once() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.layer in LAYERS and rule.source and rule.allowed.endswith(".")
        assert set(rule.kinds) <= {*ARGUMENTS, ABANDON} and (rule.remedy in ARGUMENTS or not rule.remedy)


@pytest.mark.parametrize("test", ["is", "is not", "at least", "at most"])
def test_what_is_not_known_satisfies_no_need(test: str) -> None:
    assert not Need("x", test, 1.0).holds({})  # type: ignore[arg-type]
    assert not Need("x", test, other="y").holds({"x": 1.0})  # type: ignore[arg-type]


READ = {"ph": 7.7, "ec": 280.0}
EXAMPLES = {
    "no_tube_in_hand": ("ph", {"hand": "acid"}, action("take_probe")),
    "no_other_tube_in_hand": ("ph", {"hand": "base", **READ}, action("pour", "acid", amount_g=2.0)),
    "no_rod_in_hand": ("ph", {"hand": "rod", **READ}, action("pick", "acid")),
    "no_probe_in_hand": ("ph", {"hand": "probe", **READ}, action("pick", "acid")),
    "holds_what_it_places": ("ph", {}, action("place", "acid")),
    "stirred_before_measuring": ("ph", {"mixed": False}, action("take_probe")),
    "read_before_adding": ("ph", {}, action("pick", "acid")),
    "zero_before_pouring": ("pouring-water", {"first_g": 12.0}, action("pick", "water")),
    "tare_before_the_first_addition": ("pouring-water", {"additions": 1}, action("tare")),
    "probe_in_hand": ("ph", {}, action("measure", seconds=60.0)),
    "rinsed_before_it_is_put_back": ("ph", {"hand": "probe", "coat": "beaker"}, action("return_probe")),
    "rinsed_before_another_liquid": ("ph", {"hand": "probe", "coat": "old"}, action("measure", seconds=60.0)),
    "tube_in_hand": ("ph", {"ph": 7.7, "ec": 280.0}, action("pour", "acid", amount_g=2.0)),
    "evidence_before_the_end": ("ph", {}, action("stop")),
    "reached_before_the_end": ("ph", {"ph": 12.0, "ec": 280.0}, action("stop")),
    "steady_balance_before_pouring": (
        "pouring-water",
        {"hand": "water", "steady": False},
        action("pour", "water", amount_g=2.0),
    ),
    "room_in_the_beaker": ("ph", {"hand": "acid", "ph": 12.0, "ec": 280.0}, action("pour", "acid", amount_g=50.0)),
    "no_more_than_is_missing": ("pouring-water", {"hand": "water"}, action("pour", "water", amount_g=50.0)),
    "stops_before_the_amount": (
        "pouring-water",
        {"hand": "water"},
        action("pour", "water", amount_g=0.5, pre_stop=1.0),
    ),
    "something_in_the_tube": (
        "pouring-water",
        {"hand": "water", "empty": True},
        action("pour", "water", amount_g=2.0),
    ),
    "no_acid_below_the_range": ("ph", {"ph": 1.0, "ec": 280.0}, action("pick", "acid")),
    "no_base_above_the_range": ("ph", {"ph": 13.0, "ec": 280.0}, action("pick", "base")),
    "seen_on_the_bench": ("pouring-water", {"water seen": False}, action("pick", "water")),
    "upright_before_it_is_taken": (
        "pouring-water",
        {"water seen": True, "water upright": False},
        action("pick", "water"),
    ),
    "beaker_on_the_balance": (
        "pouring-water",
        {"hand": "water", "water seen": True, "beaker within": "none"},
        action("pour", "water", amount_g=2.0),
    ),
    "something_else_after_three_vain_attempts": (
        "ph",
        {"agent in_vain": str(action("take_probe")), "agent in_vain_times": 3},
        action("take_probe"),
    ),
    "long_enough_to_settle": ("ph", {"hand": "probe"}, action("measure", seconds=5.0)),
    "long_enough_to_mix": ("ph", {"mixed": False}, action("stir", seconds=1.0)),
}
"""For each rule a task, what is believed beside the first state, and a proposal that breaks the rule."""


def believed(task: str, fields: dict[str, object]) -> Belief:
    belief = start(task)
    for name, value in fields.items():
        known = Known(value)  # type: ignore[arg-type]
        if name == "hand":
            belief = belief.with_agent(hand=known)
        elif name.startswith("agent "):
            belief = belief.with_agent(**{name.split()[1]: known})
        elif name == "coat":
            belief = belief.with_thing("probe", coat=known)
        elif name == "empty":
            belief = belief.with_thing("water", empty=known)
        elif " " in name:
            belief = belief.with_thing(name.split()[0], **{name.split()[1]: known})
        elif name == "steady":
            belief = belief.with_readings(0.0, {"steady balance": known})
        else:
            belief = belief.with_thing("beaker", **{name: known})
    return belief


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_proposal_that_breaks_a_rule_is_logged_with_layer_values_and_what_is_allowed(rule: object) -> None:
    name = rule.name  # type: ignore[attr-defined]
    task, fields, proposed = EXAMPLES[name]
    gate = Gate(goal_of(task), read_goal(goal_of(task)))
    ruling = gate.rule(believed(task, fields), proposed)
    log = ruling.exception
    assert log is not None and (log.rule, log.layer) == (name, rule.layer)  # type: ignore[attr-defined]
    assert log.values and log.allowed and log.source and str(proposed) in log.sentence
    with pytest.raises(Unruled):
        gate.dispatch(ruling)


@pytest.mark.parametrize(
    ("proposed", "rule"),
    [
        (Action("explode"), "known_kind"),
        (Action("pick", "acid", "beaker"), "known_place"),
        (Action("pick", "unobtainium", "rack"), "known_item"),
        (Action("pick", "beaker", "rack"), "known_item"),
        (action("pour", "acid"), "amount"),
        (action("pour", "acid", amount_g=math.nan), "number"),
        (action("pour", "acid", amount_g=math.inf), "number"),
        (action("pour", "acid", amount_g=-3.0), "in_range"),
        (action("pour", "acid", amount_g=1e9), "in_range"),
        (action("pour", "acid", amount_g=2.0, speed=3.0), "known_parameter"),
        (Action("pour", "acid", "beaker", (("amount_g", 2.0), ("amount_g", 40.0))), "known_parameter"),
        (Action("pour", "acid", "beaker", (("amount_g", True),)), "number"),
        (Action("abandon", "acid"), "bare"),
    ],
)
def test_a_call_that_is_not_well_formed_is_stopped_by_the_interface_layer(proposed: Action, rule: str) -> None:
    gate = Gate(goal_of("ph"), read_goal(goal_of("ph")))
    log = gate.rule(start("ph"), proposed).exception
    assert log is not None and (log.layer, log.rule) == ("interface", rule)


def test_an_admitted_ruling_is_dispatched_once_and_a_forged_one_never() -> None:
    gate = Gate(goal_of("ph"), read_goal(goal_of("ph")))
    ruling = gate.rule(start("ph"), action("take_probe"))
    with pytest.raises(Unruled):
        gate.dispatch(replace(ruling, action=action("pick", "acid")))
    assert isinstance(gate.dispatch(ruling), Perform)
    with pytest.raises(Unruled):
        gate.dispatch(ruling)


# --- random and adversarial proposals, against the bench itself

NUMBERS = st.one_of(
    st.floats(-1e3, 1e3), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e300, 0.1, 5.0, 60.0])
)
PROPOSALS = st.builds(
    Action,
    st.sampled_from([*ARGUMENTS, ABANDON, "finish", "wait", "explode", ""]),
    st.sampled_from(["acid", "base", "water", "probe", "rod", "beaker", "", "ACID"]),
    st.sampled_from(["rack", "beaker", "rinse", "probe_holder", "rod_holder", "balance", "", "floor"]),
    st.lists(st.tuples(st.sampled_from(["amount_g", "kp", "kd", "pre_stop", "seconds", "x"]), NUMBERS), max_size=4).map(
        tuple
    ),
)
SENSIBLE = st.builds(
    lambda kind, tube, grams, seconds: (
        Action(kind)
        if kind == ABANDON
        else action(
            kind,
            tube if kind in ("pick", "place", "pour") else "",
            **({"amount_g": grams} if kind == "pour" else {"seconds": seconds} if kind in ("measure", "stir") else {}),
        )
    ),
    st.sampled_from([*ARGUMENTS, ABANDON]),
    st.sampled_from(["acid", "base"]),
    st.floats(0.1, 50.0),
    st.floats(1.0, 60.0),
)


class Proposer:
    """A tested system that proposes what it was told to, through the gate; nothing else reaches the bench."""

    def __init__(self, proposals: list[Action]) -> None:
        self._proposals = list(proposals)
        self.broken: list[str] = []
        self.sent = 0

    def open(self) -> Capabilities:
        return Capabilities("proposer", "1", readings=True, performs=True)

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        self._goal, self._target = goal, read_goal(goal)
        self.gate, self._observer = Gate(goal, self._target), Observer()
        self._belief: Belief | None = None
        self._done: Action | None = None

    def act(self, observation: Observation) -> Act:
        if self._belief is None:
            self._belief = self._observer.initial(observation)
        elif self._done is not None:
            self._belief = self._observer.update(self._belief, self._done, observation)
        while self._proposals:
            proposed = self._proposals.pop(0)
            ruling = self.gate.rule(self._belief, proposed)
            if ruling.admitted:
                fields = view(self._target, self._goal, self._belief, proposed)
                self.broken += [rule.name for rule in RULES if rule.broken(fields)]
                self._done, self.sent = proposed, self.sent + 1
                return self.gate.dispatch(ruling)
        return Stop()

    def close(self) -> None:
        pass


@lru_cache
def laboratory(task: str) -> Laboratory:
    return Laboratory(task, fidelity="fast")


def run(task: str, policy: Policy, out: Path, seed: int = 0, index: int = 0) -> Result:
    plan = Plan(task, "proposer", index + 1, seed=seed, fidelity="fast")
    system = System(lambda: policy, "proposer", 600.0)
    return answered(laboratory(task).ask(plan, index, out, system), system)


VIOLATIONS = {
    "acid_below_range",
    "base_above_range",
    "overfilled",
    "unrinsed_probe",
    "item_off_bench",
    "poured_into_tube",
}
"""Rules of the contract that gate rules guard."""


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(proposals=st.lists(st.one_of(PROPOSALS, SENSIBLE, SENSIBLE, SENSIBLE), min_size=5, max_size=60))
def test_no_random_or_adversarial_proposal_that_breaks_a_rule_reaches_the_bench(
    proposals: list[Action], tmp_path: Path
) -> None:
    policy = Proposer(proposals)
    result = run("ph", policy, tmp_path / str(len(list(tmp_path.iterdir()))))
    assert result.status == "scored" and result.reason not in ("interface_failure", *VIOLATIONS), result
    assert not policy.broken
    assert policy.sent == sum(ruling.admitted for ruling in policy.gate.rulings)


# --- false refusals


class Watched:
    """The reference executor, with the gate asked about everything that it does; what it does is done anyway."""

    def __init__(self, inner: Policy) -> None:
        self._inner = inner
        self.refused: list[str] = []
        self.asked = 0

    def open(self) -> Capabilities:
        return replace(self._inner.open(), readings=True)

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        self._inner.reset(goal, spec, session)
        self._gate, self._observer = Gate(goal, read_goal(goal)), Observer()
        self._belief: Belief | None = None
        self._done: Action | None = None

    def act(self, observation: Observation) -> Act:
        if self._belief is None:
            self._belief = self._observer.initial(observation)
        elif self._done is not None:
            self._belief = self._observer.update(self._belief, self._done, observation)
        act, self._done = self._inner.act(observation), None
        if isinstance(act, Perform):
            named = tuple((each.name, each.value) for each in act.parameters)
            operation = act.operation
            self._done = Action(operation.kind, operation.item, operation.place, named)
            log = self._gate.rule(self._belief, self._done).exception
            self.asked += 1
            if log is not None:
                self.refused.append(log.sentence)
        return act

    def close(self) -> None:
        self._inner.close()


@pytest.mark.parametrize("task", ["pouring-water", "pouring-oil", "ph", "ph-ec"])
def test_the_gate_refuses_nothing_that_the_reference_executor_does(task: str, tmp_path: Path) -> None:
    lab = laboratory(task)
    for index in range(3):
        plan = Plan(task, "expert", index + 1, seed=5, fidelity="fast")
        watched = Watched(lab._policy(plan, draw(lab.contract, 5, index)[1]))
        system = System(lambda policy=watched: policy, "proposer", 600.0)  # type: ignore[misc]
        answered(lab.ask(replace(plan, policy="proposer"), index, tmp_path, system), system)
        assert watched.asked and not watched.refused


# --- the catalogue


@pytest.mark.parametrize("task", TASKS)
def test_the_catalogue_tells_every_primitive_of_the_bench_with_its_ranges(task: str) -> None:
    goal = goal_of(task)
    told = catalogue(goal)
    assert [line.split()[0] for line in told] == [kind for kind in ARGUMENTS if kind in goal.kinds]
    assert any("amount_g 0.1 to 50 g" in line and tubes_of(goal)[0] in line for line in told)


def test_a_goal_of_another_bench_is_refused_in_a_sentence() -> None:
    with pytest.raises(Exception, match="does not know what to do"):
        read_goal(Goal("Balance the centrifuge.", (), (), ()))


def test_a_target_tells_sides_with_its_tolerance_included() -> None:
    target = Target("ph", 5.0, 0.2)
    assert [target.side(value) for value in (4.79, 4.8, 5.2, 5.21, None)] == ["below", "within", "within", "above", ""]
