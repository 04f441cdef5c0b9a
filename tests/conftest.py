"""What several test files share: one laboratory per process, and attempts in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labference.bench.laboratory import Laboratory, Result
from labference.bench.plan import Plan
from labference.records.reader import Run, read_run
from labference.records.strict import plain
from labference.truth.measurement import SensorFault

TESTS = Path(__file__).parent
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as under nohup, and children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
BASIC = "weighing-basic"
SLOW = (
    *("tasks", "diagnosis", "campaign", "process", "sight_tubes", "bridge_doors", "boundary", "gymnasium"),
    *("fidelities", "experiments", "bridge", "bridge_boundary", "cli", "tubes", "episode", "transition", "http"),
    *("sockets", "modular", "vla_eval", "inspect_robots", "wires", "recognise", "wet_world", "clock", "lerobot"),
    "alfworld_study",
)
"""Files of tests that take longest, longest first, for workers to begin with; one that is missing just comes later."""


def pytest_configure(config: pytest.Config) -> None:
    """Let workers of pytest-xdist take files in the order above, not those with most tests first."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put slow files first where several workers share them, so that none ends alone with a slow one."""
    if hasattr(config, "workerinput"):
        place = {f"test_{name}.py": number for number, name in enumerate(SLOW)}
        items.sort(key=lambda item: place.get(item.path.name, len(place)))


@dataclass(frozen=True)
class Attempt:
    """What an attempt returned, and what it left on disk."""

    result: Result
    run: Run

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.run.lines("events.jsonl")

    @property
    def actions(self) -> list[dict[str, Any]]:
        return self.run.lines("actions.jsonl")

    @property
    def observations(self) -> list[dict[str, Any]]:
        return self.run.lines("observations.jsonl")

    @property
    def interfaces(self) -> list[dict[str, Any]]:
        return self.run.lines("interfaces.jsonl")

    @property
    def scores(self) -> dict[str, Any]:
        assert self.run.scores is not None, self.result.sentence
        return self.run.scores

    @property
    def verdict(self) -> dict[str, Any]:
        return self.scores["verdict"]

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the events of one class, in order."""
        return [event for event in self.events if event["event"] == name]


@pytest.fixture(scope="session")
def laboratory() -> Iterator[Laboratory]:
    found = Laboratory(BASIC)
    yield found
    found.world.close()


@pytest.fixture
def attempt(laboratory: Laboratory, tmp_path: Path) -> Callable[..., Attempt]:
    """Return a function that runs one attempt of a policy, with a budget in steps and sensor faults."""

    def run(
        policy: str,
        *,
        index: int = 0,
        seed: int = 0,
        budget: int = 100,
        action: str = "joint",
        faults: tuple[SensorFault, ...] = (),
        video: tuple[str, ...] = (),
        out: Path | None = None,
        support: str = "",
        bench: Laboratory | None = None,
        instances: str = "",
    ) -> Attempt:
        used = bench or laboratory
        plan = Plan(
            used.contract.name,
            policy,
            10,
            seed,
            action,
            video=video,
            budget=budget,
            faults=faults,
            support=support,
            instances=instances,
        )
        result = used.attempt(plan, index, out or tmp_path / policy.replace(":", "-"))
        return Attempt(result, read_run(result.path))

    return run


@pytest.fixture
def python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python in a process of its own, where `lab_policies` can be imported."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments], env=environment(), capture_output=True, text=True, timeout=120, **options
        )

    return run


def environment() -> dict[str, str]:
    """Return the environment of a child process that can import the policies of the tests."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path), "COLUMNS": "200"}


def without_runtime(scores: dict[str, Any]) -> dict[str, Any]:
    """Return scores without what the wall clock decides."""
    return {name: value for name, value in plain(scores).items() if name != "runtime"}
