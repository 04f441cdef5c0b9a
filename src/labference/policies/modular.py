"""A system in four parts with an interface behind each: eyes, mind, localisation, hands.

What a part says is announced before it is used (`StateReport`, `Report`, `GeometryReport`, `Execute`), and what comes
back instead is used in its place. Without support nothing comes back, and the parts use each other's outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from labference.motion import Arm
from labference.motion.player import Player
from labference.wire import (
    Act,
    ActionSpec,
    Capabilities,
    Execute,
    Fact,
    GeometryReport,
    Goal,
    Observation,
    Operation,
    Report,
    Script,
    StateReport,
    Stop,
    Target,
    Wait,
)
from labference.wire.support import SCOPES

from .informed import informed as informed

PATIENCE_S = 1.0
"""Wait before another look [s]."""
AIMS = {"retrieve": ("region",)}
"""Where an operation leads that does not name it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One look: the observation it came from, what the eyes made of it, and the facts that they report."""

    observation: Observation
    view: Any
    facts: tuple[Fact, ...]


class Parts(Protocol):
    """The four parts of a system for one task family, for one episode."""

    def look(self, observation: Observation) -> Script[Seen]:
        """Clear the view and look: the eyes."""
        ...

    def decide(self, facts: tuple[Fact, ...], now: float) -> Operation:
        """Return what to do next, or wait, or stop; `now` is simulated time [s]: the mind."""
        ...

    def locate(self, seen: Seen, operation: Operation) -> tuple[Target, ...]:
        """Return where the things of `operation` are; none where they cannot be made out."""
        ...

    def carry_out(self, seen: Seen, operation: Operation, targets: tuple[Target, ...]) -> Script[Observation]:
        """Do it: the hands."""
        ...

    def done(self, operation: Operation) -> None:
        """Take note that `operation` was attempted, by whomever."""
        ...

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Take in an observation of a prefix and the operation that was confirmed before it."""
        ...


def work(parts: Parts, observation: Observation) -> Script[None]:
    """Let the parts work in turn, and take what comes back at an interface instead of their output."""
    while True:
        seen = yield from parts.look(observation)
        observation = yield StateReport(seen.facts)
        facts = informed(seen.facts, observation.support("semantic"))
        operation = parts.decide(facts, observation.senses.time)
        observation = yield Report(operation)
        given = observation.support("decision")
        operation = operation if given is None or given.operation is None else given.operation
        if operation.kind in ("wait", "stop"):
            observation = yield Stop() if operation.kind == "stop" else Wait(PATIENCE_S)
            continue
        targets = parts.locate(seen, operation)
        observation = yield GeometryReport(operation, targets)
        given = observation.support("geometry")
        if given is not None:
            targets = given.targets if given.mode == "replace" else replaced(targets, given.targets, operation)
        observation = yield Execute(operation)
        if observation.support("skill") is None:
            observation = yield from parts.carry_out(seen, operation, targets)
        if observation.senses.time == seen.observation.senses.time:
            observation = yield Wait(PATIENCE_S)
        parts.done(operation)


def replaced(own: tuple[Target, ...], given: tuple[Target, ...], operation: Operation) -> tuple[Target, ...]:
    """Return the own targets with what was given in their place, and what was given of the things of `operation`."""
    by_name = {target.name: target for target in given}
    wanted = {operation.item, operation.place, *AIMS.get(operation.kind, ()), *(target.name for target in own)}
    kept = tuple(target for target in own if target.name not in by_name)
    return (*kept, *(target for name, target in by_name.items() if name in wanted))


class Modular(ABC):
    """A tested system made of `Parts`; a subclass says which, by goal."""

    name, version = "modular", "1"
    stateful = False
    """Whether what happened before it took over matters to it."""
    cameras: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._arm = Arm()
        self._player = Player(self._work)

    def open(self) -> Capabilities:
        """Declare joint commands, RGB-D frames, and an interface behind each part."""
        return Capabilities(
            self.name,
            self.version,
            actions=("joint",),
            cameras=self.cameras,
            depth=True,
            optional=self.optional,
            sites=SCOPES,
            accepts=("semantic", "decision", "geometry"),
            witnesses=self.stateful,
        )

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Start over."""
        if spec != self._arm.spec:
            self._arm = Arm(spec)
        self._parts = self.assemble(goal, self._arm, np.random.default_rng(self._seed))
        self._player.restart()

    @abstractmethod
    def assemble(self, goal: Goal, arm: Arm, chance: np.random.Generator) -> Parts:
        """Return the parts for the task of `goal`."""

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Let the parts take in what happened before."""
        self._parts.witness(observation, operation)

    def act(self, observation: Observation) -> Act:
        """Return the next act of the script."""
        return self._player.act(observation)

    def close(self) -> None:  # noqa: B027  # not abstract: most systems hold nothing
        """Release nothing."""

    def _work(self, observation: Observation) -> Script[None]:
        return work(self._parts, observation)
