"""How the checkpoint of either laboratory is taken apart for the disk, put together again, and digested."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from labference.records import strict
from labference.records.revive import revived
from labference.truth.measurement import Dipped, Readout, Setup
from labference.world.fast import FastCheckpoint
from labference.world.fast_rows import Where
from labference.world.parts.balance import CellState
from labference.world.wet.chance import Stream
from labference.world.wet.plumbing import PlumbingState
from labference.world.wet.port import PortState
from labference.world.wetting import WettingState
from labference.world.world import Checkpoint

WorldCheckpoint = Checkpoint | FastCheckpoint
Pair = tuple[float, float]
Point = tuple[float, float, float]


class Wet(NamedTuple):
    """What a bench with vessels remembers beyond the state of its bodies: see `Checkpoint`; `tares` per load cell."""

    wet: WettingState
    pressed: int
    ports: tuple[PortState, ...]
    dipped: tuple[Dipped, ...]
    tares: tuple[float, ...]


class Fast(NamedTuple):
    """What the fast laboratory remembers beside its load cells: see `FastCheckpoint`; `tares` per load cell."""

    where: tuple[Where, ...]
    touch: tuple[int, ...]
    tool: Point
    opening: Pair
    plumbing: PlumbingState
    ports: tuple[PortState, ...]
    dipped: tuple[Dipped, ...]
    pressed: int
    zero: tuple[tuple[str, float], ...]
    stream: Stream
    tares: tuple[float, ...]


def digest_of(world: WorldCheckpoint) -> hashlib._Hash:
    """Return the running sha256 of everything that decides how a laboratory continues."""
    found = hashlib.sha256(world.model_digest.encode())
    if isinstance(world, Checkpoint):
        found.update(world.state.tobytes() + world.command.tobytes())
    for cell in world.cells:
        found.update(np.array((cell.zero, cell.filtered, cell.valid)).tobytes() + cell.history.tobytes())
    return found


def generation_of(world: WorldCheckpoint) -> int:
    """Return how often the environment has rebuilt bodies; the fast laboratory has no such environment."""
    return world.generation if isinstance(world, Checkpoint) else 0


def arrays_of(world: WorldCheckpoint) -> dict[str, Any]:
    """Return the arrays of a checkpoint by name: the state of the simulator, if there is one, and the load cells."""
    arrays: dict[str, Any] = {}
    if isinstance(world, Checkpoint):
        arrays = {"state": world.state, "command": world.command}
    for i, (cell, readout) in enumerate(zip(world.cells, world.readouts, strict=True)):
        arrays[f"cell{i}"] = np.array((cell.zero, cell.filtered, cell.valid))
        arrays[f"history{i}"] = cell.history
        for name, values in readout._asdict().items():
            arrays[f"{name}{i}"] = values
    return arrays


def rest_of(world: WorldCheckpoint) -> dict[str, Any]:
    """Return what else there is, as a field of the facts: "wet" or "fast"; nothing for a bench without liquids."""
    tares = tuple(cell.tare for cell in world.cells)
    if isinstance(world, FastCheckpoint):
        return {
            "fast": Fast(
                world.where,
                world.touch,
                world.tool,
                world.opening,
                world.plumbing,
                world.ports,
                world.dipped,
                world.pressed,
                world.zero,
                world.stream,
                tares,
            )
        }
    if world.wet is None:
        return {}
    return {"wet": Wet(world.wet, world.pressed, world.ports, world.dipped, tares)}


def text_of(world: WorldCheckpoint) -> str:
    """Return the rest as one line, "" where there is none."""
    found = rest_of(world)
    return "".join(strict.line(value) for value in found.values())


def put_together(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any], setup: Setup) -> WorldCheckpoint:
    """Return the checkpoint that `arrays_of` and the facts hold; raises what damaged files raise."""
    count = sum(name.startswith("cell") for name in arrays)
    cells = tuple(
        CellState(
            float(arrays[f"cell{i}"][0]),
            float(arrays[f"cell{i}"][1]),
            int(arrays[f"cell{i}"][2]),
            arrays[f"history{i}"],
        )
        for i in range(count)
    )
    readouts = tuple(Readout(*(arrays[f"{name}{i}"] for name in Readout._fields)) for i in range(count))
    if "fast" in facts:
        if facts["generation"]:
            raise ValueError("nothing is rebuilt in the fast laboratory")
        fast = revived(Fast, facts["fast"])
        return FastCheckpoint(
            facts["model"],
            setup,
            facts["tick"],
            fast.where,
            fast.touch,
            fast.tool,
            fast.opening,
            fast.plumbing,
            _tared(cells, fast.tares),
            readouts,
            fast.ports,
            fast.dipped,
            fast.pressed,
            fast.zero,
            fast.stream,
        )
    state, command = arrays["state"], arrays["command"]
    world = Checkpoint(facts["model"], setup, state, facts["tick"], command, cells, readouts, facts["generation"])
    if "wet" not in facts:
        return world
    wet = revived(Wet, facts["wet"])
    cells = _tared(cells, wet.tares)
    return replace(world, cells=cells, wet=wet.wet, pressed=wet.pressed, ports=wet.ports, dipped=wet.dipped)


def _tared(cells: tuple[CellState, ...], tares: tuple[float, ...]) -> tuple[CellState, ...]:
    return tuple(replace(cell, tare=tare) for cell, tare in zip(cells, tares, strict=True))
