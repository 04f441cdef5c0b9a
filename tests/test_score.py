"""Counting: rates with their populations, bounds, and what may be added to what."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labference.records import folder
from labference.records.reader import RecordError
from labference.score import choice
from labference.score.campaign import SHARED, IdentityError, find_campaigns, read_campaign
from labference.score.rate import Bounds, Rate, rate
from labference.score.summary import summarise

ADD, OTHER = ({"kind": "add", "item": item, "place": "pan"} for item in ("10 g", "20 g"))
WAIT = {"kind": "wait", "item": "", "place": ""}


def wilson(count: int, population: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return the score interval by its textbook formula (Wilson 1927)."""
    p, n = count / population, population
    middle, scale = p + z * z / (2 * n), 1 + z * z / n
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / scale, (middle + half) / scale


# --- rates


@pytest.mark.parametrize(
    ("count", "population", "low", "high"),
    [(8, 10, 49.0, 94.3), (0, 10, 0.0, 27.8), (10, 10, 72.2, 100.0), (32, 50, 50.1, 75.9), (1, 1, 20.7, 100.0)],
)
def test_the_interval_is_the_one_of_the_tables(count: int, population: int, low: float, high: float) -> None:
    found = Rate(count, population).interval
    assert found is not None
    assert (round(100 * found.low, 1), round(100 * found.high, 1)) == (low, high)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_wilsons(pair: tuple[int, int]) -> None:
    found = Rate(*pair).interval
    assert found == pytest.approx(wilson(*pair), abs=1e-9)
    assert found is not None and 0 <= found.low <= pair[0] / pair[1] <= found.high <= 1


def test_a_rate_prints_share_numerator_denominator_and_interval() -> None:
    assert str(Rate(8, 10)) == "80 % (8/10, 49–94)"
    assert str(Rate(0, 4)).startswith("0 % (0/4, 0–")


def test_a_rate_over_nobody_is_unavailable_and_not_zero() -> None:
    nobody = Rate(0, 0)
    assert nobody.value is None and nobody.interval is None
    assert str(nobody) == "unavailable (0/0)"
    assert Rate(0, 3).value == 0.0


@pytest.mark.parametrize(("count", "population"), [(-1, 2), (3, 2), (1, 0), (0, -1)])
def test_a_rate_that_cannot_be_is_refused(count: int, population: int) -> None:
    with pytest.raises(ValueError, match=f"{count} in {population}"):
        Rate(count, population)


def test_a_rate_counts_what_is_true() -> None:
    assert rate([True, False, True]) == Rate(2, 3)
    assert rate([]) == Rate(0, 0)


def test_bounds_are_what_is_known_and_what_may_still_come() -> None:
    known = Bounds(successes=3, unresolved=2, planned=10)
    assert (known.low, known.high) == (0.3, 0.5)


# --- choices


def decision(
    chosen: dict[str, str] | None,
    correct: bool | None = None,
    *,
    physical: bool = True,
    report: dict[str, str] | None = None,
    report_correct: bool | None = None,
) -> dict[str, Any]:
    return {
        "physical": physical,
        "choice": chosen,
        "correct": correct,
        "report": report,
        "report_correct": report_correct,
    }


RIGHT, WRONG, NONE = decision(ADD, True), decision(OTHER, False), decision(None)


def counts(found: Rate) -> tuple[int, int]:
    return found.count, found.population


def test_choices_of_one_episode_stay_together_in_their_interval() -> None:
    """Ten episodes of ten equal choices tell as much as ten choices, and not as a hundred."""
    together = choice.all_choices([[RIGHT] * 10] * 5 + [[WRONG] * 10] * 5).correct
    assert counts(together) == (50, 100) and Rate(50, 100).interval is not None
    assert together.interval is not None and together.interval.low < 0.25 < 0.75 < together.interval.high
    apart = choice.all_choices([[RIGHT, WRONG] * 5] * 10).correct.interval
    assert apart is not None and apart.low < 0.5 < apart.high


def test_b_next_and_c_id_share_one_population_and_accuracy_is_their_ratio() -> None:
    found = choice.choices([RIGHT, RIGHT, WRONG, NONE, NONE])
    assert found.correct == Rate(2, 5)
    assert found.identified == Rate(3, 5)
    assert found.accuracy == Rate(2, 3)
    assert found.accuracy.value == pytest.approx(found.correct.value / found.identified.value)  # type: ignore[operator]


def test_accuracy_is_unavailable_where_nothing_was_identified() -> None:
    found = choice.choices([NONE, NONE])
    assert found.correct == Rate(0, 2) and found.identified == Rate(0, 2)
    assert found.accuracy.value is None
    assert choice.choices([]).correct.value is None


def test_reports_have_a_population_and_a_first_answer_of_their_own() -> None:
    stated = decision(None, report=WAIT, report_correct=True, physical=False)
    mistaken = decision(ADD, True, report=OTHER, report_correct=False)
    found = choice.reports([[stated, mistaken], [RIGHT]])
    assert [counts(rate) for rate in (found.correct, found.identified, found.accuracy)] == [(1, 3), (2, 3), (1, 2)]


