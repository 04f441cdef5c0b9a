"""Slots and holes: where a tube is relative to them, and whether it is seated (paper sections 4.1 and 8.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .geometry import Socket
from .measurement import HAND, ITEM, LEFT, LENGTH, RIGHT, TURN, Block, Channels, Pose

AXIS_DEGREES = 10.0
"""Largest angle between the axes of a seated tube and its socket [degrees]: paper section 8.1."""
DEPTH_SHARE = 0.60
"""Smallest share of the effective depth that a seated tube has entered: paper section 8.1."""
RADIAL_FACTOR, RADIAL_MARGIN = 1.15, 0.0005
"""A seated tube's axis stays within this many clearances, plus this much [m], of the axis of its socket."""
SUPPORT = np.uint16(0xFFFF & ~(1 << LEFT | 1 << RIGHT | 1 << HAND | 1 << ITEM))
"""Touch bits of surfaces."""


class Relation(NamedTuple):
    """Where items are in the frame of the sockets, (k, n) each, at the socket nearest to the item's origin.

    nearest  index of that socket
    radial   distance of the item's origin from the axis of the socket [m]
    depth    of the item's origin below the mouth [m]
    upright  cosine of the angle between the item's axis and the vertical of the fixture
    mouth    distance of the item's axis from that of the socket in the plane of the mouth [m]
    tip      the same one body radius above the item's origin [m]
    """

    nearest: np.ndarray
    radial: np.ndarray
    depth: np.ndarray
    upright: np.ndarray
    mouth: np.ndarray
    tip: np.ndarray


@dataclass(frozen=True, slots=True)
class Sockets:
    """Vertical sockets of one fixture, in its own frame.

    fixture, surface  names of the body and of the surface that carries what is in a socket
    names             public names, in the order of `mouths`
    mouths            x and y of the mouth centres [m], all at `height` over the bench [m]
    depth             effective depth [m]
    clearance         largest distance between the axes of a tube and its socket that the walls allow [m]
    spacing           distance between neighbouring sockets [m]
    body              radius of the tubes that fit [m]
    """

    fixture: str
    surface: str
    names: tuple[str, ...]
    mouths: tuple[tuple[float, float], ...]
    height: float
    depth: float
    clearance: float
    spacing: float
    body: float

    def relate(self, block: Block, channels: Channels) -> Relation:
        """Return where every item is relative to its nearest socket, at every tick."""
        origin, turn = self._frame(block, channels)
        pose = block.pose[:, :-1]
        x, y, z = np.moveaxis((pose[..., :3] * LENGTH - origin) @ turn, -1, 0)
        u, v, upright = np.moveaxis(axes(pose[..., 3:]) @ turn, -1, 0)
        cx, cy = np.array(self.mouths).T
        apart = np.square(x[..., None] - cx) + np.square(y[..., None] - cy)
        nearest = np.argmin(apart, axis=-1)
        x, y, depth = x - cx[nearest], y - cy[nearest], self.height - z
        rise = depth / np.where(np.abs(upright) > 1e-3, upright, 1e-3)
        return Relation(
            nearest=nearest,
            radial=np.sqrt(np.min(apart, axis=-1)),
            depth=depth,
            upright=upright,
            mouth=np.hypot(x + u * rise, y + v * rise),
            tip=np.hypot(x + u * self.body, y + v * self.body),
        )

    def carries(self, block: Block, channels: Channels) -> np.ndarray:
        """Return which items the fixture alone carries, (k, n) bool, whatever the robot touches."""
        return np.asarray((block.touch[:, :-1] & SUPPORT) == channels.bit(self.surface))

    def seated(self, found: Relation, carried: np.ndarray) -> np.ndarray:
        """Return the index of the socket in which each item is seated, (k, n), -1 where it is in none.

        Alignment, radial clearance, depth, and support by the fixture alone, `carried`. Release, low motion and
        duration are the business of whoever confirms a placement: together they make the support carry the weight.
        """
        where = np.full(carried.shape, -1)
        tolerance = RADIAL_FACTOR * self.clearance + RADIAL_MARGIN
        ok = carried & (found.upright >= math.cos(math.radians(AXIS_DEGREES)))
        ok &= (found.depth >= DEPTH_SHARE * self.depth) & (found.mouth <= tolerance) & (found.tip <= tolerance)
        where[ok] = found.nearest[ok]
        return where

    def local(self, points: np.ndarray, block: Block, channels: Channels) -> np.ndarray:
        """Return points (..., 3) [m] of the robot base frame in the frame of the fixture."""
        origin, turn = self._frame(block, channels)
        return np.asarray((points - origin) @ turn)

    def regions(self, fixture: Pose) -> dict[str, Socket]:
        """Return every socket in the robot base frame while the fixture stands at `fixture`."""
        c, s = math.cos(fixture.yaw), math.sin(fixture.yaw)
        return {
            name: Socket((fixture.x + c * x - s * y, fixture.y + s * x + c * y, fixture.z + self.height), self.depth)
            for name, (x, y) in zip(self.names, self.mouths, strict=True)
        }

    def seat(self, name: str, fixture: Pose, share: float = 1.0, lift: float = 0.0003) -> Pose:
        """Return where a tube stands that has entered `share` of the depth of socket `name`, `lift` [m] above that."""
        x, y, z = self.regions(fixture)[name].mouth
        return Pose(x, y, z - share * self.depth + lift, fixture.yaw)

    def _frame(self, block: Block, channels: Channels) -> tuple[np.ndarray, np.ndarray]:
        """Return origin (3,) [m] and rotation (3, 3) of the fixture, which stands still during a block."""
        row = block.fixtures[channels.fixtures.index(self.fixture)]
        return row[:3] * LENGTH, rotation(row[3:] * TURN)


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Return the (3, 3) matrix of a wxyz quaternion of about unit length."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        (
            (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
        )
    )


def axes(turns: np.ndarray) -> np.ndarray:
    """Return the z axes (..., 3) of wxyz quaternions (..., 4) on the grid of a `Block`."""
    scaled = turns * TURN
    w, x, y, z = scaled[..., 0], scaled[..., 1], scaled[..., 2], scaled[..., 3]
    found = np.empty((*scaled.shape[:-1], 3))
    found[..., 0] = 2 * (x * z + w * y)
    found[..., 1] = 2 * (y * z - w * x)
    found[..., 2] = 1 - 2 * (x * x + y * y)
    return found


def pose_of(row: np.ndarray) -> Pose:
    """Return the pose of an upright fixture from its row (7,) of `Block.fixtures`."""
    w, _, _, z = row[3:] * TURN
    x, y, height = (float(value) * LENGTH for value in row[:3])
    return Pose(x, y, height, 2 * math.atan2(float(z), float(w)))
