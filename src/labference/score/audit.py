"""Replay the saved measurements through the same contract and compare every conclusion with the online one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from labference.records import folder
from labference.records.reader import RecordError, Run, operation, read_run
from labference.records.strict import DamagedError, named, plain
from labference.tasks import find_task
from labference.truth.contract import read_cells
from labference.truth.events import Administrative, Refused, Stopped
from labference.truth.measurement import SensorFault
from labference.truth.referee import Referee
from labference.truth.verdict import judge

ADMINISTRATIVE = tuple(f'{{"event":"{kind.__name__}"' for kind in get_args(Administrative))
"""How lines begin that come from the loop and not from the referee; a replay cannot produce them."""
REFUSED = f'{{"event":"{Refused.__name__}"'
CLOSED_AT_END = '"because":"end of episode"'


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
    try:
        referee, end = replay(run)
        difference = _difference(run, referee, end)
    except DamagedError as error:
        return Audit(path, 0, 0, str(error))
    return Audit(path, len(referee.history), end, difference)


def _difference(run: Run, referee: Referee, end: int) -> str | None:
    """Return the first disagreement: answers, then events, then scores."""
    recorded = [line for line in run.events() if not line.startswith(ADMINISTRATIVE)]
    replayed = [named(event) for event in referee.history]
    if run.scores is None:
        # What a killed run wrote last may lack its measurements, and the other way round.
        replayed = replayed[: len(recorded)]
        recorded = recorded[: len(replayed)]
    return (
        _stale_answer(run)
        or _first_difference(recorded, replayed)
        or _scores(run, {"verdict": plain(judge(referee.history)), **_settings(run), **_course(run, referee)})
    )


def replay(run: Run) -> tuple[Referee, int]:
    """Return the referee after the whole of `run`, and the tick at which its measurements end."""
    if "channels" not in run.run:
        raise RecordError(f"The preparation of {run.path} failed, so there is nothing to replay.")
    contract = find_task(run.run["task"])
    faults = tuple(SensorFault(**fault) for fault in run.run["setup"]["faults"])
    instance = contract.restore(run.run["instance"])
    referee = Referee(contract, instance, run.channels, reports=run.run["reports"], faults=faults)
    cells = contract.cells(run.channels.timestep)
    for name, cell in zip(run.channels.cells, cells, strict=True):
        cell.zero(np.array([run.run["zero"][name]]))
    statements = _statements(run)
    end = 0
    waiting = next(statements, None)
    for block in run.blocks():
        referee.observe(block, read_cells(cells, block))
        end = block.end
        while waiting is not None and waiting.tick <= end:
            _tell(referee, waiting)
            waiting = next(statements, None)
    if run.scores is not None or any(CLOSED_AT_END in line for line in run.events()[-2:]):
        referee.finish(end)
    return referee, end


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
    answered = [answer["observation"] for answer in run.lines(folder.ACTIONS)]
    if answered not in (newest, newest[:-1]):
        return "actions.jsonl does not answer every observation but the last, in order and once."
    if newest != list(range(1, len(newest) + 1)):
        return "observations.jsonl does not count deliveries from 1 without a gap."
    return None


def _first_difference(recorded: list[str], replayed: list[str]) -> str | None:
    """Compare events byte for byte."""
    for number, (online, again) in enumerate(itertools.zip_longest(recorded, replayed), start=1):
        if online != again:
            return f"events.jsonl line {number}: online {online or 'nothing'}, replay {again or 'nothing'}."
    return None


def _settings(run: Run) -> dict[str, Any]:
    """Return the fields of `scores.json` that repeat `run.json`."""
    return {"key": run.run["key"], "identity": run.run["identity"], "reports": run.run["reports"]}


def _course(run: Run, referee: Referee) -> dict[str, Any]:
    """Return how the episode went, from its measurements, deliveries and answers."""
    ticks = [block.ticks for block in run.blocks() if block.tick >= 0]
    steps = len(ticks)
    if referee.completed:
        reason = "completed"
    elif any(line.startswith(REFUSED) for line in run.events()):
        reason = "interface_failure"
    else:
        reason = "stopped" if any(isinstance(event, Stopped) for event in referee.history) else "budget"
    return {
        "steps": steps,
        "queries": len(run.lines(folder.OBSERVATIONS)),
        "simulated_s": sum(ticks) * run.channels.timestep,
        "reason": reason,
    }


def _scores(run: Run, replayed: dict[str, Any]) -> str | None:
    """Compare `scores.json` with what the replay found, field by field."""
    if run.scores is None:
        return None
    online = {**run.scores, **run.scores["verdict"]}
    again = {**replayed, **replayed["verdict"]}
    for field in sorted(again.keys() - {"verdict"}):
        if online.get(field) != again[field]:
            return f"scores.json {field}: online {json.dumps(online.get(field))}, replay {json.dumps(again[field])}."
    return None
