"""What all wet-lab experiments share: run trials as ordinary labference records, learn from them, and go on later.

Every trial is an episode of a registered population, driven by the agent; its transcript lies beside the population.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from typing import Any

from labference.bench.campaign import register
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bench.system import System, answered
from labference.records import folder, strict
from labference.records.strict import write_atomically
from labference.truth.identity import FAST, PlanError
from labference.wire import Policy

from ..agent import Agent
from ..transcript import lines, transcript

TRANSCRIPTS = "transcripts"
Z = NormalDist().inv_cdf(0.975)
TRIES = 3
"""Attempts at a trial that ends with a validity event."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One trial as its records tell it.

    success    the contract's verdict: completed, and no rule of the contract broken
    additions  pours that were carried out
    intercepts proposals that the gate stopped; -1 where the system has no gate
    seconds    simulated time [s]
    poured     what arrived in the beaker, from all pours [g]
    shown      what the balance said last before anything was put back [g], as the agent reads it; nan without
    pour_s     time from the first tilt to the end of the first pour's flow [s]; 0 without
    refused    why the system gave no usable answer; empty where it did
    """

    index: int
    success: bool
    reason: str
    additions: int
    intercepts: int
    seconds: float
    poured: float
    shown: float
    pour_s: float
    path: Path
    refused: str = ""


@lru_cache(maxsize=8)
def laboratory(task: str, fidelity: str = FAST) -> Laboratory:
    """Return the laboratory of a task, one per process."""
    return Laboratory(task, fidelity=fidelity)


def plan_of(task: str, name: str, episodes: int, seed: int, instances: str = "", fidelity: str = FAST) -> Plan:
    """Return the registered population of an experiment, in the fast laboratory unless told otherwise."""
    return Plan(task, name, episodes, seed=seed, instances=instances, fidelity=fidelity)


def play(plan: Plan, index: int, out: Path, make: Callable[[], Policy]) -> tuple[Outcome, Policy | None]:
    """Run trial `index` unless its records are there; return its outcome, and the system that ran it now, if any.

    Raises `PlanError` where it ends with a validity event `TRIES` times.
    """
    register(plan, out, driven=True)
    if (known := _known(index, out)) is not None:
        return known, None
    result = None
    for _ in range(TRIES):
        policy = make()
        system = System(lambda policy=policy: policy, plan.policy, plan.deadline_s)  # type: ignore[misc]
        result = answered(laboratory(plan.task, plan.fidelity).ask(plan, index, out, system), system)
        if result.status == "scored":
            if isinstance(policy, Agent):
                write_transcript(out, index, policy)
            found = _known(index, out)
            assert found is not None
            return found, policy
    raise PlanError(f"Trial {index} of {out} ended with a validity event: {result.sentence if result else ''}")


def _known(index: int, out: Path) -> Outcome | None:
    attempt = folder.finished(folder.episode_folder(out, index))
    return None if attempt is None else outcome(index, attempt, out)


def outcome(index: int, attempt: Path, out: Path) -> Outcome:
    """Return what the records of a finished attempt tell."""
    scores = strict.read(attempt / folder.SCORES)
    events = [json.loads(line) for line in (attempt / folder.EVENTS).read_text().splitlines()]
    poured = sum(each["grams"] for each in events if each["event"] == "Transferred" and each["vessel"] == "beaker")
    pours = sum(each["event"] == "Performed" and each["operation"]["kind"] == "pour" for each in events)
    success = scores["reason"] == "completed" and not scores["verdict"]["violations"]
    return Outcome(
        index,
        success,
        scores["reason"],
        pours,
        _intercepts(out / TRANSCRIPTS / f"trial-{index:04d}.json"),
        float(scores["simulated_s"]),
        poured,
        next((float(each["grams"]) for each in reversed(events) if each["event"] == "Weighed"), float("nan")),
        _pour_seconds(events, attempt),
        attempt,
        next((str(each["sentence"]) for each in events if each["event"] == "Refused"), ""),
    )


def _intercepts(told: Path) -> int:
    """Return how many proposals of a transcript were refused; -1 where there is none, or none that can be read."""
    try:
        return sum(not move["admitted"] for move in json.loads(told.read_text(encoding="utf-8"))["moves"])
    except (OSError, ValueError, KeyError, TypeError):
        return -1


def _pour_seconds(events: Sequence[dict[str, Any]], attempt: Path) -> float:
    """Return how long the first pour took from the first tilt until its flow was confirmed to have stopped [s]."""
    tilted = next((each["tick"] for each in events if each["event"] == "Tilted"), None)
    flowed = next((each["tick"] for each in events if each["event"] == "Transferred"), None)
    if tilted is None or flowed is None:
        return 0.0
    return float((flowed - tilted) * strict.read(attempt / folder.RUN)["channels"]["timestep"])


def write_transcript(out: Path, index: int, agent: Agent) -> None:
    """Write what the agent kept of a trial, as JSON and as text."""
    where = out / TRANSCRIPTS
    where.mkdir(exist_ok=True)
    write_atomically(where / f"trial-{index:04d}.json", transcript(agent))
    (where / f"trial-{index:04d}.txt").write_text("\n".join(lines(agent)) + "\n", encoding="utf-8")


# --- numbers


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with the half width of its 95 % interval (normal), and the standard deviation of single values."""

    value: float
    half: float
    spread: float
    n: int

    def __str__(self) -> str:
        return f"{_rounded(self.value, 3)} ± {_rounded(self.half, 2)}"


def _rounded(value: float, digits: int) -> str:
    """Return a number with some significant digits, and without a power of ten."""
    return f"{float(f'{value:.{digits}g}'):.10g}"


def mean(values: Iterable[float]) -> Mean:
    """Return the mean of some values; the interval is infinite for fewer than two."""
    found = list(values)
    if len(found) < 2:
        return Mean(found[0] if found else float("nan"), float("inf"), 0.0, len(found))
    spread = stdev(found)
    return Mean(fmean(found), Z * spread / len(found) ** 0.5, spread, len(found))


def rate(count: int, n: int) -> str:
    """Return a share with its 95 % Wilson interval, in percent."""
    if n == 0:
        return "no trials"
    share, z2 = count / n, Z * Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z / (1 + z2 / n) * (share * (1 - share) / n + z2 / (4 * n * n)) ** 0.5
    return f"{100 * share:.0f} % [{100 * max(0.0, middle - half):.0f}, {100 * min(1.0, middle + half):.0f}]"
