"""The array codecs of two public wires: msgpack maps that hold numpy arrays, decoded strictly.

OpenPI marks arrays with bytes keys, vla-eval with text keys and may compress images. Decoding admits numbers and
booleans only, checks that shape and data fit, and returns arrays that own their memory. Nothing is ever executed.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
from PIL import Image, UnidentifiedImageError

KINDS = "biuf"
"""Kinds of numpy dtypes that may cross: booleans, integers, unsigned integers, floats."""
LARGEST_IMAGE = 64 * 1024 * 1024
"""Most bytes that a compressed image may unfold to."""
DEEPEST = 8
"""Deepest nesting of a message."""


class Malformed(ValueError):
    """Bytes that are no message of the wire; the sentence says what was wrong with them."""


def pack_openpi(value: object) -> bytes:
    """Return `value` as OpenPI's msgpack: maps, lists, text, numbers and arrays."""
    return bytes(msgpack.packb(value, default=_openpi_out))


def unpack_openpi(message: bytes) -> Any:
    """Return what an OpenPI message holds; raises `Malformed`."""
    return _unpack(message, _openpi_in)


def pack_vla_eval(value: object) -> bytes:
    """Return `value` as vla-eval's msgpack; images cross as plain arrays, which its decoder takes too."""
    return bytes(msgpack.packb(value, default=_vla_eval_out, use_bin_type=True))


def unpack_vla_eval(message: bytes) -> Any:
    """Return what a vla-eval message holds; raises `Malformed`."""
    return _unpack(message, _vla_eval_in)


def _unpack(message: bytes, hook: Callable[[dict[Any, Any]], Any]) -> Any:
    try:
        value = msgpack.unpackb(message, object_hook=hook, raw=False, strict_map_key=False, max_ext_len=0)
        _shallow(value, DEEPEST)
    except Malformed:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
        RecursionError,
        MemoryError,
        msgpack.UnpackException,
    ) as error:
        raise Malformed(f"{len(message)} bytes are no message: {type(error).__name__} {error}".rstrip()) from error
    return value


def _shallow(value: object, depth: int) -> None:
    """Refuse nesting that no honest message has."""
    if depth == 0:
        raise Malformed(f"a message nests deeper than {DEEPEST}")
    if isinstance(value, dict):
        for entry in value.values():
            _shallow(entry, depth - 1)
    elif isinstance(value, list):
        for entry in value:
            _shallow(entry, depth - 1)


def _openpi_out(value: object) -> object:
    if isinstance(value, np.ndarray):
        _kind(value.dtype)
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic):
        _kind(value.dtype)
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(f"a {type(value).__name__} cannot cross")


def _openpi_in(found: dict[Any, Any]) -> Any:
    if b"__ndarray__" in found:
        return _array(found[b"data"], found[b"dtype"], found[b"shape"])
    if b"__npgeneric__" in found:
        return _dtype(found[b"dtype"]).type(found[b"data"]).item()
    return found


def _vla_eval_out(value: object) -> object:
    if isinstance(value, np.ndarray):
        _kind(value.dtype)
        return {"__ndarray__": True, "data": value.tobytes(), "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        _kind(value.dtype)
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot cross")


def _vla_eval_in(found: dict[Any, Any]) -> Any:
    if "__image__" in found:
        return _image(found)
    if "__ndarray__" in found:
        return _array(found["data"], found["dtype"], found["shape"])
    return found


def _image(found: dict[Any, Any]) -> np.ndarray:
    if found["format"] == "raw":
        return _array(found["data"], found["dtype"], found["shape"])
    try:
        with Image.open(io.BytesIO(found["data"]), formats=("PNG", "JPEG")) as image:
            if image.width * image.height * 4 > LARGEST_IMAGE:
                raise Malformed(f"an image of {image.width} x {image.height} pixels is too large")
            return np.array(image)
    except (
        UnidentifiedImageError,
        OSError,
        SyntaxError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        raise Malformed(f"an image does not decode: {error}") from error


def _array(data: object, dtype: object, shape: object) -> np.ndarray:
    kind = _dtype(dtype)
    if not isinstance(data, bytes) or not isinstance(shape, list | tuple):
        raise Malformed("an array holds no bytes or has no shape")
    if not all(type(length) is int and length >= 0 for length in shape):
        raise Malformed(f"an array has shape {shape!r}")
    if math.prod(shape) * kind.itemsize != len(data):
        raise Malformed(f"an array of shape {tuple(shape)} and {kind.name} has {len(data)} bytes")
    return np.frombuffer(data, kind).reshape(shape).copy()


def _dtype(name: object) -> np.dtype[Any]:
    text = name.decode(errors="replace") if isinstance(name, bytes) else name
    if not isinstance(text, str) or "," in text or len(text) > 8:
        raise Malformed(f"{name!r} is no type of numbers")
    try:
        found = np.dtype(text)
    except TypeError as error:
        raise Malformed(f"{name!r} is no type of numbers") from error
    _kind(found)
    return found


def _kind(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in KINDS:
        raise Malformed(f"an array of {dtype.name} cannot cross; numbers and booleans would")
