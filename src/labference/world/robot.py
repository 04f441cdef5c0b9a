"""The Franka Emika Panda as the laboratory uses it: flat fingertips, a firm gripper, weight-compensated links."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..wire.panda import TCP_IN_HAND, panda_xml
from .engine import mujoco
from .meshes import lighten

PREFIX = "panda/"
FINGERS = ("left_finger", "right_finger")
GRIP_STIFFNESS = 1e4
"""Gain of the gripper servo [N/m]; with Menagerie's 100 N/m a 100 g weight slips."""
GRIP_DAMPING = 100.0
"""[N s/m]"""
GRIP_FORCE = 40.0
"""Largest gripper force [N]."""
FULL_SCALE = 255.0
"""Control value of a fully open gripper."""
HARD = ((0.004, 1.0), (0.95, 0.99, 0.0005, 0.5, 2.0))
"""solref and solimp of every contact that matters for handling."""


def load_robot() -> Any:
    """Return the spec of the robot, ready to be attached at the origin of the robot base frame."""
    robot = mujoco.MjSpec.from_file(str(panda_xml()))
    # Its keyframe would not fit the laboratory, and its light casts a second shadow.
    robot.delete(robot.key("home"))
    robot.delete(robot.light("top"))
    for body in robot.bodies:
        body.gravcomp = 1
    _firm_grip(robot.actuator("actuator8"))
    for finger in FINGERS:
        _flat_fingertip(robot, robot.body(finger))
    hand = robot.body("hand")
    hand.add_site(name="tcp", pos=[0, 0, TCP_IN_HAND], size=[0.003] * 3, rgba=[0, 0, 0, 0])
    hand.add_camera(name="wrist", pos=[0.08, 0, 0.05], quat=_wrist_view(), fovy=62)
    lighten(robot)
    return robot


def _firm_grip(actuator: Any) -> None:
    actuator.gainprm[0] = GRIP_STIFFNESS * 0.04 / FULL_SCALE
    actuator.biasprm[:3] = [0, -GRIP_STIFFNESS, -GRIP_DAMPING]
    actuator.forcerange = [-GRIP_FORCE, GRIP_FORCE]


def _flat_fingertip(robot: Any, finger: Any) -> None:
    """Put one flat pad in place of five boxes, between which a thin cylinder wedges itself and tips over."""
    for geom in list(finger.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_BOX or geom.classname.name == "collision":
            robot.delete(geom)
    box = mujoco.mjtGeom.mjGEOM_BOX
    pad = finger.add_geom(type=box, size=[0.0085, 0.004, 0.0095], pos=[0, 0.004, 0.0445], group=3)
    pad.friction, pad.condim, pad.priority = [1.0, 0.01, 0.0001], 4, 1
    pad.solref, pad.solimp = HARD
    finger.add_geom(type=box, size=[0.0100, 0.0065, 0.020], pos=[0, 0.0145, 0.020], group=3)


def _wrist_view() -> np.ndarray:
    """Return the wxyz turn of a camera beside the hand that looks down between the fingertips."""
    turn = np.array([0.0, 1.0, 0.0, 0.0])
    for axis, degrees in (((0, 1, 0), 38), ((0, 0, 1), -90)):
        half = np.radians(degrees) / 2
        step = np.r_[np.cos(half), np.sin(half) * np.array(axis)]
        mujoco.mju_mulQuat(turn, turn.copy(), step)
    return turn
