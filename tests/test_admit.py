"""What is refused before any physics, and the sentences that say so."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.bench.admit import LONGEST_REPORT, LONGEST_WAIT_S, admit
from labference.records.strict import line
from labference.tasks import all_tasks
from labference.wire import (
    END_EFFECTOR,
    JOINT,
    ActionSpec,
    Capabilities,
    Execute,
    Fact,
    GeometryReport,
    Goal,
    Move,
    Operation,
    Parameter,
    Perform,
    Refusal,
    Report,
    Setting,
    StateReport,
    Stop,
    Target,
    Wait,
)
from labference.wire.panda import HOME
from labference.wire.support import SCOPES

GOAL = Goal("Bring the balance to 160.0 g.", ("add", "remove", "wait", "stop"), ("10 g", "20 g"), ("pan", "table"))
SILENT = Capabilities("silent", "1")
REPORTING = Capabilities("reporting", "1", reports=True)
MODULAR = Capabilities("modular", "1", sites=SCOPES)
ADD = Operation("add", "10 g", "pan")
CLIPPING = replace(JOINT, on_out_of_range="clip")
HERE = np.array([[*HOME, 0.08]])
PRIVILEGED = re.compile(
    r"mass|legal|correct|target reading|sample|seed|instance|score|success|verdict|truth|stratum|wanted|subset", re.I
)


def refusal(answer: object, spec: ActionSpec = JOINT, capabilities: Capabilities = REPORTING) -> Refusal:
    """Return the refusal of an answer, checked for its manners: one sentence, public words."""
    with pytest.raises(Refusal) as caught:
        admit(answer, spec, GOAL, capabilities)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence
    assert not re.search(r"[.!?] [A-Z]", sentence), f"more than one sentence: {sentence}"
    assert not PRIVILEGED.search(sentence), sentence
    return caught.value


def with_entry(column: int, value: float, spec: ActionSpec = JOINT, rows: int = 3) -> np.ndarray:
    """Return legal commands but for one entry of the last row."""
    legal = HERE if spec.size == 8 else np.zeros((1, spec.size))
    commands = np.repeat(legal, rows, axis=0)
    commands[-1, column] = value
    return commands


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("spec", [JOINT, CLIPPING, END_EFFECTOR], ids=["reject", "clip", "end_effector"])
def test_a_number_that_is_not_finite_is_refused_and_located(value: float, spec: ActionSpec) -> None:
    for column in range(spec.size):
        found = refusal(Move(with_entry(column, value, spec)), spec)
        assert found.kind == "nonfinite"
        assert f"Command 2 has {value!r} at entry {column}" in str(found)


def test_sentences_show_numbers_and_not_how_a_library_prints_them() -> None:
    assert "np." not in str(refusal(Move(with_entry(0, float("nan")))))
    assert "np." not in str(refusal(Wait(np.float64("nan"))))


@pytest.mark.parametrize(
    "shape", [(8,), (0,), (1, 7), (1, 9), (8, 1), (1, 1, 8), (), (3, 0)], ids=lambda shape: "x".join(map(str, shape))
)
def test_a_wrong_shape_is_refused_with_the_shape_that_works(shape: tuple[int, ...]) -> None:
    found = refusal(Move(np.zeros(shape)))
    assert found.kind == "shape"
    assert str(shape) in str(found) and "(n, 8)" in str(found)


def test_an_empty_chunk_is_refused() -> None:
    found = refusal(Move(np.empty((0, 8))))
    assert found.kind == "empty"
    assert "1 to 50" in str(found)


def test_a_chunk_may_be_as_long_as_declared_and_no_longer() -> None:
    longest = JOINT.longest_chunk
    assert len(admit(Move(np.repeat(HERE, longest, axis=0)), JOINT, GOAL, SILENT).act.commands) == longest
    found = refusal(Move(np.repeat(HERE, longest + 1, axis=0)))
    assert found.kind == "too_long"
    assert f"{longest + 1} commands" in str(found) and f"1 to {longest}" in str(found)


@pytest.mark.parametrize("spec", [JOINT, END_EFFECTOR], ids=lambda spec: spec.name)
def test_each_entry_has_a_range_and_leaving_it_is_refused_with_the_range(spec: ActionSpec) -> None:
    for column in range(spec.size):
        for outside in (spec.low[column] - 1e-6, spec.high[column] + 1e-6, 1e300):
            found = refusal(Move(with_entry(column, outside, spec)), spec)
            assert found.kind == "out_of_range"
            assert f"{outside:.6g} at entry {column}" in str(found)
            assert f"{spec.low[column]:g} to {spec.high[column]:g} {spec.units[column]}" in str(found)
        for edge in (spec.low[column], spec.high[column]):
            admitted = admit(Move(with_entry(column, edge, spec)), spec, GOAL, SILENT)
            assert admitted.clipped == 0
            assert admitted.act.commands[-1, column] == edge


def test_a_clipping_profile_applies_the_nearest_legal_command_and_counts_it() -> None:
    for column in range(8):
        commands = with_entry(column, 99.0, rows=4)
        commands[1, column] = -99.0
        admitted = admit(Move(commands), CLIPPING, GOAL, SILENT)
        assert admitted.clipped == 2
        assert admitted.act.commands[3, column] == JOINT.high[column]
        assert admitted.act.commands[1, column] == JOINT.low[column]
        assert (admitted.act.commands[[0, 2]] == HERE[0]).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=8), min_size=1, max_size=5))
def test_clipped_commands_are_always_legal_commands(rows: list[list[float]]) -> None:
    clipped = admit(Move(np.array(rows)), CLIPPING, GOAL, SILENT).act
    assert admit(clipped, JOINT, GOAL, SILENT).clipped == 0


@pytest.mark.parametrize(
    "commands",
    [HERE.tolist(), None, "home", 3.0, (), HERE.astype(object), HERE.astype(complex), HERE > 0, HERE.astype(str)],
    ids=["list", "None", "text", "number", "tuple", "objects", "complex", "booleans", "strings"],
)
def test_commands_that_are_no_array_of_numbers_are_refused(commands: Any) -> None:
    found = refusal(Move(commands))
    assert found.kind == "dtype"
    assert "float array of shape (n, 8)" in str(found)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float16", "float32", ">f8", ">i4"])
def test_arrays_of_any_real_numbers_are_admitted_as_floats(dtype: str) -> None:
    commands = np.array([[0, 0, 0, -1, 0, 1, 0, 0], [1, 1, 1, -2, 1, 2, 1, 0]])
    if dtype.startswith("u"):
        found = refusal(Move(commands.clip(0).astype(dtype)))
        assert found.kind == "out_of_range"  # the elbow has no legal angle of zero or more
        return
    admitted = admit(Move(commands.astype(dtype)), JOINT, GOAL, SILENT).act.commands
    assert admitted.dtype == np.float64 and admitted.tolist() == commands.tolist()


def test_what_is_admitted_is_a_copy() -> None:
    mine = HERE.copy()
    admitted = admit(Move(mine), JOINT, GOAL, SILENT).act.commands
    assert not np.shares_memory(mine, admitted)
    mine[:] = np.nan
    assert np.isfinite(admitted).all()


def test_nothing_that_is_not_finite_hides_behind_a_mask() -> None:
    commands = np.ma.masked_array(HERE.copy(), mask=False)
    commands.data[0, 0] = np.nan
    commands.mask[0, 0] = True
    try:
        admitted = admit(Move(commands), JOINT, GOAL, SILENT).act.commands
    except Refusal:
        return
    assert np.isfinite(admitted).all()


@pytest.mark.parametrize(
    "seconds",
    [
        True,
        False,
        None,
        "1",
        [1.0],
        float("nan"),
        float("inf"),
        float("-inf"),
        0,
        0.0,
        -1.0,
        -0.0,
        60.001,
        1e300,
        10**400,
    ],
    ids=lambda seconds: repr(seconds)[:12],
)
def test_a_wait_that_cannot_be_kept_is_refused(seconds: Any) -> None:
    found = refusal(Wait(seconds))
    assert found.kind in ("nonfinite", "out_of_range", "dtype")
    assert "(0, 60]" in str(found)


@pytest.mark.parametrize("seconds", [0.001, 1, 0.05, LONGEST_WAIT_S, 60])
def test_a_wait_within_reason_is_admitted(seconds: float) -> None:
    assert admit(Wait(seconds), JOINT, GOAL, SILENT).act == Wait(seconds)


@pytest.mark.parametrize("seconds", [np.float32(1.5), np.int64(2), np.float64(0.5)])
def test_a_wait_given_as_a_number_of_numpy_is_a_wait(seconds: Any) -> None:
    assert admit(Wait(seconds), JOINT, GOAL, SILENT).act.seconds == float(seconds)


@pytest.mark.parametrize(
    "answer", [None, {"act": "stop"}, HERE, 0, "stop", Stop, [Wait(1.0)], Operation("stop"), Exception("x")], ids=str
)
def test_an_answer_that_is_no_act_is_refused_by_its_type(answer: object) -> None:
    found = refusal(answer)
    assert found.kind == "unknown_act"
    assert type(answer).__name__ in str(found)
    assert "Move, Wait, Report, Stop" in str(found)


@pytest.mark.parametrize(
    ("operation", "named"),
    [
        (Operation("pour"), "'pour'"),
        (Operation(""), "''"),
        (Operation("ADD", "10 g", "pan"), "'ADD'"),
        (Operation("add", "sample", "pan"), None),
        (Operation("add", "30 g", "pan"), "'30 g'"),
        (Operation("add", "10 g", "floor"), "'floor'"),
        (Operation(None), "None"),  # type: ignore[arg-type]
        (Operation(7, "10 g"), "7"),  # type: ignore[arg-type]
        (Operation(["add"]), "['add']"),  # type: ignore[arg-type]
        (Operation(np.array(["add", "wait"])), None),  # type: ignore[arg-type]
        (Operation("add", np.zeros(3)), None),  # type: ignore[arg-type]
        ("add", None),
        (None, None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_an_unknown_operation_is_refused_with_the_known_ones(operation: Any, named: str | None) -> None:
    with pytest.raises(Refusal) as caught:
        admit(Report(operation), JOINT, GOAL, REPORTING)
    assert caught.value.kind == "unknown_operation"
    assert named is None or named in str(caught.value)
    if operation is not None:
        with pytest.raises(Refusal):
            admit(Move(HERE, operation), JOINT, GOAL, REPORTING)


def test_an_operation_within_the_vocabulary_is_admitted() -> None:
    for operation in (Operation("add", "10 g", "pan"), Operation("wait"), Operation("stop")):
        assert admit(Report(operation), JOINT, GOAL, REPORTING).act == Report(operation)
        assert admit(Move(HERE, operation), JOINT, GOAL, REPORTING).act.commits == operation


@pytest.mark.parametrize("answer", [Report(Operation("wait")), Move(HERE, Operation("wait"))], ids=["report", "commit"])
def test_a_report_by_a_system_that_declared_none_is_unsupported(answer: Any) -> None:
    found = refusal(answer, capabilities=SILENT)
    assert found.kind == "unsupported"
    assert "'silent'" in str(found) and "reports=True" in str(found)


def test_a_system_without_reports_may_move_wait_and_stop() -> None:
    for answer in (Move(HERE), Wait(1.0), Stop()):
        assert type(admit(answer, JOINT, GOAL, SILENT).act) is type(answer)


# --- what is said at interfaces

HERE_OR_THERE = Target("10 g", (0.4, 0.0, 0.0), (0.0, 0.0, -1.0))
STATEMENTS = {
    "semantic": StateReport((Fact("display", 90.0), Fact("steady", True), Fact("10 g", "table"))),
    "decision": Report(ADD),
    "geometry": GeometryReport(ADD, (HERE_OR_THERE,)),
    "skill": Execute(ADD),
}
nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize("scope", SCOPES)
def test_what_is_said_at_a_declared_interface_is_admitted_unchanged(scope: str) -> None:
    only = Capabilities("only", "1", sites=(scope,))  # type: ignore[arg-type]
    for capabilities in (MODULAR, only):
        assert admit(STATEMENTS[scope], JOINT, GOAL, capabilities).act == STATEMENTS[scope]


@pytest.mark.parametrize("scope", SCOPES)
def test_an_interface_that_was_not_declared_cannot_be_spoken_at(scope: str) -> None:
    others = tuple(other for other in SCOPES if other != scope)
    for capabilities in (SILENT, Capabilities("mute", "1", sites=others)):
        found = refusal(STATEMENTS[scope], capabilities=capabilities)
        assert found.kind == "unsupported"
        assert repr(capabilities.name) in str(found)


def test_a_motion_commits_to_nothing_where_no_reports_were_declared() -> None:
    """Interfaces are not the explicit report track: a commitment would be scored on a track that nobody registered."""
    assert refusal(Move(HERE, ADD), capabilities=MODULAR).kind == "unsupported"


@pytest.mark.parametrize(
    "facts",
    [
        None,
        "display",
        [Fact("display", 1.0)],
        ("display",),
        (("display", 1.0),),
        (Fact(None, 1.0),),  # type: ignore[arg-type]
        (Fact("display", None),),  # type: ignore[arg-type]
        (Fact("display", [1.0]),),  # type: ignore[arg-type]
        (Fact("display", {"a": 1}),),  # type: ignore[arg-type]
        (Fact("display", object()),),  # type: ignore[arg-type]
        (Fact("display", np.zeros(3)),),  # type: ignore[arg-type]
        (Fact("display", "x" * 100_000),),
        (Fact("x" * 100_000, 1.0),),
        tuple(Fact(f"thing {index}", True) for index in range(LONGEST_REPORT + 1)),
    ],
    ids=lambda facts: repr(facts)[:40],
)
def test_a_state_report_that_holds_no_facts_is_refused(facts: Any) -> None:
    assert refusal(StateReport(facts), capabilities=MODULAR).kind in ("dtype", "too_long")


@pytest.mark.parametrize(
    "targets",
    [
        None,
        [HERE_OR_THERE],
        (HERE_OR_THERE.position,),
        (Target(3, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),),  # type: ignore[arg-type]
        (Target("10 g", (0.0, 0.0), (0.0, 0.0, 1.0)),),  # type: ignore[arg-type]
        (Target("10 g", (0.0, 0.0, 0.0), (1.0,)),),  # type: ignore[arg-type]
        (Target("10 g", (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),),  # type: ignore[arg-type]
        (Target("10 g", "xyz", (0.0, 0.0, 1.0)),),  # type: ignore[arg-type]
        (Target("10 g", (0.0, "0", 0.0), (0.0, 0.0, 1.0)),),  # type: ignore[arg-type]
        (Target("10 g", None, (0.0, 0.0, 1.0)),),  # type: ignore[arg-type]
        (Target("10 g", (0.0, 0.0, 0.0), (0.0, 0.0, object())),),  # type: ignore[arg-type]
        (Target("x" * 100_000, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),),
        (HERE_OR_THERE,) * (LONGEST_REPORT + 1),
    ],
    ids=lambda targets: repr(targets)[:60],
)
def test_a_geometry_report_that_holds_no_targets_is_refused(targets: Any) -> None:
    assert refusal(GeometryReport(ADD, targets), capabilities=MODULAR).kind in ("dtype", "too_long")


@pytest.mark.parametrize("position", [(0.4, 0.0, 0.0), (nan, 0.0, 0.0), (inf, -inf, 0.0), (1e300, 0.0, 0.0)], ids=str)
@pytest.mark.parametrize("axis", [(0.0, 0.0, -1.0), (0.0, 0.0, 0.0), (nan, 0.0, 0.0), (0.0, inf, 0.0)], ids=str)
def test_geometry_that_points_nowhere_is_output_to_be_scored_and_no_interface_failure(
    position: tuple[float, float, float], axis: tuple[float, float, float]
) -> None:
    said = GeometryReport(ADD, (Target("10 g", position, axis),))
    assert repr(admit(said, JOINT, GOAL, MODULAR).act) == repr(said)


def test_a_target_may_be_given_in_numbers_of_numpy_and_name_what_does_not_exist() -> None:
    x, y, z = np.float32(0.4), np.int64(0), np.float64(0.1)
    said = GeometryReport(ADD, (Target("30 g", (x, y, z), (0, 0, -1)),))
    act = admit(said, JOINT, GOAL, MODULAR).act
    assert isinstance(act, GeometryReport)
    assert act.targets[0].position == pytest.approx((0.4, 0.0, 0.1))
    assert line(act.targets), "it can be recorded"


@pytest.mark.parametrize("act", [GeometryReport, Execute])
@pytest.mark.parametrize(
    "operation",
    [None, "add", Operation("pour"), Operation("add", "30 g", "pan"), Operation("add", "10 g", "floor")],
    ids=str,
)
def test_an_interface_knows_no_other_operations_than_a_report(act: Any, operation: Any) -> None:
    answer = act(operation, ()) if act is GeometryReport else act(operation)
    assert refusal(answer, capabilities=MODULAR).kind == "unknown_operation"


@settings(max_examples=80, deadline=None)
@given(st.recursive(st.none() | st.text(max_size=3) | st.floats() | st.booleans(), lambda some: st.tuples(some, some)))
def test_no_statement_whatever_it_holds_does_more_than_be_refused(value: Any) -> None:
    answers = (
        StateReport(value),
        StateReport((Fact(value, value),)),
        GeometryReport(ADD, (Target(value, value, value),)),
        GeometryReport(value, value),
        Execute(value),
    )
    for answer in answers:
        try:
            assert line(admit(answer, JOINT, GOAL, MODULAR).act), "what is admitted can be recorded"
        except Refusal as found:
            assert "\n" not in str(found)


def test_refusals_do_not_depend_on_the_task() -> None:
    sentences = set()
    for contract in all_tasks().values():
        rng = np.random.default_rng(0)
        goal = contract.goal(contract.sample(contract.strata()[0], rng))
        with pytest.raises(Refusal) as caught:
            admit(Move(with_entry(3, 1.0)), JOINT, goal, REPORTING)
        sentences.add(str(caught.value))
    assert len(sentences) == 1


POURING = replace(
    GOAL,
    parameters=(
        Setting("add", "amount", "g", 0.1, 50.0, 1.0),
        Setting("add", "gain", "", 0.0, 2.0, 0.2),
        Setting("remove", "seconds", "s", 1.0, 60.0, 5.0),
    ),
)
PERFORMING = Capabilities("performing", "1", performs=True)


def performed(*parameters: Parameter) -> Perform:
    act = admit(Perform(ADD, parameters), JOINT, POURING, PERFORMING).act
    assert isinstance(act, Perform)
    return act


def test_a_performed_operation_gets_every_parameter_of_its_kind() -> None:
    assert performed().parameters == (Parameter("amount", 1.0), Parameter("gain", 0.2))
    assert performed(Parameter("gain", 2)).parameters == (Parameter("amount", 1.0), Parameter("gain", 2.0))


@pytest.mark.parametrize(
    ("parameters", "kind", "said"),
    [
        (
            (Parameter("amount", 51.0),),
            "out_of_range",
            "Parameter 'amount' of operation 'add' is 51; 0.1 to 50 g works.",
        ),
        ((Parameter("gain", -1.0),), "out_of_range", "0 to 2 works."),
        ((Parameter("amount", float("nan")),), "nonfinite", "is nan"),
        ((Parameter("seconds", 5.0),), "unknown_operation", "parameters: 'amount', 'gain'."),
        ((Parameter("amount", 1.0), Parameter("amount", 2.0)), "unknown_operation", "no second or other 'amount'"),
        ((Parameter("amount", "much"),), "dtype", "not str"),  # type: ignore[arg-type]
        ([Parameter("amount", 1.0)], "dtype", "not list"),
        (("amount",), "dtype", "tuple of Parameter"),
    ],
)
def test_parameters_that_no_hands_could_follow_are_refused(parameters: Any, kind: str, said: str) -> None:
    with pytest.raises(Refusal) as caught:
        performed(*parameters) if isinstance(parameters, tuple) else admit(
            Perform(ADD, parameters), JOINT, POURING, PERFORMING
        )
    assert caught.value.kind == kind and said in str(caught.value)


def test_the_bench_lends_its_hands_to_those_who_declared_it_and_for_operations_of_the_goal() -> None:
    assert refusal(Perform(ADD)).kind == "unsupported"
    assert "performs=True" in str(refusal(Perform(ADD)))
    assert refusal(Perform(Operation("drink", "10 g", "pan")), capabilities=PERFORMING).kind == "unknown_operation"
