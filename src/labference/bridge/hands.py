"""Motion tools: from checked arguments to the scripts of the motion room; they know the robot, not the scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from labference.motion import (
    TUBE_TRANSIT,
    Arm,
    Grasp,
    Insertion,
    Placement,
    grip,
    insert,
    pick,
    place,
    reach,
    top_down,
)
from labference.motion.grasp import RELEASE
from labference.motion.kinematics import HIGH, LOW
from labference.motion.path import minimum_jerk, paced
from labference.motion.skill import TRANSIT, perform
from labference.wire import Observation, Script
from labference.wire.action import STROKE

from .tools import ToolError

GRIPPING = 0.4
"""Time for the fingers to open or close and come to rest [s]."""
JOINT_SPEED = 1.0
"""Mean speed of the joint that turns farthest on its way to joint angles [rad/s]."""

Found = dict[str, Any]
"""What a tool says beside what every motion says."""


def script(tool: str, arm: Arm, observation: Observation, arguments: dict[str, Any]) -> Script[Found]:
    """Return the script of a motion tool; `ToolError` where its arguments do not go together."""
    return _SCRIPTS[tool](arm, observation, arguments)


def _move(arm: Arm, observation: Observation, arguments: dict[str, Any]) -> Script[Found]:
    opening = arguments.get("opening")
    _together(arguments)
    held = float(observation.senses.robot.command[7]) if opening is None else float(opening)
    if "joints" in arguments:
        return _to_joints(arm, observation, _joints(arguments["joints"]), held)
    if "position" in arguments:
        speed = float(arguments.get("speed", TRANSIT))
        rotation = _rotation(arguments)
        return _reach(arm, observation, np.array(arguments["position"], float), rotation, held, speed)
    return _grip(arm, observation, held)


def _together(arguments: dict[str, Any]) -> None:
    """Refuse a move to several places, or to none."""
    if "joints" in arguments and "position" in arguments:
        raise ToolError("move takes a position or joints, not both.")
    if not {"joints", "position", "opening"} & arguments.keys():
        raise ToolError("move needs a position, joints, or an opening.")
    if "position" not in arguments and (extra := {"yaw", "rotation", "speed"} & arguments.keys()):
        raise ToolError(f"move: {min(extra)} goes with a position.")
    if {"yaw", "rotation"} <= arguments.keys():
        raise ToolError("move takes yaw or rotation, not both.")


def _rotation(arguments: dict[str, Any]) -> np.ndarray:
    if "rotation" not in arguments:
        return top_down(float(arguments.get("yaw", 0.0)))
    quaternion = np.array(arguments["rotation"], float)
    length = float(np.linalg.norm(quaternion))
    if length < 1e-6:
        raise ToolError("move: rotation is a quaternion of length 0; [0, 1, 0, 0] points down.")
    return quaternion / length


def _joints(wanted: list[float]) -> np.ndarray:
    joints = np.array(wanted, float)
    for index, (value, low, high) in enumerate(zip(joints, LOW, HIGH, strict=True)):
        if not low <= value <= high:
            raise ToolError(f"move: joints[{index}] is {value:g} rad; {low:g} to {high:g} rad would work.")
    return joints


def _joint_path(arm: Arm, start: np.ndarray, goal: np.ndarray, opening: float) -> np.ndarray:
    """Return commands (n, 8) from joints `start` to `goal`, at rest at both ends."""
    turn = float(np.abs(goal - start).max())
    count = max(1, int(np.ceil(turn / JOINT_SPEED / arm.period)))
    progress = minimum_jerk(np.arange(count + 1) / count)[:, None]
    path = paced(start + progress * (goal - start), arm.period)
    path[-1] = goal
    return np.column_stack((path, np.full(len(path), opening)))


def _to_joints(arm: Arm, observation: Observation, goal: np.ndarray, opening: float) -> Script[Found]:
    while True:
        rows = _joint_path(arm, observation.senses.robot.command[:7], goal, opening)
        observation, arrived = yield from perform(arm, observation, rows)
        if arrived:
            return {}


def _reach(
    arm: Arm, observation: Observation, position: np.ndarray, rotation: np.ndarray, opening: float, speed: float
) -> Script[Found]:
    yield from reach(arm, observation, position, rotation, opening, speed)
    return {}


def _grip(arm: Arm, observation: Observation, opening: float) -> Script[Found]:
    yield from grip(arm, observation, opening, GRIPPING)
    return {}


def _pick(arm: Arm, observation: Observation, arguments: dict[str, Any]) -> Script[Found]:
    at = Grasp(_position(arguments), **_given(arguments, "yaw", "opening", "transit", "thinnest", "draw"))
    picked = yield from pick(arm, observation, at)
    return {"holding": picked.holding}


def _place(arm: Arm, observation: Observation, arguments: dict[str, Any]) -> Script[Found]:
    yaw, opening = float(arguments.get("yaw", 0.0)), _release(observation, arguments)
    yield from place(arm, observation, Placement(_position(arguments), yaw, opening, **_given(arguments, "transit")))
    return {}


def _insert(arm: Arm, observation: Observation, arguments: dict[str, Any]) -> Script[Found]:
    yaw, opening = float(arguments.get("yaw", 0.0)), _release(observation, arguments)
    transit = float(arguments.get("transit", TUBE_TRANSIT))
    at = Insertion(
        _position(arguments), float(arguments["entry"]), yaw, opening, transit, **_given(arguments, "withdraw")
    )
    yield from insert(arm, observation, at)
    return {}


def _position(arguments: dict[str, Any]) -> tuple[float, float, float]:
    x, y, z = map(float, arguments["position"])
    return x, y, z


def _given(arguments: dict[str, Any], *names: str) -> dict[str, float]:
    """Return those of the named numbers that were given; the skill has a default for the others."""
    return {name: float(arguments[name]) for name in names if name in arguments}


def _release(observation: Observation, arguments: dict[str, Any]) -> float:
    """Return the opening that frees what the hand holds, unless told otherwise [m]."""
    return float(arguments.get("opening", min(STROKE, observation.senses.robot.opening + 2 * RELEASE)))


_SCRIPTS = {"move": _move, "pick": _pick, "place": _place, "insert": _insert}
MOTIONS = tuple(_SCRIPTS)
"""Tools that move the arm by a script."""
