"""Additions, intercepts, time and memory over the trials of a campaign, as small drawings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .scale import Scale, Tick, round_step, vertical
from .trial import Result

WIDTH, HEIGHT, LEFT, RIGHT = 300.0, 96.0, 34.0, 8.0
"""One small drawing [px]."""


@dataclass(frozen=True, slots=True)
class Point:
    """One trial."""

    x: float
    y: float
    success: bool
    title: str


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity over the trials of a campaign."""

    name: str
    points: tuple[Point, ...]
    path: str
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    left: float = LEFT
    right: float = WIDTH - RIGHT
    width: float = WIDTH
    height: float = HEIGHT


def series(results: Sequence[Result]) -> tuple[Series, ...]:
    """Return the drawings of a campaign with two trials or more; what was not measured is left out."""
    if len(results) < 2:
        return ()
    told = (
        ("additions", [float(each.additions) for each in results], ""),
        ("intercepts", [float(each.intercepts) for each in results], ""),
        ("simulated time", [each.seconds for each in results], " s"),
    )
    return tuple(_series(name, results, values, unit) for name, values, unit in told if min(values) >= 0)


def _series(name: str, results: Sequence[Result], values: list[float], unit: str) -> Series:
    x = Scale(results[0].index + 1, max(results[-1].index + 1, results[0].index + 2), LEFT + 8, WIDTH - RIGHT - 8)
    y = vertical(0.0, 1.12 * max([*values, 1.0]), HEIGHT)
    points = tuple(
        Point(
            x(each.index + 1),
            y(value),
            each.success,
            f"trial {each.index + 1}: {value:.3g}{unit}, {'success' if each.success else each.reason}",
        )
        for each, value in zip(results, values, strict=True)
    )
    path = " ".join(f"{point.x:.1f},{point.y:.1f}" for point in points)
    columns = x.ticks(max(1.0, round_step((x.stop - x.start) / 6)))
    return Series(name + (f" [{unit.strip()}]" if unit else ""), points, path, y.ticks(round_step(y.stop / 3)), columns)
