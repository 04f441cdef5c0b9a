"""Digital tools: what the Operator computes with between two actions. Grams, pH and uS/cm; no chemistry is put in.

A dose curve says which share of the dose up to a reference pH is needed up to another pH. Shares do not depend on how
strong a stock is or how much water there is; what they do depend on (which acid it is) is part of an entry's condition.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

FIRST_G = 2.0
"""First dose of a reagent whose effect is not known [g]."""
LEAST_G, MOST_G = 0.3, 12.0
"""Smallest and largest dose [g]."""
STEEPEST, FLATTEST = 3.0, 0.3
"""By how much a dose may grow or shrink from the last one of the same reagent."""
GRID_STEP = 0.25
GRID = tuple(round(4.0 + GRID_STEP * step, 2) for step in range(25))
"""pH values at which curves are kept."""
BEYOND = 0.3
"""How far past its last point a curve is drawn on [pH]."""
BEGINS = 0.1
"""Least distance of the first point of a curve from the start [pH]."""
PER = 1e-4
"""Unit of a dose per mass and conductivity [g / (g uS/cm)]."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of the beaker that was taken: pH, EC [uS/cm], mass [g], time [s], and whether it had settled."""

    ph: float
    ec: float
    grams: float
    time: float
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Dose:
    """One addition: the tube, what the balance says was added [g], and the readings before and after it."""

    tube: str
    grams: float
    before: Reading
    after: Reading | None = None


def gentle(grams: float) -> dict[str, float]:
    """Return the numbers of a pour of some grams: small ones tilt faster for each missing gram."""
    kp = min(2.0, max(0.36, 4.0 / max(grams, 0.1)))
    return {"amount_g": grams, "kp": kp, "kd": min(3.0, 1.5 * kp), "pre_stop": min(0.1, grams / 2)}


def bounded(grams: float, most: float = MOST_G) -> float:
    """Return a dose that can be poured."""
    return round(min(max(LEAST_G, grams), max(LEAST_G, most)), 2)


def secant(before: float, grams: float, after: float, wanted: float) -> float:
    """Return the dose that reaches `wanted` if the reagent goes on as in its last dose of `grams` [g]."""
    moved = after - before
    found = grams * (wanted - after) / moved if moved * (wanted - after) > 0 else STEEPEST * grams
    return min(max(found, FLATTEST * grams), STEEPEST * grams)


def trend(values: Sequence[tuple[float, float]]) -> float:
    """Return the least-squares slope of (time [s], value) pairs [1/s]; 0 for fewer than two times."""
    if len({time for time, _ in values}) < 2:
        return 0.0
    mean_t = sum(time for time, _ in values) / len(values)
    mean_v = sum(value for _, value in values) / len(values)
    over = sum((time - mean_t) ** 2 for time, _ in values)
    return sum((time - mean_t) * (value - mean_v) for time, value in values) / over


def apparent_ec(dose: Dose) -> float | None:
    """Return the conductivity [uS/cm] that a stock would have if conductivities mixed by mass; None without reading."""
    if dose.after is None or dose.grams <= 0:
        return None
    before, after = dose.before, dose.after
    return ((before.grams + dose.grams) * after.ec - before.grams * before.ec) / dose.grams


def to_reach_ec(grams: float, ec: float, wanted: float, stock: float) -> float | None:
    """Return how much of a stock with that apparent conductivity brings `grams` from `ec` to `wanted`; None if none."""
    span = stock - wanted
    found = grams * (wanted - ec) / span if span else -1.0
    return found if found > 0 else None


