"""Diagnoses counted: gains over matched branches, interface tests, pairs, and what may not be put together."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fabricated
from fabricated import MISSING, REFUSED, UNRESOLVED, WRONG, Made, change, registration, save, write_diagnosis
from labference.records import folder, strict
from labference.records.reader import RecordError
from labference.score import bootstrap
from labference.score.bootstrap import Cluster, clustered, interval
from labference.score.campaign import IdentityError
from labference.score.diagnosis import DIAGNOSIS, check_comparable, find_diagnoses, read_diagnosis, start_folder
from labference.score.finding import Findings, findings, sentences
from labference.score.gain import Gain, contrasts
from labference.score.interfaces import interface_tests
from labference.score.pairs import paired
from labference.score.rate import Bounds, Rate
from labference.truth.diagnosis import BRANCHES, Pair

JOINT = "decision:replace+geometry:replace"
PROPERTY = settings(max_examples=25, deadline=None)


# --- intervals

CLUSTERS = st.lists(
    st.integers(1, 6).flatmap(lambda size: st.tuples(st.integers(0, size), st.just(size))), min_size=1, max_size=30
)


@PROPERTY
@given(CLUSTERS)
def test_the_cluster_interval_contains_the_rate_and_stays_between_nothing_and_everything(
    pairs: list[tuple[int, int]],
) -> None:
    clusters = tuple(Cluster(total, size) for total, size in pairs)
    found = interval(clusters, 0.0, 1.0)
    value = sum(total for total, _ in pairs) / sum(size for _, size in pairs)
    assert found is not None
    assert 0 <= found.low <= value + 1e-12 and value - 1e-12 <= found.high <= 1


@PROPERTY
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=2, max_size=40))
def test_the_interval_of_the_opposite_contrast_is_the_mirror_image(values: list[float]) -> None:
    one = interval(bootstrap.clusters(values, range(len(values))), -1, 1)
    other = interval(bootstrap.clusters([-value for value in values], range(len(values))), -1, 1)
    assert one is not None and other is not None
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=0.02)


def test_the_interval_is_the_normal_one_where_there_is_much_to_resample() -> None:
    values = np.random.default_rng(3).normal(0.3, 1.0, 2000)
    found = interval(bootstrap.clusters(list(values), range(2000)), -math.inf, math.inf)
    half = 1.96 * values.std() / math.sqrt(2000)
    assert found == pytest.approx((values.mean() - half, values.mean() + half), abs=0.1 * half)


def test_the_same_records_give_the_same_interval() -> None:
    clusters = tuple(Cluster(number % 3, 3) for number in range(40))
    first = interval(clusters, 0.0, 1.0)
    interval.cache_clear()
    assert interval(clusters, 0.0, 1.0) == first


def test_clusters_that_are_all_alike_keep_an_interval() -> None:
    """A bootstrap of a hundred equal pairs would claim certainty."""
    alike = tuple(Cluster(0, 1) for _ in range(100))
    found = interval(alike, -1, 1)
    wilson = Rate(0, 100).interval
    assert found is not None and wilson is not None and bootstrap.alike(alike)
    assert found == pytest.approx((-wilson.high, wilson.high))
    sure = interval(tuple(Cluster(1, 1) for _ in range(100)), -1, 1)
    assert sure == pytest.approx((1 - 2 * wilson.high, 1.0))
    assert interval((Cluster(1, 1), Cluster(1, 1)), -1, 1) == pytest.approx((-0.315, 1), abs=1e-3), (
        "two pairs say little"
    )


def test_an_empty_population_has_no_interval_and_empty_clusters_do_not_count() -> None:
    assert interval((), 0.0, 1.0) is None and interval((Cluster(0, 0),), 0.0, 1.0) is None
    assert clustered([[], []]).value is None and str(clustered([[]])) == "unavailable (0/0)"
    assert interval((Cluster(1, 2), Cluster(0, 0), Cluster(2, 2)), 0, 1) == interval(
        (Cluster(1, 2), Cluster(2, 2)), 0, 1
    )


# --- gains


@pytest.fixture
def diagnosed(tmp_path: Path) -> Callable[..., Findings]:
    """Return a function that writes a diagnosis, reads it, and returns its findings."""

    def make(
        outcomes: fabricated.Outcomes, starts: int = 20, *, name: str = "out", policy: str = "tested", **more: Any
    ) -> Findings:
        return findings(
            read_diagnosis(write_diagnosis(tmp_path / name, registration(starts, **more), outcomes, policy))
        )

    return make


def gain(found: Findings, support: str, outcome: str) -> Gain:
    entry = found.support(support)
    assert entry is not None
    result = entry.gain(outcome)
    assert result is not None
    return result


def test_a_gain_is_the_mean_paired_difference(diagnosed: Any) -> None:
    def outcomes(number: int, branch: str) -> Made:
        wrong = (branch == "" and number < 5) or (branch == "decision:replace" and number == 19)
        return replace(Made(), choice=not wrong, completion=not wrong)

    found = gain(diagnosed(outcomes), "decision:replace", "choice")
    assert (found.base, found.supported, found.value) == (0.75, 0.95, pytest.approx(0.2))
    assert (found.registered, found.complete) == (20, 20) and not found.alike
    assert found.interval is not None and found.interval.low < 0.2 < found.interval.high


def test_support_helps_where_its_interval_lies_above_zero_and_harms_where_below(diagnosed: Any) -> None:
    def outcomes(number: int, branch: str) -> Made:
        better, worse = branch == "semantic:replace", branch == "skill:replace"
        return replace(Made(), choice=better or (number % 2 == 0 and not worse))

    found = diagnosed(outcomes)
    assert gain(found, "semantic:replace", "choice").helps
    assert gain(found, "skill:replace", "choice").harms
    still = gain(found, "geometry:replace", "choice")
    assert still.value == 0 and still.alike and not still.helps and not still.harms
    said = sentences(found)
    assert "semantic:replace improves choice." in said and "skill:replace harms choice." in said


def test_fewer_failures_are_a_positive_gain(diagnosed: Any) -> None:
    def outcomes(number: int, branch: str) -> Made:
        return replace(Made(), failures=0 if branch == "skill:replace" else 2 + number % 2)

    found = gain(diagnosed(outcomes), "skill:replace", "failures")
    assert (found.base, found.supported, found.value) == (2.5, 0.0, 2.5)
    assert found.helps


@PROPERTY
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_gains_have_the_sign_of_the_difference_whatever_the_outcomes(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[bool, bool]]
) -> None:
    def outcomes(number: int, branch: str) -> Made:
        return replace(Made(), completion=pairs[number][branch != ""], failures=int(pairs[number][branch != ""]))

    out = tmp_path_factory.mktemp("gains") / "out"
    registered = registration(len(pairs), branches=("", "skill:replace"))
    found = findings(read_diagnosis(write_diagnosis(out, registered, outcomes)))
    value = sum(int(two) - int(one) for one, two in pairs) / len(pairs)
    completion, failures = (gain(found, "skill:replace", name) for name in ("completion", "failures"))
    assert completion.value == pytest.approx(value) and failures.value == pytest.approx(-value)
    for entry in (completion, failures):
        assert entry.interval is not None and entry.value is not None
        assert entry.interval.low <= entry.value + 1e-9 and entry.value - 1e-9 <= entry.interval.high


@pytest.mark.parametrize("how", [UNRESOLVED, MISSING])
def test_an_incomplete_population_has_bounds_and_no_gain(diagnosed: Any, how: str) -> None:
    def outcomes(number: int, branch: str) -> Made | str:
        if (number, branch) in ((3, ""), (4, "skill:replace")):
            return how
        return Made() if branch else replace(Made(), completion=number >= 10)

    found = diagnosed(outcomes)
    entry = gain(found, "skill:replace", "completion")
    assert (entry.complete, entry.value, entry.interval, entry.helps) == (18, None, None, False)
    # Eight known gains, a base that can still be anything (0..1), and a supported branch that can (0..1).
    assert entry.bounds == pytest.approx((8 / 20, 10 / 20))
    assert gain(found, "skill:replace", "failures").bounds is None, "counts have no limits"
    support = found.support("skill:replace")
    assert support.status == "incomplete" and support.missing == (1, 1)
    assert (found.missing, found.completed) == (1, Bounds(10, 1, 20))
    assert any("no outcome yet" in said for said in sentences(found))


def test_a_support_that_the_system_does_not_offer_has_a_status_and_no_numbers(diagnosed: Any) -> None:
    found = diagnosed(lambda _, branch: REFUSED if "geometry" in branch else Made(), 40)
    for name in ("geometry:replace", JOINT):
        support = found.support(name)
        assert support.status == "unsupported" and support.gains == () and "no interface" in support.sentence
    assert found.support("decision:replace").status == "complete"
    assert found.contrasts == {}
    assert found.tests.of("skill").verdict == "unsupported" and found.tests.of("geometry").verdict == "passes"
    assert found.diagnosis.unfinished == 0


def test_the_interaction_is_what_joint_support_does_beyond_the_sum(diagnosed: Any) -> None:
    """Completion needs both: each support alone does nothing."""

    def outcomes(number: int, branch: str) -> Made:
        return replace(Made(), completion=branch == JOINT, failures=0 if branch == JOINT else 1)

    found = diagnosed(outcomes).contrasts[JOINT]
    by_name = {entry.outcome: entry for entry in found}
    assert by_name["completion"].value == 1.0 and by_name["completion"].helps
    assert by_name["failures"].value == 1.0
    assert by_name["choice"].value == 0.0 and not by_name["choice"].helps


def test_additive_supports_do_not_interact(diagnosed: Any) -> None:
    def outcomes(number: int, branch: str) -> Made:
        return replace(Made(), failures=3 - ("decision" in branch) - ("geometry" in branch))

    assert {entry.outcome: entry.value for entry in diagnosed(outcomes).contrasts[JOINT]}["failures"] == 0.0


def test_an_interaction_needs_both_parts(diagnosed: Any) -> None:
    found = diagnosed(lambda *_: Made(), branches=("", "decision:replace", JOINT), starts=40)
    assert contrasts(found.diagnosis) == {}
    assert [test.verdict for test in found.tests.tests] == ["passes", "untested", "passes", "passes"]


def test_groups_of_starts_stay_together(diagnosed: Any) -> None:
    """Twins that always agree are half as many observations."""

    def outcomes(number: int, branch: str) -> Made:
        return replace(Made(), choice=bool(branch) or random.Random(number // 4).random() < 0.5)

    apart = gain(diagnosed(outcomes, 80, name="apart"), "skill:replace", "choice").interval
    together = gain(diagnosed(outcomes, 80, name="together", together=4), "skill:replace", "choice").interval
    assert apart is not None and together is not None
    assert together.high - together.low > 1.5 * (apart.high - apart.low)


# --- outcomes


def test_only_what_follows_the_handoff_counts(diagnosed: Any) -> None:
    """Every fabricated attempt has a wrong choice and a failure before the handoff."""
    found = diagnosed(lambda *_: Made())
    assert found.correct == Rate(20, 20)
    assert gain(found, "skill:replace", "failures").base == 0.0


def test_a_decision_that_the_prefix_left_open_is_the_systems_own(diagnosed: Any) -> None:
    found = diagnosed(lambda *_: replace(Made(), left=True))
    assert found.correct == Rate(0, 20) and found.identified == Rate(20, 20), "the prefix's own question comes first"
    assert found.subgoal == Rate(0, 20)


def test_no_identifiable_choice_is_not_a_correct_one(diagnosed: Any) -> None:
    found = diagnosed(lambda number, _: replace(Made(), identified=number % 2 == 0, opened=number % 4 != 3))
    assert found.correct == Rate(10, 20) and found.identified == Rate(10, 20)
    assert found.subgoal == Rate(15, 20), "an operation may be confirmed although its choice was not recognised in time"


def test_a_subgoal_counts_for_the_first_decision_only(diagnosed: Any) -> None:
    found = diagnosed(lambda *_: replace(Made(), subgoal=False))
    assert found.subgoal == Rate(0, 20) and found.completion == Rate(20, 20)


# --- interfaces

DAMAGED = {
    "state": replace(Made(), display=110.0),
    "decision": replace(Made(), report=WRONG),
    "geometry": replace(Made(), offset=0.015),
    "skill": replace(Made(), subgoal=False),
}


@pytest.mark.parametrize(("interface", "made"), DAMAGED.items())
def test_the_one_damaged_interface_is_named(diagnosed: Any, interface: str, made: Made) -> None:
    found = diagnosed(lambda *_: made, 40)
    verdicts = {test.interface: test.verdict for test in found.tests.tests}
    assert verdicts == dict.fromkeys(DAMAGED, "passes") | {interface: "fails"}
    word = {"skill": "execution"}.get(interface, interface)
    assert sentences(found)[0] == (
        f"The {word} interface is damaged: its own test fails, and every other interface passes."
    )


def test_a_sound_system_is_called_sound_and_few_starts_say_nothing(diagnosed: Any) -> None:
    assert sentences(diagnosed(lambda *_: Made(), 40))[0] == "Every interface passes its own test."
    few = diagnosed(lambda *_: Made(), 5, name="few")
    assert {test.verdict for test in few.tests.tests} == {"unclear"}
    assert "leave state, decision, geometry and execution open" in sentences(few)[0]


def test_several_damages_are_all_named(diagnosed: Any) -> None:
    found = diagnosed(lambda *_: replace(Made(), display=110.0, offset=0.015), 40)
    assert sentences(found)[0] == "The state and geometry interfaces fail their own tests."


@pytest.mark.parametrize(
    ("offset", "axis", "invalid"),
    [(None, 0.0, 40), (0.001, None, 40), (0.001, 0.3, 0), (0.007, 0.0, 0), (0.005, 0.1, None)],
)
def test_geometry_that_is_invalid_or_far_off_fails(
    diagnosed: Any, offset: float | None, axis: float | None, invalid: int | None
) -> None:
    found = diagnosed(lambda *_: replace(Made(), offset=offset, axis=axis)).tests
    assert found.of("geometry").passed == Rate(20 if invalid is None else 0, 20)
    assert found.geometry is not None
    assert (found.geometry.invalid.count, found.geometry.invalid.population) == (invalid or 0, 40)


def test_a_target_that_was_needed_and_not_stated_fails(diagnosed: Any) -> None:
    found = diagnosed(lambda *_: Made())
    for branch in found.diagnosis.of("decision:replace"):
        path = branch.path / folder.INTERFACES
        lines = strict.read_lines(path)
        for entry in lines:
            entry["misses"] = entry["misses"][:1]
        path.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    geometry = interface_tests(read_diagnosis(found.diagnosis.path))
    assert geometry.of("geometry").passed == Rate(0, 20)
    assert geometry.geometry is not None and str(geometry.geometry.unstated).startswith("50 % (20/40")


def test_errors_are_measured_by_field_and_by_kind_of_target(diagnosed: Any) -> None:
    found = diagnosed(lambda number, _: replace(Made(), display=150.0 + 2 * number, offset=0.001 * (1 + number))).tests
    assert found.state is not None and found.geometry is not None
    fields = {kind: (rate.count, rate.population) for kind, rate in found.state.fields.items()}
    assert fields == {"readout": (1, 20), "condition": (20, 20), "occupancy": (20, 20)}
    assert found.state.readout is not None
    assert (found.state.readout.count, found.state.readout.median) == (20, pytest.approx(19.0))
    for errors in (found.geometry.items, found.geometry.places):
        assert errors is not None and errors.count == 20
        assert (errors.median, errors.most) == (pytest.approx(0.0105), pytest.approx(0.0181))


def test_saying_nothing_at_an_interface_is_not_being_right(diagnosed: Any) -> None:
    found = diagnosed(lambda *_: replace(Made(), stated=False), 40).tests
    assert {test.interface: test.verdict for test in found.tests} == {
        "state": "fails",
        "decision": "fails",
        "geometry": "fails",
        "skill": "passes",
    }
    assert found.of("state").silent == 40 and found.state is None


def test_a_system_without_a_state_interface_is_not_tested_there(tmp_path: Path) -> None:
    out = write_diagnosis(
        tmp_path / "out", registration(20), lambda _, branch: REFUSED if branch else replace(Made(), stated=False)
    )
    for attempt in out.glob("start-*/base/attempt-1"):
        run = strict.read(attempt / folder.RUN)
        save(attempt / folder.RUN, run | {"policy": {"sites": []}})
    found = findings(read_diagnosis(out))
    assert {test.verdict for test in found.tests.tests} == {"unsupported"}
    assert found.correct == Rate(20, 20), "its behaviour is measured all the same"


def test_missing_starts_decide_a_test_only_when_they_cannot_change_it(diagnosed: Any) -> None:
    def outcomes(number: int, branch: str) -> Made | str:
        return MISSING if number >= 90 else replace(Made(), subgoal=number % 2 == 0)

    test = diagnosed(outcomes, 100).tests.of("skill")
    assert (test.passed, test.missing, test.verdict) == (Rate(45, 90), 10, "fails")


def test_delivery_and_agreement_are_counted_apart_from_gain(diagnosed: Any) -> None:
    def outcomes(number: int, branch: str) -> Made:
        return replace(Made(), choice=number % 4 != 0)

    found = diagnosed(outcomes)
    support = found.support(JOINT)
    assert (support.delivered, support.receipts) == (Rate(20, 20), 40)
    assert support.agreement == Rate(15, 20), "what is given need not be taken"
    assert found.support("skill:replace").agreement is None
    assert found.support("decision:replace").gains[0].value == 0.0


# --- pairs

PAIRS = [Pair("state", 0, 1), Pair("state", 2, 3), Pair("state", 4, 5), Pair("geometry", 6, 7), Pair("geometry", 8, 9)]


def test_a_pair_is_correct_when_both_members_are(diagnosed: Any) -> None:
    def outcomes(number: int, branch: str) -> Made:
        return replace(Made(), choice=number != 2, subgoal=number != 9)

    found = diagnosed(outcomes, 10, pairs=PAIRS)
    assert found.state_pairs.correct == Rate(2, 3) and found.state_pairs.bounds == Bounds(2, 0, 3)
    assert found.geometry_pairs.correct == Rate(1, 2), "the same choice has to be realised in both poses"


def test_unresolved_pairs_give_bounds_unless_one_member_decides(diagnosed: Any) -> None:
    def outcomes(number: int, branch: str) -> Made | str:
        if number in (1, 3):
            return UNRESOLVED
        return replace(Made(), choice=number != 2)

    found = paired(diagnosed(outcomes, 10, pairs=PAIRS).diagnosis, "state")
    assert found.bounds == Bounds(successes=1, unresolved=1, planned=3)


def test_localisation_is_compared_in_both_poses_of_a_geometric_pair(diagnosed: Any) -> None:
    """Errors are taken in each member's own scene; what is right before the move has to be right after it."""
    pairs = tuple(Pair("geometry", number, number + 1) for number in (0, 2, 4, 6))
    made = {1: Made(offset=0.02), 3: Made(offset=None), 5: Made(axis=math.pi), 7: UNRESOLVED}

    def outcomes(number: int, branch: str) -> Made | str:
        return made.get(number, Made(offset=0.001, axis=0.01))

    found = diagnosed(outcomes, starts=8, pairs=pairs).moved
    assert found.located.correct == Rate(0, 4) and found.located.bounds == Bounds(0, 1, 4)
    assert found.one == (0.001,) * 4 and found.two == (0.02, 0.02, 0.001, 0.001), "two targets of each pair"
    assert found.axes == (0.01, 0.0, 0.01, 0.0, 0.01, math.pi, 0.01, math.pi)
    sound = diagnosed(lambda number, branch: Made(), starts=8, pairs=pairs, name="sound").moved
    assert sound.located.correct == Rate(4, 4) and len(sound.one) == len(sound.two) == 8


