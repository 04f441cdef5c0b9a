"""Measure speed as ratios against something run in the same minute, and print them beside their budgets.

    python benchmarks/run.py                 everything but robosuite
    python benchmarks/run.py --robosuite     also its Lift with a Panda, in an environment of its own (.venv-robosuite)

CPU seconds are the smallest of several rounds, because other work on the machine only ever adds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import mujoco
import numpy as np
from rich.console import Console
from rich.table import Table

from labference.bench.checkpoint import load, referee_at, save
from labference.bench.episode import Episode
from labference.bench.laboratory import Laboratory, Prepared
from labference.bench.plan import Plan
from labference.bench.system import System
from labference.records.recorder import Recorder
from labference.truth.draw import draw, lay_out
from labference.wire import JOINT, Capabilities, Goal, Move, Observation
from labference.wire.panda import HOME
from labference.world.world import Checkpoint

PERIODS, STEPS, ROUNDS = 200, 25, 7
TASKS = ("weighing-basic", "centrifuge-basic", "centrifuge-extended", "recall-extended")
"""Tasks of every family; the others are compared with the first. In the extended ones the environment acts once."""
EPISODES = 4
CONTACT, EPISODE = 2.0, 6.0
"""How much dearer a step, and an episode, of another family may be than of the first one."""
BRANCH = 0.25
"""Largest share of simulating a prefix that restoring its end may cost."""
OPERATIONS = {"centrifuge-basic": 1, "recall-extended": 2}
"""Tasks whose checkpoints are timed, with the length of the prefix."""
HERE = Path(__file__).parent
OTHER = HERE.parent / ".venv-robosuite"


@dataclass(frozen=True)
class Measured:
    what: str
    value: float
    unit: str
    budget: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.budget if self.at_least else self.value <= self.budget


class OneStep:
    """Ask for one command per query, as a policy that is consulted at every step does."""

    def open(self) -> Capabilities:
        return Capabilities("one-step", "1")

    def reset(self, goal: Goal, spec: object, session: str) -> None:
        self._steps = 0

    def act(self, observation: Observation) -> Move:
        return Move(FIRST)

    def close(self) -> None:
        pass


def swing(periods: int) -> np.ndarray:
    """Return a gentle motion of all joints above the bench, (periods, 8)."""
    phase = np.sin(np.arange(periods)[:, None] * 0.05 + np.arange(7))
    joints = np.array(HOME) + phase * np.array([0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.3])
    return np.column_stack([joints, np.full(periods, 0.08)])


FIRST = swing(1)


@dataclass(frozen=True)
class Bench:
    """A laboratory with an instance laid out in it."""

    laboratory: Laboratory
    prepared: Prepared

    @property
    def task(self) -> str:
        return self.laboratory.contract.name


def lay_bench(task: str) -> Bench:
    laboratory = Laboratory(task)
    instance, seeds = draw(laboratory.contract, 0, 0)
    setup = lay_out(laboratory.contract, instance, seeds)
    return Bench(laboratory, laboratory.prepare(instance, seeds, setup))


def judged_s(bench: Bench, start: Checkpoint) -> float:
    """Return the CPU time of `PERIODS` control periods with measuring and judging [s]."""
    laboratory, prepared = bench.laboratory, bench.prepared
    referee = laboratory.prepare(prepared.instance, prepared.seeds, prepared.setup).referee
    laboratory.world.load(start)
    began = time.process_time()
    for command in swing(PERIODS):
        referee.observe(*laboratory.world.step(command, STEPS))
    return time.process_time() - began


def bare_s(bench: Bench, start: Checkpoint) -> float:
    """Return the CPU time of the same controls by `mj_step` alone [s]."""
    world = bench.laboratory.world
    world.load(start)
    model, data = world._model, world._data  # the benchmark looks inside on purpose
    commands = swing(PERIODS)
    force, ramps = commands[0], []
    for command in commands:
        share = np.arange(1, STEPS + 1)[:, None] / STEPS
        ramp = force + share * (command - force)
        ramp[:, 7] = 255.0
        ramps.append(ramp)
        force = command
    began = time.process_time()
    for ramp in ramps:
        for control in ramp:
            data.ctrl[:] = control
            mujoco.mj_step(model, data)
    return time.process_time() - began


def stepping(bench: Bench) -> Measured:
    """Compare measuring and judging with bare `mj_step` of the same model under the same controls."""
    start = bench.laboratory.world.save()
    bare_s(bench, start), judged_s(bench, start)
    # Neighbouring rounds see the same machine, however fast it is at the moment.
    ratio = median(judged_s(bench, start) / bare_s(bench, start) for _ in range(3 * ROUNDS))
    return Measured(f"{bench.task}: measured and judged stepping / bare mj_step", ratio, "x", 1.25)


def contact(bench: Bench, other: Bench) -> Measured:
    """Compare bare `mj_step` of two scenes: what their contacts cost."""
    start, base = bench.laboratory.world.save(), other.laboratory.world.save()
    ratio = median(bare_s(bench, start) / bare_s(other, base) for _ in range(ROUNDS))
    return Measured(f"{bench.task}: bare mj_step / {other.task}'s", ratio, "x", CONTACT)


def policy_step(bench: Bench) -> float:
    """Return the CPU time of one control step of the whole loop at one query per step [s]."""
    laboratory, prepared, costs = bench.laboratory, bench.prepared, []
    for _ in range(ROUNDS):
        ready = laboratory.prepare(prepared.instance, prepared.seeds, prepared.setup)
        with tempfile.TemporaryDirectory() as folder:
            recorder = Recorder(Path(folder, "attempt"), {})
            episode = Episode(
                laboratory.world,
                laboratory.contract,
                ready.instance,
                System(OneStep, "one-step", 60.0),
                JOINT,
                recorder,
                laboratory.arm.increment,
                ready.referee,
                ready.setup,
                budget=PERIODS,
            )
            began = time.process_time()
            episode.run("benchmark")
            costs.append((time.process_time() - began) / PERIODS)
            recorder.close()
    return min(costs)


def expert_episodes(bench: Bench) -> tuple[float, float]:
    """Return the highest speed of the expert's episodes in multiples of real time, and the least time of one [s].

    Both are CPU time, preparation and records included.
    """
    speeds, costs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for index in range(EPISODES):
            began = time.process_time()
            result = bench.laboratory.attempt(Plan(bench.task, "expert", EPISODES), index, Path(folder))
            costs.append(time.process_time() - began)
            simulated = json.loads((result.path / "scores.json").read_text())["simulated_s"]
            speeds.append(simulated / costs[-1])
    return max(speeds), min(costs)


def experts(benches: list[Bench]) -> list[Measured]:
    """Compare the expert's episodes with real time, and their cost with that of the first family's."""
    rows, first = [], 0.0
    for bench in benches:
        speed, cost = expert_episodes(bench)
        first = first or cost
        rows.append(
            Measured(f"{bench.task}: expert episode without cameras / real time", speed, "x", 8.0, at_least=True)
        )
        if bench is not benches[0]:
            rows.append(Measured(f"{bench.task}: expert episode / {benches[0].task}'s", cost / first, "x", EPISODE))
    return rows


def branching(bench: Bench, operations: int) -> Measured:
    """Compare keeping and restoring a checkpoint with simulating its prefix again, which shows no pictures."""
    laboratory, plan, ratios = bench.laboratory, Plan(bench.task, "still", 1), []
    contract, channels = laboratory.contract, laboratory.world.channels
    instance, seeds = draw(contract, plan.seed, 0)
    for _ in range(ROUNDS):
        system = laboratory.system(plan, seeds)
        laboratory.negotiate(plan, system)
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            handoff = laboratory.handoff(plan, 0, system, operations, Path(folder, "prefix"))
            prefix = time.process_time() - began
            began = time.process_time()
            save(handoff, Path(folder))
            found = load(Path(folder), instance, seeds, lay_out(contract, instance, seeds), channels)
            laboratory.world.load(found.world)
            referee_at(found, contract, channels)
            ratios.append((time.process_time() - began) / prefix)
        system.close()
    what = f"{bench.task}: keep and restore a checkpoint / simulate its {operations} operations"
    return Measured(what, median(ratios), "x", BRANCH)


def cold(code: str) -> float:
    """Return the wall time of `code` in a fresh interpreter, less that of an empty one, least of three [s]."""

    def once(source: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", source], check=True, capture_output=True)
        return time.perf_counter() - began

    return min(once(code) - once("pass") for _ in range(3))


FIRST_EPISODE = """
import tempfile
from pathlib import Path
from statistics import median
from labference.bench.campaign import run
from labference.bench.plan import Plan
from labference.bench.system import System
with tempfile.TemporaryDirectory() as folder:
    assert all(result.status == "scored" for result in run(Plan("weighing-basic", "expert", 1), Path(folder, "run")))
