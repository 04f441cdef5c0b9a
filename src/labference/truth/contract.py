"""What a task is: the six connected elements of the paper's TaskContract, as one protocol."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from labference.wire import Goal, Operation

from .events import Event, Grasped
from .geometry import Region, Shape
from .measurement import Block, Channels, Readout, Setup

I = TypeVar("I")  # noqa: E741  # Instance
S = TypeVar("S")  # State


class ContractError(Exception):
    """A task file contradicts itself; the sentence is for its author."""


class LoadCell(Protocol):
    """The electronics of an instrument: forces in, readings out, the same whatever the split into blocks."""

    def zero(self, force: np.ndarray) -> float:
        """Take the mean of `force` (k,) [N] as empty, restart, and return it."""
        ...

    def update(self, force: np.ndarray) -> Readout:
        """Read `force` (k,) [N], one sample per physics tick."""
        ...


@runtime_checkable
class Instrument(Protocol):
    """A part with a load cell."""

    def electronics(self, timestep: float) -> LoadCell:
        """Return fresh electronics for physics steps of `timestep` [s]."""
        ...


def cells_of(parts: tuple[Any, ...], timestep: float) -> tuple[LoadCell, ...]:
    """Return fresh electronics of each load cell among `parts`, in the order of `Channels.cells`."""
    return tuple(part.electronics(timestep) for part in parts if isinstance(part, Instrument))


def read_cells(cells: tuple[LoadCell, ...], block: Block) -> tuple[Readout, ...]:
    """Return what each instrument made of the forces of `block`."""
    return tuple(cell.update(block.force[:, index]) for index, cell in enumerate(cells))


class TaskContract(Protocol[I, S]):
    """One task family condition. Instances and states are frozen dataclasses of the task file.

    name, version     identify the task; behaviour changes only with the version
    places            where an item can rest; `place` returns indices into it
    settle_s          how long an item must rest, released and slow, before its place is confirmed [s]
    dwell_s           how long the terminal predicate must hold without interruption [s]
    response_s        response window of an opportunity, in simulated time from delivery [s]
    budget_steps      control steps after which an episode ends
    """

    name: str
    version: str
    summary: str
    places: tuple[str, ...]
    settle_s: float
    dwell_s: float
    response_s: float
    budget_steps: int

    def parts(self) -> tuple[Any, ...]:
        """Return the labware and instruments of the scene (declarations of `labference.world.parts`)."""
        ...

    def shapes(self) -> dict[str, Shape]:
        """Return what each item measures."""
        ...

    def regions(self, setup: Setup) -> dict[str, Region]:
        """Return where an operation may put an item, by the place it names."""
        ...

    def strata(self) -> Sequence[Hashable]:
        """Return the target and answer strata over which instances are balanced."""
        ...

    def sample(self, stratum: Hashable, rng: np.random.Generator) -> I:
        """Draw an instance of `stratum` from the task-state stream."""
        ...

    def twins(self, rng: np.random.Generator) -> tuple[I, I]:
        """Draw two instances with the same instruction whose legal sets are disjoint."""
        ...

    def restore(self, record: dict[str, Any]) -> I:
        """Return the instance that `run.json` holds."""
        ...

    def setup(self, instance: I, rng: np.random.Generator) -> Setup:
        """Lay out `instance` from the layout stream; equal streams give equal layouts for twins."""
        ...

    def goal(self, instance: I) -> Goal:
        """Return what the tested system is told."""
        ...

    def start(self, instance: I) -> S:
        """Return the state at the handoff."""
        ...

    def place(self, block: Block, channels: Channels) -> np.ndarray:
        """Return where each item rests, (k, n) int8 index into `places`, -1 while nothing but the robot carries it."""
        ...

    def located(self, state: S) -> dict[str, str]:
        """Return the confirmed place of each item."""
        ...

    def chosen(self, state: S, event: Grasped) -> Operation:
        """Return the operation that a recognised grasp selects, judged in the state before contact."""
        ...

    def update(self, state: S, event: Event) -> S:
        """Return the state after a confirmed event: equation 1."""
        ...

    def legal(self, state: S) -> frozenset[Operation]:
        """Return the legal next operations of `state`."""
        ...

    def outstanding(self, state: S) -> frozenset[Operation]:
        """Return the operations that remain to be done, whatever the instruments show at the moment."""
        ...

    def evidence(self, state: S) -> Hashable | None:
        """Return a key of the facts that decide the next operation, None while they cannot be observed.

        A new key opens a new opportunity once it has been delivered; an unchanged key never does. The key must not
        depend on what is wanted: its change interrupts the tested system.
        """
        ...

    def achieved(self, state: S, operation: Operation) -> bool:
        """Return whether the physical subgoal of `operation` is confirmed in `state`."""
        ...

    def violation(self, state: S, event: Event) -> str | None:
        """Return the name of the irreversible rule that `event` breaks, if any."""
        ...

    def terminal(
        self, state: S, block: Block, readouts: tuple[Readout, ...], channels: Channels, place: np.ndarray
    ) -> np.ndarray:
        """Return for each tick of `block` whether the terminal predicate holds, (k,) bool; never while operations are
        outstanding in `state`.
        """
        ...


def replay(contract: TaskContract[I, S], state: S, events: Iterable[Event]) -> S:
    """Fold confirmed events over a state."""
    for event in events:
        state = contract.update(state, event)
    return state
