"""Say which standard weight an item is: by its label where that can be read, by its size otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..wire import Frame
from ..wire.labware import SAMPLE_HEIGHT, SAMPLE_RADIUS, WEIGHTS
from .items import Item
from .labels import Label, read_label

TEXTS = tuple(str(grams) for grams in WEIGHTS)
SPREAD = 0.001
"""Deviation of a measured size that costs one point [m]."""
FOREIGN = 3.0
"""Mean points per measured length beyond which an item is no catalogue item."""
DOUBT = 0.5
"""Factor on the confidence where label and size disagree, or where only the size speaks."""


@dataclass(frozen=True, slots=True)
class Naming:
    """What an item is: `grams` of a standard, or None for anything else; how sure (0..1), and from what evidence."""

    grams: int | None
    confidence: float
    evidence: Literal["label", "size"]


def name_weight(frame: Frame, item: Item) -> Naming:
    """Return which standard `item` is; its label decides wherever it is legible."""
    label = read_label(frame, item, TEXTS) if item.standing else None
    return judge(item, label)


def judge(item: Item, label: Label | None) -> Naming:
    """Weigh the label of an item against its size."""
    grams, confidence = _by_size(item)
    if label is None or not label.legible:
        return Naming(grams, DOUBT * confidence, "size")
    read = int(label.text)
    return Naming(read, label.confidence * (1.0 if read == grams else DOUBT), "label")


def _by_size(item: Item) -> tuple[int | None, float]:
    """Return the standard of nearest size, or None where that is the sample or nothing in the catalogue."""
    points: dict[int | None, float] = {
        grams: _points(item, size.radius, size.height, size.knob) for grams, size in WEIGHTS.items()
    }
    points[None] = min(_points(item, SAMPLE_RADIUS, SAMPLE_HEIGHT, SAMPLE_RADIUS), FOREIGN)
    (best, least), (_, next_least) = sorted(points.items(), key=lambda entry: entry[1])[:2]
    return best, float(np.clip((next_least - least) / (least + 1.0), 0.0, 1.0))


def _points(item: Item, radius: float, height: float, top: float) -> float:
    """Return how far the size of `item` is from a catalogue size, mean over the lengths that can be measured."""
    if item.standing:
        off = (item.radius - radius, item.height - height, item.top_radius - 0.95 * top)
    else:
        off = (item.length - height, item.height - 2 * radius, 2 * (item.radius - radius))
    return float(np.mean(np.abs(off))) / SPREAD
