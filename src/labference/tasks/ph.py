"""Regulation of pH, and of pH with conductivity (EC): bring a water to stated values by adding from labelled tubes.

Asked: values within their tolerances, confirmed by a settled reading after the last addition was stirred in, everything
put back. Hidden: which acid the tube holds and how strong the stocks are, how hard the water is, and whether somebody
has acidified it already. Without EC there are acid and base; with EC salt and water too, and from hard or soft water pH
and EC cannot both be reached with acid alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labference.truth.draw import Member
from labference.truth.events import Event, Immersed, Measured, Rinsed, Stirred, Transferred, Withdrawn
from labference.truth.filling import Filling, WetSetup
from labference.truth.identity import Seeds
from labference.truth.measurement import Block, Channels, Readout
from labference.wire import Fact, Goal, Operation, Reading
from labference.wire.wetlab import KINDS
from labference.world.parts.wet_bench import BALANCE, BEAKER, PROBE, RINSE, ROD

from ._wet import (
    CAPACITY_G,
    DWELL_S,
    MEASURE,
    PLACES,
    RESPONSE_S,
    RESTS,
    RETURN_PROBE,
    RINSE_PROBE,
    SETTLE_S,
    STIR,
    STOP,
    TAKE_PROBE,
    WAIT,
    Bench,
    WetBench,
    advance,
    pick,
    place,
    pour,
)

ACID, BASE, SALT, WATER = "acid", "base", "salt", "water"
TAP = (("Ca(HCO3)2", 0.30), ("NaHCO3", 0.40), ("MgSO4", 0.075), ("NaCl", 0.20), ("CO2", 0.0326))
"""Mol per mol of alkalinity of a tap-like water near pH 7.74: the shares of `world.wet.reagents`, with its CO2 at
2 mmol/kg."""
ALKALINITY = (1.6e-3, 2.4e-3)
"""Alkalinity of the water [mol/kg] where only pH is asked for."""
HARD, SOFT = (2.7e-3, 3.3e-3), (0.9e-3, 1.3e-3)
"""Alkalinities of hard and soft water [mol/kg]: EC about 410 and 160 uS/cm."""
ACIDIC = ("acidified", "soft")
"""Waters to which somebody has added hydrochloric acid."""
ACIDIFIED = 1.0e-4
"""Hydrochloric acid above the alkalinity of acidified water [mol/kg]: pH about 4."""
ACIDS = {"HCl": (0.010, 0.014), "CH3COOH": (0.015, 0.020)}
"""Acids that the tube may hold, and how strong they may be [mol/kg]."""
BASES, SALTS = {"high": (0.0018, 0.0026), "low": (0.006, 0.009)}, (0.016, 0.024)
"""Strengths of the base NaOH where pH starts high or low, and of the salt NaCl [mol/kg]: a pour can be dosed from about
1 g, and the tolerances of pH are some tenths of a gram wide."""
START_G, JOINT_START_G = (55.0, 65.0), (45.0, 50.0)
"""What the beaker holds at the start [g], for pH alone and with EC."""
FILL_G, RINSE_G = (44.0, 48.0), 80.0
"""What a tube holds at the start, and the rinse beaker [g]."""
PH_TOLERANCE, EC_TOLERANCE = 0.2, 10.0
"""Largest deviations of shown values, EC in uS/cm."""
PHS = (5.0, 6.0, 9.0)
"""pH values asked for alone: labevolver, section 4.4."""
PAIRS = ((6.0, 300.0), (5.0, 400.0), (8.5, 350.0), (7.0, 250.0))
"""pH and EC [uS/cm] asked for together; labevolver, section 4.5, names the first."""
NOMINAL = {"tap": (7.7, 280.0), "acidified": (4.1, 290.0), "hard": (7.7, 410.0), "soft": (4.1, 170.0)}
"""About what a meter shows of each water: for the state in which twins are scored."""
BUDGET_STEPS, JOINT_BUDGET_STEPS = 48_000, 96_000
"""Control steps per episode: 40 and 80 min."""
MEASURE_S = 180.0
"""How long the reference executor measures [s]."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an instance is about: the values asked for, EC 0.0 where it is not, and the water, a name in `NOMINAL`."""

    ph: float
    ec: float
    water: str


