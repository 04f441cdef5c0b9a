"""Liquid on its way from a tilted vessel into another: lip, film, drops, stream, and what lands where."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .chance import Stream, about_one, branch, frozen, thawed
from .liquids import Liquid
from .vessel import LEVEL, Cylinder

GRAVITY = 9.81
"""[m/s2]"""
LONGEST_STEP = 0.01
"""Longest step that is converged [s]; twice as long shifts a pour of 20 g by 0.1 g."""
DISCHARGE = 0.62
"""Discharge coefficient of a sharp-edged opening (textbook value for weirs and orifices)."""
STREAMING = 0.6
"""Mean over greatest speed of the sheet that runs over the lip (estimate)."""
HELD_BACK = 0.8
"""Share of the stopping head that surface tension holds back while the lip runs (estimate)."""
DEEPEST, ABOVE = 8e-3, 2e-3
"""Largest head that drives the flow, and by how much the level may lag above the equilibrium one [m] (estimates)."""
SHALLOW = 0.2
"""Tilt below which the lip is taken as no wider [rad]; the formula of the lip has a pole at 0."""
STEEP = math.radians(55.0)
RUNS_BACK_UPRIGHT, RUNS_BACK_STEEP = 0.80, 0.28
"""Shares of a draining film that run back into the vessel below and above the tilt `STEEP` (estimates); beyond
horizontal nothing does."""
FLUTTER, FLUTTER_TIME, FLUTTER_GRID = 0.06, 0.15, 0.02
"""Relative standard deviation of the stream, its correlation time and the grid on which it changes [s] (estimates)."""
FLUTTER_LEAST, FLUTTER_MOST = 0.5, 1.5


@dataclass(frozen=True, slots=True)
class Trial:
    """What differs between two pours of the same liquid.

    discharge   discharge coefficient of the lip
    wets, dries  heads at which the lip starts and stops [m]
    viscosity   [Pa s]
    film, drop  [kg]; see `Liquid`
    flutter     relative standard deviation of the stream
    tilt        by how much the vessel is tilted further than the hand that holds it [rad]
    fill        by how much it holds more than it says [kg]; whoever fills the vessel adds it
    """

    discharge: float
    wets: float
    dries: float
    viscosity: float
    film: float
    drop: float
    flutter: float
    tilt: float
    fill: float


def nominal(liquid: Liquid) -> Trial:
    """Return the trial in which nothing deviates."""
    return Trial(
        DISCHARGE,
        liquid.wets,
        liquid.dries,
        liquid.viscosity,
        liquid.film,
        liquid.drop,
        flutter=0.0,
        tilt=0.0,
        fill=0.0,
    )


def drawn(liquid: Liquid, rng: np.random.Generator, noise: float = 1.0) -> Trial:
    """Draw a trial; `noise` scales every deviation, 1.0 to 1.3 give spreads like those of real pours (calibrated).

    At 1.0, standard deviations are 5 % of the discharge coefficient, 20 % and 15 % of the starting and stopping heads,
    50 % of the film, 15 % of the drop, 6 % of the stream, 0.7° of tilt and 0.3 g of fill. All are estimates.
    """
    fill = noise * 0.3e-3 * rng.standard_normal()
    discharge = DISCHARGE * about_one(rng, noise * 0.05)
    wets = liquid.wets * about_one(rng, noise * 0.20)
    dries = liquid.dries * about_one(rng, noise * 0.15)
    tilt = noise * math.radians(0.7) * rng.standard_normal()
    viscosity = liquid.viscosity * about_one(rng, noise * liquid.spread)
    film = liquid.film * about_one(rng, noise * 0.50)
    drop = liquid.drop * about_one(rng, noise * 0.15)
    return Trial(discharge, wets, min(dries, 0.95 * wets), viscosity, film, drop, noise * FLUTTER, tilt, fill)


class Parcel(NamedTuple):
    """Liquid in the air: when it lands on the clock of the pour [s], how much it is [kg], and whether in the catch."""

    lands: float
    mass: float
    hits: bool


class Lean(NamedTuple):
    """What the liquid in a vessel follows of its tilt.

    tilt    from upright, 0 to pi [rad]
    rise    height of the surface over the lip per unit of `Cylinder.excess` [m]
    beyond  what the wall adds to that beyond horizontal [m]
    width   flow over the lip per square of the head that drives it [kg/s/m2]
    back    share of a draining film that runs back into the vessel
    """

    tilt: float
    rise: float
    beyond: float
    width: float
    back: float


class Moved(NamedTuple):
    """What left a vessel in some steps [kg]; what landed in the catch meanwhile [kg], in how many of them, and how much
    the last of that pressed, as a mass [kg].
    """

    left: float
    landed: float
    steps: int
    push: float


@dataclass(frozen=True, slots=True)
class PourState:
    """All that a pour remembers, as plain values; masses [kg], times [s].

    supplied   what was ever put into the vessel
    bulk, film, pendant  what is in the vessel, on its wall and lip, and in the drop that hangs from the lip
    level      height of the liquid over the lip, with its lag [m]
    excess     where the search for the level starts (see `Cylinder.excess`)
    running    whether the lip is wet and runs
    flutter, draws  relative deviation of the stream, and how often it was drawn
    flow       what left the lip in the last step [kg/s]
    push       by how much the landing stream presses on the catch, as a mass
    air        what is on its way
    caught, spilled  what landed in the catch, and beside it
    stream     where the random numbers stand
    """

    time: float
    supplied: float
    bulk: float
    film: float
    pendant: float
    level: float
    excess: float
    running: bool
    flutter: float
    draws: int
    flow: float
    push: float
    air: tuple[Parcel, ...]
    caught: float
    spilled: float
    stream: Stream


class Pour:
    """One vessel that may be tilted, and what leaves it.

    Call `step` as long as the vessel is tilted or something drips or falls; time passes only there. `supplied` always
    equals what is in the vessel, on it, in the air, caught and spilled, up to rounding. It is `quiet` when nothing more
    can fall unless the vessel is tilted further, so that it can be left alone.
    """

    def __init__(self, vessel: Cylinder, liquid: Liquid, mass: float, trial: Trial, rng: np.random.Generator) -> None:
        """Fill `vessel` with `mass` [kg] and stand it upright; the flutter of its stream is seeded from `rng`."""
        self.vessel, self.liquid, self.trial = vessel, liquid, trial
        self._fits(mass)
        level = vessel.head(mass / liquid.density, 0.0)
        self._dt, self._fall_height, self._fall = math.nan, 0.0, 0.0
        # Film flow between the wall and the sheet: vi / vv = stiffness / head^1.5, see `_lip`.
        self._stiffness = 3.0 * trial.viscosity * STREAMING * math.sqrt(2.0 / GRAVITY) / liquid.density
        self._width = trial.discharge * 0.5 * math.pi * math.sqrt(GRAVITY * vessel.radius) * liquid.density
        self._stays = math.exp(-FLUTTER_GRID / FLUTTER_TIME)
        self._kick = trial.flutter * math.sqrt(1.0 - self._stays**2)
        self._air: deque[Parcel] = deque()
        self.flutter, self.draws, self._rng = 0.0, 0, branch(rng)
        self.load(
            PourState(0.0, mass, mass, 0.0, 0.0, level, 0.0, False, 0.0, 0, 0.0, 0.0, (), 0.0, 0.0, frozen(self._rng))
        )

    @property
    def held(self) -> float:
        """Return what is in the vessel and on it [kg]."""
        return self.bulk + self.film + self.pendant

    @property
    def airborne(self) -> float:
        """Return what is on its way [kg]."""
        return sum(parcel.mass for parcel in self._air)

    @property
    def felt(self) -> float:
        """Return what a balance below the catch feels: all that was caught, and the push of the landing stream [kg]."""
        return self.caught + self.push

    def add(self, mass: float) -> None:
        """Put `mass` [kg] into the vessel, or take it away if negative; `ValueError` where it does not fit."""
        self._fits(self.bulk + mass)
        self.bulk += mass
        self.supplied += mass

    def step(self, dt: float, tilt: float, height: float, hits: bool) -> float:
        """Let `dt` [s] pass and return what landed in the catch meanwhile [kg].

        tilt    angle between the axis of the vessel and the vertical [rad]; constant during the step
        height  how far the lip is above where the stream lands [m]; a lip below that surface falls 0 m
        hits    whether what leaves the lip now will land in the catch; everything else is spilled when it lands

        `ValueError` for a step longer than `LONGEST_STEP`, or for numbers that are not finite.
        """
        return self.run(dt, 1, tilt, height, hits).landed

    def run(self, dt: float, parts: int, tilt: float, height: float, hits: bool) -> Moved:
        """Let `parts` times `dt` [s] pass under what `step` takes, and return what moved meanwhile."""
        if dt != self._dt:
            self._cut(dt)
        if height != self._fall_height:
            self._fall_height, self._fall = height, _fall_time(height)
        lean = self._lean(tilt)
        head, known, out, now = 0.0, math.nan, 0.0, 0.0
        left, landed, steps, push = 0.0, 0.0, 0, 0.0
        for _ in range(parts):
            if self.draws * FLUTTER_GRID <= self.time + 1e-9:
                self.draws += 1
                self.flutter = self._stays * self.flutter + self._kick * float(self._rng.standard_normal())
            if self.bulk != known:
                known = self.bulk
                head = self._head(lean)
            out = self._lip(dt, lean, head)
            self.time += dt
            if out > 0.0:
                left += out
                self._throw(dt, out, hits)
            now = self._land() if self._air else 0.0
            if now:
                landed, steps, push = landed + now, steps + 1, now / dt * self._fall
        self.flow = out / dt
        self.push = now / dt * self._fall
        self.quiet = self._is_quiet()
        return Moved(left, landed, steps, push)

    def state(self) -> PourState:
        """Return all that is remembered; the same steps from it give the same bits."""
        return PourState(
            self.time,
            self.supplied,
            self.bulk,
            self.film,
            self.pendant,
            self.level,
            self.excess,
            self.running,
            self.flutter,
            self.draws,
            self.flow,
            self.push,
            tuple(self._air),
            self.caught,
            self.spilled,
            frozen(self._rng),
        )

    def load(self, state: PourState) -> None:
        """Go on from `state`, in a pour of the same vessel, liquid and trial."""
        self.time, self.supplied = state.time, state.supplied
        self.bulk, self.film, self.pendant = state.bulk, state.film, state.pendant
        self.level, self.excess, self.running = state.level, state.excess, state.running
        self.flutter, self.draws = state.flutter, state.draws
        self.flow, self.push = state.flow, state.push
        self._air = deque(Parcel(*parcel) for parcel in state.air)
        self.caught, self.spilled = state.caught, state.spilled
        self._rng = thawed(state.stream)
        self.quiet = self._is_quiet()

    def _fits(self, mass: float) -> None:
        most = self.vessel.capacity * self.liquid.density
        # Who fills up to the rim may miss it by a rounding error.
        if not 0.0 <= mass <= most * (1.0 + 1e-12):
            raise ValueError(
                f"{1000 * mass:.3f} g of {self.liquid.name} do not fit; this vessel holds 0 to {1000 * most:.1f} g."
            )

    def _cut(self, dt: float) -> None:
        """Prepare for steps of `dt` [s]."""
        if not 0.0 < dt <= LONGEST_STEP:
            raise ValueError(f"A pour cannot step by {dt!r} s; steps lie above 0 s and up to {LONGEST_STEP} s.")
        self._dt = dt
        self._follows = -math.expm1(-dt / self.liquid.lag)
        self._drains = -math.expm1(-dt / self.liquid.drain)

    def _lean(self, tilt: float) -> Lean:
        """Return what of a tilt [rad] the liquid follows; `ValueError` where it is none."""
        tilt += self.trial.tilt
        if not -math.tau < tilt < math.tau:
            raise ValueError(f"A tilt of {tilt!r} rad is no tilt; it lies between -2 pi and 2 pi rad.")
        tilt = -tilt if tilt < 0.0 else tilt
        tilt = math.tau - tilt if tilt > math.pi else tilt
        level = tilt if tilt < LEVEL else LEVEL
        narrow = math.sin(level if level > SHALLOW else SHALLOW)
        back = RUNS_BACK_UPRIGHT if tilt < STEEP else RUNS_BACK_STEEP if tilt < LEVEL else 0.0
        beyond = self.vessel.slope(tilt) if tilt > LEVEL else 0.0
        return Lean(tilt, self.vessel.radius * math.sin(level), beyond, self._width / math.sqrt(narrow), back)

    def _lip(self, dt: float, lean: Lean, head: float) -> float:
        """Move liquid inside the vessel and over its lip, above which it stands by `head` [m]; return what leaves the
        lip [kg].
        """
        trial = self.trial
        level = self.level + self._follows * (head - self.level)
        self.level = level = DEEPEST if level > DEEPEST else level
        most = (head if head > 0.0 else 0.0) + ABOVE
        drive = level if level < most else most
        self.running = self.bulk > 0.0 and drive > (trial.dries if self.running else trial.wets)
        if not self.running:
            return self._drain(lean) if self.film else 0.0
        drive -= HELD_BACK * trial.dries
        rough = 1.0 + self.flutter
        rough = FLUTTER_LEAST if rough < FLUTTER_LEAST else FLUTTER_MOST if rough > FLUTTER_MOST else rough
        thinned = drive * math.sqrt(drive)
        out = lean.width * drive * drive * thinned / (thinned + self._stiffness) * rough * dt
        if out > 0.1 * self.bulk:
            out = -self.bulk * math.expm1(-out / self.bulk) if self.bulk > 1e-12 else self.bulk
        self.bulk -= out
        # What runs first wets wall and lip; a hanging drop is carried along.
        missing = trial.film - self.film
        if missing > 0.0:
            wetting = missing if missing < out else out
            self.film += wetting
            out -= wetting
        if self.pendant:
            out += self.pendant
            self.pendant = 0.0
        return out

    def _throw(self, dt: float, out: float, hits: bool) -> None:
        """Let `out` [kg] that left the lip in the last `dt` [s] fall."""
        lands = self.time - 0.5 * dt + self._fall
        # A stream keeps its order: what leaves a sinking lip does not overtake.
        if self._air and self._air[-1].lands > lands:
            lands = self._air[-1].lands
        self._air.append(Parcel(lands, out, bool(hits)))

    def _head(self, lean: Lean) -> float:
        """Return how far the liquid in the vessel stands above the lip [m]."""
        vessel = self.vessel
        volume = self.bulk / self.liquid.density
        if lean.tilt < 1e-3:
            return vessel.depth(volume) - vessel.length
        self.excess = vessel.excess(volume, lean.tilt, self.excess)
        return self.excess * lean.rise + lean.beyond

    def _drain(self, lean: Lean) -> float:
        """Let the film collect at the lip; return the drop that falls, if one does [kg]."""
        moved = self.film * self._drains
        back = moved * lean.back
        self.film -= moved
        self.bulk += back
        self.pendant += moved - back
        if self.pendant < self.trial.drop:
            return 0.0
        drop, self.pendant = self.pendant, 0.0
        return drop

    def _is_quiet(self) -> bool:
        ready = self.pendant + (1.0 - RUNS_BACK_STEEP) * self.film
        return not self.running and not self._air and ready < self.trial.drop

    def _land(self) -> float:
        """Let land what is due; return what the catch gets [kg]."""
        air, landed = self._air, 0.0
        due = self.time + 1e-9
        while air and air[0].lands <= due:
            parcel = air.popleft()
            if parcel.hits:
                landed += parcel.mass
            else:
                self.spilled += parcel.mass
        self.caught += landed
        return landed


def _fall_time(height: float) -> float:
    """Return how long a fall from `height` [m] takes [s]; also the push of a steady stream over its flow (v / g)."""
    if not -math.inf < height < math.inf:
        raise ValueError(f"A lip {height!r} m above the catch is nowhere; give a finite height.")
    return math.sqrt(2.0 * height / GRAVITY) if height > 0.0 else 0.0
