"""Images as other people's policies expect them: (h, w, 3) uint8, resized and turned as their training data was."""

from __future__ import annotations

from typing import Literal

import numpy as np
from PIL import Image

Resize = Literal["pad", "stretch"]
Turn = Literal["none", "mirror", "half"]


def resized(rgb: np.ndarray, size: tuple[int, int], how: Resize) -> np.ndarray:
    """Return `rgb` (h, w, 3) uint8 at `size`, width and height in pixels; an image of that size comes back as it is.

    "pad" keeps the proportions and centres the image on black, with Pillow's bilinear filter and sizes rounded down:
    what `resize_with_pad` of OpenPI's client does. "stretch" fills the whole size.
    """
    width, height = size
    rows, columns = rgb.shape[:2]
    if (columns, rows) == size:
        return rgb
    if how == "stretch":
        return np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.BILINEAR))
    ratio = max(columns / width, rows / height)
    inner = (max(1, int(columns / ratio)), max(1, int(rows / ratio)))
    small = np.asarray(Image.fromarray(rgb).resize(inner, Image.Resampling.BILINEAR))
    padded = np.zeros((height, width, 3), np.uint8)
    top, left = (height - inner[1]) // 2, (width - inner[0]) // 2
    padded[top : top + inner[1], left : left + inner[0]] = small
    return padded


def turned(rgb: np.ndarray, turn: Turn) -> np.ndarray:
    """Return `rgb` as it is, mirrored left to right, or turned by half a revolution; each undoes itself."""
    if turn == "mirror":
        return rgb[:, ::-1]
    return rgb[::-1, ::-1] if turn == "half" else rgb
