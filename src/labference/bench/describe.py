"""What a run is: its identity, and everything else that `run.json` resolves."""

from __future__ import annotations

import os
import platform
from typing import Any

import labference
from labference.records.strict import plain
from labference.tasks import contract_digest
from labference.truth.contract import TaskContract
from labference.truth.identity import (
    BENCH_HANDS,
    OWN_HANDS,
    RunId,
    Seeds,
    digest,
    layout_digest,
    observation_condition,
    policy_identity,
    transport_of,
)
from labference.truth.measurement import Block, Setup
from labference.truth.privilege import reads_the_truth
from labference.wire import ActionSpec, Capabilities
from labference.world.world import World

from .clock import identity_of
from .plan import Plan


def identify(
    plan: Plan,
    index: int,
    contract: TaskContract[Any, Any],
    world: World,
    capabilities: Capabilities,
    spec: ActionSpec,
    instance: Any,
    seeds: Seeds,
    setup: Setup,
    prepared: Block,
) -> RunId:
    """Return the identity of an episode whose preparation ended with the last row of `prepared`."""
    return RunId(
        task=contract.name,
        version=contract.version,
        contract=contract_digest(contract),
        assets=world.model_digest,
        policy=policy_identity(plan.policy, capabilities),
        transport=transport_of(plan.policy, plan.transport),
        sensors=observation_condition(capabilities),
        action=digest(plain(spec)),
        reports=capabilities.reports,
        history=contract.history,
        intervention=plan.support or "none",
        budget=contract.budget_steps if plan.budget is None else plan.budget,
        physics=world.physics,
        fidelity=plan.fidelity,
        hands=BENCH_HANDS if capabilities.performs else OWN_HANDS,
        faults=digest(plain(plan.faults)),
        rendering=plan.render,
        evaluation=labference.__version__,
        instances=plan.instances,
        clock=identity_of(plan.clock),
        campaign=plan.seed,
        index=index,
        instance=digest(plain(instance)),
        layout=layout_digest(plain(prepared.pose[-1, :-1]), plain(setup.fixtures)),
        seeds=seeds,
    )


def run_record(
    plan: Plan,
    identity: RunId,
    contract: TaskContract[Any, Any],
    world: World,
    capabilities: Capabilities,
    spec: ActionSpec,
    instance: Any,
    setup: Setup,
    session: str,
) -> dict[str, Any]:
    """Return what `run.json` holds."""
    return {
        "key": identity.key(),
        "identity": identity,
        "plan": plan,
        "task": plan.task,
        "privileged": reads_the_truth(plan.policy),
        "session": session,
        "instance": instance,
        "setup": setup,
        "goal": contract.goal(instance),
        "policy": capabilities,
        "action": spec,
        "contract": {
            "places": contract.places,
            "settle_s": contract.settle_s,
            "dwell_s": contract.dwell_s,
            "response_s": contract.response_s,
            "response_clock": "simulated time from delivery",
            "budget_steps": identity.budget,
        },
        "channels": world.channels,
        "zero": world.zero,
        "reports": capabilities.reports,
        "environment": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "renderer": os.environ.get("MUJOCO_GL", ""),
        },
    }
