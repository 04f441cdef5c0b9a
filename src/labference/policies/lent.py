"""A system in three parts for a bench that lends its hands: eyes, mind, and the numbers of each operation.

What a part says is announced before it is used (`StateReport`, `Report`, `Execute`), and what comes back instead is
used in its place. There is no geometry: the bench's hands know where everything is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Protocol

from labference.wire import (
    ActionSpec,
    Capabilities,
    Execute,
    Fact,
    Goal,
    Observation,
    Operation,
    Parameter,
    Perform,
    Report,
    Script,
    StateReport,
    Stop,
    Wait,
)

from .informed import informed
from .performing import HOLDS_M, Performing, reading

SITES = ("semantic", "decision", "skill")
PATIENCE_S = 1.0
"""Wait where it decides to wait [s]."""
STOP = Operation("stop")
TUBES = ("pick", "place", "pour")
Facts = Mapping[str, float | str | bool]
"""Facts by name."""


class LentParts(Protocol):
    """The three parts of a system for one task family, for one episode."""

    def look(self, observation: Observation) -> tuple[Fact, ...]:
        """Return what the data ports and the gripper show, and what is remembered of the own operations: the eyes."""
        ...

    def decide(self, facts: Facts) -> Operation:
        """Return what to do next, or stop: the mind."""
        ...

    def numbers(self, facts: Facts, operation: Operation) -> dict[str, float]:
        """Return the parameters of an operation by name; those not named take the bench's defaults."""
        ...

    def done(self, operation: Operation, numbers: dict[str, float] | None) -> None:
        """Take note that `operation` was carried out, by somebody else's numbers if there are none."""
        ...


def work(parts: LentParts, observation: Observation) -> Script[None]:
    """Let the parts work in turn, and take what comes back at an interface instead of their output."""
    while True:
        own = parts.look(observation)
        observation = yield StateReport(own)
        facts = {fact.name: fact.value for fact in informed(own, observation.support("semantic"))}
        operation = parts.decide(facts)
        observation = yield Report(operation)
        given = observation.support("decision")
        operation = operation if given is None or given.operation is None else given.operation
        if operation.kind in ("wait", "stop"):
            observation = yield Stop() if operation.kind == "stop" else Wait(PATIENCE_S)
            continue
        numbers = parts.numbers(facts, operation)
        parameters = tuple(Parameter(name, value) for name, value in numbers.items())
        observation = yield Execute(operation, parameters)
        replaced = observation.support("skill") is not None
        if not replaced:
            observation = yield Perform(operation, parameters)
        parts.done(operation, None if replaced else numbers)


class Lent(Performing):
    """A tested system made of `LentParts`; a subclass says which, by goal."""

    stateful = False
    """Whether what happened before it took over matters to it."""

    def open(self) -> Capabilities:
        """Ask for the data ports and for the bench's hands, and declare an interface behind each part."""
        return Capabilities(
            self.name,
            self.version,
            actions=("joint",),
            readings=True,
            sites=SITES,
            accepts=("semantic", "decision"),
            performs=True,
            witnesses=self.stateful,
        )

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Start over with new parts."""
        super().reset(goal, spec, session)
        self._parts = self.assemble()

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Let the parts take in what happened before, and what it looked like afterwards."""
        if operation is not None:
            self._parts.done(operation, None)
        self._parts.look(observation)

    @abstractmethod
    def assemble(self) -> LentParts:
        """Return the parts for the task of the goal."""

    def work(self, observation: Observation) -> Script[None]:
        """Let the parts work in turn."""
        yield from work(self._parts, observation)


class Hand:
    """What the fingers hold: after a grasp, how far the gripper is open says whether, and the grasp says what.

    After something was put back it says nothing: hands may open no further than they need to.
    """

    def __init__(self) -> None:
        self._taken: str | None = None

    def took(self, operation: Operation) -> None:
        """Remember what a grasp was for, and that nothing is held once it was put back."""
        if operation.kind in ("pick", "take_probe"):
            self._taken = operation.item
        elif operation.kind in ("place", "return_probe") or (operation.kind == "stir" and self._taken is None):
            self._taken = ""

    def facts(self, observation: Observation) -> tuple[Fact, ...]:
        """Return what is held, nothing where something may be and it cannot be known what."""
        if self._taken == "" or observation.senses.robot.opening >= HOLDS_M:
            return (Fact("hand", "empty"),)
        return () if self._taken is None else (Fact("hand", self._taken),)


def stable(observation: Observation, port: str) -> float | None:
    """Return what a data port shows, None where that is not valid or not stable."""
    found = reading(observation, port)
    return found.value if found is not None and found.stable else None
