"""The gate: rules on proposals before dispatch, keeps every ruling, and is the only maker of acts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labference.wire import Goal, Perform, Stop
from labference.wire.wetlab import FINISH

from ..belief import Belief
from ..experience import Parameter, Value
from ..labs.wetlab import Target
from ..skills.atomic import ARGUMENTS, STOP, Action, dispatchable, tubes_of
from ..strategist import Refused
from .rules import LAYERS, RULES, Layer, Rule, View
from .view import view

ABANDON = "abandon"
"""Kind of the action that ends a trial without claiming that the goal is reached."""
CATALOGUE = "the catalogue of LabSkill"


@dataclass(frozen=True, slots=True)
class ExceptionLog:
    """Why a proposal was not dispatched: the layer and rule that it breaks, the values, and what would be allowed."""

    layer: Layer
    rule: str
    action: Action
    values: tuple[tuple[str, Value], ...]
    allowed: str
    source: str
    remedy: str = ""
    where: tuple[tuple[str, Value], ...] = ()
    """Fields that made the rule apply."""

    @property
    def sentence(self) -> str:
        """Return it in words."""
        values = ", ".join(f"{name} = {value if value != '' else 'none'}" for name, value in self.values)
        return f"{self.action} breaks {self.rule} ({self.layer}): {values or 'nothing known'}. {self.allowed}"

    def refused(self) -> Refused:
        """Return it as the Strategist takes it."""
        return Refused(self.layer, self.rule, tuple(name for name, _ in (*self.where, *self.values)), self.allowed)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the gate said of one proposal; `number` counts rulings from 1."""

    number: int
    time: float
    action: Action
    exception: ExceptionLog | None = None

    @property
    def admitted(self) -> bool:
        """Return whether the action may be dispatched."""
        return self.exception is None


class Unruled(Exception):
    """Something was about to be dispatched that this gate has not admitted."""


class Gate:
    """The gate of one trial."""

    def __init__(self, goal: Goal, target: Target, rules: Sequence[Rule] = RULES) -> None:
        self._goal, self._target, self._rules = goal, target, tuple(rules)
        self.rulings: list[Ruling] = []
        self._spent: set[int] = set()

    @property
    def intercepts(self) -> list[Ruling]:
        """Return the rulings that stopped a proposal."""
        return [each for each in self.rulings if not each.admitted]

    def rule(self, belief: Belief, proposed: Action) -> Ruling:
        """Return and keep the ruling on a proposal in the state of `belief`."""
        found = self._interface(proposed)
        if found is None:
            seen = view(self._target, self._goal, belief, proposed)
            found = next((log for layer in LAYERS for log in self._layer(layer, proposed, seen)), None)
        ruling = Ruling(len(self.rulings) + 1, belief.time, proposed, found)
        self.rulings.append(ruling)
        return ruling

    def dispatch(self, ruling: Ruling) -> Perform | Stop:
        """Return the act of an admitted ruling, once; raises `Unruled` for any other."""
        kept = ruling.number <= len(self.rulings) and self.rulings[ruling.number - 1] is ruling
        if not kept or not ruling.admitted or ruling.number in self._spent:
            raise Unruled(f"Ruling {ruling.number} on {ruling.action} does not let it be dispatched now.")
        self._spent.add(ruling.number)
        return Stop() if ruling.action.kind == ABANDON else dispatchable(ruling.action, self._goal)

    def _layer(self, layer: Layer, proposed: Action, seen: View) -> list[ExceptionLog]:
        broken = (rule for rule in self._rules if rule.layer == layer and rule.broken(seen))
        return [_logged(rule, proposed, seen) for rule in broken][:1]

    def _interface(self, proposed: Action) -> ExceptionLog | None:
        """Return how a call is not well formed: names of the catalogue, numbers that are finite and in range."""
        goal, kind = self._goal, proposed.kind
        if kind == ABANDON:
            return None if proposed == Action(ABANDON) else _malformed("bare", proposed, {}, "abandon takes nothing.")
        if kind not in ARGUMENTS or (kind not in goal.kinds and kind not in (STOP, FINISH)):
            kinds = ", ".join(each for each in ARGUMENTS if each in goal.kinds)
            return _malformed("known_kind", proposed, {"kind": kind}, f"Kinds: {kinds}.")
        usual, place = ARGUMENTS[kind]
        items = (usual,) if usual or not place else tubes_of(goal)
        if kind in ("pick", "place") and proposed.item == "rod" and "rod" in goal.items:
            items, place = ("rod",), "rod_holder"
        if proposed.item not in items or (proposed.item and proposed.item not in goal.items):
            return _malformed("known_item", proposed, {"item": proposed.item}, f"Items: {', '.join(items) or 'none'}.")
        if proposed.place != place:
            return _malformed("known_place", proposed, {"place": proposed.place}, f"Place: {place or 'none'}.")
        return self._numbers(proposed)

    def _numbers(self, proposed: Action) -> ExceptionLog | None:
        settings = {each.name: each for each in self._goal.parameters if each.kind == proposed.kind}
        given: dict[str, float] = {}
        for name, value in proposed.parameters:
            if name not in settings or name in given:
                known = ", ".join(settings) or "none"
                return _malformed("known_parameter", proposed, {"parameter": name}, f"Parameters: {known}, each once.")
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                return _malformed("number", proposed, {"parameter": name}, f"{name} is a finite number.")
            setting = settings[name]
            if not setting.low <= value <= setting.high:
                span = f"{name} from {setting.low:g} to {setting.high:g} {setting.unit} is allowed."
                return _malformed("in_range", proposed, {name: float(value)}, span)
            given[name] = value
        if proposed.kind == "pour" and "amount_g" not in given:
            return _malformed("amount", proposed, {}, "A pour names its amount_g.")
        return None


def _logged(rule: Rule, proposed: Action, seen: View) -> ExceptionLog:
    values = tuple((name, seen[name]) for name in rule.need.fields if name in seen)
    where = tuple((need.field, seen[need.field]) for need in rule.where)
    allowed = rule.allowed
    if rule.need.other in seen:
        limit = seen[rule.need.other]
        allowed += f" {rule.need.test.capitalize()} {limit:.1f} is allowed." if isinstance(limit, float) else ""
    return ExceptionLog(rule.layer, rule.name, proposed, values, allowed, rule.source, rule.remedy, where)


def _malformed(rule: str, proposed: Action, values: dict[str, Value], allowed: str) -> ExceptionLog:
    return ExceptionLog("interface", rule, proposed, tuple(values.items()), allowed, CATALOGUE)


def parameters(proposed: Action) -> tuple[Parameter, ...]:
    """Return the numbers of an action as experience stores them."""
    units = {"amount_g": "g", "kp": "deg/s/g", "kd": "deg/g", "pre_stop": "g", "limit": "deg", "seconds": "s"}
    return tuple(Parameter(name, float(value), units.get(name, "")) for name, value in proposed.parameters)
