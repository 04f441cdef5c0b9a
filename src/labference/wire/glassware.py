"""What a user can look up about the wet bench: sizes of beakers, tubes, tools and their holders. Standard library only.

Local frames have their origin below the middle of the part, where it stands, z up. A hand takes tubes and tools from
the side: its approach axis is horizontal and its fingers close horizontally.
"""

from __future__ import annotations

import math

BEAKER_RADIUS, BEAKER_HEIGHT, BEAKER_WALL = 0.025, 0.070, 0.0013
"""Outer radius, height and thickness of a low-form 100 mL beaker [m] (ISO 3819)."""
BEAKER_MASS = 0.055
"""Mass of the empty beaker [kg]."""

TUBE_RADIUS, TUBE_LENGTH, TUBE_WALL = 0.0125, 0.150, 0.00125
"""Outer radius, length and thickness of a reagent tube [m]: a 25 mm x 150 mm test tube."""
TUBE_BOTTOM = 0.010
"""Height of its inner bottom, taken as flat, over its lowest point [m]."""
TUBE_MASS = 0.030
"""Mass of the empty tube [kg]."""
TUBE_GRIP = 0.095
"""Where a hand takes a tube, over its lowest point [m]."""
LABEL_BAND, LABEL_RADIUS = (0.055, 0.080), 1.02 * TUBE_RADIUS
"""Heights between which its label is stuck around a tube, above the rack and below the hand, and its radius [m]."""
LABEL_PRINT = (224, 112)
"""Width and height of the printed label, which goes around a tube twice, in units of the print."""

RACK_PLACES, RACK_PITCH = 4, 0.070
"""Holes of the rack for reagent tubes, and the distance between them along its y axis [m]."""
RACK_FLOOR, RACK_HEIGHT = 0.030, 0.080
"""Heights of the floor on which tubes stand in the rack, and of its upper edge, over the bench [m]."""
RACK_HALF = (0.022, 0.135)
"""Half the width and length of the rack [m]."""

PROBE_RADIUS, PROBE_LENGTH, PROBE_MASS = 0.006, 0.165, 0.040
"""Radius of the shaft, length from the tip, its origin, to the upper end [m], and mass [kg] of the probe."""
PROBE_HANDLE, PROBE_COLLAR = 0.011, 0.100
"""Radius of its handle, and height over the tip where the handle begins [m]."""
PROBE_GRIP = 0.130
"""Where a hand takes the probe, over its tip [m]."""

ROD_RADIUS, ROD_LENGTH, ROD_MASS = 0.003, 0.200, 0.018
"""Radius of the glass, length [m] and mass [kg] of the stirring rod; its origin is its lower end."""
ROD_HANDLE, ROD_COLLAR = 0.008, 0.130
"""Radius of its silicone grip, and height over the lower end where the grip begins [m]."""
ROD_GRIP = 0.160
"""Where a hand takes the rod, over its lower end [m]."""

HOLDER_FLOOR, HOLDER_HEIGHT, HOLDER_HALF = 0.020, 0.085, 0.024
"""Heights of the floor and of the upper edge of the holders of probe and rod, and half their width [m]."""
RINSE_FLOOR, RINSE_HALF = 0.012, 0.042
"""Height of the plate on which the rinse beaker is fixed, and half its side [m]."""

APPROACH_TURN = 0.80
"""Angle from the bearing of a place to the direction in which a hand approaches it from the side [rad]: at 0 the wrist
of the Panda is at the end of its range."""

TILT_START, TILT_MOST = 40.0, 100.0
"""Tilt at which a pour begins, and the largest one [deg]; a tube with 50 g holds everything back up to 43."""
TILT_FORWARD, TILT_BACK = 12.0, 45.0
"""Fastest tilt towards the lip, and away from it [deg/s]."""
LIP_UPSTREAM = 0.012
"""How far before the middle of the catching vessel the lip is [m]: half of what a stream is thrown while it falls."""
LIP_OVER_RIM, BOTTOM_BELOW_RIM = 0.045, 0.035
"""Least height of the lip over the rim of that vessel, and how far below that rim the lower end of the tube may be [m]:
nearer, hand or tube would touch the balance."""
DRAINED_S = 3.0
"""Pause with the lip over the vessel after a pour, for the last drops to fall into it [s]."""


def lip_height(tilt: float) -> float:
    """Return how high the lip of a tube that leans by `tilt` [rad] is held over the rim of the catching vessel [m]."""
    return max(LIP_OVER_RIM, TUBE_LENGTH * math.cos(tilt) - BOTTOM_BELOW_RIM)


def label_letters(text: str) -> int:
    """Return the size of the letters of a tube's label, in units of the print."""
    return 216 // len(text) if len(text) > 2 else 92


def tube_place(place: int) -> tuple[float, float]:
    """Return x and y of hole `place` of the rack, counted from 0, in its frame [m]; a hand approaches along x."""
    return 0.0, (place - (RACK_PLACES - 1) / 2) * RACK_PITCH
