"""Put an instance on the bench: masses, places, and whether the load cells are mounted as a balance needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..truth.measurement import Pose, Rearrangement, Setup
from ..wire.action import STROKE
from ..wire.panda import HOME
from ..wire.tubes import CAP_COLOURS
from .built import Built
from .engine import mujoco
from .faults import SetupError

UPRIGHT = 0.9995
"""Smallest cosine between a load cell's axis and the vertical."""


def check_setup(built: Built, setup: Setup) -> None:
    """Refuse a setup that leaves something without a pose, or names something that is not here."""
    items, fixtures = built.item_body.keys(), built.fixtures.keys()
    held = {setup.held[0]} if setup.held else set()
    if missing := (items - setup.items.keys() - held) | (fixtures - setup.fixtures.keys()):
        raise SetupError(f"No pose for {', '.join(sorted(missing))}.")
    about_items = {*setup.items, *setup.masses, *setup.on_cell, *setup.colours, *held} - items
    about_cells = {fault.cell for fault in setup.faults} - set(built.channels.cells)
    about_both = setup.after.keys() - items - fixtures
    if unknown := about_items | about_cells | about_both | (setup.fixtures.keys() - fixtures):
        raise SetupError(f"Not in this laboratory: {', '.join(sorted(unknown))}.")
    for name, mass in setup.masses.items():
        if not 0 < mass < np.inf:
            raise SetupError(f"The mass of {name!r} must be positive, not {mass!r} kg.")
    if ungraspable := sorted(held - built.grips.keys()):
        raise SetupError(f"{ungraspable[0]!r} cannot start in the hand. Can: {', '.join(built.grips) or 'nothing'}.")
    if plain := sorted(setup.colours.keys() - built.colours.keys()):
        raise SetupError(f"{plain[0]!r} has nothing to colour.")


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


def set_colours(built: Built, model: Any, colours: dict[str, tuple[float, float, float]]) -> None:
    """Colour the shapes of items in `model`, white unless an instance says otherwise."""
    for item, shapes in built.colours.items():
        for geom, shade in shapes:
            model.geom_rgba[geom, :3] = shade * np.array(colours.get(item, CAP_COLOURS["white"]))


def place(built: Built, data: Any, setup: Setup, aside: tuple[str, ...] = ()) -> None:
    """Put everything where it starts, at rest; items `aside` hang behind the robot, where nothing is below.

    A held item hangs upright between the fingers.
    """
    mujoco.mj_resetData(built.model, data)
    for name, pose in setup.fixtures.items():
        index = built.fixtures[name]
        data.mocap_pos[index], data.mocap_quat[index] = _position(pose), _turn(pose)
    for index, (name, where) in enumerate(zip(built.channels.items, built.item_qpos, strict=True)):
        if name not in aside and setup.held is not None and setup.held[0] == name:
            continue
        pose = Pose(-2.0 - index, 0.0, 2.0) if name in aside else setup.items[name]
        data.qpos[where] = (*_position(pose), *_turn(pose))
    data.qpos[built.arm_qpos] = HOME
    data.qpos[built.finger_qpos] = STROKE / 2
    if setup.held is not None and setup.held[0] not in aside:
        _put_into_hand(built, data, *setup.held)


def _put_into_hand(built: Built, data: Any, item: str, height: float) -> None:
    """Hang `item` upright, the tool centre point `height` [m] above its origin, and close the fingers around it."""
    data.qpos[built.finger_qpos] = built.grips[item]
    mujoco.mj_kinematics(built.model, data)
    x, y, z = data.site_xpos[built.tcp_site]
    data.qpos[built.item_qpos[built.channels.items.index(item)]] = x, y, z - height, 1.0, 0.0, 0.0, 0.0


def rearrange(built: Built, data: Any, change: Rearrangement) -> bool:
    """Move fixtures and free bodies between two steps; return whether a free body was moved."""
    items = built.channels.items
    moved = [*(carry.item for carry in change.carried), *change.items]
    if unknown := (set(moved) - set(items)) | (change.fixtures.keys() - built.fixtures.keys()):
        raise SetupError(f"Not in this laboratory: {', '.join(sorted(unknown))}.")
    if len(set(moved)) < len(moved):
        raise SetupError(
            f"Moved twice at once: {', '.join(sorted({name for name in moved if moved.count(name) > 1}))}."
        )
    for name, pose in change.fixtures.items():
        index = built.fixtures[name]
        data.mocap_pos[index], data.mocap_quat[index] = _position(pose), _turn(pose)
    for carry in change.carried:
        where = built.item_qpos[items.index(carry.item)]
        data.qpos[where] = _carried(data.qpos[where], carry.before, carry.after)
    for name, pose in change.items.items():
        data.qpos[built.item_qpos[items.index(name)]] = (*_position(pose), *_turn(pose))
    for name in moved:
        data.qvel[built.item_qvel[items.index(name)]] = 0.0
    if moved:
        # What the solver remembers belongs to contacts that are gone.
        data.qacc_warmstart[:] = 0.0
    return bool(moved)


def _carried(pose: np.ndarray, before: Pose, after: Pose) -> np.ndarray:
    """Return `pose` (7,) moved rigidly with a frame that goes from `before` to `after`."""
    back, turn, local = np.empty(4), np.empty(4), np.empty(3)
    mujoco.mju_negQuat(back, np.array(_turn(before)))
    mujoco.mju_mulQuat(turn, np.array(_turn(after)), back)
    mujoco.mju_rotVecQuat(local, pose[:3] - _position(before), turn)
    turned = np.empty(4)
    mujoco.mju_mulQuat(turned, turn, pose[3:])
    return np.concatenate((_position(after) + local, turned / np.linalg.norm(turned)))


def check_cell(name: str, orientation: np.ndarray, empty: float) -> None:
    """Refuse a load cell whose axis leans or whose `empty` pan [N] does not press down; `orientation` is (9,)."""
    upright = float(orientation[8])
    if upright < UPRIGHT or empty <= 0:
        raise SetupError(
            f"Load cell {name!r} is mounted wrongly: cosine {upright:.5f} with the vertical (at least {UPRIGHT}), "
            f"empty force {empty:.4f} N (must be upward)."
        )


def _position(pose: Pose) -> tuple[float, float, float]:
    """Return the position of `pose` [m]."""
    return pose.x, pose.y, pose.z


def _turn(pose: Pose) -> tuple[float, float, float, float]:
    """Return the wxyz quaternion of a turn about the vertical, followed by the lean."""
    upright = (float(np.cos(pose.yaw / 2)), 0.0, 0.0, float(np.sin(pose.yaw / 2)))
    angle = float(np.hypot(*pose.lean))
    if angle == 0.0:
        return upright
    half = np.sin(angle / 2) / angle
    lean, both = np.array((np.cos(angle / 2), half * pose.lean[0], half * pose.lean[1], 0.0)), np.empty(4)
    mujoco.mju_mulQuat(both, lean, np.array(upright))
    w, x, y, z = both.tolist()
    return w, x, y, z
