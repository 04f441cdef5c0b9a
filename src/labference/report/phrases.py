"""How a rate, a duration and an operation are written, in the terminal and on the page alike."""

from __future__ import annotations

from typing import Any

from labference.score.rate import Bounds, Rate
from labference.score.summary import Runtime, Summary

ENDINGS = {
    "completed": "terminal state held",
    "stopped": "the system stopped",
    "budget": "step budget used up",
    "interface_failure": "interface failure",
}
"""How episodes end, in words."""


def bounds(known: Bounds) -> str:
    """Return s/N and (s + u)/N, to be read while `unresolved` of `planned` have no outcome."""
    most = known.successes + known.unresolved
    low, high = 100 * known.low, 100 * known.high
    return f"{known.successes}/{known.planned}..{most}/{known.planned} ({low:.0f}–{high:.0f} %)"


def completion(summary: Summary) -> str:
    """Return valid task completion over the planned population, as bounds while episodes are unresolved."""
    return bounds(summary.completion) if summary.unresolved else str(summary.valid)


def share(rate: Rate) -> str:
    """Return the percentage of `rate` alone."""
    return "unavailable" if rate.value is None else f"{100 * rate.value:.0f} %"


def runtime(means: Runtime | None) -> str:
    """Return simulated / model / rendering / physics seconds."""
    if means is None:
        return "unavailable"
    return "/".join(seconds(value) for value in (means.simulated, means.model, means.rendering, means.physics))


def seconds(value: float) -> str:
    """Return a duration [s] with as many digits as anybody reads."""
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def operation(value: dict[str, Any] | None) -> str:
    """Return a recorded operation as words."""
    if value is None:
        return "none"
    words = f"{value['kind']} {value['item']}".strip()
    return f"{words} → {value['place']}" if value["place"] else words


def operations(values: list[dict[str, Any]]) -> str:
    """Return a legal set as words."""
    return ", or ".join(operation(value) for value in values) or "none"


def plain(name: str) -> str:
    """Return a recorded name with spaces, as text for people."""
    return name.replace("_", " ")


def ending(reason: str) -> str:
    """Return how an episode ended, in words."""
    return ENDINGS.get(reason, plain(reason))
