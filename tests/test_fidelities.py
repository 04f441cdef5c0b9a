"""The two wet laboratories beside each other: what a system is offered, chooses and brings about is the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.records.reader import Run, read_run
from labference.tasks import all_tasks
from labference.truth.identity import FAST, PHYSICS
from labference.truth.measurement import MASS
from labference.world.parts.wet_bench import BEAKER

SHARED = [name for name, task in all_tasks().items() if {FAST, PHYSICS} <= set(task.fidelities)]
EPISODES = 2


@pytest.fixture(scope="module", params=SHARED)
def pairs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Run, Run]]:
    """Return the records of the same episodes in the fast laboratory and in physics, by the reference executor."""
    runs: dict[str, list[Run]] = {}
    for fidelity in (FAST, PHYSICS):
        laboratory = Laboratory(request.param, fidelity=fidelity)
        plan = Plan(request.param, "expert", EPISODES, fidelity=fidelity, seed=4)
        out: Path = tmp_path_factory.mktemp(fidelity)
        runs[fidelity] = [read_run(laboratory.attempt(plan, index, out).path) for index in range(EPISODES)]
        laboratory.world.close()
    return list(zip(runs[FAST], runs[PHYSICS], strict=True))


def told(run: Run, *names: str) -> list[dict[str, Any]]:
    return [event for event in run.lines("events.jsonl") if event["event"] in names]


def test_the_same_instances_are_laid_out(pairs):
    for fast, physics in pairs:
        assert fast.run["instance"] == physics.run["instance"] and fast.run["setup"] == physics.run["setup"]
        one, two = fast.channels, physics.channels
        assert replace(one, timestep=two.timestep) == two


def test_the_same_operations_are_legal_chosen_and_confirmed(pairs):
    for fast, physics in pairs:
        for name in ("Performed", "Confirmed"):
            one, two = ([event["operation"] for event in told(run, name)] for run in (fast, physics))
            assert one == two and one
        legal = [[event["legal"] for event in told(run, "Opened") if event["physical"]] for run in (fast, physics)]
        assert [entry for entry in legal[0] if entry in legal[1]] and legal[0][0] == legal[1][0]
        assert told(fast, "Completed") and told(physics, "Completed")


def test_as_much_is_poured_and_nothing_is_spilt(pairs):
    for fast, physics in pairs:
        ends = [list(run.blocks())[-1].liquid * MASS for run in (fast, physics)]
        index = fast.channels.vessels.index(BEAKER)
        assert abs(ends[0][index] - ends[1][index]) < 0.4
        assert ends[0][-1] == ends[1][-1] == 0.0


def test_operations_take_about_as_long(pairs):
    for fast, physics in pairs:
        one, two = (
            {
                begun["operation"]["kind"]: (ended["tick"] - begun["tick"]) * run.channels.timestep
                for begun, ended in zip(told(run, "Performed"), told(run, "Finished"), strict=True)
            }
            for run in (fast, physics)
        )
        for kind, seconds in two.items():
            assert abs(one[kind] - seconds) < (0.35 * seconds if kind == "pour" else 1.0), kind
