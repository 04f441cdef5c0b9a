"""Centrifuge loading: seat two equal tubes in opposite slots of a rotor, going by what is actually occupied.

Asked: both tubes in opposite slots, released and stable. What decides the next operation is in view: the slot in which
the first tube really is. Basic: one tube is seated, the second is available. Extended: both are outside; once the first
is seated and the hand has withdrawn, a hood hides the rotor for a moment, and in three of four instances the tube is no
longer where it was put: one slot further, one slot back, or drawn halfway out.
"""

from __future__ import annotations

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
from labference.truth.geometry import Region, Shape
from labference.truth.identity import Seeds
from labference.truth.measurement import (
    Block,
    Carry,
    Channels,
    Pose,
    Readout,
    Rearrangement,
    Setup,
    Transition,
)
from labference.truth.recognise import Entry, Withdrawal
from labference.truth.sockets import SUPPORT, Sockets
from labference.truth.watch import low_motion, touched_by_robot
from labference.wire import Fact, Goal, Operation, Reading
from labference.wire.tubes import (
    CAP_COLOURS,
    CAP_RADIUS,
    CLEARANCE,
    GRIP_HEIGHT,
    ROTOR_MOUTH,
    ROTOR_RADIUS,
    SLOT_DEPTH,
    SLOTS,
    STAND_PLACES,
    TUBE_HEIGHT,
    TUBE_LENGTH,
    TUBE_RADIUS,
    opposite,
    slot_position,
)
from labference.world.parts.hood import WAITING, Hood, covering
from labference.world.parts.rotor import Rotor
from labference.world.parts.stand import Stand, standing_in
from labference.world.parts.table import TUBE_VIEWS, Table
from labference.world.parts.tube import Tube

SETTLE_S = 0.5
"""Rest after which a seating is confirmed [s]: paper section 8.1."""
DWELL_S = 3.0
"""Continuous opposite occupancy [s]: paper section 8.1."""
RESPONSE_S = 60.0
"""Response window of an opportunity, simulated time from delivery [s]."""
BUDGET_STEPS = 3600
"""Control steps per episode, as for weighing."""

ROTOR_AT, STAND_AT = (0.50, 0.16), (0.46, -0.16)
ROTOR_SHIFT, STAND_SHIFT, STAND_TURN = 0.03, 0.02, np.radians(10)
"""Nominal places, largest layout shifts per axis [m], and largest turn of the stand [rad]."""
RELOCATION = 0.03
"""Largest shift per axis of a rotor that is moved rigidly for a geometric pair [m]."""
RAISED = 0.35
"""Share of the depth that a tube keeps which is drawn halfway out; 0.6 are needed."""
SEATED = 0.96
"""Share of the depth that a hand seats a tube to."""
STEP = 2 * np.pi / SLOTS
"""Angle between neighbouring slots [rad]."""
HOOD_ASIDE = 0.95
"""Where the hood comes from, y [m]."""

ROTOR, STAND, TABLE, HOOD, ELSEWHERE = "rotor", "stand", "table", "hood", "elsewhere"
HAND = "hand"
"""Where a fact says that a tube is which was taken."""
ITEMS = ("red tube", "blue tube")
SLOT_NAMES = tuple(f"slot {index}" for index in range(SLOTS))
RIMS = tuple(f"unseated {index}" for index in range(SLOTS))
"""Places of a tube that the rotor carries without its being seated, by the nearest slot."""
PLACES = (*SLOT_NAMES, *RIMS, STAND, TABLE, ELSEWHERE)
_INDEX = {place: index for index, place in enumerate(PLACES)}
CHANGES = ("kept", "ahead", "behind", "raised")
"""What happens to the first tube below the hood."""
WAIT, STOP = Operation("wait"), Operation("stop")

