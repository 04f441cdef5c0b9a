"""What every skill is built on: go to a pose and get there, whatever drops the queue on the way."""

from __future__ import annotations

import numpy as np

from ..wire import Move, Observation, Script, Wait
from .kinematics import Arm, top_down
from .path import hold, straight

TRANSIT = 0.70
"""Speed between places [m/s]; joint speeds stay inside the limits of the Panda."""
APPROACH = 0.50
"""Speed down to the last centimetres above an item, and up again [m/s]."""
DESCENT = 0.24
"""Speed of the last centimetres before a grasp [m/s]."""
PARKED = (0.35, 0.0, 0.45)
"""Position of the tool centre point that leaves the bench in view [m]."""

GLANCE_S = 0.05
"""Time after which frames are asked for [s]."""

_SAME_AS = 1e-6  # a delivered command has passed through a codec
_LEVEL = 0.03  # how much an oblique path may climb before it has to start with a vertical one


def go(
    arm: Arm,
    observation: Observation,
    position: np.ndarray,
    yaw: float,
    opening: float,
    speed: float = TRANSIT,
    settle: float = 0.0,
) -> Script[Observation]:
    """Move straight to a top-down pose with the gripper at `opening` [m], then hold still for `settle` [s]."""
    return (yield from reach(arm, observation, position, top_down(yaw), opening, speed, settle))


def reach(
    arm: Arm,
    observation: Observation,
    position: np.ndarray,
    rotation: np.ndarray,
    opening: float,
    speed: float = TRANSIT,
    settle: float = 0.0,
) -> Script[Observation]:
    """Move straight to any pose; `go` with a rotation, (3, 3) or wxyz.

    A dropped queue is taken up where it was dropped. When the command in force is no longer on the path, a new path
    starts from it.
    """
    while True:
        command = observation.senses.robot.command
        rows = straight(arm, command, position, rotation, opening, speed)
        last = rows[-1] if len(rows) else command
        rows = np.vstack((rows, hold(last, opening, _periods(arm, settle))))
        observation, arrived = yield from perform(arm, observation, rows)
        if arrived:
            return observation


def grip(arm: Arm, observation: Observation, opening: float, seconds: float) -> Script[Observation]:
    """Command the gripper to `opening` [m] and hold the arm still for `seconds` [s]."""
    while True:
        rows = hold(observation.senses.robot.command, opening, max(1, _periods(arm, seconds)))
        observation, arrived = yield from perform(arm, observation, rows)
        if arrived:
            return observation


def over(
    arm: Arm, observation: Observation, position: np.ndarray, yaw: float, opening: float, speed: float = TRANSIT
) -> Script[Observation]:
    """Travel to `position`, which is above everything on the way; from below that height, rise before travelling."""
    here = arm.forward(observation.senses.robot.command[:7])
    aside = float(np.hypot(*(here[:2] - np.asarray(position)[:2])))
    if here[2] < position[2] - _LEVEL and aside > _LEVEL:
        up = np.array((here[0], here[1], position[2]))
        held = float(observation.senses.robot.command[7])
        observation = yield from reach(arm, observation, up, here[3:], held, APPROACH)
    return (yield from go(arm, observation, position, yaw, opening, speed))


def home(arm: Arm, observation: Observation, opening: float = 0.08) -> Script[Observation]:
    """Park above the bench, pointing down, out of the way of the fixed cameras."""
    return (yield from go(arm, observation, np.array(PARKED), 0.0, opening))


def fresh(observation: Observation) -> Script[Observation]:
    """Return an observation with frames; skills do not look while they move: rendering costs more than moving."""
    return observation if observation.senses.frames else (yield Wait(GLANCE_S))


def perform(arm: Arm, observation: Observation, rows: np.ndarray) -> Script[tuple[Observation, bool]]:
    """Send commands (n, 8) chunk by chunk; return the last observation and whether all of them were carried out.

    Gives up, for the caller to plan anew, when the command in force is none of the rows.
    """
    done = 0
    while done < len(rows):
        sent, began = rows[done : done + arm.spec.longest_chunk], observation.senses.time
        observation = yield Move(sent.copy(), look=False)
        command, elapsed = observation.senses.robot.command, round((observation.senses.time - began) * arm.spec.rate_hz)
        count = carried_out(sent, command, elapsed - arm.delay)
        if count is None:
            return observation, False
        if np.count_nonzero(_same(sent, command)) == 1:  # no doubt about it, so the rest of the time was thinking
            arm.learn(elapsed - count)
        done += count
    return observation, True


def carried_out(sent: np.ndarray, command: np.ndarray, elapsed: int) -> int | None:
    """Return how many rows of `sent` (n, 8) were carried out when `command` (8,) is in force; None if it is no row.

    Of equal rows, which a hold has, the one nearest to `elapsed` control periods counts, thinking taken off.
    """
    counts = 1 + np.flatnonzero(_same(sent, command))
    return None if len(counts) == 0 else int(counts[np.argmin(np.abs(counts - elapsed))])


def _same(sent: np.ndarray, command: np.ndarray) -> np.ndarray:
    """Return which rows (n,) of `sent` (n, 8) are `command` (8,)."""
    return np.asarray(np.max(np.abs(sent - command), axis=1) < _SAME_AS)


def _periods(arm: Arm, seconds: float) -> int:
    return int(np.ceil(seconds * arm.spec.rate_hz - 1e-9))
