"""A seven-segment display: which segments spell a text, and where they are on a console."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...wire.labware import BAR_HALF, BARS, LAMP, LAMP_RADIUS, LCD, bar_centre, bar_half, dot_centre
from ...wire.labware import DIGITS as DIGITS
from ...wire.labware import DOT_AFTER as DOT_AFTER
from ...wire.labware import SEGMENTS as SEGMENTS

if TYPE_CHECKING:
    from ..build import Bench


def lit(text: str) -> frozenset[str]:
    """Return the names of the lit elements, such as "0a" or "dot", for `text` right-aligned in five digits."""
    characters = text.replace(".", "").rjust(DIGITS)
    bars = {f"{place}{bar}" for place, character in enumerate(characters) for bar in SEGMENTS[character]}
    return frozenset(bars | ({"dot"} if "." in text else set()))


def draw_display(bench: Bench, name: str, console: Any, behind: int = 1) -> dict[str, Any]:
    """Draw digits, point and stability lamp on the face of `console` (x right, y up, z out of the face).

    The point has `behind` digits behind it; with 0 there is none to light. Returns the geoms by element name.
    """
    bench.box(console, (LCD[0] / 2, LCD[1] / 2, 0.0004), (0, 0, 0.0004), look="lcd", solid=False)
    dot_after, geoms = DIGITS - 1 - behind, {}
    for place in range(DIGITS):
        for bar in BARS:
            half, at = (*bar_half(bar), 0.0002), (*bar_centre(place, bar, dot_after), 0.0010)
            geoms[f"{place}{bar}"] = bench.box(
                console, half, at, look="lcd_off", solid=False, name=f"{name}_{place}{bar}"
            )
    dot = (BAR_HALF, BAR_HALF, 0.0002)
    if behind:
        at = (*dot_centre(dot_after), 0.0010)
        geoms["dot"] = bench.box(console, dot, at, look="lcd_off", solid=False, name=f"{name}_dot")
    geoms["lamp"] = bench.cylinder(
        console, LAMP_RADIUS, 0.0006, (*LAMP, 0.0010), look="lcd_off", solid=False, name=f"{name}_lamp"
    )
    return geoms
