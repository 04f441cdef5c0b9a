"""An occluded environment transition (paper section 8.3): a schedule of control periods, and a check before reveal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from labference.truth.measurement import (
    ENVIRONMENT,
    HANDOFF,
    LENGTH,
    TURN,
    Block,
    Channels,
    Pose,
    Rearrangement,
    Transition,
)
from labference.truth.sockets import rotation
from labference.world.faults import SimulationFault

SLIDE_S = 0.6
"""Time for which the cover moves, in and out [s]."""
SETTLE_S = 1.0
"""Time in which what was rebuilt comes to rest under the cover [s]; friction fits settle within 0.1 s."""
MOVED, LEANED = 0.002, 0.05
"""Largest change of place [m] and of its axis [rad] that a rebuilt body may show in its frame: twice the clearance of a
socket, and the lean that this allows a tube that has entered a third of it. Round bodies may spin about their axes.
"""
EXACT = 1e-4
"""Largest deviation of a fixture, which nothing pushes: grids of 1e-6 m and 1e-5 per quaternion component."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One control period of the environment: what it changes first, and the mask of the period."""

    change: Rearrangement | None
    control: int
    check: bool = False


def schedule(transition: Transition, period: float) -> Iterator[Stage]:
    """Yield the stages of `transition` for control periods of `period` [s]."""
    slide, rest = max(1, round(SLIDE_S / period)), max(1, round(SETTLE_S / period))
    for step in range(1, slide + 1):
        yield Stage(_cover(transition, 1 - step / slide), ENVIRONMENT)
    for step in range(rest):
        yield Stage(transition.change if step == 0 else None, ENVIRONMENT, check=step == rest - 1)
    for step in range(1, slide):
        yield Stage(_cover(transition, step / slide), ENVIRONMENT)
    yield Stage(Rearrangement({transition.cover: transition.outside}), HANDOFF)


def check(change: Rearrangement, before: Block, after: Block, channels: Channels) -> None:
    """Raise `SimulationFault` unless everything stands where the environment meant to put it.

    `before` was measured before the change, `after` when all had come to rest.
    """
    for name, wanted in change.fixtures.items():
        row = after.fixtures[channels.fixtures.index(name)]
        if np.abs(matrix(wanted) - _frame(row)).max() > EXACT:
            raise SimulationFault(f"The environment put {name!r} elsewhere than at {wanted}.")
    for carry in change.carried:
        column = channels.items.index(carry.item)
        was = np.linalg.inv(matrix(carry.before)) @ _frame(before.pose[-1, column])
        now = np.linalg.inv(matrix(carry.after)) @ _frame(after.pose[-1, column])
        _refuse(carry.item, *_apart(was, now))
    for name, wanted in change.items.items():
        _refuse(name, *_apart(matrix(wanted), _frame(after.pose[-1, channels.items.index(name)])))


def matrix(pose: Pose) -> np.ndarray:
    """Return the (4, 4) transform of a pose."""
    frame = np.eye(4)
    from scipy.spatial.transform import Rotation  # here, as in `kinematics`

    turn = Rotation.from_rotvec((*pose.lean, 0.0)) * Rotation.from_rotvec((0.0, 0.0, pose.yaw))
    frame[:3, :3] = turn.as_matrix()
    frame[:3, 3] = pose.x, pose.y, pose.z
    return frame


def _frame(row: np.ndarray) -> np.ndarray:
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = rotation(row[3:] * TURN), row[:3] * LENGTH
    return frame


def _apart(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Return how far two transforms put a body apart [m], and the angle between its vertical axes [rad]."""
    lean = float(np.arccos(np.clip(one[:3, 2] @ other[:3, 2], -1.0, 1.0)))
    return float(np.linalg.norm(one[:3, 3] - other[:3, 3])), lean


def _refuse(name: str, off: float, lean: float) -> None:
    if off > MOVED or lean > LEANED:
        raise SimulationFault(
            f"After the environment transition {name!r} is {1000 * off:.2f} mm and {lean:.3f} rad from where it "
            f"belongs; {1000 * MOVED:g} mm and {LEANED:g} rad are allowed."
        )


def _cover(transition: Transition, share: float) -> Rearrangement:
    """Return the cover at `share` of its way from hiding everything to beside the bench."""
    inside, aside = transition.inside, transition.aside
    x, y, z = (a + share * (b - a) for a, b in ((inside.x, aside.x), (inside.y, aside.y), (inside.z, aside.z)))
    return Rearrangement({transition.cover: Pose(x, y, z, inside.yaw)})
