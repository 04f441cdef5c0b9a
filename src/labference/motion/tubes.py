"""Take tubes by their caps, push them into slots and holes, and stand them on the bench: sizes from the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from ..wire.action import STROKE
from ..wire.tubes import CAP_RADIUS, GRIP_HEIGHT, SLOT_DEPTH
from .grasp import Grasp, Outline, clear_yaw, release_opening, roomiest
from .insert import Insertion
from .place import Placement

TUBE_TRANSIT = 0.30
"""Height of the tool centre point that carries a tube over whatever stands on the bench [m]: the tube then ends at
0.193 m, and a tube that stands 20 % deep in the rotor at 0.178 m."""
ROOMS = (0.010, 0.007)
"""Gaps between pad and cap before the grasp, widest first [m]; caps in a rotor are 22 mm apart."""
THINNEST = 0.015
"""Opening above which the closed fingers hold a cap, which is 22 mm wide [m]."""
FLOOR_GAP = 0.003
"""Height over the floor of a slot at which a tube is released [m], so that no error pushes it against the floor."""
TOUCHDOWN = 0.0015
"""Height over the bench at which a tube is released [m]."""


def grasp_tube(base: Sequence[float], others: Sequence[Outline] = (), draw: float = SLOT_DEPTH) -> Grasp:
    """Return how to take a tube whose lower end is at `base` (3,) [m] by its cap, clear of the caps `others`.

    It is drawn straight out over `draw` [m], the depth of a slot unless told otherwise, before the hand lifts fast.
    """
    x, y, z = (float(value) for value in base)
    turn, opening = roomiest((x, y), others, [min(STROKE, 2 * (CAP_RADIUS + room)) for room in ROOMS])
    return Grasp((x, y, z + GRIP_HEIGHT), turn.yaw, opening, TUBE_TRANSIT, THINNEST, draw)


def tube_insertion(
    mouth: Sequence[float], depth: float, others: Sequence[Outline] = (), held: float = GRIP_HEIGHT
) -> Insertion:
    """Return how to push a held tube `depth` [m] into the slot or hole with its mouth at `mouth` (3,) [m].

    `held` is the height of the tool centre point over the lower end of the tube [m], `others` the caps around.
    """
    x, y, z = (float(value) for value in mouth)
    opening = release_opening(CAP_RADIUS)
    yaw = clear_yaw((x, y), others, opening).yaw
    return Insertion((x, y, z - depth + FLOOR_GAP + held), z + held, yaw, opening, TUBE_TRANSIT)


def tube_placement(base: Sequence[float], others: Sequence[Outline] = (), held: float = GRIP_HEIGHT) -> Placement:
    """Return how to stand a held tube on a flat support at `base` (3,) [m]; `others` and `held` as in an insertion."""
    x, y, z = (float(value) for value in base)
    opening = release_opening(CAP_RADIUS)
    yaw = clear_yaw((x, y), others, opening).yaw
    return Placement((x, y, z + held + TOUCHDOWN), yaw, opening, TUBE_TRANSIT)
