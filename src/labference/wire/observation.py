"""What a tested system is given. Nothing here can hold a mass, a goal subset, a legal set or a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .support import Assist, Scope

DEPTH_UNIT = 1e-4
"""Delivered depth counts tenths of a millimetre [m]; 0 means no return."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that `Perform` takes for operations of `kind`: `low` to `high` [unit], or `default`."""

    kind: str
    name: str
    unit: str
    low: float
    high: float
    default: float


@dataclass(frozen=True, slots=True)
class Goal:
    """State the task in words, with the closed vocabulary of operations a report may use.

    `parameters` are the numbers that performed operations take; empty where the bench lends nobody its hands.
    """

    instruction: str
    kinds: tuple[str, ...]
    items: tuple[str, ...]
    places: tuple[str, ...]
    parameters: tuple[Setting, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """One camera image with its calibration.

    `rgb` is (h, w, 3) uint8, row 0 at the top. `depth` is (h, w) uint16 in `DEPTH_UNIT` along the optical axis, or
    None where the observation condition is RGB. `intrinsics` is the (3, 3) pinhole matrix in pixels, `pose` the
    (4, 4) camera-to-robot-base transform at acquisition (x right, y down, z forward). Times are simulated seconds.
    """

    camera: str
    rgb: np.ndarray
    depth: np.ndarray | None
    intrinsics: np.ndarray
    pose: np.ndarray
    acquired: float
    delivered: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What an instrument's data port says; `value` is None unless `status` is "ok"."""

    instrument: str
    value: float | None
    unit: str
    stable: bool
    status: str
    time: float


@dataclass(frozen=True, slots=True)
class RobotState:
    """Proprioception.

    `joints` (7,) [rad], `velocities` (7,) [rad/s], `opening` distance between the finger pads [m], `tcp` (7,) pose of
    the tool centre point in the robot base frame, position [m] and wxyz quaternion, `command` the joint targets and
    gripper opening in force, (8,) [rad, m].
    """

    joints: np.ndarray
    velocities: np.ndarray
    opening: float
    tcp: np.ndarray
    command: np.ndarray


@dataclass(frozen=True, slots=True)
class Senses:
    """What the registered sensors show at simulated `time` [s]."""

    time: float
    robot: RobotState
    frames: tuple[Frame, ...] = ()
    readings: tuple[Reading, ...] = ()

    def frame(self, camera: str) -> Frame:
        """Return the frame of `camera`."""
        for frame in self.frames:
            if frame.camera == camera:
                return frame
        delivered = ", ".join(frame.camera for frame in self.frames) or "none"
        raise KeyError(f"No frame of camera {camera!r} was delivered. Delivered cameras: {delivered}.")


@dataclass(frozen=True, slots=True)
class Observation:
    """One delivery: `id` counts deliveries in this session, from 1; `assists` is what support it comes with."""

    id: int
    goal: Goal
    senses: Senses
    assists: tuple[Assist, ...] = ()

    def support(self, scope: Scope) -> Assist | None:
        """Return the support of `scope` that came with this observation."""
        return next((assist for assist in self.assists if assist.scope == scope), None)
