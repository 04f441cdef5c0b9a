"""A water-quality meter: a glass electrode, a conductivity cell and a thermometer on one probe, and their display."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...truth.measurement import Shown
from .chance import Stream, branch, frozen, thawed

NERNST = 0.198416
"""Slope of an ideal glass electrode over absolute temperature, R ln(10) / F [mV/K]; 59.16 mV per pH at 25 °C."""
ZERO_CELSIUS = 273.15
"""[K]"""
NEUTRAL = 7.0
"""pH at which the electrode gives 0 mV at any temperature, by construction."""
FAST_SHARE, FAST = 0.9, 6.0
"""Share of a change that the electrode follows quickly, and the time constant [s] (estimates)."""
SLOW_SALTY, SLOW_PURE = 30.0, 90.0
"""Time constant of the rest [s] in water above and below the conductivities `SALTY` and `PURE` (estimates)."""
SALTY, PURE = 500.0, 200.0
"""[uS/cm]; between them the slow time constant changes linearly."""
CELL = 2.0
"""Time constant of the conductivity cell [s] (estimate)."""
THERMOMETER = 8.0
"""Time constant of the thermometer in its sleeve [s] (estimate)."""
PER_KELVIN, REFERENCE = 0.019, 25.0
"""Linear temperature compensation of conductivity [1/K] and its reference [°C], the default of common meters."""
POTENTIAL_NOISE = 0.15
"""Standard deviation of the electrode potential from one shown value to the next [mV] (estimate)."""
CELL_NOISE = 0.002
"""Relative standard deviation of the conductivity from one shown value to the next (estimate)."""
SAMPLE = 0.5
"""Interval between shown values [s] (estimate)."""
WINDOW = 20
"""Shown values that the stability lamp judges: 10 s."""
PH_CREEP, CELL_CREEP, LEAST_CREEP, HEAT_CREEP = 0.01, 0.005, 1.0, 0.1
"""What may change in 10 s for the lamp to light: pH; share of the conductivity, or if more [uS/cm]; [K]."""
PH_RANGE, CELL_RANGE, HEAT_RANGE = (0.0, 14.0), (0.0, 9999.0), (0.0, 60.0)
"""What the display can show: pH, [uS/cm], [°C], as pen meters do."""
FILM_LEAST, FILM_MOST = 0.05e-3, 0.10e-3
"""Mass that hangs on the probe when it leaves a liquid [kg], uniform (estimate)."""
RINSE_LEAVES = 0.02
"""Share of the old film that one rinse leaves (estimate)."""
DRIFT = 0.02
"""Standard deviation of the drift of the electrode between calibrations [pH/h] (estimate)."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a calibration left wrong.

    offset  what is shown too much at pH 7 [pH]
    slope   shown over true change of pH
    drift   by how much the offset grows [pH/h]
    gain    shown over true conductivity
    heat    what the thermometer shows too much [K]
    """

    offset: float = 0.0
    slope: float = 1.0
    drift: float = 0.0
    gain: float = 1.0
    heat: float = 0.0


def calibrated(rng: np.random.Generator, noise: float = 1.0) -> Calibration:
    """Draw what a careful calibration leaves: SD 0.02 pH, 0.5 % of slope, 0.02 pH/h, 1 % of gain, 0.2 K (estimates)."""
    offset, slope, drift, gain, heat = (noise * float(value) for value in rng.standard_normal(5))
    return Calibration(0.02 * offset, 1.0 + 0.005 * slope, DRIFT * drift, 1.0 + 0.01 * gain, 0.2 * heat)


class Sample(NamedTuple):
    """What surrounds the probe: pH, conductivity at its own temperature [uS/cm], temperature [°C]."""

    ph: float
    conductivity: float
    temperature: float


class Portion(NamedTuple):
    """So much of a liquid, by the name that the caller gave it [kg]."""

    liquid: str
    mass: float


@dataclass(frozen=True, slots=True)
class MeterState:
    """All that a meter remembers, as plain values.

    time         [s]
    ticks        shown values so far
    fast, slow   the two parts of the electrode's response [pH]
    cell         conductivity at the cell [uS/cm]
    sleeve       temperature of the thermometer [°C]
    inside       name of the liquid that the probe is dipped into, None in air
    film         what hangs on a probe in air
    values       the last shown pH, conductivity [uS/cm] and temperature [°C] before rounding, oldest first
    stream       where the random numbers stand
    """

    time: float
    ticks: int
    fast: float
    slow: float
    cell: float
    sleeve: float
    inside: str | None
    film: tuple[Portion, ...]
    values: tuple[tuple[float, float, float], ...]
    stream: Stream


class Meter:
    """A probe that is dipped, lifted and rinsed, and a display that is right only after a while.

    The probe carries a film from one liquid into the next: `dip`, `lift` and `rinse` say which masses change place, and
    the caller, who knows what the names stand for, mixes them.
    """

    def __init__(
        self, calibration: Calibration, rng: np.random.Generator, noise: float = 1.0, temperature: float = 25.0
    ) -> None:
        """Start in air after storage at pH 7 and `temperature` [°C]; noise and films are seeded from `rng`."""
        self.calibration, self._noise = calibration, noise
        self._time, self._ticks = 0.0, 0
        self._fast, self._slow, self._cell, self._sleeve = NEUTRAL, NEUTRAL, 0.0, temperature
        self._inside: str | None = None
        self._film: tuple[Portion, ...] = ()
        self._values: deque[tuple[float, float, float]] = deque(maxlen=WINDOW)
        self._rng = branch(rng)

    @property
    def inside(self) -> str | None:
        """Return the liquid that the probe is dipped into, None in air."""
        return self._inside

    @property
    def film(self) -> tuple[Portion, ...]:
        """Return what hangs on a probe in air."""
        return self._film

    @property
    def ph(self) -> Shown:
        """Return the shown pH, two decimals."""
        return self.display()[0]

    @property
    def conductivity(self) -> Shown:
        """Return the shown conductivity at 25 °C, whole uS/cm."""
        return self.display()[1]

    @property
    def temperature(self) -> Shown:
        """Return the shown temperature, one decimal."""
        return self.display()[2]

    def display(self) -> tuple[Shown, Shown, Shown]:
        """Return the shown pH, conductivity and temperature."""
        if not self._values:
            return DRY
        full = len(self._values) == WINDOW
        return _display(self._values[-1], _steady(np.array(self._values))[0].tolist() if full else _UNSTEADY)

    def dip(self, liquid: str) -> tuple[Portion, ...]:
        """Put the probe into `liquid` and return what of other liquids comes along."""
        if self._inside is not None:
            raise ValueError(f"The probe cannot be dipped into {liquid!r}; lift it out of {self._inside!r} first.")
        brought, self._film, self._inside = self._film, (), liquid
        return brought

    def lift(self) -> Portion:
        """Take the probe out and return what it takes along; the display goes dry."""
        if self._inside is None:
            raise ValueError("The probe cannot be lifted; it is not dipped into anything.")
        taken = Portion(self._inside, self._film_mass())
        self._inside, self._film = None, (taken,)
        self._values.clear()
        return taken

    def rinse(self, water: str = "water") -> tuple[Portion, ...]:
        """Rinse a lifted probe with `water` and return what was washed off; a little of it stays.

        The film then is `water`, but for `RINSE_LEAVES` of what hung there.
        """
        if self._inside is not None:
            raise ValueError(f"The probe cannot be rinsed; lift it out of {self._inside!r} first.")
        kept = tuple(Portion(name, RINSE_LEAVES * mass) for name, mass in self._film)
        washed = tuple(Portion(name, mass - left.mass) for (name, mass), left in zip(self._film, kept, strict=True))
        total = {portion.liquid: portion.mass for portion in kept}
        total[water] = total.get(water, 0.0) + self._film_mass()
        self._film = tuple(Portion(name, mass) for name, mass in total.items())
        return washed

    def step(self, dt: float, sample: Sample | None) -> None:
        """Let `dt` [s] pass in a constant `sample`, or dry, in air or too shallow a liquid, where it is None.

        What is shown afterwards does not depend on how the time is cut, up to rounding. `ValueError` for a sample
        around a probe that is in air, and for numbers that are not finite.
        """
        self._accept(dt, sample)
        end, passed = self._time + dt, 0.0
        while (self._ticks + 1) * SAMPLE <= end + 1e-9:
            self._ticks += 1
            until = self._ticks * SAMPLE - self._time
            self._respond(until - passed, sample)
            passed = until
            self._show(sample)
        self._respond(dt - passed, sample)
        self._time = end

    def watch(self, count: int, sample: Sample) -> list[tuple[Shown, Shown, Shown]]:
        """Let `count` intervals between shown values pass in a constant `sample`; return each display.

        It begins right after a shown value, and equals that many steps of `SAMPLE`, up to rounding.
        """
        self._accept(count * SAMPLE, sample)
        decays = np.array(_decays(SAMPLE, sample.conductivity))
        start = np.array((self._fast, self._slow, self._cell, self._sleeve))
        around = np.array((sample.ph, sample.ph, sample.conductivity, sample.temperature))
        parts = around + (start - around) * decays ** np.arange(1, count + 1)[:, None]
        self._fast, self._slow, self._cell, self._sleeve = parts[-1].tolist()
        ticks = np.arange(self._ticks + 1, self._ticks + count + 1)
        self._ticks, self._time = self._ticks + count, self._time + count * SAMPLE
        fast, slow, cell, sleeve = parts.T
        noise, cell_noise = self._rng.standard_normal((count, 2)).T
        rows = self._shown(fast, slow, cell, sleeve, sample.temperature, ticks, noise, cell_noise)
        series = np.concatenate((np.reshape(self._values, (-1, 3)), rows))
        steady = np.zeros((count, 3), bool)
        if (full := min(count, len(series) - WINDOW + 1)) > 0:
            steady[-full:] = _steady(series[-full - WINDOW + 1 :])
        displays = [_display(row, still) for row, still in zip(rows.tolist(), steady.tolist(), strict=True)]
        self._values.extend([(ph, cell, heat) for ph, cell, heat in rows[-WINDOW:].tolist()])
        return displays

    def state(self) -> MeterState:
        """Return all that is remembered; the same steps from it give the same bits."""
        return MeterState(
            self._time,
            self._ticks,
            self._fast,
            self._slow,
            self._cell,
            self._sleeve,
            self._inside,
            self._film,
            tuple(self._values),
            frozen(self._rng),
        )

    def load(self, state: MeterState) -> None:
        """Go on from `state`, in a meter of the same calibration and noise."""
        self._time, self._ticks = state.time, state.ticks
        self._fast, self._slow = state.fast, state.slow
        self._cell, self._sleeve = state.cell, state.sleeve
        self._inside = state.inside
        self._film = tuple(Portion(*portion) for portion in state.film)
        self._values.clear()
        self._values.extend((ph, cell, heat) for ph, cell, heat in state.values)
        self._rng = thawed(state.stream)

    def _accept(self, dt: float, sample: Sample | None) -> None:
        if not 0.0 < dt < math.inf:
            raise ValueError(f"A meter cannot step by {dt!r} s; give a positive time.")
        if sample is None:
            return
        if self._inside is None:
            raise ValueError("A probe in air has no sample; dip it first, or give None.")
        if not (
            -math.inf < sample.ph < math.inf
            and 0.0 <= sample.conductivity < math.inf
            and -ZERO_CELSIUS < sample.temperature < math.inf
        ):
            raise ValueError(f"{sample!r} is no water; give a finite pH, uS/cm from 0 and °C.")

    def _respond(self, dt: float, sample: Sample | None) -> None:
        """Follow `sample` exactly for `dt` [s]; in air the electrode and thermometer hold, and the cell runs empty."""
        if sample is None:
            self._cell *= math.exp(-dt / CELL)
            return
        ph, conductivity, temperature = sample
        fast, slow, cell, sleeve = _decays(dt, conductivity)
        self._fast = ph + (self._fast - ph) * fast
        self._slow = ph + (self._slow - ph) * slow
        self._cell = conductivity + (self._cell - conductivity) * cell
        self._sleeve = temperature + (self._sleeve - temperature) * sleeve

    def _show(self, sample: Sample | None) -> None:
        """Turn potential, conductivity and temperature into the next shown values."""
        noise, cell_noise = float(self._rng.standard_normal()), float(self._rng.standard_normal())
        if sample is None:
            self._values.clear()
            return
        ph, cell, heat = self._shown(
            self._fast, self._slow, self._cell, self._sleeve, sample.temperature, self._ticks, noise, cell_noise
        ).tolist()
        self._values.append((ph, cell, heat))

    def _shown(
        self, fast: Any, slow: Any, cell: Any, sleeve: Any, temperature: float, ticks: Any, noise: Any, cell_noise: Any
    ) -> Any:
        """Return what is shown of pH, conductivity and temperature: numbers, or (k, 3) of arrays (k,)."""
        wrong = self.calibration
        heat = sleeve + wrong.heat
        change = FAST_SHARE * fast + (1.0 - FAST_SHARE) * slow - NEUTRAL
        offset = wrong.offset + wrong.drift * ticks * SAMPLE / 3600.0
        potential = -NERNST * (temperature + ZERO_CELSIUS) * (wrong.slope * change + offset)
        potential = potential + self._noise * POTENTIAL_NOISE * noise
        ph = NEUTRAL - potential / (NERNST * np.maximum(heat + ZERO_CELSIUS, 1.0))
        cell = wrong.gain * cell / np.maximum(1.0 + PER_KELVIN * (heat - REFERENCE), 0.1)
        return np.stack((ph, cell * (1.0 + self._noise * CELL_NOISE * cell_noise), heat), axis=-1)

    def _film_mass(self) -> float:
        return FILM_LEAST + (FILM_MOST - FILM_LEAST) * float(self._rng.random())


def _steady(series: np.ndarray) -> np.ndarray:
    """Return for each row of `series` (m, 3) that ends 10 s whether those change by less than the lamp allows, (k, 3),
    judged by the means of their halves.
    """
    half = WINDOW // 2
    windows = np.lib.stride_tricks.sliding_window_view(series, WINDOW, axis=0)
    change = 2.0 * np.abs(windows[..., half:].sum(axis=-1) - windows[..., :half].sum(axis=-1)) / half
    allowed = np.full(change.shape, (PH_CREEP, LEAST_CREEP, HEAT_CREEP))
    np.maximum(LEAST_CREEP, CELL_CREEP * series[WINDOW - 1 :, 1], out=allowed[:, 1])
    return np.asarray(change <= allowed)


def _display(values: Sequence[float], steady: Sequence[bool]) -> tuple[Shown, Shown, Shown]:
    """Return what is shown of pH, conductivity and temperature before rounding."""
    ph, cell, heat = values
    # Without a temperature in range nothing is compensated.
    valid = HEAT_RANGE[0] <= heat <= HEAT_RANGE[1]
    return (
        _entry(ph, 2, PH_RANGE, "pH", valid, steady[0]),
        _entry(cell, 0, CELL_RANGE, "uS/cm", valid, steady[1]),
        _entry(heat, 1, HEAT_RANGE, "°C", valid, steady[2]),
    )


def _entry(value: float, digits: int, limits: tuple[float, float], unit: str, valid: bool, steady: bool) -> Shown:
    """Return what is shown of a quantity, out of range unless it lies within `limits` and everything is `valid`."""
    # Adding zero turns -0.0 into 0.0.
    value = round(value, digits) + 0.0
    if not (valid and limits[0] <= value <= limits[1]):
        return Shown(None, unit, False, "out of range")
    return Shown(value, unit, steady, "ok")


_UNSTEADY = (False, False, False)
DRY = (Shown(None, "pH", False, "dry"), Shown(None, "uS/cm", False, "dry"), Shown(None, "°C", False, "dry"))
"""What is shown while the probe is not in a liquid."""


@lru_cache(maxsize=256)
def _decays(dt: float, conductivity: float) -> tuple[float, float, float, float]:
    """Return what `dt` [s] leaves of a difference at the electrode, fast and slow, the cell and the thermometer."""
    slow = math.exp(-dt / slow_response(conductivity))
    return math.exp(-dt / FAST), slow, math.exp(-dt / CELL), math.exp(-dt / THERMOMETER)


def slow_response(conductivity: float) -> float:
    """Return the slow time constant of the electrode [s] in water of `conductivity` [uS/cm]."""
    pure = (SALTY - conductivity) / (SALTY - PURE)
    return SLOW_SALTY + (SLOW_PURE - SLOW_SALTY) * min(1.0, max(0.0, pure))
