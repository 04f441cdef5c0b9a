"""One laboratory per process: a compiled world, an arm, and the steps from an episode's number to its records."""

from __future__ import annotations

import hashlib
import inspect
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import labference
from labference.motion.kinematics import Arm
from labference.policies import make_policy
from labference.records import folder
from labference.records.recorder import Recorder
from labference.records.strict import plain
from labference.tasks import find_task
from labference.truth.contract import TaskContract, read_cells
from labference.truth.events import Invalidated
from labference.truth.identity import PlanError, RunId, Seeds, digest
from labference.truth.measurement import Block, Setup
from labference.truth.referee import Referee
from labference.wire import PROFILES, ActionSpec, Capabilities, Policy, ServiceFault
from labference.world.faults import SetupError, SimulationFault
from labference.world.world import World

from .episode import Ending, Episode
from .plan import Plan, draw
from .reference import Reference, Scene

EXPERT = "expert"


@dataclass(frozen=True, slots=True)
class Result:
    """How an attempt at an episode ended; `status` is scored or unresolved."""

    index: int
    status: str
    reason: str
    sentence: str
    path: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Prepared:
    """An instance laid out, settled, and watched up to the handoff."""

    instance: Any
    seeds: Seeds
    setup: Setup
    block: Block
    referee: Referee


class Laboratory:
    """A world and an arm for one task, used for many episodes in one process."""

    def __init__(self, task: str, render: str = "fast") -> None:
        self.contract: TaskContract[Any, Any] = find_task(task)
        self.world = World(self.contract.parts(), render="quality" if render == "quality" else "fast")
        self.arm = Arm()

    def attempt(self, plan: Plan, index: int, out: Path) -> Result:
        """Run one attempt at episode `index` and leave its records below `out`."""
        started = time.perf_counter()
        instance, seeds = draw(self.contract, plan.seed, index)
        path = folder.next_attempt(folder.episode_folder(out, index))
        spec = PROFILES[plan.action]
        try:
            setup = self.contract.setup(instance, np.random.default_rng(seeds.layout))
            policy = self._policy(plan.policy, seeds, setup)
            capabilities = _open(policy, plan.policy)
            self._negotiate(plan, capabilities)
            prepared = self.prepare(instance, seeds, setup, reports=capabilities.reports)
        except (SetupError, SimulationFault, ServiceFault) as fault:
            recorder = Recorder(path, {"plan": plan, "index": index, "seeds": seeds, "instance": instance})
            recorder.events([Invalidated(0, type(fault).__name__, str(fault))])
            recorder.close()
            return Result(index, "unresolved", "invalid", str(fault), path, time.perf_counter() - started)
        try:
            identity = self._identity(plan, index, prepared, capabilities, spec)
            recorder = Recorder(path, self._run_record(plan, identity, prepared, capabilities, spec))
            ending = self._record(recorder, plan, identity, prepared, policy, capabilities, spec)
        finally:
            _close(policy, path)
        status = "unresolved" if ending.reason == "invalid" else "scored"
        return Result(index, status, ending.reason, ending.sentence, path, time.perf_counter() - started)

    def _record(
        self,
        recorder: Recorder,
        plan: Plan,
        identity: RunId,
        prepared: Prepared,
        policy: Policy,
        capabilities: Capabilities,
        spec: ActionSpec,
    ) -> Ending:
        try:
            recorder.block(prepared.block)
            episode = Episode(
                self.world,
                self.contract,
                prepared.instance,
                policy,
                capabilities,
                spec,
                recorder,
                self.arm.increment,
                video=plan.video,
                referee=prepared.referee,
            )
            ending = episode.run(session=digest([identity.key(), "session"])[:16])
            if ending.reason != "invalid":
                recorder.commit(_scores(identity, ending, capabilities.reports))
        finally:
            recorder.close()
        return ending

    def _negotiate(self, plan: Plan, capabilities: Capabilities) -> None:
        """Refuse what the system or the laboratory does not offer: a compatibility result, outside the population."""
        if plan.action not in capabilities.actions:
            offered = ", ".join(capabilities.actions)
            name = capabilities.name
            raise PlanError(f"{name!r} does not support action profile {plan.action!r}; it offers {offered}.")
        for camera in (*capabilities.cameras, *plan.video):
            if camera not in self.world.cameras:
                there = ", ".join(self.world.cameras)
                raise PlanError(f"There is no camera {camera!r} in {self.contract.name}; cameras: {there}.")

    def prepare(self, instance: Any, seeds: Seeds, setup: Setup, *, reports: bool = False) -> Prepared:
        """Lay out an instance and verify that what the contract assumes at the handoff is so."""
        block = self.world.prepare(setup)
        referee = self._referee = Referee(
            self.contract, instance, self.world.channels, reports=reports, faults=setup.faults
        )
        cells = self.contract.cells(self.world.channels.timestep)
        for name, cell in zip(self.world.channels.cells, cells, strict=True):
            cell.zero(np.array([self.world.zero[name]]))
        referee.observe(block, read_cells(cells, block))
        assumed = self.contract.located(self.contract.start(instance))
        found = self.contract.located(referee.state)
        for item, place in assumed.items():
            if found[item] != place:
                raise SetupError(f"After settling, {item!r} is at {found[item]!r} and not at {place!r}.")
        return Prepared(instance, seeds, setup, block, referee)

    def _policy(self, name: str, seeds: Seeds, setup: Setup) -> Policy:
        if name != EXPERT:
            return make_policy(name, seeds.policy)
        scene = Scene(
            self.world.channels,
            self.contract.shapes(),
            self.contract.regions(setup),
            self.world.now,
            lambda: self._referee.state,
        )
        return Reference(self.contract, scene, self.arm)

    def _identity(
        self, plan: Plan, index: int, prepared: Prepared, capabilities: Capabilities, spec: ActionSpec
    ) -> RunId:
        layout = plain({"pose": prepared.block.pose[-1, :-1], "fixtures": prepared.setup.fixtures})
        return RunId(
            task=self.contract.name,
            version=self.contract.version,
            assets=self.world.model_digest,
            policy=f"{capabilities.name} {capabilities.version}",
            sensors=_sensors(capabilities),
            action=digest(plain(spec))[:16],
            history="online",
            intervention="none",
            budget=self.contract.budget_steps,
            physics=f"mujoco {mujoco.__version__}, {self.world.channels.timestep:g} s",
            evaluation=labference.__version__,
            campaign=plan.seed,
            index=index,
            instance=digest(plain(prepared.instance)),
            layout=digest(layout),
            seeds=prepared.seeds,
        )

    def _run_record(
        self, plan: Plan, identity: RunId, prepared: Prepared, capabilities: Capabilities, spec: ActionSpec
    ) -> dict[str, Any]:
        contract = self.contract
        return {
            "key": identity.key(),
            "identity": identity,
            "plan": plan,
            "task": plan.task,
            "privileged": plan.policy == EXPERT,
            "instance": prepared.instance,
            "setup": prepared.setup,
            "goal": contract.goal(prepared.instance),
            "policy": capabilities,
            "action": spec,
            "contract": {
                "sha256": contract_digest(contract),
                "places": contract.places,
                "settle_s": contract.settle_s,
                "dwell_s": contract.dwell_s,
                "response_s": contract.response_s,
                "response_clock": "simulated time from delivery",
                "budget_steps": contract.budget_steps,
            },
            "channels": self.world.channels,
            "zero": self.world.zero,
            "reports": capabilities.reports,
            "environment": {"python": platform.python_version(), "machine": platform.machine()},
        }


