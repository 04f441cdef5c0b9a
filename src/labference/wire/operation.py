"""What a tested system can say: task-level operations, and the four acts that carry them out or state them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, order=True)
class Operation:
    """Name one task-level operation, the papers' u = (k, b, r); `wait` and `stop` leave item and place empty."""

    kind: str
    item: str = ""
    place: str = ""

    def __str__(self) -> str:
        return " ".join(word for word in (self.kind, self.item, self.place) if word)


@dataclass(frozen=True, slots=True)
class Move:
    """Queue low-level commands, one per control period.

    `commands` has shape (n, size) in the units of the profile's `ActionSpec`. `commits` optionally states which
    operation the motion serves; it is scored on the report track, never on the behavioural one. `look` says whether the
    observation that follows should carry camera frames; new evidence always comes with them.
    """

    commands: np.ndarray
    commits: Operation | None = None
    look: bool = True


@dataclass(frozen=True, slots=True)
class Wait:
    """Hold still for `seconds` [s] of simulated time, or until new evidence arrives; `look` as in `Move`."""

    seconds: float
    look: bool = True


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number that says how an operation is to be carried out; name, unit and range are in `Goal.parameters`."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Perform:
    """Let the bench carry out `operation` with its own hands; parameters that are not named take their defaults.

    The observation that follows comes when the operation has ended, or with new evidence.
    """

    operation: Operation
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """State the operation that should come next; takes no simulated time."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class Stop:
    """Declare the task finished; the robot holds still from here on."""