@dataclass(frozen=True, slots=True)
class Instance:
    """One problem; what is hidden: alkalinity and strengths [mol/kg], masses [g], and the acid.

    `strengths` are those of acid, base and salt; `fills` what the tubes hold, in their order.
    """

    kind: Kind
    alkalinity: float
    grams: float
    acid: str
    strengths: tuple[float, float, float]
    fills: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class State(Bench):
    """What is confirmed.

    target_ph, target_ec  asked for; EC 0.0 where it is not
    ph, ec     settled reading of the beaker since the last addition, None where there is none
    seen       pH of the last settled reading, whatever was added since
    mixed      whether the last addition was stirred in
    additions  pours into the beaker
    coat       what hangs on the probe: the additions at which it was in the beaker, -1 for rinse water
    """

    target_ph: float = 7.0
    target_ec: float = 0.0
    ph: float | None = None
    ec: float | None = None
    seen: float | None = None
    mixed: bool = True
    additions: int = 0
    coat: int = -1


@dataclass(frozen=True, slots=True)
class Regulation(WetBench):
    """The contract of pH regulation; with `joint`, EC too."""

    name: str
    summary: str
    joint: bool
    tubes: tuple[str, ...]
    budget_steps: int
    kinds: tuple[str, ...] = ("wait", *KINDS)
    version: str = "1"
    places: tuple[str, ...] = RESTS
    settle_s: float = SETTLE_S
    dwell_s: float = DWELL_S
    response_s: float = RESPONSE_S
    history: str = "online"
    telling: tuple[str, ...] = ()
    fidelities: tuple[str, ...] = ("fast", "physics")

    def strata(self) -> tuple[Kind, ...]:
        """Return every target with every water; one that is acidified has nothing to do at pH 4."""
        if self.joint:
            return tuple(Kind(ph, ec, water) for ph, ec in PAIRS for water in ("hard", "soft"))
        return tuple(Kind(ph, 0.0, water) for ph in PHS for water in ("tap", "acidified"))

    def lists(self) -> dict[str, tuple[Member, ...]]:
        """Return every target from the water of that list, one after the other."""
        water = "hard" if self.joint else "tap"
        targets = PAIRS if self.joint else tuple((ph, 0.0) for ph in PHS)
        members = tuple(
            Member(f"ph{ph:g}" + (f"-ec{ec:g}" if ec else ""), number, Kind(ph, ec, water))
            for number, (ph, ec) in enumerate(targets)
        )
        return {"targets": members, "paper": members[:1]}

    def sample(self, stratum: Kind, rng: np.random.Generator) -> Instance:
        """Draw water, stocks and masses."""
        ranges = {"hard": HARD, "soft": SOFT}
        acid = str(rng.choice(sorted(ACIDS)))
        spans = (ACIDS[acid], BASES["low" if stratum.water in ACIDIC else "high"], SALTS)
        a, b, c = (float(rng.uniform(*span)) for span in spans)
        fills = tuple(float(value) for value in rng.uniform(*FILL_G, size=len(self.tubes)))
        grams = float(rng.uniform(*(JOINT_START_G if self.joint else START_G)))
        return Instance(
            stratum, float(rng.uniform(*ranges.get(stratum.water, ALKALINITY))), grams, acid, (a, b, c), fills
        )

    def twins(self, rng: np.random.Generator) -> tuple[Instance, Instance]:
        """Draw two waters that look alike and weigh the same: one needs acid, the other base (or water, or salt)."""
        one, two = ("hard", "soft") if self.joint else ("tap", "acidified")
        ph, ec = PAIRS[0] if self.joint else (PHS[rng.integers(2)], 0.0)
        first = self.sample(Kind(ph, ec, one), rng)
        second = self.sample(Kind(ph, ec, two), rng)
        return first, replace(second, grams=first.grams, acid=first.acid, strengths=first.strengths, fills=first.fills)

    def scored(self, instance: Instance) -> State:
        """Return the state once the water was measured and the probe is back."""
        ph, ec = NOMINAL[instance.kind.water]
        return replace(self.start(instance), ph=ph, ec=ec, seen=ph, attempts=4)

    def restore(self, record: dict[str, Any]) -> Instance:
        """Return the instance that `run.json` holds."""
        a, b, c = record["strengths"]
        kind = Kind(**record["kind"])
        return Instance(kind, record["alkalinity"], record["grams"], record["acid"], (a, b, c), tuple(record["fills"]))

    def setup(self, instance: Instance, seeds: Seeds) -> WetSetup:
        """Lay out the bench, and fill beaker, tubes and rinse beaker."""
        acid, base, salt = instance.strengths
        stocks: dict[str, tuple[tuple[str, float], ...]] = {
            ACID: ((instance.acid, acid),),
            BASE: (("NaOH", base),),
            SALT: (("NaCl", salt),),
            WATER: (),
        }
        liquids = {
            name: Filling(grams, "water", stocks[name]) for name, grams in zip(self.tubes, instance.fills, strict=True)
        }
        liquids[BEAKER] = Filling(instance.grams, "water", _water(instance))
        liquids[RINSE] = Filling(RINSE_G)
        return self.lay_out(seeds, liquids)

    def goal(self, instance: Instance) -> Goal:
        """Return the instruction; it says nothing of what is dissolved in water and stocks."""
        kind = instance.kind
        asked = f"pH {kind.ph:.1f} with a tolerance of {PH_TOLERANCE:g}"
        if self.joint:
            asked += f" and EC {kind.ec:.0f} uS/cm with a tolerance of {EC_TOLERANCE:g} uS/cm"
        names = ", ".join(repr(name) for name in self.tubes)
        instruction = (
            f"Bring the water in the beaker to {asked}. Add from the tubes {names}, whose strengths are not known. "
            "Stir after every addition, then measure until the reading has settled; only such a reading counts, and "
            "nothing is added before it. Rinse the probe before it is put back, and before it enters a liquid that has "
            "changed. Add no acid when pH is below the wanted range, and no base when it is above. The beaker holds "
            f"{CAPACITY_G:g} g. Finish with a reading within the range, everything put back and the hand empty."
        )
        return Goal(instruction, self.kinds, (*self.tubes, PROBE, ROD, BEAKER), PLACES, self.settings())

    def start(self, instance: Instance) -> State:
        """Return the state that the preparation establishes: nothing was measured yet."""
        kind = instance.kind
        return State(self.homes(), shown=round(instance.grams, 1), target_ph=kind.ph, target_ec=kind.ec)

    def update(self, state: State, event: Event) -> State:
        """Advance on confirmed events only; a reading counts that settled in a stirred liquid."""
        state = advance(state, event)
        match event:
            case Transferred(vessel=vessel) if vessel == BEAKER:
                return replace(state, ph=None, ec=None, mixed=False, additions=state.additions + 1)
            case Stirred(vessel=vessel) if vessel == BEAKER:
                return replace(state, mixed=True)
            case Measured(vessel=vessel, settled=True) if vessel == BEAKER and state.mixed:
                return replace(state, ph=event.ph, ec=event.ec, seen=event.ph, done=MEASURE)
            case Withdrawn(vessel=vessel) if vessel == BEAKER:
                return replace(state, coat=state.additions)
            case Rinsed():
                return replace(state, coat=-1, done=RINSE_PROBE)
            case _:
                return state

    def legal(self, state: State) -> frozenset[Operation]:
        """Stir in what was added, measure, and add what moves a value towards its range; one tool at a time."""
        if state.busy is not None or state.grasped:
            return frozenset({WAIT})
        if state.held == PROBE:
            return frozenset({self._probe(state)})
        if state.held == ROD:
            return frozenset({place(ROD) if state.mixed else STIR})
        if state.held:
            useful = state.ph is not None and state.held in self._useful(state)
            return frozenset({pour(state.held) if useful else place(state.held)})
        if not state.mixed:
            return frozenset({STIR})
        if state.ph is None:
            return frozenset({TAKE_PROBE})
        if self._reached(state):
            return frozenset({STOP})
        if state.shown is None:
            return self.unread(state)
        return frozenset(pick(tube) for tube in self._useful(state))

    def _probe(self, state: State) -> Operation:
        """Return what a held probe is for."""
        if state.ph is None and state.mixed and state.coat in (-1, state.additions):
            return MEASURE
        return RETURN_PROBE if state.coat == -1 else RINSE_PROBE

    def _reached(self, state: State) -> bool:
        return state.ph is not None and state.ec is not None and not self._wanting(state)

    def _wanting(self, state: State) -> list[str]:
        """Return the tubes that move a value which is out of its range towards it, by the last reading."""
        assert state.ph is not None and state.ec is not None  # asked of a reading only
        found = []
        ph, ec = state.ph - state.target_ph, state.ec - state.target_ec
        if abs(ph) > PH_TOLERANCE + 1e-9:
            found.append(ACID if ph > 0 else BASE)
        if self.joint and abs(ec) > EC_TOLERANCE + 1e-9:
            found.append(WATER if ec > 0 else SALT)
        return found

    def _useful(self, state: State) -> list[str]:
        """Return the tubes from which something may be added: none into a full beaker."""
        full = state.shown is not None and state.shown >= CAPACITY_G
        return [] if full else self._wanting(state)

    def outstanding(self, state: State) -> frozenset[Operation]:
        """Return what remains to be done."""
        return self.legal(state) - {STOP}

    def evidence(self, state: State) -> tuple[object, ...] | None:
        """Return what is in the hand, the last reading, and how many operations have ended."""
        if state.busy is not None or state.grasped:
            return None
        return (state.held, state.located, state.ph, state.ec, state.mixed, state.additions, state.attempts)

    def facts(self, state: State, readings: tuple[Reading, ...]) -> tuple[Fact, ...]:
        """Return what is in the hand, what the balance shows, whether the last addition was stirred in, whether only
        rinse water hangs on the probe, and the last reading that counts.
        """
        del readings
        hand = () if state.grasped else (Fact("hand", state.held or "empty"),)
        shown = () if state.shown is None else (Fact(BALANCE, state.shown),)
        known = (*hand, *shown, Fact("mixed", state.mixed), Fact("rinsed", state.coat == -1))
        if state.ph is None or state.ec is None:
            return known
        return (*known, Fact("pH", state.ph), Fact("EC", state.ec))

    def aim(self, state: State, operation: Operation) -> dict[str, float]:
        """Return the value that a pour is to reach, and how long to measure."""
        if operation.kind == "measure":
            return {"seconds": MEASURE_S}
        if operation.kind != "pour":
            return {}
        by_ph = operation.item in (ACID, BASE)
        return {"ph": state.target_ph} if by_ph else {"ec": state.target_ec}

    def margin(self, state: State, operation: Operation) -> dict[str, float]:
        """Return the tolerances."""
        del state, operation
        return {"ph": PH_TOLERANCE, "ec": EC_TOLERANCE}

    def quantities(self, instance: Instance, events: Sequence[Event]) -> dict[str, float]:
        """Return additions, their sum, and how far the last settled reading since is from what was asked."""
        told = [event for event in events if isinstance(event, Transferred | Measured) and event.vessel == BEAKER]
        poured = [event.grams for event in told if isinstance(event, Transferred)]
        found = {"additions": float(len(poured)), "poured [g]": sum(poured)}
        last = told[-1] if told else None
        if isinstance(last, Measured) and last.settled:
            found["error [pH]"] = last.ph - instance.kind.ph
            if self.joint:
                found["error [uS/cm]"] = last.ec - instance.kind.ec
        return found

    def violation(self, state: State, event: Event) -> str | None:
        """No acid below the wanted range and no base above it, no unrinsed probe, nothing over the rim."""
        match event:
            case Transferred(vessel=vessel, source=source) if vessel == BEAKER:
                low, high = state.target_ph - PH_TOLERANCE, state.target_ph + PH_TOLERANCE
                if source == ACID and state.ph is not None and state.ph < low:
                    return "acid_below_range"
                if source == BASE and state.ph is not None and state.ph > high:
                    return "base_above_range"
                full = state.shown is not None and state.shown >= CAPACITY_G
                return "overfilled" if full else None
            case Immersed(vessel=vessel) if vessel != RINSE and state.coat not in (-1, state.additions):
                return "unrinsed_probe"
            case _:
                return self.slip(state, event)

    def terminal(
        self, state: State, block: Block, readouts: tuple[Readout, ...], channels: Channels, place: np.ndarray
    ) -> np.ndarray:
        """A reading within the range counts, and everything stands where it belongs."""
        if not state.mixed or not self._reached(state):
            return np.zeros(block.ticks, dtype=bool)
        return self.tidy(state, block, place)


def _water(instance: Instance) -> tuple[tuple[str, float], ...]:
    """Return what is dissolved in the water of an instance [mol per kg]."""
    amounts = dict[str, float]((formula, share * instance.alkalinity) for formula, share in TAP)
    if instance.kind.water in ACIDIC:
        amounts["HCl"] = instance.alkalinity + ACIDIFIED
    return tuple(sorted(amounts.items()))


TASKS = (
    Regulation("ph", "Bring a water to a stated pH with acid and base.", False, (ACID, BASE), BUDGET_STEPS),
    Regulation(
        "ph-ec",
        "Bring a water to a stated pH and conductivity with acid, base, salt and water.",
        True,
        (ACID, BASE, SALT, WATER),
        JOINT_BUDGET_STEPS,
    ),
)
