"""How much simulated time an answer costs: none while physics pauses, or as long as it took."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labference.records import folder, strict
from labference.records.reader import read_run
from labference.truth.identity import PlanError
from labference.wire import ServiceFault

EXAMPLES = "paused, real-time, real-time:2, latency:0.25, latency:0.25:2 or replay:FOLDER"
LONGEST_S = 60.0
"""Longest simulated time that one answer may cost or be allowed [s]; a server that hangs is for the deadline."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The clock of one episode.

    name     the registered clock, as in the identity
    limit_s  longest charge of an answer that is still carried out [s]
    charge   simulated time [s] that an answer costs, from the number of its observation and its wall time [s]
    """

    name: str
    charge: Callable[[int, float], float]
    limit_s: float = math.inf


PAUSED = Pace("paused", lambda observation, seconds: 0.0)
"""The paper's synchronous reference runtime: physics waits for the answer."""


def pace(clock: str, index: int) -> Pace:
    """Return the clock called `clock` for episode `index`; `PlanError` where there is none."""
    kind, _, rest = clock.partition(":")
    match kind:
        case "paused" if not rest:
            return PAUSED
        case "real-time":
            return Pace(clock, lambda observation, seconds: min(seconds, LONGEST_S), _limit(rest, clock))
        case "latency":
            cost, _, limit = rest.partition(":")
            constant = _seconds(cost, clock)
            return Pace(clock, lambda observation, seconds: constant, _limit(limit, clock))
        case "replay" if rest:
            return _replay(Path(rest), index)
    raise PlanError(f"No clock {clock!r}; {EXAMPLES} would work.")


def identity_of(clock: str) -> str:
    """Return the clock as a run's identity states it: a replay is of a clock, wherever its records lie."""
    kind, _, rest = clock.partition(":")
    return f"{_recorded(Path(rest))}, replayed" if kind == "replay" else clock


def check(clock: str) -> None:
    """Raise `PlanError` unless `clock` names a clock, whatever the episode."""
    kind, _, rest = clock.partition(":")
    if kind == "replay" and rest:
        _recorded(Path(rest))
    else:
        pace(clock, 0)


def _limit(text: str, clock: str) -> float:
    return _seconds(text, clock) if text else math.inf


def _seconds(text: str, clock: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= LONGEST_S:
        raise PlanError(f"The clock {clock!r} has no time between 0 and {LONGEST_S:g} s; {EXAMPLES} would work.")
    return seconds


def _recorded(path: Path) -> str:
    """Return the clock of the campaign in `path`."""
    try:
        clock = strict.read(path / folder.CAMPAIGN)["condition"]["clock"]
    except (OSError, KeyError, TypeError) as error:
        raise PlanError(
            f"{path} holds no campaign with a clock to replay; give a folder of `labference run`."
        ) from error
    return str(clock)


def _replay(path: Path, index: int) -> Pace:
    """Charge what the recorded run of the same episode was charged."""
    clock = _recorded(path)
    attempt = folder.finished(folder.episode_folder(path, index))
    if attempt is None:
        raise PlanError(f"{path} holds no finished episode {index} to replay; run fewer episodes.")
    charges: dict[int, float] = {}
    for line in read_run(attempt).lines(folder.ACTIONS):
        entry: dict[str, Any] = line
        charges[int(entry["observation"])] = float(entry["charge"])

    def charge(observation: int, seconds: float) -> float:
        if observation not in charges:
            raise ServiceFault(
                f"The recorded run has no answer to observation {observation}: this run differs from it."
            )
        return charges[observation]

    recorded = pace(clock, index) if not clock.startswith("replay:") else _replay(Path(clock.partition(":")[2]), index)
    return Pace(f"{clock}, replayed", charge, recorded.limit_s)
