"""Between our nouns and the numbers of a profile, both ways; refusals come from the answer and the profile alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from labference.wire import Frame, Goal, Observation, Refusal, RobotState, Senses
from labference.wire.action import STROKE

from .images import resized, turned
from .profile import SOURCES, Profile, View

NOWHERE = np.full((4, 4), np.nan)
"""Pose of a camera that no key tells."""


@dataclass(frozen=True, slots=True)
class Converted:
    """Commands of our profile (n, size), how many of their actions were used, and how many of these were clipped."""

    commands: np.ndarray
    used: int
    clipped: int


# Observations: ours to theirs, and back where a local policy is hosted.


def to_request(profile: Profile, observation: Observation, prompt_key: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return state and prompt by key, and images by key: what the profile maps of `observation`.

    Frames that were not delivered, because nobody asked for them, are left out.
    """
    robot, time = observation.senses.robot, observation.senses.time
    fields: dict[str, Any] = {
        key: np.concatenate([_source(name, robot, time, profile) for name in sources]).astype(profile.number)
        for key, sources in profile.state
    }
    fields[profile.prompt.key or prompt_key] = profile.prompt.text or observation.goal.instruction
    if profile.vocabulary:
        goal = observation.goal
        fields[profile.vocabulary] = {
            "kinds": list(goal.kinds),
            "items": list(goal.items),
            "places": list(goal.places),
        }
    images: dict[str, Any] = {}
    frames = {frame.camera: frame for frame in observation.senses.frames}
    for view in profile.views:
        if view.camera in frames:
            images[view.key] = _image(view, frames[view.camera])
            fields |= _geometry(view, frames[view.camera])
    return fields, images


def _image(view: View, frame: Frame) -> np.ndarray:
    rgb = frame.rgb if view.size is None else resized(frame.rgb, view.size, view.resize)
    return np.ascontiguousarray(turned(rgb, view.turn))


def _geometry(view: View, frame: Frame) -> dict[str, Any]:
    found = {view.intrinsics: frame.intrinsics, view.pose: frame.pose, view.depth: frame.depth}
    return {key: value for key, value in found.items() if key and value is not None}


def _source(name: str, robot: RobotState, time: float, profile: Profile) -> np.ndarray:
    """Return one source of a state key, (n,)."""
    match name:
        case "joints" | "velocities" | "command":
            return np.asarray(object.__getattribute__(robot, name), float)
        case "gripper":
            return np.array([gripper_value(profile, robot.opening)])
        case "opening":
            return np.array([robot.opening])
        case "fingers":
            return np.array([robot.opening / 2, -robot.opening / 2])
        case "position":
            return np.asarray(robot.tcp[:3], float)
        case "quaternion_wxyz":
            return np.asarray(robot.tcp[3:], float)
        case "quaternion_xyzw":
            return np.asarray(robot.tcp[[4, 5, 6, 3]], float)
        case "axis_angle":
            return axis_angle(robot.tcp[3:])
    return np.array([time])


