"""Diagnosis folders that were never run: attempts with chosen outcomes, as the bench would have left them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labference.records import folder, strict
from labference.score.branch import UNSUPPORTED
from labference.score.diagnosis import DIAGNOSIS, start_folder
from labference.truth.diagnosis import BRANCHES, Pair, Registration, Start, branch_folder, written
from labference.truth.events import Chosen, Confirmed, Event, Noted, Opened
from labference.truth.identity import SHARED
from labference.truth.verdict import judge
from labference.wire import Operation

RIGHT, WRONG = Operation("add", "20 g", "pan"), Operation("add", "50 g", "pan")
HANDOFF = 100
"""Tick of the handoff; what was before belongs to the prefix."""
SCOPE = {"state": "semantic", "decision": "decision", "geometry": "geometry", "skill": "skill"}


@dataclass(frozen=True)
class Made:
    """What a fabricated branch led to.

    `opened` false leaves the episode without a decision after the handoff; `left` true has the decision before the
    handoff answered only after it.
    """

    choice: bool = True
    identified: bool = True
    subgoal: bool = True
    completion: bool = True
    failures: int = 0
    opened: bool = True
    left: bool = False
    display: float = 150.0
    stated: bool = True
    offset: float | None = 0.001
    axis: float | None = 0.0
    report: Operation = RIGHT


UNRESOLVED, MISSING, REFUSED = "unresolved", "missing", "unsupported"
Outcomes = Callable[[int, str], Made | str]
"""What to make of a start and a branch: an attempt, or a word for how there is none."""


def registration(
    starts: int = 10,
    *,
    pairs: Sequence[Pair] = (),
    branches: tuple[str, ...] = BRANCHES,
    split: str = "held-out",
    together: int = 1,
    **more: Any,
) -> Registration:
    """Return a registration of `starts` starts, `together` of which share a group."""
    fields: dict[str, Any] = {
        "task": "weighing-basic",
        "version": "1",
        "contract": "the contract",
        "instances": "",
        "seed": 0,
        "policy_seed": 0,
        "operations": 0,
        "budget": 900,
    }
    listed = tuple(Start(number, "", number // together, number, f"instance {number}") for number in range(starts))
    return Registration(**fields | more, split=split, starts=listed, pairs=tuple(pairs), branches=branches)


def write_diagnosis(
    out: Path,
    registered: Registration,
    outcomes: Outcomes,
    policy: str = "tested",
    identity: dict[str, Any] | None = None,
) -> Path:
    """Write the folder of a diagnosis; `identity` overrides fields of every attempt."""
    out.mkdir(parents=True)
    save(out / DIAGNOSIS, {**written(registered), "policy": policy})
    for start in registered.starts:
        for branch in registered.branches:
            path = start_folder(out, start.number) / branch_folder(branch)
            made = outcomes(start.number, branch)
            if isinstance(made, Made):
                _write(path / "attempt-1", registered, start, branch, policy, made, identity or {})
            elif made == REFUSED:
                path.mkdir(parents=True)
                save(path / UNSUPPORTED, {"sentence": f"'tested' has no interface for {branch}."})
            elif made == UNRESOLVED:
                attempt = path / "attempt-1"
                attempt.mkdir(parents=True)
                lost = '{"event":"Invalidated","tick":5,"cause":"ServiceFault","sentence":"The model is gone."}\n'
                (attempt / folder.EVENTS).write_text(lost)
    return out


def save(path: Path, value: object) -> None:
    """Write JSON without waiting for the disk, of which there is a lot to wait for."""
    path.write_text(strict.line(value), encoding="utf-8")


def change(attempt: Path, **fields: Any) -> None:
    """Change fields of the identity of a written attempt; "checkpoint" and "handoff" are beside it."""
    run = strict.read(attempt / folder.RUN)
    for name, value in fields.items():
        (run if name in ("checkpoint", "handoff") else run["identity"])[name] = value
    save(attempt / folder.RUN, run)


def events(made: Made) -> list[Event]:
    """Return the events of an attempt: one decision before the handoff, one after it."""
    chosen = RIGHT if made.choice else WRONG
    found: list[Event] = [
        Opened(0, 1, 1, 1, 30000, (WRONG,), True),
        Chosen(HANDOFF + 10 if made.left else 50, 1, RIGHT, False, "behaviour"),
        Noted(60, "operation_failure", RIGHT),
    ]
    if made.opened:
        found.append(Opened(HANDOFF, 2, 2, 2, 30000, (RIGHT,), True))
    if made.opened and made.identified:
        found.append(Chosen(HANDOFF + 50, 2, chosen, made.choice, "behaviour"))
    if made.opened and made.subgoal:
        found.append(Confirmed(HANDOFF + 90, chosen, 2))
    found += [Noted(HANDOFF + 95 + number, "operation_failure", chosen) for number in range(made.failures)]
    return found


def _write(
    attempt: Path,
    registered: Registration,
    start: Start,
    branch: str,
    policy: str,
    made: Made,
    identity: dict[str, Any],
) -> None:
    attempt.mkdir(parents=True)
    known = {name: f"the {name}" for name in SHARED} | {
        "task": registered.task,
        "version": registered.version,
        "contract": registered.contract,
        "instances": registered.instances,
        "campaign": registered.campaign,
        "fidelity": registered.fidelity,
        "policy": f"{policy}: Tested 1",
        "budget": registered.budget,
        "intervention": branch or "none",
        "index": start.index,
        "instance": start.instance,
        "layout": f"layout {start.number}",
        "seeds": {"layout": start.number},
    }
    run = {
        "identity": known | identity,
        "plan": {"task": registered.task, "policy": policy},
        "handoff": HANDOFF,
        "checkpoint": f"checkpoint {start.number}",
        "policy": {"sites": ["semantic", "decision", "geometry", "skill"]},
        "channels": {"items": ["20 g", "50 g"], "timestep": 0.002},
    }
    save(attempt / folder.RUN, run)
    told = events(made)
    (attempt / folder.EVENTS).write_text("".join(strict.named(event) + "\n" for event in told))
    (attempt / folder.INTERFACES).write_text("".join(strict.line(entry) + "\n" for entry in _receipts(branch, made)))
    verdict = strict.plain(judge(told)) | {"valid": made.completion}
    save(attempt / folder.SCORES, {"verdict": verdict, "identity": run["identity"]})


def _receipts(branch: str, made: Made) -> list[dict[str, Any]]:
    """Return what was said at each interface, and given where the branch replaces it; nothing if nothing is stated."""
    facts = [{"name": "display", "value": 150.0}, {"name": "steady", "value": True}, {"name": "20 g", "value": "table"}]
    seen = [facts[0] | {"value": made.display}, *facts[1:]]
    targets = [{"name": name, "position": [0.5, 0.0, 0.0], "axis": [0.0, 0.0, -1.0]} for name in ("20 g", "pan")]
    misses = [{"name": target["name"], "position": made.offset, "axis": made.axis} for target in targets]
    right = strict.plain(RIGHT)
    said: dict[str, tuple[object, object]] = {
        "semantic": (seen, facts),
        "decision": (strict.plain(made.report), [right]),
        "geometry": (targets, targets),
        "skill": (right, None),
    }
    content: dict[str, dict[str, Any]] = {
        "semantic": {"facts": facts},
        "decision": {"operation": right},
        "geometry": {"targets": targets},
        "skill": {"operation": right},
    }
    nothing = {"facts": [], "operation": None, "targets": []}
    # What was said in the prefix does not count.
    found = [_receipt(50, 1, "semantic", [], facts, None, [])]
    for number, (scope, (own, true)) in enumerate(said.items() if made.stated else ()):
        replaced = f"{scope}:replace" in branch
        supplied = {"scope": scope, "mode": "replace"} | nothing | content[scope] if replaced else None
        found.append(
            _receipt(HANDOFF + number, 2, scope, own, true, supplied, misses if scope == "geometry" else [])
        )  # fmt: skip
    return found


def _receipt(
    tick: int, opportunity: int, scope: str, said: object, reference: object, supplied: object, misses: list[Any]
) -> dict[str, Any]:
    return {
        "tick": tick,
        "opportunity": opportunity,
        "evidence": opportunity,
        "observation": opportunity + 1,
        "scope": scope,
        "mode": "none" if supplied is None else "replace",
        "site": scope,
        "said": said,
        "reference": reference,
        "misses": misses,
        "supplied": supplied,
    }
