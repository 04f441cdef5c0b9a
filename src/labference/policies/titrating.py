"""A controller in parts that brings a water to a pH, and to a conductivity (EC), by the effect of its last doses."""

from __future__ import annotations

from dataclasses import dataclass

from labference.wire import Fact, Observation, Operation

from .dosing import MEASURE_S, ROUNDS, Known, dose, gains
from .lent import STOP, Facts, Hand, Lent, LentParts, stable
from .performing import BALANCE, EC, NUMBER, PH

ACID, BASE, SALT, WATER, PROBE = "acid", "base", "salt", "water", "probe"
TEMPERATURE = "meter T"
NAMES = {"pH": PH, "EC": EC}
"""Facts, and the data ports that tell them."""
TOOL = {
    "take_probe": "probe_holder",
    "return_probe": "probe_holder",
    "measure": "beaker",
    "rinse_probe": "rinse",
}
"""Where each operation with the probe leads."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Values asked for and their tolerances; EC [uS/cm] is None where it is not asked for."""

    ph: float
    near: float
    ec: float | None = None
    close: float = 0.0


@dataclass(slots=True)
class Dosed:
    """A dose whose effect was not read yet: the tube, the readings and the balance before it, and grams if known."""

    tube: str
    before: dict[str, float]
    shown: float | None
    grams: float | None


class Titrating:
    """Measure, extrapolate the effect of the last dose of a reagent linearly, dose, stir, and measure again."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._hand = Hand()
        self._mixed = self._rinsed = True
        self._dipped = False
        self._reading: dict[str, float] = {}
        self._facts: Facts = {}
        self._dosed: Dosed | None = None
        self.known: dict[str, Known] = {}
        self._rounds = 0

    def look(self, observation: Observation) -> tuple[Fact, ...]:
        """Read the ports, and remember what the meter showed after it was dipped: in the rinse beaker it shows that."""
        shown = stable(observation, BALANCE)
        if self._dipped:
            self._dipped, self._reading = False, self._meter(observation)
        known = () if shown is None else (Fact(BALANCE, shown),)
        own = (*self._hand.facts(observation), *known, Fact("mixed", self._mixed), Fact("rinsed", self._rinsed))
        return (*own, *(Fact(name, value) for name, value in self._reading.items()))

    def _meter(self, observation: Observation) -> dict[str, float]:
        """Return pH and EC, nothing where one of the ports does not count."""
        values = {name: self.read(observation, port) for name, port in NAMES.items()}
        if self.read(observation, TEMPERATURE) is None:
            return {}
        found = {name: value for name, value in values.items() if value is not None}
        return found if len(found) == len(NAMES) else {}

    def read(self, observation: Observation, port: str) -> float | None:
        """Return what a port of the meter shows, None while that does not count."""
        return stable(observation, port)

    def decide(self, facts: Facts) -> Operation:
        """Stir in what was added, measure, and correct pH first, then EC, until both are within their tolerances."""
        self._learn(facts)
        hand, read = facts.get("hand", "empty"), "pH" in facts
        if hand == PROBE:
            if not read and self._mixed and (self._rinsed or self._dosed is None):
                return _with_probe("measure")
            return _with_probe("return_probe" if facts.get("rinsed") else "rinse_probe")
        tube = self.choose(facts) if read else None
        if hand != "empty":
            held = str(hand)
            return Operation("pour", held, "beaker") if held == tube else Operation("place", held, "rack")
        if not facts.get("mixed", True):
            return Operation("stir", "rod", "beaker")
        if not read:
            return _with_probe("take_probe")
        return STOP if tube is None or self._rounds >= ROUNDS else Operation("pick", tube, "rack")

    def choose(self, facts: Facts) -> str | None:
        """Return the tube that moves a value which is out of its range towards it; None where all are within."""
        ph, ec, wanted = float(facts["pH"]), float(facts["EC"]), self.wanted
        if abs(ph - wanted.ph) > wanted.near + 1e-9:
            return ACID if ph > wanted.ph else BASE
        if wanted.ec is not None and abs(ec - wanted.ec) > wanted.close + 1e-9:
            return WATER if ec > wanted.ec else SALT
        return None

    def numbers(self, facts: Facts, operation: Operation) -> dict[str, float]:
        """Return how long to measure, or what to pour."""
        if operation.kind == "measure":
            return {"seconds": self.seconds()}
        if operation.kind != "pour":
            return {}
        name, goal = self._aim(operation.item)
        value = facts.get(name)
        return gains(dose(self.known.get(operation.item), goal if value is None else float(value), goal))

    def seconds(self) -> float:
        """Return how long to measure [s]."""
        return MEASURE_S

    def done(self, operation: Operation, numbers: dict[str, float] | None) -> None:
        """Remember what this did to the liquid and to the probe."""
        self._hand.took(operation)
        match operation.kind:
            case "pour":
                before = {name: float(self._facts[name]) for name in NAMES if name in self._facts}
                shown = self._facts.get(BALANCE)
                grams = None if numbers is None else numbers["amount_g"]
                self._dosed = Dosed(operation.item, before, None if shown is None else float(shown), grams)
                self._mixed, self._reading = False, {}
                self._rounds += 1
            case "stir":
                self._mixed = True
            case "measure":
                self._dipped, self._rinsed = self._mixed, False
            case "rinse_probe":
                self._rinsed = True
            case _:
                pass

    def _aim(self, tube: str) -> tuple[str, float]:
        """Return which value a tube is for, and what is asked of it."""
        return ("pH", self.wanted.ph) if tube in (ACID, BASE) else ("EC", self.wanted.ec or 0.0)

    def _learn(self, facts: Facts) -> None:
        """Take in what the last dose did, once it is read."""
        dosed, self._facts = self._dosed, facts
        name = "" if dosed is None else self._aim(dosed.tube)[0]
        if dosed is None or name not in facts or not self._mixed:
            return
        self._dosed = None
        shown, grams = facts.get(BALANCE), dosed.grams
        if grams is None and shown is not None and dosed.shown is not None:
            grams = float(shown) - dosed.shown
        if grams is not None and grams > 0.0 and name in dosed.before:
            self.known[dosed.tube] = Known(dosed.before[name], grams, float(facts[name]))


class Secant(Lent):
    """Titrate without knowing what is in which tube."""

    name, version = "secant", "2"
    kinds = ("pour", "stir", "measure", "rinse_probe")
    stateful = True
    parts: type[Titrating] = Titrating

    def assemble(self) -> LentParts:
        """Return the parts for the values asked for."""
        ph, near = self.asked(rf"pH {NUMBER}"), self.asked(rf"pH [\d.]+ with a tolerance of {NUMBER}")
        if SALT not in self.goal.items:
            return self.parts(Wanted(ph, near))
        ec, close = self.asked(rf"EC {NUMBER}"), self.asked(rf"EC \d+ uS/cm with a tolerance of {NUMBER}")
        return self.parts(Wanted(ph, near, ec, close))


def _with_probe(kind: str) -> Operation:
    return Operation(kind, PROBE, TOOL[kind])
