"""Poses of the fast laboratory as the rows of a block: integers on a grid, a whole path at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..truth.measurement import LENGTH, SPEED, TURN

UPRIGHT = (0.0, 0.0, 1.0)
DOWN = (0.0, 1.0, 0.0, 0.0)
"""Orientation of a hand that points down, wxyz."""


class Where(NamedTuple):
    """Where an item is: its origin [m], the direction of its axis, and its turn about the vertical if upright [rad]."""

    at: tuple[float, float, float]
    axis: tuple[float, float, float] = UPRIGHT
    yaw: float = 0.0


def turn(yaw: float) -> tuple[float, float, float, float]:
    """Return the wxyz quaternion of a turn about the vertical, w >= 0."""
    w, z = math.cos(yaw / 2), math.sin(yaw / 2)
    return (w, 0.0, 0.0, z) if w >= 0 else (-w, 0.0, 0.0, -z)


def lean(axis: tuple[float, float, float]) -> tuple[float, float, float, float]:
    """Return the quaternion of the shortest turn that brings the vertical to `axis`."""
    x, y, z = axis
    w = math.sqrt(max(0.0, (1.0 + z) / 2))
    if w < 1e-9:
        return 0.0, 1.0, 0.0, 0.0
    return w, -y / (2 * w), x / (2 * w), 0.0


def grid(at: tuple[float, float, float], turned: tuple[float, float, float, float]) -> list[int]:
    """Return position [m] and quaternion on the grid of `Block.pose`."""
    return [round(value / LENGTH) for value in at] + [round(value / TURN) for value in turned]


def path(trail: list[Where], height: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the poses of a thing that went along `trail`, and of the hand at `height` [m] of its axis, (k, 7) int32
    each; nothing on the way turns about an upright axis.
    """
    at, axis = _split(trail)
    w = np.sqrt(np.maximum(0.0, (1.0 + axis[:, 2]) / 2))
    thing, hand = np.zeros((2, len(trail), 7), np.int32)
    thing[:, :3] = np.rint(at / LENGTH)
    thing[:, 3] = np.rint(w / TURN)
    upside_down = w < 1e-9
    w[upside_down] = 1.0
    thing[:, 4] = np.rint(np.where(upside_down, 1.0, -axis[:, 1] / (2 * w)) / TURN)
    thing[:, 5] = np.rint(np.where(upside_down, 0.0, axis[:, 0] / (2 * w)) / TURN)
    hand[:, :3] = np.rint((at + height * axis) / LENGTH)
    hand[:, 3:] = [round(value / TURN) for value in DOWN]
    return thing, hand


def speeds(trail: list[Where], seconds: float) -> np.ndarray:
    """Return linear and angular speed between neighbours of `trail`, `seconds` apart, (k - 1, 2) int32 as in
    `Block.speed`.
    """
    at, axis = _split(trail)
    cosine = (axis[1:] * axis[:-1]).sum(axis=1)
    gone = np.sqrt((np.diff(at, axis=0) ** 2).sum(axis=1))
    turned = np.arccos(np.clip(cosine, -1.0, 1.0))
    return np.asarray(np.rint(np.column_stack((gone, turned)) / seconds / SPEED), np.int32)


def moved(
    pose: np.ndarray, trail: list[Where], before: Where | None, column: int, height: float, seconds: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of poses and speeds in which one thing and the hand, at `height` [m] of its axis, go along `trail`.

    `before` is where the thing was a tick of `seconds` earlier, None where it was at rest.
    """
    poses = np.repeat(pose[None], len(trail), axis=0)
    thing, hand = path(trail, height)
    poses[1:, column], poses[1:, -1] = thing[1:], hand[1:]
    speed = np.zeros((len(trail), len(pose) - 1, 2), np.int32)
    speed[:, column] = speeds([before or trail[0], *trail], seconds)
    return poses, speed


def _split(trail: list[Where]) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and axes, (k, 3) each."""
    numbers = np.array([where.at + where.axis for where in trail])
    return numbers[:, :3], numbers[:, 3:]
