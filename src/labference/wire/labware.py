"""What a user of the bench can look up in a catalogue: labware sizes and instrument faces. Standard library only.

A tested system may know all of this. Where things stand, what they weigh beyond their label and what is asked is not
here.
"""

from __future__ import annotations

from typing import NamedTuple


class WeightSize(NamedTuple):
    """Outline of a knob weight [m]: a cylindrical body, a neck, and a knob that carries the label on its flat top."""

    radius: float
    body: float
    neck: float
    knob: float
    height: float


WEIGHTS = {
    10: WeightSize(0.0090, 0.0160, 0.0045, 0.0085, 0.0285),
    20: WeightSize(0.0105, 0.0190, 0.0050, 0.0095, 0.0325),
    50: WeightSize(0.0125, 0.0240, 0.0060, 0.0110, 0.0385),
    100: WeightSize(0.0150, 0.0300, 0.0070, 0.0125, 0.0465),
}
"""Labelled grams -> size; OIML R 111 in shape and a little larger than standard so that a camera can read the label."""
LABEL_SHARE = 0.86
"""Radius of the printed disc on a knob over the radius of the knob."""
LABEL_LETTERS = {1: 74, 2: 74, 3: 52}
"""Characters of a label -> font size in 128ths of the diameter of the printed disc."""

SAMPLE_RADIUS = 0.016
SAMPLE_HEIGHT = 0.032
"""Radius and height of the unlabelled sample jar [m]."""

PAN_RADIUS = 0.070
PAN_HEIGHT = 0.078
"""Radius of the pan of the balance, and height of its upper face over the bench [m]."""
HOUSING_HALF = 0.085
HOUSING_HEIGHT = 0.062
"""Half the side of the square housing below the pan, and height of its upper face over the bench [m]."""
CONSOLE_REACH = 0.120
"""Farthest that the console with the display stands out from the centre of the pan, towards +x [m]."""

WEIGHT_REGION = ((0.34, 0.60), (-0.30, -0.02))
"""Where weights belong on the table, x and y ranges in the robot base frame [m]."""

DIGITS = 5
DOT_AFTER = 3
"""Digits of a display, and index of the digit that the fixed decimal point follows."""
LCD = (0.140, 0.044)
"""Width and height of the lit face of a display [m]; positions on it are from its centre, x right and y up."""
DIGIT_HALF = (0.0075, 0.0135)
"""Half the width and height of a digit, between the middles of its outer bars [m]."""
BAR_HALF = 0.0018
"""Half the thickness of a bar, and half the side of the decimal point [m]."""
LAMP = (-0.064, -0.0135)
LAMP_RADIUS = 0.0030
"""Centre and radius of the stability lamp [m]."""
BARS = {
    "a": (0.0, 1.0),
    "b": (1.0, 0.5),
    "c": (1.0, -0.5),
    "d": (0.0, -1.0),
    "e": (-1.0, -0.5),
    "f": (-1.0, 0.5),
    "g": (0.0, 0.0),
}
"""Middle of each bar in units of `DIGIT_HALF`: a at the top and on clockwise, g in the middle."""
SEGMENTS = {
    " ": "",
    "-": "g",
    "0": "abcdef",
    "1": "bc",
    "2": "abdeg",
    "3": "abcdg",
    "4": "bcfg",
    "5": "acdfg",
    "6": "acdefg",
    "7": "abc",
    "8": "abcdefg",
    "9": "abcdfg",
    "E": "adefg",
    "L": "def",
    "O": "abcdef",
    "U": "bcdef",
    "r": "eg",
}
"""Lit bars per character."""

_FIRST, _PITCH, _DOT_ROOM = -0.049, 0.0235, 0.004


def digit_centre(place: int, dot_after: int = DOT_AFTER) -> float:
    """Return the x of the middle of digit `place` on the display [m], counted from the left.

    `dot_after` is the digit that the point follows.
    """
    return _FIRST + place * _PITCH + (_DOT_ROOM if place > dot_after else 0.0)


def bar_centre(place: int, bar: str, dot_after: int = DOT_AFTER) -> tuple[float, float]:
    """Return the middle of a bar on the display [m]."""
    x, y = BARS[bar]
    return digit_centre(place, dot_after) + x * DIGIT_HALF[0], y * DIGIT_HALF[1]


def bar_half(bar: str) -> tuple[float, float]:
    """Return half the width and height of a bar [m]."""
    flat = BARS[bar][0] == 0.0
    along = (DIGIT_HALF[0] if flat else DIGIT_HALF[1] / 2) - 0.9 * BAR_HALF
    return (along, BAR_HALF) if flat else (BAR_HALF, along)


def dot_centre(dot_after: int = DOT_AFTER) -> tuple[float, float]:
    """Return the middle of the decimal point behind digit `dot_after` of a display [m]."""
    return digit_centre(dot_after) + 0.0135, -DIGIT_HALF[1]
