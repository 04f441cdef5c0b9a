"""Put an instance on the bench: masses, places, and whether the load cells are mounted as a balance needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..truth.measurement import Pose, Setup
from ..wire.action import STROKE
from ..wire.panda import HOME
from .built import Built
from .engine import mujoco
from .faults import SetupError

UPRIGHT = 0.9995
"""Smallest cosine between a load cell's axis and the vertical."""


def check_setup(built: Built, setup: Setup) -> None:
    """Refuse a setup that leaves something without a pose, or names something that is not here."""
    items, fixtures = built.item_body.keys(), built.fixtures.keys()
    if missing := (items - setup.items.keys()) | (fixtures - setup.fixtures.keys()):
        raise SetupError(f"No pose for {', '.join(sorted(missing))}.")
    about_items = {*setup.items, *setup.masses, *setup.on_cell} - items
    about_cells = {fault.cell for fault in setup.faults} - set(built.channels.cells)
    if unknown := about_items | about_cells | (setup.fixtures.keys() - fixtures):
        raise SetupError(f"Not in this laboratory: {', '.join(sorted(unknown))}.")
    for name, mass in setup.masses.items():
        if not 0 < mass < np.inf:
            raise SetupError(f"The mass of {name!r} must be positive, not {mass!r} kg.")


def set_masses(built: Built, scratch: Any, masses: dict[str, float]) -> None:
    """Give items their masses [kg], and the model the constants that follow from them, starting from nominal values."""
    model = built.model
    model.body_mass[:], model.body_inertia[:] = built.nominal_mass, built.nominal_inertia
    for name, mass in masses.items():
        body = built.item_body[name]
        model.body_inertia[body] *= mass / model.body_mass[body]
        model.body_mass[body] = mass
    mujoco.mj_resetData(model, scratch)
    mujoco.mj_setConst(model, scratch)


def place(built: Built, data: Any, setup: Setup, aside: tuple[str, ...] = ()) -> None:
    """Put everything where it starts, at rest; items `aside` hang behind the robot, where nothing is below."""
    mujoco.mj_resetData(built.model, data)
    for name, pose in setup.fixtures.items():
        index = built.fixtures[name]
        data.mocap_pos[index], data.mocap_quat[index] = (pose.x, pose.y, pose.z), _turn(pose.yaw)
    for index, (name, where) in enumerate(zip(built.channels.items, built.item_qpos, strict=True)):
        pose = Pose(-2.0 - index, 0.0, 2.0) if name in aside else setup.items[name]
        data.qpos[where] = pose.x, pose.y, pose.z, *_turn(pose.yaw)
    data.qpos[built.arm_qpos] = HOME
    data.qpos[built.finger_qpos] = STROKE / 2


def check_cell(name: str, orientation: np.ndarray, empty: float) -> None:
    """Refuse a load cell whose axis leans or whose `empty` pan [N] does not press down; `orientation` is (9,)."""
    upright = float(orientation[8])
    if upright < UPRIGHT or empty <= 0:
        raise SetupError(
            f"Load cell {name!r} is mounted wrongly: cosine {upright:.5f} with the vertical (at least {UPRIGHT}), "
            f"empty force {empty:.4f} N (must be upward)."
        )


def _turn(yaw: float) -> tuple[float, float, float, float]:
    """Return the wxyz quaternion of a turn about the vertical [rad]."""
    return float(np.cos(yaw / 2)), 0.0, 0.0, float(np.sin(yaw / 2))
