"""A detector that needs no download: depth and colour against the catalogue of the wet bench, and printed labels.

Classes are told apart by colour (the paper of labels, the handles of probe and rod) and by the height and size of upper
faces (rack, holders, rinse station, pan). A tube's name is what its label says. Where one label cannot be seen and one
name is left, elimination names it, and the detection says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from labference.sight import wetware
from labference.sight.solids import Placed
from labference.sight.wetware import View
from labference.wire import Frame
from labference.wire.glassware import HOLDER_FLOOR, RACK_FLOOR, RACK_HALF

from .detector import BALANCE, BEAKER, HOLDER, HOLDERS, PROBE, RACK, RINSE, ROD, TUBE, Detection, Seen, kind_of
from .stages import (
    CAMERAS,
    Measured,
    Read,
    Sighting,
    bounds,
    measured,
    measured_beaker,
    on_plate,
    read,
    sorted_views,
    views,
)

MOST = {HOLDER: 2, TUBE: 12}
"""How many of a class are looked for; one of every other."""
SAME = 0.030
"""Distance within which two cameras see the same tube [m]."""
IN_HOLDER = 0.015
"""How far the foot of a tool may be from the middle of the holder that it stands in [m]."""
SUNK = 0.010
"""How far from the floor of a rack or holder the foot of what stands in it may be seen [m]."""
NEEDS = {
    TUBE: (RACK,),
    PROBE: (HOLDER,),
    ROD: (HOLDER,),
    HOLDER: (PROBE, ROD),
    RINSE: (HOLDER,),
    BEAKER: (BALANCE,),
}
"""What else has to be found to say where something is, or which it is."""
Found = dict[str, list[Measured]]
"""What was located, by class."""


class DepthDetector:
    """Finds the things of a wet bench in the frames of its cameras; the arm should be out of their way."""

    name = "rgb-d"

    def __init__(self, cameras: tuple[str, ...] = CAMERAS) -> None:
        self.cameras = cameras

    def detect(self, frames: Sequence[Frame], wanted: Sequence[str]) -> Seen:
        """Return those of the `wanted` names that are seen; raises `ValueError` for frames that it cannot use."""
        seen = views(frames, self.cameras)
        tubes = tuple(name for name in wanted if kind_of(name) == TUBE)
        kinds = {kind_of(name) for name in wanted}
        kinds |= {need for kind in kinds for need in NEEDS.get(kind, ())}
        found = {kind: list(located(kind, seen)) for kind in (HOLDER, PROBE, ROD, RACK, BALANCE) if kind in kinds}
        if RINSE in kinds:
            found[RINSE] = list(_stations(seen, found[HOLDER]))
        if BEAKER in kinds:
            found[BEAKER] = list(_beakers(seen, found[BALANCE]))
        reads = _read(seen, tubes) if tubes else []
        return named(found, reads, wanted)


def identified(seen: View, kind: str) -> Iterator[Sighting]:
    """Yield what may be of a class, and where it is in the image: stages one and two."""
    for mask in wetware.segment(seen, kind, np.ones(seen.frame.rgb.shape[:2], bool)):
        yield Sighting(kind, bounds(seen.frame.camera, mask))


def named(found: Found, reads: Sequence[Read], wanted: Sequence[str]) -> Seen:
    """Return what was located under the names of a goal, with a remark for every name that is left."""
    rack = next(iter(found.get(RACK, ())), None)
    made = [detection(name, each.tube, by, within_rack(each.tube, rack)) for name, by, each in _names(reads, wanted)]
    made += _tools(found, wanted)
    for kind, within in ((BEAKER, BALANCE), (RACK, ""), (RINSE, ""), (BALANCE, "")):
        made += [detection(kind, each, "class", within) for each in found.get(kind, [])[:1] if kind in wanted]
    there = {each.name for each in made}
    missing = tuple(f"No {name!r} is seen." for name in wanted if name not in there)
    return Seen(tuple(sorted(made, key=lambda each: list(wanted).index(each.name))), missing + _left(reads, made))


def located(kind: str, seen: Mapping[str, View]) -> Iterator[Measured]:
    """Yield things of a class from the first camera that shows any."""
    for each in sorted_views(kind, seen):
        things = [found for sighting in identified(each, kind) if (found := measured(each, sighting)) is not None]
        if things:
            yield from things[: MOST.get(kind, 1)]
            return


def _stations(seen: Mapping[str, View], holders: Sequence[Measured]) -> Iterator[Measured]:
    """Yield the rinse station, whose plate is as high as the plinths of the holders that may stand before it."""
    for each in sorted_views(RINSE, seen):
        hidden = np.zeros(each.frame.rgb.shape[:2], bool)
        for holder in holders:
            if holder.sighting.box.camera == each.frame.camera:
                hidden |= holder.mask
        for mask in wetware.segment(each, RINSE, ~hidden):
            station = measured(each, Sighting(RINSE, bounds(each.frame.camera, mask)), hidden)
            if station is not None:
                yield on_plate(each, station)
                return


def _beakers(seen: Mapping[str, View], balances: Sequence[Measured]) -> Iterator[Measured]:
    """Yield the beaker that stands on the pan."""
    for balance in balances:
        for each in sorted_views(BEAKER, seen):
            height, width = each.frame.rgb.shape[:2]
            whole = bounds(each.frame.camera, np.ones((height, width), bool))
            beaker = measured_beaker(each, Sighting(BEAKER, whole), balance.placed)
            if beaker is not None:
                yield beaker
                return


def _read(seen: Mapping[str, View], texts: tuple[str, ...]) -> list[Read]:
    """Return the tubes of all cameras, each as the nearest camera that shows it has it, until every text was read."""
    reads: list[Read] = []
    for each in sorted_views(TUBE, seen):
        for sighting in list(identified(each, TUBE))[: MOST[TUBE]]:
            if {other.text for other in reads}.issuperset(texts):
                return reads
            tube = measured(each, sighting)
            if tube is not None and not any(apart(tube, other.tube) < SAME for other in reads):
                reads.append(read(each, tube, texts))
    return reads


def _names(reads: Sequence[Read], wanted: Sequence[str]) -> list[tuple[str, str, Read]]:
    """Return name, what it follows from, and tube, where that can be said; of two with one name, the better seen."""
    tubes = [name for name in wanted if kind_of(name) == TUBE]
    by_name = {name: [each for each in reads if each.text == name] for name in tubes}
    told = [
        (name, "label", max(those, key=lambda each: each.tube.score)) for name, those in by_name.items() if len(those)
    ]
    unread = [each for each in reads if not each.text and not each.other]
    left = [name for name in tubes if not by_name[name]]
    if len(unread) == 1 and len(left) == 1:
        told.append((left[0], "elimination", unread[0]))
    return told


def _tools(found: Found, wanted: Sequence[str]) -> list[Detection]:
    """Return probe and rod, and their holders: which is which is told by what stands in it, or by what is left."""
    made, holders = [], list(found.get(HOLDER, []))
    mine: dict[str, tuple[Measured, str]] = {}
    for kind, holder in HOLDERS.items():
        for tool in found.get(kind, []):
            inside = [each for each in holders if stands_in(tool, each)]
            if kind in wanted:
                made.append(detection(kind, tool, "class", holder if inside else ""))
            if inside:
                mine[holder] = (inside[0], "its tool")
                holders = [each for each in holders if each is not inside[0]]
    empty = [name for name in HOLDERS.values() if name not in mine]
    if len(empty) == 1 and len(holders) == 1:
        mine[empty[0]] = (holders[0], "elimination")
    return made + [detection(name, *each, "") for name, each in mine.items() if name in wanted]


def _left(reads: Sequence[Read], made: Sequence[Detection]) -> tuple[str, ...]:
    """Return a sentence for each tube that got no name."""
    taken = [each.pose.position for each in made if each.kind == TUBE and each.pose is not None]
    told = []
    for each in reads:
        x, y, z = each.tube.pose.position
        if (x, y, z) not in taken:
            why = f"says {each.text!r} once more" if each.text else "cannot be read"
            told.append(f"The label of a tube at x = {x:.3f} m, y = {y:.3f} m {why}.")
    return tuple(told)


def detection(name: str, found: Measured, by: str, within: str) -> Detection:
    """Return what was located as a detection; its box is that of the pixels that were segmented."""
    box = bounds(found.sighting.box.camera, found.mask) if found.mask.any() else found.sighting.box
    return Detection(name, found.sighting.kind, box, found.mask, found.pose, round(found.score, 3), by, within)


def within_rack(tube: Measured, rack: Measured | None) -> str:
    """Return "rack" for a tube that stands in it."""
    if rack is None or not tube.pose.upright or abs(tube.placed.origin[2] - RACK_FLOOR) > SUNK:
        return ""
    x, y, _ = (tube.placed.origin - rack.placed.origin) @ rack.placed.turn
    return RACK if abs(x) < RACK_HALF[0] and abs(y) < RACK_HALF[1] else ""


def stands_in(tool: Measured, holder: Measured) -> bool:
    """Return whether a tool stands in a holder."""
    near = apart(tool, holder) < IN_HOLDER and tool.pose.upright
    return near and abs(float(tool.placed.origin[2]) - HOLDER_FLOOR) < SUNK


def apart(one: Measured, other: Measured) -> float:
    """Return the distance of two things on the bench [m]."""
    return float(np.hypot(*_ground(one.placed, other.placed)))


def _ground(one: Placed, other: Placed) -> np.ndarray:
    return np.asarray(one.origin[:2] - other.origin[:2])
