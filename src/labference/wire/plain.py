"""Public nouns as plain values, for wires that other people's programs speak: JSON, and msgpack.

A noun is an object with its field names and its own name under "noun". An array is an object with its data under
"__ndarray__", little-endian and row by row, its "dtype" and its "shape"; data are base64 text in JSON, or bytes.
A number that is not finite is `{"__float__": "nan"}`, because strict JSON has no word for it. The list of nouns is the
codec's. What comes back may leave out fields that have a default, and write an array of numbers as nested lists.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, get_type_hints

import numpy as np

from .codec import DTYPES, PUBLIC, dtype_name
from .refusal import Refusal

NOUN, ARRAY, FLOAT = "noun", "__ndarray__", "__float__"
DEEPEST_LIST = 4
"""Most axes of an array that is written as nested lists."""

_BY_NAME: dict[str, type] = {kind.__name__: kind for kind in PUBLIC}
_FIELDS: dict[type, tuple[Field[Any], ...]] = {kind: fields(kind) for kind in PUBLIC}
_get = object.__getattribute__  # the field list is closed, so no reflective surprise


def to_plain(value: object, *, binary: bool = False) -> Any:
    """Return `value` as objects, lists, text and numbers; with `binary`, the data of arrays as bytes."""
    return _plain(value, _same if binary else _text)


def from_plain(value: object) -> Any:
    """Return the noun that `value` is; `Refusal` where it is none."""
    try:
        return _noun(value)
    except (ValueError, TypeError, OverflowError, MemoryError, RecursionError) as error:
        raise _malformed(str(error)[:200].rstrip(".")) from error


def to_json(tree: object) -> bytes:
    """Return plain values as strict JSON."""
    return json.dumps(tree, allow_nan=False, separators=(",", ":")).encode()


def from_json(message: bytes) -> Any:
    """Return the plain values of strict JSON; `Refusal` where it is none."""
    try:
        return json.loads(message.decode(), parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise Refusal("malformed", f"A body of {len(message)} bytes is no JSON: {error}.") from error


def _constant(word: str) -> float:
    raise Refusal("nonfinite", f"JSON has no number {word}; send finite numbers.")


def _malformed(what: str) -> Refusal:
    return Refusal("malformed", f"An answer is malformed: {what}.")


def _plain(value: object, data: Callable[[bytes], str | bytes]) -> Any:
    kind = type(value)
    known = _FIELDS.get(kind)
    if known is not None:
        return {NOUN: kind.__name__} | {field.name: _plain(_get(value, field.name), data) for field in known}
    match value:
        case bool() | None | str():
            return value
        case float():
            return float(value) if math.isfinite(value) else {FLOAT: float.__repr__(value)}
        case int():
            return int(value)
        case np.ndarray():
            name = dtype_name(value)
            return {ARRAY: data(value.astype(DTYPES[name]).tobytes()), "dtype": name, "shape": list(value.shape)}
        case tuple() | list():
            return [_plain(entry, data) for entry in value]
        case np.generic() if not isinstance(value.item(), np.generic):
            return _plain(value.item(), data)
    raise Refusal("unknown_act", f"A {kind.__name__} cannot cross; use {', '.join(_BY_NAME)}.")


def _same(data: bytes) -> bytes:
    return data


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _noun(value: object) -> Any:
    match value:
        case bool() | None | str() | int() | float():
            return value
        case list() | tuple():
            return tuple(_noun(entry) for entry in value)
        case dict() if ARRAY in value:
            return _array(value)
        case dict() if FLOAT in value:
            return _float(value)
        case dict():
            return _object(value)
    raise _malformed(f"it holds a {type(value).__name__}; objects, lists, text and numbers work")


def _object(value: Mapping[Any, Any]) -> Any:
    """Return the noun that an object names, with defaults where it leaves out a field that has one."""
    kind = _BY_NAME.get(value.get(NOUN)) if isinstance(value.get(NOUN), str) else None  # type: ignore[arg-type]
    if kind is None:
        raise _malformed(f"an object has {NOUN} {value.get(NOUN)!r:.40}; nouns: {', '.join(_BY_NAME)}")
    known = {field.name: field for field in _FIELDS[kind]}
    for name in value:
        if name != NOUN and name not in known:
            raise _malformed(f"{kind.__name__} has no field {name!r:.40}; fields: {', '.join(known)}")
    found = {}
    for name, field in known.items():
        if name in value:
            entry = value[name]
            listed = isinstance(entry, list | tuple) and name in _ARRAYS[kind]
            found[name] = _listed(name, entry) if listed else _noun(entry)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise _malformed(f"{kind.__name__} lacks its field {name!r}; fields: {', '.join(known)}")
    return kind(**found)


def _float(value: Mapping[Any, Any]) -> float:
    word = value[FLOAT]
    if len(value) != 1 or word not in ("nan", "inf", "-inf"):
        raise _malformed(f"a number is {word!r:.40}; nan, inf and -inf work")
    return float(word)


def _array(value: Mapping[Any, Any]) -> np.ndarray:
    if set(value) != {ARRAY, "dtype", "shape"}:
        raise _malformed(f"an array has keys {', '.join(map(str, value)):.80}; {ARRAY}, dtype and shape work")
    name, shape, data = value["dtype"], value["shape"], value[ARRAY]
    if not isinstance(name, str) or name not in DTYPES:
        raise Refusal("dtype", f"An array of {name!r:.40} cannot cross; use {', '.join(DTYPES)}.")
    if not isinstance(shape, list | tuple) or not all(type(length) is int and length >= 0 for length in shape):
        raise _malformed(f"an array has shape {shape!r:.40}; a list of lengths works")
    raw = _bytes(data)
    wanted = math.prod(shape) * DTYPES[name].itemsize
    if len(raw) != wanted:
        raise _malformed(f"an array of {name} of shape {shape!r:.40} has {len(raw)} bytes, not {wanted}")
    return np.frombuffer(raw, DTYPES[name]).reshape(shape).copy()


def _bytes(data: object) -> bytes:
    if isinstance(data, str):
        try:
            return base64.b64decode(data.encode("ascii"), validate=True)
        except (binascii.Error, UnicodeEncodeError) as error:
            raise _malformed(f"the data of an array are no base64: {error}") from error
    if isinstance(data, bytes):
        return data
    raise _malformed(f"the data of an array are {type(data).__name__}; base64 text works, and bytes in msgpack")


def _listed(name: str, entries: list[Any] | tuple[Any, ...]) -> np.ndarray:
    """Return nested lists of numbers as an array of float64."""
    _check_numbers(name, entries, DEEPEST_LIST)
    try:
        return np.array(entries, np.float64)
    except ValueError:
        raise Refusal("shape", f"The lists of {name!r} differ in length; rows of one length work.") from None


def _check_numbers(name: str, entries: list[Any] | tuple[Any, ...], depth: int) -> None:
    """Refuse anything but numbers in nested lists; numpy would read text as a number."""
    for entry in entries:
        if isinstance(entry, list | tuple) and depth > 1:
            _check_numbers(name, entry, depth - 1)
        elif isinstance(entry, bool) or not isinstance(entry, int | float):
            raise Refusal("dtype", f"{name!r} holds {entry!r:.40}; nested lists of numbers work.")


def _array_fields(kind: type) -> frozenset[str]:
    """Return the names of the fields of a noun that hold arrays."""
    hints = get_type_hints(kind)
    return frozenset(name for name, hint in hints.items() if hint in (np.ndarray, np.ndarray | None))


_ARRAYS: dict[type, frozenset[str]] = {kind: _array_fields(kind) for kind in PUBLIC}
