"""What a registered clock says: how much simulated time an answer costs, and how long one may take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from .identity import PlanError

EXAMPLES = "paused, real-time, real-time:2, latency:0.25, latency:0.25:2 or replay:FOLDER"
LONGEST_S = 60.0
"""Longest simulated time that one answer may cost or be allowed [s]; a server that hangs is for the deadline."""
REPLAYED = ", replayed"


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock by its name.

    kind     "paused": physics waits for the answer, as in the paper's reference runtime; "real-time": the answer costs
             the wall time that it took; "latency": it costs `cost_s`; "replay": what a recorded run was charged
    cost_s   constant charge of an answer [s]
    limit_s  longest charge of an answer that is still carried out [s]
    source   folder of the recorded run
    """

    kind: Literal["paused", "real-time", "latency", "replay"]
    cost_s: float = 0.0
    limit_s: float = math.inf
    source: str = ""


def parse(name: str) -> Clock:
    """Return the clock called `name`; `PlanError` where there is none."""
    kind, colon, rest = name.removesuffix(REPLAYED).partition(":")
    match kind:
        case "paused" if not colon:
            return Clock("paused")
        case "real-time":
            return Clock("real-time", limit_s=_limit(rest, name))
        case "latency":
            cost, _, limit = rest.partition(":")
            return Clock("latency", _seconds(cost, name), _limit(limit, name))
        case "replay" if rest:
            return Clock("replay", source=rest)
    raise PlanError(f"No clock {name!r}; {EXAMPLES} would work.")


def periods(charge: float, rate_hz: float) -> int:
    """Return the control periods that pass for a charge [s]."""
    return math.ceil(charge * rate_hz - 1e-9)


def _limit(text: str, name: str) -> float:
    return _seconds(text, name) if text else math.inf


def _seconds(text: str, name: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= LONGEST_S:
        raise PlanError(f"The clock {name!r} has no time between 0 and {LONGEST_S:g} s; {EXAMPLES} would work.")
    return seconds
