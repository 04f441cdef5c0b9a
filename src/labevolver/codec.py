"""Frozen dataclasses as JSON and back; whatever is missing, unknown or of another type is refused by name."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
SCALARS = frozenset((str, int, float, bool, type(None)))


class Malformed(ValueError):
    """Data that is not what it should be; the sentence names the place."""


def plain(value: object) -> Any:
    """Return a value of dataclasses, tuples and scalars as JSON types, without optional fields that hold nothing."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is tuple or kind is list:
        return [each if type(each) in SCALARS else plain(each) for each in value]  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(kind):
        held = ((name, required, _get(value, name)) for name, required in _members(kind))
        return {name: plain(found) for name, required, found in held if required or not _nothing(found)}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return value


def written(value: object) -> str:
    """Return a value as one line of JSON: keys sorted, no spaces, non-finite numbers refused."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def read(kind: type[T], data: object, where: str = "") -> T:
    """Return `data` as a value of the dataclass `kind`; raises `Malformed`."""
    found = _read(kind, data, where or kind.__name__)
    assert isinstance(found, kind)
    return found


def _nothing(value: object) -> bool:
    """Return whether a value is empty; a number never is, so that a log keeps the defaults of its day."""
    return value is None or value is False or value == "" or value == ()


def _get(value: object, name: str) -> object:
    return object.__getattribute__(value, name)


def _read(kind: Any, data: object, where: str) -> Any:
    origin = get_origin(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind, data, where)
    if origin is tuple:
        if not isinstance(data, (list, tuple)):
            raise Malformed(f"{where} is {_short(data)}; a list would have worked.")
        return tuple(_read(get_args(kind)[0], each, f"{where}[{index}]") for index, each in enumerate(data))
    if origin is Literal:
        if not isinstance(data, str) or data not in get_args(kind):
            raise Malformed(f"{where} is {_short(data)}; {', '.join(get_args(kind))} would have worked.")
        return data
    if origin in (Union, types.UnionType):
        return _union(get_args(kind), data, where)
    return _scalar(kind, data, where)


def _dataclass(kind: type, data: object, where: str) -> object:
    if not isinstance(data, Mapping):
        raise Malformed(f"{where} is {_short(data)}; an object would have worked.")
    fields, hints = _shape(kind)
    unknown = sorted(set(map(str, data)) - fields.keys())
    if unknown:
        raise Malformed(f"{where} has {unknown[0]!r}; only {', '.join(fields)} would have worked.")
    missing = [name for name, each in fields.items() if name not in data and _required(each)]
    if missing:
        raise Malformed(f"{where} lacks {missing[0]!r}.")
    values = {name: _read(hints[name], held, f"{where}.{name}") for name, held in data.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise Malformed(f"{where}: {error}") from error


@functools.cache
def _shape(kind: type) -> tuple[dict[str, dataclasses.Field[Any]], dict[str, Any]]:
    """Return the fields of a dataclass, and their types."""
    return {each.name: each for each in dataclasses.fields(kind)}, get_type_hints(kind)


@functools.cache
def _members(kind: type) -> tuple[tuple[str, bool], ...]:
    """Return the fields of a dataclass by name, each with whether it has to be told."""
    return tuple((each.name, _required(each)) for each in dataclasses.fields(kind))


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _union(kinds: tuple[Any, ...], data: object, where: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    for kind in kinds:
        try:
            return _read(kind, data, where)
        except Malformed:
            continue
    raise Malformed(f"{where} is {_short(data)}; {' or '.join(_name(kind) for kind in kinds)} would have worked.")


def _scalar(kind: type, data: object, where: str) -> object:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(data, kind) and (kind is bool or not isinstance(data, bool)):
        return data
    raise Malformed(f"{where} is {_short(data)}; {_name(kind)} would have worked.")


def _name(kind: Any) -> str:
    names = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}
    return names.get(kind, str(kind))


def _short(data: object) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."
