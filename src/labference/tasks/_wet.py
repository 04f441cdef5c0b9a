"""What the tasks of the wet bench share: where things stand, what is in the hand, and what instruments have shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from labference.truth.contract import Defaults, Recogniser
from labference.truth.events import (
    Approached,
    Disturbed,
    Dropped,
    Entered,
    Event,
    Faulted,
    Fell,
    Finished,
    Grasped,
    Immersed,
    Lifted,
    Performed,
    Released,
    Settled,
    Spilt,
    Stirred,
    Tared,
    Tilted,
    Transferred,
    Weighed,
)
from labference.truth.filling import Filling, WetSetup
from labference.truth.geometry import Region, Round, Shape
from labference.truth.identity import Seeds
from labference.truth.measurement import HAND, ITEM, LEFT, RIGHT, Block, Channels, Pose
from labference.truth.put_back import PutBack
from labference.truth.sockets import Sockets
from labference.truth.watch import low_motion, touched_by_robot
from labference.truth.wetware import Opening, Wetware
from labference.wire import Operation, Setting
from labference.wire.glassware import (
    BEAKER_HEIGHT,
    BEAKER_RADIUS,
    BEAKER_WALL,
    HOLDER_FLOOR,
    HOLDER_HEIGHT,
    PROBE_HANDLE,
    PROBE_LENGTH,
    RACK_FLOOR,
    RACK_HEIGHT,
    RACK_PITCH,
    RACK_PLACES,
    RINSE_FLOOR,
    ROD_HANDLE,
    ROD_LENGTH,
    TUBE_BOTTOM,
    TUBE_LENGTH,
    TUBE_RADIUS,
    TUBE_WALL,
    tube_place,
)
from labference.wire.wetlab import SETTINGS
from labference.world.parts.balance import Balance
from labference.world.parts.wet_bench import (
    BALANCE,
    BEAKER,
    METER,
    PAN,
    PROBE,
    PROBE_HOLDER,
    RACK,
    RINSE,
    ROD,
    ROD_HOLDER,
    wet_layout,
    wet_parts,
)

ELSEWHERE = "elsewhere"
RESTS = (PAN, RACK, PROBE_HOLDER, ROD_HOLDER, ELSEWHERE)
"""Places where items can rest."""
PLACES = (BEAKER, RINSE, RACK, PROBE_HOLDER, ROD_HOLDER, BALANCE)
"""Places that operations name."""
SUPPORT = 0xFFFF & ~(1 << LEFT | 1 << RIGHT | 1 << HAND)
SETTLE_S, DWELL_S, RESPONSE_S = 0.5, 3.0, 60.0
"""Rest after which a placement is confirmed, terminal window, and response window [s]: as in the other tasks."""
SPILT_G = 0.1
"""What may land beside the vessels in all [g]: two drops."""
CAPACITY_G = 105.0
"""What the beaker may hold [g]: 1.5 cm below its rim."""
WAIT, STOP = Operation("wait"), Operation("stop")
TARE, WEIGH = Operation("tare", BEAKER, BALANCE), Operation("weigh", BEAKER, BALANCE)
STIR = Operation("stir", ROD, BEAKER)
TAKE_PROBE, RETURN_PROBE = Operation("take_probe", PROBE, PROBE_HOLDER), Operation("return_probe", PROBE, PROBE_HOLDER)
MEASURE, RINSE_PROBE = Operation("measure", PROBE, BEAKER), Operation("rinse_probe", PROBE, RINSE)
WET_STREAM = 1
"""Keeps the draws of liquids and instruments apart from those of the layout."""


def pick(tube: str) -> Operation:
    """Return the operation that takes a tube out of the rack."""
    return Operation("pick", tube, RACK)


def place(tube: str) -> Operation:
    """Return the operation that puts a tube back into the rack."""
    return Operation("place", tube, RACK)


def pour(tube: str) -> Operation:
    """Return the operation that pours from a tube into the beaker."""
    return Operation("pour", tube, BEAKER)


@dataclass(frozen=True, slots=True)
class Bench:
    """What is confirmed of a wet bench.

    located   confirmed place of each item
    grasped   items between the fingers that nothing has lifted yet; `held` those in the air
    busy      the operation that the bench's hands carry out; `lent` says whether they were asked for anything yet
    done      the operation whose effect was confirmed last, since hands were lent or things were taken
    attempts  operations that have ended
    shown     what the balance shows [g], read; None while it does not stay
    spilt     what landed beside the vessels [g]
    """

    located: tuple[tuple[str, str], ...]
    grasped: frozenset[str] = frozenset()
    held: str = ""
    busy: Operation | None = None
    lent: bool = False
    done: Operation | None = None
    attempts: int = 0
    shown: float | None = None
    spilt: float = 0.0


B = TypeVar("B", bound=Bench)


def advance(state: B, event: Event) -> B:
    """Return what of the bench is confirmed after an event."""
    match event:
        case Performed():
            return replace(state, busy=event.operation, lent=True, done=None)
        case Finished():
            return replace(state, busy=None, attempts=state.attempts + 1)
        case Grasped():
            return replace(state, grasped=state.grasped | {event.item})
        case Lifted():
            return replace(state, held=event.item, grasped=state.grasped - {event.item}, done=_taking(event.item))
        case Released() | Dropped():
            return replace(state, held="" if event.item == state.held else state.held, done=None)
        case Settled() | Fell():
            return _put_down(state, event)
        case _:
            return _read(state, event)


def _read(state: B, event: Event) -> B:
    """Return what is known of liquids and of the balance after an event."""
    match event:
        case Weighed():
            return replace(state, shown=event.grams, done=WEIGH if state.done is None else state.done)
        case Disturbed(instrument=instrument) | Faulted(instrument=instrument) if instrument == BALANCE:
            return replace(state, shown=None)
        case Tared():
            return replace(state, shown=0.0, done=TARE)
        case Stirred(vessel=vessel) if vessel == BEAKER:
            return replace(state, done=STIR)
        case Transferred(source=source, vessel=vessel) if vessel == BEAKER:
            return replace(state, done=pour(source))
        case Spilt():
            return replace(state, spilt=state.spilt + event.grams)
        case _:
            return state


def _put_down(state: B, event: Settled | Fell) -> B:
    where = event.place if isinstance(event, Settled) else ELSEWHERE
    located = tuple((item, where if item == event.item else at) for item, at in state.located)
    gone = event.item == state.held or event.attempt > 0
    return replace(
        state,
        located=located,
        grasped=state.grasped - {event.item},
        held="" if event.item == state.held else state.held,
        done=_putting(event.item) if gone else state.done,
        attempts=state.attempts + (event.attempt > 0 and state.busy is None),
    )


def _taking(item: str) -> Operation | None:
    return TAKE_PROBE if item == PROBE else pick(item)


def _putting(item: str) -> Operation:
    return RETURN_PROBE if item == PROBE else place(item)


def home_of(item: str) -> str:
    """Return where an item of the bench stands at the start."""
    return {BEAKER: PAN, PROBE: PROBE_HOLDER, ROD: ROD_HOLDER}.get(item, RACK)


class WetBench(Defaults):
    """What contracts of the wet bench share; `tubes` are the names of theirs."""

    __slots__ = ()
    tubes: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def items(self) -> tuple[str, ...]:
        """Return the free bodies, in the order of their parts."""
        return (BEAKER, *self.tubes, PROBE, ROD)

    def parts(self) -> tuple[Any, ...]:
        """Return the scene: balance with beaker, tubes in a rack, probe and rod in holders, rinse beaker."""
        return wet_parts(self.tubes)

    def shapes(self) -> dict[str, Shape]:
        """Return what the items measure."""
        tube = Shape(TUBE_RADIUS, TUBE_LENGTH, TUBE_LENGTH)
        return {
            BEAKER: Shape(BEAKER_RADIUS, BEAKER_HEIGHT, BEAKER_HEIGHT),
            **dict.fromkeys(self.tubes, tube),
            PROBE: Shape(PROBE_HANDLE, PROBE_LENGTH, PROBE_LENGTH),
            ROD: Shape(ROD_HANDLE, ROD_LENGTH, ROD_LENGTH),
        }

    def regions(self, fixtures: Mapping[str, Pose]) -> dict[str, Region]:
        """Return the pan where the balance stands."""
        balance, at = Balance(BALANCE), fixtures[BALANCE]
        return {PAN: Round((at.x, at.y), balance.pan_radius, balance.pan_height)}

    def destination(self, operation: Operation) -> str:
        """Return where a placed thing comes to rest."""
        return operation.place if operation.kind in ("place", "return_probe") else ""

    def settings(self) -> tuple[Setting, ...]:
        """Return the numbers that the operations of this task take."""
        return tuple(setting for setting in SETTINGS if setting.kind in self.kinds)

    def lay_out(self, seeds: Seeds, liquids: dict[str, Filling]) -> WetSetup:
        """Return a layout with `liquids`; the balance is zeroed with the empty beaker on it."""
        items, fixtures = wet_layout(self.tubes, np.random.default_rng(seeds.layout))
        seed = int(np.random.SeedSequence(seeds.layout, spawn_key=(WET_STREAM,)).generate_state(1, np.uint32)[0])
        return WetSetup(items, fixtures, {}, liquids=liquids, seed=seed)

    def homes(self) -> tuple[tuple[str, str], ...]:
        """Return where each item stands at the start."""
        return tuple((item, home_of(item)) for item in self.items)

    def located(self, state: Bench) -> dict[str, str]:
        """Return the confirmed place of each item."""
        return dict(state.located)

    def place(self, block: Block, channels: Channels) -> np.ndarray:
        """Return where each item rests: on the one surface that carries it, or elsewhere."""
        bits = tuple(channels.bit(surface) for surface in (PAN, RACK, PROBE_HOLDER, ROD_HOLDER))
        return np.asarray(_placed(bits)[block.touch[:, :-1]])

    def wetware(self) -> Wetware:
        """Return vessels, probe, rod and rinse beaker."""
        inner, high = BEAKER_RADIUS - BEAKER_WALL, BEAKER_HEIGHT
        tube = Opening(TUBE_RADIUS - TUBE_WALL, TUBE_BOTTOM, TUBE_LENGTH)
        vessels = (
            (BEAKER, Opening(inner, BEAKER_WALL, high)),
            *((name, tube) for name in self.tubes),
            (RINSE, Opening(inner, RINSE_FLOOR + BEAKER_WALL, RINSE_FLOOR + high)),
        )
        return Wetware(vessels, ((METER, PROBE),), (ROD,), (RINSE,))

    def recognisers(self, channels: Channels) -> tuple[Recogniser, ...]:
        """Return what tells that a held thing is put back."""
        homes = dict.fromkeys(self.tubes, _sockets(RACK, [tube_place(place) for place in range(RACK_PLACES)]))
        homes |= {PROBE: _sockets(PROBE_HOLDER), ROD: _sockets(ROD_HOLDER)}
        return (PutBack(homes, channels),)

    def chosen(self, state: Bench, event: Grasped | Entered | Approached) -> Operation | None:
        """A grasp takes an item from where it stands; what is held and enters its holder is put back."""
        match event:
            case Grasped() if not state.held:
                return _taking(event.item)
            case Entered() if event.item == state.held:
                return _putting(event.item)
            case _:
                return None

    def unread(self, state: Bench) -> frozenset[Operation]:
        """Return what is legal while the balance shows nothing that stays.

        Who has asked the bench for anything can ask it to weigh; own hands wait.
        """
        return frozenset({WEIGH if state.lent else WAIT})

    def directed(self, state: Bench, event: Tilted | Immersed) -> Operation | None:
        """A tube that leans pours, a probe that is dipped measures or is rinsed."""
        del state
        if isinstance(event, Tilted):
            return Operation("pour", event.item, event.vessel)
        return RINSE_PROBE if event.vessel == RINSE else Operation("measure", PROBE, event.vessel)

    def frames(self, operation: Operation) -> tuple[str, ...]:
        """Return the item and where it goes."""
        return (operation.item, operation.place)

    def candidates(self) -> tuple[str, ...]:
        """Return items and places."""
        return (*self.items, *RESTS)

    def achieved(self, state: Bench, operation: Operation) -> bool:
        """Return whether the effect of the operation was confirmed."""
        return state.done == operation

    def slip(self, state: Bench, event: Event) -> str | None:
        """Return the rule of every wet bench that an event breaks: nothing falls, little is spilt."""
        match event:
            case Fell():
                return "item_off_bench"
            case Spilt() if state.spilt <= SPILT_G < state.spilt + event.grams:
                return "spilt"
            case Transferred(vessel=vessel) if vessel not in (BEAKER, RINSE):
                return "poured_into_tube"
            case _:
                return None

    def tidy(self, state: Bench, block: Block, place: np.ndarray) -> np.ndarray:
        """Return at which ticks everything stands where it belongs, released and at rest, (k,) bool."""
        if state.held or state.grasped or state.busy is not None:
            return np.zeros(block.ticks, dtype=bool)
        wanted = np.array([RESTS.index(home) for _, home in self.homes()])
        at_rest = low_motion(block).all(axis=1) & ~touched_by_robot(block).any(axis=1)
        return np.asarray((place == wanted).all(axis=1) & at_rest)


def _sockets(holder: str, mouths: Sequence[tuple[float, float]] = ((0.0, 0.0),)) -> Sockets:
    """Return the holes of the rack, or the one of a holder."""
    height, floor = (RACK_HEIGHT, RACK_FLOOR) if holder == RACK else (HOLDER_HEIGHT, HOLDER_FLOOR)
    names = (holder,) * len(mouths)
    return Sockets(holder, holder, names, tuple(mouths), height, height - floor, 0.0, RACK_PITCH, TUBE_RADIUS)


@lru_cache(maxsize=4)
def _placed(bits: tuple[int, ...]) -> np.ndarray:
    """Return the place that each touch mask means, (65536,) int8."""
    support = np.arange(1 << 16) & SUPPORT
    where = np.where(support != 0, RESTS.index(ELSEWHERE), -1).astype(np.int8)
    for index, bit in enumerate(bits):
        where[support & ~(1 << ITEM) == bit] = index
    return where
