"""Quantitative pouring: bring a stated mass of a liquid from a tube into the beaker on the balance.

Asked: the mass within 0.2 g, nothing spilt, the tube back in the rack. Hidden: how full the tube is, how its lip wets,
and what the beaker holds already; where it holds something, the balance has to be tared first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labference.truth.draw import Member
from labference.truth.events import Event, Tared, Transferred, Weighed
from labference.truth.filling import Filling, WetSetup
from labference.truth.identity import Seeds
from labference.truth.measurement import OK, Block, Channels, Readout
from labference.wire import Fact, Goal, Operation, Reading
from labference.world.parts.wet_bench import BALANCE, BEAKER

from ._wet import (
    DWELL_S,
    PLACES,
    RESPONSE_S,
    RESTS,
    SETTLE_S,
    STOP,
    TARE,
    WAIT,
    Bench,
    WetBench,
    advance,
    pick,
    place,
    pour,
)

AMOUNTS = (10.0, 20.0, 30.0, 40.0)
"""Masses that are asked for [g]: labevolver, figure 6; 20 g is its table 1."""
TOLERANCE_G = 0.2
"""Largest deviation [g]: labevolver, section 4.3."""
FILLS = (42.0, 48.0)
"""What a tube holds at the start [g]."""
BEGUN = (8.0, 25.0)
"""What a beaker holds that is not empty [g]."""
ZERO_G = 0.1001
"""What a balance may show that need not be tared [g]."""
BUDGET_STEPS = 6000
"""Control steps per episode: 5 min."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an instance is about: the mass [g], and whether the beaker holds something already."""

    amount: float
    begun: bool


@dataclass(frozen=True, slots=True)
class Instance:
    """One pouring problem; `fill` and `begun` are what tube and beaker hold [g]."""

    kind: Kind
    fill: float
    begun: float


@dataclass(frozen=True, slots=True)
class State(Bench):
    """What is confirmed; `zeroed` says that the balance counts what is poured."""

    amount: float = 0.0
    zeroed: bool = False


