"""What other tools are given: a delivered observation as plain arrays and words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from labference.wire import Goal, Observation
from labference.wire.observation import Frame, Reading, RobotState, Senses

STATE = ("joints", "velocities", "opening", "tcp", "command")
"""Proprioception by name, in the order of `RobotState`: (7,) [rad], (7,) [rad/s], (1,) [m], (7,), (8,)."""


def view(observation: Observation) -> dict[str, Any]:
    """Return `observation` as a dictionary that shares nothing with it.

    `instruction` are the words of the goal, `time` is simulated [s]; `joints` (7,) [rad], `velocities` (7,) [rad/s],
    `opening` (1,) [m], `tcp` (7,) position [m] and wxyz quaternion in the robot base frame, `command` (8,). Where
    cameras are given, `images` has (h, w, 3) uint8 by camera. Where depth is, `depth` has (h, w) uint16 in tenths of a
    millimetre along the optical axis, `intrinsics` (3, 3) in pixels and `poses` (4, 4) camera to robot base. Where
    data ports are, `readings` has (3,) by instrument: value in its unit, whether it is stable, whether it is valid.
    """
    senses, robot = observation.senses, observation.senses.robot
    found: dict[str, Any] = {
        "instruction": observation.goal.instruction,
        "time": senses.time,
        "joints": robot.joints.copy(),
        "velocities": robot.velocities.copy(),
        "opening": np.array([robot.opening]),
        "tcp": robot.tcp.copy(),
        "command": robot.command.copy(),
    }
    if senses.frames:
        found["images"] = {frame.camera: frame.rgb.copy() for frame in senses.frames}
    if any(frame.depth is not None for frame in senses.frames):
        found["depth"] = {frame.camera: frame.depth.copy() for frame in senses.frames if frame.depth is not None}
        found["intrinsics"] = {frame.camera: frame.intrinsics.copy() for frame in senses.frames}
        found["poses"] = {frame.camera: frame.pose.copy() for frame in senses.frames}
    if senses.readings:
        found["readings"] = {reading.instrument: _numbers(reading) for reading in senses.readings}
    return found


def observation_of(seen: dict[str, Any], goal: Goal, number: int) -> Observation:
    """Return the observation that `view` showed as `seen`, but for its data ports: for policies behind another wire."""
    time = float(seen["time"])
    joints, velocities, opening, tcp, command = (np.array(seen[name], np.float64) for name in STATE)
    robot = RobotState(joints, velocities, float(opening[0]), tcp, command)
    frames = tuple(
        Frame(
            camera,
            np.array(rgb, np.uint8),
            np.array(seen["depth"][camera], np.uint16),
            np.array(seen["intrinsics"][camera], np.float64),
            np.array(seen["poses"][camera], np.float64),
            time,
            time,
        )
        for camera, rgb in seen.get("images", {}).items()
    )
    return Observation(number, goal, Senses(time, robot, frames))


def _numbers(reading: Reading) -> np.ndarray:
    value = math.nan if reading.value is None else reading.value
    valid = math.isfinite(value)
    return np.array((value if valid else 0.0, reading.stable, valid))
