"""The honest reader: its arithmetic as properties, and one whole episode."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labference.bench.laboratory import Result
from labference.policies import make_policy
from labference.policies.subset import best_subset, next_correction
from labference.policies.weighing_by_sight import facts_of, read_target, wanted_subset
from labference.sight import Item, Naming, Seen, Shown, WeighingView
from labference.tasks import find_task
from labference.wire import PROFILES, Fact, Goal, Refusal

STANDARDS = (10, 20, 50, 100)
subsets = st.frozensets(st.sampled_from(STANDARDS))
masses = st.integers(0, 2400).map(lambda tenths: tenths / 10)


def view_of(on_pan: frozenset[int], shown: Shown | None) -> WeighingView:
    item = Item((0.4, 0.0), 0.0, 0.01, 0.03, 0.01, True, 0.0, 0.02)
    seen = [Seen(item, "pan" if grams in on_pan else "table", Naming(grams, 1.0, "label")) for grams in STANDARDS]
    return WeighingView(None, tuple(seen), shown)


@given(subsets, st.floats(-1.0, 1.0))
def test_the_subset_behind_a_sum_is_found_from_a_reading_within_tolerance(meant: frozenset[int], off: float) -> None:
    found, error = best_subset(sum(meant) + off, STANDARDS)
    assert found == meant
    assert error == pytest.approx(abs(off))


def wanted(view: WeighingView, target: float) -> frozenset[int] | None:
    """Return what belongs on the pan, by the facts that a look reports."""
    facts = {fact.name: fact.value for fact in facts_of(view)}
    standards = [grams for grams in STANDARDS if f"{grams} g" in facts]
    on_pan = frozenset(grams for grams in standards if facts[f"{grams} g"] == "pan")
    return wanted_subset(facts, on_pan, standards, target)


@given(st.floats(-300, 300), subsets)
def test_no_other_subset_is_nearer(sought: float, standards: frozenset[int]) -> None:
    found, error = best_subset(sought, standards)
    assert found <= standards
    for size in range(len(standards) + 1):
        for other in itertools.combinations(standards, size):
            assert error <= abs(sought - sum(other)) + 1e-9


@given(subsets, subsets)
def test_corrections_lead_to_the_wanted_subset_with_removals_first(
    start: frozenset[int], meant: frozenset[int]
) -> None:
    on_pan, moves = start, []
    while (grams := next_correction(on_pan, meant)) is not None:
        moves.append(grams in on_pan)
        on_pan = on_pan ^ {grams}
    assert on_pan == meant
    assert len(moves) == len(start ^ meant)
    assert moves == sorted(moves, reverse=True)


@given(subsets, subsets, masses)
def test_the_wanted_subset_follows_from_display_and_labels(
    start: frozenset[int], meant: frozenset[int], sample: float
) -> None:
    view = view_of(start, Shown(round(sample + sum(start), 1), "ok", stable=True))
    assert wanted(view, sample + sum(meant)) == meant


@pytest.mark.parametrize("shown", [None, Shown(90.0, "ok", stable=False), Shown(None, "overload", stable=False)])
def test_nothing_is_wanted_without_a_stable_number(shown: Shown | None) -> None:
    assert wanted(view_of(frozenset(), shown), 100.0) is None


def test_nothing_is_wanted_where_no_subset_fits() -> None:
    assert wanted(view_of(frozenset(), Shown(90.0, "ok", stable=True)), 95.0) is None


@pytest.mark.parametrize("task", ["weighing-basic", "weighing-extended"])
def test_the_target_is_read_from_the_goal(task: str) -> None:
    contract = find_task(task)
    for kind in contract.strata():
        instance = contract.sample(kind, np.random.default_rng(0))
        assert read_target(contract.goal(instance).instruction) == kind.target == instance.target


def test_an_instruction_without_target_is_refused() -> None:
    with pytest.raises(Refusal, match="finds no target in 'Pour the blue liquid'"):
        read_target("Pour the blue liquid")


@pytest.mark.parametrize("name", ["reader", "favourite", "random"])
def test_the_eyes_are_cameras_and_nothing_else(name: str) -> None:
    capabilities = make_policy(name, seed=0).open()
    assert capabilities.name == name
    wanted = {*capabilities.cameras, *capabilities.optional}
    assert wanted in ({"labels", "pan", "display"}, {"labels", "pan", "display", "above"})
    assert capabilities.depth
    assert not capabilities.readings


def decisions(result: Result) -> list[dict[str, Any]]:
    assert result.status == "scored", result.sentence
    scores = json.loads((result.path / "scores.json").read_text())
    return list(scores["verdict"]["decisions"])


def test_the_reader_completes_an_episode(attempt: Callable[..., Any]) -> None:
    result = attempt("reader", budget=400).result
    assert result.reason == "completed"
    assert [decision["correct"] for decision in decisions(result) if decision["physical"]] == [True]


def test_the_favourite_moves_fifty_grams_whatever_is_asked(attempt: Callable[..., Any]) -> None:
    first, *_ = decisions(attempt("favourite", budget=180).result)
    assert (first["choice"]["kind"], first["choice"]["item"]) == ("add", "50 g")


def test_a_random_policy_repeats_its_draw_after_a_reset() -> None:
    goal, spec, states = Goal("Bring the balance to 160.0 g.", (), (), ()), PROFILES["joint"], []
    facts = tuple(Fact(f"{grams} g", "table") for grams in STANDARDS)
    for seed in (3, 3, 4, 5, 6, 7):
        policy = make_policy("random", seed)
        for _ in range(2):
            policy.reset(goal, spec, "")
            states.append((seed, policy._parts.decide(facts, 0.0)))
    assert len(set(states)) == 5
    assert len({operation for _, operation in states}) > 1
