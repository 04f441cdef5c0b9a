"""Run a registered diagnosis: every branch of a start continues from the same verified checkpoint."""

from __future__ import annotations

import shutil
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from labference.policies import DEADLINE_S
from labference.policies.remote.process import dismiss
from labference.records import folder, strict
from labference.records.lock import hold
from labference.records.prefix import CHECKPOINT
from labference.records.strict import write_atomically
from labference.tasks import contract_digest, find_task
from labference.truth.diagnosis import Registration, branch_folder, written
from labference.truth.draw import draw, lay_out
from labference.truth.identity import IN_PROCESS, SHARED, PlanError, system_name, transport_of
from labference.wire import ServiceFault
from labference.world.faults import SetupError

from .campaign import check, contact, kept
from .checkpoint import FACTS, Handoff, confirm, load, matches, save
from .laboratory import Laboratory, Unsupported, invalid
from .patience import patiently
from .plan import Plan, profile_digest
from .system import System
from .workers import spread

PREFIX, DRAFT = "prefix", "prefix.draft"
"""Records of the prefix in the folder of the checkpoint, and where they are until they are verified."""
TRIES = 2
"""Attempts at a branch within one run; only validity events are retried."""


@dataclass(frozen=True, slots=True)
class BranchResult:
    """How a branch ended: scored, unresolved, or unsupported by the tested system; `silent` without a single answer."""

    start: int
    branch: str
    status: str
    reason: str
    sentence: str
    path: Path
    seconds: float
    silent: bool = False


def plan_of(
    registration: Registration,
    policy: str,
    profile: str = "",
    transport: str = IN_PROCESS,
    deadline_s: float = DEADLINE_S,
) -> Plan:
    """Return what every branch of a diagnosis of `policy` has in common."""
    return Plan(
        registration.task,
        policy,
        len(registration.starts),
        registration.campaign,
        policy_seed=registration.policy_seed,
        budget=registration.budget,
        instances=registration.instances,
        profile=profile,
        transport=transport,
        deadline_s=deadline_s,
        fidelity=registration.fidelity,
    )


def register_out(
    registration: Registration,
    policy: str,
    out: Path,
    profile: str = "",
    transport: str = IN_PROCESS,
    deadline_s: float = DEADLINE_S,
) -> Plan:
    """Write what is run to `out`, or check that `out` already holds exactly this; return what its branches share.

    Whatever remains to be run, the tested system is contacted first, and nothing is written where it does not fit.
    """
    contract = find_task(registration.task)
    if contract_digest(contract) != registration.contract:
        raise PlanError(
            f"The task {registration.task!r} has changed since this plan was registered; register a new one."
        )
    plan = plan_of(registration, policy, profile, transport, deadline_s)
    check(plan)
    tested = {
        "policy": system_name(plan.policy),
        "profile": profile_digest(plan.profile),
        "transport": transport_of(plan.policy, plan.transport),
    }
    path, wanted = out / folder.DIAGNOSIS, {**written(registration), **tested}
    if path.exists():
        known = strict.read(path)
        for field in ("sha256", *tested):
            if known.get(field) != wanted[field]:
                raise PlanError(f"{out} holds a diagnosis with {field} {known.get(field)!r}; choose another --out.")
        if remaining(registration, out):
            contact(plan)
        return plan
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlanError(f"{out} holds something else; choose another --out.")
    contact(plan)
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(path, wanted)
    return plan


def start_folder(out: Path, number: int) -> Path:
    """Return the folder of a start."""
    return out / f"start-{number:04d}"


def remaining(registration: Registration, out: Path) -> list[tuple[int, str]]:
    """Return the branches, by start, that have neither scores nor a compatibility result."""
    return [
        (start.number, branch)
        for start in registration.starts
        for branch in registration.branches
        if not _finished(start_folder(out, start.number) / branch_folder(branch))
    ]


def run(
    registration: Registration,
    policy: str,
    out: Path,
    workers: int = 1,
    *,
    profile: str = "",
    transport: str = IN_PROCESS,
    deadline_s: float = DEADLINE_S,
) -> Iterator[BranchResult]:
    """Register what is run in `out`; return the results of what remains, in the order of the registration.

    Raises `GivenUp` where the tested system is not there any more.
    """
    plan = register_out(registration, policy, out, profile, transport, deadline_s)
    held = hold(out)
    total = len(remaining(registration, out))
    return patiently(kept(held, _results(registration, plan, out, workers)), total, plan.policy)


def _results(registration: Registration, plan: Plan, out: Path, workers: int) -> Generator[BranchResult]:
    todo = sorted({number for number, _ in remaining(registration, out)})
    if workers == 1 or len(todo) < 2:
        for number in todo:
            yield from _start(registration, plan, out, number)
        return
    dismiss()  # each worker has a child of its own
    for results in spread(partial(_start, registration, plan, out), todo, workers):
        yield from results


