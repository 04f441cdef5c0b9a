"""What an evaluator knows of an episode, and whether something that was handed out holds any of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labference.records import folder, strict
from labference.tasks import all_tasks, find_task
from labference.truth.identity import FAST, PHYSICS

WORDS = re.compile(
    r"seed|slot|stratum|instance|legal|answer|layout|identity|verdict|correct|chosen|choice|mass|subset|\bgoal|occup"
)
"""Parts of names under which no tool may be given anything."""

WET = "pouring-water"
"""The task that stands for all of the wet bench where the simulated arm is tested; `test_fidelities` runs the others,
one of which takes minutes of simulated time."""


def laboratories() -> list[tuple[str, str]]:
    """Return every task with every laboratory that runs it; of the wet ones, `WET` alone with the simulated arm."""
    return [
        (name, fidelity)
        for name, task in all_tasks().items()
        for fidelity in task.fidelities
        if fidelity != PHYSICS or name == WET or FAST not in task.fidelities
    ]


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every name, string, number and array in `value`, with the name that it goes by."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield "name", str(key)
            yield from leaves(entry, str(key))
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from leaves(object.__getattribute__(value, field.name), field.name)
    elif isinstance(value, list | tuple | set | frozenset):
        for entry in value:
            yield from leaves(entry, name)
    else:
        yield name, value


def secrets(path: Path) -> tuple[set[str], set[float]]:
    """Return the words and numbers of the attempt in `path` that only its evaluator knows."""
    run = strict.read(path / folder.RUN)
    identity, setup, seeds = run["identity"], run["setup"], run["identity"]["seeds"].values()
    words = {str(path), str(path.parent), run["key"], run["session"], identity["instance"], identity["layout"]}
    words |= {str(seed) for seed in seeds}
    masses = list(setup["masses"].values())
    found = [*seeds, *masses, *(1000 * mass for mass in masses), *run["zero"].values()]
    found += [value for _, value in leaves(setup["items"]) if isinstance(value, float)]
    found += [value for _, value in leaves(run["instance"]) if isinstance(value, float)]
    found += [event["deadline"] for event in strict.read_lines(path / folder.EVENTS) if event["event"] == "Opened"]
    said = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", run["goal"]["instruction"])}
    return words, {float(value) for value in found if value and abs(value) > 1e-9} - said - {1.0}


def fields_of(task: str) -> set[str]:
    """Return the names of what an instance and a state of `task` hold."""
    contract = find_task(task)
    instance = contract.sample(contract.strata()[0], np.random.default_rng(0))
    return {field.name for noun in (instance, contract.start(instance)) for field in fields(noun)}


def leaks(handed: Any, path: Path, task: str) -> list[str]:
    """Return what of the evaluator's is in `handed`, of the attempt in `path`."""
    words, numbers = secrets(path)
    hidden = fields_of(task)
    found = []
    for name, value in leaves(handed):
        if name == "name" and (value in hidden or WORDS.search(value)):
            found.append(f"name {value!r}")
        if isinstance(value, str):
            found += [f"{name}: {value!r}" for word in words if word in value]
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            found += [f"{name}: {number:g}" for number in numbers if np.isclose(value, number, rtol=1e-12).any()]
        elif isinstance(value, int | float | np.number) and float(value) in numbers:
            found.append(f"{name}: {value}")
    return found
