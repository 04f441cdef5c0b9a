"""Decide before any physics whether an answer can be carried out; refusals come from act and spec alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from labference.wire import ActionSpec, Capabilities, Goal, Move, Operation, Refusal, Report, Stop, Wait

ACTS = (Move, Wait, Report, Stop)
LONGEST_WAIT_S = 60.0
"""Longest single `Wait` [s]."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A legal act; `clipped` counts the commands of a `Move` that were changed to fit the range."""

    act: Move | Wait | Report | Stop
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
            _operation(answer.commits, goal, capabilities)
        return Admitted(Move(commands, answer.commits, _look(answer.look)), clipped)
    if isinstance(answer, Wait):
        return Admitted(Wait(_seconds(answer.seconds), _look(answer.look)))
    if isinstance(answer, Report):
        _operation(answer.operation, goal, capabilities)
    return Admitted(answer)


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


def _operation(operation: object, goal: Goal, capabilities: Capabilities) -> None:
    if not capabilities.reports:
        raise Refusal("unsupported", f"{capabilities.name!r} did not declare reports; set Capabilities(reports=True).")
    if type(operation) is not Operation:
        raise Refusal("unknown_operation", f"A {type(operation).__name__} is no operation; send an Operation.")
    for word, allowed, what in (
        (operation.kind, goal.kinds, "kind"),
        (operation.item, ("", *goal.items), "item"),
        (operation.place, ("", *goal.places), "place"),
    ):
        if not isinstance(word, str) or word not in allowed:
            raise Refusal(
                "unknown_operation", f"Operation {what} {word!r} is unknown; use {', '.join(map(repr, allowed))}."
            )