SOCKETS = Sockets(
    fixture=ROTOR,
    surface=ROTOR,
    names=SLOT_NAMES,
    mouths=tuple(slot_position(index) for index in range(SLOTS)),
    height=ROTOR_MOUTH,
    depth=SLOT_DEPTH,
    clearance=CLEARANCE,
    spacing=2 * ROTOR_RADIUS * float(np.sin(np.pi / SLOTS)),
    body=TUBE_RADIUS,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A stratum: what the first tube is at the start, in which slot, and what else is special.

    first   outside, seated, or raised (halfway out)
    held    whether the hand already holds the second tube
    change  one of `CHANGES`, "" where no hood comes
    moved   whether the rotor stands elsewhere than the layout stream says, by a rigid transform
    """

    first: str = "outside"
    slot: int = 0
    held: bool = False
    change: str = ""
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Instance:
    """One loading problem: `kind` as in a stratum, which tube is the first, and the rotor's shift [m, m, rad]."""

    kind: Kind
    first: str
    shift: tuple[float, float, float]

    @property
    def second(self) -> str:
        """Return the other tube."""
        return other(self.first)


@dataclass(frozen=True, slots=True)
class State:
    """What is confirmed.

    in_hand    tubes that were grasped and have not come to rest; `lifted` those that nothing else carries
    pending    the tube whose placement failed: it comes first
    change     what the environment will do, "" where it does nothing (any more)
    acted      whether the environment has acted
    attempts   concluded attempts, so that a failed one is new evidence
    """

    located: tuple[tuple[str, str], ...]
    in_hand: frozenset[str] = frozenset()
    lifted: frozenset[str] = frozenset()
    pending: str = ""
    withdrawn: bool = False
    change: str = ""
    acted: bool = False
    attempts: int = 0

    @property
    def seated(self) -> dict[str, int]:
        """Return the slot of each seated tube."""
        return {item: SLOT_NAMES.index(place) for item, place in self.located if place in SLOT_NAMES}

    @property
    def balanced(self) -> bool:
        """Return whether both tubes are seated in opposite slots."""
        slots = list(self.seated.values())
        return len(slots) == len(ITEMS) and slots[1] == opposite(slots[0])

    @property
    def covered_next(self) -> bool:
        """Return whether the environment acts before anything else is to be done."""
        aside = all(place in (*SLOT_NAMES, STAND, TABLE) for _, place in self.located)
        return bool(self.change) and not self.acted and len(self.seated) == 1 and not self.in_hand and aside


@dataclass(frozen=True, slots=True)
class Centrifuge(Defaults):
    """The loading contract; `extended` starts with both tubes outside and has the environment act once."""

    name: str
    summary: str
    extended: bool
    version: str = "1"
    places: tuple[str, ...] = PLACES
    settle_s: float = SETTLE_S
    dwell_s: float = DWELL_S
    response_s: float = RESPONSE_S
    budget_steps: int = BUDGET_STEPS
    history: str = "online"
    telling: tuple[str, ...] = ()

    def parts(self) -> tuple[Table | Rotor | Stand | Hood | Tube, ...]:
        """Return the scene: a rotor, a stand, two tubes, and the hood."""
        return (Table(TABLE, views=TUBE_VIEWS), Rotor(ROTOR), Stand(STAND), Hood(HOOD), *map(Tube, ITEMS))

    def shapes(self) -> dict[str, Shape]:
        """Return what a tube measures."""
        return {item: Shape(TUBE_RADIUS, TUBE_LENGTH, TUBE_HEIGHT, CAP_RADIUS) for item in ITEMS}

    def regions(self, fixtures: Mapping[str, Pose]) -> dict[str, Region]:
        """Return the slots where the rotor stands."""
        return dict(SOCKETS.regions(fixtures[ROTOR]))

    def destination(self, operation: Operation) -> str:
        """Return the slot of an insertion; a pick leaves the tube in the hand."""
        return operation.place

    def recognisers(self, channels: Channels) -> tuple[Recogniser, ...]:
        """Return the recogniser of insertions, and what tells when the hand has withdrawn."""
        return (Entry(SOCKETS, channels), Withdrawal(channels))

    def strata(self) -> tuple[Kind, ...]:
        """Return every slot of the first tube in basic, every change below the hood in extended."""
        if self.extended:
            return tuple(Kind(change=change) for change in CHANGES)
        return tuple(Kind("seated", slot) for slot in range(SLOTS))

    def lists(self) -> dict[str, tuple[Member, ...]]:
        """Return the controlled instances that a user can name.

        destination   the second tube is held, the first one's slot varies: only the insertion is to be chosen
        recovery      the first tube is seated, or stuck halfway in the same slot: which tube comes next
        equivariance  as destination, with the rotor where it was and moved rigidly: the same local answer
        """
        slots = range(SLOTS)
        return {
            "destination": tuple(Member(str(slot), 0, Kind("seated", slot, held=True)) for slot in slots),
            "recovery": tuple(
                Member(f"{slot}-{first}", slot, Kind(first, slot)) for slot in slots for first in ("seated", "raised")
            ),
            "equivariance": tuple(
                Member(f"{slot}-{'moved' if moved else 'still'}", slot, Kind("seated", slot, held=True, moved=moved))
                for slot in slots
                for moved in (False, True)
            ),
        }

    def sample(self, stratum: Kind, rng: np.random.Generator) -> Instance:
        """Draw which tube is the first, and how a moved rotor is moved."""
        first = ITEMS[rng.integers(len(ITEMS))]
        x, y = (float(value) for value in rng.uniform(-RELOCATION, RELOCATION, 2))
        yaw = float(rng.uniform(0, 2 * np.pi))
        return Instance(stratum, first, (x, y, yaw) if stratum.moved else (0.0, 0.0, 0.0))

    def twins(self, rng: np.random.Generator) -> tuple[Instance, Instance]:
        """Draw two instances: other slots of the seated tube in basic, other changes below the hood in extended."""
        if self.extended:
            one, two = Kind(change="ahead"), Kind(change="behind")
        else:
            slots = rng.choice(SLOTS, size=2, replace=False)
            one, two = (Kind("seated", int(slot)) for slot in slots)
        instance = self.sample(one, rng)
        return instance, replace(instance, kind=two)

    def scored(self, instance: Instance) -> State:
        """Return the state in which the second tube is in the hand; a first tube from outside was put into slot 0."""
        state, kind = self.start(instance), instance.kind
        if kind.first == "outside":
            moved = {"ahead": SLOT_NAMES[1], "behind": SLOT_NAMES[-1], "raised": RIMS[0]}
            place = moved.get(kind.change, SLOT_NAMES[0])
            state = replace(state, located=_relocated(state, instance.first, place), acted=bool(kind.change))
        if kind.first == "raised" or kind.change == "raised":
            return replace(state, pending=instance.first)
        return replace(state, in_hand=frozenset({instance.second}), lifted=frozenset({instance.second}))

    def restore(self, record: dict[str, Any]) -> Instance:
        """Return the instance that `run.json` holds."""
        x, y, yaw = record["shift"]
        return Instance(Kind(**record["kind"]), record["first"], (x, y, yaw))

    def setup(self, instance: Instance, seeds: Seeds) -> Setup:
        """Lay out rotor, stand and tubes; the draw does not depend on slots or changes."""
        rng = np.random.default_rng(seeds.layout)
        x, y = (float(value) for value in np.array(ROTOR_AT) + rng.uniform(-ROTOR_SHIFT, ROTOR_SHIFT, 2))
        rotor = Pose(x + instance.shift[0], y + instance.shift[1], 0.0, _turn(rng, instance.shift[2]))
        u, v = (float(value) for value in np.array(STAND_AT) + rng.uniform(-STAND_SHIFT, STAND_SHIFT, 2))
        stand = Pose(u, v, 0.0, float(rng.uniform(-STAND_TURN, STAND_TURN)))
        holes = rng.permutation(STAND_PLACES)
        poses = {item: standing_in(stand, int(hole)) for item, hole in zip(ITEMS, holes, strict=False)}
        kind = instance.kind
        if kind.first != "outside":
            share = RAISED if kind.first == "raised" else SEATED
            poses[instance.first] = SOCKETS.seat(SLOT_NAMES[kind.slot], rotor, share)
        return Setup(
            items=poses,
            fixtures={ROTOR: rotor, STAND: stand, HOOD: WAITING},
            masses={},
            colours={item: CAP_COLOURS[item.split()[0]] for item in ITEMS},
            held=(instance.second, GRIP_HEIGHT) if kind.held else None,
        )

    def goal(self, instance: Instance) -> Goal:
        """Return the instruction; it states the rule, never the slot."""
        hood = (
            "When the first tube is seated, withdraw the empty hand above 0.25 m: a hood then hides the rotor for a "
            "moment. Go on from what the rotor shows afterwards. "
            if self.extended
            else ""
        )
        instruction = (
            "Load the centrifuge: the red tube and the blue tube, which are equally heavy, must be seated in opposite "
            f"slots of the rotor. Its {SLOTS} slots are numbered 0 to {SLOTS - 1} counter-clockwise from the red bar; "
            f"opposite slot j is slot j + {SLOTS // 2}, counted on from 0 after {SLOTS - 1}. A tube counts as seated "
            f"when it has entered at least 60 % of the depth, upright and released. {hood}"
            "A tube that is not fully seated must be taken again first. Finish with both tubes at rest."
        )
        return Goal(instruction, kinds=("pick", "insert", "wait", "stop"), items=ITEMS, places=SLOT_NAMES)

    def start(self, instance: Instance) -> State:
        """Return the state that the preparation establishes."""
        kind, second = instance.kind, instance.second
        place = {"outside": STAND, "seated": SLOT_NAMES[kind.slot], "raised": RIMS[kind.slot]}[kind.first]
        located = {instance.first: place, second: ELSEWHERE if kind.held else STAND}
        held = frozenset({second} if kind.held else ())
        return State(
            tuple((item, located[item]) for item in ITEMS),
            in_hand=held,
            lifted=held,
            pending=instance.first if kind.first == "raised" else "",
            change=kind.change,
        )

    def place(self, block: Block, channels: Channels) -> np.ndarray:
        """Return the slot in which a tube is seated, the slot at whose rim it hangs, or the surface that carries it."""
        support = block.touch[:, :-1] & SUPPORT
        where = np.full(support.shape, -1, np.int8)
        where[support != 0] = _INDEX[ELSEWHERE]
        where[support == channels.bit(STAND)] = _INDEX[STAND]
        where[support == channels.bit(TABLE)] = _INDEX[TABLE]
        on_rotor = SOCKETS.carries(block, channels)
        if on_rotor.any():
            found = SOCKETS.relate(block, channels)
            hanging = on_rotor & (found.depth > 0) & (found.upright > 0.7)
            where[hanging] = SLOTS + found.nearest[hanging]
            seated = SOCKETS.seated(found, on_rotor)
            where[seated >= 0] = seated[seated >= 0]
        return where

    def located(self, state: State) -> dict[str, str]:
        """Return the confirmed place of each tube."""
        return dict(state.located)

    def chosen(self, state: State, event: Grasped | Entered | Approached) -> Operation | None:
        """Grasping selects a tube, entering a slot selects where it goes."""
        match event:
            case Grasped():
                return Operation("pick", event.item)
            case Entered():
                return Operation("insert", event.item, event.place)
            case _:
                return None

    def update(self, state: State, event: Event) -> State:
        """Advance on confirmed events only."""
        match event:
            case Grasped():
                return replace(state, in_hand=state.in_hand | {event.item})
            case Lifted():
                return replace(state, lifted=state.lifted | {event.item})
            case Released() | Dropped():
                return replace(state, lifted=state.lifted - {event.item})
            case Settled() | Fell():
                return _rested(state, event)
            case Withdrew():
                return replace(state, withdrawn=True)
            case Returned():
                return replace(state, withdrawn=False)
            case Revealed():
                return replace(state, acted=True)
            case _:
                return state

    def legal(self, state: State) -> frozenset[Operation]:
        """Wait while a grasp is undecided or the hood is to come; stop when balanced; otherwise what is left to do."""
        if state.balanced and not state.in_hand:
            return frozenset({STOP})
        if state.in_hand - state.lifted or state.covered_next:
            return frozenset({WAIT})
        return self.outstanding(state)

    def outstanding(self, state: State) -> frozenset[Operation]:
        """Return the insertion of a tube in the hand, or the picks that come next."""
        if state.in_hand:
            return frozenset(
                Operation("insert", item, SLOT_NAMES[slot])
                for item in state.in_hand
                for slot in _destinations(state, item)
            )
        if state.balanced:
            return frozenset()
        if state.pending:
            return frozenset({Operation("pick", state.pending)})
        outside = [item for item in ITEMS if item not in state.seated]
        return frozenset(Operation("pick", item) for item in outside or ITEMS)

    def evidence(self, state: State) -> tuple[object, ...] | None:
        """Return where the tubes are, what is in the hand, and how many attempts have ended."""
        if state.in_hand - state.lifted:
            return None
        return (state.located, state.lifted, state.attempts, state.acted)

    def due(self, state: State) -> bool:
        """The hood comes once, when the first tube is seated and the hand is clear."""
        return state.covered_next and state.withdrawn

    def transition(self, state: State, setup: Setup) -> Transition:
        """Return what happens to the first tube below the hood: it is rebuilt in every case."""
        rotor = setup.fixtures[ROTOR]
        (item,) = state.seated
        after = {
            "kept": rotor,
            "ahead": replace(rotor, yaw=rotor.yaw + STEP),
            "behind": replace(rotor, yaw=rotor.yaw - STEP),
            "raised": replace(rotor, z=rotor.z + (SEATED - RAISED) * SLOT_DEPTH),
        }[state.change]
        inside = covering(rotor.x, rotor.y)
        return Transition(
            HOOD, inside, replace(inside, y=HOOD_ASIDE), WAITING, Rearrangement({}, (Carry(item, rotor, after),))
        )

    def facts(self, state: State, readings: tuple[Reading, ...]) -> tuple[Fact, ...]:
        """Return where each tube is, "hand" for one that was taken."""
        del readings  # no instrument here
        return tuple(Fact(item, HAND if item in state.in_hand else place) for item, place in state.located)

    def frames(self, operation: Operation) -> tuple[str, ...]:
        """Return the tube of a pick, the slot of an insertion."""
        return (operation.item,) if operation.kind == "pick" else (operation.place,)

    def candidates(self) -> tuple[str, ...]:
        """Return tubes and slots."""
        return (*ITEMS, *SLOT_NAMES)

    def achieved(self, state: State, operation: Operation) -> bool:
        """Return whether the tube is in the hand, or in the slot."""
        if operation.kind == "pick":
            return operation.item in state.lifted
        return dict(state.located).get(operation.item) == operation.place

    def violation(self, state: State, event: Event) -> str | None:
        """Nothing falls off the bench."""
        return "item_off_bench" if isinstance(event, Fell) else None

    def terminal(
        self, state: State, block: Block, readouts: tuple[Readout, ...], channels: Channels, place: np.ndarray
    ) -> np.ndarray:
        """Both tubes seated in opposite slots, released, low motion."""
        if not state.balanced or state.in_hand:
            return np.zeros(block.ticks, dtype=bool)
        wanted = np.array([state.seated[item] for item in channels.items])
        at_rest = low_motion(block).all(axis=1) & ~touched_by_robot(block).any(axis=1)
        return np.asarray((place == wanted).all(axis=1) & at_rest)


def other(item: str) -> str:
    """Return the other tube."""
    return ITEMS[1 - ITEMS.index(item)]


def _rested(state: State, event: Settled | Fell) -> State:
    place = event.place if isinstance(event, Settled) else ELSEWHERE
    left = state.pending if state.pending != event.item else ""
    pending = left if place in (*SLOT_NAMES, STAND) else event.item
    return replace(
        state,
        located=_relocated(state, event.item, place),
        in_hand=state.in_hand - {event.item},
        lifted=state.lifted - {event.item},
        pending=pending,
        attempts=state.attempts + (event.attempt > 0),
    )


def _relocated(state: State, item: str, place: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, place if name == item else where) for name, where in state.located)


def _destinations(state: State, item: str) -> list[int]:
    """Return the slots into which `item` may go: opposite the other tube, or any whose opposite is free too."""
    partner = other(item)
    if partner in state.seated:
        return [opposite(state.seated[partner])]
    place = dict(state.located)[partner]
    stuck = {RIMS.index(place)} if place in RIMS else set()
    return [slot for slot in range(SLOTS) if not {slot, opposite(slot)} & stuck]


def _turn(rng: np.random.Generator, more: float) -> float:
    return float(rng.uniform(0, 2 * np.pi)) + more


TASKS = (
    Centrifuge(
        name="centrifuge-basic",
        summary="One tube is seated; the second goes opposite.",
        extended=False,
        telling=ITEMS,
    ),
    Centrifuge(
        name="centrifuge-extended",
        summary="Two tubes from outside; where the first really is decides where the second goes.",
        extended=True,
    ),
)
