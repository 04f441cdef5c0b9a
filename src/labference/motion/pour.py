"""Pour from a held tube into a vessel on a balance, with the tilt speed controlled by what the balance shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..wire import Move, Observation, Reading, Script, Wait
from ..wire.glassware import (
    DRAINED_S,
    LIP_UPSTREAM,
    TILT_BACK,
    TILT_FORWARD,
    TILT_MOST,
    TILT_START,
    TUBE_GRIP,
    TUBE_LENGTH,
    TUBE_RADIUS,
    TUBE_WALL,
    lip_height,
)
from .kinematics import Arm
from .side import TRANSIT, level, travel
from .skill import reach

OLD, NEW = 0.6, 0.4
"""Weights of the old and of the newest slope of the reading in its filter."""
BASELINE_S = 4.0
"""Longest wait for a stable reading before the pour [s]."""
EMPTY_S = 5.0
"""Time at the largest tilt without a change of the reading after which the tube counts as empty [s]."""

DRIPS_S, LOOK_S = 20.0, 0.5
"""Longest wait for drops after the pause of every pour, and time between two looks [s]: oil drips for some seconds."""


@dataclass(frozen=True, slots=True)
class Pouring:
    """Say where and how to pour.

    rim       centre of the rim of the catching vessel, robot base frame [m]
    yaw       direction of the approach axis of the hand [rad]; the tube leans to the left of it
    amount_g  what is to be added [g]
    kp, kd    tilt speed per missing gram [deg/s/g], and per gram per second of the reading [deg/g]
    pre_stop  missing mass at which the tube is tilted back [g]
    limit     largest tilt [deg]
    longest   when to give up [s]
    grip      height of the tool centre point over the lower end of the tube [m]
    transit   height of the tool centre point while travelling [m]
    """

    rim: tuple[float, float, float]
    yaw: float
    amount_g: float
    kp: float = 0.16
    kd: float = 0.18
    pre_stop: float = 0.6
    limit: float = TILT_MOST
    longest: float = 90.0
    grip: float = TUBE_GRIP
    transit: float = TRANSIT


@dataclass(frozen=True, slots=True)
class Poured:
    """How a pour went.

    observation  the last one
    shown        by how much the reading grew [g]; None without valid readings
    seconds      from the start tilt until the last drops have fallen [s]
    ended        "reached", "empty" or "late"
    """

    observation: Observation
    shown: float | None
    seconds: float
    ended: str


def pour(
    arm: Arm,
    observation: Observation,
    at: Pouring,
    instrument: str = "balance",
    dripping: Callable[[], bool] = lambda: False,
) -> Script[Poured]:
    """Carry the held tube beside the vessel, tilt it until the reading of `instrument` has grown enough, tilt it back.

    The speed is kp e - kd dm/dt, with e the missing mass and dm/dt the filtered slope of the reading; the hand turns
    about the lip, which stays over the vessel. Afterwards the lip stays there for `DRAINED_S`, and longer while it is
    `dripping`, for whoever can tell.
    """
    held = float(observation.senses.robot.command[7])
    aside, _ = _pose(at, 0.0)
    top = np.array((aside[0], aside[1], at.transit))
    observation = yield from travel(arm, observation, top, at.yaw, held)
    position, rotation = _pose(at, TILT_START)
    observation = yield from reach(arm, observation, position, rotation, held, settle=0.2)
    observation = yield from _steady(observation, instrument)
    began, empty = observation.senses.time, _value(observation, instrument)
    observation, tilt, ended = yield from _control(arm, observation, at, instrument, empty)
    while tilt > TILT_START:
        tilt = max(TILT_START, tilt - TILT_BACK * arm.period)
        observation = yield from _turn(arm, observation, at, tilt)
    observation = yield Wait(DRAINED_S, look=False)
    latest = observation.senses.time + DRIPS_S
    while dripping() and observation.senses.time < latest:
        observation = yield Wait(LOOK_S, look=False)
    seconds = observation.senses.time - began
    observation = yield from reach(arm, observation, top, level(at.yaw), held)
    observation = yield from _steady(observation, instrument)
    full = _value(observation, instrument)
    shown = None if full is None or empty is None else round(full - empty, 3)
    return Poured(observation, shown, seconds, ended)


def _control(
    arm: Arm, observation: Observation, at: Pouring, instrument: str, empty: float | None
) -> Script[tuple[Observation, float, str]]:
    """Tilt under control until the reading says enough; return where the tilt ended, and why."""
    began, tilt, slope = observation.senses.time, TILT_START, 0.0
    last = empty if empty is not None else 0.0
    base, changed = last, observation.senses.time
    while observation.senses.time - began < at.longest:
        value = _value(observation, instrument)
        shown = last if value is None else value
        if shown != last:
            changed = observation.senses.time
        slope = OLD * slope + NEW * (shown - last) / arm.period
        last = shown
        missing = at.amount_g - (shown - base)
        if missing <= at.pre_stop + 1e-6:
            return observation, tilt, "reached"
        if tilt >= at.limit and observation.senses.time - changed > EMPTY_S:
            return observation, tilt, "empty"
        speed = min(TILT_FORWARD, max(-TILT_FORWARD, at.kp * missing - at.kd * slope))
        tilt = min(at.limit, max(TILT_START, tilt + speed * arm.period))
        observation = yield from _turn(arm, observation, at, tilt)
    return observation, tilt, "late"


def _turn(arm: Arm, observation: Observation, at: Pouring, tilt: float) -> Script[Observation]:
    """Send one command towards a tilt [deg]."""
    command = observation.senses.robot.command
    position, rotation = _pose(at, tilt)
    joints = arm.follow(command[:7], position[None], rotation[None])
    return (yield Move(np.append(joints[-1], command[7])[None], look=False))


def _pose(at: Pouring, tilt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return where the tool centre point is when the tube leans by `tilt` [deg] with its lip over the vessel."""
    lean = float(np.radians(tilt))
    c, s = float(np.cos(lean)), float(np.sin(lean))
    left = np.array((-np.sin(at.yaw), np.cos(at.yaw), 0.0))
    up = np.array((0.0, 0.0, 1.0))
    along, downhill = c * up + s * left, c * left - s * up
    lip = np.array(at.rim) - LIP_UPSTREAM * left
    lip[2] += lip_height(lean)
    rim = lip - (TUBE_RADIUS - TUBE_WALL) * downhill
    return rim - (TUBE_LENGTH - at.grip) * along, level(at.yaw, lean)


def _steady(observation: Observation, instrument: str) -> Script[Observation]:
    """Wait until the reading is stable, for `BASELINE_S` at most."""
    until = observation.senses.time + BASELINE_S
    while observation.senses.time < until:
        reading = _reading(observation, instrument)
        if reading is not None and reading.stable and reading.status == "ok":
            return observation
        observation = yield Wait(0.1, look=False)
    return observation


def _value(observation: Observation, instrument: str) -> float | None:
    reading = _reading(observation, instrument)
    return None if reading is None else reading.value


def _reading(observation: Observation, instrument: str) -> Reading | None:
    return next((reading for reading in observation.senses.readings if reading.instrument == instrument), None)
