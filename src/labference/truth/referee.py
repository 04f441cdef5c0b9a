"""Judge one episode: the scorer that the live loop and the replay audit share.

The referee is told three things, each with its tick: what was measured, what was delivered, and what the tested system
said. Everything it concludes becomes an event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labference.wire import Operation

from .contract import TaskContract
from .events import (
    Approached,
    Chosen,
    Closed,
    Completed,
    Confirmed,
    Deviated,
    DwellBroken,
    Entered,
    Event,
    Fell,
    Finished,
    Flowed,
    Grasped,
    Handled,
    Hidden,
    Immersed,
    Lifted,
    Noted,
    Opened,
    Performed,
    Physical,
    Rebuilt,
    Revealed,
    Revised,
    Sensed,
    Settled,
    Staged,
    Stopped,
    Tilted,
    Violated,
)
from .measurement import HANDOFF, Block, Channels, Dipped, Readout, SensorFault
from .watch import Watch
from .wet_watch import WetWatch
from .window import Dwell

BEHAVIOUR = "behaviour"
REPORT = "report"
WORDLESS = ("wait", "stop")
"""Kinds that behaviour cannot show: they are scored on the report track only."""


@dataclass(slots=True)
class Opportunity:
    """A decision that is open to be taken; `legal` is the reference set at delivery."""

    id: int
    legal: frozenset[Operation]
    deadline: int
    choice: Operation | None = None
    latest: Operation | None = None
    report: Operation | None = None
    closed: bool = False
    concluded: bool = False

    @property
    def physical(self) -> bool:
        """Return whether behaviour can answer."""
        return any(operation.kind not in WORDLESS for operation in self.legal)

    @property
    def answered(self) -> bool:
        """Return whether the track that can answer has."""
        return (self.choice if self.physical else self.report) is not None


@dataclass(slots=True)
class Attempt:
    """What an item is being handled for; `opportunity` is the one whose first choice that is, or 0."""

    operation: Operation
    opportunity: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Live scores: counts of what has been concluded so far."""

    opportunities: int
    chosen: int
    correct: int
    reported: int
    reports_correct: int
    violations: int
    categories: dict[str, int]
    dwell: int
    completed: bool


