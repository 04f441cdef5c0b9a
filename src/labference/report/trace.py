"""What instruments made of an episode, smoothed and thinned for drawing; the record keeps every tick.

The load on the cells, what meters showed while they were in a liquid, and how far a vessel was tilted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.signal import lfilter

from labference.records import folder
from labference.records.reader import Run
from labference.score.displays import displays
from labference.truth.measurement import TURN, Block

GRAVITY = 9.81
"""Turns newtons into grams [m/s2], as the instruments do."""
TAU_S = 0.25
"""Time constant of the low pass [s]: the display's own (paper, equation 9)."""
POINTS = 360
"""Most points of a drawn trace."""
METERED = {"pH": ("shown pH", "", 1.0), "EC": ("shown [µS/cm]", "µS/cm", 40.0)}
"""Quantities of a meter that are drawn: words, unit, least range."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A quantity over an episode: `time` [s] from the handoff and `value`, NaN where there is none, both (k,).

    name   instrument and quantity, as readings name them
    words  what is drawn, with its unit
    unit   of `value`, as written behind a number
    span   least range that is drawn
    """

    name: str
    time: np.ndarray
    value: np.ndarray
    words: str = "load [g]"
    unit: str = "g"
    span: float = 5.0

    def until(self, end: float) -> Trace:
        """Return the trace up to `end` [s], thinned to what a drawing shows."""
        kept = np.flatnonzero(self.time <= end)
        kept = kept[:: max(1, len(kept) // POINTS)]
        return replace(self, time=self.time[kept], value=self.value[kept])


def read_traces(run: Run) -> tuple[Trace, ...]:
    """Return a trace per load cell of `run` and per quantity of a meter that was used, or of the tilt of a tube
    where none was; none where nothing was measured.
    """
    channels = run.channels
    if not (channels.cells or channels.meters) or not (run.path / folder.MEASUREMENTS).exists():
        return ()
    blocks = list(run.blocks())
    if not blocks:
        return ()
    ticks = sum(block.ticks for block in blocks)
    time = (blocks[0].tick + np.arange(ticks)) * channels.timestep
    force = np.concatenate([block.force for block in blocks]).astype(np.float64)
    tared = [(event["cell"], event["tick"]) for event in run.lines(folder.EVENTS) if event["event"] == "Tared"]
    loads = tuple(
        _tared(
            _load(name, time, force[:, column] - run.run["zero"][name], channels.timestep),
            [tick * channels.timestep for cell, tick in tared if cell == name],
        )
        for column, name in enumerate(channels.cells)
    )
    shown = displays(run, blocks) if channels.meters else {}
    metered = tuple(_metered(name, shown[name]) for name in shown if name.split()[-1] in METERED)
    return (*loads, *(metered or _tilts(run, blocks, time)))


def _metered(name: str, entries: Sequence[tuple[float, float]]) -> Trace:
    words, unit, span = METERED[name.split()[-1]]
    time, value = np.array(entries).T
    return Trace(name, time, value, words, unit, span)


def _tilts(run: Run, blocks: Sequence[Block], time: np.ndarray) -> tuple[Trace, ...]:
    """Return how far the vessel that leans most is from upright."""
    tubes = [index for index, name in enumerate(run.channels.items) if name in run.channels.vessels]
    if not tubes:
        return ()
    x, y = (np.concatenate([block.pose[:, tubes, column] for block in blocks]) * TURN for column in (4, 5))
    tilt = np.degrees(np.arccos(np.clip(1 - 2 * (x**2 + y**2), -1, 1))).max(axis=1)
    kept = time >= 0
    return (Trace("tilt", time[kept], tilt[kept], "of the tube [°]", "°", 30.0),)


def _tared(trace: Trace, times: Sequence[float]) -> Trace:
    """Return a load as its balance counts it, which was told at `times` [s] to begin at 0 again."""
    value = trace.value.copy()
    for begun in times:
        after = trace.time >= begun
        if after.any() and np.isfinite(value[after][0]):
            value[after] -= value[after][0]
    return replace(trace, value=value)


def _load(cell: str, time: np.ndarray, force: np.ndarray, timestep: float) -> Trace:
    known = np.isfinite(force)
    if not known.any():
        return Trace(cell, time[:0], force[:0])
    load = np.interp(time, time[known], force[known]) * 1000 / GRAVITY
    gain = 1 - np.exp(-timestep / TAU_S)
    smooth, _ = lfilter([gain], [1, gain - 1], load, zi=[(1 - gain) * load[0]])
    smooth[~known] = np.nan
    return Trace(cell, time[time >= 0], smooth[time >= 0])
