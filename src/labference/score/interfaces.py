"""What a system says at its own interfaces, from a common start (paper section 6.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .bootstrap import Clustered, clustered
from .branch import Branch
from .diagnosis import BASE, Diagnosis
from .lent import Ratios, dose, firsts, ratios
from .rate import Rate, rate

Interface = Literal["state", "decision", "geometry", "skill"]
INTERFACES: tuple[Interface, ...] = ("state", "decision", "geometry", "skill")
"""In the order in which an operation passes through them."""
SOURCES = {
    "state": BASE,
    "decision": "semantic:replace",
    "geometry": "decision:replace",
    "skill": "decision:replace+geometry:replace",
}
"""The branch in which each interface is tested: everything before it is correct there."""
GIVEN_DECISION = "decision:replace"
"""Where the bench's hands carry out what a system asks for, execution is tested here; in the base, over the operations
that were chosen rightly, where the system takes no decision.
"""
PLACELESS = "The bench's hands know where everything is."
"""Why such a system has no geometry to be tested."""
PASSING = 0.85
"""An interface passes where the interval of its own test lies above this share of starts, and fails where below."""
READOUT = 0.05
"""Largest difference of a number that counts as read right: half of the last digit that an instrument shows."""
READOUTS = {"balance": 0.1, "pH": 0.1, "EC": 5.0}
"""The same where a display still moves after its value counts: by the digit that a balance may wander, and by half of
the tolerances of pH and EC [uS/cm].
"""
POSITION_M, AXIS_RAD = 0.006, math.radians(10)
"""Largest errors of a located target: what the funnel of a socket still catches, and how far a seated tube leans."""
KINDS = {bool: "condition", float: "readout", int: "readout", str: "occupancy"}
"""What a fact is about, by the type of its value."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Distribution of errors that were measured: how many there are, their median and 90th percentile."""

    count: int
    median: float
    most: float


@dataclass(frozen=True, slots=True)
class State:
    """Field-level errors of the first state report.

    fields   share of facts that are right, by kind of fact; starts stay together in the intervals
    readout  absolute error of the numbers that were stated, in the instrument's unit
    extra    facts stated that there are not
    """

    fields: dict[str, Clustered]
    readout: Errors | None
    extra: int


@dataclass(frozen=True, slots=True)
class Geometry:
    """Errors of the first geometry report.

    items, axes  position error e_p [m] of items, and directed axis error e_v [rad] of every target
    places       distance to the admissible region of the operation, or to the mouth of a socket [m]
    invalid      targets that are not finite, or have a zero axis, of those stated
    unstated     targets that were needed and not stated, of those needed
    """

    items: Errors | None
    axes: Errors | None
    places: Errors | None
    invalid: Clustered
    unstated: Clustered


@dataclass(frozen=True, slots=True)
class Skill:
    """What operations of the bench's hands did when a kind was asked for first, with the system's numbers.

    kinds  share of starts in which the operation did what it is for, by kind
    doses  first amount stated over that of the reference executor
    """

    kinds: dict[str, Rate]
    doses: Ratios | None


@dataclass(frozen=True, slots=True)
class Test:
    """One interface tested on its own.

    source   the support condition in which it is tested
    passed   starts in which its output was right; a start without an output does not count as right
    missing  starts without an outcome, which decide nothing yet
    silent   starts in which nothing was said at the interface
    sentence why the interface cannot be tested, where it cannot
    registered  whether the branch is registered that tests it
    applicable  whether there is such an interface between this system and this bench
    """

    interface: Interface
    source: str
    passed: Rate
    missing: int
    silent: int = 0
    sentence: str = ""
    registered: bool = True
    applicable: bool = True

    @property
    def verdict(self) -> Literal["passes", "fails", "unclear", "unsupported", "untested", "not applicable"]:
        """Return what the test shows, whatever the missing starts may turn out to be."""
        if not self.applicable:
            return "not applicable"
        if not self.registered:
            return "untested"
        if self.sentence:
            return "unsupported"
        starts = self.passed.population + self.missing
        least, most = Rate(self.passed.count, starts).interval, Rate(self.passed.count + self.missing, starts).interval
        if least is not None and least.low > PASSING:
            return "passes"
        return "fails" if most is not None and most.high < PASSING else "unclear"


@dataclass(frozen=True, slots=True)
class Tests:
    """The four tests, with the errors behind three of them; None where nothing was stated, or nothing asked for."""

    tests: tuple[Test, ...]
    state: State | None
    geometry: Geometry | None
    skill: Skill | None = None

    def of(self, interface: str) -> Test:
        """Return the test of one interface."""
        return next(test for test in self.tests if test.interface == interface)


def interface_tests(diagnosis: Diagnosis) -> Tests:
    """Return what the interfaces of the diagnosed system show."""
    checks: dict[Interface, Callable[[Branch], bool | None]] = {
        "state": _recognised,
        "decision": _decided,
        "geometry": located,
        "skill": _worked if diagnosis.lent else _executed,
    }
    return Tests(
        tuple(_test(diagnosis, interface, checks[interface]) for interface in INTERFACES),
        _state([found for branch in diagnosis.of(BASE) if (found := branch.first("semantic"))]),
        _geometry([branch for branch in diagnosis.of(SOURCES["geometry"]) if branch.first("geometry")]),
        _skill(diagnosis.of(_source(diagnosis, "skill"))) if diagnosis.lent else None,
    )


def fails(passed: Rate) -> bool:
    """Return whether a rate is surely below what passes."""
    return passed.interval is not None and passed.interval.high < PASSING