def test_agreement_counts_only_decisions_with_both_a_word_and_a_deed() -> None:
    same = decision(ADD, True, report=ADD, report_correct=True)
    differs = decision(ADD, True, report=OTHER, report_correct=False)
    silent = decision(ADD, True)
    idle = decision(None, report=ADD, report_correct=True)
    assert counts(choice.agreement([[same, differs], [silent, idle], []])) == (1, 2)


def test_reach_tells_failing_to_arrive_from_failing_to_choose() -> None:
    wait = decision(None, physical=False)
    verdicts = [
        {"decisions": [RIGHT, wait, RIGHT]},
        {"decisions": [RIGHT, WRONG]},
        {"decisions": [RIGHT, NONE]},
        {"decisions": [WRONG]},
        {"decisions": [wait]},
    ]
    _, second = choice.reaches(verdicts, [math.inf] * len(verdicts))
    assert second.reached == Rate(3, 5)
    assert second.correct_of_reached == Rate(1, 3)
    assert second.correct_of_run == Rate(1, 5)
    never = choice.registered(verdicts, "retrieve")
    assert never.reached == Rate(0, 5)
    assert never.correct_of_reached.value is None and never.correct_of_run == Rate(0, 5)


# --- campaigns


def verdict(*decisions: dict[str, Any], valid: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "decisions": list(decisions),
        "physical": valid,
        "valid": valid,
        "clean": False,
        "recovered": False,
        "attempts": 0,
        "correct_attempts": 0,
        "correct_confirmed": 0,
        "violations": [],
        "categories": {"recovery": 0, "early_termination": 0},
        **more,
    }


@pytest.fixture
def campaign(tmp_path: Path) -> Any:
    """Return a function that writes a campaign of hand-made verdicts; None leaves an episode without scores."""

    def write(*verdicts: dict[str, Any] | None, identities: dict[int, dict[str, Any]] | None = None) -> Path:
        condition = {"task": "weighing-basic", "policy": "p"}
        tmp_path.joinpath(folder.CAMPAIGN).write_text(json.dumps({"condition": condition, "episodes": len(verdicts)}))
        for index, entry in enumerate(verdicts):
            attempt = folder.episode_folder(tmp_path, index) / "attempt-1"
            attempt.mkdir(parents=True)
            identity = {field: f"the {field}" for field in SHARED} | (identities or {}).get(index, {})
            clocks = {"model_s": 1.0, "rendering_s": 2.0, "physics_s": 3.0, "wall_s": 7.0}
            score = {"reason": "budget", "reports": False, "identity": identity, "simulated_s": 4.0, "runtime": clocks}
            if entry is not None:
                (attempt / folder.SCORES).write_text(json.dumps(score | {"verdict": entry}))
        return tmp_path

    return write


def test_a_campaign_is_counted_over_its_fixed_population(campaign: Any) -> None:
    path = campaign(
        verdict(RIGHT, valid=True, correct_attempts=1, correct_confirmed=1),
        verdict(WRONG, categories={"recovery": 2, "early_termination": 1}),
        None,
        verdict(NONE, violations=["item_off_bench", "item_off_bench"]),
    )
    found = summarise(read_campaign(path))
    assert (found.planned, found.scored, found.unresolved) == (4, 3, 1)
    assert found.selection == Rate(1, 3)
    assert found.first.identified == Rate(2, 3) and found.first.accuracy == Rate(1, 2)
    assert counts(found.execution) == (1, 1)
    assert found.valid == Rate(1, 3)
    assert found.completion == Bounds(1, 1, 4)
    assert found.violations == {"item_off_bench": 1}
    assert found.categories["recovery"] == (2, 1)
    assert found.runtime is not None and found.runtime.simulated == 4.0


def test_a_campaign_without_a_single_score_is_unavailable_and_no_success(campaign: Any) -> None:
    found = summarise(read_campaign(campaign(None, None)))
    assert found.scored == 0 and found.unresolved == 2
    assert found.valid.value is None and found.selection.value is None and found.runtime is None
    assert (found.completion.low, found.completion.high) == (0.0, 1.0)


@pytest.mark.parametrize("field", SHARED)
def test_episodes_of_different_conditions_are_not_added_and_the_field_is_named(campaign: Any, field: str) -> None:
    path = campaign(verdict(RIGHT), verdict(RIGHT), verdict(RIGHT), identities={2: {field: "another"}})
    with pytest.raises(IdentityError, match=rf"Episodes 0 and 2 .* differ in {field}: .*'another'"):
        read_campaign(path)


def test_the_newest_finished_attempt_counts_and_older_ones_do_not(campaign: Any) -> None:
    path = campaign(verdict(WRONG))
    second = folder.next_attempt(folder.episode_folder(path, 0))
    second.mkdir()
    assert summarise(read_campaign(path)).selection == Rate(0, 1), "an unfinished attempt changes nothing"
    scores = json.loads((path / "episode-0000" / "attempt-1" / folder.SCORES).read_text())
    (second / folder.SCORES).write_text(json.dumps(scores | {"verdict": verdict(RIGHT)}))
    assert summarise(read_campaign(path)).selection == Rate(1, 1)


def test_a_folder_without_a_campaign_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="labference run"):
        read_campaign(tmp_path)
    with pytest.raises(RecordError, match="labference run"):
        find_campaigns(tmp_path)
