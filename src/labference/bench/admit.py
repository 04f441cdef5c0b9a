"""Decide before any physics whether an answer can be carried out; refusals come from act and spec alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from labference.wire import (
    Act,
    ActionSpec,
    Capabilities,
    Execute,
    Fact,
    GeometryReport,
    Goal,
    Move,
    Operation,
    Parameter,
    Perform,
    Refusal,
    Report,
    StateReport,
    Stop,
    Target,
    Wait,
)
from labference.wire.wetlab import FINISH

ACTS = (Move, Wait, Perform, Report, Stop, StateReport, GeometryReport, Execute)
STOP = "stop"
LONGEST_REPORT = 64
"""Most facts or targets of one report."""
LONGEST_WORD = 64
"""Most characters of a name or a word in a report."""
LONGEST_WAIT_S = 60.0
"""Longest single `Wait` [s]."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A legal act; `clipped` counts the commands of a `Move` that were changed to fit the range."""

    act: Act
    clipped: int = 0


def admit(answer: object, spec: ActionSpec, goal: Goal, capabilities: Capabilities) -> Admitted:
    """Return the checked answer, sharing no memory with it, or raise `Refusal` with one sentence."""
    if not isinstance(answer, ACTS) or type(answer) not in ACTS:
        raise Refusal(
            "unknown_act", f"An answer of type {type(answer).__name__} is no act; use Move, Wait, Report, Stop."
        )
    if isinstance(answer, Move):
        commands, clipped = _commands(answer.commands, spec)
        if answer.commits is not None:
            _may(capabilities.reports, capabilities, "reports")
            _operation(answer.commits, goal)
        return Admitted(Move(commands, answer.commits, _look(answer.look)), clipped)
    if isinstance(answer, Wait):
        return Admitted(Wait(_seconds(answer.seconds), _look(answer.look)))
    if isinstance(answer, Stop):
        return Admitted(Stop())
    if isinstance(answer, Perform):
        _may(capabilities.performs, capabilities, "performs")
        operation = _operation(answer.operation, goal)
        if operation.kind == STOP:
            return Admitted(Stop())
        return Admitted(Perform(operation, _parameters(answer.parameters, operation.kind, goal)))
    return Admitted(_statement(answer, goal, capabilities))


def _statement(
    answer: Report | StateReport | GeometryReport | Execute, goal: Goal, capabilities: Capabilities
) -> Report | StateReport | GeometryReport | Execute:
    """Check what is said at an interface; whether it is so is judged later, by whoever knows the truth."""
    match answer:
        case Report():
            _may(capabilities.reports or "decision" in capabilities.sites, capabilities, "reports")
            return Report(_operation(answer.operation, goal))
        case StateReport():
            _may("semantic" in capabilities.sites, capabilities, "a site 'semantic'")
            return StateReport(tuple(map(_fact, _entries(answer.facts, Fact))))
        case GeometryReport():
            _may("geometry" in capabilities.sites, capabilities, "a site 'geometry'")
            operation = _operation(answer.operation, goal)
            return GeometryReport(operation, tuple(map(_target, _entries(answer.targets, Target))))
        case _:
            _may("skill" in capabilities.sites, capabilities, "a site 'skill'")
            operation = _operation(answer.operation, goal)
            given = (
                answer.parameters if answer.parameters == () else _parameters(answer.parameters, operation.kind, goal)
            )
            return Execute(operation, given)


def _may(declared: bool, capabilities: Capabilities, what: str) -> None:
    if not declared:
        how = f"{what}=True" if what in ("reports", "performs") else "sites=(...)"
        raise Refusal("unsupported", f"{capabilities.name!r} did not declare {what}; set Capabilities({how}).")


def _entries(entries: object, kind: type) -> tuple[Any, ...]:
    if not isinstance(entries, tuple) or not all(type(entry) is kind for entry in entries):
        raise Refusal("dtype", f"A report holds a tuple of {kind.__name__}, not {type(entries).__name__}.")
    if len(entries) > LONGEST_REPORT:
        raise Refusal("too_long", f"A report of {len(entries)} entries was sent; send at most {LONGEST_REPORT}.")
    return entries


def _fact(fact: Fact) -> Fact:
    value = fact.value
    if isinstance(value, str):
        return Fact(_word(fact.name), _word(value))
    if isinstance(value, bool | np.bool_):
        return Fact(_word(fact.name), bool(value))
    return Fact(_word(fact.name), _number(value))


def _target(target: Target) -> Target:
    return Target(_word(target.name), _vector(target.position), _vector(target.axis))


