"""Straight, smooth paths of the tool centre point, as joint commands."""

from __future__ import annotations

import numpy as np

from .kinematics import JOINT_SPEEDS, MARGIN, Arm, matrix

STRETCH = 1.6
"""Duration of a segment times its speed over its length; a minimum-jerk segment then peaks at 1.17 times the speed."""
TURN_SPEED = 1.6
"""Length of a turn over the duration of the segment that makes it [rad/s]."""
SHORTEST = 0.15
"""Shortest segment that moves [s]."""
STILL = (1e-5, 1e-4)
"""Distance [m] and turn [rad] below which the arm counts as being there."""


def minimum_jerk(phase: np.ndarray) -> np.ndarray:
    """Map `phase` in 0..1 to progress in 0..1, at rest at both ends."""
    return phase**3 * (10.0 - 15.0 * phase + 6.0 * phase**2)


def straight(
    arm: Arm, command: np.ndarray, position: np.ndarray, rotation: np.ndarray, opening: float, speed: float
) -> np.ndarray:
    """Return commands (n, 8) from the `command` in force (8,) along a straight line to a pose, at `speed` [m/s].

    `opening` [m] is commanded from the first row on. An arm that is there already yields no row, or one to set the
    gripper.
    """
    start = arm.forward(command[:7])
    from scipy.spatial.transform import Rotation  # here, as in `kinematics`

    goal, turn = np.asarray(position, float), Rotation.from_matrix(matrix(rotation))
    origin = Rotation.from_quat(start[3:], scalar_first=True)
    swing = (turn * origin.inv()).as_rotvec()
    distance, angle = float(np.linalg.norm(goal - start[:3])), float(np.linalg.norm(swing))
    if distance < STILL[0] and angle < STILL[1]:
        return hold(command, opening, 0 if command[7] == opening else 1)
    duration = max(SHORTEST, STRETCH * distance / speed, angle / TURN_SPEED)
    count = int(np.ceil(duration / arm.period - 1e-9))
    progress = minimum_jerk(np.arange(1, count + 1) / count)[:, None]
    positions = start[:3] + progress * (goal - start[:3])
    rotations = (Rotation.from_rotvec(progress * swing) * origin).as_matrix()
    joints = arm.follow(command[:7], positions, rotations)
    joints = paced(np.vstack((command[:7], joints)), arm.period)
    return np.column_stack((joints, np.full(len(joints), opening)))


def hold(command: np.ndarray, opening: float, count: int) -> np.ndarray:
    """Return `count` commands (count, 8) that keep the joints of `command` (8,) and set the gripper opening [m]."""
    return np.tile((*command[:7], opening), (count, 1))


def paced(joints: np.ndarray, period: float) -> np.ndarray:
    """Return a joint path (n + 1, 7) without its first row, slowed where a step would be faster than the joints may be.

    `period` [s] is the time of one step. The last row stays exactly the last row.
    """
    needed = np.max(np.abs(np.diff(joints, axis=0)) / (MARGIN * JOINT_SPEEDS), axis=1)
    if np.all(needed <= period):
        return joints[1:]
    times = np.concatenate(((0.0,), np.cumsum(np.maximum(period, needed))))
    count = int(np.ceil(times[-1] / period - 1e-9))
    at = np.minimum(period * np.arange(1, count + 1), times[-1])
    at[-1] = times[-1]
    return np.column_stack([np.interp(at, times, joint) for joint in joints.T])
