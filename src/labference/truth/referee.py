"""Judge one episode: the scorer that the live loop and the replay audit share.

The referee is told three things, each with its tick: what was measured, what was delivered, and what the tested system
said. Everything it concludes becomes an event.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labference.wire import Operation

from .contract import TaskContract
from .events import (
    Chosen,
    Closed,
    Completed,
    DwellBroken,
    Event,
    Fell,
    Grasped,
    Noted,
    Opened,
    Physical,
    Revised,
    Settled,
    Stopped,
    Violated,
)
from .measurement import Block, Channels, Readout, SensorFault
from .watch import Watch
from .window import Dwell

BEHAVIOUR = "behaviour"
REPORT = "report"
WORDLESS = ("wait", "stop")
"""Kinds that behaviour cannot show: they are scored on the report track only."""


@dataclass(slots=True)
class Opportunity:
    """A decision that is open to be taken."""

    id: int
    legal: frozenset[Operation]
    deadline: int
    choice: Operation | None = None
    report: Operation | None = None
    expired: bool = False
    concluded: bool = False


class Referee:
    """Fold measurements, deliveries and statements of one episode into events and a state.

    `history` holds every event in order. `pending` says that new evidence waits to be delivered: the loop then drops
    the command queue and delivers an observation.
    """

    def __init__(
        self,
        contract: TaskContract[Any, Any],
        instance: Any,
        channels: Channels,
        *,
        reports: bool = False,
        faults: tuple[SensorFault, ...] = (),
    ) -> None:
        self.contract = contract
        self.channels = channels
        self.reports = reports
        self.state = contract.start(instance)
        self.history: list[Event] = []
        self.evidence = 0
        self.current: Opportunity | None = None
        self.completed = False
        self._watch = Watch(channels, contract.places, contract.located(self.state), contract.settle_s, faults)
        self._dwell = Dwell(1)
        self._dwell_ticks = round(contract.dwell_s / channels.timestep)
        self._response_ticks = round(contract.response_s / channels.timestep)
        self._opportunities = 0
        self._key: Hashable | None = None
        self._fresh = False
        self._attempted: dict[str, Operation] = {}
        self._failed: dict[str, Operation] = {}
        self._mistaken: dict[str, Operation] = {}
        self._confirmed: set[Operation] = set()

    @property
    def pending(self) -> bool:
        """Return whether evidence that opens a new opportunity waits to be delivered."""
        return self._fresh

    def observe(self, block: Block, readouts: tuple[Readout, ...]) -> list[Event]:
        """Judge what was measured; return the events it led to."""
        first = len(self.history)
        place = self.contract.place(block, self.channels)
        for event in self._watch.update(block, readouts, place):
            self._physical(event)
        if block.tick >= 0:
            self._terminal(block, readouts, place)
        if block.end >= 0:
            self._expire(block.end)
            self._refresh(block.end)
        return self.history[first:]

    def deliver(self, observation: int, tick: int) -> list[Event]:
        """Take note that `observation` reached the policy boundary; open the opportunity that waited for it."""
        first = len(self.history)
        if self._fresh:
            self._fresh = False
            self._close(tick, "new evidence")
            self._open(observation, tick)
        return self.history[first:]

    def report(self, operation: Operation, tick: int) -> list[Event]:
        """Score an explicit statement of the next operation, on its own track."""
        first = len(self.history)
        now = self.current
        if now is None:
            self.history.append(Noted(tick, "unbound_report", operation))
        elif now.report is None:
            now.report = operation
            self.history.append(Chosen(tick, now.id, operation, operation in now.legal, REPORT))
        elif operation != now.report:
            self.history.append(Revised(tick, now.id, operation, REPORT))
        return self.history[first:]

    def stop(self, tick: int) -> list[Event]:
        """Take note that the tested system declared the task finished."""
        first = len(self.history)
        self.history.append(Stopped(tick))
        finish = Operation("stop")
        if self.reports:
            self.report(finish, tick)
        if finish not in self.contract.legal(self.state):
            self.history.append(Noted(tick, "early_termination", finish))
        return self.history[first:]

    def finish(self, tick: int) -> list[Event]:
        """End the episode."""
        first = len(self.history)
        self._close(tick, "end of episode")
        return self.history[first:]

    def _physical(self, event: Physical) -> None:
        self.history.append(event)
        before = self.state
        if isinstance(event, Grasped):
            self._grasped(event)
        self.state = self.contract.update(before, event)
        if isinstance(event, Settled | Fell):
            self._concluded(event)
        rule = self.contract.violation(before, event)
        if rule is not None:
            self.history.append(Violated(event.tick, rule, getattr(event, "item", "")))

    def _grasped(self, event: Grasped) -> None:
        """Identify the operation that a grasp selects, in the state before contact."""
        operation = self.contract.chosen(self.state, event)
        if event.item in self._attempted:
            self._fail(event.tick, event.item, self._attempted[event.item])
        self._attempted[event.item] = operation
        if operation in self._confirmed and operation not in self.contract.legal(self.state):
            self.history.append(Noted(event.tick, "needless_repetition", operation))
        self._choose(event.tick, operation)

    def _choose(self, tick: int, operation: Operation) -> None:
        now = self.current
        if now is None or now.concluded or self._fresh:
            self.history.append(Noted(tick, "premature_advancement", operation))
        elif now.choice is not None:
            if operation != now.choice:
                self.history.append(Revised(tick, now.id, operation, BEHAVIOUR))
        elif tick > now.deadline:
            self.history.append(Noted(tick, "late_choice", operation))
        else:
            now.choice = operation
            correct = operation in now.legal
            self.history.append(Chosen(tick, now.id, operation, correct, BEHAVIOUR))
            if not correct:
                self._mistaken[operation.item] = operation

    def _concluded(self, event: Settled | Fell) -> None:
        """Compare an attempt's outcome with what it selected; remember failures until they are put right."""
        operation = self._attempted.pop(event.item, None)
        if operation is None:
            return
        if self.current is not None:
            self.current.concluded = True
        if not self.contract.achieved(self.state, operation):
            self._fail(event.tick, event.item, operation)
            return
        self._confirmed.add(operation)
        mistake = self._mistaken.get(event.item)
        undone = mistake is not None and not self.contract.achieved(self.state, mistake)
        if undone:
            del self._mistaken[event.item]
        if self._failed.pop(event.item, None) is not None or undone:
            self.history.append(Noted(event.tick, "recovery", operation))

    def _fail(self, tick: int, item: str, operation: Operation) -> None:
        self._failed[item] = operation
        self.history.append(Noted(tick, "operation_failure", operation))

    def _terminal(self, block: Block, readouts: tuple[Readout, ...], place: Any) -> None:
        holds = self.contract.terminal(self.state, block, readouts, self.channels, place)
        before = int(self._dwell.held[0])
        if not before and not holds.any():
            return
        run = self._dwell.update(holds[:, None])[:, 0]
        if self.completed:
            return
        previous = np.concatenate([[before], run[:-1]])
        for row in np.flatnonzero((run == self._dwell_ticks) | ((run == 0) & (previous > 0))):
            if run[row]:
                self.completed = True
                self.history.append(Completed(block.tick + int(row)))
                return
            self.history.append(DwellBroken(block.tick + int(row), int(previous[row])))

    def _expire(self, tick: int) -> None:
        now = self.current
        if now is None or now.expired or now.choice is not None or now.report is not None:
            return
        if tick > now.deadline:
            now.expired = True
            self.history.append(Closed(tick, now.id, "response window"))

    def _refresh(self, tick: int) -> None:
        key = self.contract.evidence(self.state)
        if key is None or key == self._key:
            return
        legal = self.contract.legal(self.state)
        if self.reports or any(operation.kind not in WORDLESS for operation in legal):
            self._key, self._fresh = key, True
            self.evidence += 1

    def _open(self, observation: int, tick: int) -> None:
        legal = self.contract.legal(self.state)
        self._opportunities += 1
        deadline = tick + self._response_ticks
        self.current = Opportunity(self._opportunities, legal, deadline)
        physical = any(operation.kind not in WORDLESS for operation in legal)
        self.history.append(
            Opened(tick, self._opportunities, self.evidence, observation, deadline, tuple(sorted(legal)), physical)
        )

    def _close(self, tick: int, because: str) -> None:
        if self.current is not None:
            if not self.current.expired:
                self.history.append(Closed(tick, self.current.id, because))
            self.current = None