def _vector(values: object) -> tuple[float, float, float]:
    if not isinstance(values, tuple) or len(values) != 3:
        raise Refusal("dtype", f"A target holds tuples of three numbers, not {type(values).__name__}.")
    x, y, z = (_number(value) for value in values)
    return x, y, z


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise Refusal("dtype", f"A report states numbers, words, True or False, not {type(value).__name__}.")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _word(word: object) -> str:
    if not isinstance(word, str):
        raise Refusal("dtype", f"A report names things in words, not in {type(word).__name__}.")
    if len(word) > LONGEST_WORD:
        raise Refusal("too_long", f"A word of {len(word)} characters was sent; send at most {LONGEST_WORD}.")
    return str(word)


def _commands(commands: object, spec: ActionSpec) -> tuple[np.ndarray, int]:
    """Check shape, kind, length, finiteness and range, in this order."""
    if not isinstance(commands, np.ndarray) or commands.dtype.kind not in "fiu":
        kind = commands.dtype.name if isinstance(commands, np.ndarray) else type(commands).__name__
        raise Refusal("dtype", f"Commands are {kind}; send a float array of shape (n, {spec.size}).")
    if commands.ndim != 2 or commands.shape[1] != spec.size:
        raise Refusal("shape", f"Commands have shape {commands.shape}; profile {spec.name!r} takes (n, {spec.size}).")
    if not 1 <= len(commands) <= spec.longest_chunk:
        kind = "too_long" if len(commands) else "empty"
        raise Refusal(kind, f"A chunk of {len(commands)} commands was sent; send 1 to {spec.longest_chunk}.")
    values = np.array(commands, np.float64, subok=False)
    inside = np.clip(values, *_range(spec.low, spec.high))
    same = inside == values  # false for NaN as well
    if same.all():
        return inside, 0
    if not np.isfinite(values).all():
        row, column = (int(index) for index in np.argwhere(~np.isfinite(values))[0])
        found = float(values[row, column])
        raise Refusal("nonfinite", f"Command {row} has {found} at entry {column}; send finite numbers.")
    if spec.on_out_of_range == "reject":
        row, column = (int(index) for index in np.argwhere(~same)[0])
        raise Refusal(
            "out_of_range",
            f"Command {row} has {values[row, column]:.6g} at entry {column}; "
            f"{spec.low[column]:g} to {spec.high[column]:g} {spec.units[column]} works.",
        )
    return inside, int((~same).any(axis=1).sum())


@lru_cache(maxsize=8)
def _range(low: tuple[float, ...], high: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(low), np.array(high)


def _seconds(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | np.integer | np.floating):
        kind = type(seconds).__name__
        raise Refusal("dtype", f"A wait of type {kind} cannot be kept; send seconds in (0, {LONGEST_WAIT_S:g}].")
    if not 0 < seconds <= LONGEST_WAIT_S:
        kind = "out_of_range" if -math.inf < seconds < math.inf else "nonfinite"
        raise Refusal(kind, f"A wait of {seconds} s cannot be kept; send seconds in (0, {LONGEST_WAIT_S:g}].")
    return float(seconds)


def _look(look: object) -> bool:
    if type(look) is not bool:
        raise Refusal("dtype", f"A look of type {type(look).__name__} is neither; send True or False.")
    return look


def _parameters(parameters: object, kind: str, goal: Goal) -> tuple[Parameter, ...]:
    """Return every parameter of an operation of `kind`, in the order of the goal, defaults filled in."""
    settings = {setting.name: setting for setting in goal.parameters if setting.kind == kind}
    given: dict[str, float] = {}
    for parameter in _entries(parameters, Parameter):
        name, value = _word(parameter.name), _number(parameter.value)
        if name not in settings or name in given:
            there = ", ".join(map(repr, settings)) or "none"
            raise Refusal(
                "unknown_operation", f"Operation {kind!r} takes no second or other {name!r}; parameters: {there}."
            )
        setting = settings[name]
        if not setting.low <= value <= setting.high:
            which = "out_of_range" if math.isfinite(value) else "nonfinite"
            span = f"{setting.low:g} to {setting.high:g} {setting.unit}".strip()
            raise Refusal(which, f"Parameter {name!r} of operation {kind!r} is {value:g}; {span} works.")
        given[name] = value
    return tuple(Parameter(name, given.get(name, setting.default)) for name, setting in settings.items())


def _operation(operation: object, goal: Goal) -> Operation:
    if type(operation) is not Operation:
        raise Refusal("unknown_operation", f"A {type(operation).__name__} is no operation; send an Operation.")
    if isinstance(operation.kind, str) and operation.kind == FINISH and STOP in goal.kinds:
        return Operation(STOP)
    for word, allowed, what in (
        (operation.kind, goal.kinds, "kind"),
        (operation.item, ("", *goal.items), "item"),
        (operation.place, ("", *goal.places), "place"),
    ):
        if not isinstance(word, str) or word not in allowed:
            raise Refusal(
                "unknown_operation", f"Operation {what} {word!r} is unknown; use {', '.join(map(repr, allowed))}."
            )
    return operation