def _source(diagnosis: Diagnosis, interface: Interface) -> str:
    """Return the branch in which an interface is tested."""
    if interface != "skill" or not diagnosis.lent:
        return SOURCES[interface]
    given = diagnosis.of(GIVEN_DECISION)
    return BASE if any(branch.status == "unsupported" for branch in given) or not given else GIVEN_DECISION


def _test(diagnosis: Diagnosis, interface: Interface, check: Callable[[Branch], bool | None]) -> Test:
    source = _source(diagnosis, interface)
    if interface == "geometry" and diagnosis.lent:
        return Test(interface, source, rate(()), 0, sentence=PLACELESS, applicable=False)
    branches = diagnosis.of(source)
    scored = [branch for branch in branches if branch.outcome is not None]
    found = [check(branch) for branch in scored]
    return Test(
        interface,
        source,
        rate(entry is True for entry in found),
        len(branches) - len(scored),
        sum(entry is None for entry in found),
        _inaccessible(branches, scored, interface),
        registered=bool(branches),
    )


def _inaccessible(branches: Sequence[Branch], scored: Sequence[Branch], interface: str) -> str:
    """Return why an interface cannot be tested, "" where it can."""
    refused = next((branch.sentence for branch in branches if branch.status == "unsupported"), "")
    if refused or not scored or scored[0].run is None:
        return refused
    if interface == "state" and "semantic" not in scored[0].run["policy"]["sites"]:
        return "The system states nothing at a state interface."
    return ""


def _recognised(branch: Branch) -> bool | None:
    """Return whether every fact was stated as it is."""
    found = branch.first("semantic")
    if found is None:
        return None
    return all(right for _, right, _ in _facts(found))


def _decided(branch: Branch) -> bool | None:
    """Return whether the first stated operation was legal, from the standard state that was supplied."""
    found = branch.first("decision")
    return None if found is None else found["said"] in found["reference"]


def located(branch: Branch) -> bool | None:
    """Return whether everything that the operation needs was stated, and close."""
    found = branch.first("geometry")
    if found is None:
        return None
    close = {miss["name"] for miss in found["misses"] if _valid(miss) and miss["position"] <= POSITION_M}
    aligned = {miss["name"] for miss in found["misses"] if _valid(miss) and miss["axis"] <= AXIS_RAD}
    needed = {target["name"] for target in found["reference"]}
    return needed <= close & aligned


def _executed(branch: Branch) -> bool | None:
    """Return whether the correct subgoal that was supplied became a physical fact."""
    return branch.outcome is not None and branch.outcome.choice and branch.outcome.subgoal


def _worked(branch: Branch) -> bool | None:
    """Return whether every kind of operation that was chosen rightly did what it is for, the first time."""
    found = firsts(branch.carried)
    return all(entry.reached for entry in found.values()) if found else None


def _skill(branches: Sequence[Branch]) -> Skill | None:
    found = [firsts(branch.carried) for branch in branches if branch.outcome is not None]
    kinds = dict.fromkeys(kind for entry in found for kind in entry)
    if not kinds:
        return None
    return Skill(
        {kind: rate(entry[kind].reached for entry in found if kind in entry) for kind in kinds},
        ratios([ratio for branch in branches if (ratio := dose(branch.receipts)) is not None]),
    )


def _facts(receipt: dict[str, Any]) -> list[tuple[str, bool, float | None]]:
    """Return for each fact that there is its kind, whether it was stated right, and how far a number is off."""
    said = {fact["name"]: fact["value"] for fact in receipt["said"]}
    found = []
    for fact in receipt["reference"]:
        stated, true = said.get(fact["name"]), fact["value"]
        number = _number(stated) and _number(true)
        off = abs(stated - true) if number and stated is not None else None
        most = READOUTS.get(fact["name"], READOUT)
        right = off <= most + 1e-9 if off is not None else type(stated) is type(true) and stated == true
        found.append((KINDS.get(type(true), "occupancy"), right, off))
    return found


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _state(receipts: Sequence[dict[str, Any]]) -> State | None:
    if not receipts:
        return None
    facts = [_facts(receipt) for receipt in receipts]
    kinds = dict.fromkeys(kind for found in facts for kind, _, _ in found)
    known = [{fact["name"] for fact in receipt["reference"]} for receipt in receipts]
    return State(
        fields={
            kind: clustered([right for own, right, _ in found if own == kind] for found in facts) for kind in kinds
        },
        readout=errors([off for found in facts for _, _, off in found if off is not None]),
        extra=sum(
            fact["name"] not in names
            for receipt, names in zip(receipts, known, strict=True)
            for fact in receipt["said"]
        ),
    )


def _geometry(branches: Sequence[Branch]) -> Geometry | None:
    if not branches:
        return None
    items: list[float] = []
    places: list[float] = []
    axes: list[float] = []
    invalid, unstated = [], []
    for branch in branches:
        receipt = branch.first("geometry")
        assert receipt is not None and branch.run is not None  # chosen for it
        movable = branch.run["channels"]["items"]
        for miss in receipt["misses"]:
            if miss["position"] is not None:
                (items if miss["name"] in movable else places).append(miss["position"])
            if miss["axis"] is not None:
                axes.append(miss["axis"])
        said = {miss["name"] for miss in receipt["misses"]}
        invalid.append([not _valid(miss) for miss in receipt["misses"]])
        unstated.append([target["name"] not in said for target in receipt["reference"]])
    return Geometry(errors(items), errors(axes), errors(places), clustered(invalid), clustered(unstated))


def _valid(miss: dict[str, Any]) -> bool:
    return miss["position"] is not None and miss["axis"] is not None


def errors(values: Sequence[float]) -> Errors | None:
    """Return the distribution of `values`, None where there are none."""
    if not values:
        return None
    median, most = (float(value) for value in np.percentile(values, (50, 90)))
    return Errors(len(values), median, most)
