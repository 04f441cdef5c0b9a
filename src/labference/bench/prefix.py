"""An authorised prefix: what the reference executor does before a tested system takes over."""

from __future__ import annotations

from typing import Any

from labference.truth.contract import TaskContract
from labference.truth.events import Confirmed, Finished
from labference.truth.referee import WORDLESS, Referee
from labference.wire import Observation, Operation


class Prefix:
    """Tell when a prefix of so many confirmed operations has led to a choice, and keep what it showed."""

    def __init__(self, contract: TaskContract[Any, Any], referee: Referee, operations: int, *, keep: bool) -> None:
        self._contract, self._referee, self._operations, self._keep = contract, referee, operations, keep
        self._told = 0
        self.seen: list[tuple[Observation, Operation | None]] = []

    def reached(self, referee: Referee) -> bool:
        """Return whether the handoff is here: new evidence waits, and behaviour can answer it.

        The end of what the bench's hands did is told with the next delivery, which is the first one of a branch.
        """
        if len(self._confirmed()) < self._operations or not (referee.pending or referee.lent):
            return False
        state, lent = referee.state, referee.lent
        if lent is not None:
            state = self._contract.update(state, Finished(0, lent, True))
        return any(operation.kind not in WORDLESS for operation in self._contract.legal(state))

    def see(self, observation: Observation) -> None:
        """Keep a delivered observation with the operation that was confirmed since the last one."""
        done = self._confirmed()
        latest = done[-1] if len(done) > self._told else None
        self._told = len(done)
        senses = observation.senses
        if self._keep and (senses.frames or senses.readings or latest is not None):
            self.seen.append((observation, latest))

    def _confirmed(self) -> list[Operation]:
        return [event.operation for event in self._referee.history if isinstance(event, Confirmed)]
