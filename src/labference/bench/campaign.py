"""Many episodes: resumable, in one process or several, with the same results in the same order."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from labference.policies import BUILT_IN, is_remote, preflight
from labference.policies.fit import fitting, unfit
from labference.policies.remote.process import dismiss
from labference.records import folder, strict
from labference.records.lock import Held, hold
from labference.records.strict import write_atomically
from labference.tasks import find_task
from labference.truth.draw import TWINS, draw, find_members
from labference.truth.identity import EXPERT, FAST, IN_PROCESS, PROCESS, SHARED, PlanError
from labference.truth.support import parse
from labference.wire import PROFILES, Goal, Refusal, ServiceFault

from .clock import check as check_clock
from .laboratory import Laboratory, Result, check_fidelity
from .patience import patiently
from .plan import Plan
from .workers import spread

RENDERINGS = ("fast", "quality")
LONGEST_DEADLINE_S = 1e6
T = TypeVar("T")
TRIES = 2
"""Attempts at an episode within one run; only validity events are retried."""


def register(plan: Plan, out: Path, *, driven: bool = False) -> None:
    """Write the plan to `out`, or check that `out` already holds this experiment; contact the system that it tests.

    Nothing is written where something does not fit, or where another process has `out` open. A `driven` population is
    run through sessions; its `policy` names who drives, and is not looked up.
    """
    keep(plan, out, driven=driven).release()


def keep(plan: Plan, out: Path, *, driven: bool = False) -> Held:
    """Register `plan` in `out` as `register` does, and keep the folder to this process until it is released."""
    check(plan)
    held = hold(out) if (out / folder.LOCK).exists() else None  # so that no server is asked in vain
    try:
        _differing(plan, out)
        if not driven and (not folder.episodes(out) or remaining(plan, out)):
            contact(plan)
        out.mkdir(parents=True, exist_ok=True)
        held = held or hold(out)
        enter(plan, out)
    except BaseException:
        if held is not None:
            held.release()
        raise
    return held


def enter(plan: Plan, out: Path) -> None:
    """Write `plan` to the existing folder `out`, for a caller that keeps others from doing the same."""
    check(plan)
    differing, known = _differing(plan, out)
    episodes = plan.episodes if differing else max(plan.episodes, known["episodes"])
    write_atomically(out / folder.CAMPAIGN, {"condition": plan.condition(), "episodes": episodes})


def _differing(plan: Plan, out: Path) -> tuple[list[str], dict[str, Any]]:
    """Return the fields in which `plan` is not what `out` says, and what that is; refuse where episodes were begun."""
    if out.exists() and not out.is_dir():
        raise PlanError(f"{out} is a file; choose another --out.")
    path = out / folder.CAMPAIGN
    begun = bool(folder.episodes(out))
    if begun and not path.exists():
        raise PlanError(f"{out} holds episodes but no {folder.CAMPAIGN}; choose another --out.")
    known: dict[str, Any] = strict.read(path) if path.exists() else {"condition": plan.condition(), "episodes": 0}
    differing = [field for field, value in plan.condition().items() if known["condition"].get(field) != value]
    if differing and begun:
        field = differing[0]
        raise PlanError(
            f"{out} holds a campaign with {field} {known['condition'].get(field)!r}, not {plan.condition()[field]!r}; "
            "choose another --out, or the same settings to resume it."
        )
    return differing, known


def check(plan: Plan) -> None:
    """Refuse a plan that cannot be run, whatever its folder holds."""
    if plan.episodes < 1:
        raise PlanError(f"A campaign of {plan.episodes} episodes has nothing to run; 1 or more would work.")
    contract = find_task(plan.task)
    parse(plan.support)
    check_clock(plan.clock, plan.episodes)
    if plan.instances and plan.instances != TWINS:
        find_members(contract, plan.instances)
    if plan.transport not in (IN_PROCESS, PROCESS):
        raise PlanError(f"No transport {plan.transport!r}; {IN_PROCESS} or {PROCESS} would work.")
    check_fidelity(contract, plan.fidelity)
    if plan.fidelity == FAST and plan.video:
        raise PlanError(f"The fast laboratory has no camera {plan.video[0]!r}; --fidelity physics has.")
    if plan.action not in PROFILES:
        raise PlanError(f"No action profile {plan.action!r}; profiles: {', '.join(PROFILES)}.")
    if plan.render not in RENDERINGS:
        raise PlanError(f"No rendering {plan.render!r}; renderings: {', '.join(RENDERINGS)}.")
    if plan.budget is not None and plan.budget < 1:
        raise PlanError(f"A budget of {plan.budget} control steps runs nothing; 1 or more would work.")
    if not 0 < plan.deadline_s <= LONGEST_DEADLINE_S:
        raise PlanError(f"A deadline of {plan.deadline_s} s cannot be kept; (0, {LONGEST_DEADLINE_S:g}] s would work.")
    for fault in plan.faults:
        if not 0 <= fault.start < fault.stop < math.inf:
            raise PlanError(f"A fault from {fault.start} s to {fault.stop} s is no time; 0 <= start < stop would work.")


def remaining(plan: Plan, out: Path) -> list[int]:
    """Return the episodes without committed scores."""
    return [index for index in range(plan.episodes) if folder.finished(folder.episode_folder(out, index)) is None]


def contact(plan: Plan) -> None:
    """Contact the tested system of `plan` once, with its longest goal; `PlanError` where it does not fit or answer."""
    if plan.profile and not is_remote(plan.policy):
        raise PlanError(f"{plan.policy!r} is no server and has no profile; leave out --profile {plan.profile}.")
    if plan.policy == EXPERT:
        return
    contract, spec = find_task(plan.task), PROFILES[plan.action]
    drawn = (draw(contract, plan.seed, index, plan.policy_seed, plan.instances) for index in range(plan.episodes))
    goal = max((contract.goal(instance) for instance, _ in drawn), key=lambda goal: len(goal.instruction))
    isolated, deadline_s = plan.isolated, plan.deadline_s
    try:
        preflight(plan.policy, spec, goal, plan.profile, isolated=isolated, deadline_s=deadline_s)
    except Refusal as refusal:
        raise PlanError(f"{plan.policy!r} does not fit: {refusal}") from refusal
    except ServiceFault as fault:
        raise PlanError(f"{plan.policy!r} could not be reached: {fault}") from fault
    if plan.policy in BUILT_IN:
        _check_fit(plan, goal)


def _check_fit(plan: Plan, goal: Goal) -> None:
    """Refuse one of our own systems that was made for other tasks, with those that were made for this one."""
    spec, cameras = PROFILES[plan.action], () if plan.fidelity == FAST else None
    if sentence := unfit(plan.policy, goal, spec, cameras):
        others = ", ".join((EXPERT, *fitting(goal, spec, cameras)))
        raise PlanError(f"{sentence.removesuffix('.')}; for {plan.task}, {others} would work.")


def run(plan: Plan, out: Path, workers: int = 1) -> Iterator[Result]:
    """Register `plan` in `out`; return the results of what remains of it, in the order of the plan, as they come.

    The folder is kept from other processes meanwhile; reading it is free. Raises `GivenUp` where the tested system is
    not there any more.
    """
    held = keep(plan, out)
    todo = remaining(plan, out)
    return patiently(kept(held, _results(plan, out, workers, todo)), len(todo), plan.policy)


def kept(held: Held, results: Generator[T]) -> Generator[T]:
    """Pass on `results`, and release a folder after the last, or when nobody wants more."""
    with held:
        yield from results


def _results(plan: Plan, out: Path, workers: int, todo: list[int]) -> Generator[Result]:
    if workers == 1 or len(todo) < 2:
        for index in todo:
            yield _episode(plan, out, index)
        return
    dismiss()  # each worker has a child of its own
    yield from spread(partial(_episode, plan, out), todo, workers)


def _episode(plan: Plan, out: Path, index: int) -> Result:
    laboratory = _laboratory(plan.task, plan.render, plan.fidelity)
    laboratory.expect(agreed(out))
    for _ in range(TRIES):
        result = laboratory.attempt(plan, index, out)
        if result.status == "scored":
            break
    return result


def agreed(out: Path) -> dict[str, Any]:
    """Return what the scored episodes in `out` agree on."""
    for episode in folder.episodes(out):
        attempt = folder.finished(episode)
        if attempt is not None:
            identity = strict.read(attempt / folder.SCORES)["identity"]
            return {field: identity.get(field) for field in SHARED}
    return {}


@lru_cache(maxsize=2)
def _laboratory(task: str, render: str, fidelity: str) -> Laboratory:
    """Build the laboratory once per process; compiling it costs more than an episode."""
    return Laboratory(task, render, fidelity)
