"""How a rate, a duration and an operation are written, in the terminal and on the page alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
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
LISTED = 3
"""Most places of an item in a legal set that are named one by one."""


def decisive(summary: Summary) -> str:
    """Return which choice the selection of `summary` counts."""
    return summary.registered.name


def selections(summaries: Sequence[Summary]) -> str:
    """Return which choices the selections of `summaries` count."""
    named: dict[str, list[str]] = {}
    for summary in summaries:
        tasks = named.setdefault(decisive(summary), [])
        if summary.task not in tasks:
            tasks.append(summary.task)
    if len(named) < 2:
        return next(iter(named), "first choice")
    return ", ".join(f"{words} ({', '.join(tasks)})" for words, tasks in named.items())


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
    """Return a legal set as words; many places for one item are counted."""
    places = Counter((value["kind"], value["item"]) for value in values)
    words = [
        operation(value)
        if places[value["kind"], value["item"]] <= LISTED
        else f"{value['kind']} {value['item']} → any of {places[value['kind'], value['item']]} places"
        for value in values
    ]
    return ", or ".join(dict.fromkeys(words)) or "none"


def resting(item: str, place: str) -> str:
    """Return where an item came to rest, in words: in a numbered socket, at its rim, on anything else."""
    if place.startswith("unseated"):
        return f"{item} {place}"
    if place == "elsewhere":
        return f"{item} elsewhere"
    return f"{item} {'in' if any(letter.isdigit() for letter in place) else 'on'} {place}"


def plain(name: str) -> str:
    """Return a recorded name with spaces, as text for people."""
    return name.replace("_", " ")


def support(name: str) -> str:
    """Return a support condition as words that may break."""
    return name.replace("+", " + ") or "base"


def distinct(systems: Sequence[tuple[str, Path]]) -> list[str]:
    """Return the names of systems, with the folder where one name stands for several."""
    times = Counter(name for name, _ in systems)
    return [name if times[name] == 1 else f"{name} ({path.name})" for name, path in systems]


def ending(reason: str) -> str:
    """Return how an episode ended, in words."""
    return ENDINGS.get(reason, plain(reason))
