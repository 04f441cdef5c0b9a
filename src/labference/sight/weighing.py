"""See a weighing bench: what stands on table and pan, which standards they are, and what the display says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..wire import Frame, Senses
from ..wire.labware import CONSOLE_REACH, HOUSING_HALF, HOUSING_HEIGHT
from .cloud import in_disc, in_rectangle, points
from .displays import Shown, read_display
from .items import Item, find_items
from .pan import Pan, find_pan
from .weights import Naming, name_weight

TABLE_CAMERA, PAN_CAMERA, DISPLAY_CAMERA = "labels", "pan", "display"
CAMERAS = (TABLE_CAMERA, PAN_CAMERA, DISPLAY_CAMERA)
"""Cameras that this view needs, all with depth."""
WORKSPACE = ((0.24, -0.45), (0.78, 0.45))
"""Part of the table where items are looked for, opposite corners (x, y) in the robot base frame [m]."""
BESIDE = 0.006
"""Distance from the housing within which points are taken for a part of it [m]."""
OVERHANG = 0.006
"""How far an item on the pan may stand over its edge [m]."""
SAME = 0.015
"""Distance within which two cameras see the same item [m]."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An item, where it is, and what it was taken for."""

    item: Item
    place: Literal["pan", "table", "housing"]
    naming: Naming


@dataclass(frozen=True, slots=True)
class WeighingView:
    """One look at the bench; `pan` and `shown` are None where they could not be made out."""

    pan: Pan | None
    seen: tuple[Seen, ...]
    shown: Shown | None

    def standards(self) -> dict[int, Seen]:
        """Return the standards found, by grams; where two claim the same label, the surer one has it."""
        surest = sorted(self.seen, key=lambda seen: seen.naming.confidence)
        return {seen.naming.grams: seen for seen in surest if seen.naming.grams is not None}

    def on_pan(self) -> frozenset[int]:
        """Return the standards on the pan [g]."""
        return frozenset(grams for grams, seen in self.standards().items() if seen.place == "pan")


def see_weighing(senses: Senses) -> WeighingView:
    """Return what the frames of `CAMERAS` show; the arm should be out of their way."""
    above_pan, above_table = senses.frame(PAN_CAMERA), senses.frame(TABLE_CAMERA)
    shown = read_display(senses.frame(DISPLAY_CAMERA))
    near, wide = points(above_pan), points(above_table)
    pan = find_pan(near)
    if pan is None:
        return WeighingView(None, (), shown)
    on_pan = in_disc(near, pan.centre, pan.radius + OVERHANG)
    seen = [Seen(item, "pan", name_weight(above_pan, item)) for item in find_items(near, pan.height, on_pan)]
    ledge = _housing(near, pan) & ~on_pan
    seen += [Seen(item, "housing", name_weight(above_pan, item)) for item in find_items(near, HOUSING_HEIGHT, ledge)]
    seen += _on_table(above_table, wide, pan)
    seen += [extra for extra in _on_table(above_pan, near, pan) if not _known(extra, seen)]
    return WeighingView(pan, tuple(seen), shown)


def _on_table(frame: Frame, cloud: np.ndarray, pan: Pan) -> list[Seen]:
    """Return the items on the table, around the balance."""
    x, y = pan.centre
    side = HOUSING_HALF + BESIDE
    balance = in_rectangle(cloud, (x - side, y - side), (x + CONSOLE_REACH + BESIDE, y + side))
    items = find_items(cloud, 0.0, in_rectangle(cloud, *WORKSPACE) & ~balance)
    return [Seen(item, "table", name_weight(frame, item)) for item in items]


def _housing(cloud: np.ndarray, pan: Pan) -> np.ndarray:
    """Return which points (h, w) lie over the housing below the pan."""
    x, y = pan.centre
    return in_rectangle(cloud, (x - HOUSING_HALF, y - HOUSING_HALF), (x + HOUSING_HALF, y + HOUSING_HALF))


def _known(extra: Seen, seen: list[Seen]) -> bool:
    """Tell whether another camera has seen an item already."""
    return any(np.hypot(*np.subtract(extra.item.position, other.item.position)) < SAME for other in seen)
