"""A top-loading balance: a pan on a load cell, electronics that filter and judge the force, and a lit display."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...truth.measurement import FAULT, OVERLOAD, UNDERLOAD, Readout
from ...wire.labware import HOUSING_HALF, HOUSING_HEIGHT, PAN_HEIGHT, PAN_RADIUS
from .display import draw_display

if TYPE_CHECKING:
    from ..build import Bench

GRAVITY = 9.81
"""Gravity of the scene, by which the electronics turn newtons into grams [m/s2]."""
TAU = 0.25
"""Time constant of the first-order filter [s] (labference, equation 9)."""
QUANTUM = 0.1
"""Display step [g]."""
WINDOW = 1.0
"""Length of the stability window [s]."""
RANGE = 0.5
"""Largest spread of the filtered value inside a stable window [g]."""
CAPACITY = 2000.0
"""Filtered value above which the balance reports overload [g], as 2 kg top-loading balances do; taking a weight off the
pan with a resting hand adds 0.3 kg, a hand that presses 1 mm deep 1.8 kg."""
FLOOR = -1.0
"""Filtered value below which the balance reports underload [g]: something lifts or hangs on the pan."""


@dataclass(frozen=True, slots=True)
class CellState:
    """Everything the electronics remember between blocks; see `LoadCellReadout`."""

    zero: float
    filtered: float
    valid: int
    history: np.ndarray
    tare: float = 0.0


class LoadCellReadout:
    """Turn load-cell forces into a filtered reading with a stability flag (labference, equations 8 and 9).

    The result of a sequence does not depend on how it is split into blocks.
    """

    unit = "g"

    def __init__(self, timestep: float) -> None:
        self._gain = 1.0 - math.exp(-timestep / TAU)
        self._window = max(2, round(WINDOW / timestep))
        self.load(CellState(0.0, 0.0, 0, np.zeros(self._window - 1)))

    def zero(self, force: np.ndarray) -> float:
        """Take the mean of `force` (k,) [N] as the empty pan, restart the filter at 0 g, and return that mean."""
        empty = float(np.mean(np.asarray(force, np.float64)))
        self.load(CellState(empty, 0.0, 0, np.zeros(self._window - 1)))
        return empty

    def tare(self) -> bool:
        """Show what is on the pan as 0.0 g from now on, if the reading is stable; return whether it was.

        Only what is shown changes: capacity and underload are judged by all that rests on the pan.
        """
        steady = self._valid >= self._window and np.ptp(self._history) <= RANGE
        if steady:
            self._tare = self._filtered
        return bool(steady)

    def update(self, force: np.ndarray) -> Readout:
        """Read `force` (k,) float32 [N], one sample per physics tick; NaN where the sensor returned nothing."""
        raw = (1000.0 / GRAVITY) * (np.asarray(force, np.float64) - self._zero)
        filtered = self._filter(raw)
        status = np.zeros(len(raw), np.uint8)
        if not (len(raw) and raw.min() >= FLOOR and raw.max() <= CAPACITY and filtered.max() <= CAPACITY):
            status[filtered > CAPACITY] = OVERLOAD
            status[filtered < FLOOR] = UNDERLOAD
            status[~np.isfinite(raw)] = FAULT
        stable = self._stable(filtered, status)
        # Adding zero turns -0.0 into 0.0.
        shown = np.rint((filtered - self._tare) / QUANTUM) / round(1 / QUANTUM) + 0.0
        return Readout(raw, filtered, shown, stable, status)

    @staticmethod
    def display(readout: Readout, row: int = -1) -> str:
        """Return what the five digits say, with a fixed decimal point in numbers."""
        match int(readout.status[row]):
            case 0:
                return f"{readout.shown[row]:6.1f}"
            case 1:
                return "  OL "
            case 2:
                return "  UL "
            case _:
                return "Err  "

    def state(self) -> CellState:
        """Return a copy of what is remembered, for a checkpoint."""
        return CellState(self._zero, self._filtered, self._valid, self._history.copy(), self._tare)

    def load(self, state: CellState) -> None:
        """Continue from `state`."""
        self._zero, self._filtered, self._valid = state.zero, state.filtered, state.valid
        self._history = state.history.copy()
        self._tare = state.tare

    def _filter(self, raw: np.ndarray) -> np.ndarray:
        """Run the first-order filter over finite samples, and hold the last value over the others."""
        gain, filtered, before = self._gain, self._filtered, math.nan
        series: list[float] = []
        constant = len(raw) > 1 and raw[0] == raw[-1] and bool((raw == raw[0]).all())
        for sample in raw.tolist():
            if sample - sample == 0.0:
                filtered += gain * (sample - filtered)
            if constant and filtered == before:  # and so it stays
                break
            series.append(filtered)
            before = filtered
        self._filtered = filtered
        found = np.full(len(raw), filtered)
        found[: len(series)] = series
        return found

    def _stable(self, filtered: np.ndarray, status: np.ndarray) -> np.ndarray:
        """Judge a full window of valid samples behind every row, and remember the tail."""
        valid = np.arange(self._valid + 1, self._valid + 1 + len(filtered))
        if status.any():
            for row in np.flatnonzero(status):
                valid[row:] -= valid[row]
        if len(valid):
            self._valid = int(valid[-1])
        series = np.concatenate((self._history, filtered))
        self._history = series[len(filtered) :]
        if len(series) and series.max() - series.min() <= RANGE:
            return np.asarray(valid >= self._window)
        return np.asarray((valid >= self._window) & (_windowed_spread(series, self._window) <= RANGE))


def _windowed_spread(series: np.ndarray, window: int) -> np.ndarray:
    """Return max - min over every run of `window` values, in linear time: a suffix and a prefix share the middle."""
    count = len(series) - window + 1
    if count > window:
        half = count // 2
        return np.concatenate(
            (_windowed_spread(series[: half + window - 1], window), _windowed_spread(series[half:], window))
        )
    head, tail = series[:window][::-1], series[window - 1 :]
    most = np.maximum(np.maximum.accumulate(head)[::-1][:count], np.maximum.accumulate(tail))
    least = np.minimum(np.minimum.accumulate(head)[::-1][:count], np.minimum.accumulate(tail))
    return np.asarray(most - least)


class Glimpse:
    """What a balance shows from tick to tick, one number at a time: the same arithmetic as its electronics."""

    def __init__(self, state: CellState, timestep: float) -> None:
        self._zero, self._filtered, self._tare = state.zero, state.filtered, state.tare
        self._gain = 1.0 - math.exp(-timestep / TAU)

    def look(self, force: float) -> float | None:
        """Return what is shown after a tick under `force` [N], None out of range."""
        raw = (1000.0 / GRAVITY) * (force - self._zero)
        self._filtered += self._gain * (raw - self._filtered)
        if not FLOOR <= self._filtered <= CAPACITY:
            return None
        return round((self._filtered - self._tare) / QUANTUM) / round(1 / QUANTUM)


@dataclass(frozen=True, slots=True)
class Balance:
    """A balance that an instance may place anywhere; its origin is on the bench under the centre of the pan.

    name         names the instrument, its load cell, and its housing as a surface
    pan          names the pan as a surface
    pan_radius   [m]; 55 mm left no free slot for four weights and a sample in 5 % of trials
    pan_height   upper face of the pan over the bench [m]
    """

    name: str = "balance"
    pan: str = "pan"
    pan_radius: float = PAN_RADIUS
    pan_height: float = PAN_HEIGHT

    def electronics(self, timestep: float) -> LoadCellReadout:
        """Return fresh electronics for physics steps of `timestep` [s]."""
        return LoadCellReadout(timestep)

    def add(self, bench: Bench) -> None:
        """Draw housing, pan and console, and wire the load cell to its electronics, display and camera."""
        housing = bench.fixture(self.name)
        side, half = HOUSING_HALF, HOUSING_HEIGHT / 2
        bench.box(housing, (side, side, half - 0.001), (0, 0, half + 0.001), look=(0.86, 0.87, 0.89, 1.0))
        for x in (-1, 1):
            for y in (-1, 1):
                foot = (x * 0.8 * side, y * 0.8 * side, 0.001)
                bench.cylinder(housing, 0.008, 0.002, foot, look=(0.1, 0.1, 0.1, 1.0), solid=False)
        self._add_pan(bench, housing)
        self._add_console(bench, housing, side)
        bench.surface(self.name, housing)
        bench.camera("pan", (0.24, 0.0, 0.48), (0.006, 0.0, 0.085), fovy=25.0, size=(320, 240), body=housing)
        bench.camera("display", (0.30, 0.0, 0.22), (0.104, 0.0, 0.036), fovy=34.0, size=(224, 224), body=housing)

    def _add_pan(self, bench: Bench, housing: object) -> None:
        pan = bench.attached(self.pan, housing, (0, 0, self.pan_height))
        thickness = 0.003
        look = (0.75, 0.76, 0.78, 1.0)
        bench.cylinder(pan, self.pan_radius, thickness, (0, 0, -thickness / 2), look=look, mass=0.050)
        stem = (0, 0, -thickness - 0.006)
        bench.cylinder(pan, 0.012, 0.012, stem, look=(0.3, 0.3, 0.3, 1.0), solid=False)
        bench.surface(self.pan, pan)
        bench.force_cell(self.name, pan, self.electronics)

    def _add_console(self, bench: Bench, housing: object, side: float) -> None:
        """Mount the display on the side away from the robot, proud of the housing so that nothing hides it."""
        slope = math.radians(60)
        axes = (0.0, 1.0, 0.0, -math.cos(slope), 0.0, math.sin(slope))
        at = (side + 0.030 * math.cos(slope) + 0.004, 0.0, 0.0325)
        console = bench.attached(f"{self.name}_console", housing, at, axes)
        bench.box(console, (0.082, 0.030, 0.004), (0, 0, -0.004), look=(0.22, 0.23, 0.25, 1.0))
        bench.surface(self.name, console)
        bench.display(self.name, draw_display(bench, self.name, console))
