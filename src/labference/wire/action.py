"""Action conventions, declared in full so that no adapter has to guess one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

JOINT_RANGES = (
    (-2.8973, 2.8973),
    (-1.7628, 1.7628),
    (-2.8973, 2.8973),
    (-3.0718, -0.0698),
    (-2.8973, 2.8973),
    (-0.0175, 3.7525),
    (-2.8973, 2.8973),
)
"""Joint position limits of the Franka Emika Panda [rad], from the manufacturer's interface specification."""
STROKE = 0.08
"""Largest distance between the finger pads [m]."""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """Declare one action profile.

    space            what the arm part of a command means
    size             length of one command; the last entry is the gripper
    absolute         targets (True) or increments on the target in force (False)
    frame            coordinate frame of the arm part
    units            one unit per entry
    low, high        inclusive range per entry
    rate_hz          commands per simulated second
    hold             how a command acts until the next: "linear" ramps from the target in force to the new one over the
                     control period, so that a 20 Hz policy does not hammer a stiff servo
    longest_chunk    most commands one `Move` may carry
    gripper          what the gripper entry means
    on_out_of_range  "reject" refuses the whole chunk; "clip" applies the nearest legal command and records both
    """

    name: str
    space: Literal["joint", "end_effector"]
    size: int
    absolute: bool
    frame: str
    units: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    rate_hz: float = 20.0
    hold: Literal["linear"] = "linear"
    longest_chunk: int = 50
    gripper: str = "distance between the finger pads, 0 closed, 0.08 open"
    on_out_of_range: Literal["reject", "clip"] = "reject"


JOINT = ActionSpec(
    name="joint",
    space="joint",
    size=8,
    absolute=True,
    frame="joint",
    units=("rad",) * 7 + ("m",),
    low=(*(low for low, _ in JOINT_RANGES), 0.0),
    high=(*(high for _, high in JOINT_RANGES), STROKE),
)
"""Seven absolute joint targets and one gripper opening at 20 Hz: the reference profile."""

END_EFFECTOR = ActionSpec(
    name="end_effector",
    space="end_effector",
    size=7,
    absolute=False,
    frame="robot base",
    units=("m",) * 3 + ("rad",) * 3 + ("m",),
    low=(-0.05,) * 3 + (-0.25,) * 3 + (0.0,),
    high=(0.05,) * 3 + (0.25,) * 3 + (STROKE,),
)
"""Increments of the tool centre point (translation and rotation vector in the robot base frame) at 20 Hz; the gripper
entry stays absolute."""

PROFILES = {spec.name: spec for spec in (JOINT, END_EFFECTOR)}
