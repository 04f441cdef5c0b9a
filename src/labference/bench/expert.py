"""The reference executor of a bench that lends its hands: asks for legal operations, with true compositions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from labference.truth.contract import TaskContract
from labference.wire import (
    Act,
    ActionSpec,
    Capabilities,
    Goal,
    Observation,
    Operation,
    Parameter,
    Perform,
    Setting,
    Wait,
)

PATIENCE_S = 0.5
"""How long it waits where nothing is left to do, or nothing is legal [s]."""
AMOUNT = "amount_g"
Needed = Callable[[str, str, Mapping[str, float]], float]
"""Return how many grams of a source bring a vessel to an aim."""


class Performer:
    """Follow the contract's legal set, in the order of names."""

    def __init__(self, contract: TaskContract[Any, Any], state: Callable[[], Any], needed: Needed) -> None:
        self._contract, self._state, self._needed = contract, state, needed
        self._settings: tuple[Setting, ...] = ()

    def open(self) -> Capabilities:
        """Declare no sensors: it reads the truth."""
        return Capabilities("expert", "1", actions=("joint",), performs=True)

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Take the ranges of parameters."""
        self._settings = goal.parameters

    def act(self, observation: Observation) -> Act:
        """Ask for the first legal operation."""
        state = self._state()
        for operation in sorted(self._contract.legal(state)):
            if operation.item:
                return Perform(operation, self._parameters(state, operation))
        return Wait(PATIENCE_S)

    def close(self) -> None:
        """Release nothing."""

    def _parameters(self, state: Any, operation: Operation) -> tuple[Parameter, ...]:
        aim = self._contract.aim(state, operation)
        found = []
        for setting in self._settings:
            if setting.kind != operation.kind:
                continue
            value = setting.default
            if setting.name in aim:
                value = aim[setting.name]
            elif setting.name == AMOUNT and aim:
                value = self._needed(operation.item, operation.place, aim)
            found.append(Parameter(setting.name, min(setting.high, max(setting.low, value))))
        return tuple(found)
