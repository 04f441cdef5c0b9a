"""Let liquids follow the simulated vessels, and the vessels weigh what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..truth.filling import WetSetup
from ..truth.measurement import MASS, Setup
from .built import Built
from .engine import mujoco
from .faults import SetupError
from .parts.balance import GRAVITY
from .stillness import Instant
from .wet.plumbing import Cup, Placed, Plumbing, PlumbingState, Point
from .wet.pour import LONGEST_STEP
from .wet.vessel import Cylinder

WEIGHED_S = 0.02
"""Interval at which bodies take over the masses of what they hold [s]."""

UNMIXED = 0.01
"""Share of an old liquid around a probe below which it counts as mixed."""


@dataclass(frozen=True, slots=True)
class WettingState:
    """Everything that decides how the liquids continue: theirs, the masses in force [kg], and the phase [steps]."""

    plumbing: PlumbingState
    weighed: tuple[float, ...]
    phase: int


class Wetting:
    """The liquids of a simulated bench.

    MuJoCo derives constants from body masses. They are computed on scratch data: on live data, `mj_setConst` would put
    every joint to its reference position.
    """

    def __init__(self, built: Built, scratch: Any) -> None:
        self._built, self._model, self._scratch = built, built.model, scratch
        step = built.channels.timestep
        self.every = max(1, int(LONGEST_STEP / step + 1e-9))
        self._dt = self.every * step
        self._weighs = self.every * max(1, round(WEIGHED_S / self._dt))
        self._bodies = [int(built.model.body(vessel.body).id) for vessel in built.vessels]
        self._free = [index for index, vessel in enumerate(built.vessels) if vessel.name in built.item_body]
        self._tips, self._stirrers = (
            [int(built.model.body(tip.item).id) for tip in built.tips if bool(tip.meter) == measures]
            for measures in (True, False)
        )
        cups = tuple(Cup(v.name, Cylinder(v.radius, v.length), v.floor) for v in built.vessels)
        self.plumbing = Plumbing(cups, len(self._tips))
        self._phase = 0
        self._changed = False
        self._empty = np.zeros(len(cups))
        self._weighed: tuple[float, ...] = (0.0,) * len(cups)

    def fill(self, setup: Setup, *, empty: bool = False) -> None:
        """Fill the vessels as `setup` says, one without liquids or `empty` leaving them empty; then weigh them."""
        wet = setup if isinstance(setup, WetSetup) and not empty else WetSetup({}, {}, {})
        try:
            self.plumbing.fill(wet)
        except ValueError as error:
            raise SetupError(str(error)) from error
        nominal = self._built.nominal_mass
        bodies = zip(self._built.vessels, self._bodies, strict=True)
        self._empty = np.array([setup.masses.get(vessel.name, nominal[body]) for vessel, body in bodies])
        self._phase, self._changed = 0, False
        self._weigh(tuple(self.plumbing.masses))

    def follow(self, data: Any) -> None:
        """Take note of a physics step; every few of them, let the liquids move.

        Poses are those at which the step began.
        """
        self._phase += 1
        if self._phase % self.every:
            return
        placed, tips, stirrers = self._places(data)
        pressed = data.xfrc_applied.any()
        self._changed = self.plumbing.step(self._dt, placed, tips, stirrers) or self._changed
        if pressed or self.plumbing.pushes:
            for index in self._free:
                push = self.plumbing.pushes.get(index, 0.0)
                data.xfrc_applied[self._bodies[index], 2] = -GRAVITY * push
        if self._changed and self._phase % self._weighs == 0:
            self._changed = False
            self._weigh(tuple(self.plumbing.masses))

    @property
    def mixes(self) -> bool:
        """Return whether what surrounds a probe is changing."""
        return self.plumbing.unmixed > UNMIXED

    def rests(self, instant: Instant) -> bool:
        """Return whether nothing flows, falls or drips where bodies are as at `instant`, nor is about to be weighed."""
        return not self._changed and self.plumbing.calm(self._places(instant)[0])

    def stand(self, instant: Instant, steps: int) -> None:
        """Let liquids mix and meet the air for `steps` physics steps in which no body moves and nothing flows."""
        before, self._phase = self._phase, self._phase + steps
        passed = self._phase // self.every - before // self.every
        if passed:
            self._changed = self.plumbing.step(passed * self._dt, *self._places(instant))

    def _places(self, found: Any) -> tuple[list[Placed], tuple[Point, ...], tuple[Point, ...]]:
        """Return where vessels, tips of probes and stirring tools are, from the poses of bodies in `found`."""
        origins, turns = found.xpos, found.xmat
        placed = [Placed(tuple(origins[body].tolist()), tuple(turns[body, 2::3].tolist())) for body in self._bodies]
        tips, stirrers = (
            tuple(tuple(origins[body].tolist()) for body in bodies) for bodies in (self._tips, self._stirrers)
        )
        return placed, tips, stirrers

    def liquid(self) -> np.ndarray:
        """Return the masses in the vessels and what was spilled, on the grid of a block."""
        return np.rint(self.plumbing.grams() / MASS).astype(np.int64)

    def sample(self) -> np.ndarray:
        """Return what each tip is in: pH, conductivity [uS/cm], temperature [C] and index of the vessel."""
        return self.plumbing.samples()

    def state(self) -> WettingState:
        """Return all that is remembered."""
        return WettingState(self.plumbing.state(), self._weighed, self._phase)

    def load(self, state: WettingState) -> None:
        """Go on from `state`, after a `fill` with the setup that it came from."""
        self.plumbing.load(state.plumbing)
        self._phase, self._changed = state.phase, state.weighed != tuple(self.plumbing.masses)
        self._weigh(state.weighed)

    def _weigh(self, masses: tuple[float, ...]) -> None:
        """Let free vessels weigh what they hold; the inertia grows with the mass, the centre of mass stays."""
        self._weighed = masses
        model = self._model
        for index in self._free:
            body = self._bodies[index]
            mass = self._empty[index] + masses[index]
            model.body_inertia[body] = self._built.nominal_inertia[body] * (mass / self._built.nominal_mass[body])
            model.body_mass[body] = mass
        mujoco.mj_resetData(model, self._scratch)
        mujoco.mj_setConst(model, self._scratch)