@dataclass(frozen=True, slots=True)
class Curve:
    """Shares of the reference dose by pH; `per` is that dose per mass and conductivity at the start [`PER`].

    `points` are (pH, share), by falling pH for an acid and rising pH for a base, from (start, 0).
    """

    reference: float
    per: float
    points: tuple[tuple[float, float], ...]

    def share(self, ph: float) -> float | None:
        """Return the share up to a pH, drawn on a little past both ends; None beyond."""
        points = sorted(self.points)
        if len(points) < 2 or not points[0][0] - BEYOND <= ph <= points[-1][0] + BEYOND:
            return None
        at = min(max(bisect_left(points, (ph,)), 1), len(points) - 1)
        (low, s_low), (high, s_high) = points[at - 1], points[at]
        return s_low + (s_high - s_low) * (ph - low) / (high - low)

    def whole(self, mass: float, ec: float) -> float:
        """Return the reference dose for a water of `mass` [g] and `ec` [uS/cm] at the start."""
        return self.per * PER * mass * ec

    def parameters(self, moved: str) -> dict[str, float]:
        """Return the curve as numbers by name; curves along which EC `moved` otherwise share no names of points."""
        points = {f"{moved} at {ph:.2f}": share for ph, share in self.points}
        return {"reference": self.reference, "per": self.per} | points


def curve_of(parameters: Mapping[str, float], moved: str) -> Curve | None:
    """Return the curve that numbers by name describe, or None."""
    begins = f"{moved} at "
    try:
        points = tuple(
            (float(name.removeprefix(begins)), value) for name, value in parameters.items() if name.startswith(begins)
        )
    except ValueError:
        return None
    if "reference" not in parameters or "per" not in parameters or len(points) < 2:
        return None
    return Curve(parameters["reference"], parameters["per"], points)


def fitted(doses: Sequence[tuple[float, float]], start: Reading, reference: float) -> Curve | None:
    """Return the curve through (grams so far, pH) pairs of one reagent, the first of which is (0, start).

    pH has to go one way, and to pass the reference; otherwise there is none.
    """
    sign = 1.0 if reference > start.ph else -1.0
    way = [doses[0]]
    for grams, ph in doses[1:]:
        if sign * (ph - way[-1][1]) > 0.02 and grams > way[-1][0]:
            way.append((grams, ph))
    if len(way) < 2 or sign * (way[-1][1] - reference) < 0 or start.grams * start.ec <= 0:
        return None
    grams_at = Smooth([(sign * ph, grams) for grams, ph in way])
    whole = grams_at(sign * reference)
    nodes = [ph for ph in GRID if sign * start.ph + BEGINS < sign * ph <= sign * way[-1][1] + GRID_STEP / 2]
    if whole <= 0 or not nodes:
        return None
    first = min(GRID, key=lambda ph: abs(ph - start.ph))
    points = [(first, 0.0)] if first not in nodes else []
    points += [(ph, grams_at(sign * ph) / whole) for ph in nodes]
    return Curve(reference, whole / (PER * start.grams * start.ec), tuple(points))


def reference_of(tube: str, start: float) -> float:
    """Return the pH at which curves of a tube from a start pH are compared; a convention."""
    if tube == "acid":
        return 6.5
    return 8.25 if start > 7.0 else 5.0


class Smooth:
    """A monotone cubic through points (Fritsch and Carlson): with straight lines beyond."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        self._x, self._y = [x for x, _ in points], [y for _, y in points]
        self._d = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(points)]
        inner = [2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(self._d)]
        self._m = [self._d[0], *inner, self._d[-1]]

    def __call__(self, x: float) -> float:
        """Return the value at `x`."""
        if x > self._x[-1]:
            return self._y[-1] + self._m[-1] * (x - self._x[-1])
        at = min(max(bisect_left(self._x, x), 1), len(self._x) - 1)
        width = self._x[at] - self._x[at - 1]
        t = min(1.0, max(0.0, (x - self._x[at - 1]) / width))
        a, b = self._y[at - 1], self._y[at]
        m0, m1 = self._m[at - 1] * width, self._m[at] * width
        return (
            (2 * t**3 - 3 * t**2 + 1) * a + (t**3 - 2 * t**2 + t) * m0 + (3 * t**2 - 2 * t**3) * b + (t**3 - t**2) * m1
        )
