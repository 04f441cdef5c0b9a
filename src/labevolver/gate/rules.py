"""Rules of the wet bench as data: each asks one thing of the view of a proposal, and names its source.

A field that the view does not tell satisfies no rule: what is not known is not allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..experience import Value
from ..skills.atomic import ARGUMENTS

Layer = Literal["interface", "procedure", "physics"]
LAYERS: tuple[Layer, ...] = ("interface", "procedure", "physics")
Test = Literal["is", "is not", "at least", "at most"]
View = Mapping[str, Value]
PAPER = "labevolver, section 3.1"
GOAL = "the goal's words"
EYES = "RGB-D detection before the first action"
METER = "response of the meter: 90 % in 14 s, and the lamp lights after 39 to 65 s"
MARGIN = 1e-9
VAIN = 3
"""Attempts in a row without any effect, after which the same is not tried again (our choice)."""


@dataclass(frozen=True, slots=True)
class Need:
    """One condition: a field of the view against a value, or against another field."""

    field: str
    test: Test
    value: Value = ""
    other: str = ""

    def holds(self, view: View) -> bool:
        """Return whether the view satisfies it; a field that is not told, or of another type, never does."""
        found, wanted = view.get(self.field), view.get(self.other) if self.other else self.value
        if found is None or wanted is None:
            return False
        if self.test in ("is", "is not"):
            return (found == wanted) == (self.test == "is")
        if isinstance(found, (str, bool)) or isinstance(wanted, (str, bool)):
            return False
        return found >= wanted - MARGIN if self.test == "at least" else found <= wanted + MARGIN

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the fields that it looks at."""
        return (self.field, self.other) if self.other else (self.field,)

    def __str__(self) -> str:
        return f"{self.field} {self.test} {self.other or self.value}"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a proposal of some `kinds` needs, where all of `where` holds.

    `remedy` is the kind of action that makes it allowed later, "" where none does; `allowed` says the same in words.
    """

    name: str
    layer: Layer
    kinds: tuple[str, ...]
    need: Need
    allowed: str
    source: str
    remedy: str = ""
    where: tuple[Need, ...] = ()

    def broken(self, view: View) -> bool:
        """Return whether a proposal with this view breaks the rule."""
        if view.get("kind") not in self.kinds or not all(each.holds(view) for each in self.where):
            return False
        return not self.need.holds(view)


_REGULATES = (Need("objective", "is not", "mass"),)
_POURS = (Need("objective", "is", "mass"),)
_TUBE = (Need("thing", "is", "tube"),)
_LOOKED = (Need("looked", "is", True),)
_DIPS = ("measure", "rinse_probe", "return_probe")
_ENDS = ("stop", "abandon")

RULES: tuple[Rule, ...] = (
    Rule(
        "read_before_adding",
        "procedure",
        ("pick", "pour"),
        Need("read", "is", True),
        "Measure until the reading has settled; only a settled reading since the last addition counts.",
        GOAL,
        "measure",
        (*_REGULATES, *_TUBE),
    ),
    Rule(
        "no_tube_in_hand",
        "procedure",
        ("pick", "take_probe", "stir", *_DIPS, *_ENDS),
        Need("hand_kind", "is not", "tube"),
        "Put the tube back first.",
        PAPER,
        "place",
    ),
    Rule(
        "no_other_tube_in_hand",
        "procedure",
        ("pour",),
        Need("other_tube", "is", False),
        "Put the other tube back first.",
        PAPER,
        "place",
    ),
    Rule(
        "no_rod_in_hand",
        "procedure",
        ("pick", "take_probe", "pour", *_DIPS, *_ENDS),
        Need("hand_kind", "is not", "rod"),
        "Put the rod back first.",
        PAPER,
        "place",
    ),
    Rule(
        "no_probe_in_hand",
        "procedure",
        ("pick", "take_probe", "pour", "stir", *_ENDS),
        Need("hand_kind", "is not", "probe"),
        "Put the probe back first.",
        PAPER,
        "return_probe",
    ),
    Rule("holds_what_it_places", "procedure", ("place",), Need("holds_it", "is", True), "Place what is held.", PAPER),
    Rule(
        "stirred_before_measuring",
        "procedure",
        ("take_probe", "measure"),
        Need("mixed", "is", True),
        "Stir what was added first.",
        GOAL,
        "stir",
    ),
    Rule(
        "zero_before_pouring",
        "procedure",
        ("pick", "pour"),
        Need("zeroed", "is", True),
        "Tare the balance first.",
        GOAL,
        "tare",
        (*_POURS, *_TUBE),
    ),
    Rule(
        "tare_before_the_first_addition",
        "procedure",
        ("tare",),
        Need("additions", "is", 0),
        "What was poured is counted from the tare; weigh instead.",
        GOAL,
        "weigh",
    ),
    Rule(
        "probe_in_hand",
        "procedure",
        _DIPS,
        Need("hand_kind", "is", "probe"),
        "Take the probe first.",
        PAPER,
        "take_probe",
    ),
    Rule(
        "rinsed_before_it_is_put_back",
        "procedure",
        ("return_probe",),
        Need("coat", "is", "water"),
        "Rinse the probe first.",
        GOAL,
        "rinse_probe",
    ),
    Rule(
        "rinsed_before_another_liquid",
        "procedure",
        ("measure",),
        Need("coat", "is not", "old"),
        "Rinse the probe first: the liquid has changed since it was in it.",
        GOAL,
        "rinse_probe",
    ),
    Rule(
        "tube_in_hand",
        "procedure",
        ("pour",),
        Need("holds_it", "is", True),
        "Pick the tube first.",
        PAPER,
        "pick",
        _TUBE,
    ),
    Rule(
        "evidence_before_the_end",
        "procedure",
        ("stop",),
        Need("read", "is", True),
        "Finish only on a settled reading since the last addition.",
        GOAL,
        "measure",
        _REGULATES,
    ),
    Rule(
        "reached_before_the_end",
        "procedure",
        ("stop",),
        Need("reached", "is", True),
        "Go on, or abandon the trial: the values are not those asked for.",
        GOAL,
    ),
    Rule(
        "seen_on_the_bench",
        "physics",
        ("pick", "take_probe", "stir"),
        Need("seen", "is", True),
        "Abandon the trial, or let a person look for it: the cameras do not show it.",
        EYES,
        where=_LOOKED,
    ),
    Rule(
        "upright_before_it_is_taken",
        "physics",
        ("pick", "take_probe", "stir"),
        Need("upright", "is", True),
        "Abandon the trial, or let a person set it up: it is not seen to stand.",
        EYES,
        where=_LOOKED,
    ),
    Rule(
        "beaker_on_the_balance",
        "physics",
        ("pour",),
        Need("beaker_within", "is", "balance"),
        "Abandon the trial, or let a person put the beaker on the balance: the cameras do not show it there.",
        EYES,
        where=_LOOKED,
    ),
    Rule(
        "steady_balance_before_pouring",
        "physics",
        ("pour",),
        Need("steady", "is", True),
        "Weigh until the balance is stable: a pour is controlled by its reading.",
        PAPER,
        "weigh",
    ),
    Rule(
        "something_else_after_three_vain_attempts",
        "procedure",
        tuple(kind for kind in ARGUMENTS if kind != "stop"),
        Need("in_vain", "at most", VAIN - 1),
        f"Do something else, or abandon: this was done {VAIN} times in a row, and nothing changed.",
        "a trial that repeats itself spends its time limit and learns nothing",
    ),
    Rule(
        "room_in_the_beaker",
        "physics",
        ("pour",),
        Need("amount_g", "at most", other="room_g"),
        "Pour no more than the beaker has room for.",
        GOAL,
    ),
    Rule(
        "no_more_than_is_missing",
        "physics",
        ("pour",),
        Need("amount_g", "at most", other="most_g"),
        "Pour no more than is missing: nothing can be taken out.",
        GOAL,
        where=_POURS,
    ),
    Rule(
        "stops_before_the_amount",
        "physics",
        ("pour",),
        Need("pre_stop", "at most", other="amount_g"),
        "Choose a pre-stop below the amount: such a pour would end before it begins.",
        "PD law of the pour",
    ),
    Rule(
        "something_in_the_tube",
        "physics",
        ("pour",),
        Need("empty", "is", False),
        "Use another tube: the last pour from this one gave less than half of what was asked.",
        "state tracking by the balance",
    ),
    Rule(
        "no_acid_below_the_range",
        "physics",
        ("pick", "pour"),
        Need("side", "is not", "below"),
        "Add no acid when pH is below the wanted range.",
        GOAL,
        where=(*_REGULATES, Need("item", "is", "acid")),
    ),
    Rule(
        "no_base_above_the_range",
        "physics",
        ("pick", "pour"),
        Need("side", "is not", "above"),
        "Add no base when pH is above the wanted range.",
        GOAL,
        where=(*_REGULATES, Need("item", "is", "base")),
    ),
    Rule(
        "long_enough_to_settle",
        "physics",
        ("measure",),
        Need("seconds", "at least", 30.0),
        "Measure for 30 s or more: before that a reading is not what the liquid is.",
        METER,
    ),
    Rule(
        "long_enough_to_mix",
        "physics",
        ("stir",),
        Need("seconds", "at least", 5.0),
        "Stir for 5 s or more: mixing lags by 5 to 10 s.",
        "mixing lag, an estimate",
    ),
)
"""In the order in which they are asked; within a layer the first that is broken is logged."""
