"""Feed saved measurements, deliveries and statements through the referee again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labference.records import folder
from labference.records.reader import RecordError, Run, operation
from labference.records.strict import DamagedError, line, plain
from labference.tasks import find_task
from labference.truth.contract import TaskContract, cells_of, port_readings, ports_of, read_cells, read_ports
from labference.truth.draw import lay_out
from labference.truth.events import Event, Physical
from labference.truth.identity import Seeds
from labference.truth.measurement import (
    ENVIRONMENT,
    LENGTH,
    OK,
    POLICY,
    STATUSES,
    TURN,
    Block,
    Channels,
    Pose,
    SensorFault,
    Setup,
)
from labference.truth.referee import Referee
from labference.truth.support import supplied
from labference.wire import Reading

CLOSED_AT_END = '"because":"end of episode"'


@dataclass(frozen=True, slots=True)
class Standard:
    """What was right when an observation was delivered, as JSON values, and the opportunity that was open.

    `legal` is the reference set, `supplied` the operation that decision support gives, `facts` those certified.
    """

    legal: Any
    supplied: Any
    facts: Any
    opportunity: int


@dataclass(slots=True)
class Replay:
    """What the replay found.

    referee    judged the whole run again
    end        tick at which the measurements end
    period     ticks of a control period
    ticks      ticks in which the tested system had control
    elapsed    ticks since the handoff, the environment's included
    gripper    commanded gripper opening [m] at each control period's first tick
    poses      (n, 7) grid poses of the items at the handoff
    tools      position of the tool centre point (3,) [m] and measured opening [m] at each control period's first tick
    readings   what the instruments' data ports show at the end of each block
    snapshots  lines that `online_scores.jsonl` should hold
    evidence   evidence version at each delivery
    standard   what was right at each delivery
    untold     the first statement that lies beyond the measurements, if any
    usurped    tick of the first block in which the wrong side was in control, if any
    """

    contract: TaskContract[Any, Any]
    instance: Any
    referee: Referee
    end: int = 0
    elapsed: int = 0
    period: int = 1
    ticks: int = 0
    gripper: dict[int, float] = field(default_factory=dict)
    poses: Any = None
    tools: dict[int, Any] = field(default_factory=dict)
    readings: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    snapshots: list[str] = field(default_factory=list)
    evidence: dict[int, int] = field(default_factory=dict)
    standard: dict[int, Standard] = field(default_factory=dict)
    untold: str | None = None
    usurped: int | None = None
    strayed: int | None = None

    @property
    def steps(self) -> int:
        """Return the control periods of the tested system."""
        return self.ticks // self.period


@dataclass(frozen=True, slots=True)
class Statement:
    """Something the loop told the referee between two blocks, in the order it happened."""

    tick: int
    observation: int
    order: int
    kind: str
    operation: Any = None


def replay(run: Run) -> Replay:
    """Return the replay of the whole of `run`."""
    if "channels" not in run.run:
        raise RecordError(f"The preparation of {run.path} failed, so there is nothing to replay.")
    contract = find_task(run.run["task"])
    faults = tuple(SensorFault(**fault) for fault in run.run["setup"]["faults"])
    instance = contract.restore(run.run["instance"])
    referee = Referee(contract, instance, run.channels, reports=run.run["reports"], faults=faults)
    found = Replay(
        contract, instance, referee, period=round(1 / (run.run["action"]["rate_hz"] * run.channels.timestep))
    )
    statements = list(_statements(run))
    told = _measure(run, found, statements)
    if told < len(statements):
        late = statements[told]
        found.untold = f"observation {late.observation} at tick {late.tick} lies beyond the measurements."
    if run.scores is not None or any(CLOSED_AT_END in entry for entry in run.events()[-2:]):
        _judged(found, referee.finish(found.end), found.end)
    return found


def _measure(run: Run, found: Replay, statements: list[Statement]) -> int:
    """Feed every block, and the statements between them; return how many were told."""
    cells = cells_of(found.contract.parts(), run.channels.timestep)
    for name, cell in zip(run.channels.cells, cells, strict=True):
        cell.zero(np.array([run.run["zero"][name]]))
    told, started = 0, False
    setup = lay_out(found.contract, found.instance, Seeds(**run.run["identity"]["seeds"]))
    standing = dict(setup.fixtures)
    ports = ports_of(found.contract.parts(), run.channels.timestep, setup) if run.channels.meters else ()
    for block in run.blocks():
        if started and block.tick != found.end:
            raise DamagedError(f"measurements.bin jumps from tick {found.end} to {block.tick}.")
        environment = found.referee.hidden or found.referee.due
        if block.tick == 0 or (block.control and not found.referee.hidden):
            standing = _standing(found, setup, acting=bool(block.control))
        if started and found.usurped is None and environment != (block.control != POLICY):
            found.usurped = block.tick
        if found.strayed is None and block.control != ENVIRONMENT and not _stands(block, run.channels, standing):
            found.strayed = block.tick
        readouts, dipped = read_cells(cells, block), read_ports(ports, block)
        first_events = found.referee.observe(block, readouts, dipped)
        found.readings[block.end] = [
            {
                "instrument": name,
                "value": float(readout.shown[-1]) if readout.status[-1] == OK else None,
                "stable": bool(readout.stable[-1]),
                "status": STATUSES[readout.status[-1]],
            }
            for name, readout in zip(run.channels.cells, readouts, strict=True)
        ]
        found.readings[block.end] += [
            {"instrument": port.instrument, "value": port.value, "stable": port.stable, "status": port.status}
            for port in port_readings(run.channels.meters, dipped, run.channels.timestep)
        ]
        if block.tick >= 0:
            found.elapsed += block.ticks
            if block.control == POLICY:
                found.ticks += block.ticks
            found.gripper[block.tick] = float(block.opening[0, 1]) * LENGTH
            found.tools[block.tick] = block.pose[0, -1, :3] * LENGTH, float(block.opening[0, 0]) * LENGTH
            _judged(found, first_events, block.end)
        else:
            found.poses = block.pose[-1, :-1]
        if block.end == 0:
            _judged(found, found.referee.history, 0)
        found.end, started = block.end, True
        while told < len(statements) and statements[told].tick <= found.end:
            _tell(found, statements[told])
            told += 1
    return told


def _standing(found: Replay, setup: Setup, acting: bool) -> dict[str, Pose]:
    """Return where fixtures stand while the tested system has control, now or once the environment has acted."""
    if not acting:
        return dict(setup.fixtures)
    transition = found.contract.transition(found.referee.state, setup)
    return setup.fixtures | transition.change.fixtures | {transition.cover: transition.outside}


def _stands(block: Block, channels: Channels, standing: dict[str, Pose]) -> bool:
    """Return whether every fixture of `block` stands at its pose in `standing`, on the grid."""
    poses = [standing[name] for name in channels.fixtures]
    wanted = [(p.x, p.y, p.z, math.cos(p.yaw / 2), 0.0, 0.0, math.sin(p.yaw / 2)) for p in poses]
    rows = np.array(wanted).reshape(-1, 7)
    rows[:, 3:] *= np.copysign(1.0, rows[:, 3:4])
    off = np.abs(block.fixtures - rows / np.array([LENGTH] * 3 + [TURN] * 4))
    return bool((off <= 1.0).all())


def _statements(run: Run) -> Iterator[Statement]:
    deliveries = [
        Statement(entry["tick"], entry["observation"], 0, "deliver") for entry in run.lines(folder.OBSERVATIONS)
    ]
    answers = [
        Statement(entry["tick"], entry["observation"], 1, entry["act"], entry["operation"])
        for entry in run.lines(folder.ACTIONS)
        if not entry["late"] and _told(entry, run.run["reports"])
    ]
    return iter(sorted(deliveries + answers, key=lambda entry: (entry.observation, entry.order)))


def _told(entry: dict[str, Any], reports: bool) -> bool:
    """Return whether an answer tells the referee something; what is only said at an interface is no report."""
    match entry["act"]:
        case "Move":
            return entry["operation"] is not None
        case "Report":
            return reports
        case act:
            return act in ("Stop", "Perform")


def _tell(found: Replay, statement: Statement) -> None:
    referee, tick = found.referee, statement.tick
    match statement.kind:
        case "deliver":
            events = referee.deliver(statement.observation, tick)
            found.evidence[statement.observation] = referee.evidence
            found.standard[statement.observation] = _standard(found, tick)
        case "Stop":
            events = referee.stop(tick)
        case "Perform":
            events = referee.perform(operation(statement.operation), tick)
        case "Move":
            events = referee.commit(operation(statement.operation), tick)
        case _:
            events = referee.report(operation(statement.operation), tick)
    _judged(found, events, tick)


def _standard(found: Replay, tick: int) -> Standard:
    state, now = found.referee.state, found.referee.current
    readings = tuple(
        Reading(entry["instrument"], entry["value"], "", entry["stable"], entry["status"], 0.0)
        for entry in found.readings.get(tick, [])
    )
    legal = found.contract.legal(state)
    return Standard(
        plain(sorted(legal)),
        plain(supplied(legal)) if legal else None,
        plain(found.contract.facts(state, readings)),
        0 if now is None else now.id,
    )


def _judged(found: Replay, events: list[Event], tick: int) -> None:
    """Write the live snapshot that the loop wrote at this point."""
    if any(not isinstance(event, Physical) for event in events):
        found.snapshots.append(line({"tick": tick, "scores": found.referee.snapshot()}))
