"""The stages that every detector shares once something is identified: segment it in its box, and estimate its pose.

What is opaque is segmented in depth and colour and fitted to its catalogue shape; a beaker, which depth cameras look
through, is found by its rim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from labference.sight import glass, printed, solids, wetware
from labference.sight.solids import Cylinder, Placed
from labference.sight.wetware import View
from labference.wire import Frame
from labference.wire.glassware import BEAKER_HEIGHT, BEAKER_RADIUS, RINSE_FLOOR
from labference.wire.labware import PAN_HEIGHT

from .detector import BALANCE, BEAKER, RACK, TUBE, Box, Pose

CAMERAS = ("front", "labels", "pan")
ORDER = {TUBE: ("labels", "front"), RACK: ("labels", "front"), BALANCE: ("pan", "front"), BEAKER: ("pan", "front")}
"""Cameras in which a class is looked for, the one that is nearest to it first; `front` alone for the others."""
READING = "labels"
"""The camera that is near enough to say that a label shows something else."""
ON_PAN, ON_PLATE = 0.05, 0.02
"""How far from the middle of the pan a beaker may stand, and from that of its plate the rinse beaker [m]."""
CUT = 2
"""Pixels around a box that still belong to it."""
RIM_SHARE = 0.5
"""Share of the silhouette of a beaker that has to be in a box that is meant to show it."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Stages one and two: something identified as of a `kind`, in a box; `name` is "" where only its class is known."""

    kind: str
    box: Box
    name: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """Stages three and four: the pixels (h, w) of a thing, its pose, and how well they agree with its shape, 0..1."""

    sighting: Sighting
    mask: np.ndarray
    placed: Placed
    score: float
    ends: bool = True

    @property
    def pose(self) -> Pose:
        """Return its pose as it is detected."""
        x, y, z = (float(value) for value in self.placed.origin)
        a, b, c = (float(value) for value in self.placed.turn[:, 2])
        return Pose((x, y, z), (a, b, c), self.ends)


def views(frames: Sequence[Frame], cameras: Sequence[str]) -> dict[str, View]:
    """Return what the frames of `cameras` show; raises `ValueError` where one is missing or has no depth."""
    delivered = {frame.camera: frame for frame in frames}
    for camera in cameras:
        if camera not in delivered:
            there = ", ".join(delivered) or "none"
            raise ValueError(f"The detector needs a frame of camera {camera!r}; delivered cameras: {there}.")
        if delivered[camera].depth is None:
            raise ValueError(
                f"The frame of camera {camera!r} has no depth; the detector needs Capabilities(depth=True)."
            )
    return {camera: wetware.view(delivered[camera]) for camera in cameras}


def measured(seen: View, sighting: Sighting, hidden: np.ndarray | None = None) -> Measured | None:
    """Return the first thing of the class that is segmented in the box and has a pose; None where there is none.

    `hidden` (h, w) are pixels that belong to other things.
    """
    where = inside(seen, sighting.box)
    if hidden is not None:
        where &= ~hidden
    for mask in wetware.segment(seen, sighting.kind, where):
        found = wetware.locate(seen, sighting.kind, mask)
        if found is not None:
            shape = wetware.SHAPES[sighting.kind].solids
            body = visible(seen, shape, found.placed)
            ends = wetware.stands(found.placed) or len(shape) > 1
            return Measured(sighting, body, found.placed, found.score, ends)
    return None


def measured_beaker(seen: View, sighting: Sighting, pan: Placed) -> Measured | None:
    """Return the beaker on the pan of a balance that was located, as far as it is in the box."""
    centre = (float(pan.origin[0]), float(pan.origin[1]))
    found = glass.find_beaker(seen.frame, PAN_HEIGHT, centre, ON_PAN)
    if found is None:
        return None
    placed = solids.upright(*found.position, PAN_HEIGHT)
    body = solids.silhouette(seen.frame, (Cylinder(BEAKER_RADIUS, 0.0, BEAKER_HEIGHT),), placed)
    kept = body & inside(seen, sighting.box)
    if kept.sum() < RIM_SHARE * body.sum():
        return None
    return Measured(sighting, kept, placed, found.seen)


def on_plate(seen: View, station: Measured) -> Measured:
    """Return the rinse station with the place of its beaker, whose rim is seen better than the plate."""
    x, y, _ = station.placed.origin
    found = glass.find_beaker(seen.frame, RINSE_FLOOR, (float(x), float(y)), ON_PLATE)
    if found is None:
        return station
    return replace(station, placed=Placed(np.array((*found.position, 0.0)), station.placed.turn))


@dataclass(frozen=True, slots=True)
class Read:
    """A tube, what its label was read to say, "" where it was not, and whether it shows print that is none of that."""

    tube: Measured
    text: str = ""
    other: bool = False


def read(seen: View, tube: Measured, texts: tuple[str, ...]) -> Read:
    """Return which of `texts` is printed on a tube; text tells the ends of one that lies."""
    ways = [tube.placed] if tube.ends else [tube.placed, wetware.turned(TUBE, tube.placed)]
    labels = [(printed.read_band(seen.frame, placed, texts), placed) for placed in ways]
    legible = [(label, placed) for label, placed in labels if label is not None and label.legible]
    if not legible:
        other = seen.frame.camera == READING and not printed.blank(seen.frame, tube.placed)
        return Read(tube, other=other)
    label, placed = max(legible, key=lambda each: max(each[0].scores))
    return Read(replace(tube, placed=placed, ends=True), label.text)


def inside(seen: View, box: Box) -> np.ndarray:
    """Return the pixels (h, w) of a box, and a few around it."""
    where = np.zeros(seen.frame.rgb.shape[:2], bool)
    rows = slice(max(0, box.top - CUT), box.bottom + CUT + 1)
    where[rows, max(0, box.left - CUT) : box.right + CUT + 1] = True
    return where


def bounds(camera: str, mask: np.ndarray) -> Box:
    """Return the box around the pixels of a mask that has some."""
    rows, columns = np.nonzero(mask)
    return Box(camera, int(columns.min()), int(rows.min()), int(columns.max()), int(rows.max()))


def visible(seen: View, shape: Sequence[solids.Solid], placed: Placed) -> np.ndarray:
    """Return the pixels (h, w) in which a shape is seen: its silhouette without what hides it."""
    depth = solids.rendered(seen.frame, shape, placed)
    camera = seen.frame.pose[:3, 3]
    with np.errstate(invalid="ignore"):
        found = (seen.cloud - camera) @ seen.frame.pose[:3, 2]
        return np.asarray(np.isfinite(depth) & (found > depth - solids.ASTRAY))


def sorted_views(kind: str, seen: Mapping[str, View]) -> list[View]:
    """Return the views in which a class is looked for, the best first."""
    return [seen[camera] for camera in ORDER.get(kind, ("front",)) if camera in seen]
