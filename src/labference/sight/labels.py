"""Read the label on the flat top of a knob, whichever way it is turned."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ..wire import Frame
from ..wire.labware import LABEL_LETTERS, LABEL_SHARE
from .cloud import pixels
from .items import Item

SIDE = 24
"""Pixels along the side of a straightened label."""
DISC = 128
"""Pixels along the side of a label as printed."""
TURNS = np.radians(np.arange(0, 360, 5))
SCALES = (0.88, 0.96, 1.04)
"""Printed radii that are tried, over the expected one: the rim of a knob is bevelled."""
SHIFTS = (-0.08, 0.0, 0.08)
"""Displacements that are tried along both axes, over the printed radius."""
CONTRAST = 12.0
"""Standard deviation of grey values below which nothing is printed on a face, of 255."""
LEGIBLE = 0.70
"""Correlation with a printed label above which the label counts as read."""
DISTINCT = 0.05
"""Lead in correlation over the next label that is needed."""


@dataclass(frozen=True, slots=True)
class Label:
    """What is printed on an item: the most similar of the known texts, and how much that is worth.

    `scores` holds the correlation (-1..1) with every known text; `legible` whether the best is good and distinct.
    """

    text: str
    confidence: float
    legible: bool
    scores: tuple[float, ...]


def read_label(frame: Frame, item: Item, texts: tuple[str, ...]) -> Label | None:
    """Return which of `texts` is printed on the top face of `item`, or None where nothing is printed."""
    faces = _straightened(frame, item)
    plain = faces.reshape(len(faces), -1)[:, _mask()]
    if plain.std(axis=1).max() < CONTRAST:
        return None
    match = _normal(plain) @ _templates(texts).T
    scores = match.max(axis=0).reshape(len(texts), -1).max(axis=1)
    order = np.argsort(scores)[::-1]
    best = float(scores[order[0]])
    lead = best - float(scores[order[1]]) if len(order) > 1 else best
    legible = best >= LEGIBLE and lead >= DISTINCT
    confidence = float(np.clip(best, 0.0, 1.0) * np.clip(lead / (2 * DISTINCT), 0.0, 1.0))
    return Label(texts[int(order[0])], confidence, legible, tuple(float(score) for score in scores))


def _straightened(frame: Frame, item: Item) -> np.ndarray:
    """Return views (n, SIDE, SIDE) of the top face from straight above, +x of the base up, at several places and sizes.

    The first axis of a view runs towards -x and the second towards -y of the robot base, so that unturned text, which
    faces +x, is upside down; that is one of the turns.
    """
    u = (np.arange(SIDE) + 0.5) / SIDE * 2 - 1
    radius = LABEL_SHARE * item.top_radius
    shift = np.array([(scale, i, j) for scale in SCALES for i in SHIFTS for j in SHIFTS])
    x = item.position[0] - radius * (shift[:, 0, None, None] * u[None, :, None] + shift[:, 1, None, None])
    y = item.position[1] - radius * (shift[:, 0, None, None] * u[None, None, :] + shift[:, 2, None, None])
    x, y = np.broadcast_arrays(x, y)
    at = pixels(frame, np.stack((x, y, np.full_like(x, item.base + item.height)), axis=-1)).astype(np.float32)
    grey = cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2GRAY)
    flat = at.reshape(-1, SIDE, 2)
    seen = cv2.remap(grey, flat[..., 0], flat[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return seen.reshape(len(shift), SIDE, SIDE).astype(np.float32)


def _normal(rows: np.ndarray) -> np.ndarray:
    """Return rows (n, k) with mean 0 and length 1."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-6))


@lru_cache(maxsize=1)
def _mask() -> np.ndarray:
    """Return which of the SIDE * SIDE pixels lie on the printed disc."""
    u = (np.arange(SIDE) + 0.5) / SIDE * 2 - 1
    return np.asarray(np.hypot(u[:, None], u) < 0.92).ravel()


@lru_cache(maxsize=8)
def _templates(texts: tuple[str, ...]) -> np.ndarray:
    """Return normalised labels (len(texts) * len(TURNS), pixels of the disc), turn by turn."""
    rows = []
    for text in texts:
        printed = _printed(text)
        for turn in TURNS:
            c, s = np.cos(turn) * DISC / SIDE, np.sin(turn) * DISC / SIDE
            middle, centre = (SIDE - 1) / 2, (DISC - 1) / 2
            back = np.array(((c, -s, centre - c * middle + s * middle), (s, c, centre - s * middle - c * middle)))
            flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
            turned = cv2.warpAffine(printed, back, (SIDE, SIDE), flags=flags, borderValue=255.0)
            rows.append(turned.ravel()[_mask()])
    return _normal(np.array(rows, np.float32))


def _printed(text: str) -> np.ndarray:
    """Return a label (DISC, DISC) as grey values, blurred to the resolution at which it is compared."""
    image = Image.new("L", (DISC, DISC), 255)
    font = _font(LABEL_LETTERS.get(len(text), min(LABEL_LETTERS.values())))
    ImageDraw.Draw(image).text((DISC / 2, DISC / 2), text, font=font, fill=0, anchor="mm")
    return np.asarray(cv2.GaussianBlur(np.asarray(image, np.float32), (0, 0), 0.5 * DISC / SIDE))


@lru_cache(maxsize=8)
def _font(size: int) -> ImageFont.FreeTypeFont:
    """Load the bold font that labels are printed in, from the copy that Matplotlib ships."""
    found = importlib.util.find_spec("matplotlib")
    folder = Path((found.submodule_search_locations or [""])[0]) if found else Path()
    return ImageFont.truetype(str(folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSans-Bold.ttf"), size)
