"""What wet tasks are measured by, in scores and pictures, recomputed from records."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labference.bench import campaign
from labference.bench.plan import Plan
from labference.records.reader import Run, read_run
from labference.report.episode import Shown, episode_view
from labference.report.levels import MANY, sections
from labference.report.timeline import timeline
from labference.report.trace import read_traces
from labference.score.campaign import read_campaign
from labference.score.quantities import Mean
from labference.score.summary import Summary, summarise
from labference.truth.identity import FAST


@pytest.fixture(scope="module")
def wet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("phreeqc", reason="the wet lab needs the extra wetlab")
    out: Path = tmp_path_factory.mktemp("wet")
    for task, policy in (("pouring-water", "best_pd"), ("ph", "expert"), ("ph-ec", "act")):
        list(campaign.run(Plan(task, policy, 3, seed=6, fidelity=FAST, transport="in-process"), out / task, 1))
    return out


def first(wet: Path, task: str) -> Run:
    return read_run(wet / task / "episode-0000" / "attempt-1")


def told(wet: Path, task: str) -> Summary:
    return summarise(read_campaign(wet / task))


def test_a_pour_is_measured_by_what_truly_arrived(wet: Path) -> None:
    run = first(wet, "pouring-water")
    vessel = run.channels.vessels.index("beaker")
    masses = [block.liquid[vessel] * 1e-6 for block in run.blocks()]
    instance = run.run["instance"]
    errors = told(wet, "pouring-water").quantities["error [g]"]
    poured = masses[-1] - instance["begun"]
    assert errors.values[0] == pytest.approx(poured - instance["kind"]["amount"], abs=2e-5)
    absolute = told(wet, "pouring-water").quantities["absolute error [g]"]
    assert absolute.values == tuple(map(abs, errors.values))


def test_dosing_is_measured_by_additions_and_by_the_last_reading_that_counts(wet: Path) -> None:
    found = told(wet, "ph").quantities
    assert {"additions", "poured [g]", "error [pH]", "time [s]"} <= set(found) and "error [uS/cm]" not in found
    assert all(abs(value) <= 0.2001 for value in found["error [pH]"].values), (
        "the expert completes within the tolerance"
    )
    unread = told(wet, "ph-ec").quantities
    assert "error [pH]" not in unread, "who stops without a reading after the last dose has measured nothing"
    assert unread["additions"].values == (1.0, 1.0, 1.0)


def test_many_decisions_are_one_row_each_and_quantities_have_rows(wet: Path) -> None:
    shown = {section.name: section for section in sections([told(wet, "ph")])}
    assert len(shown["Decisions"].rows) <= MANY and not any(name.startswith("Decision:") for name in shown)
    assert "additions" in [row.label for row in shown["Measured"].rows]
    assert "error [pH], SD" in [row.label for row in shown["Measured"].rows]
    few = {section.name for section in sections([told(wet, "pouring-water")])}
    assert "Decision: pour" in few and "Decisions" not in few


def test_meters_are_drawn_while_they_are_in_a_liquid_with_what_was_asked(wet: Path) -> None:
    run = first(wet, "ph")
    load, ph, ec = read_traces(run)
    assert (load.name, ph.name, ec.name) == ("balance", "meter pH", "meter EC")
    assert np.isnan(ph.value).any() and np.nanmin(ph.value) > 0 and np.nanmax(ph.value) < 14
    picture = timeline(run, (load, ph, ec))
    assert picture.panels[1].target is not None
    assert picture.panels[1].target.text == f"target {run.run['instance']['kind']['ph']:g}"
    assert picture.panels[2].target is None, "nobody asked for a conductivity"
    marks = [mark.kind for mark in picture.lanes[1].marks]
    assert marks.count("poured") == 1
    assert marks.count("measured") == 2, "once before and once after, however often it settles"


def test_a_pour_is_drawn_with_its_tilt(wet: Path) -> None:
    run = first(wet, "pouring-water")
    load, tilt = read_traces(run)
    assert tilt.name == "tilt" and 60 < tilt.value.max() < 100 and tilt.value[0] < 1
    rises = tilt.time[np.argmax(tilt.value)]
    assert load.value[load.time < rises - 12].max() < load.value[-1] - 1, "what flowed, flowed while it leaned"
    view = episode_view(wet / "pouring-water" / "episode-0000", 0, "e", wet / "page.html", Shown(True, False))
    assert view.timeline is not None and len(view.timeline.panels) == 2


def test_a_tared_balance_is_drawn_from_zero_on(tmp_path: Path) -> None:
    pytest.importorskip("phreeqc", reason="the wet lab needs the extra wetlab")
    plan = Plan("pouring-water", "expert", 2, seed=6, instances="twins", fidelity=FAST, transport="in-process")
    list(campaign.run(plan, tmp_path, 1))
    runs = [read_run(tmp_path / f"episode-000{index}" / "attempt-1") for index in range(2)]
    begun = next(run for run in runs if run.run["instance"]["begun"] > 0)
    load, _ = read_traces(begun)
    shown = next(event["grams"] for event in begun.lines("events.jsonl") if event["event"] == "Weighed")
    assert load.value[0] == pytest.approx(shown, abs=0.1) and shown > 5
    assert load.value[-1] == pytest.approx(begun.run["instance"]["kind"]["amount"], abs=0.3)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_a_mean_and_its_interval_agree_with_numpy(values: list[float]) -> None:
    found = Mean(tuple(values))
    assert found.mean == pytest.approx(np.mean(values), abs=1e-6)
    assert found.deviation == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-6)
    assert found.half is not None and found.half >= 0 and str(found)


def test_a_mean_over_nobody_is_unavailable_and_over_one_has_no_interval() -> None:
    assert Mean(()).mean is None and str(Mean(())) == "unavailable (0)"
    assert Mean((2.0,)).half is None and str(Mean((2.0,))) == "2.0 (1)"
    assert str(Mean((1.0, 3.0))) == "2.0 ± 12.7 (2)"
    assert math.isclose(Mean((1.0, 3.0)).half or 0.0, 12.706, rel_tol=1e-3)