def test_without_registered_pairs_there_is_no_rate(diagnosed: Any) -> None:
    found = diagnosed(lambda *_: Made())
    assert found.state_pairs.bounds is None and found.state_pairs.correct.value is None


# --- what belongs together


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return write_diagnosis(tmp_path / "out", registration(3), lambda *_: Made())


@pytest.mark.parametrize(
    "field",
    ["version", "contract", "assets", "policy", "sensors", "action", "physics", "faults", "history", "campaign"],
)
def test_branches_that_differ_are_not_matched_and_the_field_is_named(written: Path, field: str) -> None:
    change(written / "start-0001" / "skill-replace" / "attempt-1", **{field: "another"})
    with pytest.raises(IdentityError, match=rf"differ in {field}: .*start 1 skill-replace has 'another'"):
        read_diagnosis(written)


@pytest.mark.parametrize("field", ["layout", "seeds", "budget", "checkpoint", "handoff"])
def test_branches_of_a_start_that_did_not_begin_alike_are_not_matched(tmp_path: Path, field: str) -> None:
    written = write_diagnosis(tmp_path / "out", registration(3, operations=1), lambda *_: Made())
    read_diagnosis(written)
    change(written / "start-0002" / "geometry-replace" / "attempt-1", **{field: 77})
    with pytest.raises(IdentityError, match=rf"differ in {field}: .*start 2 geometry-replace has '?77"):
        read_diagnosis(written)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("instance", "another"),
        ("index", 9),
        ("intervention", "decision:assist"),
        ("version", "2"),
        ("instances", "x"),
        ("budget", 5),
    ],
)
def test_branches_that_were_not_registered_so_are_refused(written: Path, field: str, value: Any) -> None:
    for attempt in written.glob("start-*/*/attempt-1"):
        change(attempt, **{field: value})
    with pytest.raises(IdentityError, match=f"has {field} .*{value}.*registered is"):
        read_diagnosis(written)


