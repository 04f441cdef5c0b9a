"""Read the label around a tube: unroll what is seen of it, and compare with printed texts."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from PIL import Image, ImageDraw

from ..wire import Frame
from ..wire.glassware import LABEL_BAND, LABEL_PRINT, LABEL_RADIUS, label_letters
from .cloud import pixels
from .labels import DISTINCT, Label, _font
from .solids import Placed

TALL = 36
"""Pixels along the height of an unrolled label."""
REACH = np.radians(80)
"""How far around a tube a label can be read, from what faces the camera to both sides [rad]."""
WIDE = TALL * LABEL_RADIUS / (LABEL_BAND[1] - LABEL_BAND[0])
"""Pixels per radian of an unrolled label."""
OVER = 3
"""Pixels by which a label may be higher or lower than expected."""
BLURRED = 0.9
"""Width of the blur of printed texts [pixels]: a camera pixel is as wide as an unrolled one or wider."""
FACING = np.radians(48)
"""How far around from what faces the camera print is seen well [rad]."""
INK = 150.0
"""Grey value up to which something is printed, where paper is 255."""
CONTRAST = 9.0
"""Standard deviation of grey values below which nothing is printed, of 255."""
LEGIBLE = 0.80
"""Correlation with a printed label above which the label counts as read."""


def read_band(frame: Frame, placed: Placed, texts: tuple[str, ...]) -> Label | None:
    """Return which of `texts` is printed around a tube that is `placed`, or None where nothing is seen to be printed.

    Text reads upright along the tube's axis; which way the tube is turned about it does not matter as long as the text
    faces the camera.
    """
    seen = unrolled(frame, placed)
    if seen is None or not texts or float(seen.std()) < CONTRAST:
        return None
    scores = tuple(float(cv2.matchTemplate(seen, printed(text), cv2.TM_CCOEFF_NORMED).max()) for text in texts)
    order = np.argsort(scores)[::-1]
    best = scores[order[0]]
    lead = best - (scores[order[1]] if len(order) > 1 else 0.0)
    legible = best >= LEGIBLE and lead >= DISTINCT
    confidence = float(np.clip(best, 0.0, 1.0) * np.clip(lead / (2 * DISTINCT), 0.0, 1.0))
    return Label(texts[int(order[0])], confidence, legible, scores)


def blank(frame: Frame, placed: Placed) -> bool:
    """Return whether nothing is seen to be printed on the side of a tube that faces the camera."""
    seen = unrolled(frame, placed)
    if seen is None:
        return False
    facing = np.abs(np.linspace(-REACH, REACH, seen.shape[1])) < FACING
    return not bool((seen[OVER + 3 : -OVER - 3, facing] < INK).any())


def unrolled(frame: Frame, placed: Placed) -> np.ndarray | None:
    """Return grey values (TALL + 2 OVER, n) of the side of a label that faces the camera, upright; None off the image.

    Paper is 255 in every column, whatever the light.
    """
    towards = (frame.pose[:3, 3] - placed.origin) @ placed.turn
    facing = float(np.arctan2(towards[1], towards[0]))
    angles = facing + np.arange(-REACH, REACH, 1 / WIDE)
    step = (LABEL_BAND[1] - LABEL_BAND[0]) / TALL
    heights = LABEL_BAND[1] + step * (OVER - 0.5 - np.arange(TALL + 2 * OVER))
    local = np.stack(
        np.broadcast_arrays(LABEL_RADIUS * np.cos(angles), LABEL_RADIUS * np.sin(angles), heights[:, None]), axis=-1
    )
    at = pixels(frame, local @ placed.turn.T + placed.origin).astype(np.float32)
    height, width = frame.rgb.shape[:2]
    if at.min() < 0 or at[..., 0].max() > width - 1 or at[..., 1].max() > height - 1:
        return None
    grey = cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2GRAY).astype(np.float32)
    seen = np.asarray(cv2.remap(grey, at[..., 0], at[..., 1], cv2.INTER_LINEAR))
    paper = np.percentile(seen[OVER + 2 : -OVER - 2], 85, axis=0)
    return np.asarray(np.clip(255 * seen / np.maximum(paper, 1.0), 0, 255), np.float32)


@lru_cache(maxsize=64)
def printed(text: str) -> np.ndarray:
    """Return a printed text (TALL, n) as grey values, as it looks unrolled, cut to its width and a margin."""
    width, height = LABEL_PRINT
    image = Image.new("L", LABEL_PRINT, 255)
    pen = ImageDraw.Draw(image)
    font = _font(label_letters(text))
    pen.text((width / 2, height / 2), text, font=font, fill=0, anchor="mm")
    size = (round(np.pi * WIDE), TALL)
    small = cv2.resize(np.asarray(image), size, interpolation=cv2.INTER_AREA).astype(np.float32)
    half = min(size[0] / 2, pen.textlength(text, font=font) / 2 * size[0] / width + 2)
    middle = size[0] / 2
    cut = small[:, max(0, round(middle - half)) : round(middle + half)]
    return np.ascontiguousarray(cv2.GaussianBlur(cut, (0, 0), BLURRED))
