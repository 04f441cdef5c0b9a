"""What a user can look up about tubes and what holds them: sizes, slot maps and colours. Standard library only.

Local frames have their origin on the bench below the middle of the part, z up. Slots and holes are vertical: a tube
enters along -z.
"""

from __future__ import annotations

import math

TUBE_RADIUS = 0.0083
"""Radius of the body of a 15 mL-like tube [m]."""
TUBE_LENGTH = 0.100
"""From the bottom of a tube, its origin, to the lower rim of its cap [m]."""
CAP_RADIUS = 0.0110
CAP_HEIGHT = 0.0140
"""Radius and height of the cap [m]."""
TUBE_HEIGHT = TUBE_LENGTH + CAP_HEIGHT
"""Height of the whole tube [m]."""
TUBE_MASS = 0.020
"""Mass of every tube with its contents [kg]."""
GRIP_HEIGHT = TUBE_LENGTH + CAP_HEIGHT / 2
"""Where a hand takes a tube: the middle of its cap, above its origin [m]."""
CAP_COLOURS = {
    "red": (0.85, 0.15, 0.15),
    "blue": (0.15, 0.35, 0.85),
    "yellow": (0.93, 0.80, 0.15),
    "white": (0.93, 0.93, 0.93),
}
"""Colours in which caps come."""

CLEARANCE = 0.001
"""Radial gap between a tube and the wall of a slot or hole [m]."""
BORE = TUBE_RADIUS + CLEARANCE
"""Radius of a round slot, or half the width of a square hole [m]."""
FUNNEL = 0.004
"""Height and width of the 45 degree lead-in around a single slot or hole [m]: it helps entry and reaches no other."""

SLOTS = 12
"""Calibrated slots of the rotor."""
ROTOR_RADIUS = 0.085
"""Distance of the slot axes from the axis of the rotor [m]."""
SLOT_DEPTH = 0.070
"""Effective depth of a slot [m]."""
ROTOR_MOUTH = 0.078
"""Height of the mouths of the slots over the bench [m]."""
DECK_RADIUS = 0.106
"""Radius of the flat upper face of the rotor, which lies `FUNNEL` over the mouths [m]."""
BAR, BAR_HALF = (0.020, 0.045), 0.004
"""From where to where, along +x, the bar on the deck reaches, and half its width [m]."""

ROWS, COLUMNS = "ABC", (1, 2, 3, 4)
HOLES = tuple(f"{row}{column}" for row in ROWS for column in COLUMNS)
"""Holes of the rack, row by row."""
PITCH = 0.045
"""Distance between neighbouring holes [m]; below 40 mm fingers land on neighbouring caps."""
HOLE_DEPTH = 0.060
"""Effective depth of a hole [m]."""
RACK_MOUTH = 0.064
"""Height of the mouths of the holes over the bench [m]."""
RACK_HALF = (0.090, 0.0765)
"""Half the length and width of the rack without its coloured edges [m]."""
EDGE = 0.008
"""Width of the coloured edges [m]."""
EDGE_COLOURS = {
    "A": (0.95, 0.55, 0.10),
    "C": (0.15, 0.35, 0.85),
    "1": (0.15, 0.65, 0.25),
    "4": (0.55, 0.20, 0.65),
}
"""Colours of the long edges beside rows A (orange) and C (blue), and of the short ones beside columns 1 (green) and 4
(purple)."""
MARKER = (0.95, 0.05, 0.05)
"""Colour of the round marker at the corner of A1, and of the bar that points to slot 0 of the rotor."""

STAND_PLACES = 4
STAND_PITCH = 0.055
"""Holes of the stand, and the distance between them along its y axis [m]."""
STAND_FLOOR = 0.003
"""Height at which a tube stands in the stand [m]."""
STAND_HALF = (0.022, 0.110)
STAND_HEIGHT = 0.033
"""Half the width and length of the stand, and its height [m]."""

REGION_HALF = 0.060
"""Half the side of the marked region of the bench [m]."""


def slot_position(index: int, slots: int = SLOTS) -> tuple[float, float]:
    """Return x and y of slot `index` in the frame of the rotor [m]; slot 0 lies along +x, the others follow
    counter-clockwise.
    """
    angle = 2 * math.pi * index / slots
    return ROTOR_RADIUS * math.cos(angle), ROTOR_RADIUS * math.sin(angle)


def opposite(index: int, slots: int = SLOTS) -> int:
    """Return the slot opposite `index` in a rotor with an even number of slots: (j + n/2) mod n.

    Raises `ValueError` for an odd number of slots, which has no opposite.
    """
    if slots < 2 or slots % 2:
        raise ValueError(f"A rotor with {slots!r} slots has no opposite slots; an even number of slots would work.")
    return (index + slots // 2) % slots


def hole_position(name: str) -> tuple[float, float]:
    """Return x and y of hole `name` in the frame of the rack [m]: columns along +x, row A at +y."""
    row, column = ROWS.index(name[0]), int(name[1:])
    return (column - 2.5) * PITCH, (1 - row) * PITCH


def stand_position(place: int) -> tuple[float, float]:
    """Return x and y of hole `place` of the stand, counted from 0, in its frame [m]."""
    return 0.0, (place - (STAND_PLACES - 1) / 2) * STAND_PITCH
