"""Measure what a policy call costs over every wire, beside the same call in process in the same minute.

    python benchmarks/wires.py

The observation is what the reader is shown: three cameras, RGB-D. Delivering it, which copies it through the codec, is
part of every call. Ratios are medians of neighbouring rounds, because a shared machine is now fast and now slow.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from labference.bench.deliver import Courier
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.policies import make_policy
from labference.policies.remote import process
from labference.sight import CAMERAS
from labference.truth.draw import draw, lay_out
from labference.wire import JOINT, Goal, Policy, Senses

TASK, SYSTEM = "weighing-basic", "reader"
CALLS, ROUNDS = 20, 9
EPISODES = 5
ISOLATION = 1.10
"""How much dearer a reader's episode may be with the reader in a process of its own."""
GOAL = Goal("Weigh.", ("wait",), (), ())


@dataclass(frozen=True)
class Wire:
    """A way to a policy, opened for a session."""

    name: str
    policy: Policy


def call_s(policy: Policy, senses: Senses) -> float:
    """Return the wall time of delivering an observation to a policy and having its answer, mean of `CALLS` [s]."""
    courier = Courier(GOAL)
    began = time.perf_counter()
    for _ in range(CALLS):
        policy.act(courier.deliver(senses).observation)
    return (time.perf_counter() - began) / CALLS


@contextmanager
def served(*more: str) -> Iterator[str]:
    """Serve a policy that waits in a process, as a user does, and yield the address."""
    command = [sys.executable, "-c", "from labference.cli import main; main()", "serve", "still", "--port", "0", *more]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        yield child.stdout.readline().strip()
    finally:
        child.kill()
        child.communicate()


def begun(name: str, policy: Policy) -> Wire:
    """Return a wire with a session under way."""
    policy.open()
    policy.reset(GOAL, JOINT, name)
    return Wire(name, policy)


@contextmanager
def wires() -> Iterator[list[Wire]]:
    """Yield every wire to a policy that waits, the one in process first."""
    with served() as address, served("--over", "openpi") as openpi, served("--over", "vla-eval") as vla_eval:
        found = [
            begun("in-process", make_policy("still", 0)),
            begun("process", make_policy("still", 0, isolated=True)),
            begun("http-json", make_policy(f"{address}?format=json", 0)),
            begun("http-msgpack", make_policy(f"{address}?format=msgpack", 0)),
            begun("openpi", make_policy(openpi, 0)),
            begun("vla-eval", make_policy(vla_eval, 0)),
        ]
        try:
            yield found
        finally:
            for wire in found:
                wire.policy.close()
            process.dismiss()


def calls(senses: Senses) -> list[tuple[str, float, float]]:
    """Return name, least time of a call [s] and median ratio to a call in process, by wire."""
    rows = []
    with wires() as (first, *others):
        here = [call_s(first.policy, senses) for _ in range(ROUNDS)]
        rows.append((first.name, min(here), 1.0))
        for wire in others:
            pairs = [(call_s(wire.policy, senses), call_s(first.policy, senses)) for _ in range(ROUNDS)]
            rows.append((wire.name, min(theirs for theirs, _ in pairs), median(a / b for a, b in pairs)))
    return rows


def episode_s(laboratory: Laboratory, plan: Plan, out: Path) -> float:
    """Return the wall time of an episode, records included [s]."""
    began = time.perf_counter()
    result = laboratory.attempt(plan, 0, out)
    assert result.status == "scored", result.sentence
    return time.perf_counter() - began


def isolation(laboratory: Laboratory) -> float:
    """Return how much dearer a reader's episode is with the reader in a process of its own: median of neighbours."""
    here, apart = Plan(TASK, SYSTEM, 1), Plan(TASK, SYSTEM, 1, transport="process")
    with tempfile.TemporaryDirectory() as folder:
        for plan in (here, apart):  # load what is slow to load
            episode_s(laboratory, plan, Path(folder, "first"))
        ratios = [
            episode_s(laboratory, apart, Path(folder, "apart")) / episode_s(laboratory, here, Path(folder, "here"))
            for _ in range(EPISODES)
        ]
    process.dismiss()
    return median(ratios)


def main() -> None:
    laboratory = Laboratory(TASK)
    instance, seeds = draw(laboratory.contract, 0, 0)
    laboratory.prepare(instance, seeds, lay_out(laboratory.contract, instance, seeds))
    senses = laboratory.world.sense(CAMERAS, depth=True)
    size = sum(frame.rgb.nbytes + frame.depth.nbytes for frame in senses.frames if frame.depth is not None)
    table = Table(
        "wire", "one call", "of a call in process", title=f"{len(CAMERAS)} cameras, {size / 1e6:.1f} MB a call"
    )
    for name, seconds, ratio in calls(senses):
        table.add_row(name, f"{1000 * seconds:.2f} ms", f"{ratio:.2f} x")
    console = Console()
    console.print(table)
    ratio = isolation(laboratory)
    verdict = "" if ratio <= ISOLATION else "  missed"
    console.print(
        f"reader's episode in a process of its own / in process: {ratio:.3f} x (at most {ISOLATION:g} x){verdict}"
    )
    laboratory.world.close()


if __name__ == "__main__":
    main()
