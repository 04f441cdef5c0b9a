"""The two wet laboratories beside each other: what a system is offered, chooses and brings about is the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest

from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.records.reader import Run, read_run
from labference.score.audit import audit
from labference.tasks import all_tasks
from labference.truth.identity import FAST, PHYSICS
from labference.truth.measurement import MASS
from labference.world.parts.wet_bench import BEAKER

BUDGETS: dict[str, int | None] = {"pouring-water": None, "pouring-oil": None, "ph": None, "ph-ec": 2400}
"""How many control steps of an episode of each task both laboratories run, None for all: with conductivity, as much as
it takes for a reading to settle."""
BETWEEN = {"pouring-sucrose"}
"""What is left out: a liquid between water and oil."""
PH_OFF, EC_OFF, POURED_OFF_G = 0.10, 8.0, 0.4


@pytest.fixture(scope="module", params=BUDGETS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """Return the records of the same episode in the fast laboratory and in physics, by the reference executor."""
    task, runs = request.param, []
    for fidelity in (FAST, PHYSICS):
        laboratory = Laboratory(task, fidelity=fidelity)
        plan = Plan(task, "expert", 1, fidelity=fidelity, seed=4, budget=BUDGETS[task])
        runs.append(read_run(laboratory.attempt(plan, 0, tmp_path_factory.mktemp(fidelity)).path))
        laboratory.world.close()
    return runs[0], runs[1]


def told(run: Run, *names: str) -> list[dict[str, Any]]:
    return [event for event in run.lines("events.jsonl") if event["event"] in names]


def begun(run: Run) -> list[dict[str, Any]]:
    """Return the operations that were asked for; a balance that has to be read again is none."""
    return [event["operation"] for event in told(run, "Performed") if event["operation"]["kind"] != "weigh"]


def test_every_task_that_both_laboratories_run_is_compared():
    assert set(BUDGETS) | BETWEEN == {
        name for name, task in all_tasks().items() if {FAST, PHYSICS} <= set(task.fidelities)
    }


def test_the_same_instances_are_laid_out(pair):
    fast, physics = pair
    assert fast.run["instance"] == physics.run["instance"] and fast.run["setup"] == physics.run["setup"]
    one, two = fast.channels, physics.channels
    assert replace(one, timestep=two.timestep) == two
    assert fast.run["goal"] == physics.run["goal"]


def test_the_same_operations_are_legal_chosen_and_confirmed(pair):
    fast, physics = pair
    assert begun(fast) == begun(physics) and len(begun(fast)) >= 2
    done = [
        [event["operation"] for event in told(run, "Confirmed") if event["operation"]["kind"] != "weigh"]
        for run in (fast, physics)
    ]
    assert done[0] == done[1] and done[0]
    legal = [
        [entry for entry, _ in groupby(event["legal"] for event in told(run, "Opened"))] for run in (fast, physics)
    ]
    assert len(legal[0]) > 1
    assert [sets for sets in legal[0] if sets[0]["kind"] != "weigh"] == [
        sets for sets in legal[1] if sets[0]["kind"] != "weigh"
    ]
    assert all(event["correct"] for run in (fast, physics) for event in told(run, "Chosen"))


def test_both_complete_and_their_audits_find_nothing(pair):
    for run in pair:
        assert audit(run.path).difference is None
        assert run.scores["reason"] == ("completed" if BUDGETS[run.run["identity"]["task"]] is None else "budget")
        assert not told(run, "Violated", "Dropped", "Fell", "Spilt")


def test_as_much_is_poured_and_nothing_is_spilt(pair):
    fast, physics = pair
    ends = [list(run.blocks())[-1].liquid * MASS for run in (fast, physics)]
    index = fast.channels.vessels.index(BEAKER)
    assert abs(ends[0][index] - ends[1][index]) < POURED_OFF_G
    assert ends[0][-1] == ends[1][-1] == 0.0


def test_a_settled_meter_shows_the_same(pair):
    fast, physics = pair
    last = [
        [event for event in told(run, "Measured") if event["settled"] and event["vessel"] == BEAKER][-1:]
        for run in (fast, physics)
    ]
    assert bool(last[0]) == bool(fast.channels.meters and "measure" in {entry["kind"] for entry in begun(fast)})
    for one, two in zip(*last, strict=True):
        assert abs(one["ph"] - two["ph"]) < PH_OFF and abs(one["ec"] - two["ec"]) < EC_OFF


def test_operations_take_about_as_long(pair):
    fast, physics = pair
    one, two = (
        {
            begun["operation"]["kind"]: (ended["tick"] - begun["tick"]) * run.channels.timestep
            for begun, ended in zip(told(run, "Performed"), told(run, "Finished"), strict=False)
        }
        for run in (fast, physics)
    )
    for kind in one.keys() & two.keys():
        limit = {"pour": 0.35 * two[kind], "stir": 3.0}.get(kind, 1.5)
        assert abs(one[kind] - two[kind]) < limit, kind
