"""The record of a trial as the agent kept it: belief, proposals, rulings, readings and the experience that it followed.

The belief is told as changes: a move lists the fields that are new or different since the move before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .agent import Agent, Move
from .belief import Belief, Known
from .codec import plain, read
from .experience import Value
from .gate.gate import ExceptionLog
from .labs.wetlab import Target
from .skills.tools import Reading
from .supervise import Checkpoint

AGENT = ""
"""Thing of a field that is the robot's own."""
NOTHING: dict[str, Any] = {"moves": []}
"""What is written of a trial that failed before the agent had seen anything."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field of the belief as it is now: `thing` is empty for the robot's own fields and for data ports."""

    field: str
    value: Value | None
    thing: str = AGENT
    unit: str = ""
    source: str = ""
    time: float = 0.0
    stale: str = ""
    """Why it does not count; empty while it does."""

    @property
    def name(self) -> str:
        """Return thing and field."""
        return f"{self.thing} {self.field}".strip()


@dataclass(frozen=True, slots=True)
class Held:
    """A value that a rule looked at."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why the gate stopped a proposal."""

    layer: str
    rule: str
    values: tuple[Held, ...]
    allowed: str
    source: str
    sentence: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """One proposal with its ruling; `belief` is what changed since the one before."""

    time: float
    intent: str
    action: str
    kind: str
    admitted: bool
    item: str = ""
    follows: tuple[str, ...] = ()
    exception: Stopped | None = None
    belief: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Followed:
    """An entry of the memory that was followed, as it read then."""

    entry: str
    kind: str
    advice: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """One trial. `retrieved` are the ids that the memory gave at the start and at each checkpoint; times in s."""

    instruction: str
    method: str
    operator: str
    ended: float
    claimed: bool
    target: Target
    checkpoint: Checkpoint
    retrieved: tuple[tuple[str, ...], ...] = ()
    experience: tuple[Followed, ...] = ()
    moves: tuple[Moved, ...] = ()


def transcript(agent: Agent) -> dict[str, Any]:
    """Return what an agent kept of its trial as JSON values; without a trial there are no moves."""
    found = told(agent)
    return NOTHING if found is None else {**NOTHING, **plain(found)}


def parsed(data: object) -> Transcript | None:
    """Return a transcript from its JSON values, or None where nothing was kept; raises `Malformed`."""
    return None if data == NOTHING else read(Transcript, data, "The transcript")


def told(agent: Agent) -> Transcript | None:
    """Return what an agent kept of its trial, or None where there was none."""
    trial, supervisor = agent.trial, agent.supervisor
    if trial is None or supervisor is None:
        return None
    followed = {name for move in trial.moves for name in move.proposal.follows}
    entries = {hit.entry.id: hit.entry for found in trial.retrieved for hit in found.hits}
    return Transcript(
        trial.goal.instruction,
        agent.method,
        agent.operator.name,
        trial.ended,
        trial.claimed,
        trial.target,
        supervisor.checkpoint,
        tuple(tuple(hit.entry.id for hit in found.hits) for found in trial.retrieved),
        tuple(
            Followed(name, entry.lesson.kind, entry.lesson.advice.told)
            for name, entry in entries.items()
            if name in followed
        ),
        tuple(_moves(trial.moves)),
    )


def changes(before: Belief | None, now: Belief) -> tuple[Change, ...]:
    """Return the fields of a belief that are not as they were before."""
    was = {} if before is None else {(thing, name): known for thing, name, known in _fields(before)}
    return tuple(
        Change(name, known.value, thing, known.unit, known.source, known.time, known.stale)
        for thing, name, known in _fields(now)
        if was.get((thing, name)) != known
    )


def lines(agent: Agent) -> list[str]:
    """Return a trial for a reader: proposals, refusals, readings, and what they made stale."""
    found = told(agent)
    if found is None:
        return []
    text = [found.instruction]
    readings = list(found.checkpoint.readings)
    for move in found.moves:
        while readings and readings[0].time <= move.time:
            text.append(_read(readings.pop(0)))
        text += _stale(move)
        by = f" [by {', '.join(move.follows)}]" if move.follows else ""
        text.append(f"{move.time:7.0f} s {'  ' if move.admitted else '✗ '}{move.intent}: {move.action}{by}")
        if move.exception is not None:
            text.append(f"            {move.exception.sentence}")
    return text + [_read(reading) for reading in readings]


def _read(reading: Reading) -> str:
    settled = "" if reading.settled else ", not settled"
    shown = f"pH {reading.ph:.2f}, EC {reading.ec:.0f} uS/cm, {reading.grams:.1f} g"
    return f"{reading.time:7.0f} s = {shown}{settled}"


def _stale(move: Moved) -> Iterator[str]:
    """Yield a line for each reason why things that were known do not count any more."""
    lost: dict[str, list[str]] = {}
    for change in move.belief:
        if change.stale and change.thing and change.value is not None:
            lost.setdefault(change.stale, []).append(change.name)
    for why, names in lost.items():
        yield f"{move.time:7.0f} s ~ {', '.join(names)}: {why}"


def _moves(moves: list[Move]) -> Iterator[Moved]:
    before: Belief | None = None
    for move in moves:
        log, proposed = move.ruling.exception, move.proposal.action
        yield Moved(
            move.time,
            move.proposal.intent,
            str(proposed),
            proposed.kind,
            move.ruling.admitted,
            proposed.item,
            tuple(move.proposal.follows),
            None if log is None else _stopped(log),
            changes(before, move.belief),
        )
        before = move.belief


def _stopped(log: ExceptionLog) -> Stopped:
    values = tuple(Held(name, value) for name, value in log.values)
    return Stopped(log.layer, log.rule, values, log.allowed, log.source, log.sentence, log.remedy)


def _fields(belief: Belief) -> Iterator[tuple[str, str, Known]]:
    """Yield thing, name and value of every field: the robot's own, those of things, and what data ports show."""
    yield from ((AGENT, name, known) for name, known in belief.agent.items())
    for thing, found in belief.things.items():
        if found.at is not None:
            yield thing, "at", found.at.known
        yield from ((thing, name, known) for name, known in found.fields.items())
    yield from ((AGENT, name, known) for name, known in belief.readings.items())
