"""Instants at which no body moves: the engine need not be asked again for what it will say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .engine import mujoco
from .measure import Rows

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
STILL_SPEED, STILL_ACCELERATION = 1e-4, 2e-3
"""Largest speed [m/s, rad/s] and acceleration [m/s2, rad/s2] of any joint of a scene that stands still. A probe that is
held in a beaker creeps by 1e-5 m/s, and an arm is slower than this 0.5 s after it has arrived (measured)."""


@dataclass(frozen=True, slots=True)
class Instant:
    """What is so at an instant, computed from the state alone: sensors and contacts as one row, and poses of bodies."""

    rows: Rows
    xpos: np.ndarray
    xmat: np.ndarray


class Stillness:
    """Tell whether a scene stands still, and what is measured of it.

    The answer depends on the state, the masses and the commands alone, so that a checkpoint continues in the same way.
    """

    def __init__(self, model: Any, scratch: Any) -> None:
        self._model, self._scratch = model, scratch
        self._state = np.empty(mujoco.mj_stateSize(model, STATE))
        self._key = b""
        self._known: Instant | None = None

    def at(self, data: Any, controls: np.ndarray) -> Instant | None:
        """Return this instant of `data` if nothing moves or presses and `controls` (k, n) keep the command in force.

        Otherwise it is None.
        """
        if np.abs(data.qvel).max() > STILL_SPEED or (controls != data.ctrl).any() or data.xfrc_applied.any():
            return None
        mujoco.mj_getState(self._model, data, self._state, STATE)
        self._state[0] = 0.0  # time
        key = self._state.tobytes() + self._model.body_mass.tobytes()
        if key != self._key:
            self._key, self._known = key, self._looked(data)
        return self._known

    def _looked(self, data: Any) -> Instant | None:
        model, scratch = self._model, self._scratch
        mujoco.mj_getState(model, data, self._state, STATE)
        mujoco.mj_setState(model, scratch, self._state, STATE)
        mujoco.mj_forward(model, scratch)
        if np.abs(scratch.qacc).max() > STILL_ACCELERATION:
            return None
        rows = Rows(model, 1)
        rows.sensors[0] = scratch.sensordata
        rows.contacts[0] = scratch.contact.geom.tobytes()
        return Instant(rows, scratch.xpos.copy(), scratch.xmat.copy())
