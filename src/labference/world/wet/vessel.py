"""How much a tilted cylinder holds, and how far above its lip the liquid stands."""

from __future__ import annotations

import math
from dataclasses import dataclass

LEVEL = math.radians(89.9)
"""Tilt up to which the surface is treated as a slanted cut [rad]; a cylinder that lies flat has an infinite tangent. At
this tilt a test tube holds back 0.04 mL."""
CLOSE = 1e-6
"""Last step of Newton's method, as a share of the radius; the error left is about its square."""
MOST = 60
"""Newton or bisection steps after which the level is taken as found; bisection alone reaches 1e-15 in 52."""


def segment(u: float) -> tuple[float, float]:
    """Return area and moment of the part of a unit disc that lies less than `u` above its lowest point.

    The area is S(u) = p - sin(p) cos(p) with p = arccos(1 - u); the moment F(u) = sin(p) - sin(p)^3 / 3 - p (1 - u) is
    its integral, so that R^3 tan(tilt) F is the volume of a wedge ("hoof") cut from a cylinder.
    """
    if u <= 0.0:
        return 0.0, 0.0
    if u >= 2.0:
        return math.pi, math.pi * (u - 1.0)
    cosine = 1.0 - u
    angle = math.acos(cosine)
    sine = math.sqrt(u * (2.0 - u))
    return angle - sine * cosine, sine - sine * sine * sine / 3.0 - angle * cosine


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A straight vessel with a flat bottom and a sharp rim.

    radius  inner radius [m]
    length  inner length from bottom to rim [m]
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        if not (0.0 < self.radius < math.inf and 0.0 < self.length < math.inf):
            raise ValueError(
                f"A cylinder of radius {self.radius!r} m and length {self.length!r} m holds nothing; "
                "both must be finite and above 0 m."
            )

    @property
    def capacity(self) -> float:
        """Return the volume up to the rim when upright [m3]."""
        return math.pi * self.radius**2 * self.length

    def retained(self, tilt: float) -> float:
        """Return the volume [m3] that stays when the vessel is tilted by `tilt` [rad] from upright and left to run out.

        One formula covers both regimes, with the bottom covered or partly bare: R^3 tan(tilt) F(H / (R tan(tilt))).
        Beyond horizontal nothing stays.
        """
        tilt = abs(tilt)
        if tilt >= 0.5 * math.pi:
            return 0.0
        tangent = math.tan(tilt)
        rise = self.radius * tangent
        if self.length >= 2.0 * rise:
            return math.pi * self.radius**2 * (self.length - rise)
        return self.radius**2 * rise * segment(self.length / rise)[1]

    def depth(self, volume: float) -> float:
        """Return how high `volume` [m3] stands in the upright vessel [m]."""
        return volume / (math.pi * self.radius**2)

    def excess(self, volume: float, tilt: float, guess: float = 0.0) -> float:
        """Return u, the height of the level surface of `volume` [m3] above the lip in units of R sin(tilt).

        The volume below the surface is R^3 tan(tilt) (F(H / (R tan(tilt)) + u) - F(u)), which grows with u; Newton's
        method starts at `guess` and falls back on bisection. `tilt` [rad] lies above 0 and is cut at `LEVEL`;
        `volume` lies between 0 and the capacity.
        """
        tangent = math.tan(min(tilt, LEVEL))
        reach = self.length / (self.radius * tangent)
        share = volume / (self.radius**3 * tangent)
        u = share / math.pi - reach + 1.0
        if u <= 0.0 and reach + u >= 2.0:
            return u
        low, high = -reach, 2.0
        u = guess if low < guess < high else 0.5 * (low + high)
        for _ in range(MOST):
            deep = reach + u
            area, moment = segment(deep) if deep < 2.0 else (math.pi, math.pi * (deep - 1.0))
            lip_area, lip_moment = segment(u) if u > 0.0 else (0.0, 0.0)
            wrong = moment - lip_moment - share
            if wrong > 0.0:
                high = u
            else:
                low = u
            slope = area - lip_area
            better = u - wrong / slope if slope > 1e-12 else low
            if not low < better < high:
                better = 0.5 * (low + high)
            step = better - u
            u = better
            if -CLOSE < step < CLOSE:
                break
        return u

    def head(self, volume: float, tilt: float, guess: float = 0.0) -> float:
        """Return the height of the surface of `volume` [m3] above the lip [m], negative below it.

        Beyond horizontal the wall slopes towards the lip, and the head grows by what the middle of the wall stands
        above the lip, H / 2 sin(tilt - 90°): an estimate that empties the vessel.
        """
        tilt = abs(tilt)
        if tilt < 1e-6:
            return self.depth(volume) - self.length
        level = self.excess(volume, tilt, guess) * self.radius * math.sin(min(tilt, LEVEL))
        return level + self.slope(tilt)

    def slope(self, tilt: float) -> float:
        """Return by how much the middle of the wall stands above the lip beyond horizontal [m], 0 before."""
        beyond = abs(tilt) - 0.5 * math.pi
        return 0.5 * self.length * math.sin(min(beyond, 0.5 * math.pi)) if beyond > 0.0 else 0.0


TEST_TUBE = Cylinder(0.01125, 0.140)
"""A 25 mm x 150 mm test tube with walls of 1.25 mm; its round bottom is taken as flat 10 mm higher (an estimate)."""
BEAKER_100 = Cylinder(0.0237, 0.0687)
"""Inside of a low-form 100 mL beaker, 50 mm x 70 mm (ISO 3819), with walls of 1.3 mm."""
BEAKER_250 = Cylinder(0.0337, 0.0935)
"""Inside of a low-form 250 mL beaker, 70 mm x 95 mm (ISO 3819), with walls of 1.3 to 1.5 mm."""
