"""Replay the saved measurements through the same contract and compare every conclusion with the online one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labference.records import folder
from labference.records.reader import Run, operation, read_run
from labference.records.strict import named, plain
from labference.tasks import find_task
from labference.truth.contract import read_cells
from labference.truth.events import Administrative
from labference.truth.referee import Referee
from labference.truth.verdict import judge

ADMINISTRATIVE = tuple(kind.__name__ for kind in Administrative.__args__)
"""Events of the loop rather than of the referee; a replay cannot produce them."""


@dataclass(frozen=True, slots=True)
class Audit:
    """`difference` is None where the replay agrees, else one sentence about the first disagreement."""

    path: Path
    events: int
    ticks: int
    difference: str | None


@dataclass(frozen=True, slots=True)
class Statement:
    """Something the loop told the referee between two blocks, in the order it happened."""

    tick: int
    observation: int
    order: int
    kind: str
    operation: Any = None


def audit(path: Path) -> Audit:
    """Replay one attempt."""
    run = read_run(path)
    referee, ticks = replay(run)
    recorded = [line for line in run.events() if json.loads(line)["event"] not in ADMINISTRATIVE]
    replayed = [named(event) for event in referee.history]
    finished = run.scores is not None
    difference = _stale_answer(run) or _first_difference(recorded, replayed, finished=finished) or _scores(run, referee)
    return Audit(path, len(replayed), ticks, difference)


def replay(run: Run) -> tuple[Referee, int]:
    """Return the referee after the whole of `run`, and the number of ticks replayed."""
    contract = find_task(run.run["task"])
    referee = Referee(contract, contract.restore(run.run["instance"]), run.channels, reports=run.run["reports"])
    cells = contract.cells(run.channels.timestep)
    for name, cell in zip(run.channels.cells, cells, strict=True):
        cell.zero(np.array([run.run["zero"][name]]))
    statements = _statements(run)
    ticks = end = 0
    waiting = next(statements, None)
    for block in run.blocks():
        referee.observe(block, read_cells(cells, block))
        ticks, end = ticks + block.ticks, block.end
        while waiting is not None and waiting.tick <= end:
            _tell(referee, waiting)
            waiting = next(statements, None)
    if run.scores is not None:
        referee.finish(end)
    return referee, ticks


def _statements(run: Run) -> Iterator[Statement]:
    deliveries = [
        Statement(entry["tick"], entry["observation"], 0, "deliver") for entry in run.lines(folder.OBSERVATIONS)
    ]
    answers = [
        Statement(entry["tick"], entry["observation"], 1, entry["act"], entry["operation"])
        for entry in run.lines(folder.ACTIONS)
        if entry["operation"] is not None or entry["act"] == "Stop"
    ]
    return iter(sorted(deliveries + answers, key=lambda entry: (entry.observation, entry.order)))


def _tell(referee: Referee, statement: Statement) -> None:
    match statement.kind:
        case "deliver":
            referee.deliver(statement.observation, statement.tick)
        case "Stop":
            referee.stop(statement.tick)
        case _:
            referee.report(operation(statement.operation), statement.tick)


def _stale_answer(run: Run) -> str | None:
    """Check that every answer, and every command applied for it, belongs to the newest delivered observation."""
    delivered = {entry["observation"]: entry for entry in run.lines(folder.OBSERVATIONS)}
    newest = sorted(delivered)
    for number, answer in enumerate(run.lines(folder.ACTIONS)):
        source = delivered.get(answer["observation"])
        if source is None:
            missing = answer["observation"]
            return f"actions.jsonl line {number + 1} answers observation {missing}, which was not delivered."
        if source["tick"] != answer["tick"]:
            return (
                f"actions.jsonl line {number + 1} was admitted at tick {answer['tick']}, "
                f"not at {source['tick']} when its observation was delivered."
            )
    if newest != list(range(1, len(newest) + 1)):
        return "observations.jsonl does not count deliveries from 1 without a gap."
    return None


def _first_difference(recorded: list[str], replayed: list[str], *, finished: bool) -> str | None:
    """Compare events byte for byte; an interrupted run may lack the last ones."""
    for number, (online, again) in enumerate(itertools.zip_longest(recorded, replayed), start=1):
        if online == again or (online is None and not finished):
            continue
        return f"events.jsonl line {number}: online {online or 'nothing'}, replay {again or 'nothing'}."
    return None


def _scores(run: Run, referee: Referee) -> str | None:
    if run.scores is None:
        return None
    verdict = plain(judge(referee.history))
    for field, value in verdict.items():
        online = run.scores["verdict"][field]
        if online != value:
            return f"scores.json {field}: online {json.dumps(online)}, replay {json.dumps(value)}."
    return None
