"""Read a run folder back into the nouns it was written from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labference.truth.measurement import Block, Channels
from labference.wire import Operation

from . import folder, strict
from .measurements import read_blocks

KINDS = ("items", "surfaces", "cells", "fixtures")
"""What channels name, in the order of `Channels`."""


class RecordError(Exception):
    """A run folder is missing something or contradicts itself."""


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt on disk."""

    path: Path
    run: dict[str, Any]
    scores: dict[str, Any] | None

    @property
    def channels(self) -> Channels:
        """Return what the columns of the measurements mean."""
        channels = self.run["channels"]
        items, surfaces, cells, fixtures = (tuple(channels[name]) for name in KINDS)
        wet = (tuple(channels.get(name, ())) for name in ("vessels", "meters"))
        return Channels(items, surfaces, cells, fixtures, channels["timestep"], *wet)

    def blocks(self) -> Iterator[Block]:
        """Yield the measured blocks in order, the preparation first."""
        return read_blocks(self.path / folder.MEASUREMENTS, self.channels)

    def lines(self, name: str) -> list[Any]:
        """Return the complete lines of one of the JSONL files."""
        return strict.read_lines(self.path / name)

    def events(self) -> list[str]:
        """Return the complete lines of `events.jsonl` as text."""
        text = (self.path / folder.EVENTS).read_text(encoding="utf-8", errors="replace")
        return text.rpartition("\n")[0].split("\n")


def read_run(path: Path) -> Run:
    """Return the attempt in `path`."""
    if not (path / folder.RUN).exists():
        raise RecordError(f"No {folder.RUN} in {path}; give an attempt folder, an episode folder or a campaign folder.")
    scores = path / folder.SCORES
    return Run(path, strict.read(path / folder.RUN), strict.read(scores) if scores.exists() else None)


def operation(value: dict[str, str]) -> Operation:
    """Return a recorded operation."""
    return Operation(value["kind"], value["item"], value["place"])
