"""Per-tick measurements in a compact file: differences along time, byte planes, deflate.

File: 4 bytes magic, then frames. Frame: a header (payload size, first tick, number of blocks, ticks per block), then
the deflated fields in the order of `Block`. A frame holds about a second, so a kill loses at most that.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from labference.truth.measurement import Block, Channels

from .strict import DamagedError

MAGIC = b"LFM1"
FRAME_TICKS = 500
_HEAD = struct.Struct("<IiI")


class MeasurementWriter:
    """Append blocks to a file; `flush` ends the frame under way."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")
        self._file.write(MAGIC)
        self._blocks: list[Block] = []
        self._ticks = 0

    def write(self, block: Block) -> None:
        """Keep `block` for the frame under way."""
        self._blocks.append(block)
        self._ticks += block.ticks
        if self._ticks >= FRAME_TICKS:
            self.flush()

    def flush(self) -> None:
        """Write the frame under way to the disk."""
        if not self._blocks:
            return
        lengths = np.array([block.ticks for block in self._blocks], dtype="<u4")
        payload = zlib.compress(b"".join(_fields(self._blocks)), level=1)
        self._file.write(_HEAD.pack(len(payload), self._blocks[0].tick, len(lengths)))
        self._file.write(lengths.tobytes())
        self._file.write(payload)
        self._file.flush()
        self._blocks, self._ticks = [], 0

    def close(self) -> None:
        """Write what is left and close the file."""
        self.flush()
        self._file.close()


def read_blocks(path: Path, channels: Channels) -> Iterator[Block]:
    """Yield the blocks of a file as they were written; a torn last frame ends the file."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise DamagedError(f"{path.name} does not start with {MAGIC!r}; it is not a measurement file.")
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            size, tick, count = _HEAD.unpack(head)
            lengths, payload = file.read(4 * count), file.read(size)
            if len(payload) < size:
                return
            try:
                data = zlib.decompress(payload)
                yield from _split(tick, np.frombuffer(lengths, dtype="<u4"), data, channels)
            except (zlib.error, ValueError) as error:
                raise DamagedError(f"{path.name} is damaged in the frame at tick {tick}: {error}.") from error


def _fields(blocks: list[Block]) -> Iterator[bytes]:
    for name in ("pose", "speed", "touch", "opening", "force"):
        yield _pack(np.concatenate([object.__getattribute__(block, name) for block in blocks]))


def _pack(rows: np.ndarray) -> bytes:
    """Return (k, ...) rows as byte planes of their differences along time."""
    kind = f"<i{rows.dtype.itemsize}"
    flat = np.ascontiguousarray(rows).reshape(len(rows), -1).view(kind)
    change = np.ascontiguousarray(np.diff(flat, axis=0, prepend=np.zeros((1, flat.shape[1]), kind)))
    return np.ascontiguousarray(change.view(np.uint8).reshape(change.size, -1).T).tobytes()


def _unpack(data: bytes, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    kind = np.dtype(f"<i{dtype.itemsize}")
    planes = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, -1)
    change = np.ascontiguousarray(planes.T).view(kind).reshape(shape[0], -1)
    return np.cumsum(change, axis=0, dtype=kind).view(dtype).reshape(shape)


def _split(tick: int, lengths: np.ndarray, data: bytes, channels: Channels) -> Iterator[Block]:
    ticks, items, cells = int(lengths.sum()), len(channels.items), len(channels.cells)
    layout: list[tuple[str, tuple[int, ...]]] = [
        ("int32", (ticks, items + 1, 7)),
        ("int32", (ticks, items, 2)),
        ("uint16", (ticks, items + 1)),
        ("int32", (ticks, 2)),
        ("float32", (ticks, cells)),
    ]
    arrays, offset = [], 0
    for name, shape in layout:
        dtype = np.dtype(name)
        size = dtype.itemsize * int(np.prod(shape))
        arrays.append(_unpack(data[offset : offset + size], dtype, shape))
        offset += size
    start = 0
    for length in lengths:
        rows = slice(start, start + int(length))
        yield Block(tick + start, *(array[rows] for array in arrays))
        start += int(length)
