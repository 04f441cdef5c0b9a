"""See a bench with tubes: where they stand, in which slot or hole and how deep, and where rotor or rack is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..wire import Senses
from ..wire.tubes import CAP_RADIUS, STAND_FLOOR, STAND_HEIGHT, TUBE_HEIGHT
from .caps import Cap, find_caps
from .cloud import points
from .fallen import Fallen, find_fallen
from .rack import RackView, find_rack
from .rotor import RotorView, find_rotor
from .seats import seated
from .stand import RegionView, StandView, find_region, find_stand

TUBE_CAMERA = "above"
TUBE_CAMERAS = (TUBE_CAMERA,)
"""Cameras that this view needs, with depth."""
UPRIGHT = np.radians(3)
"""Lean up to which a tube on the bench stands on its feet; lean is seen to half a degree."""
TOUCHING = 0.0012
"""How far over or under the bench the lower end of a tube that stands on it may seem to be [m]."""
DOWN = 0.1
"""How far the depth of a tube in the stand may be from the whole, as a share of it."""
ON_TABLE, ON_REGION, IN_STAND, ELSEWHERE = "table", "region", "stand", "elsewhere"


@dataclass(frozen=True, slots=True)
class SeenTube:
    """A tube that stands: its cap, and its place.

    place  "slot 3", a hole such as "B2", "stand", "region", "table", or "elsewhere" where it leans, is perched on
           something, or stands in something that could not be made out
    depth  how deep it stands in a slot or hole as a share of the effective depth, 0..1; None elsewhere
    """

    cap: Cap
    place: str
    depth: float | None = None

    @property
    def base(self) -> tuple[float, float, float]:
        """Return where the lower end of the tube is [m], taking one that stands nearly upright to be upright."""
        if self.cap.lean > UPRIGHT:
            return self.cap.base
        return (*self.cap.position, self.cap.top - TUBE_HEIGHT)


@dataclass(frozen=True, slots=True)
class TubesView:
    """One look at the bench. Rotor, rack, stand and region are None where they could not be made out.

    `fallen` are tubes that lie on the bench.
    """

    tubes: tuple[SeenTube, ...]
    fallen: tuple[Fallen, ...]
    rotor: RotorView | None
    rack: RackView | None
    stand: StandView | None
    region: RegionView | None

    def at(self, place: str) -> tuple[SeenTube, ...]:
        """Return the tubes at a place."""
        return tuple(tube for tube in self.tubes if tube.place == place)

    def outlines(self, held: SeenTube | None = None) -> list[tuple[float, float, float]]:
        """Return the caps of all tubes but `held` from above: x, y and radius, robot base frame [m]."""
        return [(*tube.cap.position, CAP_RADIUS) for tube in self.tubes if tube is not held]


def see_tubes(senses: Senses) -> TubesView:
    """Return what the frame of `TUBE_CAMERA` shows; the arm should be out of its way."""
    frame = senses.frame(TUBE_CAMERA)
    cloud = points(frame)
    caps = find_caps(frame, cloud)
    rotor, rack = find_rotor(frame, cloud, caps), find_rack(frame, cloud, caps)
    stand, region = find_stand(frame, cloud), find_region(frame, cloud)
    places: dict[Cap, SeenTube] = {}
    for index, seat in (rotor.seats if rotor else {}).items():
        places[seat.cap] = SeenTube(seat.cap, f"slot {index}", seat.depth)
    for hole, seat in (rack.seats if rack else {}).items():
        places[seat.cap] = SeenTube(seat.cap, hole, seat.depth)
    for seat in seated(caps, stand.mouths() if stand else {}, STAND_HEIGHT, STAND_HEIGHT - STAND_FLOOR).values():
        if abs(seat.depth - 1) < DOWN:
            places[seat.cap] = SeenTube(seat.cap, IN_STAND)
    tubes = tuple(places.get(cap) or SeenTube(cap, _on_bench(cap, region)) for cap in caps)
    return TubesView(tubes, find_fallen(cloud, caps), rotor, rack, stand, region)


def _on_bench(cap: Cap, region: RegionView | None) -> str:
    """Return where a tube is that stands in nothing."""
    if cap.lean > UPRIGHT or abs(cap.base[2]) > TOUCHING:
        return ELSEWHERE
    return ON_REGION if region is not None and region.inside(cap.position) >= 0 else ON_TABLE