class Referee:
    """Fold measurements, deliveries and statements of one episode into events and a state.

    `history` holds every event in order. `pending` says that new evidence waits to be delivered: the loop then drops
    the command queue and delivers an observation. It depends on what changed and never on whether that was right, so
    that the moment of a delivery tells nothing.

    `due` says that the environment acts next, `hidden` that it does now. Meanwhile nothing is recognised, opened or
    counted; what comes to rest is still confirmed.

    While the bench carries out an operation (`perform`), that is the choice, and nothing it handles selects another.

    A system with `reports` also gets opportunities whose only legal answer is to wait; they are a track of their own
    and touch neither the queue nor the behavioural opportunity.
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
        self.pending = False
        self.current: Opportunity | None = None
        self.waiting: Opportunity | None = None
        self.completed = False
        self.stopped = False
        self.hidden = False
        self._generation = 0
        self._watch = Watch(channels, contract.places, contract.located(self.state), contract.settle_s, faults)
        self._wet = WetWatch(channels, contract.wetware()) if channels.vessels else None
        self._performing: Attempt | None = None
        self._performed = False
        self._recognisers = contract.recognisers(channels)
        self._dwell = Dwell(1)
        self._dwell_ticks = round(contract.dwell_s / channels.timestep)
        self._response_ticks = round(contract.response_s / channels.timestep)
        self._opportunities = 0
        self._key: Hashable | None = None
        self._attempted: dict[str, Attempt] = {}
        self._taken: dict[str, Operation] = {}
        self._errors: dict[str, Operation] = {}
        self._confirmed: set[Operation] = set()
        self._tally: Counter[str] = Counter()

    @property
    def lent(self) -> Operation | None:
        """Return the operation that the bench's hands carry out, or have ended without a delivery since; else None."""
        return None if self._performing is None else self._performing.operation

    @property
    def due(self) -> bool:
        """Return whether the environment acts next; evidence that waits is delivered before."""
        return not self.hidden and not self.stopped and not self.pending and self.contract.due(self.state)

    def observe(self, block: Block, readouts: tuple[Readout, ...], dipped: tuple[Dipped, ...] = ()) -> list[Event]:
        """Judge what was measured; return the events it led to."""
        first = len(self.history)
        place = self._place(block)
        for staged in self._stage(block):
            self._physical(staged)
        stretches = [(0, self.state)]
        for event in self._seen(block, readouts, dipped, place):
            self._physical(event)
            if self.state is not stretches[-1][1]:
                stretches.append((event.tick - block.tick, self.state))
        if block.tick >= 0:
            self._terminal(block, readouts, place, stretches)
        if block.control == HANDOFF:
            self.hidden = False
            self._physical(Revealed(block.end, self._generation))
        if block.end >= 0 and not self.hidden:
            self._expire(self.current, block.end)
            self._expire(self.waiting, block.end)
            self._refresh()
        return self.history[first:]

    def _place(self, block: Block) -> np.ndarray:
        """Return where each item rests, (k, n) as the contract reads it; rows that are all the same are read once."""
        rows = block.thinned()
        place = self.contract.place(rows, self.channels)
        return place if rows is block else np.broadcast_to(place, (block.ticks, *place.shape[1:]))

    def _stage(self, block: Block) -> list[Staged]:
        """Return what the environment began with this block."""
        events: list[Staged] = []
        if block.control and not self.hidden:
            self.hidden = True
            events.append(Hidden(block.tick))
            for recogniser in self._recognisers:
                recogniser.reset()
        if block.generation != self._generation:
            self._generation = block.generation
            events.append(Rebuilt(block.tick, block.generation))
        return events

    def _seen(
        self, block: Block, readouts: tuple[Readout, ...], dipped: tuple[Dipped, ...], place: np.ndarray
    ) -> list[Physical]:
        """Return what happened in the block, in order of time; recognition pauses while the environment acts."""
        events: list[Physical] = list(self._watch.update(block, readouts, place))
        if self._wet is not None and (flowed := self._wet.update(block, readouts, dipped)):
            events = sorted([*events, *flowed], key=lambda event: event.tick)
        if not self.hidden:
            found = [event for recogniser in self._recognisers for event in recogniser.update(block)]
            if found:
                events = sorted([*events, *found], key=lambda event: event.tick)
        return events

    def deliver(self, observation: int, tick: int) -> list[Event]:
        """Take note that `observation` reached the policy boundary; open the opportunity that waited for it."""
        first = len(self.history)
        self._hand_back(tick)
        decidable = self.contract.evidence(self.state) is not None
        if self.waiting is not None and (decidable or self._attempted):
            self._close(self.waiting, tick, "nothing to wait for")
            self.waiting = None
        if self.pending:
            self.pending = False
            self._close(self.current, tick, "new evidence")
            self.current = self._open(observation, tick)
        elif self.reports and not decidable and not self._attempted and self.waiting is None:
            self.waiting = self._open(observation, tick)
        return self.history[first:]

    def report(self, operation: Operation, tick: int) -> list[Event]:
        """Score an explicit statement of the next operation, on its own track."""
        return self._stated(self.waiting or self.current, operation, tick)

    def commit(self, operation: Operation, tick: int) -> list[Event]:
        """Score the operation that a motion says it serves: a report, but never an answer to waiting."""
        return self._stated(self.current, operation, tick)

    def _stated(self, now: Opportunity | None, operation: Operation, tick: int) -> list[Event]:
        first = len(self.history)
        if now is None:
            self._add(Noted(tick, "unbound_report", operation))
        elif now.report is not None:
            if operation != now.report:
                self._add(Revised(tick, now.id, operation, REPORT))
        elif tick > now.deadline:
            self._add(Noted(tick, "late_report", operation))
        else:
            now.report = operation
            self._add(Chosen(tick, now.id, operation, operation in now.legal, REPORT))
        return self.history[first:]

    def perform(self, operation: Operation, tick: int) -> list[Event]:
        """Take note that the tested system lets the bench carry out `operation`, until the next delivery."""
        first = len(self.history)
        self._physical(Performed(tick, operation))
        return self.history[first:]

    def stop(self, tick: int) -> list[Event]:
        """Take note that the tested system declared the task finished."""
        first = len(self.history)
        self.stopped = True
        self._add(Stopped(tick))
        finish = Operation("stop")
        if self.reports:
            self.report(finish, tick)
        if finish not in self.contract.legal(self.state):
            self._add(Noted(tick, "early_termination", finish))
        return self.history[first:]

    def finish(self, tick: int) -> list[Event]:
        """End the episode."""
        first = len(self.history)
        for opportunity in (self.current, self.waiting):
            self._close(opportunity, tick, "end of episode")
        return self.history[first:]

    def snapshot(self) -> Snapshot:
        """Return the live scores."""
        tally = self._tally
        categories = {name[5:]: count for name, count in sorted(tally.items()) if name.startswith("note ")}
        return Snapshot(
            opportunities=tally["Opened"],
            chosen=tally[BEHAVIOUR],
            correct=tally[f"{BEHAVIOUR} correct"],
            reported=tally[REPORT],
            reports_correct=tally[f"{REPORT} correct"],
            violations=tally["Violated"],
            categories=categories,
            dwell=int(self._dwell.held[0]),
            completed=self.completed,
        )

    def _add(self, event: Event) -> None:
        self.history.append(event)
        match event:
            case Opened() | Violated():
                self._tally[type(event).__name__] += 1
            case Chosen():
                self._tally[event.track] += 1
                self._tally[f"{event.track} correct"] += event.correct
            case Noted():
                self._tally[f"note {event.category}"] += 1
            case _:
                pass

    def _physical(self, event: Physical) -> None:
        self._add(event)
        before = self.state
        if isinstance(event, Performed):
            self._lent(event)
        elif event.tick >= 0 and self._performing is None:
            if isinstance(event, Grasped | Entered | Approached):
                self._recognised(event, self.contract.chosen(before, event))
            elif isinstance(event, Tilted | Immersed):
                self._recognised(event, self.contract.directed(before, event))
        self.state = self.contract.update(before, event)
        if self._performing is not None and isinstance(event, Handled | Sensed | Flowed):
            self._conclude_lent(event.tick)
        elif event.tick >= 0 and isinstance(event, Flowed):
            self._flowed(event.tick)
        if event.tick >= 0 and isinstance(event, Lifted | Settled | Fell):
            self._concluded(event)
            if self.current is not None and self.contract.located(before) != self.contract.located(self.state):
                self.current.concluded = True
        rule = self.contract.violation(before, event)
        if rule is not None:
            item = event.item if isinstance(event, Grasped | Lifted | Settled | Fell) else ""
            self._add(Violated(event.tick, rule, item))

    def _lent(self, event: Performed) -> None:
        """Score the choice of an operation that the bench carries out."""
        operation = event.operation
        self._note_repetition(event.tick, operation.item, operation)
        self._performing, self._performed = Attempt(operation, self._choose(event.tick, operation)), False

    def _conclude_lent(self, tick: int) -> None:
        """Confirm an operation that the bench carries out, at the event that achieves its subgoal."""
        now = self._performing
        if now is None or self._performed or not self.contract.achieved(self.state, now.operation):
            return
        self._performed = True
        self._confirm(tick, now)

    def _hand_back(self, tick: int) -> None:
        """End what the bench was carrying out: it is confirmed by now, or it failed."""
        now = self._performing
        if now is None:
            return
        self._conclude_lent(tick)
        self._performing = None
        if not self._performed:
            self._fail(tick, now.operation.item, now.operation)
        if self.current is not None:
            self.current.concluded = True
        self._physical(Finished(tick, now.operation, self._performed))
        self._refresh()

    def _confirm(self, tick: int, attempt: Attempt) -> None:
        self._confirmed.add(attempt.operation)
        self._add(Confirmed(tick, attempt.operation, attempt.opportunity))
        known = self._errors.get(attempt.operation.item)
        if known is not None and not self._left_to_do(attempt.operation.item):
            del self._errors[attempt.operation.item]
            self._add(Noted(tick, "recovery", attempt.operation))

    def _flowed(self, tick: int) -> None:
        """Confirm what a system's own hands attempted with a liquid or a probe."""
        for item, attempt in list(self._attempted.items()):
            if self.contract.achieved(self.state, attempt.operation):
                del self._attempted[item]
                self._confirm(tick, attempt)
                # The balance may have been read before the last drop counted: what that opened is not concluded by it.
                if self.current is not None and self.current.id == attempt.opportunity:
                    self.current.concluded = True

    def _note_repetition(self, tick: int, item: str, operation: Operation) -> None:
        """Remember an operation that is not legal as an error; say so where it was done before."""
        legal = self.current.legal if self.current is not None else frozenset()
        if operation in legal:
            return
        self._errors[item] = operation
        if operation in self._confirmed and operation not in self.contract.outstanding(self.state):
            self._add(Noted(tick, "needless_repetition", operation))

    def _recognised(
        self, event: Grasped | Entered | Approached | Tilted | Immersed, operation: Operation | None
    ) -> None:
        """Score the operation that an interaction selects, judged in the state before it."""
        if operation is None:
            return
        if isinstance(event, Immersed):
            self._attempted[operation.item] = Attempt(operation, self._choose(event.tick, operation))
            return
        if isinstance(event, Approached):
            if self.current is not None and operation not in self.current.legal:
                self._errors[operation.item] = operation
            self._choose(event.tick, operation)
            return
        if isinstance(event, Grasped) and self._taken.get(event.item) == operation:
            # It slipped and was caught before it came to rest: no choice, and the one that is open stays open.
            self._fail(event.tick, event.item, operation)
            return
        again = isinstance(event, Grasped) and event.item in self._attempted
        if again:
            self._fail(event.tick, event.item, self._attempted[event.item].operation)
        self._taken.pop(event.item, None)
        self._note_repetition(event.tick, event.item, operation)
        opportunity = self._choose(event.tick, operation)
        self._attempted[event.item] = Attempt(operation, 0 if again else opportunity)

    def _choose(self, tick: int, operation: Operation) -> int:
        """Score a choice; return the opportunity whose first choice it is, or 0."""
        now = self.current
        if now is None or now.concluded or self.pending:
            self._add(Noted(tick, "premature_advancement", operation))
        elif now.choice is not None:
            if operation == now.choice:
                return now.id
            if operation != now.latest:
                now.latest = operation
                self._add(Revised(tick, now.id, operation, BEHAVIOUR))
        elif tick > now.deadline:
            self._add(Noted(tick, "late_choice", operation))
        else:
            now.choice = now.latest = operation
            self._add(Chosen(tick, now.id, operation, operation in now.legal, BEHAVIOUR))
            return now.id
        return 0

    def _concluded(self, event: Lifted | Settled | Fell) -> None:
        """Compare an attempt's outcome with what it selected; remember errors until nothing is left to put right."""
        attempt = self._attempted.get(event.item)
        known = event.item in self._errors
        if attempt is not None and self.contract.achieved(self.state, attempt.operation):
            del self._attempted[event.item]
            self._confirmed.add(attempt.operation)
            self._add(Confirmed(event.tick, attempt.operation, attempt.opportunity))
            if isinstance(event, Lifted):
                self._taken[event.item] = attempt.operation
        elif isinstance(event, Lifted):
            return
        elif attempt is not None:
            del self._attempted[event.item]
            self._missed(event, attempt.operation)
        else:
            lost = self._taken.pop(event.item, None)
            if lost is None:
                return
            if self._left_to_do(event.item):
                self._fail(event.tick, event.item, lost)
        if self.current is not None:
            self.current.concluded = True
        if known and isinstance(event, Settled) and not self._left_to_do(event.item):
            operation = self._errors.pop(event.item) if attempt is None else attempt.operation
            self._errors.pop(event.item, None)
            self._add(Noted(event.tick, "recovery", operation))

    def _missed(self, event: Settled | Fell, operation: Operation) -> None:
        if isinstance(event, Settled) and operation.place and event.place != self.contract.destination(operation):
            self._add(Deviated(event.tick, event.item, self.contract.destination(operation), event.place))
        self._fail(event.tick, event.item, operation)

    def _left_to_do(self, item: str) -> bool:
        return any(operation.item == item for operation in self.contract.outstanding(self.state))

    def _fail(self, tick: int, item: str, operation: Operation) -> None:
        self._errors[item] = operation
        self._add(Noted(tick, "operation_failure", operation))

    def _terminal(
        self, block: Block, readouts: tuple[Readout, ...], place: np.ndarray, stretches: list[tuple[int, Any]]
    ) -> None:
        """Count uninterrupted ticks of the terminal predicate, each judged in the state of its own tick."""
        before = int(self._dwell.held[0])
        if block.control:
            self._dwell.held[:] = 0
            return
        if not before and len(stretches) == 1 and self.contract.outstanding(self.state):
            return
        holds = np.zeros(block.ticks, dtype=bool)
        ends = [start for start, _ in stretches[1:]] + [block.ticks]
        for (start, state), end in zip(stretches, ends, strict=True):
            if end > start:
                holds[start:end] = self.contract.terminal(state, block, readouts, self.channels, place)[start:end]
        if not before and not holds.any():
            return
        run = self._dwell.update(holds[:, None])[:, 0]
        if self.completed:
            return
        previous = np.concatenate([[before], run[:-1]])
        for row in np.flatnonzero((run == self._dwell_ticks) | ((run == 0) & (previous > 0))):
            if run[row]:
                self.completed = True
                self._add(Completed(block.tick + int(row)))
                return
            self._add(DwellBroken(block.tick + int(row), int(previous[row])))

    def _expire(self, now: Opportunity | None, tick: int) -> None:
        if now is not None and tick > now.deadline and not now.answered:
            self._close(now, tick, "response window")

    def _refresh(self) -> None:
        key = self.contract.evidence(self.state)
        if key is not None and key != self._key:
            self._key, self.pending = key, True
            self.evidence += 1

    def _open(self, observation: int, tick: int) -> Opportunity:
        self._opportunities += 1
        legal, deadline = self.contract.legal(self.state), tick + self._response_ticks
        opened = Opportunity(self._opportunities, legal, deadline)
        answers = tuple(sorted(legal))
        self._add(Opened(tick, opened.id, self.evidence, observation, deadline, answers, opened.physical))
        return opened

    def _close(self, opportunity: Opportunity | None, tick: int, because: str) -> None:
        if opportunity is not None and not opportunity.closed:
            opportunity.closed = True
            self._add(Closed(tick, opportunity.id, because))
