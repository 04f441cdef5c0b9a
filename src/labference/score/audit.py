"""Replay the saved measurements through the same contract and compare every conclusion with the online one."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from labference.records import folder, strict
from labference.records.prefix import CHECKPOINT, FACTS, TOLD, said, told
from labference.records.reader import Run, read_run
from labference.records.strict import DamagedError, named, plain
from labference.tasks import contract_digest
from labference.truth.clock import parse as parse_clock
from labference.truth.clock import periods
from labference.truth.draw import draw, lay_out
from labference.truth.events import Administrative, Invalidated, Refused, Stopped
from labference.truth.identity import (
    BENCH_HANDS,
    OWN_HANDS,
    digest,
    layout_digest,
    observation_condition,
    policy_identity,
    transport_of,
)
from labference.truth.measurement import SensorFault
from labference.truth.privilege import reads_the_truth
from labference.truth.verdict import judge
from labference.wire import Capabilities

from .replay import Replay, replay

ADMINISTRATIVE = tuple(f'{{"event":"{kind.__name__}"' for kind in get_args(Administrative))
"""How lines begin that come from the loop and not from the referee; a replay cannot produce them."""
REFUSED = f'{{"event":"{Refused.__name__}"'
INVALIDATED = f'{{"event":"{Invalidated.__name__}"'
GRID = 1e-6
"""The gripper command is measured on this grid [m]."""


@dataclass(frozen=True, slots=True)
class Audit:
    """`difference` is None where the replay agrees, else one sentence about the first disagreement."""

    path: Path
    events: int
    ticks: int
    difference: str | None


def audit(path: Path) -> Audit:
    """Replay one attempt."""
    run = read_run(path)
    try:
        found = replay(run)
        difference = next((said for check in CHECKS if (said := check(run, found)) is not None), None)
    except DamagedError as error:
        return Audit(path, 0, 0, str(error))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        return Audit(path, 0, 0, f"A record lacks or garbles something: {type(error).__name__}: {error}.")
    return Audit(path, len(found.referee.history), found.end, difference)


def _evidence(run: Run, found: Replay) -> str | None:
    """Every delivery carries the evidence version that the replay had then, and deliveries count from 1."""
    deliveries = run.lines(folder.OBSERVATIONS)
    for number, entry in enumerate(deliveries, start=1):
        if entry["observation"] != number:
            return f"observations.jsonl line {number} is observation {entry['observation']}; deliveries count from 1."
        if entry["evidence"] != found.evidence.get(number, entry["evidence"]):
            again = found.evidence[number]
            return f"observations.jsonl line {number} evidence: online {entry['evidence']}, replay {again}."
        said = _shown(run, found, entry)
        if said is not None:
            return f"observations.jsonl line {number} {said}"
    return None


def _shown(run: Run, found: Replay, entry: dict[str, Any]) -> str | None:
    """Time, data ports and tool are what was measured at the tick of the delivery."""
    tick = entry["tick"]
    if abs(entry["time"] - tick * run.channels.timestep) > 1e-9:
        return f"says {entry['time']} s at tick {tick}."
    for reading, measured in zip(entry["readings"], found.readings.get(tick, []), strict=False):
        for name, value in measured.items():
            if reading[name] != value:
                return f"reading {name}: delivered {reading[name]!r}, replay {value!r}."
    if tick in found.tools:
        place, opening = found.tools[tick]
        off = max(abs(entry["robot"]["opening"] - opening), *np.abs(np.array(entry["robot"]["tcp"][:3]) - place))
        if off > 2 * GRID:
            return f"shows the tool {1000 * off:.3f} mm from where it was measured."
    return None


def _answers(run: Run, found: Replay) -> str | None:
    """Every answer, and every command applied for it, belongs to the newest delivered observation."""
    delivered = {entry["observation"]: entry["tick"] for entry in run.lines(folder.OBSERVATIONS)}
    answers = run.lines(folder.ACTIONS)
    for number, answer in enumerate(answers, start=1):
        if answer["observation"] not in delivered:
            return f"actions.jsonl line {number} answers observation {answer['observation']}, which was not delivered."
        said = _timed(run, found, answer, delivered[answer["observation"]]) or _commands(run, found, answer)
        if said is not None:
            return f"actions.jsonl line {number} {said}"
    order = [answer["observation"] for answer in answers]
    if order not in (sorted(delivered), sorted(delivered)[:-1]):
        return "actions.jsonl does not answer every observation but the last, in order and once."
    return None


def _timed(run: Run, found: Replay, answer: dict[str, Any], delivered: int) -> str | None:
    """An answer is admitted once the time has passed that the clock charges for it; a late one does nothing."""
    clock = parse_clock(run.run["identity"]["clock"])
    charge, tick, late = answer["charge"], answer["tick"], answer["late"]
    if clock.kind in ("paused", "latency") and charge != clock.cost_s:
        return f"was charged {charge} s under the clock {run.run['identity']['clock']!r}."
    due = delivered + periods(charge, run.run["action"]["rate_hz"]) * found.period
    if late and (answer["applied"] or not delivered <= tick <= due):
        return f"came late, and was carried out or admitted at tick {tick}, not between {delivered} and {due}."
    if not late and (tick != due or charge > clock.limit_s):
        return f"was admitted at tick {tick} after {charge} s; its observation was delivered at {delivered}, due {due}."
    return None


def _commands(run: Run, found: Replay, answer: dict[str, Any]) -> str | None:
    """Commands applied and dropped add up, repeat what was requested, and moved the gripper that was measured."""
    requested, applied = answer["requested"], answer["applied"]
    if answer["act"] == "Move" and len(applied) + answer["dropped"] != len(requested):
        return f"requests {len(requested)} commands, applies {len(applied)} and drops {answer['dropped']}."
    if answer["act"] in ("Execute", "Perform"):
        return None  # commands of the bench's hands
    if run.run["action"]["space"] == "joint" and applied != requested[: len(applied)]:
        return "applies other commands than it requests."
    tick = answer["tick"]
    for command in applied:
        measured = found.gripper.get(tick)
        if measured is not None and abs(measured - command[-1]) > GRID:
            return f"applies a gripper opening of {command[-1]:.6f} m at tick {tick}, measured {measured:.6f} m."
        tick += found.period
    return None


def _control(run: Run, found: Replay) -> str | None:
    """The environment acts when the contract says so, and at no other time; fixtures stand where they were put."""
    del run
    if found.strayed is not None:
        return f"measurements.bin: at tick {found.strayed} a fixture is not where it was put."
    if found.usurped is None:
        return None
    return f"measurements.bin: at tick {found.usurped} the wrong side is in control of the bench."


def _events(run: Run, found: Replay) -> str | None:
    """Compare events and live snapshots byte for byte."""
    recorded = [line for line in run.events() if not line.startswith(ADMINISTRATIVE)]
    replayed = [named(event) for event in found.referee.history]
    snapshots = [json.dumps(entry, separators=(",", ":")) for entry in run.lines(folder.ONLINE)]
    expected = found.snapshots
    if run.scores is None:
        # What a killed run wrote last may lack its measurements, and the other way round.
        recorded, replayed = recorded[: len(replayed)], replayed[: len(recorded)]
        snapshots, expected = snapshots[: len(expected)], expected[: len(snapshots)]
    elif found.untold is not None:
        return f"observations.jsonl: {found.untold}"
    elif any(line.startswith(INVALIDATED) for line in run.events()):
        return "events.jsonl holds a validity event, and scores.json a verdict."
    return _first("events.jsonl", recorded, replayed) or _first("online_scores.jsonl", snapshots, expected)


def _first(name: str, recorded: list[str], replayed: list[str]) -> str | None:
    for number, (online, again) in enumerate(itertools.zip_longest(recorded, replayed), start=1):
        if online != again:
            return f"{name} line {number}: online {online or 'nothing'}, replay {again or 'nothing'}."
    return None


def _identity(run: Run, found: Replay) -> str | None:
    """The identity follows from plan, seeds, contract and what was measured at the handoff."""
    identity, plan, contract = run.run["identity"], run.run["plan"], found.contract
    drawn = (identity["campaign"], identity["index"], plan["policy_seed"], plan["instances"])
    instance, seeds = draw(contract, *drawn)
    layout = layout_digest(plain(found.poses), run.run["setup"]["fixtures"])
    expected = {
        "key": digest(identity),
        "task": plan["task"],
        "privileged": reads_the_truth(plan["policy"]),
        "instance": plain(instance),
        "setup": plain(lay_out(contract, instance, seeds, tuple(SensorFault(**fault) for fault in plan["faults"]))),
        "goal": plain(contract.goal(found.instance)),
        "identity.seeds": plain(seeds),
        "identity.instance": digest(run.run["instance"]),
        "identity.layout": layout,
        "identity.action": digest(run.run["action"]),
        "identity.version": contract.version,
        "identity.history": contract.history,
        "identity.instances": plan["instances"],
        "identity.fidelity": plan["fidelity"],
        "identity.hands": BENCH_HANDS if run.run["policy"]["performs"] else OWN_HANDS,
        "identity.clock": identity["clock"] if plan["clock"].startswith("replay:") else plan["clock"],
        "identity.contract": contract_digest(contract),
        "identity.budget": contract.budget_steps if plan["budget"] is None else plan["budget"],
        "contract.budget_steps": contract.budget_steps if plan["budget"] is None else plan["budget"],
        "contract.places": list(contract.places),
        "contract.settle_s": contract.settle_s,
        "contract.dwell_s": contract.dwell_s,
        "contract.response_s": contract.response_s,
        "identity.faults": digest(plan["faults"]),
        "identity.sensors": observation_condition(_capabilities(run.run["policy"])),
        "identity.policy": policy_identity(plan["policy"], _capabilities(run.run["policy"])),
        "identity.transport": transport_of(plan["policy"], plan["transport"]),
        "identity.reports": run.run["policy"]["reports"],
        "reports": run.run["policy"]["reports"],
    }
    for path, value in expected.items():
        recorded = run.run
        for name in path.split("."):
            recorded = recorded[name]
        if recorded != value:
            return f"run.json {path}: recorded {json.dumps(recorded)}, now {json.dumps(value)}."
    return None


def _capabilities(record: dict[str, Any]) -> Capabilities:
    return Capabilities(
        name=record["name"],
        version=record["version"],
        actions=tuple(record["actions"]),
        cameras=tuple(record["cameras"]),
        depth=record["depth"],
        readings=record["readings"],
        reports=record["reports"],
    )


def _scores(run: Run, found: Replay) -> str | None:
    """Compare `scores.json` with what the replay found, field by field."""
    if run.scores is None:
        return None
    steps = found.steps
    again = {
        **plain(judge(found.referee.history)),
        "status": "scored",
        "key": run.run["key"],
        "identity": run.run["identity"],
        "reports": run.run["reports"],
        "steps": steps,
        "queries": len(run.lines(folder.OBSERVATIONS)),
        "simulated_s": found.elapsed * run.channels.timestep,
        "reason": _reason(run, found),
        "sentence": next((json.loads(line)["sentence"] for line in run.events() if line.startswith(REFUSED)), ""),
    }
    online = {**run.scores, **run.scores["verdict"]}
    for name in sorted(again):
        if online.get(name) != again[name]:
            return f"scores.json {name}: online {json.dumps(online.get(name))}, replay {json.dumps(again[name])}."
    return None


def _reason(run: Run, found: Replay) -> str:
    """Return how the episode must have ended."""
    if found.referee.completed:
        return "completed"
    if any(line.startswith(REFUSED) for line in run.events()):
        return "interface_failure"
    if any(isinstance(event, Stopped) for event in found.referee.history):
        return "stopped"
    return "budget" if found.steps >= run.run["contract"]["budget_steps"] else "cut short"


def _interfaces(run: Run, found: Replay) -> str | None:
    """What is said to be right at an interface, and what support gave, belongs to the evidence that was delivered."""
    for number, entry in enumerate(run.lines(folder.INTERFACES), start=1):
        # Information and effects come with a delivery; whatever answers a statement comes with the next one.
        asked = entry["observation"] - (entry["mode"] != "assist" and entry.get("effect") is None)
        known = found.standard.get(asked)
        if known is None:
            return f"interfaces.jsonl line {number} belongs to observation {asked}, which was not delivered."
        expected: dict[str, Any] = {"evidence": found.evidence[asked], "opportunity": known.opportunity}
        given = entry["supplied"]
        if entry["scope"] == "decision":
            expected["reference"] = known.legal
            if given is not None and given["operation"] != known.supplied:
                return f"interfaces.jsonl line {number} supplies {given['operation']}, replay {known.supplied}."
        if entry["scope"] == "semantic":
            expected["reference"] = known.facts
            if given is not None and given["facts"] != known.facts:
                return f"interfaces.jsonl line {number} supplies other facts than the replay certifies."
        for field, value in expected.items():
            if entry[field] != value:
                return f"interfaces.jsonl line {number} {field}: recorded {entry[field]!r}, replay {value!r}."
    return None


def _began(run: Run, found: Replay) -> str | None:
    """A branch begins with what the checkpoint of its start holds, where that lies beside it, and it holds its digests.

    What was delivered in a prefix is the informational half of a start; no measurement repeats it.
    """
    del found
    stored = run.path.resolve().parents[1] / CHECKPOINT
    if "checkpoint" not in run.run or not (stored / FACTS).exists():
        return None
    facts = strict.read(stored / FACTS)
    for name, own in (("digest", run.run["checkpoint"]), ("tick", run.run["handoff"])):
        if facts[name] != own:
            return f"run.json begins at a checkpoint with {name} {own!r}, {FACTS} says {facts[name]!r}."
    if facts["measured"] != hashlib.sha256((stored / folder.MEASUREMENTS).read_bytes()).hexdigest():
        return f"{CHECKPOINT}/{folder.MEASUREMENTS} does not have the digest in {FACTS}."
    prefix = None if facts["prefix"] is None else stored / facts["prefix"]
    if told(prefix) != facts["told"]:
        return f"The records of the prefix in {CHECKPOINT} do not have the digest in {FACTS}."
    return None if prefix is None else _continued(run.path, prefix)


def _continued(path: Path, prefix: Path) -> str | None:
    for name in TOLD:
        for number, (stored, own) in enumerate(itertools.zip_longest(said(prefix / name), said(path / name)), start=1):
            if stored is None:
                break
            if stored != own:
                return f"{name} line {number} is not what the prefix of its checkpoint holds."
    return None


CHECKS: tuple[Callable[[Run, Replay], str | None], ...] = (
    _evidence,
    _answers,
    _control,
    _events,
    _interfaces,
    _began,
    _identity,
    _scores,
)
"""In this order; the first difference is named."""
