"""Time episodes of the reference executor in both laboratories, in turns, and print how many times faster `fast` is.

    python benchmarks/fidelities.py                         pouring-water, ph and ph-ec: one episode with the arm each
    python benchmarks/fidelities.py --tasks ph --episodes 3
    python benchmarks/fidelities.py --every-step            the simulated arm never passes over time in which it rests

An episode in `fast` is repeated before and after one with the simulated arm, with records and without; its cost is the
smallest, because other work on the machine only adds. Wall time includes waiting for the disk. What the chemistry
engine has found is forgotten before every episode.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from labference.bench import laboratory as bench
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.records.reader import read_run
from labference.truth.identity import EXPERT, FAST, PHYSICS
from labference.world.wet.chemistry import equilibrium
from labference.world.world import World

TASKS = ("pouring-water", "ph", "ph-ec")
REPEATS = 4
"""Episodes in `fast` before, and after, one with the simulated arm."""
AIM = 200.0
"""How many times faster `fast` is meant to be."""


@dataclass(frozen=True)
class Cost:
    """CPU and wall time of an episode, and how long it lasted on the bench [s]."""

    cpu: float
    wall: float
    simulated: float


class Unrecorded:
    """Take what a recorder takes, and keep the scores alone."""

    scores: dict[str, Any]

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        del path, run

    def commit(self, scores: dict[str, Any]) -> None:
        Unrecorded.scores = scores

    def close(self) -> dict[str, str]:
        return {}

    def nothing(self, *given: object) -> None:
        del given

    block = events = observation = act = interface = request = online = video = adopt = nothing


@contextmanager
def unrecorded() -> Iterator[None]:
    """Leave no records below."""
    with patch.object(bench, "Recorder", Unrecorded), patch.object(bench, "write_atomically", lambda *a, **b: None):
        yield


def attempt(laboratory: Laboratory, index: int, *, recorded: bool = True) -> Cost:
    """Run one episode of the reference executor, which must end as it should."""
    equilibrium.cache_clear()
    plan = Plan(laboratory.contract.name, EXPERT, index + 1, fidelity=laboratory.fidelity)
    with tempfile.TemporaryDirectory() as folder, nullcontext() if recorded else unrecorded():
        wall, cpu = time.perf_counter(), time.process_time()
        result = laboratory.attempt(plan, index, Path(folder))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        scores = read_run(result.path).scores if recorded else Unrecorded.scores
        assert scores is not None and scores["reason"] == "completed", result
        return Cost(cpu, wall, float(scores["simulated_s"]))


def least(costs: list[Cost]) -> Cost:
    """Return the smallest times."""
    return Cost(min(cost.cpu for cost in costs), min(cost.wall for cost in costs), costs[0].simulated)


def mean(costs: list[Cost]) -> Cost:
    """Return the mean over episodes."""
    return Cost(*(fmean(values) for values in zip(*((c.cpu, c.wall, c.simulated) for c in costs), strict=True)))


def compare(task: str, episodes: int, *, every_step: bool) -> tuple[Cost, Cost, Cost]:
    """Return the mean costs with the arm, in `fast`, and in `fast` without records."""
    arm, fast = Laboratory(task, fidelity=PHYSICS), Laboratory(task, fidelity=FAST)
    attempt(fast, 0)  # loads what is loaded once
    found: tuple[list[Cost], list[Cost], list[Cost]] = ([], [], [])
    for index in range(episodes):
        quick = [attempt(fast, index) for _ in range(REPEATS)]
        bare = [attempt(fast, index, recorded=False) for _ in range(REPEATS)]
        with patch.object(World, "longest", 1) if every_step else nullcontext():
            found[0].append(attempt(arm, index))
        quick += [attempt(fast, index) for _ in range(REPEATS)]
        bare += [attempt(fast, index, recorded=False) for _ in range(REPEATS)]
        found[1].append(least(quick))
        found[2].append(least(bare))
    slow, quick_, bare_ = (mean(costs) for costs in found)
    return slow, quick_, bare_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=TASKS, help="tasks that run in both laboratories")
    parser.add_argument("--episodes", type=int, default=1, help="episodes of each task with the simulated arm")
    parser.add_argument("--every-step", action="store_true", help="let the arm simulate time in which it rests, too")
    arguments = parser.parse_args()
    table = Table("task", "laboratory", "CPU [ms]", "wall [ms]", "simulated [s]", "CPU [ms/s]", f"faster (aim {AIM:g})")
    for task in arguments.tasks:
        slow, *others = compare(task, arguments.episodes, every_step=arguments.every_step)
        table.add_row(task, PHYSICS, *numbers(slow), "")
        for name, cost in zip((FAST, f"{FAST}, no records"), others, strict=True):
            per_second = slow.cpu / slow.simulated / (cost.cpu / cost.simulated)
            table.add_row("", name, *numbers(cost), f"{slow.cpu / cost.cpu:.0f} x; per second {per_second:.0f} x")
    Console().print(table)


def numbers(cost: Cost) -> tuple[str, ...]:
    """Return the columns of one line."""
    per_second = 1e3 * cost.cpu / cost.simulated
    return f"{1e3 * cost.cpu:.1f}", f"{1e3 * cost.wall:.1f}", f"{cost.simulated:.1f}", f"{per_second:.3f}"


if __name__ == "__main__":
    main()
