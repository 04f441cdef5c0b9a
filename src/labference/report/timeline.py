"""The picture of one episode: choice, execution and completion over the load that the instrument carried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labference.records import folder
from labference.records.reader import Run

from .lanes import Drawing, Lane, Span, bands, lanes
from .trace import Trace

WIDTH, LEFT, RIGHT = 960.0, 92.0, 22.0
"""Drawing width and its margins [px]."""
PANEL = 112.0
"""Height of the load panel [px]."""
QUIET = 1.3
"""Share of the time to the last event after which a quiet rest is left out."""
ASKED = {"balance": "amount", "meter pH": "ph", "meter EC": "ec"}
"""Where the kind of a wet instance says what an instrument is to show."""
STEPS_S = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300)
"""Distances between time ticks that people read easily [s]."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled position on an axis [px]."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A stable display value."""

    x: float
    y: float
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Panel:
    """What an instrument showed or carried; vertical positions count down from the top of the panel [px]."""

    name: str
    words: str
    paths: tuple[str, ...]
    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]
    target: Tick | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Everything `timeline.svg.jinja` draws.

    quiet  what the axis leaves out at its end
    bands  when the environment hid the scene, across all lanes
    """

    quiet: str
    lanes: tuple[Lane, ...]
    panels: tuple[Panel, ...]
    ticks: tuple[Tick, ...]
    bands: tuple[Span, ...] = ()
    left: float = LEFT
    right: float = WIDTH - RIGHT
    width: float = WIDTH
    panel: float = PANEL


def timeline(run: Run, traces: Sequence[Trace]) -> Timeline:
    """Return the picture of `run`; without traces it shows the events only."""
    timestep = run.channels.timestep
    events = run.lines(folder.EVENTS)
    full_s = _end(run, events, timestep)
    end_s = min(full_s, _busy(events, timestep))

    def place(tick: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, tick * timestep / end_s)

    drawing = Drawing(place, timestep, round(full_s / timestep), WIDTH - RIGHT)
    dwell = round(run.run["contract"]["dwell_s"] / timestep)
    drawn = [trace.until(end_s) for trace in traces if len(trace.time)]
    panels = tuple(_panel(trace, events, drawing, _target(run, trace.name)) for trace in drawn)
    step = next((step for step in STEPS_S if end_s / step <= 9), STEPS_S[-1])
    ticks = tuple(Tick(place(n * step / timestep), f"{n * step:g}") for n in range(int(end_s / step) + 1))
    quiet = f"no further choice or outcome until {full_s:.1f} s" if end_s < full_s else ""
    return Timeline(quiet, lanes(events, drawing, dwell), panels, ticks, bands(events, drawing))


def _busy(events: list[dict[str, Any]], timestep: float) -> float:
    """Return how far the axis goes [s]: past the last event but for closings, with room to see what it led to."""
    last = max((event["tick"] * timestep for event in events if event["event"] != "Closed"), default=0.0)
    return max(10.0, QUIET * last)


def _end(run: Run, events: list[dict[str, Any]], timestep: float) -> float:
    simulated = run.scores["simulated_s"] if run.scores else 0.0
    return float(max([simulated, 1.0, *(event["tick"] * timestep for event in events)]))


def _target(run: Run, trace: str) -> float | None:
    """Return the reading of an instrument that the instance asks for, where it names one."""
    instance = run.run["instance"]
    kind = instance.get("kind")
    target = kind.get(ASKED.get(trace)) if isinstance(kind, dict) else None
    if target is None and trace in run.channels.cells:
        target = instance.get("target")
    return float(target) if isinstance(target, int | float) and target else None


def _panel(trace: Trace, events: list[dict[str, Any]], drawing: Drawing, target: float | None) -> Panel:
    steadied = _readings(trace.name, events)
    values = [value for _, value in steadied]
    low, high = _range(trace, values if target is None else [*values, target])
    unit = f" {trace.unit}" if trace.unit else ""

    def down(value: float) -> float:
        return PANEL * (1 - (float(np.clip(value, low, high)) - low) / (high - low))

    dots = tuple(
        Dot(
            drawing.x(max(0, tick)),
            down(value),
            f"{value:g}{unit}" if trace.unit != "g" else f"{value:.1f} g",
            f"{trace.name} steady at {value:g}{unit}, {drawing.seconds(tick)} s",
        )
        for tick, value in steadied
    )
    step = _round_step((high - low) / 5)
    first = math.ceil(low / step)
    ticks = tuple(Tick(down(n * step), f"{n * step:g}") for n in range(first, int(high / step) + 1))
    paths = _paths([drawing.x(time / drawing.timestep) for time in trace.time], [down(value) for value in trace.value])
    aim = None if target is None else Tick(down(target), f"target {target:g}{unit}")
    return Panel(trace.name, trace.words, paths, _spread(dots, drawing.right), ticks, aim)


def _readings(name: str, events: list[dict[str, Any]]) -> list[tuple[int, float]]:
    """Return when an instrument had steadied, and at what; of a dip of a meter, the last valid reading."""
    found = [(e["tick"], float(e["value"])) for e in events if e["event"] == "Steadied" and e["instrument"] == name]
    meter, _, quantity = name.rpartition(" ")
    last: tuple[int, float] | None = None
    for event in events:
        if event["event"] == "Measured" and event["meter"] == meter and event["settled"]:
            last = event["tick"], float(event[quantity.lower()])
        if event["event"] == "Withdrawn" and last is not None:
            found.append(last)
            last = None
    return found if last is None else [*found, last]


def _spread(dots: Sequence[Dot], right: float) -> tuple[Dot, ...]:
    """Keep the text of a dot where the one before has left room for it."""
    kept: list[Dot] = []
    free = 0.0
    for dot in dots:
        wide = 7.0 * len(dot.text) + 16
        left = dot.x if dot.x < right - 70 else dot.x - wide
        kept.append(dot if left >= free else replace(dot, text=""))
        free = max(free, left + wide) if kept[-1].text else free
    return tuple(kept)


def _range(trace: Trace, values: list[float]) -> tuple[float, float]:
    """Return drawn limits that hold the bulk of the trace, every stable value and the target; spikes are cut."""
    known = trace.value[np.isfinite(trace.value)]
    bulk = [float(bound) for bound in np.percentile(known, (4, 96))] if len(known) else []
    bounds = [*bulk, *values] or [0.0]
    margin = 0.14 * max(max(bounds) - min(bounds), trace.span)
    return min(bounds) - margin, max(bounds) + margin


def _round_step(least: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def _paths(xs: list[float], ys: list[float]) -> tuple[str, ...]:
    """Return polyline points, one run per stretch without a sensor failure."""
    runs: list[list[str]] = [[]]
    for x, y in zip(xs, ys, strict=True):
        if math.isnan(y):
            runs.append([])
        else:
            runs[-1].append(f"{x:.1f},{y:.1f}")
    return tuple(" ".join(points) for points in runs if len(points) > 1)
