"""The picture of one episode: choice, execution and completion over the load that the instrument carried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
    """The load on an instrument; vertical positions count down from the top of the panel [px]."""

    cell: str
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
    panels = tuple(_panel(trace.until(end_s), events, drawing, _target(run)) for trace in traces if len(trace.time))
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


def _target(run: Run) -> float | None:
    """Return the reading that the instance asks for, where it names one."""
    target = run.run["instance"].get("target")
    return float(target) if isinstance(target, int | float) else None


def _panel(trace: Trace, events: list[dict[str, Any]], drawing: Drawing, target: float | None) -> Panel:
    steadied = [event for event in events if event["event"] == "Steadied" and event["instrument"] == trace.cell]
    values = [float(event["value"]) for event in steadied]
    low, high = _range(trace.load, values if target is None else [*values, target])

    def down(load: float) -> float:
        return PANEL * (1 - (float(np.clip(load, low, high)) - low) / (high - low))

    dots = tuple(
        Dot(
            drawing.x(max(0, event["tick"])),
            down(value),
            f"{value:.1f} g",
            f"{trace.cell} steady at {value:.1f} g, {drawing.seconds(event['tick'])} s",
        )
        for event, value in zip(steadied, values, strict=True)
    )
    step = _round_step((high - low) / 5)
    first = math.ceil(low / step)
    ticks = tuple(Tick(down(n * step), f"{n * step:g}") for n in range(first, int(high / step) + 1))
    paths = _paths([drawing.x(time / drawing.timestep) for time in trace.time], [down(load) for load in trace.load])
    return Panel(trace.cell, paths, dots, ticks, None if target is None else Tick(down(target), f"target {target:g} g"))


def _range(load: np.ndarray, values: list[float]) -> tuple[float, float]:
    """Return drawn limits that hold the bulk of the trace, every stable value and the target; spikes are cut."""
    known = load[np.isfinite(load)]
    bulk = [float(bound) for bound in np.percentile(known, (4, 96))] if len(known) else []
    low, high = min([*bulk, *values]), max([*bulk, *values])
    margin = 0.14 * max(high - low, 5.0)
    return low - margin, high + margin


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
