"""Replies as JSON: images become PNG files or raw arrays in base64, or references to images that travel beside."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image


def png(image: np.ndarray) -> bytes:
    """Return an image as a PNG file: (h, w, 3) uint8, or (h, w) uint16 for depth in tenths of a millimetre."""
    file = io.BytesIO()
    Image.fromarray(image).save(file, "png", compress_level=1)
    return file.getvalue()


def as_png(image: np.ndarray) -> dict[str, Any]:
    """Return an image as JSON, a PNG file in base64."""
    return {"format": "png", "data": base64.b64encode(png(image)).decode()}


def as_ndarray(image: np.ndarray) -> dict[str, Any]:
    """Return an image as JSON, its little-endian bytes in base64 with type and shape."""
    raw = np.ascontiguousarray(image, image.dtype.newbyteorder("<")).tobytes()
    return {"__ndarray__": base64.b64encode(raw).decode(), "dtype": image.dtype.name, "shape": list(image.shape)}


def dressed(value: Any, image: Callable[[np.ndarray], Any]) -> Any:
    """Return a reply as JSON values, each image as `image` makes it."""
    if isinstance(value, np.ndarray):
        return image(value)
    if isinstance(value, dict):
        return {name: dressed(entry, image) for name, entry in value.items()}
    if isinstance(value, tuple | list):
        return [dressed(entry, image) for entry in value]
    return value


def read(text: bytes | str) -> Any:
    """Return the JSON value of `text`; raises `ValueError` for anything else, NaN and bottomless nesting included."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")
