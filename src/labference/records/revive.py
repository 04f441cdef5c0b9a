"""Plain JSON back into the values that `strict.plain` took apart."""

from __future__ import annotations

import types
import typing
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from .strict import DamagedError


def revived(kind: Any, value: Any) -> Any:
    """Return the value of type `kind` whose plain form is `value`, bit for bit.

    Types are frozen dataclasses and named tuples of numbers, texts, tuples and each other, or None. Raises
    `DamagedError` where `value` is not the form of such a value.
    """
    if kind is float:
        return _number(value)
    if kind in (int, str, bool, type(None)):
        return _checked(kind, value)
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        kinds = [entry for entry in typing.get_args(kind) if entry is not type(None)]
        return None if value is None else revived(kinds[0], value)
    if origin is tuple:
        return _tuple(typing.get_args(kind), value)
    if isinstance(kind, type) and is_dataclass(kind):
        given = _checked(dict, value)
        if given.keys() != {field.name for field in fields(kind)}:
            raise DamagedError(f"{sorted(given)} are not the fields of a {kind.__name__}.")
        return kind(**{name: revived(hint, given[name]) for name, hint in _hints(kind).items()})
    if isinstance(kind, type) and issubclass(kind, tuple):
        return kind(*_tuple(tuple(_hints(kind).values()), value))
    raise TypeError(f"Nothing of type {kind!r} is kept in records.")


def _tuple(kinds: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    entries = _checked(list, value)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(entries)
    if len(kinds) != len(entries):
        raise DamagedError(f"{len(entries)} entries are not the {len(kinds)} that belong there.")
    return tuple(revived(kind, entry) for kind, entry in zip(kinds, entries, strict=True))


def _number(value: Any) -> float:
    if isinstance(value, dict) and value.keys() == {"nonfinite"}:
        return float(value["nonfinite"])
    if type(value) not in (int, float):
        raise DamagedError(f"{value!r} is no number.")
    return float(value)


def _checked(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise DamagedError(f"{value!r} is no {kind.__name__}.")
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)
