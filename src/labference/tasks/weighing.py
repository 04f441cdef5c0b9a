"""Feedback weighing: bring a loaded balance to a stated reading with one standard each of 10, 20, 50 and 100 g.

Asked: the display within 1 g of the target, released and stable. Hidden: the mass of the unlabelled sample on the pan,
and with it the subset of standards that is wanted. Basic: all standards on the table, exactly one completes. Extended:
some start on the pan, and at least two additions or removals are needed, in any order.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from labference.truth.contract import Defaults
from labference.truth.draw import Member
from labference.truth.events import (
    Approached,
    Disturbed,
    Entered,
    Event,
    Faulted,
    Fell,
    Grasped,
    Settled,
    Steadied,
)
from labference.truth.geometry import Rectangular, Region, Round, Shape
from labference.truth.identity import Seeds
from labference.truth.measurement import HAND, ITEM, LEFT, OK, RIGHT, Block, Channels, Pose, Readout, Setup
from labference.truth.watch import low_motion, touched_by_robot
from labference.wire import Fact, Goal, Operation, Reading
from labference.wire.labware import WEIGHT_REGION
from labference.world.parts.balance import Balance
from labference.world.parts.sample import Sample
from labference.world.parts.table import Table
from labference.world.parts.weight import DIMENSIONS, Weight

STANDARDS = (10, 20, 50, 100)
"""Labelled standard weights [g], one of each: paper section 4.2."""
TOLERANCE = 1.0
"""Largest deviation of the final reading from the target [g]: paper section 8.2."""
DWELL_S = 3.0
"""Continuous terminal window [s]: paper section 8.2."""
SETTLE_S = 0.5
"""Rest after which a placement is confirmed [s]: paper section 8.1."""
RESPONSE_S = 60.0
"""Response window of an opportunity, simulated time from delivery [s]: the slowest first grasp that the paper shows
(58.7 s, figure 4) still counts."""
BUDGET_STEPS = 3600
"""Control steps per episode: paper section 9.1."""
BASIC_TARGETS = (160, 180, 200)
EXTENDED_TARGETS = (200, 220, 240)
"""Targets [g]: paper section 4.2."""

TABLE_REGION = WEIGHT_REGION
"""Where weights lie on the table, x and y ranges in the robot base frame [m]."""
WEIGHT_GAP = 0.06
"""Least distance between weight axes on the table [m]: fingers fit between."""
BALANCE_AT = (0.50, 0.22)
BALANCE_SHIFT = 0.02
"""Nominal balance position and largest layout shift per axis [m]."""
PAN_RING = 0.042
"""Radius of the circle on which preloaded items stand [m]: five places, 72 degrees apart."""
RELOCATION, RELOCATION_TURN = 0.03, np.radians(15)
"""Largest shift [m] per axis and turn [rad] of a balance that a geometric pair moves, with all that stands on it."""
LABEL_TURN = np.radians(30)
"""Largest initial turn of a weight away from the label camera [rad]."""

BALANCE = "balance"
SAMPLE = "sample"
PAN, TABLE, ELSEWHERE = "pan", "table", "elsewhere"
DISPLAY, STEADY, HELD = "display", "steady", "hand"
"""Names of the facts that the display shows, and where a standard is that was taken."""
SUPPORT = 0xFFFF & ~(1 << LEFT | 1 << RIGHT | 1 << HAND)
"""Touch bits of whatever may carry an item: surfaces and other items."""
WAIT, STOP = Operation("wait"), Operation("stop")


def item(grams: int) -> str:
    """Return the public name of a standard."""
    return f"{grams} g"


ITEMS = tuple(item(grams) for grams in STANDARDS)


@dataclass(frozen=True, slots=True)
class Kind:
    """A stratum: target [g], wanted subset, and whether the balance is moved rigidly."""

    target: float
    goal: tuple[int, ...]
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Instance:
    """One weighing problem; masses in grams. `goal` and `start` are the wanted and the initial subset on the pan.

    `shift` moves the balance and all that stands on it: x and y [m], and a turn about its middle [rad].
    """

    target: float
    sample: float
    start: tuple[int, ...]
    goal: tuple[int, ...]
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def kind(self) -> Kind:
        """Return the stratum that it was drawn from."""
        return Kind(self.target, self.goal, self.shift != (0.0, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class State:
    """What is confirmed. `attempts` counts concluded attempts, so that a failed one is new evidence."""

    target: float
    goal: frozenset[str]
    on_pan: frozenset[str]
    located: tuple[tuple[str, str], ...]
    in_hand: frozenset[str]
    stable: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class Weighing(Defaults):
    """The weighing contract; `extended` adds preloaded standards and several corrections."""

    name: str
    summary: str
    targets: tuple[int, ...]
    extended: bool
    version: str = "1"
    places: tuple[str, ...] = (PAN, TABLE, ELSEWHERE)
    settle_s: float = SETTLE_S
    dwell_s: float = DWELL_S
    response_s: float = RESPONSE_S
    budget_steps: int = BUDGET_STEPS
    history: str = "online"
    telling: tuple[str, ...] = ()

    def parts(self) -> tuple[Table | Balance | Sample | Weight, ...]:
        """Return the scene: one table, one balance, one sample, four standards."""
        weights = tuple(Weight(item(grams), grams) for grams in STANDARDS)
        return (Table(TABLE), Balance(BALANCE), *weights, Sample(SAMPLE))

    def shapes(self) -> dict[str, Shape]:
        """Return what the standards and the sample measure."""
        sample = Sample(SAMPLE)
        standards = {item(grams): DIMENSIONS[grams] for grams in STANDARDS}
        shapes = {name: Shape(radius, body, height) for name, (radius, body, _, _, height) in standards.items()}
        return shapes | {SAMPLE: Shape(sample.radius, sample.height, sample.height)}

    def regions(self, fixtures: Mapping[str, Pose]) -> dict[str, Region]:
        """Return the pan where the balance stands, and the part of the table where standards belong."""
        balance, at = Balance(BALANCE), fixtures[BALANCE]
        (west, east), (south, north) = TABLE_REGION
        return {
            PAN: Round((at.x, at.y), balance.pan_radius, balance.pan_height),
            TABLE: Rectangular((west, south), (east, north), 0.0),
        }

    def destination(self, operation: Operation) -> str:
        """Return the place that the operation names."""
        return operation.place

    def strata(self) -> tuple[Kind, ...]:
        """Return every target with every wanted subset: one standard in basic, two or three in extended."""
        sizes = (2, 3) if self.extended else (1,)
        answers = [subset for size in sizes for subset in itertools.combinations(STANDARDS, size)]
        return tuple(Kind(float(target), answer) for target, answer in itertools.product(self.targets, answers))

    def lists(self) -> dict[str, tuple[Member, ...]]:
        """Return the controlled instances that a user can name.

        equivariance  a balance that stays, and one that is moved rigidly with its load: the same local answer
        """
        return {
            "equivariance": tuple(
                Member(f"{kind.target:g}-{'-'.join(map(str, kind.goal))}-{'moved' if moved else 'still'}", group, one)
                for group, kind in enumerate(self.strata())
                for moved in (False, True)
                for one in (replace(kind, moved=moved),)
            )
        }

    def sample(self, stratum: Kind, rng: np.random.Generator) -> Instance:
        """Draw the initial subset, and how a moved balance is moved; the sample mass closes the sum exactly."""
        target, goal = stratum.target, stratum.goal
        start: tuple[int, ...] = ()
        if self.extended:
            subsets = [subset for size in (1, 2, 3, 4) for subset in itertools.combinations(STANDARDS, size)]
            starts = [subset for subset in subsets if len(set(subset) ^ set(goal)) >= 2]
            start = starts[rng.integers(len(starts))]
        x, y = (float(value) for value in rng.uniform(-RELOCATION, RELOCATION, 2))
        turn = float(rng.uniform(-RELOCATION_TURN, RELOCATION_TURN))
        return Instance(target, target - sum(goal), start, goal, (x, y, turn) if stratum.moved else (0.0, 0.0, 0.0))

    def twins(self, rng: np.random.Generator) -> tuple[Instance, Instance]:
        """Draw two instances that differ only in the hidden sample and therefore in what is legal."""
        target = float(self.targets[rng.integers(len(self.targets))])
        if not self.extended:
            one, two = rng.choice(STANDARDS, size=2, replace=False)
            return self.sample(Kind(target, (int(one),)), rng), self.sample(Kind(target, (int(two),)), rng)
        first, second = _complementary(rng)
        start = (first[0], second[0])
        return tuple(  # type: ignore[return-value]  # exactly two
            Instance(target, target - sum(goal), start, goal) for goal in (first, second)
        )

    def scored(self, instance: Instance) -> State:
        """Return the state at the handoff: the first choice is the scored one."""
        return self.start(instance)

    def restore(self, record: dict[str, Any]) -> Instance:
        """Return the instance that `run.json` holds."""
        x, y, turn = record["shift"]
        start, goal = tuple(record["start"]), tuple(record["goal"])
        return Instance(record["target"], record["sample"], start, goal, (x, y, turn))

    def setup(self, instance: Instance, seeds: Seeds) -> Setup:
        """Lay out balance, table and pan; the draw does not depend on masses or goals."""
        rng = np.random.default_rng(seeds.layout)
        x, y, turn = instance.shift
        shift = rng.uniform(-BALANCE_SHIFT, BALANCE_SHIFT, 2)
        centre = (float(BALANCE_AT[0] + shift[0] + x), float(BALANCE_AT[1] + shift[1] + y))
        free = iter(_scatter(rng, len(STANDARDS)))
        turns = rng.uniform(-LABEL_TURN, LABEL_TURN, len(STANDARDS))
        spots = _ring(rng, centre, 1 + len(STANDARDS), turn)
        height = Balance(BALANCE).pan_height
        poses = {SAMPLE: Pose(*spots[0], height, turn)}
        for grams, own, spot in zip(STANDARDS, turns, spots[1:], strict=True):
            u, v = next(free)
            poses[item(grams)] = Pose(*spot, height, own + turn) if grams in instance.start else Pose(u, v, 0.0, own)
        loaded = (SAMPLE, *(item(grams) for grams in instance.start))
        return Setup(poses, {BALANCE: Pose(*centre, 0.0, turn)}, {SAMPLE: instance.sample / 1000}, on_cell=loaded)

    def goal(self, instance: Instance) -> Goal:
        """Return the instruction; it states target and rule, never the sample mass or the wanted subset."""
        instruction = (
            f"Bring the balance to {instance.target:.1f} g. An unlabelled sample is on the pan and must stay there. "
            "Standard weights of 10, 20, 50 and 100 g, one of each, may be added to the pan or removed from it. "
            f"Finish with the display stable within {TOLERANCE:g} g of the target and every weight released."
        )
        return Goal(instruction, kinds=("add", "remove", "wait", "stop"), items=ITEMS, places=(PAN, TABLE))

    def start(self, instance: Instance) -> State:
        """Return the state that the preparation establishes: a stable reading, nothing in hand."""
        loaded = {item(grams) for grams in instance.start}
        located = {name: PAN if name in loaded else TABLE for name in ITEMS} | {SAMPLE: PAN}
        goal = frozenset(item(grams) for grams in instance.goal)
        return State(
            instance.target, goal, frozenset(loaded), tuple(located.items()), frozenset(), stable=True, attempts=0
        )

    def located(self, state: State) -> dict[str, str]:
        """Return the confirmed place of each item."""
        return dict(state.located)

    def place(self, block: Block, channels: Channels) -> np.ndarray:
        """Return pan or table where only that surface carries the item, elsewhere for any other support."""
        return np.asarray(_placed(channels.bit(PAN), channels.bit(TABLE))[block.touch[:, :-1]])

    def chosen(self, state: State, event: Grasped | Entered | Approached) -> Operation | None:
        """Grasping an item on the pan selects its removal, anywhere else its addition."""
        if not isinstance(event, Grasped):
            return None
        if event.origin == PAN:
            return Operation("remove", event.item, TABLE)
        return Operation("add", event.item, PAN)

    def update(self, state: State, event: Event) -> State:
        """Advance on confirmed events only: a grasp marks an item as under way, rest decides where it is."""
        match event:
            case Grasped():
                return replace(state, in_hand=state.in_hand | {event.item})
            case Settled() | Fell():
                place = event.place if isinstance(event, Settled) else ELSEWHERE
                located = dict(state.located) | {event.item: place}
                on_pan = frozenset(name for name in ITEMS if located[name] == PAN)
                return replace(
                    state,
                    located=tuple(located.items()),
                    on_pan=on_pan,
                    in_hand=state.in_hand - {event.item},
                    attempts=state.attempts + (event.attempt > 0),
                )
            case Steadied():
                return replace(state, stable=True)
            case Disturbed() | Faulted():
                return replace(state, stable=False)
            case _:
                return state

    def legal(self, state: State) -> frozenset[Operation]:
        """Wait for a valid reading, then any outstanding correction, then stop."""
        if not state.stable or state.in_hand:
            return frozenset({WAIT})
        return self.outstanding(state) or frozenset({STOP})

    def outstanding(self, state: State) -> frozenset[Operation]:
        """Return the corrections between what the pan supports and what is wanted."""
        removals = {Operation("remove", name, TABLE) for name in state.on_pan - state.goal}
        additions = {Operation("add", name, PAN) for name in state.goal - state.on_pan}
        return frozenset(removals | additions)

    def evidence(self, state: State) -> tuple[object, ...] | None:
        """Return the supported subset and the number of concluded attempts, while a reading is valid."""
        if state.in_hand or not state.stable:
            return None
        return (state.on_pan, state.attempts)

    def facts(self, state: State, readings: tuple[Reading, ...]) -> tuple[Fact, ...]:
        """Return what the display says, whether it is steady, and where each standard is."""
        shown = tuple(Fact(DISPLAY, reading.value) for reading in readings if reading.value is not None)
        where = self.located(state) | dict.fromkeys(state.in_hand, HELD)
        return (*shown, Fact(STEADY, state.stable), *(Fact(name, where[name]) for name in ITEMS))

    def frames(self, operation: Operation) -> tuple[str, ...]:
        """Return the standard and where it goes."""
        return (operation.item, operation.place)

    def candidates(self) -> tuple[str, ...]:
        """Return the standards, and where they may go."""
        return (*ITEMS, PAN, TABLE)

    def achieved(self, state: State, operation: Operation) -> bool:
        """Return whether the item rests where the operation puts it."""
        return dict(state.located).get(operation.item) == operation.place

    def violation(self, state: State, event: Event) -> str | None:
        """The sample stays on the pan, nothing falls off the bench, the balance is never overloaded."""
        match event:
            case Grasped(item="sample"):
                return "sample_grasped"
            case Settled(item="sample", place=place) if place != PAN:
                return "sample_moved"
            case Fell():
                return "item_off_bench"
            case Faulted(status="overload"):
                return "balance_overloaded"
            case _:
                return None

    def terminal(
        self, state: State, block: Block, readouts: tuple[Readout, ...], channels: Channels, place: np.ndarray
    ) -> np.ndarray:
        """Reading within tolerance, exact supported set, released, low motion."""
        if state.on_pan != state.goal or state.in_hand:
            return np.zeros(block.ticks, dtype=bool)
        readout = readouts[0]
        wanted = np.array([name in state.goal or name == SAMPLE for name in channels.items])
        exact = ((place == 0) == wanted).all(axis=1)
        pan_free = (block.touch[:, -1] & np.uint16(channels.bit(PAN))) == 0
        at_rest = low_motion(block)[:, wanted].all(axis=1) & ~touched_by_robot(block).any(axis=1)
        reads = (readout.status == OK) & (np.abs(readout.shown - state.target) <= TOLERANCE + 1e-9)
        return np.asarray(exact & pan_free & at_rest & reads)


@lru_cache(maxsize=4)
def _placed(pan: int, table: int) -> np.ndarray:
    """Return the place that each touch mask means, (65536,) int8: looked up once per item and tick."""
    support = np.arange(1 << 16) & SUPPORT
    where = np.where(support != 0, 2, -1).astype(np.int8)
    surface = support & ~(1 << ITEM)
    where[surface == table] = 1
    where[surface == pan] = 0
    where[support == 0] = -1
    return where


def _complementary(rng: np.random.Generator) -> tuple[tuple[int, int], tuple[int, int]]:
    """Split the standards into two wanted pairs.

    Starting from the first of each pair, every correction that one pair calls for is wrong for the other.
    """
    order = [int(grams) for grams in rng.permutation(STANDARDS)]
    return (order[0], order[1]), (order[2], order[3])


def _scatter(rng: np.random.Generator, count: int) -> list[tuple[float, float]]:
    """Draw `count` table places at least `WEIGHT_GAP` apart."""
    (west, east), (south, north) = TABLE_REGION
    places: list[tuple[float, float]] = []
    while len(places) < count:
        x, y = float(rng.uniform(west, east)), float(rng.uniform(south, north))
        if all(np.hypot(x - a, y - b) >= WEIGHT_GAP for a, b in places):
            places.append((x, y))
    return places


def _ring(rng: np.random.Generator, centre: tuple[float, float], count: int, turn: float) -> list[tuple[float, float]]:
    """Return `count` evenly spaced places around the pan, from a random angle, in random order, turned by `turn`."""
    angles = turn + rng.uniform(0, 2 * np.pi) + 2 * np.pi * rng.permutation(count) / count
    return [(float(centre[0] + PAN_RING * np.cos(a)), float(centre[1] + PAN_RING * np.sin(a))) for a in angles]


TASKS = (
    Weighing(
        name="weighing-basic",
        summary="One labelled standard brings a loaded balance to the target.",
        targets=BASIC_TARGETS,
        extended=False,
    ),
    Weighing(
        name="weighing-extended",
        summary="Several additions and removals, in any order, bring a loaded balance to the target.",
        targets=EXTENDED_TARGETS,
        extended=True,
    ),
)
