"""Find the rack by its coloured edges, whichever way it is turned and whatever stands in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..wire import Frame
from ..wire.tubes import EDGE, EDGE_COLOURS, FUNNEL, HOLE_DEPTH, HOLES, RACK_HALF, RACK_MOUTH, hole_position
from .caps import Cap
from .planar import Level, agreement, fit, hues, level, rectangle, rectangular, to_base, to_local
from .seats import Seat, seated, vacant

UPPER = RACK_MOUTH + FUNNEL
"""Height of the upper face [m]."""
OUTER = (RACK_HALF[0] + EDGE, RACK_HALF[1] + EDGE)
"""Half the length and width with the coloured edges [m]."""
AROUND = 0.010
"""How far around the rack is looked [m]."""
STRIPS = {
    "A": ((-RACK_HALF[0], RACK_HALF[1]), (RACK_HALF[0], OUTER[1])),
    "C": ((-RACK_HALF[0], -OUTER[1]), (RACK_HALF[0], -RACK_HALF[1])),
    "1": ((-OUTER[0], -OUTER[1]), (-RACK_HALF[0], OUTER[1])),
    "4": ((RACK_HALF[0], -OUTER[1]), (OUTER[0], OUTER[1])),
}
"""Opposite corners of the coloured edges in the frame of the rack [m]."""
VIVID = 0.42
"""Saturation from which a pixel has the colour of an edge."""
ALIKE_HUE = 25.0
"""Largest difference of hue [degrees]."""
ALIKE = 0.60
"""Smallest agreement between what is seen and a rack in the pose found."""
SEEN = 0.35
"""Smallest share of every coloured edge that has to be seen."""
RED = (20.0, 340.0)
"""Hues between which nothing is the marker [degrees]."""
CORNER = (-RACK_HALF[0] - EDGE / 2, RACK_HALF[1] + EDGE / 2)
"""Where the marker is, in the frame of the rack [m]."""
MARKED = 0.3
"""Smallest share of red within 5 mm of the marker's middle, where that is seen."""


@dataclass(frozen=True, slots=True)
class RackView:
    """A rack in the robot base frame.

    centre  (x, y) of its middle [m]; yaw of its +x axis, along which columns count up [rad]
    seats   holes that hold a tube
    empty   holes that are seen to hold none; of the others nothing is known
    """

    centre: tuple[float, float]
    yaw: float
    seats: dict[str, Seat]
    empty: frozenset[str]

    def hole(self, name: str) -> tuple[float, float, float]:
        """Return where the middle of the mouth of hole `name` is, robot base frame [m]."""
        x, y = to_base(np.array(hole_position(name)), np.array((*self.centre, self.yaw)))
        return float(x), float(y), RACK_MOUTH


def find_rack(frame: Frame, cloud: np.ndarray, caps: tuple[Cap, ...]) -> RackView | None:
    """Return the rack that `frame` shows, with the `caps` that stand in it, or None where too little of it is seen.

    `cloud` (h, w, 3) are the points of the frame in the robot base frame [m].
    """
    rough = rectangular(cloud, UPPER, OUTER)
    if rough is None:
        return None
    plane = level(frame, cloud, UPPER, (rough[0], rough[1]), float(np.hypot(*OUTER)) + AROUND)
    seen = _edges(plane)
    starts = [rough + np.array((0.0, 0.0, turn)) for turn in np.radians((0, 90, 180, 270))]
    start = max(starts, key=lambda pose: float(np.sum(seen * _template(to_local(plane.places, pose), 0.004))))
    near = _near_edges(to_local(plane.places, start))
    pose = fit(plane.places[near], seen[near], _template, start)
    if not _is_rack(plane, seen, pose):
        return None
    mouths = {name: _at(pose, name) for name in HOLES}
    seats = seated(caps, mouths, RACK_MOUTH, HOLE_DEPTH)
    empty = vacant(frame, caps, mouths, RACK_MOUTH, HOLE_DEPTH) - seats.keys()
    return RackView((float(pose[0]), float(pose[1])), float(pose[2]), seats, empty)


def _at(pose: np.ndarray, name: str) -> tuple[float, float]:
    x, y = to_base(np.array(hole_position(name)), pose)
    return float(x), float(y)


def _edges(plane: Level) -> np.ndarray:
    """Return which places (n, 4) show the colours of the edges, in the order of `STRIPS`."""
    wanted = hues(np.array([EDGE_COLOURS[edge] for edge in STRIPS]))[0]
    apart = np.abs((plane.hue[:, None] - wanted + 180.0) % 360.0 - 180.0)
    vivid = plane.on & (plane.saturation > VIVID)
    alike = (apart < ALIKE_HUE) & (apart == apart.min(axis=1, keepdims=True)) & vivid[:, None]
    return np.asarray(alike, float)


def _template(places: np.ndarray, width: float) -> np.ndarray:
    """Return how much of each edge (n, 4) is at `places` (n, 2) [m] in the frame of the rack."""
    return np.stack([rectangle(places, low, high, width) for low, high in STRIPS.values()], axis=1)


def _near_edges(places: np.ndarray) -> np.ndarray:
    """Return which places (n, 2) [m] in the frame of the rack lie on the edges or close to them."""
    u, v = np.abs(places).T
    return np.asarray(np.maximum(u - RACK_HALF[0], v - RACK_HALF[1]) > -AROUND)


def _is_rack(plane: Level, seen: np.ndarray, pose: np.ndarray) -> bool:
    """Tell whether enough of the edges is seen at `pose`, in their colours, and nothing but the marker at its place."""
    local = to_local(plane.places, pose)
    for low, high in STRIPS.values():
        inside = np.all((local > low) & (local < high), axis=1)
        size = (high[0] - low[0]) * (high[1] - low[1])
        if inside.sum() * plane.area < SEEN * size:
            return False
    if agreement(plane.places, seen, _template, pose) < ALIKE:
        return False
    corner = np.hypot(*(local - CORNER).T) < 0.005
    red = (plane.saturation > VIVID) & ((plane.hue < RED[0]) | (plane.hue > RED[1]))
    return bool(corner.sum() * plane.area < 3e-5 or red[corner].mean() > MARKED)