def test_a_registration_that_was_changed_afterwards_is_refused(written: Path) -> None:
    record = strict.read(written / DIAGNOSIS)
    record["registration"]["starts"].pop()
    save(written / DIAGNOSIS, record)
    with pytest.raises(IdentityError, match="changed after it was registered"):
        read_diagnosis(written)


@pytest.mark.parametrize("damage", ["no handoff", "torn", "no registration"])
def test_a_damaged_record_is_named(written: Path, damage: str) -> None:
    attempt = written / "start-0000" / "base" / "attempt-1"
    if damage == "no handoff":
        run = strict.read(attempt / folder.RUN)
        del run["handoff"]
        save(attempt / folder.RUN, run)
    elif damage == "torn":
        (attempt / folder.SCORES).write_text("{")
    else:
        save(written / DIAGNOSIS, {"policy": "tested"})
    with pytest.raises(RecordError, match=r"base lacks or garbles|holds no registration"):
        read_diagnosis(written)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (registration(4), "3 and 4 starts"),
        (registration(3, split="development"), "split 'held-out' and 'development'"),
        (registration(3, branches=BRANCHES[:3]), "branches"),
        (registration(3, budget=5), "budget 900 and 5"),
        (registration(3, together=2), "starts, from entry 1"),
    ],
)
def test_diagnoses_of_different_registrations_are_not_compared(
    written: Path, tmp_path: Path, other: Any, said: str
) -> None:
    second = write_diagnosis(tmp_path / "other", other, lambda *_: Made())
    with pytest.raises(IdentityError, match=f"different registrations: .*{said}"):
        check_comparable([read_diagnosis(written), read_diagnosis(second)])


