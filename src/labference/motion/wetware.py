"""Take reagent tubes, probe and rod out of their holders and put them back: sizes from the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..wire.action import STROKE
from ..wire.glassware import (
    HOLDER_FLOOR,
    HOLDER_HEIGHT,
    PROBE_GRIP,
    PROBE_HANDLE,
    RACK_FLOOR,
    RACK_HEIGHT,
    ROD_GRIP,
    ROD_HANDLE,
    TUBE_GRIP,
    TUBE_RADIUS,
)
from .side import TRANSIT, SideGrasp, SidePlacement

ROOM, RELEASE = 0.010, 0.008
"""Gaps between pad and handle before a grasp and after a release [m]."""
ENTERING = 0.012
"""Height of a lower end over the edge of its holder where the descent becomes slow [m]."""
TOUCHDOWN = 0.001
"""Height over the floor of a holder at which something is released [m]."""


class Handled(NamedTuple):
    """How something is handled, all in [m].

    radius   of what the pads press on
    grip     height of the tool centre point over its lower end
    depth    how deep it stands in its holder
    transit  height of the tool centre point that carries its lower end over what stands on the way: tubes over tubes,
             the probe over the rod, the rod over beakers
    """

    radius: float
    grip: float
    depth: float
    transit: float


TUBE = Handled(TUBE_RADIUS, TUBE_GRIP, RACK_HEIGHT - RACK_FLOOR, TRANSIT)
PROBE = Handled(PROBE_HANDLE, PROBE_GRIP, HOLDER_HEIGHT - HOLDER_FLOOR, TRANSIT + 0.07)
ROD = Handled(ROD_HANDLE, ROD_GRIP, HOLDER_HEIGHT - HOLDER_FLOOR, TRANSIT + 0.03)


def take(kind: Handled, base: Sequence[float], yaw: float) -> SideGrasp:
    """Return how to take something whose lower end stands at `base` (3,) [m] in a holder, approaching along `yaw`."""
    x, y, z = (float(value) for value in base)
    opening = min(STROKE, 2 * (kind.radius + ROOM))
    draw = kind.depth + ENTERING
    return SideGrasp((x, y, z + kind.grip), yaw, opening, draw, kind.transit, thinnest=1.5 * kind.radius)


def put_back(kind: Handled, floor: Sequence[float], yaw: float, held: Sequence[float] | None = None) -> SidePlacement:
    """Return how to lower something into a holder whose floor is at `floor` (3,) [m].

    `held` is where the lower end is from the tool centre point [m], in the robot base frame with the hand at `yaw`;
    straight below at the height of the grip unless told otherwise.
    """
    dx, dy, dz = (0.0, 0.0, -kind.grip) if held is None else (float(value) for value in held)
    x, y, z = (float(value) for value in floor)
    opening = min(STROKE, 2 * (kind.radius + RELEASE))
    sink = kind.depth + ENTERING
    return SidePlacement((x - dx, y - dy, z - dz + TOUCHDOWN), yaw, opening, sink, kind.transit)
