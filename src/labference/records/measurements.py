"""Per-tick measurements in a compact file: differences along time of what changes, byte planes, deflate.

File: 4 bytes magic, then frames. Frame: a header (payload size, first tick, number of blocks), per block its ticks, a
word of control mask, pressed keys and rows without a flow, and its generation, then the deflated fields in the order
of `Block`; liquid and samples only where the laboratory has them. A frame holds about a second, so a kill loses at
most that.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from labference.truth.measurement import NO_LIQUID, NO_SAMPLE, Block, Channels

from .strict import DamagedError

MAGIC = b"LFM3"
FRAME_TICKS = 500
FIELDS = ("pose", "speed", "touch", "opening", "force")
WET = ("liquid", "sample")
PER_BLOCK = ("ticks", "control", "generation")
KEYS, STILL, MOST_STILL = 8, 16, 0xFFFF
"""First bits of the keys that were pressed, and of the rows without a flow, above a control mask; most rows told."""
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
        table = np.array([(block.ticks, _word(block), block.generation) for block in self._blocks], dtype="<u4")
        payload = zlib.compress(b"".join(_fields(self._blocks)), level=1)
        self._file.write(_HEAD.pack(len(payload), self._blocks[0].tick, len(table)))
        self._file.write(table.tobytes())
        self._file.write(payload)
        self._file.flush()
        self._blocks, self._ticks = [], 0

    def close(self) -> None:
        """Write what is left and close the file."""
        self.flush()
        self._file.close()


def _word(block: Block) -> int:
    return block.control | block.pressed << KEYS | min(block.still, MOST_STILL) << STILL


def read_blocks(path: Path, channels: Channels) -> Iterator[Block]:
    """Yield the blocks of a file as they were written; a torn last frame ends the file."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise DamagedError(f"{path.name} does not start with {MAGIC!r}; it is not a measurement file.")
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            size, tick, count = _HEAD.unpack(head)
            lengths, payload = file.read(4 * len(PER_BLOCK) * count), file.read(size)
            if len(payload) < size:
                return
            try:
                data = zlib.decompress(payload)
                table = np.frombuffer(lengths, dtype="<u4").reshape(-1, len(PER_BLOCK))
                yield from _split(tick, table, data, channels)
            except (zlib.error, ValueError) as error:
                raise DamagedError(f"{path.name} is damaged in the frame at tick {tick}: {error}.") from error


def _fields(blocks: list[Block]) -> Iterator[bytes]:
    for name in FIELDS:
        yield _pack([object.__getattribute__(block, name) for block in blocks])
    yield _pack([block.fixtures[None] for block in blocks])
    for name in WET:
        if object.__getattribute__(blocks[0], name).size:
            yield _pack([object.__getattribute__(block, name)[None] for block in blocks])


def _pack(parts: list[np.ndarray]) -> bytes:
    """Return the (k, ...) rows of `parts`: the first one, which columns change, and byte planes of their differences
    along time.

    Most columns are items at rest, which cost one bit. A row that is repeated without a copy is looked at once.
    """
    kind = f"<i{parts[0].dtype.itemsize}"
    once = [part[:1] if not part.strides[0] else part for part in parts]
    flat = np.ascontiguousarray(np.concatenate(once)).reshape(sum(map(len, once)), -1).view(kind)
    moving = (flat != flat[0]).any(axis=0)
    change = np.diff(flat[:, moving], axis=0)
    if len(flat) < (count := sum(map(len, parts))):
        full = np.zeros((count - 1, change.shape[1]), change.dtype)
        full[_changing(parts, once)] = change
        change = full
    change = np.ascontiguousarray(change)
    planes = np.ascontiguousarray(change.view(np.uint8).reshape(change.size, change.itemsize).T)
    return b"".join((flat[0].tobytes(), np.packbits(moving).tobytes(), planes.tobytes()))


def _changing(parts: list[np.ndarray], once: list[np.ndarray]) -> np.ndarray:
    """Return which rows of `parts` but the first are those of `once`; the others repeat the one before."""
    start, rows = 0, []
    for part, few in zip(parts, once, strict=True):
        rows.append(np.arange(start, start + len(few)))
        start += len(part)
    return np.concatenate(rows)[1:] - 1


def _unpack(data: bytes, offset: int, dtype: np.dtype, shape: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Return the rows packed at `offset` of `data`, and where the next ones begin."""
    kind, width = np.dtype(f"<i{dtype.itemsize}"), int(np.prod(shape[1:]))
    first = np.frombuffer(data, kind, width, offset)
    offset += width * kind.itemsize
    bits = np.frombuffer(data, np.uint8, -(-width // 8), offset)
    moving = np.unpackbits(bits, count=width).astype(bool)
    offset += len(bits)
    count = (shape[0] - 1) * int(moving.sum())
    planes = np.frombuffer(data, np.uint8, count * kind.itemsize, offset).reshape(kind.itemsize, count)
    change = np.ascontiguousarray(planes.T).view(kind).reshape(shape[0] - 1, int(moving.sum()))
    flat = np.repeat(first[None], shape[0], axis=0)
    flat[1:, moving] += np.cumsum(change, axis=0, dtype=kind)
    return flat.view(dtype).reshape(shape), offset + count * kind.itemsize


def _split(tick: int, table: np.ndarray, data: bytes, channels: Channels) -> Iterator[Block]:
    """Yield the blocks of a frame; `table` (blocks, 3) holds the numbers of `PER_BLOCK`."""
    ticks, items, cells = int(table[:, 0].sum()), len(channels.items), len(channels.cells)
    layout: list[tuple[str, tuple[int, ...]]] = [
        ("int32", (ticks, items + 1, 7)),
        ("int32", (ticks, items, 2)),
        ("uint16", (ticks, items + 1)),
        ("int32", (ticks, 2)),
        ("float32", (ticks, cells)),
        ("int32", (len(table), len(channels.fixtures), 7)),
    ]
    if channels.vessels:
        layout.append(("int64", (len(table), len(channels.vessels) + 1)))
    if channels.meters:
        layout.append(("float64", (len(table), len(channels.meters), 4)))
    arrays, offset = [], 0
    for name, shape in layout:
        array, offset = _unpack(data, offset, np.dtype(name), shape)
        arrays.append(array)
    per_tick, fixtures, wet = arrays[:5], arrays[5], iter(arrays[6:])
    liquid = next(wet) if channels.vessels else [NO_LIQUID] * len(table)
    sample = next(wet) if channels.meters else [NO_SAMPLE] * len(table)
    start = 0
    for (length, word, generation), *standing in zip(table.tolist(), fixtures, liquid, sample, strict=True):
        rows = slice(start, start + length)
        pose, speed, touch, opening, force = (array[rows] for array in per_tick)
        where, held, dipped = standing
        acts, keys, still = word & (1 << KEYS) - 1, word >> KEYS & (1 << STILL - KEYS) - 1, word >> STILL
        yield Block(
            tick + start, pose, speed, touch, opening, force, where, acts, generation, held, dipped, keys, still
        )
        start += length