def _start(registration: Registration, common: Plan, out: Path, number: int) -> list[BranchResult]:
    """Run the remaining branches of a start from its checkpoint."""
    laboratory, where = _laboratory(registration.task, registration.fidelity), start_folder(out, number)
    results: list[BranchResult] = []
    handoff: Handoff | None = None
    for branch in registration.branches:
        path = where / branch_folder(branch)
        if _finished(path):
            continue
        for _ in range(TRIES):
            result, handoff = _branch(laboratory, registration, common, number, branch, where, handoff)
            if result.status != "unresolved":
                break
        results.append(result)
    return results


def _branch(
    laboratory: Laboratory,
    registration: Registration,
    common: Plan,
    number: int,
    branch: str,
    where: Path,
    handoff: Handoff | None,
) -> tuple[BranchResult, Handoff | None]:
    began = time.perf_counter()
    index = registration.starts[number].index
    attempt = folder.next_attempt(where / branch_folder(branch))

    def failed(fault: Exception) -> BranchResult:
        invalid(plan, index, attempt, fault, began)
        return ended("unresolved", "invalid", str(fault), isinstance(fault, ServiceFault))

    def ended(status: str, reason: str, sentence: str, silent: bool = False) -> BranchResult:
        return BranchResult(number, branch, status, reason, sentence, attempt, time.perf_counter() - began, silent)

    plan = replace(common, support=branch)
    _, seeds = draw(laboratory.contract, plan.seed, index, plan.policy_seed, plan.instances)
    try:
        system = laboratory.system(plan, seeds)
    except ServiceFault as fault:
        return failed(fault), handoff
    try:
        laboratory.negotiate(plan, system)
        if handoff is None:
            handoff = _handoff(laboratory, registration, plan, index, system, where)
        confirm(handoff, where / CHECKPOINT)
        budgeted = replace(plan, budget=registration.budget + handoff.steps)
        laboratory.expect(agreed(registration, where.parent))
        try:
            _, ending = laboratory.branch(budgeted, index, handoff, system, attempt)
        finally:
            laboratory.expect({})  # a prefix is another system's
    except Unsupported as said:
        (where / branch_folder(branch)).mkdir(parents=True, exist_ok=True)
        write_atomically(where / branch_folder(branch) / folder.UNSUPPORTED, {"sentence": str(said)})
        return ended("unsupported", "unsupported", str(said)), handoff
    except SetupError as fault:
        return failed(fault), handoff
    finally:
        system.close()
    status = "unresolved" if ending.reason == "invalid" else "scored"
    silent = status == "unresolved" and not system.heard
    return ended(status, ending.reason, ending.sentence, silent), handoff


def _handoff(
    laboratory: Laboratory, registration: Registration, plan: Plan, index: int, system: System, where: Path
) -> Handoff:
    """Return the checkpoint of a start: the one on disk, or a new one that must match it.

    What a stateful system is shown of a prefix is not stored: the prefix is carried out again, the one on disk stays.
    """
    path = where / CHECKPOINT
    stateful, stored = registration.operations > 0 and system.capabilities.witnesses, (path / FACTS).exists()
    if stored and not stateful:
        instance, seeds = draw(laboratory.contract, plan.seed, index, plan.policy_seed, plan.instances)
        setup = lay_out(laboratory.contract, instance, seeds)
        return load(path, instance, seeds, setup, laboratory.world.channels)
    draft = path / DRAFT
    shutil.rmtree(draft, ignore_errors=True)  # of a killed run, or of a preparation that failed
    made = laboratory.handoff(plan, index, system, registration.operations, draft)
    found = made if made.prefix is None else replace(made, prefix=path / PREFIX)
    if not stored:
        if found.prefix is not None:
            shutil.rmtree(found.prefix, ignore_errors=True)  # of a run that was killed before it could store the rest
            draft.rename(found.prefix)
        save(found, path)
        return found
    if not matches(made, path):
        raise SetupError(f"The checkpoint prepared for {where.name} differs from the one stored there.")
    shutil.rmtree(draft, ignore_errors=True)
    return found


def agreed(registration: Registration, out: Path) -> dict[str, Any]:
    """Return what the scored branches in `out` agree on, whatever their support."""
    for start in registration.starts:
        for branch in registration.branches:
            attempt = folder.finished(start_folder(out, start.number) / branch_folder(branch))
            if attempt is not None:
                identity = strict.read(attempt / folder.SCORES)["identity"]
                return {field: identity.get(field) for field in SHARED if field not in ("intervention", "budget")}
    return {}


def _finished(path: Path) -> bool:
    return (path / folder.UNSUPPORTED).exists() or folder.finished(path) is not None


@lru_cache(maxsize=2)
def _laboratory(task: str, fidelity: str) -> Laboratory:
    return Laboratory(task, fidelity=fidelity)