"""


def robosuite_step() -> float:
    """Return the CPU time of one control step of robosuite's Lift [s], installing it first if it is not there."""
    python = OTHER / "bin" / "python"
    if not python.exists():
        venv.create(OTHER, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "robosuite==1.5.2", "mujoco==3.3.7"], check=True)
    done = subprocess.run([python, HERE / "robosuite_lift.py"], check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.strip().splitlines()[-1])["policy_step_s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robosuite", action="store_true", help="also time robosuite 1.5.2 (installs it apart)")
    arguments = parser.parse_args()
    first, *others = benches = [lay_bench(task) for task in TASKS]
    rows = [*map(stepping, benches), *(contact(bench, first) for bench in others), *experts(benches)]
    rows += [branching(bench, OPERATIONS[bench.task]) for bench in benches if bench.task in OPERATIONS]
    rows.append(Measured("whole control step at 20 Hz", 1000 * policy_step(first), "ms", 50.0))
    if arguments.robosuite:
        ratio = median(policy_step(first) / robosuite_step() for _ in range(5))
        rows.append(Measured("whole control step / robosuite Lift", ratio, "x", 0.25))
    rows.append(Measured("import labference", cold("import labference"), "s", 0.3))
    rows.append(Measured("first episode of a cold process", cold(FIRST_EPISODE), "s", 6.0))
    table = Table("measured", "value", "budget", "")
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        budget = f"{sign} {row.budget:g} {row.unit}"
        table.add_row(row.what, f"{row.value:.3g} {row.unit}", budget, "" if row.met else "missed")
    Console().print(table)


if __name__ == "__main__":
    main()
