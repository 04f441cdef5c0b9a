"""What is in which vessel, and what moves between them: poses in, masses and compositions out. No physics engine.

Both laboratories drive it: one with the poses of simulated bodies, the other with poses of its own. Every gram is in a
vessel, in the air, on a dipped tip, or spilled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...truth.filling import Filling, WetSetup
from .carbon import TRANSFER, Surface, aerate
from .chance import Stream, frozen, thawed
from .chemistry import equilibrium
from .liquids import LIQUIDS
from .mixing import STANDING_S, STIRRED_S, STREAM_S, Mixture, of, portion
from .pour import HELD_BACK, STREAMING, Pour, PourState, drawn, nominal
from .solution import Solution
from .vessel import Cylinder

GRAVITY = 9.81
"""[m/s2]"""
GRAMS = 1000.0
"""Grams in a kilogram: masses are kept in kg and told in g."""
WAKE = math.radians(4.0)
"""Tilt from which a vessel is watched for liquid that leaves it [rad]; every vessel is brim-full below it."""
_WAKES = math.cos(WAKE)
UPRIGHT = math.cos(math.radians(30.0))
"""Cosine of the tilt up to which a vessel can catch a stream."""
BRIM = 0.001
"""What lands nearer than this to the wall of a vessel splashes over its rim [m] (estimate)."""
TIP_DEPTH = 0.004
"""How deep the tip of a probe must be below the surface to be wet all around [m]."""
FILM = (0.05e-3, 0.10e-3)
"""Mass that a dipped tip takes along when it is lifted [kg], uniform (estimate)."""


@dataclass(frozen=True, slots=True)
class Cup:
    """A vessel: its inside, and the height at which that begins in the frame of the body that carries it [m]."""

    name: str
    inside: Cylinder
    floor: float


class Placed(NamedTuple):
    """Where a body is: its origin [m], and the direction of its z axis."""

    origin: Point
    axis: Point


DRY = Solution(0.0)
AIR = (math.nan, math.nan, math.nan, -1.0)
"""What a tip in the air is in."""
STIRS = 0.02
"""Speed of a tool in a liquid above which that counts as stirred [m/s]."""
ARRIVES = 10
"""Steps after which what has landed is taken into the composition of the vessel: masses change at once."""
AIRED_S, WIDE, SHALLOW = 30.0, 0.02, 0.002
"""Interval at which liquids exchange CO2 with the air [s], inner radius of the vessels that are wide enough to do so,
and least depth for which that is computed [m]."""
NOTICED = (0.002, 0.001)
"""Change of pH, and share of the conductivity, that a meter does not tell from its noise (0.0025 pH, 0.2 %)."""
Point = tuple[float, float, float]


class Falling(NamedTuple):
    """A stream to draw: where it leaves a lip, and where it lands [m]."""

    lip: Point
    landing: Point


@dataclass(frozen=True, slots=True)
class TipState:
    """What a tip is dipped into (-1 air), how much hangs on it [kg], and of which composition."""

    inside: int
    film: float
    kind: Solution


class Arrival(NamedTuple):
    """What has landed in a vessel and is not taken into its composition yet: of which kind, [kg], in how many steps."""

    kind: Solution
    mass: float
    steps: int


@dataclass(frozen=True, slots=True)
class PlumbingState:
    """Everything that decides how the liquids continue; one entry per vessel or tip."""

    pours: tuple[PourState, ...]
    mixtures: tuple[Mixture, ...]
    catches: tuple[int, ...]
    splashed: float
    tips: tuple[TipState, ...]
    tools: tuple[Point, ...]
    time: float
    aired: int
    arrivals: tuple[Arrival | None, ...]
    stream: Stream


class Plumbing:
    """The liquids of one bench.

    `falling` are the streams that leave a lip now, and `pushes` says by how much a landing stream presses on a vessel,
    as a mass [kg] per index of a vessel.
    """

    def __init__(self, cups: tuple[Cup, ...], tips: int = 0) -> None:
        self.cups = cups
        self._rims = [(cup.floor + cup.inside.length, cup.inside.radius - BRIM) for cup in cups]
        self.falling: tuple[Falling, ...] = ()
        self.pushes: dict[int, float] = {}
        self._tips = [TipState(-1, 0.0, DRY)] * tips
        self.fill(WetSetup({}, {}, {}))

    def fill(self, setup: WetSetup) -> None:
        """Fill the vessels as `setup` says, and draw how each of them pours.

        Raises `ValueError` for a vessel that is not here, a liquid that nobody knows, or more than fits.
        """
        names = [cup.name for cup in self.cups]
        if unknown := sorted(setup.liquids.keys() - set(names)):
            raise ValueError(f"There is no vessel {unknown[0]!r} to fill; there is {', '.join(names) or 'none'}.")
        self._pours = [self._filled(index, setup) for index in range(len(names))]
        self._mixtures = [of(_kind(setup.liquids.get(name, Filling(0.0)), setup.temperature)) for name in names]
        self._arrivals: list[Arrival | None] = [None] * len(names)
        self._catches = [-1] * len(names)
        self._splashed = 0.0
        self._tips = [TipState(-1, 0.0, DRY)] * len(self._tips)
        self._tools: tuple[Point, ...] = ()
        self._time, self._aired = 0.0, 0
        self._rng = np.random.default_rng([setup.seed, len(names)])
        self.falling, self.pushes = (), {}

    @property
    def masses(self) -> list[float]:
        """Return what each vessel holds [kg]."""
        return [pour.held for pour in self._pours]

    @property
    def spilled(self) -> float:
        """Return what landed in no vessel [kg]."""
        return self._splashed + sum(pour.spilled for pour in self._pours)

    @property
    def total(self) -> float:
        """Return all liquid there is [kg]; it never changes."""
        air = sum(pour.airborne for pour in self._pours)
        return math.fsum((*self.masses, air, self.spilled, *(tip.film for tip in self._tips)))

    @property
    def inside(self) -> tuple[int, ...]:
        """Return the index of the vessel that each tip is dipped into, -1 for air."""
        return tuple(tip.inside for tip in self._tips)

    def held(self, vessel: int) -> float:
        """Return what a vessel holds [kg]."""
        return self._pours[vessel].held

    def contents(self, vessel: int) -> Solution:
        """Return what a vessel holds, all of it."""
        return portion(self._mixture(vessel).whole, self._pours[vessel].held)

    def samples(self) -> np.ndarray:
        """Return what surrounds each tip, (m, 4): pH, conductivity [uS/cm], temperature [C], and index of the vessel.

        In the air it is NaN, and -1 for the index.
        """
        rows = np.array([AIR] * len(self._tips)).reshape(-1, 4)
        for row, tip in zip(rows, self._tips, strict=True):
            if tip.inside >= 0:
                found = self._mixture(tip.inside).sensed
                now = equilibrium(found)
                row[:] = now.ph, now.conductivity, found.temperature, tip.inside
        return rows

    def volume(self, vessel: int) -> float:
        """Return how much liquid a vessel holds [m3]."""
        pour = self._pours[vessel]
        return pour.held / pour.liquid.density

    def level(self, vessel: int) -> float:
        """Return how high the liquid stands in a vessel when it is upright [m]."""
        return self.cups[vessel].inside.depth(self.volume(vessel))

    def grams(self) -> np.ndarray:
        """Return the masses in the vessels and what was spilled, (v + 1,) [g]."""
        return GRAMS * np.array([*self.masses, self.spilled])

    def calm(self, placed: list[Placed]) -> bool:
        """Return whether nothing flows, drips or falls, and nothing leans so that it might: a step of any length will
        do.
        """
        for at, pour in zip(placed, self._pours, strict=True):  # noqa: SIM110  # asked every tick
            if not pour.quiet or at[1][2] <= _WAKES:
                return False
        return True

    @property
    def dripping(self) -> bool:
        """Return whether something runs over a lip, falls, or may still fall from one that is tilted no further."""
        return not all(pour.quiet for pour in self._pours)

    @property
    def unmixed(self) -> float:
        """Return the largest share of an old liquid that still surrounds a probe."""
        return max(0.0 if mixture.mixed else math.exp(-mixture.passed) for mixture in self._mixtures)

    def even(self, placed: list[Placed], tips: list[Point]) -> tuple[float, float] | None:
        """Return for how many seconds tips at `tips` [m] stay in what surrounds them now: until that has changed by
        `NOTICED` as it mixes, and until liquids exchange CO2 with the air. None where no tip is in a liquid.

        A calm bench is assumed, in which nothing stirs.
        """
        inside = [self._reached(index, tip, placed) for index, tip in enumerate(tips)]
        spreads = [self._spreads(vessel) for vessel in inside if vessel >= 0]
        return (min(spreads), self.airs) if spreads else None

    def _spreads(self, vessel: int) -> float:
        """Return how long it takes until what surrounds a tip in a vessel has changed by `NOTICED` [s]."""
        mixture = self._mixture(vessel)
        if mixture.mixed:
            return math.inf
        now, then = equilibrium(mixture.sensed), equilibrium(mixture.whole)
        share = abs(then.conductivity - now.conductivity) / now.conductivity
        most = max(abs(then.ph - now.ph) / NOTICED[0], share / NOTICED[1])
        return -STANDING_S * math.log1p(-1.0 / most) if most > 1.0 else math.inf

    def step(
        self,
        dt: float,
        placed: list[Placed],
        tips: tuple[Point, ...] = (),
        stirrers: tuple[Point, ...] = (),
        parts: int = 1,
        *,
        stirs: bool = False,
    ) -> bool:
        """Let `dt` [s] pass; return whether a mass changed.

        Vessels are `placed`, the tips of probes are at `tips`, and the lower ends of other tools at `stirrers` [m].
        Streams run in `parts` equal steps, and keep their aim meanwhile. What is in a liquid `stirs` it all the time;
        otherwise it does where it is elsewhere than at the last step.
        """
        changed = False
        self.falling, self.pushes = (), {}
        for index, pour in enumerate(self._pours):
            if not pour.quiet or placed[index][1][2] <= _WAKES:
                changed = self._run(index, dt / parts, parts, placed) or changed
        for index, tip in enumerate(tips):
            changed = self._dip(index, tip, placed) or changed
        self._mix(dt, placed, tips + stirrers, stirs)
        self._air(dt)
        return changed

    def _run(self, index: int, dt: float, parts: int, placed: list[Placed]) -> bool:
        """Let a stream run `parts` times for `dt` [s]; return whether a mass changed."""
        pour, cosine = self._pours[index], placed[index][1][2]
        tilt = math.acos(-1.0 if cosine < -1.0 else 1.0 if cosine > 1.0 else cosine)
        lip, out = _lip(placed[index], self.cups[index], tilt)
        below, landing = self._below(index, lip, out, placed)
        # What is already in the air was thrown at the catch of its time.
        if below >= 0 or not pour.airborne:
            self._catches[index] = below
        catch = self._catches[index]
        moved = pour.run(dt, parts, tilt, lip[2] - landing[2], below >= 0)
        if moved.steps:
            self._land(index, catch, moved.landed, moved.steps)
            self.pushes[catch] = moved.push
        if catch >= 0 and not pour.push:
            self._take_in(catch)
        if pour.flow:
            self.falling += (Falling(lip, landing),)
        return moved.steps > 0 or moved.left > 0.0

    def state(self) -> PlumbingState:
        """Return all that is remembered, as plain values."""
        return PlumbingState(
            tuple(pour.state() for pour in self._pours),
            tuple(self._mixtures),
            tuple(self._catches),
            self._splashed,
            tuple(self._tips),
            self._tools,
            self._time,
            self._aired,
            tuple(self._arrivals),
            frozen(self._rng),
        )

    def load(self, state: PlumbingState) -> None:
        """Go on from `state`, after a `fill` with the setup that it came from."""
        for pour, known in zip(self._pours, state.pours, strict=True):
            pour.load(known)
        self._mixtures, self._catches = list(state.mixtures), list(state.catches)
        self._arrivals = list(state.arrivals)
        self._splashed, self._tips = state.splashed, list(state.tips)
        self._tools, self._time, self._aired = state.tools, state.time, state.aired
        self._rng = thawed(state.stream)
        self.falling, self.pushes = (), {}

    def _filled(self, index: int, setup: WetSetup) -> Pour:
        cup = self.cups[index]
        filling = setup.liquids.get(cup.name, Filling(0.0))
        if filling.liquid not in LIQUIDS:
            raise ValueError(f"There is no liquid {filling.liquid!r}; there is {', '.join(LIQUIDS)}.")
        liquid = LIQUIDS[filling.liquid]
        rng = np.random.default_rng([setup.seed, index])
        trial = drawn(liquid, rng, setup.noise) if setup.noise else nominal(liquid)
        most = cup.inside.capacity * liquid.density
        extra = trial.fill if filling.grams > 0 else 0.0
        mass = max(0.0, min(filling.grams / GRAMS + extra, max(most, filling.grams / GRAMS)))
        return Pour(cup.inside, liquid, mass, trial, rng)

    def _below(self, source: int, lip: Point, out: tuple[float, float], placed: list[Placed]) -> tuple[int, Point]:
        """Return the vessel that a stream from `lip` lands in, -1 for none, and where it lands."""
        pour, (x, y, z) = self._pours[source], lip
        drive = max(pour.level - HELD_BACK * pour.trial.dries, 0.0)
        speed = STREAMING * math.sqrt(2.0 * GRAVITY * drive)
        across, along = speed * out[0], speed * out[1]
        for index, (top, wide) in enumerate(self._rims):
            (ox, oy, oz), (ax, ay, az) = placed[index]
            high = z - (oz + top * az)
            if index == source or az < UPRIGHT or high <= 0.0:
                continue
            fall = math.sqrt(2.0 * high / GRAVITY)
            at_x, at_y = x + across * fall, y + along * fall
            if math.hypot(at_x - (ox + top * ax), at_y - (oy + top * ay)) <= wide:
                return index, (at_x, at_y, oz + self.cups[index].floor + self.level(index))
        fall = math.sqrt(2.0 * max(z, 0.0) / GRAVITY)
        return -1, (x + across * fall, y + along * fall, 0.0)

    def _land(self, source: int, catch: int, mass: float, steps: int) -> None:
        """Put `mass` [kg] from `source` into `catch`, where it landed in so many steps; what does not fit runs over the
        rim.
        """
        pour = self._pours[catch]
        room = max(0.0, pour.vessel.capacity * pour.liquid.density - pour.bulk)
        fits = min(mass, room)
        self._splashed += mass - fits
        if fits <= 0.0:
            return
        kind, known = self._mixtures[source].whole, self._arrivals[catch]
        if known is not None and known.kind is not kind:
            self._take_in(catch)
            known = None
        self._arrivals[catch] = known = (
            Arrival(kind, fits, steps) if known is None else Arrival(kind, known.mass + fits, known.steps + steps)
        )
        pour.add(fits)
        if known.steps >= ARRIVES:
            self._take_in(catch)

    def _take_in(self, vessel: int) -> None:
        """Let what has landed in a vessel change its composition."""
        self._mixtures[vessel], self._arrivals[vessel] = self._mixture(vessel), None

    def _mixture(self, vessel: int) -> Mixture:
        """Return the composition of a vessel with what has landed in it."""
        mixture, arrival = self._mixtures[vessel], self._arrivals[vessel]
        if arrival is None:
            return mixture
        before = max(0.0, self._pours[vessel].held - arrival.mass)
        return mixture.added(before, arrival.kind, arrival.mass)

    def _dip(self, index: int, tip: Point, placed: list[Placed]) -> bool:
        """Let a tip that enters a liquid leave its film there, and one that leaves a liquid take a film along."""
        known, inside = self._tips[index], self._reached(index, tip, placed)
        if inside == known.inside:
            return False
        film, kind = known.film, known.kind
        for vessel in {known.inside, inside} - {-1}:
            self._take_in(vessel)
        if known.inside >= 0:
            wanted = FILM[0] + (FILM[1] - FILM[0]) * float(self._rng.random())
            film, kind = min(wanted, self._pours[known.inside].bulk), self._mixtures[known.inside].whole
            self._pours[known.inside].add(-film)
        if inside >= 0:
            self._add(inside, kind, film)
            film, kind = 0.0, DRY
        self._tips[index] = TipState(inside, film, kind)
        return True

    def _reached(self, index: int, tip: Point, placed: list[Placed]) -> int:
        """Return the vessel that a tip at `tip` [m] is dipped into, -1 for none."""
        return self._around(tip, placed, TIP_DEPTH if self._tips[index].inside < 0 else 0.0)

    def _add(self, vessel: int, kind: Solution, mass: float) -> None:
        """Put `mass` [kg] of a liquid like `kind` into a vessel."""
        if mass > 0.0:
            pour = self._pours[vessel]
            self._mixtures[vessel] = self._mixtures[vessel].added(pour.held, kind, mass)
            pour.add(mass)

    def _mix(self, dt: float, placed: list[Placed], tools: tuple[Point, ...], stirs: bool) -> None:
        """Let what was added spread, faster below a stream and around a tool that moves."""
        before, self._tools = self._tools, tools
        unmixed = [index for index, mixture in enumerate(self._mixtures) if mixture.near is not mixture.whole]
        if not unmixed:
            return
        moved = [
            now
            for now, then in zip(tools, tools if stirs else before, strict=False)
            if stirs or (now != then and math.dist(now, then) > STIRS * dt)
        ]
        stirred = {self._around(tool, placed, 0.0) for tool in moved}
        for index in unmixed:
            lag = STREAM_S if index in self.pushes else STIRRED_S if index in stirred else STANDING_S
            self._mixtures[index] = self._mixtures[index].stood(dt, lag)

    @property
    def airs(self) -> float:
        """Return in how many seconds liquids exchange CO2 with the air next."""
        return (self._aired + 1) * AIRED_S - self._time

    def _air(self, dt: float) -> None:
        """Let wide vessels exchange CO2 with the air, now and then."""
        self._time += dt
        while (self._aired + 1) * AIRED_S <= self._time + 1e-9:
            self._aired += 1
            self._exchange()

    def _exchange(self) -> None:
        """Let wide vessels exchange CO2 with the air for `AIRED_S`."""
        for index, cup in enumerate(self.cups):
            self._take_in(index)
            whole, depth = self._mixtures[index].whole, self.level(index)
            if cup.inside.radius > WIDE and whole.carbon and depth > SHALLOW:
                kind = aerate(whole, AIRED_S, Surface(depth / TRANSFER))
                old = self._mixtures[index]
                self._mixtures[index] = of(kind) if old.mixed else Mixture(kind, old.near, old.passed)

    def _around(self, tip: Point, placed: list[Placed], depth: float) -> int:
        """Return the vessel whose liquid reaches `depth` [m] over `tip`, -1 for none."""
        x, y, z = tip
        for index, cup in enumerate(self.cups):
            (ox, oy, oz), (_, _, upright) = placed[index]
            radius, low = cup.inside.radius, oz + cup.floor
            if not -radius < x - ox < radius or z <= low or upright < UPRIGHT:
                continue
            if math.hypot(x - ox, y - oy) < radius and z <= low + self.level(index) - depth:
                return index
        return -1


def _kind(filling: Filling, temperature: float) -> Solution:
    return Solution.of(dict(filling.amounts), water=1.0, temperature=temperature)


def _lip(placed: Placed, cup: Cup, tilt: float) -> tuple[Point, tuple[float, float]]:
    """Return the lowest point of a tilted rim, and the horizontal direction in which liquid leaves it."""
    (x, y, z), (ax, ay, az) = placed
    top = cup.floor + cup.inside.length
    aside = math.hypot(ax, ay)
    if aside < 1e-9:
        return (x, y, z + top), (0.0, 0.0)
    out = (ax / aside, ay / aside)
    r, cosine = cup.inside.radius, math.cos(tilt)
    # The rim's lowest point lies downhill: out along the tilted rim plane.
    lip = (
        x + top * ax + r * cosine * out[0],
        y + top * ay + r * cosine * out[1],
        z + top * az - r * math.sin(tilt),
    )
    return lip, out
