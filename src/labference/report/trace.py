"""What the load cells carried during an episode, smoothed and thinned for drawing; the record keeps every tick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from labference.records import folder
from labference.records.reader import Run

GRAVITY = 9.81
"""Turns newtons into grams [m/s2], as the instruments do."""
TAU_S = 0.25
"""Time constant of the low pass [s]: the display's own (paper, equation 9)."""
POINTS = 360
"""Most points of a drawn trace."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Load on one cell: `time` [s] from the handoff and `load` [g], NaN where the sensor failed, both (k,)."""

    cell: str
    time: np.ndarray
    load: np.ndarray

    def until(self, end: float) -> Trace:
        """Return the trace up to `end` [s], thinned to what a drawing shows."""
        kept = np.flatnonzero(self.time <= end)
        kept = kept[:: max(1, len(kept) // POINTS)]
        return Trace(self.cell, self.time[kept], self.load[kept])


def read_traces(run: Run) -> tuple[Trace, ...]:
    """Return a trace per load cell of `run`, none where nothing was measured."""
    channels = run.channels
    if not channels.cells or not (run.path / folder.MEASUREMENTS).exists():
        return ()
    blocks = [(block.tick, block.force) for block in run.blocks()]
    if not blocks:
        return ()
    time = (blocks[0][0] + np.arange(sum(len(force) for _, force in blocks))) * channels.timestep
    force = np.concatenate([force for _, force in blocks]).astype(np.float64)
    return tuple(
        _trace(name, time, force[:, column] - run.run["zero"][name], channels.timestep)
        for column, name in enumerate(channels.cells)
    )


def _trace(cell: str, time: np.ndarray, force: np.ndarray, timestep: float) -> Trace:
    known = np.isfinite(force)
    if not known.any():
        return Trace(cell, time[:0], force[:0])
    load = np.interp(time, time[known], force[known]) * 1000 / GRAVITY
    gain = 1 - np.exp(-timestep / TAU_S)
    smooth, _ = lfilter([gain], [1, gain - 1], load, zi=[(1 - gain) * load[0]])
    smooth[~known] = np.nan
    return Trace(cell, time[time >= 0], smooth[time >= 0])
