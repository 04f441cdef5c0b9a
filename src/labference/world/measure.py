"""From copied simulator rows to a `Block` on its grids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..truth.measurement import ITEM, LENGTH, SPEED, TURN, Block
from .built import Built

_PER_GRID = 1 / np.array([LENGTH] * 3 + [TURN] * 4)
_ROBOT_MAY_TOUCH = np.uint16(0xFFFF & ~((1 << ITEM) - 1))
_REMEMBERED = 4096
FAR = 2e9
"""Largest number on any grid."""


class Rows:
    """Room for k physics steps, used again and again.

    Sensors and contacts are copied after a step; MuJoCo computes both from the state before it integrates, so row i
    belongs to the instant at which step i began.
    """

    def __init__(self, model: Any, steps: int) -> None:
        self.sensors = np.empty((steps, model.nsensordata))
        self.contacts: list[bytes] = [b""] * steps


class Meter:
    """Turn rows into blocks."""

    def __init__(self, built: Built) -> None:
        self._built = built
        self._items = n = len(built.channels.items)
        self._touch: dict[bytes, bytes] = {}
        self._per_grid = np.concatenate((np.tile(_PER_GRID, n + 1), np.full(2 * n, 1 / SPEED), np.full(2, 1 / LENGTH)))
        # A quaternion and its negative are one orientation. Items keep w >= 0; the tool, whose w is about zero as it
        # points down, keeps x >= 0.
        self._leading = 7 * np.arange(n + 1) + np.array([3] * n + [4])

    def block(
        self, tick: int, rows: Rows, opening: float, fixtures: np.ndarray, control: int, generation: int
    ) -> Block:
        """Return the block that starts at `tick`, while the gripper was commanded to `opening` [m].

        `fixtures`, `control` and `generation` are those of the block.
        """
        built, n = self._built, self._items
        sensors, steps = rows.sensors, len(rows.sensors)
        moved = 7 * (n + 1)
        table = np.empty((steps, moved + 2 * n + 2))
        table[:, :moved] = sensors[:, built.poses]
        pose = table[:, :moved].reshape(steps, n + 1, 7)
        pose[:, :, 3:] *= np.copysign(1.0, table[:, self._leading])[:, :, None]
        velocity = sensors[:, built.velocities].reshape(steps, 2 * n, 3)
        np.sqrt(np.einsum("kiv,kiv->ki", velocity, velocity), out=table[:, moved:-2])
        table[:, -2] = sensors[:, built.fingers].sum(axis=1)
        table[:, -1] = opening
        table *= self._per_grid
        # What fell off the bench falls on; the grid ends 2 km below.
        grid = np.clip(np.rint(table, out=table), -FAR, FAR, out=table).astype(np.int32)
        return Block(
            tick=tick,
            pose=grid[:, :moved].reshape(steps, n + 1, 7),
            speed=grid[:, moved:-2].reshape(steps, n, 2),
            touch=self._touches(rows.contacts),
            opening=grid[:, -2:],
            force=sensors[:, built.cell_force].astype(np.float32),
            fixtures=fixtures,
            control=control,
            generation=generation,
        )

    def fixtures(self, data: Any) -> np.ndarray:
        """Return where the fixtures of `data` stand, (f, 7) on the grid of a block."""
        order = list(self._built.fixtures.values())
        turn = data.mocap_quat[order]
        turn *= np.copysign(1.0, turn[:, :1])
        pose = np.concatenate((data.mocap_pos[order], turn), axis=1) * _PER_GRID
        return np.rint(pose).astype(np.int32).reshape(-1, 7)

    def _touches(self, contacts: list[bytes]) -> np.ndarray:
        """Return (k, n + 1) masks; most steps repeat a set of contacts that was decoded before."""
        known = self._touch
        if len(known) > _REMEMBERED:
            known.clear()
        masks = bytearray()
        for pairs in contacts:
            if pairs not in known:
                known[pairs] = self._decode(np.frombuffer(pairs, np.int32).reshape(-1, 2))
            masks += known[pairs]
        return np.frombuffer(masks, np.uint16).reshape(len(contacts), self._items + 1)

    def _decode(self, pairs: np.ndarray) -> bytes:
        """Return the (n + 1,) masks of contacts between the geoms of `pairs` (m, 2)."""
        masks = np.zeros(self._items + 2, np.uint16)
        sides = np.concatenate((pairs, pairs[:, ::-1]))
        np.bitwise_or.at(masks, self._built.touch_row[sides[:, 0]], self._built.touch_bit[sides[:, 1]])
        masks[self._items] &= _ROBOT_MAY_TOUCH
        return masks[:-1].tobytes()


def repeated(block: Block, times: int) -> Block:
    """Return a block of one row with that row `times` times."""
    return replace(
        block,
        pose=_times(block.pose, times),
        speed=_times(block.speed, times),
        touch=_times(block.touch, times),
        opening=_times(block.opening, times),
        force=_times(block.force, times),
    )


def _times(row: np.ndarray, times: int) -> np.ndarray:
    """Return one row as `times` rows, without copying it."""
    return np.broadcast_to(row, (times, *row.shape[1:]))


def join(blocks: list[Block], tick: int) -> Block:
    """Return consecutive blocks as one that starts at `tick`; raise `ValueError` if fixtures moved in between."""
    first = blocks[0]
    for block in blocks:
        if (block.control, block.generation) != (first.control, first.generation) or (
            block.fixtures != first.fixtures
        ).any():
            raise ValueError("Blocks before and after the environment acted cannot be joined.")
    return Block(
        tick=tick,
        pose=np.concatenate([block.pose for block in blocks]),
        speed=np.concatenate([block.speed for block in blocks]),
        touch=np.concatenate([block.touch for block in blocks]),
        opening=np.concatenate([block.opening for block in blocks]),
        force=np.concatenate([block.force for block in blocks]),
        fixtures=first.fixtures,
        control=first.control,
        generation=first.generation,
        liquid=blocks[-1].liquid,
        sample=blocks[-1].sample,
    )
