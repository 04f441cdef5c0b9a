"""Charge answers: nothing while physics pauses, their wall time, a constant, or what a recorded run was charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from labference.records import folder, strict
from labference.records.reader import read_run
from labference.truth.clock import LONGEST_S, REPLAYED, parse
from labference.truth.identity import PlanError
from labference.wire import ServiceFault


@dataclass(frozen=True, slots=True)
class Pace:
    """The clock of one episode.

    charge   simulated time [s] that an answer costs, from the number of its observation and its wall time [s]
    limit_s  longest charge of an answer that is still carried out [s]
    """

    charge: Callable[[int, float], float]
    limit_s: float = math.inf


PAUSED = Pace(lambda observation, seconds: 0.0)
SLOWEST_S = math.nextafter(LONGEST_S, math.inf)
"""What an answer that took longer than any may is charged [s]: more than every limit, and no control period more."""


def pace(name: str, index: int) -> Pace:
    """Return the clock called `name` for episode `index`."""
    clock = parse(name)
    match clock.kind:
        case "paused":
            return PAUSED
        case "real-time":
            return Pace(lambda observation, seconds: min(seconds, SLOWEST_S), clock.limit_s)
        case "latency":
            return Pace(lambda observation, seconds: clock.cost_s, clock.limit_s)
        case _:
            return _replay(Path(clock.source), index)


def check(name: str, episodes: int) -> None:
    """Refuse a clock that cannot be kept for that many episodes."""
    identity_of(name)
    clock = parse(name)
    if clock.kind == "replay":
        for index in range(episodes):
            _attempt(Path(clock.source), index)


def identity_of(name: str) -> str:
    """Return the clock as a run's identity states it: a replay is of a clock, wherever its records lie."""
    if name.endswith(REPLAYED):
        raise PlanError(f"The clock {name!r} names no records to replay; replay:FOLDER would work.")
    clock = parse(name)
    return recorded(Path(clock.source)).removesuffix(REPLAYED) + REPLAYED if clock.kind == "replay" else name


def recorded(path: Path) -> str:
    """Return the clock of the campaign in `path`, as its identity states it."""
    try:
        name = str(strict.read(path / folder.CAMPAIGN)["condition"]["clock"])
    except (OSError, KeyError, TypeError) as error:
        raise PlanError(f"{path} holds no clock to replay; give a folder that `labference run` wrote.") from error
    return identity_of(name)


def _replay(path: Path, index: int) -> Pace:
    """Charge what the recorded run of the same episode was charged."""
    name = recorded(path)
    lines = read_run(_attempt(path, index)).lines(folder.ACTIONS)
    charges = {entry["observation"]: entry["charge"] for entry in lines}

    def charge(observation: int, seconds: float) -> float:
        if observation not in charges:
            raise ServiceFault(
                f"The replayed run has no answer to observation {observation}; this run differs from it."
            )
        return float(charges[observation])

    return Pace(charge, parse(name).limit_s)


def _attempt(path: Path, index: int) -> Path:
    attempt = folder.finished(folder.episode_folder(path, index))
    if attempt is None:
        raise PlanError(f"{path} holds no finished episode {index} to replay; run fewer episodes.")
    return attempt
