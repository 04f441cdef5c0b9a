"""Record what an agent asked and was answered: `calls.jsonl` in the folder of the attempt."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from labference.records import folder, strict


class Ledger:
    """Append one line a call, flushed; images are kept as digests only."""

    def __init__(self, path: Path) -> None:
        self._file = (path / folder.CALLS).open("a", encoding="utf-8")

    def write(self, call: str, arguments: object, reply: object, tick: int, wall_ms: float) -> None:
        """Record a call by its number in the file; `tick` is that of the last delivery, `wall_ms` what it took [ms]."""
        told = digested(reply)
        sha256 = hashlib.sha256(strict.line(told).encode()).hexdigest()
        entry = {"call": call, "arguments": _plain(arguments), "reply": told, "sha256": sha256}
        self._file.write(strict.line({**entry, "tick": tick, "wall_ms": round(wall_ms, 3)}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def digested(value: Any) -> Any:
    """Return a reply with its images replaced by their digests."""
    if isinstance(value, np.ndarray) and value.ndim >= 2 and value.dtype.kind == "u":
        sha256 = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"image": list(value.shape), "sha256": sha256}
    if isinstance(value, dict):
        return {name: digested(entry) for name, entry in value.items()}
    if isinstance(value, tuple | list):
        return [digested(entry) for entry in value]
    return value


def _plain(arguments: object) -> Any:
    """Return arguments as they can be recorded; what no tool takes is named by its type only."""
    try:
        return json.loads(strict.line(arguments))
    except (TypeError, ValueError, RecursionError):
        return {"unreadable": type(arguments).__name__}
