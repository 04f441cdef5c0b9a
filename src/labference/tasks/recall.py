"""Placement recall: put a tube into a rack, and fetch the same tube after the rack was hidden, and perhaps moved.

Asked: the same tube on the marked region of the table, released and stable. What decides the choice is no longer in
view when it is made: the local hole in which the tube was seen to come to rest. Basic: one tube, a rack that stays.
Extended: three distractors whose caps are all alike or all different, and a rack that has moved when it is shown again.
Every placement frame is delivered once, when it happens (history protocol `online_once`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labference.truth.contract import Defaults, Recogniser
from labference.truth.draw import Member
from labference.truth.events import (
    Approached,
    Dropped,
    Entered,
    Event,
    Fell,
    Grasped,
    Lifted,
    Released,
    Returned,
    Revealed,
    Settled,
    Withdrew,
)
from labference.truth.geometry import Rectangular, Region, Shape
from labference.truth.identity import Seeds
from labference.truth.measurement import (
    LENGTH,
    Block,
    Carry,
    Channels,
    Pose,
    Readout,
    Rearrangement,
    Setup,
    Transition,
)
from labference.truth.recognise import Approach, Entry, Withdrawal
from labference.truth.sockets import SUPPORT, Sockets, axes, pose_of
from labference.truth.watch import low_motion, touched_by_robot
from labference.wire import Fact, Goal, Operation, Reading
from labference.wire.tubes import (
    CAP_COLOURS,
    CAP_HEIGHT,
    CAP_RADIUS,
    CLEARANCE,
    HOLE_DEPTH,
    HOLES,
    PITCH,
    RACK_MOUTH,
    REGION_HALF,
    STAND_PLACES,
    TUBE_HEIGHT,
    TUBE_LENGTH,
    TUBE_RADIUS,
    hole_position,
)
from labference.world.parts.hood import WAITING, Hood, covering
from labference.world.parts.rack import Rack
from labference.world.parts.region import Region as MarkedRegion
from labference.world.parts.stand import Stand, standing_in
from labference.world.parts.table import TUBE_VIEWS, Table
from labference.world.parts.tube import Tube

SETTLE_S = 0.5
"""Rest after which a placement is confirmed [s]: paper section 8.1."""
DWELL_S = 3.0
"""Stable support on the marked region [s]: paper section 4.3."""
RESPONSE_S = 60.0
"""Response window of an opportunity, simulated time from delivery [s]."""
BUDGET_STEPS = 3600
"""Control steps per episode, as for weighing."""

RACK_REGION = ((0.44, 0.56), (-0.22, -0.10))
"""Where the middle of the rack may stand, x and y ranges [m]; any turn fits."""
FARTHER = 0.05
"""Least distance by which a moved rack is displaced [m]."""
REGION_AT, STAND_AT = (0.47, 0.20), (0.47, 0.36)
SHIFT, STAND_TURN = 0.01, np.radians(10)
"""Nominal places of marked region and stand, largest layout shift per axis [m], and largest turn of the stand [rad]."""
HOOD_HALF = (0.19, 0.19)
HOOD_AT, HOOD_ASIDE = (0.50, -0.16), -0.95
"""Half-lengths of the hood, where it stands so that it covers the rack before and after, its y beside the bench [m]."""
SEATED = 0.96
"""Share of the depth that a hand seats a tube to."""
SCATTER_DEPTH, SCATTER_LEAN, SCATTER_AWAY = (0.950, 0.966), (0.0, 0.014), (0.0, 0.0005)
"""How tubes differ that a hand has seated: share of the depth, lean [rad], distance of their lower ends from the axis
[m], as the reference executor leaves them. Without it the tube that a hand has placed would be the one that leans."""

RACK, STAND, TABLE, REGION, HOOD = "rack", "stand", "table", "region", "hood"
TUBE = "tube"
DISTRACTORS = ("distractor 1", "distractor 2", "distractor 3")
HAND, TAKEN, EMPTY = "hand", "tube", "empty"
"""What facts say: a place, or the hand, holds a tube or not."""
UNSEATED, ELSEWHERE = "unseated", "elsewhere"
PLACES = (*HOLES, UNSEATED, STAND, TABLE, REGION, ELSEWHERE)
COLOURS = tuple(CAP_COLOURS)
CAPS = ("same", "distinct")
MOVES = ("shift", "half turn", "turn")
"""How the rack moves while it is hidden: a shift, half a turn and a shift, or any turn and a shift."""
WAIT, STOP = Operation("wait"), Operation("stop")

SOCKETS = Sockets(
    fixture=RACK,
    surface=RACK,
    names=HOLES,
    mouths=tuple(hole_position(name) for name in HOLES),
    height=RACK_MOUTH,
    depth=HOLE_DEPTH,
    clearance=float(np.sqrt(2)) * CLEARANCE,
    spacing=PITCH,
    body=TUBE_RADIUS,
)
CAP_TOPS = RACK_MOUTH - SEATED * HOLE_DEPTH + TUBE_HEIGHT
"""Height of the tops of seated caps over the bench [m]."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A stratum.

    colour  of the tube's cap
    caps    whether distractors look the same; "" where there are none
    move    one of `MOVES`, "" where the rack stays
    hole    where the tube is from the start, "" where the tested system places it; distractors then come below the hood
    """

    colour: str
    caps: str = ""
    move: str = ""
    hole: str = ""


@dataclass(frozen=True, slots=True)
class Instance:
    """One recall problem: `kind` as in a stratum, and the holes of the distractors."""

    kind: Kind
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """What is confirmed.

    in_hand   items that were grasped and have not come to rest; `lifted` those that nothing else carries
    revealed  whether the rack has been hidden and shown again
    bound     hole in which the tube was when it was shown again: what retrieval refers to
    homes     where the distractors have to stay
    attempts  concluded attempts, so that a failed one is new evidence
    """

    located: tuple[tuple[str, str], ...]
    in_hand: frozenset[str] = frozenset()
    lifted: frozenset[str] = frozenset()
    withdrawn: bool = False
    revealed: bool = False
    bound: str = ""
    homes: tuple[tuple[str, str], ...] = ()
    attempts: int = 0

    @property
    def tube(self) -> str:
        """Return the confirmed place of the tube."""
        return dict(self.located)[TUBE]


@dataclass(frozen=True, slots=True)
class Recall(Defaults):
    """The recall contract; `extended` adds distractors, and the rack moves while it is hidden."""

    name: str
    summary: str
    extended: bool
    version: str = "1"
    places: tuple[str, ...] = PLACES
    settle_s: float = SETTLE_S
    dwell_s: float = DWELL_S
    response_s: float = RESPONSE_S
    budget_steps: int = BUDGET_STEPS
    history: str = "online_once"
    telling: tuple[str, ...] = (TUBE,)

    @property
    def tubes(self) -> tuple[str, ...]:
        """Return the tubes of the scene."""
        return (TUBE, *DISTRACTORS) if self.extended else (TUBE,)

    def parts(self) -> tuple[Table | Rack | Stand | MarkedRegion | Hood | Tube, ...]:
        """Return the scene: a rack, a stand, the marked region, one tube or four, and the hood."""
        hood = Hood(HOOD, half=HOOD_HALF)
        table = Table(TABLE, views=TUBE_VIEWS)
        return (table, Rack(RACK), Stand(STAND), MarkedRegion(REGION), hood, *map(Tube, self.tubes))

    def shapes(self) -> dict[str, Shape]:
        """Return what a tube measures."""
        return {item: Shape(TUBE_RADIUS, TUBE_LENGTH, TUBE_HEIGHT, CAP_RADIUS) for item in self.tubes}

    def regions(self, fixtures: Mapping[str, Pose]) -> dict[str, Region]:
        """Return the holes where the rack stands, and the marked region."""
        at = fixtures[REGION]
        low, high = (at.x - REGION_HALF, at.y - REGION_HALF), (at.x + REGION_HALF, at.y + REGION_HALF)
        return {**SOCKETS.regions(fixtures[RACK]), REGION: Rectangular(low, high, 0.0)}

    def destination(self, operation: Operation) -> str:
        """A retrieval ends on the marked region; its place says where the tube is taken."""
        return REGION if operation.kind == "retrieve" else operation.place

    def recognisers(self, channels: Channels) -> tuple[Recogniser, ...]:
        """Return the recognisers of insertions and of retrievals, and what tells when the hand has withdrawn."""
        approach = Approach(SOCKETS, channels, tops=CAP_TOPS, grasp=CAP_HEIGHT / 2, width=2 * CAP_RADIUS)
        return (Entry(SOCKETS, channels), approach, Withdrawal(channels))

    def strata(self) -> tuple[Kind, ...]:
        """Return every colour in basic; in extended every cap condition, colour and movement, balanced separately."""
        if not self.extended:
            return tuple(map(Kind, COLOURS))
        return tuple(Kind(colour, caps, move) for caps, colour, move in itertools.product(CAPS, COLOURS, MOVES))

    def lists(self) -> dict[str, tuple[Member, ...]]:
        """Return the controlled instances that a user can name.

        slots         the tube is in the rack from the start and shown once: every hole, the same number of times
        same-cap, distinct-cap  the strata of one cap condition (extended)
        equivariance  as slots, with a rack that stays and one that is moved rigidly: the same local answer
        """
        caps = "same" if self.extended else ""
        moves = MOVES if self.extended else ("",)
        holes = tuple(
            Member(hole, index, Kind(COLOURS[index % 4], caps, moves[index % len(moves)], hole))
            for index, hole in enumerate(HOLES)
        )
        pairs = tuple(
            Member(f"{hole}-{'moved' if move else 'still'}", index, Kind(COLOURS[index % 4], caps, move, hole))
            for index, hole in enumerate(HOLES)
            for move in ("", "turn")
        )
        found = {"slots": holes, "equivariance": pairs}
        if self.extended:
            for name in CAPS:
                kinds = [kind for kind in self.strata() if kind.caps == name]
                found[f"{name}-cap"] = tuple(
                    Member(f"{kind.colour}-{kind.move.replace(' ', '-')}", index, kind)
                    for index, kind in enumerate(kinds)
                )
        return found

    def sample(self, stratum: Kind, rng: np.random.Generator) -> Instance:
        """Draw the holes of the distractors."""
        free = [hole for hole in HOLES if hole != stratum.hole]
        count = len(DISTRACTORS) if stratum.caps else 0
        others = rng.permutation(len(free))[:count]
        return Instance(stratum, tuple(free[index] for index in others))

    def twins(self, rng: np.random.Generator) -> tuple[Instance, Instance]:
        """Draw two instances that look alike after the hood: the same holes are taken, by the tube in another order."""
        colour = COLOURS[rng.integers(len(COLOURS))]
        holes = [HOLES[index] for index in rng.permutation(len(HOLES))]
        one, two, *rest = holes[: 2 + len(DISTRACTORS)]
        if not self.extended:
            return Instance(Kind(colour, hole=one), ()), Instance(Kind(colour, hole=two), ())
        kind = Kind(colour, "same", MOVES[rng.integers(len(MOVES))])
        seen = rest[: len(DISTRACTORS) - 1]
        return Instance(replace(kind, hole=one), (two, *seen)), Instance(replace(kind, hole=two), (one, *seen))

    def scored(self, instance: Instance) -> State:
        """Return the state after the hood; a tube that the tested system places is in the first free hole."""
        state, others = self.start(instance), dict(zip(DISTRACTORS, instance.others, strict=False))
        hole = instance.kind.hole or next(name for name in HOLES if name not in instance.others)
        located = tuple((item, hole if item == TUBE else others[item]) for item, _ in state.located)
        return replace(state, located=located, withdrawn=True, revealed=True, bound=hole, homes=located[1:])

    def restore(self, record: dict[str, Any]) -> Instance:
        """Return the instance that `run.json` holds."""
        return Instance(Kind(**record["kind"]), tuple(record["others"]))

    def setup(self, instance: Instance, seeds: Seeds) -> Setup:
        """Lay out rack, stand, region and tubes; colours and the movement have streams of their own."""
        rng, kind = np.random.default_rng(seeds.layout), instance.kind
        x, y = (float(rng.uniform(*bounds)) for bounds in RACK_REGION)
        rack = Pose(x, y, 0.0, float(rng.uniform(0, 2 * np.pi)))
        shifts = rng.uniform(-SHIFT, SHIFT, (2, 2))
        region, stand = (
            (float(a + b), float(c + d)) for (a, c), (b, d) in zip((REGION_AT, STAND_AT), shifts, strict=True)
        )
        turned = float(np.pi / 2 + rng.uniform(-STAND_TURN, STAND_TURN))
        fixtures = {
            RACK: rack,
            STAND: Pose(*stand, 0.0, turned),
            REGION: Pose(*region, 0.0),
            HOOD: WAITING,
        }
        holes = [int(hole) for hole in rng.permutation(STAND_PLACES)]
        waiting = {item: standing_in(fixtures[STAND], hole) for item, hole in zip(self.tubes, holes, strict=False)}
        after = {RACK: _moved(rack, kind.move, np.random.default_rng(seeds.motion))}
        poses = dict(waiting)
        if kind.hole:
            poses[TUBE] = SOCKETS.seat(kind.hole, rack, SEATED)
        for item, hole in zip(DISTRACTORS, instance.others, strict=False):
            if kind.hole:
                after[item] = SOCKETS.seat(hole, after[RACK], SEATED)
            else:
                poses[item] = _by_hand(hole, rack, rng)
        colours = _colours(kind, self.tubes, np.random.default_rng(seeds.colour))
        return Setup(poses, fixtures, {}, colours=colours, after=after)

    def goal(self, instance: Instance) -> Goal:
        """Return the instruction, the same for every instance."""
        others = "The other tubes stay in their holes. " if self.extended else ""
        moved = "and the rack may stand elsewhere afterwards" if self.extended else "and then shows it again"
        instruction = (
            "Your sample is the tube that is alone: in the stand, or, when the stand holds others, in the rack. Insert "
            "it from the stand into any empty hole of the rack, whose rows are A to C and columns 1 to 4, and withdraw "
            f"the empty hand above 0.25 m. A hood then hides the rack for a moment, {moved}. After that, bring the "
            "same tube to the marked square on the table, stand it there and release it. "
            f"{others}Finish with the tube standing on the square."
        )
        kinds = ("pick", "insert", "retrieve", "wait", "stop")
        return Goal(instruction, kinds=kinds, items=(TUBE,), places=PLACES)

    def start(self, instance: Instance) -> State:
        """Return the state that the preparation establishes."""
        kind = instance.kind
        located = {TUBE: kind.hole or STAND}
        located |= {
            item: STAND if kind.hole else hole for item, hole in zip(DISTRACTORS, instance.others, strict=False)
        }
        return State(tuple((item, located[item]) for item in self.tubes))

    def place(self, block: Block, channels: Channels) -> np.ndarray:
        """Return the hole in which a tube is seated, or what else carries it."""
        support = block.touch[:, :-1] & SUPPORT
        where = np.full(support.shape, -1, np.int8)
        where[support != 0] = PLACES.index(ELSEWHERE)
        for surface, name in ((STAND, STAND), (RACK, UNSEATED)):
            where[support == channels.bit(surface)] = PLACES.index(name)
        on_table = support == channels.bit(TABLE)
        if on_table.any():
            where[on_table] = PLACES.index(TABLE)
            where[on_table & _on_region(block, channels)] = PLACES.index(REGION)
        in_rack = SOCKETS.carries(block, channels)
        if in_rack.any():
            seated = SOCKETS.seated(SOCKETS.relate(block, channels), in_rack)
            where[seated >= 0] = seated[seated >= 0]
        return where

    def located(self, state: State) -> dict[str, str]:
        """Return the confirmed place of each tube."""
        return dict(state.located)

    def chosen(self, state: State, event: Grasped | Entered | Approached) -> Operation | None:
        """Before the hood, a grasp picks and an entry inserts; afterwards the slot that is approached is retrieved."""
        match event:
            case Grasped() if not state.revealed or (event.item != TUBE and event.origin not in HOLES):
                return Operation("pick", event.item)
            case Grasped():
                return Operation("retrieve", TUBE, event.origin)
            case Entered() if not state.revealed:
                return Operation("insert", event.item, event.place)
            case Approached() if state.revealed and not state.in_hand:
                return Operation("retrieve", TUBE, event.place)
            case _:
                return None

    def update(self, state: State, event: Event) -> State:
        """Advance on confirmed events only; the hole in which the tube is shown again binds it."""
        match event:
            case Grasped():
                return replace(state, in_hand=state.in_hand | {event.item})
            case Lifted():
                return replace(state, lifted=state.lifted | {event.item})
            case Released() | Dropped():
                return replace(state, lifted=state.lifted - {event.item})
            case Settled() | Fell():
                place = event.place if isinstance(event, Settled) else ELSEWHERE
                located = tuple((item, place if item == event.item else where) for item, where in state.located)
                return replace(
                    state,
                    located=located,
                    in_hand=state.in_hand - {event.item},
                    lifted=state.lifted - {event.item},
                    attempts=state.attempts + (event.attempt > 0),
                )
            case Withdrew():
                return replace(state, withdrawn=True)
            case Returned():
                return replace(state, withdrawn=False)
            case Revealed():
                return replace(state, revealed=True, bound=state.tube, homes=state.located[1:])
            case _:
                return state

    def legal(self, state: State) -> frozenset[Operation]:
        """Wait while a grasp is undecided or the hood is to come; stop when the tube is on the region."""
        undecided = state.in_hand if state.revealed else state.in_hand - state.lifted
        if undecided or (not state.revealed and state.tube in HOLES and TUBE not in state.in_hand):
            return frozenset({WAIT})
        return self.outstanding(state) or frozenset({STOP})

    def outstanding(self, state: State) -> frozenset[Operation]:
        """Return the pick, the insertions into empty holes, or the retrieval from where the tube is."""
        if state.revealed:
            return frozenset() if state.tube == REGION else frozenset({Operation("retrieve", TUBE, state.tube)})
        if TUBE in state.in_hand:
            taken = {place for item, place in state.located if item != TUBE}
            return frozenset(Operation("insert", TUBE, hole) for hole in HOLES if hole not in taken)
        return frozenset() if state.tube in HOLES else frozenset({Operation("pick", TUBE)})

    def evidence(self, state: State) -> tuple[object, ...] | None:
        """Return where the tubes are, what is in the hand, and how many attempts have ended."""
        if (state.in_hand if state.revealed else state.in_hand - state.lifted) != frozenset():
            return None
        return (state.located, state.lifted, state.attempts, state.revealed)

    def due(self, state: State) -> bool:
        """The hood comes once, when the tube is in the rack and the hand is clear."""
        return not state.revealed and state.tube in HOLES and state.withdrawn and not state.in_hand

    def transition(self, state: State, setup: Setup) -> Transition:
        """Move the rack and every tube in it rigidly (equation 10), and bring what is not there yet."""
        before, after = setup.fixtures[RACK], setup.after[RACK]
        brought = {item: pose for item, pose in setup.after.items() if item != RACK}
        carried = tuple(
            Carry(item, before, after)
            for item, place in state.located
            if place in (*HOLES, UNSEATED) and item not in brought
        )
        inside = covering(*HOOD_AT)
        change = Rearrangement({RACK: after}, carried, brought)
        return Transition(HOOD, inside, replace(inside, y=HOOD_ASIDE), WAITING, change)

    def facts(self, state: State, readings: tuple[Reading, ...]) -> tuple[Fact, ...]:
        """Return which places hold a tube, as far as that is certain; which tube is the sample is remembered, not seen.

        A tube that stands unseated, or has left the hand and not come to rest, may be in any hole that none is seated
        in; one that lies or leans somewhere else may be on the marked region too. A hole from which one is being lifted
        is neither.
        """
        del readings  # no instrument here
        loose = state.in_hand - state.lifted
        taken = {place for item, place in state.located if item not in state.in_hand}
        astray = {place for _, place in state.located} & {UNSEATED, ELSEWHERE}
        unknown = {place for item, place in state.located if item in state.in_hand}
        unknown |= {*HOLES} if astray or loose else set()
        unknown |= {REGION} if ELSEWHERE in astray or loose else set()
        places = tuple(place for place in (*HOLES, REGION) if place in taken or place not in unknown)
        holding = () if loose else (Fact(HAND, TAKEN if state.in_hand else EMPTY),)
        return (*(Fact(place, TAKEN if place in taken else EMPTY) for place in places), *holding)

    def frames(self, operation: Operation) -> tuple[str, ...]:
        """Return the hole of an insertion, hole and region of a retrieval; what is picked is the tube in the stand."""
        match operation.kind:
            case "pick":
                return (operation.item,)
            case "retrieve":
                return (operation.place, REGION)
            case _:
                return (operation.place,)

    def candidates(self) -> tuple[str, ...]:
        """Return holes and region: where the tube itself is would say which one is meant."""
        return (*HOLES, REGION)

    def subject(self, state: State, operation: Operation) -> str:
        """Return the tube in the hole that is named, or the one in the hand; which is the sample has to be known."""
        if TUBE in state.in_hand:
            return operation.item
        if operation.kind == "retrieve":
            return next((item for item, place in state.located if place == operation.place), "")
        return "" if state.revealed and state.tube in HOLES else operation.item

    def achieved(self, state: State, operation: Operation) -> bool:
        """Return whether the tube is in the hand, in the hole, or on the marked region."""
        if operation.kind == "pick":
            return operation.item in state.lifted
        return dict(state.located).get(operation.item) == self.destination(operation)

    def violation(self, state: State, event: Event) -> str | None:
        """Distractors are not taken out of their holes, and nothing falls off the bench."""
        match event:
            case Lifted() if event.item != TUBE:
                return "distractor_moved"
            case Fell():
                return "item_off_bench"
            case _:
                return None

    def terminal(
        self, state: State, block: Block, readouts: tuple[Readout, ...], channels: Channels, place: np.ndarray
    ) -> np.ndarray:
        """The tube stands on the marked region, distractors in their holes, released, low motion."""
        if not state.revealed or state.tube != REGION or state.in_hand:
            return np.zeros(block.ticks, dtype=bool)
        homes = dict(state.homes) | {TUBE: REGION}
        wanted = np.array([PLACES.index(homes[item]) for item in channels.items])
        at_rest = low_motion(block).all(axis=1) & ~touched_by_robot(block).any(axis=1)
        return np.asarray((place == wanted).all(axis=1) & at_rest)


def _on_region(block: Block, channels: Channels) -> np.ndarray:
    """Return which tubes stand upright with their axis on the marked square, (k, n)."""
    at = pose_of(block.fixtures[channels.fixtures.index(REGION)])
    pose = block.pose[:, :-1]
    apart = np.abs(pose[..., :2] * LENGTH - np.array((at.x, at.y)))
    return np.asarray((apart <= REGION_HALF).all(axis=-1) & (axes(pose[..., 3:])[..., 2] > np.cos(np.radians(10))))


def _moved(rack: Pose, move: str, rng: np.random.Generator) -> Pose:
    """Return where the rack stands after `move`."""
    while True:
        x, y = (float(rng.uniform(*bounds)) for bounds in RACK_REGION)
        if np.hypot(x - rack.x, y - rack.y) >= FARTHER:
            break
    turn = float(rng.uniform(0, 2 * np.pi))
    match move:
        case "":
            return rack
        case "shift":
            return Pose(x, y, 0.0, rack.yaw)
        case "half turn":
            return Pose(x, y, 0.0, rack.yaw + np.pi)
        case _:
            return Pose(x, y, 0.0, rack.yaw + turn)


def _by_hand(hole: str, rack: Pose, rng: np.random.Generator) -> Pose:
    """Return where a tube in `hole` stands that looks as if a hand had put it there: only memory tells it apart."""
    share, lean, away = (float(rng.uniform(*bounds)) for bounds in (SCATTER_DEPTH, SCATTER_LEAN, SCATTER_AWAY))
    direction = float(rng.uniform(0, 2 * np.pi))
    c, s = float(np.cos(direction)), float(np.sin(direction))
    pose = SOCKETS.seat(hole, rack, share)
    return replace(pose, x=pose.x + away * c, y=pose.y + away * s, lean=(lean * s, -lean * c))


def _colours(kind: Kind, tubes: tuple[str, ...], rng: np.random.Generator) -> dict[str, tuple[float, float, float]]:
    """Return the cap colours: all alike, or the other colours in random order."""
    rest = [colour for colour in COLOURS if colour != kind.colour]
    order = [rest[index] for index in rng.permutation(len(rest))]
    names = [kind.colour, *(order if kind.caps == "distinct" else [kind.colour] * len(rest))]
    return {item: CAP_COLOURS[name] for item, name in zip(tubes, names, strict=False)}


TASKS = (
    Recall(
        name="recall-basic",
        summary="Put one tube into a rack, and fetch it after the rack was hidden.",
        extended=False,
    ),
    Recall(
        name="recall-extended",
        summary="Among tubes that may look alike, fetch the one that was put into a rack that has moved since.",
        extended=True,
    ),
)
