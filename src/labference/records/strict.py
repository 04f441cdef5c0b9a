"""Strict JSON of records: no NaN, no unknown type, a name on every line."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_LINE = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_SCALARS = frozenset((bool, int, str, type(None)))


class DamagedError(Exception):
    """A record does not hold what was written to it."""


def plain(value: object) -> Any:
    """Return `value` as JSON values; frozen dataclasses become objects, non-finite numbers say so."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if is_dataclass(kind):
        return {name: plain(object.__getattribute__(value, name)) for name in _names(kind)}
    match value:
        case float():
            return float(value) if math.isfinite(value) else {"nonfinite": repr(float(value))}
        case np.ndarray():
            finite = value.dtype.kind in "biu" or (value.dtype.kind == "f" and np.isfinite(value).all())
            return value.tolist() if finite else plain(value.tolist())
        case np.generic() if not isinstance(value.item(), np.generic):
            return plain(value.item())
        case dict():
            return {str(key): plain(entry) for key, entry in value.items()}
        case tuple() | list():
            return [plain(entry) for entry in value]
        case frozenset() | set():
            return sorted((plain(entry) for entry in value), key=repr)
    raise TypeError(f"A {kind.__name__} cannot be recorded.")


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def line(value: object) -> str:
    """Return `value` as one line of strict JSON."""
    return _LINE.encode(plain(value))


def encoded(value: dict[str, Any]) -> str:
    """Return JSON values as one line; refuses numbers that are not finite."""
    return _LINE.encode(value)


def named(value: object) -> str:
    """Return a frozen dataclass as one line that starts with its class name."""
    return line({"event": type(value).__name__, **plain(value)})


def write_atomically(path: Path, value: object, *, durable: bool = True) -> None:
    """Write `value` to `path` so that a reader sees the old file or the whole new one.

    Not `durable`, it outlives this process at once, and a loss of power once `sync` was called or the system has
    written it.
    """
    draft = path.with_name(path.name + f".{os.getpid()}.draft")
    with draft.open("w", encoding="utf-8") as file:
        file.write(_lines(plain(value)))
        file.flush()
        if durable:
            os.fsync(file.fileno())
    os.replace(draft, path)


def _lines(value: object) -> str:
    """Return JSON values as text with a line for each entry of an object."""
    if not isinstance(value, dict) or not value:
        return _LINE.encode(value) + "\n"
    entries = (f" {_LINE.encode(name)}: {_LINE.encode(entry)}" for name, entry in value.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def sync(paths: Sequence[Path]) -> None:
    """Let files that are written reach the disk, all at once: one after the other, each waits for the disk alone."""
    with ExitStack() as opened, ThreadPoolExecutor(len(paths)) as pool:
        files = [opened.enter_context(path.open("r+b")) for path in paths]
        list(pool.map(lambda file: os.fsync(file.fileno()), files))


def read(path: Path) -> Any:
    """Return the JSON value in `path`."""
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path: Path) -> list[Any]:
    """Return the complete lines of a JSONL file; a torn last line, left by a kill, is not one."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    whole, _, _torn = text.rpartition("\n")
    values = []
    for number, entry in enumerate(whole.split("\n") if whole else [], start=1):
        try:
            values.append(json.loads(entry))
        except ValueError as error:
            raise DamagedError(f"{path.name} line {number} is not JSON: {error}.") from error
    return values
