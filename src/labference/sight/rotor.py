"""Find the rotor: a deck with twelve holes at a known height, with a red bar that points to slot 0."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from ..wire import Frame
from ..wire.tubes import (
    BAR,
    BAR_HALF,
    BORE,
    DECK_RADIUS,
    FUNNEL,
    ROTOR_MOUTH,
    ROTOR_RADIUS,
    SLOT_DEPTH,
    SLOTS,
    slot_position,
)
from .caps import Cap
from .items import patches
from .planar import agreement, fit, level, rectangle, step_up, to_base
from .seats import Seat, seated, vacant

DECK = ROTOR_MOUTH + FUNNEL
"""Height of the deck [m]."""
LAYER = 0.0010
"""How far from that height points may be to count as the deck [m]."""
CLOSE = 0.006
"""How far the radius of what looks like a deck may be from the catalogue radius [m]."""
AROUND = 0.012
"""How far around the deck is looked [m]."""
FEWEST_RED = 15
"""Fewest pixels of the bar."""
ALIKE = 0.60
"""Smallest agreement between what is seen and a rotor in the pose found."""
SEEN = 0.35
"""Smallest share of the deck that has to be seen."""


@dataclass(frozen=True, slots=True)
class RotorView:
    """A rotor in the robot base frame.

    centre  (x, y) of its axis [m]; yaw towards slot 0 [rad]
    seats   slots that hold a tube
    empty   slots that are seen to hold none; of the others nothing is known
    """

    centre: tuple[float, float]
    yaw: float
    seats: dict[int, Seat]
    empty: frozenset[int]

    def slot(self, index: int) -> tuple[float, float, float]:
        """Return where the middle of the mouth of slot `index` is, robot base frame [m]."""
        x, y = to_base(np.array(slot_position(index)), np.array((*self.centre, self.yaw)))
        return float(x), float(y), ROTOR_MOUTH


def find_rotor(frame: Frame, cloud: np.ndarray, caps: tuple[Cap, ...]) -> RotorView | None:
    """Return the rotor that `frame` shows, with the `caps` that stand in it, or None where too little of it is seen.

    `cloud` (h, w, 3) are the points of the frame in the robot base frame [m].
    """
    centre = _deck(cloud)
    if centre is None:
        return None
    reach = DECK_RADIUS + AROUND
    plane = level(frame, cloud, DECK, centre, reach)
    red = plane.on & (plane.saturation > 0.5) & ((plane.hue < 20) | (plane.hue > 340))
    red &= np.hypot(*(plane.places - centre).T) < BAR[1] + AROUND
    if red.sum() < FEWEST_RED:
        return None
    ahead = plane.places[red].mean(axis=0) - centre
    start = np.array((*centre, np.arctan2(ahead[1], ahead[0])))
    seen = np.stack((plane.on, red), axis=1).astype(float)
    pose = fit(plane.places, seen, _template, start)
    whole = np.pi * DECK_RADIUS**2 / plane.area
    near = np.hypot(*(plane.places - pose[:2]).T) < DECK_RADIUS
    if near.sum() < SEEN * whole or agreement(plane.places, seen, _template, pose) < ALIKE:
        return None
    mouths = {index: _at(pose, index) for index in range(SLOTS)}
    seats = seated(caps, mouths, ROTOR_MOUTH, SLOT_DEPTH)
    empty = vacant(frame, caps, mouths, ROTOR_MOUTH, SLOT_DEPTH) - seats.keys()
    return RotorView((float(pose[0]), float(pose[1])), float(pose[2]), seats, empty)


def _at(pose: np.ndarray, index: int) -> tuple[float, float]:
    x, y = to_base(np.array(slot_position(index)), pose)
    return float(x), float(y)


def _deck(cloud: np.ndarray) -> tuple[float, float] | None:
    """Return the centre [m] of the largest patch at the height of a deck, or None where it has another size."""
    with np.errstate(invalid="ignore"):
        layer = cloud[np.abs(cloud[..., 2] - DECK) < LAYER][:, :2]
    if len(layer) == 0:
        return None
    labels = patches(layer)
    names, counts = np.unique(labels, return_counts=True)
    deck = layer[labels == names[np.argmax(counts)]]
    (x, y), radius = cv2.minEnclosingCircle(np.asarray(1000 * deck, np.float32))
    return (x / 1000, y / 1000) if abs(radius / 1000 - DECK_RADIUS) < CLOSE else None


def _template(places: np.ndarray, width: float) -> np.ndarray:
    """Return how much deck, and how much red, is at `places` (n, 2) [m] in the frame of the rotor."""
    away, angle = np.hypot(*places.T), np.arctan2(places[:, 1], places[:, 0])
    sector = 2 * np.pi / SLOTS
    from_slot = angle - sector * np.rint(angle / sector)
    off_slot = np.hypot(away * np.cos(from_slot) - ROTOR_RADIUS, away * np.sin(from_slot))
    deck = step_up(DECK_RADIUS - away, width) * step_up(off_slot - (BORE + FUNNEL), width)
    bar = rectangle(places, (BAR[0], -BAR_HALF), (BAR[1], BAR_HALF), width)
    return np.stack((deck, bar), axis=1)
