"""A seven-segment display: which segments spell a text, and where they are on a console."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..build import Bench

DIGITS = 5
DOT_AFTER = 3
"""Index of the digit that the fixed decimal point follows."""
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
"""Lit segments per character, a at the top and on clockwise, g in the middle."""

_HALF_WIDTH, _HALF_HEIGHT, _STROKE, _PITCH = 0.0075, 0.0135, 0.0018, 0.0235
_BARS = {
    "a": (0.0, 1.0),
    "b": (1.0, 0.5),
    "c": (1.0, -0.5),
    "d": (0.0, -1.0),
    "e": (-1.0, -0.5),
    "f": (-1.0, 0.5),
    "g": (0.0, 0.0),
}


def lit(text: str) -> frozenset[str]:
    """Return the names of the lit elements, such as "0a" or "dot", for `text` right-aligned in five digits."""
    characters = text.replace(".", "").rjust(DIGITS)
    bars = {f"{place}{bar}" for place, character in enumerate(characters) for bar in SEGMENTS[character]}
    return frozenset(bars | ({"dot"} if "." in text else set()))


def draw_display(bench: Bench, name: str, console: Any) -> dict[str, Any]:
    """Draw digits, point and stability lamp on the face of `console` (x right, y up, z out of the face).

    Returns the geoms by element name.
    """
    bench.box(console, (0.070, 0.022, 0.0004), (0, 0, 0.0004), look="lcd", solid=False)
    geoms = {}
    for place in range(DIGITS):
        centre = -0.049 + place * _PITCH + (0.004 if place > DOT_AFTER else 0.0)
        for bar, (x, y) in _BARS.items():
            flat = x == 0.0
            along = (_HALF_WIDTH if flat else _HALF_HEIGHT / 2) - 0.9 * _STROKE
            half = (along, _STROKE, 0.0002) if flat else (_STROKE, along, 0.0002)
            at = (centre + x * _HALF_WIDTH, y * _HALF_HEIGHT, 0.0010)
            geoms[f"{place}{bar}"] = bench.box(
                console, half, at, look="lcd_off", solid=False, name=f"{name}_{place}{bar}"
            )
    dot = (-0.049 + DOT_AFTER * _PITCH + 0.0135, -_HALF_HEIGHT, 0.0010)
    geoms["dot"] = bench.box(console, (0.0018, 0.0018, 0.0002), dot, look="lcd_off", solid=False, name=f"{name}_dot")
    lamp = (-0.064, -_HALF_HEIGHT, 0.0010)
    geoms["lamp"] = bench.cylinder(console, 0.0030, 0.0006, lamp, look="lcd_off", solid=False, name=f"{name}_lamp")
    return geoms
