"""Checkpoints: a verified physical and informational start that branches share, in memory and on disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from labference.records import strict
from labference.records.measurements import MeasurementWriter, read_blocks
from labference.records.prefix import FACTS as FACTS
from labference.records.prefix import told
from labference.records.revive import revived
from labference.truth.contract import TaskContract, cells_of, ports_of, read_cells, read_ports
from labference.truth.identity import PlanError, Seeds
from labference.truth.measurement import Block, Channels, Dipped, Readout, Setup
from labference.truth.referee import Referee
from labference.wire import Observation, Operation
from labference.world.parts.balance import CellState
from labference.world.wet.port import PortState
from labference.world.wetting import WettingState
from labference.world.world import Checkpoint

STATE, MEASUREMENTS = "state.npz", "measurements.bin"
_CHANGED = "The checkpoint in {} does not match its digest; delete the folder to prepare it again."


class Wet(NamedTuple):
    """What a bench with vessels remembers beyond the state of its bodies: see `Checkpoint`; `tares` per load cell."""

    wet: WettingState
    pressed: int
    ports: tuple[PortState, ...]
    dipped: tuple[Dipped, ...]
    tares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Handoff:
    """Where branches begin.

    world       the physical state, bit for bit
    blocks      everything measured so far, the preparation first: the evaluator's state follows from it
    deliveries  id and tick of each observation that the prefix delivered
    witnessed   those observations, each with the operation that was confirmed before it
    prefix      folder with the records of the prefix, if there is one
    steps       control steps of the prefix
    """

    instance: Any
    seeds: Seeds
    setup: Setup
    world: Checkpoint
    blocks: tuple[Block, ...]
    deliveries: tuple[tuple[int, int], ...] = ()
    witnessed: tuple[tuple[Observation, Operation | None], ...] = ()
    prefix: Path | None = None
    steps: int = 0

    @property
    def digest(self) -> str:
        """Return the sha256 of the physical state and of what was delivered and spent before it."""
        world = self.world
        found = hashlib.sha256(world.model_digest.encode() + world.state.tobytes() + world.command.tobytes())
        for cell in world.cells:
            found.update(np.array((cell.zero, cell.filtered, cell.valid)).tobytes() + cell.history.tobytes())
        found.update(repr((world.tick, world.generation, self.deliveries, self.steps)).encode())
        if (wet := _wet(world)) is not None:
            found.update(strict.line(wet).encode())
        return found.hexdigest()


def referee_at(
    handoff: Handoff, contract: TaskContract[Any, Any], channels: Channels, *, reports: bool = False
) -> Referee:
    """Return the referee that has seen everything up to the handoff."""
    referee = Referee(contract, handoff.instance, channels, reports=reports, faults=handoff.setup.faults)
    cells = cells_of(contract.parts(), channels.timestep)
    for state, cell in zip(handoff.world.cells, cells, strict=True):
        cell.zero(np.array([state.zero]))
    ports = ports_of(contract.parts(), channels.timestep, handoff.setup) if channels.meters else ()
    told = 0
    for block in handoff.blocks:
        referee.observe(block, read_cells(cells, block), read_ports(ports, block))
        while told < len(handoff.deliveries) and handoff.deliveries[told][1] <= block.end:
            referee.deliver(*handoff.deliveries[told])
            told += 1
    return referee


def save(handoff: Handoff, path: Path) -> None:
    """Write a handoff to the folder `path`; what was witnessed stays in memory."""
    path.mkdir(parents=True, exist_ok=True)
    world = handoff.world
    arrays: dict[str, Any] = {"state": world.state, "command": world.command}
    for i, (cell, readout) in enumerate(zip(world.cells, world.readouts, strict=True)):
        arrays[f"cell{i}"] = np.array((cell.zero, cell.filtered, cell.valid))
        arrays[f"history{i}"] = cell.history
        for name, values in readout._asdict().items():
            arrays[f"{name}{i}"] = values
    with (path / STATE).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    writer = MeasurementWriter(path / MEASUREMENTS)
    for block in handoff.blocks:
        writer.write(block)
    writer.close()
    facts = {
        "digest": handoff.digest,
        "measured": _sha256(path / MEASUREMENTS),
        "model": world.model_digest,
        "tick": world.tick,
        "generation": world.generation,
        "deliveries": handoff.deliveries,
        "steps": handoff.steps,
        "prefix": None if handoff.prefix is None else handoff.prefix.name,
        "told": told(handoff.prefix),
    }
    if (wet := _wet(world)) is not None:
        facts["wet"] = wet
    strict.write_atomically(path / FACTS, facts)


def load(path: Path, instance: Any, seeds: Seeds, setup: Setup, channels: Channels) -> Handoff:
    """Return the handoff in `path`, verified against its stored digest; `PlanError` where it does not match."""
    try:
        found, facts = _load(path, instance, seeds, setup, channels)
    except (OSError, ValueError, KeyError, TypeError, IndexError, BadZipFile, strict.DamagedError) as error:
        said = " ".join(str(error).split())
        raise PlanError(
            f"The checkpoint in {path} is damaged ({said}); delete the folder to prepare it again."
        ) from error
    confirm(found, path)
    if _sha256(path / MEASUREMENTS) != facts["measured"]:
        raise PlanError(_CHANGED.format(path))
    return found


def confirm(handoff: Handoff, path: Path) -> None:
    """Refuse with `PlanError` a handoff that is not the one stored in `path`, its state and what its prefix told."""
    if not matches(handoff, path):
        raise PlanError(_CHANGED.format(path))


def matches(handoff: Handoff, path: Path) -> bool:
    """Return whether the state of `handoff` and what its prefix told have the digests that are stored in `path`."""
    facts = strict.read(path / FACTS)
    return (handoff.digest, _told(handoff.prefix)) == (facts.get("digest"), facts.get("told"))


def _told(prefix: Path | None) -> str:
    """Return the digest of what the prefix told, or why there is none."""
    try:
        return told(prefix)
    except strict.DamagedError as error:
        return str(error)


def _wet(world: Checkpoint) -> Wet | None:
    if world.wet is None:
        return None
    return Wet(world.wet, world.pressed, world.ports, world.dipped, tuple(cell.tare for cell in world.cells))


def _wetted(world: Checkpoint, found: Wet) -> Checkpoint:
    cells = tuple(replace(cell, tare=tare) for cell, tare in zip(world.cells, found.tares, strict=True))
    return replace(world, cells=cells, wet=found.wet, pressed=found.pressed, ports=found.ports, dipped=found.dipped)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _load(path: Path, instance: Any, seeds: Seeds, setup: Setup, channels: Channels) -> tuple[Handoff, Any]:
    facts = strict.read(path / FACTS)
    with (path / STATE).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        count = sum(name.startswith("cell") for name in arrays.files)
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
        state, command = arrays["state"], arrays["command"]
    world = Checkpoint(facts["model"], setup, state, facts["tick"], command, cells, readouts, facts["generation"])
    if "wet" in facts:
        world = _wetted(world, revived(Wet, facts["wet"]))
    found = Handoff(
        instance,
        seeds,
        setup,
        world,
        tuple(read_blocks(path / MEASUREMENTS, channels)),
        tuple((int(number), int(tick)) for number, tick in facts["deliveries"]),
        (),
        None if facts["prefix"] is None else path / facts["prefix"],
        facts["steps"],
    )
    return found, facts
