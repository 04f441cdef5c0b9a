"""Run the controllers of the wet bench in the fast laboratory; print what they reach, with intervals.

python benchmarks/wet_controllers.py                    30 episodes per cell, campaign seed 0
python benchmarks/wet_controllers.py --episodes 100 --seed 7
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.records.reader import Run, read_run
from labference.score.rate import Rate
from labference.truth.identity import FAST

POURS = (("pouring-water", "table-1"), ("pouring-water", "figure-6"))
POURERS = ("fixed_pd", "adaptive_pd", "best_pd", "expert")
DOSES = (("ph", "paper"), ("ph", ""), ("ph-ec", "paper"), ("ph-ec", ""))
DOSERS = ("act", "secant", "expert")


@dataclass(frozen=True)
class Cell:
    """What one system did with one population: one entry per episode."""

    valid: list[bool]
    errors: list[float]
    additions: list[int]
    grams: list[float]
    seconds: list[float]
    cost: float


def measure(task: str, instances: str, policy: str, episodes: int, seed: int, out: Path) -> Cell:
    """Run a population; return what came of it, and the CPU time of an episode [s]."""
    laboratory = Laboratory(task, fidelity=FAST)
    plan = Plan(task, policy, episodes, seed, instances=instances, fidelity=FAST)
    began = time.process_time()
    runs = [read_run(laboratory.attempt(plan, index, out / policy).path) for index in range(episodes)]
    cost = (time.process_time() - began) / episodes
    poured = [_poured(run) for run in runs]
    return Cell(
        [bool(run.scores and run.scores["verdict"]["valid"]) for run in runs],
        [sum(grams) - run.run["instance"]["kind"].get("amount", 0.0) for run, grams in zip(runs, poured, strict=True)],
        [len(grams) for grams in poured],
        [sum(grams) for grams in poured],
        [run.scores["simulated_s"] if run.scores else np.nan for run in runs],
        cost,
    )


def _poured(run: Run) -> list[float]:
    events = run.lines("events.jsonl")
    return [event["grams"] for event in events if event["event"] == "Transferred" and event["vessel"] == "beaker"]


def mean(values: list[float] | list[int], digits: int = 2) -> str:
    """Return mean and half its 95 % interval."""
    found = np.array(values, float)
    half = 1.96 * found.std(ddof=1) / np.sqrt(len(found))
    return f"{found.mean():.{digits}f} ± {half:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    console = Console(width=150)
    pouring = Table(title=f"Pouring, {options.episodes} episodes per row, seed {options.seed}, fast")
    for heading in ("instances", "system", "MAE in g", "SD in g", "time in s", "valid", "CPU per episode in ms"):
        pouring.add_column(heading, no_wrap=True)
    dosing = Table(title=f"Dosing, {options.episodes} episodes per row, seed {options.seed}, fast")
    for heading in ("instances", "system", "valid", "additions", "poured in g", "time in min", "CPU per episode in ms"):
        dosing.add_column(heading, no_wrap=True)
    for table, populations, systems in ((pouring, POURS, POURERS), (dosing, DOSES, DOSERS)):
        for task, instances in populations:
            for policy in systems:
                with tempfile.TemporaryDirectory() as folder:
                    cell = measure(task, instances, policy, options.episodes, options.seed, Path(folder))
                name = f"{task} {instances}".strip()
                valid = str(Rate(sum(cell.valid), len(cell.valid)))
                cost = f"{1000 * cell.cost:.0f}"
                if table is pouring:
                    errors = [abs(error) for error in cell.errors]
                    deviation = f"{np.std(cell.errors, ddof=1):.3f}"
                    table.add_row(name, policy, mean(errors, 3), deviation, mean(cell.seconds, 1), valid, cost)
                else:
                    minutes = [seconds / 60 for seconds in cell.seconds]
                    numbers = (mean(cell.additions, 1), mean(cell.grams, 1), mean(minutes, 1))
                    table.add_row(name, policy, valid, *numbers, cost)
        console.print(table)


if __name__ == "__main__":
    main()
