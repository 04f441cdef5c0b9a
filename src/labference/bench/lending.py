"""What the bench knows of operations that it carries out for others: how the reference would, and to what effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from labference.truth.contract import TaskContract
from labference.wire import Observation, Operation, Parameter, Script, Setting

from .expert import parameters_of

Hands = Callable[[Observation, Operation, dict[str, float]], Script[Any]]
"""Carry out an operation with parameters by name, beginning with what is so now."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What an operation led to beside what it was for: `value` in truth, everything mixed, and `aim` within `margin`.

    quantity  "ph", "ec" [uS/cm at 25 C] of the vessel afterwards, or "grams" that it gained [g]
    """

    operation: Operation
    quantity: str
    aim: float
    margin: float
    value: float


class Lending:
    """The hands of a bench, with true compositions: `needed` and `holds` are those of the laboratory."""

    def __init__(
        self,
        contract: TaskContract[Any, Any],
        state: Callable[[], Any],
        settings: tuple[Setting, ...],
        hands: Hands,
        needed: Callable[[str, str, Mapping[str, float]], float],
        holds: Callable[[str, str], float],
    ) -> None:
        self._contract, self._state, self._settings = contract, state, settings
        self._needed, self._holds = needed, holds
        self.hands = hands
        self._under_way: tuple[Operation, str, float, float, float] | None = None

    def parameters(self, operation: Operation) -> tuple[Parameter, ...]:
        """Return the parameters with which the reference executor would carry out `operation` now."""
        return parameters_of(self._contract, self._state(), operation, self._settings, self._needed)

    def began(self, operation: Operation) -> None:
        """Take note that `operation` begins, by whosever parameters."""
        state = self._state()
        margins = self._contract.margin(state, operation)
        self._under_way = None
        for quantity, aim in self._contract.aim(state, operation).items():
            if quantity in margins:
                before = self._holds(operation.place, quantity) if quantity == "grams" else 0.0
                self._under_way = (operation, quantity, aim, margins[quantity], before)

    def effect(self) -> Effect | None:
        """Return once what the last operation led to, None where it was not for a quantity."""
        known, self._under_way = self._under_way, None
        if known is None:
            return None
        operation, quantity, aim, margin, before = known
        return Effect(operation, quantity, aim, margin, self._holds(operation.place, quantity) - before)
