"""What a prefix told: the records that the attempts continuing from it begin with, and their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import folder, strict

CHECKPOINT, FACTS = "checkpoint", "checkpoint.json"
"""Folder of the checkpoint beside the branches of a start, and the file in it that holds its digests."""
TOLD = (folder.OBSERVATIONS, folder.EVENTS, folder.ACTIONS, folder.ONLINE, folder.INTERFACES)
"""Files that an attempt takes over from its prefix; those of them that exist."""
WALL_TIME = "seconds"
"""The one recorded field that differs when the same prefix is prepared again."""


def told(prefix: Path | None) -> str:
    """Return the sha256 of everything that the records in `prefix` say, "" where there is no prefix.

    Wall time is left out, so that a prefix that is prepared again has the same digest.
    """
    if prefix is None:
        return ""
    found = hashlib.sha256()
    for name in TOLD:
        lines = list(said(prefix / name))
        found.update(f"{name} {len(lines)}\n".encode())
        for entry in lines:
            found.update(entry.encode() + b"\n")
    return found.hexdigest()


def said(path: Path) -> Iterator[str]:
    """Yield the lines of a JSONL file without wall time; none where the file does not exist."""
    for entry in strict.read_lines(path):
        yield strict.line(_timeless(entry))


def _timeless(entry: Any) -> Any:
    return {name: value for name, value in entry.items() if name != WALL_TIME} if isinstance(entry, dict) else entry
