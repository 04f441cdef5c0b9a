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
LEAST_KP, FIRST_TILT, KD_PER_KP, PRE_STOP_G, LEAST_G = 0.36, 4.0, 1.5, 0.1, 0.3
"""Least kp [deg/s/g], first tilt speed of a small pour [deg/s], kd over kp [s], pre-stop and least amount [g]."""
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
                given = parameters_of(self._contract, state, operation, self._settings, self._needed)
                return Perform(operation, given)
        return Wait(PATIENCE_S)

    def close(self) -> None:
        """Release nothing."""


def parameters_of(
    contract: TaskContract[Any, Any], state: Any, operation: Operation, settings: tuple[Setting, ...], needed: Needed
) -> tuple[Parameter, ...]:
    """Return the parameters, in their ranges, with which an operation reaches what the contract aims at in `state`."""
    aim = dict(contract.aim(state, operation))
    if operation.kind == "pour" and aim:
        aim = gains(needed(operation.item, operation.place, aim))
    return tuple(
        Parameter(setting.name, min(setting.high, max(setting.low, aim.get(setting.name, setting.default))))
        for setting in settings
        if setting.kind == operation.kind
    )


def gains(grams: float) -> dict[str, float]:
    """Return the parameters of a pour of `grams` [g], or of the least amount: a meter that is a little off may ask for
    more where nothing is missing. The first tilt is 4 deg/s fast, or 0.36 deg/s for each gram.

    In the fast laboratory 12 pours each of 1 to 40 g of water missed by 0.04 to 0.11 g on average.
    """
    grams = max(grams, LEAST_G)
    kp = max(LEAST_KP, FIRST_TILT / grams)
    return {"amount_g": grams, "kp": kp, "kd": KD_PER_KP * kp, "pre_stop": PRE_STOP_G}
