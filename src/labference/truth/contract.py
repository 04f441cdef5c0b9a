"""What a task is: the six connected elements of the paper's TaskContract, as one protocol."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from labference.wire import Fact, Goal, Operation, Reading

from .draw import Member
from .events import Approached, Entered, Event, Grasped, Immersed, Recognised, Tilted
from .geometry import Region, Shape
from .identity import Seeds
from .measurement import QUANTITIES, Block, Channels, Dipped, Pose, Readout, Setup, Transition
from .wetware import Wetware

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

    def tare(self) -> bool:
        """Show the load as zero from now on, if the reading is stable; return whether it was."""
        ...


class MeterPort(Protocol):
    """The electronics of a water-quality meter: samples in, displays out, the same whatever the split into blocks."""

    def update(self, tick: int, ticks: int, sample: np.ndarray) -> Dipped:
        """Read `ticks` physics ticks from `tick` on, through all of which the tip is in `sample` (4,)."""
        ...


@runtime_checkable
class DippedInstrument(Protocol):
    """A part that carries the tip of a meter."""

    @property
    def meter(self) -> str:
        """Return the name of the meter."""
        ...

    def port(self, timestep: float, setup: Setup) -> MeterPort:
        """Return the electronics, calibrated as `setup` draws it, for physics steps of `timestep` [s]."""
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
    """Return what each instrument made of the forces of `block`, after the keys were pressed that it says."""
    for index, cell in enumerate(cells):
        if block.pressed >> index & 1:
            cell.tare()
    return tuple(cell.update(block.force[:, index]) for index, cell in enumerate(cells))


def ports_of(parts: tuple[Any, ...], timestep: float, setup: Setup) -> tuple[MeterPort, ...]:
    """Return fresh electronics of each meter among `parts`, in the order of `Channels.meters`."""
    return tuple(part.port(timestep, setup) for part in parts if isinstance(part, DippedInstrument))


def read_ports(ports: tuple[MeterPort, ...], block: Block) -> tuple[Dipped, ...]:
    """Return what each meter made of the samples of `block`."""
    return tuple(port.update(block.tick, block.ticks, block.sample[index]) for index, port in enumerate(ports))


def port_readings(meters: tuple[str, ...], dipped: tuple[Dipped, ...], timestep: float) -> tuple[Reading, ...]:
    """Return what the data ports of meters say, one reading per quantity."""
    return tuple(
        Reading(f"{meter} {quantity}", shown.value, shown.unit, shown.stable, shown.status, found.since * timestep)
        for meter, found in zip(meters, dipped, strict=True)
        for quantity, shown in zip(QUANTITIES, found.shown, strict=True)
    )


class Recogniser(Protocol):
    """Find interaction patterns in measured blocks; the result does not depend on how time is cut into blocks."""

    def update(self, block: Block) -> list[Recognised]:
        """Return what `block` shows, in order of time."""
        ...

    def reset(self) -> None:
        """Forget what was seen: the environment has moved things."""
        ...


class Defaults:
    """What most contracts leave as it is: no recogniser of their own, no environment transition, no registered list, no
    liquids, and an arm.
    """

    __slots__ = ()
    fidelities: tuple[str, ...] = ("physics",)

    def recognisers(self, channels: Channels) -> tuple[Recogniser, ...]:
        """Return none."""
        del channels
        return ()

    def due(self, state: Any) -> bool:
        """Never."""
        del state
        return False

    def transition(self, state: Any, setup: Setup) -> Transition:
        """Refuse: this environment never acts."""
        raise ContractError("This task has no environment transition.")

    def lists(self) -> dict[str, tuple[Member, ...]]:
        """Return none."""
        return {}

    def subject(self, state: Any, operation: Operation) -> str:
        """Return the item that the operation names."""
        del state
        return operation.item

    def wetware(self) -> Wetware:
        """Return nothing: no liquids here."""
        return Wetware()

    def directed(self, state: Any, event: Tilted | Immersed) -> Operation | None:
        """Return nothing: no liquids here."""
        del state, event
        return None

    def aim(self, state: Any, operation: Operation) -> dict[str, float]:
        """Return nothing: operations take no numbers here."""
        del state, operation
        return {}

    def margin(self, state: Any, operation: Operation) -> dict[str, float]:
        """Return nothing: operations take no numbers here."""
        del state, operation
        return {}

    def quantities(self, instance: Any, events: Sequence[Event]) -> dict[str, float]:
        """Return nothing: choice, execution and completion say it all."""
        del instance, events
        return {}


class TaskContract(Protocol[I, S]):
    """One task family condition. Instances and states are frozen dataclasses of the task file.

    name, version     identify the task; behaviour changes only with the version
    places            where an item can rest; `place` returns indices into it
    settle_s          how long an item must rest, released and slow, before its place is confirmed [s]
    dwell_s           how long the terminal predicate must hold without interruption [s]
    response_s        response window of an opportunity, in simulated time from delivery [s]
    budget_steps      control steps after which an episode ends
    history           history protocol: "online" delivers the present; "online_once" means that what matters later is
                      shown when it happens and never again
    telling           items whose place is the evidence in which twins differ; all others are laid out alike
    fidelities        laboratories that can run it: "physics" with the simulated arm, "fast" without
    """

    name: str
    version: str
    summary: str
    places: tuple[str, ...]
    settle_s: float
    dwell_s: float
    response_s: float
    budget_steps: int
    history: str
    telling: tuple[str, ...]

    @property
    def fidelities(self) -> tuple[str, ...]:
        """Return the laboratories that can run it."""
        ...

    def parts(self) -> tuple[Any, ...]:
        """Return the labware and instruments of the scene (declarations of `labference.world.parts`)."""
        ...

    def shapes(self) -> dict[str, Shape]:
        """Return what each item measures."""
        ...

    def regions(self, fixtures: Mapping[str, Pose]) -> dict[str, Region]:
        """Return where an item may be put, by place, while fixtures stand at `fixtures`."""
        ...

    def destination(self, operation: Operation) -> str:
        """Return the place where `operation` puts its item, "" where it leaves it in the hand."""
        ...

    def recognisers(self, channels: Channels) -> tuple[Recogniser, ...]:
        """Return fresh recognisers of the choices that a grasp does not show."""
        ...

    def strata(self) -> Sequence[Hashable]:
        """Return the target and answer strata over which instances are balanced."""
        ...

    def sample(self, stratum: Hashable, rng: np.random.Generator) -> I:
        """Draw an instance of `stratum` from the task-state stream."""
        ...

    def twins(self, rng: np.random.Generator) -> tuple[I, I]:
        """Draw two instances with the same instruction whose legal sets are disjoint at the scored choice."""
        ...

    def scored(self, instance: I) -> S:
        """Return the state at the choice in which twins differ, with everything before done as it should be."""
        ...

    def lists(self) -> dict[str, tuple[Member, ...]]:
        """Return the registered lists of instances by name."""
        ...

    def restore(self, record: dict[str, Any]) -> I:
        """Return the instance that `run.json` holds."""
        ...

    def setup(self, instance: I, seeds: Seeds) -> Setup:
        """Lay out `instance` from the seeds of layout, colour and motion; equal seeds lay twins out alike."""
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

    def chosen(self, state: S, event: Grasped | Entered | Approached) -> Operation | None:
        """Return the operation that a recognised interaction selects, judged in the state before it; None for none."""
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

    def due(self, state: S) -> bool:
        """Return whether the environment acts now; the loop then hands control to it at the next control boundary."""
        ...

    def transition(self, state: S, setup: Setup) -> Transition:
        """Return what the environment does in `state`."""
        ...

    def facts(self, state: S, readings: tuple[Reading, ...]) -> tuple[Fact, ...]:
        """Return what can be seen in `state` and on the instruments: the standard state of the state interface.

        Public identities, visible occupancy, displays. Never a hidden mass, a wanted set, or which thing is the target.
        """
        ...

    def frames(self, operation: Operation) -> tuple[str, ...]:
        """Return the items and places whose geometry `operation` needs."""
        ...

    def candidates(self) -> tuple[str, ...]:
        """Return the items and places whose geometry may be given without saying what is meant."""
        ...

    def subject(self, state: S, operation: Operation) -> str:
        """Return the item that hands get which do what `operation` says, "" for none: the right one only if it says so.

        Where an operation names a place to take something from, whatever is there; never what is to be remembered.
        """
        ...

    def wetware(self) -> Wetware:
        """Return what is dipped, stirred with and rinsed in, and where vessels are open."""
        ...

    def directed(self, state: S, event: Tilted | Immersed) -> Operation | None:
        """Return the operation that a tilted vessel or an immersed probe selects, judged in the state before it."""
        ...

    def aim(self, state: S, operation: Operation) -> dict[str, float]:
        """Return what the reference executor is to reach with `operation`: "grams" to add, or "ph" or "ec" to reach.

        Other names are parameters of the operation.
        """
        ...

    def margin(self, state: S, operation: Operation) -> dict[str, float]:
        """Return how far the "grams", "ph" or "ec" of `aim` may be missed, in their units."""
        ...

    def quantities(self, instance: I, events: Sequence[Event]) -> dict[str, float]:
        """Return what an episode is measured by beside the three levels, named with units, from what was poured and
        measured in it; `error [unit]` is signed, and what could not be measured is left out.
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
