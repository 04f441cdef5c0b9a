"""What controllers of the wet bench share: they read the goal and the data ports, and let the bench carry out their
operations.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from labference.wire import (
    Act,
    ActionSpec,
    Capabilities,
    Goal,
    Observation,
    Operation,
    Parameter,
    Perform,
    Reading,
    Refusal,
    Script,
    Stop,
)

BALANCE, PH, EC = "balance", "meter pH", "meter EC"
"""Data ports."""
NUMBER = r"(\d+(?:\.\d+)?)"
"""A number in an instruction."""
TRIES = 3
"""How often a grasp is tried."""
HOLDS_M = 0.06
"""A gripper that stays closer than this after a grasp holds something [m]."""


class Performing(ABC):
    """A controller as a script of operations; `work` says which."""

    name = ""
    version = "1"
    kinds: tuple[str, ...] = ()
    """Operations without which it has nothing to do."""

    def __init__(self, seed: int = 0) -> None:
        del seed  # nothing is drawn
        self._running: Script[None] | None = None
        self.goal = Goal("", (), (), ())

    def open(self) -> Capabilities:
        """Ask for the data ports and for the bench's hands."""
        return Capabilities(self.name, self.version, actions=("joint",), readings=True, performs=True)

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Read the goal; refuse one that asks for something else."""
        if missing := [kind for kind in self.kinds if kind not in goal.kinds]:
            raise Refusal("unsupported", f"{self.name!r} needs to {missing[0]}; here one can {', '.join(goal.kinds)}.")
        self.goal = goal
        self._running = None

    def act(self, observation: Observation) -> Act:
        """Return the next act of the script."""
        if self._running is None:
            self._running = self._play(observation)
            return next(self._running)
        return self._running.send(observation)

    def close(self) -> None:  # noqa: B027  # not abstract: a controller holds nothing
        """Release nothing."""

    @abstractmethod
    def work(self, observation: Observation) -> Script[None]:
        """Carry out the task, as this controller understands it."""

    def _play(self, observation: Observation) -> Script[None]:
        yield from self.work(observation)
        while True:
            yield Stop()

    def asked(self, pattern: str) -> float:
        """Return the number that `pattern` finds in the instruction; refuse an instruction without."""
        found = re.search(pattern, self.goal.instruction)
        if found is None:
            raise Refusal("unsupported", f"{self.name!r} does not find {pattern!r} in the instruction.")
        return float(found.group(1))


def do(kind: str, item: str, place: str, **parameters: float) -> Script[Observation]:
    """Let the bench carry out one operation, and return what is delivered after it."""
    given = tuple(Parameter(name, value) for name, value in parameters.items())
    return (yield Perform(Operation(kind, item, place), given))


def take(item: str, place: str, kind: str = "pick") -> Script[Observation]:
    """Take an item, again where the fingers close on nothing."""
    observation = yield from do(kind, item, place)
    for _ in range(TRIES - 1):
        if observation.senses.robot.opening < HOLDS_M:
            break
        observation = yield from do(kind, item, place)
    return observation


def reading(observation: Observation, port: str) -> Reading | None:
    """Return what a data port says, None where it says nothing valid."""
    found = next((entry for entry in observation.senses.readings if entry.instrument == port), None)
    return found if found is not None and found.value is not None else None
