"""What a wet bench consists of for whoever watches it: openings of vessels, and the tools that go into them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Opening:
    """A vessel as seen from outside: it stands on the item or fixture of the same name.

    radius     inner radius [m]
    low, high  heights of its inner bottom and of its rim in the frame of that body [m]
    """

    radius: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Wetware:
    """Names of what a wet bench has.

    vessels  openings by name
    probes   item whose tip is that of a meter, by meter
    rods     items to stir with; their origin is the lower end
    rinses   vessels in which a probe is rinsed
    """

    vessels: tuple[tuple[str, Opening], ...] = ()
    probes: tuple[tuple[str, str], ...] = ()
    rods: tuple[str, ...] = ()
    rinses: tuple[str, ...] = ()