@dataclass(frozen=True, slots=True)
class PouringTask(WetBench):
    """The pouring contract for one liquid, a name in `world.wet.liquids`; the tube is called after it."""

    name: str
    summary: str
    liquid: str
    tubes: tuple[str, ...]
    kinds: tuple[str, ...] = ("pick", "place", "pour", "tare", "weigh", "wait", "stop")
    version: str = "1"
    places: tuple[str, ...] = RESTS
    settle_s: float = SETTLE_S
    dwell_s: float = DWELL_S
    response_s: float = RESPONSE_S
    budget_steps: int = BUDGET_STEPS
    history: str = "online"
    telling: tuple[str, ...] = (BEAKER,)
    fidelities: tuple[str, ...] = ("fast", "physics")

    @property
    def tube(self) -> str:
        """Return the name of the tube."""
        return self.tubes[0]

    def strata(self) -> tuple[Kind, ...]:
        """Return every mass, into an empty beaker and into one that holds something."""
        return tuple(Kind(amount, begun) for amount in AMOUNTS for begun in (False, True))

    def lists(self) -> dict[str, tuple[Member, ...]]:
        """Return every mass into an empty beaker, as figure 6 has it, and 20 g alone, as table 1."""
        figure = tuple(Member(f"{amount:.0f}g", number, Kind(amount, False)) for number, amount in enumerate(AMOUNTS))
        return {"figure-6": figure, "table-1": (Member("20g", 0, Kind(20.0, False)),)}

    def sample(self, stratum: Kind, rng: np.random.Generator) -> Instance:
        """Draw how full tube and beaker are."""
        fill, begun = float(rng.uniform(*FILLS)), float(rng.uniform(*BEGUN))
        return Instance(stratum, fill, begun if stratum.begun else 0.0)

    def twins(self, rng: np.random.Generator) -> tuple[Instance, Instance]:
        """Draw an empty beaker and one that holds something: the balance shows which."""
        amount = float(AMOUNTS[rng.integers(len(AMOUNTS))])
        other = self.sample(Kind(amount, True), rng)
        return Instance(Kind(amount, False), other.fill, 0.0), other

    def scored(self, instance: Instance) -> State:
        """Return the state at the handoff: the first choice is the scored one."""
        return self.start(instance)

    def restore(self, record: dict[str, Any]) -> Instance:
        """Return the instance that `run.json` holds."""
        return Instance(Kind(**record["kind"]), record["fill"], record["begun"])

    def setup(self, instance: Instance, seeds: Seeds) -> WetSetup:
        """Lay out the bench, and fill tube and beaker."""
        liquids = {self.tube: Filling(instance.fill, self.liquid)}
        if instance.begun:
            liquids[BEAKER] = Filling(instance.begun, self.liquid)
        return self.lay_out(seeds, liquids)

    def goal(self, instance: Instance) -> Goal:
        """Return the instruction; it says nothing of what tube and beaker hold."""
        amount = instance.kind.amount
        instruction = (
            f"Pour {amount:.1f} g of {self.liquid} from the tube {self.tube!r} into the beaker on the balance, within "
            f"{TOLERANCE_G:g} g and without spilling. Where the balance does not show 0.0 g at first, tare it before. "
            "Finish with the tube back in the rack and the hand empty."
        )
        return Goal(instruction, self.kinds, (self.tube, BEAKER), PLACES, self.settings())

    def start(self, instance: Instance) -> State:
        """Return the state that the preparation establishes."""
        begun = instance.begun
        return State(self.homes(), shown=round(begun, 1), amount=instance.kind.amount, zeroed=not begun)

    def update(self, state: State, event: Event) -> State:
        """Advance on confirmed events only."""
        state = advance(state, event)
        match event:
            case Tared():
                return replace(state, zeroed=True)
            case Weighed() if not state.zeroed and abs(event.grams) <= ZERO_G:
                return replace(state, zeroed=True)
            case _:
                return state

    def legal(self, state: State) -> frozenset[Operation]:
        """Read the balance, tare it where it does not begin at 0, pour while something is missing, put the tube back.

        Too much cannot be put right: then nothing is legal once the tube is back.
        """
        if state.busy is not None or state.grasped:
            return frozenset({WAIT})
        if state.shown is None:
            return self.unread(state)
        if not state.zeroed:
            return frozenset({place(self.tube) if state.held else TARE})
        missing = state.amount - state.shown
        if missing > TOLERANCE_G + 1e-9:
            return frozenset({pour(self.tube) if state.held == self.tube else pick(self.tube)})
        if state.held:
            return frozenset({place(self.tube)})
        return frozenset({STOP}) if missing >= -TOLERANCE_G - 1e-9 else frozenset()

    def outstanding(self, state: State) -> frozenset[Operation]:
        """Return what remains to be done."""
        return self.legal(state) - {STOP}

    def evidence(self, state: State) -> tuple[object, ...] | None:
        """Return what is in the hand, what the balance shows, and how many operations have ended."""
        if state.busy is not None or state.grasped or (state.shown is None and not state.lent):
            return None
        return (state.held, state.shown, state.located, state.attempts)

    def facts(self, state: State, readings: tuple[Reading, ...]) -> tuple[Fact, ...]:
        """Return what is in the hand, what the balance shows, and whether it counts what is poured."""
        del readings
        hand = () if state.grasped else (Fact("hand", state.held or "empty"),)
        return (*hand, *(() if state.shown is None else (Fact(BALANCE, state.shown),)), Fact("zeroed", state.zeroed))

    def aim(self, state: State, operation: Operation) -> dict[str, float]:
        """Return what is missing."""
        if operation.kind != "pour" or state.shown is None:
            return {}
        return {"grams": state.amount - state.shown}

    def margin(self, state: State, operation: Operation) -> dict[str, float]:
        """Return the tolerance."""
        del state, operation
        return {"grams": TOLERANCE_G}

    def quantities(self, instance: Instance, events: Sequence[Event]) -> dict[str, float]:
        """Return by how much what arrived in the beaker differs from what was asked for, in truth and not as shown."""
        poured = sum(event.grams for event in events if isinstance(event, Transferred) and event.vessel == BEAKER)
        return {"error [g]": poured - instance.kind.amount}

    def violation(self, state: State, event: Event) -> str | None:
        """Nothing falls off the bench, and nothing is spilt."""
        return self.slip(state, event)

    def terminal(
        self, state: State, block: Block, readouts: tuple[Readout, ...], channels: Channels, place: np.ndarray
    ) -> np.ndarray:
        """The balance shows the mass, stable, and everything stands where it belongs."""
        if not state.zeroed or state.shown is None:
            return np.zeros(block.ticks, dtype=bool)
        readout = readouts[0]
        reads = (readout.status == OK) & readout.stable
        within = np.abs(readout.shown - state.amount) <= TOLERANCE_G + 1e-9
        return np.asarray(self.tidy(state, block, place) & reads & within)


TASKS = (
    PouringTask(
        "pouring-water",
        "Pour a stated mass of water into a beaker on a balance.",
        "water",
        ("water",),
        fidelities=("fast", "physics"),
    ),
    PouringTask("pouring-sucrose", "Pour a stated mass of 40 % sucrose solution.", "sucrose", ("sucrose",)),
    PouringTask("pouring-oil", "Pour a stated mass of olive oil.", "olive oil", ("oil",)),
)
