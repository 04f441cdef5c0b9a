"""What the rules look at: a proposal and the belief, flattened into fields."""

from __future__ import annotations

from labference.wire import Goal

from ..belief import IN_VAIN, TIMES, UNKNOWN, Belief
from ..experience import Value
from ..labs.wetlab import Target, reached
from ..skills.atomic import BALANCE, BEAKER, PROBE, Action
from .rules import View

ZERO_G = 0.1001
"""What a balance may show that need not be tared [g]."""


def view(target: Target, goal: Goal, belief: Belief, proposed: Action) -> View:
    """Return the fields that the rules ask for; one that is not known, or has no number, is left out."""
    hand = belief.hand
    known: dict[str, Value | None] = {
        "kind": proposed.kind,
        "item": proposed.item,
        "thing": _thing(belief, proposed.item),
        "objective": target.objective,
        "hand_kind": _hand_kind(belief),
        "holds_it": bool(hand) and hand == proposed.item,
        "other_tube": _hand_kind(belief) == "tube" and hand != proposed.item,
        "mixed": _valid(belief, BEAKER, "mixed"),
        "read": belief.number(BEAKER, "ph") is not None and belief.number(BEAKER, "ec") is not None,
        "zeroed": zeroed(belief),
        "additions": _valid(belief, BEAKER, "additions"),
        "coat": _valid(belief, PROBE, "coat"),
        "reached": reached(target, belief),
        "side": target.side(belief.number(BEAKER, "ph")) or None,
        "empty": _valid(belief, proposed.item, "empty"),
        "in_vain": _in_vain(belief, proposed),
        "steady": belief.number(BEAKER, "shown_g") is not None and belief.readings[f"steady {BALANCE}"].value is True,
    }
    known |= _sighted(belief, proposed.item)
    grams, shown = belief.number(BEAKER, "grams"), belief.number(BEAKER, "shown_g")
    if grams is not None:
        known["room_g"] = max(0.0, target.capacity_g - grams)
    if shown is not None and target.grams is not None:
        known["most_g"] = max(0.0, target.grams + target.grams_tolerance - shown)
    for setting in goal.parameters:
        if setting.kind == proposed.kind:
            known[setting.name] = proposed.numbers.get(setting.name, setting.default)
    return {name: value for name, value in known.items() if value is not None}


def _sighted(belief: Belief, item: str) -> dict[str, Value | None]:
    """Return whether a detector has looked, and what it saw of an item and of the beaker; nothing where none has."""
    looked = any("seen" in thing.fields for thing in belief.things.values())
    if not looked:
        return {}
    return {
        "looked": True,
        "seen": _valid(belief, item, "seen"),
        "upright": _valid(belief, item, "upright"),
        "beaker_within": _valid(belief, BEAKER, "within"),
    }


def zeroed(belief: Belief) -> bool:
    """Return whether the balance counts what is poured: the beaker was empty at the start, or it was tared."""
    if belief.known(BEAKER, "tared_g").value is not None:
        return True
    first = belief.known(BEAKER, "first_g").value
    return isinstance(first, float) and abs(first) <= ZERO_G


def _in_vain(belief: Belief, proposed: Action) -> int:
    """Return how often in a row just this was carried out and changed nothing."""
    if belief.agent.get(IN_VAIN, UNKNOWN).value != str(proposed):
        return 0
    times = belief.agent.get(TIMES, UNKNOWN).value
    return times if isinstance(times, int) else 0


def _hand_kind(belief: Belief) -> str | None:
    """Return what kind of thing is held, "" for none; None where it is not known what the hand holds."""
    held = belief.agent.get("hand")
    if held is None or not held.valid:
        return None
    name = belief.hand
    return "" if not name else name if name in (PROBE, "rod") else "tube"


def _thing(belief: Belief, name: str) -> str:
    found = belief.things.get(name)
    return "" if found is None else found.kind


def _valid(belief: Belief, thing: str, name: str) -> Value | None:
    found = belief.known(thing, name)
    return found.value if found.valid else None
