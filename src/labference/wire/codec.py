"""A closed-list codec: only public nouns cross the policy boundary, as copies, in process and over a wire alike.

A message is one line of JSON followed by the raw bytes of its arrays. Decoding never executes anything and never
returns an object that shares memory with the sender's.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from .action import ActionSpec
from .observation import Frame, Goal, Observation, Reading, RobotState, Senses, Setting
from .operation import Move, Operation, Parameter, Perform, Report, Stop, Wait
from .policy import Capabilities
from .refusal import Refusal
from .support import Assist, Execute, Fact, GeometryReport, StateReport, Target

PUBLIC = (
    ActionSpec,
    Assist,
    Capabilities,
    Execute,
    Fact,
    Frame,
    GeometryReport,
    Goal,
    Move,
    Observation,
    Operation,
    Parameter,
    Perform,
    Reading,
    Report,
    RobotState,
    Senses,
    Setting,
    StateReport,
    Stop,
    Target,
    Wait,
)
"""Everything that may cross. Adding a name here is a decision about the information boundary."""

_BY_NAME: dict[str, type] = {kind.__name__: kind for kind in PUBLIC}
_FIELDS: dict[type, tuple[str, ...]] = {kind: tuple(field.name for field in fields(kind)) for kind in PUBLIC}
DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("uint8", "uint16", "int32", "int64", "float32", "float64", "bool")
}
"""Kinds of numbers that an array may hold, little-endian, by the name under which they cross."""
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_HEAD = struct.Struct("<I")
_text = json.encoder.encode_basestring_ascii
_WORDS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    int: int.__repr__,
    type(None): lambda value: "null",
}


def encode(value: object) -> bytes:
    """Return `value` as bytes; refuse whatever is not a public noun, a number, a string or an array of numbers."""
    arrays: list[bytes] = []
    head = _pack(value, arrays).encode()
    return b"".join([_HEAD.pack(len(head)), head, *arrays])


def decode(message: bytes | bytearray) -> Any:
    """Return a fresh copy of what was encoded."""
    try:
        (size,) = _HEAD.unpack_from(message)
        head = json.loads(message[_HEAD.size : _HEAD.size + size].decode())
        value, end = _unpack(head, message, _HEAD.size + size)
    except (struct.error, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise Refusal("malformed", f"A message of {len(message)} bytes is malformed: {error}.") from error
    if end != len(message):
        raise Refusal("malformed", f"A message of {len(message)} bytes should have {end}.")
    return value


def copy(value: Any) -> Any:
    """Return what a receiver of `value` would decode."""
    return decode(encode(value))


def _pack(value: object, arrays: list[bytes]) -> str:
    """Return `value` as JSON text; the bytes of its arrays go to `arrays`."""
    kind = type(value)
    names = _FIELDS.get(kind)
    if names is not None:
        fields_ = [f',"{name}":{_pack(_get(value, name), arrays)}' for name in names]
        return f'{{"noun":"{kind.__name__}"{"".join(fields_)}}}'
    if kind is str:
        return _text(str(value))
    if isinstance(value, float):
        return float.__repr__(value) if math.isfinite(value) else f'{{"float":"{float.__repr__(value)}"}}'
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays)
    if isinstance(value, tuple | list):
        return f"[{','.join([_pack(entry, arrays) for entry in value])}]"
    if kind in _WORDS:
        return _WORDS[kind](value)
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):
        return _pack(value.item(), arrays)
    raise Refusal("unknown_act", f"A {kind.__name__} cannot cross; use {', '.join(_BY_NAME)}.")


def dtype_name(value: np.ndarray) -> str:
    """Return the name of the kind of numbers of an array, whatever its byte order; refuse any other kind."""
    name = _NAMES.get(value.dtype) or value.dtype.name  # the latter is the same for both byte orders
    if name not in DTYPES:
        raise Refusal("dtype", f"An array of {name} cannot cross; use {', '.join(DTYPES)}.")
    return name


def _pack_array(value: np.ndarray, arrays: list[bytes]) -> str:
    name = dtype_name(value)
    if value.dtype not in _NAMES:
        value = value.astype(DTYPES[name])
    arrays.append(value.tobytes())
    return f'{{"array":"{name}","shape":[{",".join(map(str, value.shape))}]}}'


_get = object.__getattribute__  # the field list is closed, so no reflective surprise


def _unpack(head: Any, message: bytes | bytearray, offset: int) -> tuple[Any, int]:
    kind = type(head)
    if kind is dict:
        if "array" in head:
            return _array(head, message, offset)
        if "float" in head:
            return float(head["float"]), offset
        noun = _BY_NAME[head["noun"]]
        values = []
        for name in _FIELDS[noun]:
            value, offset = _unpack(head[name], message, offset)
            values.append(value)
        return noun(*values), offset
    if kind is list:
        entries = []
        for entry in head:
            value, offset = _unpack(entry, message, offset)
            entries.append(value)
        return tuple(entries), offset
    return head, offset


def _array(head: dict[str, Any], message: bytes | bytearray, offset: int) -> tuple[np.ndarray, int]:
    dtype = DTYPES[head["array"]]
    shape = tuple(head["shape"])
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"array of shape {shape!r}")
    count = math.prod(shape)
    flat = np.frombuffer(message, dtype=dtype, count=count, offset=offset).copy()
    return flat.reshape(shape), offset + count * dtype.itemsize
