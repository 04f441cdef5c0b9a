"""Digests of what crosses, and a bounded copy of what a service says of itself."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import numpy as np

LONGEST_TEXT, MOST_ENTRIES, DEEPEST = 500, 100, 6
"""Most characters of a text, entries of a map or list, and nesting, that are kept of a service's own words."""


def sha256_of(value: object) -> str:
    """Return the sha256 of the content of one key: type, shape and bytes of an array, the characters of a text."""
    if isinstance(value, np.ndarray):
        found = hashlib.sha256(f"{value.dtype.str}{value.shape}".encode())
        found.update(np.ascontiguousarray(value).data)
        return found.hexdigest()
    text = value if isinstance(value, str) else json.dumps(told(value), sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def digests(fields: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return key and sha256 of every field, by key."""
    return tuple((key, sha256_of(fields[key])) for key in sorted(fields))


def told(value: object, depth: int = DEEPEST) -> Any:
    """Return plain JSON values for whatever a service says, cut to a bounded size; arrays become their shape."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()[:LONGEST_TEXT]
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name} array of shape {value.shape}"
    if isinstance(value, dict) and depth:
        return {_name(key): told(entry, depth - 1) for key, entry in list(value.items())[:MOST_ENTRIES]}
    if isinstance(value, list | tuple) and depth:
        return [told(entry, depth - 1) for entry in value[:MOST_ENTRIES]]
    return f"a {type(value).__name__}"


def _name(key: object) -> str:
    return str(told(key if isinstance(key, str) else repr(key)))