@pytest.mark.parametrize("field", ["assets", "physics", "rendering", "evaluation"])
def test_diagnoses_of_different_laboratories_are_not_compared(written: Path, tmp_path: Path, field: str) -> None:
    second = write_diagnosis(tmp_path / "other", registration(3), lambda *_: Made(), identity={field: "another"})
    with pytest.raises(IdentityError, match=f"differ in {field}: .*'another'"):
        check_comparable([read_diagnosis(written), read_diagnosis(second)])


def test_systems_with_different_checkpoints_are_not_compared(written: Path, tmp_path: Path) -> None:
    second = write_diagnosis(tmp_path / "other", registration(3), lambda *_: Made(), "other")
    check_comparable(find_diagnoses(tmp_path))
    for attempt in start_folder(second, 1).glob("*/attempt-1"):
        change(attempt, checkpoint="another")
    with pytest.raises(IdentityError, match="checkpoint of start 1"):
        check_comparable([read_diagnosis(written), read_diagnosis(second)])


def test_development_starts_are_called_so(diagnosed: Any) -> None:
    assert "development instances" in sentences(diagnosed(lambda *_: Made(), split="development"))[-1]
    assert not any("development" in said for said in sentences(diagnosed(lambda *_: Made(), name="held-out")))


def test_the_newest_finished_attempt_of_a_branch_counts(written: Path) -> None:
    base = written / "start-0000" / "base"
    (base / "attempt-2").mkdir()
    assert read_diagnosis(written).branches["", 0].path == base / "attempt-1"


def test_a_folder_without_a_diagnosis_says_what_to_give(tmp_path: Path) -> None:
    for read in (read_diagnosis, find_diagnoses):
        with pytest.raises(RecordError, match="labference diagnose"):
            read(tmp_path)