def axis_angle(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation vector (3,) [rad] of a wxyz quaternion, its angle from 0 to pi."""
    w, *axis = np.asarray(quaternion, float) * (1.0 if quaternion[0] >= 0 else -1.0)
    length = float(np.linalg.norm(axis))
    return np.zeros(3) if length < 1e-12 else np.array(axis) * (2 * math.atan2(length, w) / length)


def from_request(
    profile: Profile, fields: dict[str, Any], images: dict[str, Any], prompt_key: str, number: int
) -> Observation:
    """Return what a request tells, as observation `number`; what no key carries is NaN, and nobody reads it as true.

    Raises `Refusal` where a key that the profile maps is missing or has another shape.
    """
    found = {name: np.full(length, np.nan) for name, length in SOURCES.items()}
    for key, sources in profile.state:
        values = _numbers(fields, key, sum(SOURCES[name] for name in sources))
        for name in sources:
            found[name], values = values[: SOURCES[name]], values[SOURCES[name] :]
    opening = _opening(profile, found)
    quaternion = found["quaternion_wxyz"]
    if np.isnan(quaternion).all():
        quaternion = found["quaternion_xyzw"][[3, 0, 1, 2]]
    command = found["command"]
    if np.isnan(command).all():
        command = np.append(found["joints"], opening)
    time = float(found["time"][0])
    robot = RobotState(found["joints"], found["velocities"], opening, np.append(found["position"], quaternion), command)
    frames = tuple(_frame(view, fields, images[view.key], time) for view in profile.views if view.key in images)
    return Observation(number, _goal(profile, fields, prompt_key), Senses(time, robot, frames))


def missing(profile: Profile, fields: dict[str, Any], images: dict[str, Any], prompt_key: str) -> list[str]:
    """Return the keys that the profile maps and a request lacks; frames of optional cameras may be absent."""
    state = [key for key, _ in profile.state if key not in fields]
    views = [view.key for view in profile.views if not view.optional and view.key not in images]
    prompt = profile.prompt.key or prompt_key
    return [*state, *views, *([] if prompt in fields else [prompt])]


def _goal(profile: Profile, fields: dict[str, Any], prompt_key: str) -> Goal:
    words = fields.get(profile.vocabulary, {}) if profile.vocabulary else {}
    kinds, items, places = (tuple(map(str, words.get(name, ()))) for name in ("kinds", "items", "places"))
    return Goal(str(fields.get(profile.prompt.key or prompt_key, "")), kinds, items, places)


def _opening(profile: Profile, found: dict[str, np.ndarray]) -> float:
    if not np.isnan(found["opening"][0]):
        return float(found["opening"][0])
    if not np.isnan(found["fingers"][0]):
        return float(2 * found["fingers"][0])
    return float(_gripper_scale(profile) * (found["gripper"][0] - profile.gripper.closed))


def _frame(view: View, fields: dict[str, Any], rgb: object, time: float) -> Frame:
    if not isinstance(rgb, np.ndarray) or rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3:
        raise Refusal("shape", f"The image {view.key!r} is no (h, w, 3) uint8 array.")
    intrinsics = fields.get(view.intrinsics) if view.intrinsics else None
    pose = fields.get(view.pose) if view.pose else None
    depth = fields.get(view.depth) if view.depth else None
    return Frame(
        view.camera,
        turned(rgb, view.turn).copy(),
        depth,
        NOWHERE[:3, :3].copy() if intrinsics is None else intrinsics,
        NOWHERE.copy() if pose is None else pose,
        time,
        time,
    )


def _numbers(fields: dict[str, Any], key: str, length: int) -> np.ndarray:
    value = fields.get(key)
    if not isinstance(value, np.ndarray) or value.shape != (length,) or value.dtype.kind not in "iuf":
        raise Refusal("shape", f"The state {key!r} is no array of {length} numbers.")
    return value.astype(float)


# Actions: theirs to ours, and back.


def gripper_value(profile: Profile, opening: float) -> float:
    """Return the gripper entry that means `opening` [m]."""
    return profile.gripper.closed + opening / _gripper_scale(profile)


def _gripper_scale(profile: Profile) -> float:
    """Opening [m] per unit of the gripper entry, negative where a greater number closes."""
    return STROKE / (profile.gripper.open - profile.gripper.closed)


def to_commands(profile: Profile, actions: object, robot: RobotState) -> Converted:
    """Return our commands for an answer (H, width) or (width,): the first `chunk.execute` rows of it.

    Velocities are summed up from the measured joints at their rate. Raises `Refusal` with dtype, shape, empty,
    nonfinite or out_of_range; what is left to refuse, such as joint ranges, is refused when commands are admitted.
    """
    rows = _rows(profile, actions)[: profile.chunk.execute]
    if not np.isfinite(rows).all():
        row, column = (int(index) for index in np.argwhere(~np.isfinite(rows))[0])
        raise Refusal("nonfinite", f"Action {row} has {rows[row, column]} at entry {column}; send finite numbers.")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused when it is admitted
        arm, arm_clipped = _arm(profile, rows[:, :-1], robot.joints)
        opening, grip_clipped = _openings(profile, rows[:, -1])
    clipped = int((arm_clipped | grip_clipped).sum())
    arm, opening = _resampled(profile, arm, opening, robot.joints)
    return Converted(np.column_stack([arm, opening]), len(rows), clipped)


def _rows(profile: Profile, actions: object) -> np.ndarray:
    width = profile.action.width
    if not isinstance(actions, np.ndarray) or actions.dtype.kind not in "iuf":
        kind = actions.dtype.name if isinstance(actions, np.ndarray) else type(actions).__name__
        raise Refusal("dtype", f"Actions are {kind}; send a float array of shape (n, {width}).")
    rows = actions[None] if actions.ndim == 1 else actions
    if rows.ndim != 2 or rows.shape[1] != width:
        raise Refusal("shape", f"Actions have shape {actions.shape}; profile {profile.name!r} takes (n, {width}).")
    if not len(rows):
        raise Refusal("empty", f"Actions have shape {actions.shape}; send at least one.")
    return rows.astype(float)


def _arm(profile: Profile, arm: np.ndarray, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the arm part of our commands at their rate, and which rows were clipped."""
    action, spec = profile.action, profile.action.spec
    clipped = np.zeros(len(arm), bool)
    if action.limit is not None:
        arm, clipped = _within(profile, arm, -action.limit, action.limit, "units")
    if action.meaning == "end_effector_delta":
        arm = arm * np.repeat(action.scale, 3)
    elif action.meaning == "joint_velocity":
        arm = joints + np.cumsum(arm * (action.scale[0] / action.rate_hz), axis=0)
    if action.out_of_range == "clip":
        inside = np.clip(arm, spec.low[:-1], spec.high[:-1])
        clipped = clipped | (inside != arm).any(axis=1)
        arm = inside
    return arm, clipped


def _openings(profile: Profile, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return openings [m] for gripper entries, and which were clipped."""
    gripper = profile.gripper
    if gripper.binary:
        nearer = np.abs(values - gripper.open) < np.abs(values - gripper.closed)
        return np.where(nearer, STROKE, 0.0), np.zeros(len(values), bool)
    low, high = sorted((gripper.open, gripper.closed))
    inside, clipped = _within(profile, values[:, None], low, high, "at the gripper")
    return np.clip((inside[:, 0] - gripper.closed) * _gripper_scale(profile), 0.0, STROKE), clipped


def _within(profile: Profile, values: np.ndarray, low: float, high: float, what: str) -> tuple[np.ndarray, np.ndarray]:
    inside = np.clip(values, low, high)
    beyond = inside != values
    if beyond.any() and profile.action.out_of_range == "refuse":
        row, column = (int(index) for index in np.argwhere(beyond)[0])
        raise Refusal(
            "out_of_range", f"Action {row} has {values[row, column]:.6g} {what}; {low:g} to {high:g} would work."
        )
    return inside, beyond.any(axis=1)


def _resampled(
    profile: Profile, arm: np.ndarray, opening: np.ndarray, joints: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return targets at our rate: joints on straight lines from where the arm is, openings as of their own period."""
    theirs, ours = profile.action.rate_hz, profile.action.spec.rate_hz
    if theirs == ours:
        return arm, opening
    count = max(1, math.floor(len(arm) * ours / theirs + 1e-9))
    at = np.minimum(np.arange(1, count + 1) * (theirs / ours), len(arm))
    knots = np.vstack([joints, arm])
    period = np.ceil(at - 1e-9).astype(int)
    share = (at - (period - 1))[:, None]
    return knots[period - 1] + share * (knots[period] - knots[period - 1]), opening[period - 1]


def to_actions(profile: Profile, commands: np.ndarray, robot: RobotState) -> np.ndarray:
    """Return actions (n, width) that mean `commands` of our profile: the inverse of `to_commands` at equal rates.

    Raises `Refusal` where the profile asks for another rate: a hosted policy speaks at ours.
    """
    check_rate(profile)
    return written(profile, commands, robot.joints)


def check_rate(profile: Profile) -> None:
    """Refuse to host a local policy behind a profile of another rate than ours."""
    action = profile.action
    if action.rate_hz != action.spec.rate_hz:
        raise Refusal(
            "unsupported",
            f"A local policy speaks at {action.spec.rate_hz:g} Hz and cannot be served at {action.rate_hz:g} Hz.",
        )


def written(profile: Profile, commands: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Return `commands` (n, size) that are spaced at the rate of the profile in its convention, (n, width)."""
    action, arm = profile.action, np.asarray(commands, float)[:, :-1]
    if action.meaning == "end_effector_delta":
        arm = arm / np.repeat(action.scale, 3)
    elif action.meaning == "joint_velocity":
        arm = np.diff(np.vstack([joints, arm]), axis=0) * (action.rate_hz / action.scale[0])
    grip = profile.gripper.closed + np.asarray(commands, float)[:, -1] / _gripper_scale(profile)
    return np.column_stack([arm, grip])
