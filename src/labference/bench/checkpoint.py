"""Checkpoints: a verified physical and informational start that branches share, in memory and on disk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from labference.records import strict
from labference.records.measurements import MeasurementWriter, read_blocks
from labference.records.prefix import FACTS as FACTS
from labference.records.prefix import told
from labference.records.revive import revived
from labference.truth.contract import TaskContract, cells_of, ports_of, read_cells, read_ports
from labference.truth.identity import PlanError, Seeds
from labference.truth.measurement import Block, Channels, Setup
from labference.truth.referee import Referee
from labference.wire import Observation, Operation

from .stored import WorldCheckpoint, arrays_of, digest_of, generation_of, put_together, rest_of, text_of

STATE, MEASUREMENTS = "state.npz", "measurements.bin"
_CHANGED = "The checkpoint in {} does not match its digest; delete the folder to prepare it again."


@dataclass(frozen=True, slots=True)
class Lent:
    """An operation that the bench carried out: the observation that it answered, the tick at which it began."""

    observation: int
    tick: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Handoff:
    """Where branches begin.

    world       the state of the laboratory, bit for bit
    blocks      everything measured so far, the preparation first: the evaluator's state follows from it
    deliveries  id and tick of each observation that the prefix delivered
    witnessed   those observations, each with the operation that was confirmed before it
    prefix      folder with the records of the prefix, if there is one
    steps       control steps of the prefix
    lent        operations that the bench's hands carried out in the prefix
    """

    instance: Any
    seeds: Seeds
    setup: Setup
    world: WorldCheckpoint
    blocks: tuple[Block, ...]
    deliveries: tuple[tuple[int, int], ...] = ()
    witnessed: tuple[tuple[Observation, Operation | None], ...] = ()
    prefix: Path | None = None
    steps: int = 0
    lent: tuple[Lent, ...] = ()

    @property
    def digest(self) -> str:
        """Return the sha256 of the physical state and of what was delivered and spent before it."""
        world, found = self.world, digest_of(self.world)
        found.update(repr((world.tick, generation_of(world), self.deliveries, self.steps)).encode())
        found.update(text_of(world).encode())
        if self.lent:
            found.update(strict.line(self.lent).encode())
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
    statements = sorted([(number, tick, None) for number, tick in handoff.deliveries] + _performed(handoff), key=_order)
    told = 0
    for block in handoff.blocks:
        referee.observe(block, read_cells(cells, block), read_ports(ports, block))
        while told < len(statements) and statements[told][1] <= block.end:
            number, tick, operation = statements[told]
            if operation is None:
                referee.deliver(number, tick)
            else:
                referee.perform(operation, tick)
            told += 1
    return referee


def _performed(handoff: Handoff) -> list[tuple[int, int, Operation | None]]:
    return [(lent.observation, lent.tick, lent.operation) for lent in handoff.lent]


def _order(statement: tuple[int, int, Operation | None]) -> tuple[int, bool]:
    """An observation is delivered before the operation that answers it begins."""
    return statement[0], statement[2] is not None


def save(handoff: Handoff, path: Path) -> None:
    """Write a handoff to the folder `path`; what was witnessed stays in memory."""
    path.mkdir(parents=True, exist_ok=True)
    world = handoff.world
    arrays = arrays_of(world)
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
        "generation": generation_of(world),
        "deliveries": handoff.deliveries,
        "steps": handoff.steps,
        "prefix": None if handoff.prefix is None else handoff.prefix.name,
        "told": told(handoff.prefix),
        **rest_of(world),
    }
    if handoff.lent:
        facts["lent"] = handoff.lent
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


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _load(path: Path, instance: Any, seeds: Seeds, setup: Setup, channels: Channels) -> tuple[Handoff, Any]:
    facts = strict.read(path / FACTS)
    with (path / STATE).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        world = put_together({name: arrays[name] for name in arrays.files}, facts, setup)
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
        revived(tuple[Lent, ...], facts.get("lent", [])),
    )
    return found, facts