def _open(policy: Policy, name: str) -> Capabilities:
    """Ask a system what it is; one that cannot say is incompatible."""
    try:
        return policy.open()
    except ServiceFault:
        raise
    except Exception as error:
        raise PlanError(f"{name!r} could not be opened: {type(error).__name__}: {error}.") from error


def _close(policy: Policy, path: Path) -> None:
    """Close a system; what it says then changes no result, and is kept beside the records."""
    try:
        policy.close()
    except Exception as error:  # noqa: BLE001  # a third party's words, after the last result
        (path / "close.txt").write_text(f"{type(error).__name__}: {error}\n", encoding="utf-8")


def contract_digest(contract: TaskContract[Any, Any]) -> str:
    """Return the sha256 of the task file and the contract's own values."""
    source = Path(inspect.getfile(type(contract))).read_bytes()
    return digest([hashlib.sha256(source).hexdigest(), plain(contract)])


def _sensors(capabilities: Capabilities) -> str:
    frames = "+".join(capabilities.cameras) or "no cameras"
    return f"{frames}{' rgb-d' if capabilities.depth else ' rgb'}{' +readings' if capabilities.readings else ''}"


def _scores(identity: RunId, ending: Ending, reports: bool) -> dict[str, Any]:
    clock = ending.clock
    return {
        "status": "scored",
        "key": identity.key(),
        "identity": identity,
        "reports": reports,
        "reason": ending.reason,
        "sentence": ending.sentence,
        "verdict": ending.verdict,
        "steps": ending.steps,
        "queries": ending.queries,
        "simulated_s": ending.simulated,
        "runtime": {
            "model_s": clock.model,
            "rendering_s": clock.rendering,
            "physics_s": clock.physics,
            "wall_s": time.perf_counter() - clock.started,
        },
    }
