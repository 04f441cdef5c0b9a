"""One laboratory per process: a compiled world, an arm, and the steps from an episode's number to its records."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from labference.motion.kinematics import Arm
from labference.policies import make_policy
from labference.records import folder
from labference.records.reader import read_run
from labference.records.recorder import Recorder
from labference.records.strict import write_atomically
from labference.tasks import find_task
from labference.truth.contract import TaskContract, cells_of, ports_of, read_cells, read_ports
from labference.truth.draw import draw, lay_out
from labference.truth.events import Invalidated
from labference.truth.filling import WetSetup
from labference.truth.identity import EXPERT, FAST, IN_PROCESS, PHYSICS, PlanError, RunId, Seeds, transport_of
from labference.truth.measurement import Block, Setup
from labference.truth.referee import Referee
from labference.truth.support import Intervention, parse
from labference.wire import PROFILES, Capabilities, Observation, Operation, Perform, Policy, Script, ServiceFault, Wait
from labference.world.fast import FastWorld
from labference.world.faults import SetupError, SimulationFault
from labference.world.wet.chemistry import missing
from labference.world.world import World

from .checkpoint import Handoff, Lent, referee_at
from .clock import pace
from .describe import identify, run_record
from .ending import Ending, Resumed
from .episode import HANDOFF_REACHED, Episode
from .expert import Performer
from .lending import Hands, Lending
from .oracle import Oracle
from .plan import Plan
from .prefix import Prefix
from .reference import Reference, Scene
from .system import Questions, System, answered

MARGIN_S = 5.0
"""How much later than a system's own connection the bench gives up on it [s]."""


@dataclass(frozen=True, slots=True)
class Result:
    """How an attempt at an episode ended; `status` is scored or unresolved, `silent` without a single answer."""

    index: int
    status: str
    reason: str
    sentence: str
    path: Path
    seconds: float
    identity: RunId | None = None
    silent: bool = False


class Unsupported(PlanError):
    """The tested system has no interface for a support condition: a compatibility result."""


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

    def __init__(self, task: str, render: str = "fast", fidelity: str = PHYSICS) -> None:
        self.contract: TaskContract[Any, Any] = find_task(task)
        check_fidelity(self.contract, fidelity)
        self.fidelity = fidelity
        self.world = _world(self.contract.parts(), render, fidelity)
        self._expected: dict[str, Any] = {}

    @property
    def _fast(self) -> FastWorld:
        return cast(FastWorld, self.world)

    @cached_property
    def arm(self) -> Arm:
        """Return the kinematics of the arm; the fast laboratory never needs them."""
        return Arm()

    def expect(self, shared: dict[str, Any]) -> None:
        """Refuse to run anything whose identity differs from `shared`, by field."""
        self._expected = shared

    def attempt(self, plan: Plan, index: int, out: Path) -> Result:
        """Run one attempt at episode `index` with the system of `plan`, and leave its records below `out`.

        Raises `PlanError` where system and laboratory do not fit; nothing is recorded then.
        """
        _, seeds = draw(self.contract, plan.seed, index, plan.policy_seed, plan.instances)
        started = time.perf_counter()
        try:
            system = self.system(plan, seeds)
        except ServiceFault as fault:
            path = folder.next_attempt(folder.episode_folder(out, index))
            return replace(invalid(plan, index, path, fault, started), silent=True)
        return answered(self.ask(plan, index, out, system), system)

    def ask(self, plan: Plan, index: int, out: Path, system: System) -> Questions[Result]:
        """Run one attempt at episode `index`, yielding each observation to whoever answers for `system`; close it.

        Raises `PlanError` where system and laboratory do not fit; nothing is recorded then.
        """
        started = time.perf_counter()
        instance, seeds = draw(self.contract, plan.seed, index, plan.policy_seed, plan.instances)
        setup = lay_out(self.contract, instance, seeds, plan.faults)
        path = folder.next_attempt(folder.episode_folder(out, index))
        try:
            self.negotiate(plan, system)
            prepared = self.prepare(instance, seeds, setup, reports=system.capabilities.reports)
            identity, ending, encoders = yield from self._run(plan, index, path, prepared, system)
        except SetupError as fault:
            return invalid(plan, index, path, fault, started)
        finally:
            said = system.close()
        write_atomically(path / folder.SHUTDOWN, {"policy": said, "encoders": encoders}, durable=False)
        status = "unresolved" if ending.reason == "invalid" else "scored"
        silent = status == "unresolved" and not system.heard
        seconds = time.perf_counter() - started
        return Result(index, status, ending.reason, ending.sentence, path, seconds, identity, silent)

    def prepare(self, instance: Any, seeds: Seeds, setup: Setup, *, reports: bool = False) -> Prepared:
        """Lay out an instance and verify that what the contract assumes at the handoff is so."""
        try:
            block = self.world.prepare(setup)
        except SimulationFault as fault:
            raise SetupError(str(fault)) from fault
        referee = self._referee = Referee(
            self.contract, instance, self.world.channels, reports=reports, faults=setup.faults
        )
        cells = cells_of(self.contract.parts(), self.world.channels.timestep)
        for name, cell in zip(self.world.channels.cells, cells, strict=True):
            cell.zero(np.array([self.world.zero[name]]))
        ports = (
            ports_of(self.contract.parts(), self.world.channels.timestep, setup) if self.world.channels.meters else ()
        )
        referee.observe(block, read_cells(cells, block), read_ports(ports, block))
        start = self.contract.start(instance)
        assumed, found = self.contract.located(start), self.contract.located(referee.state)
        for item, place in assumed.items():
            if found[item] != place:
                raise SetupError(f"After settling, {item!r} is at {found[item]!r} and not at {place!r}.")
        if self.contract.legal(referee.state) != self.contract.legal(start):
            legal = ", ".join(str(operation) for operation in sorted(self.contract.legal(referee.state)))
            raise SetupError(f"After settling, what is legal is not what the instance is made for, but: {legal}.")
        return Prepared(instance, seeds, setup, block, referee)

    def handoff(self, plan: Plan, index: int, system: System, operations: int, path: Path) -> Handoff:
        """Prepare episode `index`, let the reference executor carry out `operations`, and return where branches begin.

        The prefix ends when that many operations are confirmed and the next choice is to be made by behaviour. It is
        shown through the cameras of the tested `system`, and recorded in `path`. Raises `SetupError` where the executor
        does not get there.
        """
        instance, seeds = draw(self.contract, plan.seed, index, plan.policy_seed, plan.instances)
        setup = lay_out(self.contract, instance, seeds, plan.faults)
        capabilities = system.capabilities
        prepared = self.prepare(instance, seeds, setup, reports=capabilities.reports)
        if operations == 0:
            return Handoff(instance, seeds, setup, self.world.save(), (prepared.block,))
        alone = replace(plan, policy=EXPERT, support="", budget=None, clock="paused")
        executor = System(lambda: self._policy(alone, seeds), EXPERT, plan.deadline_s)
        executor.capabilities = replace(
            executor.capabilities,
            cameras=capabilities.cameras,
            depth=capabilities.depth,
            readings=capabilities.readings,
        )
        watcher = Prefix(self.contract, prepared.referee, operations, keep=capabilities.witnesses)
        try:
            _, ending, _ = answered(self._run(alone, index, path, prepared, executor, watcher=watcher), executor)
        finally:
            executor.close()
        if ending.reason != HANDOFF_REACHED:
            raise SetupError(
                f"The reference executor ended with {ending.reason!r} before the handoff. {ending.sentence}"
            )
        lines = read_run(path).lines(folder.OBSERVATIONS)
        deliveries = tuple((int(entry["observation"]), int(entry["tick"])) for entry in lines)
        blocks, lent = tuple(read_run(path).blocks()), _lent(path)
        watcher.see(Observation(0, self.contract.goal(instance), self.world.sense(readings=capabilities.readings)))
        seen, world = tuple(watcher.seen), self.world.save()
        return Handoff(instance, seeds, setup, world, blocks, deliveries, seen, path, ending.steps, lent)

    def branch(self, plan: Plan, index: int, handoff: Handoff, system: System, path: Path) -> tuple[RunId, Ending]:
        """Continue from `handoff` with `system` under the support of `plan`, recorded in `path`."""
        self.world.load(cast(Any, handoff.world))  # that of its own laboratory
        referee = self._referee = referee_at(
            handoff, self.contract, self.world.channels, reports=system.capabilities.reports
        )
        prepared = Prepared(handoff.instance, handoff.seeds, handoff.setup, handoff.blocks[0], referee)
        identity, ending, encoders = answered(self._run(plan, index, path, prepared, system, handoff), system)
        write_atomically(path / folder.SHUTDOWN, {"policy": "", "encoders": encoders})
        return identity, ending

    def _run(
        self,
        plan: Plan,
        index: int,
        path: Path,
        prepared: Prepared,
        system: System,
        handoff: Handoff | None = None,
        watcher: Prefix | None = None,
    ) -> Questions[tuple[RunId, Ending, dict[str, str]]]:
        """Run and record a prepared episode; return its identity, its ending, and how the video encoders closed."""
        spec, contract, world = PROFILES[plan.action], self.contract, self.world
        instance, seeds, setup = prepared.instance, prepared.seeds, prepared.setup
        capabilities = system.capabilities
        identity = identify(plan, index, contract, world, capabilities, spec, instance, seeds, setup, prepared.block)
        for field, value in self._expected.items():
            found = object.__getattribute__(identity, field)
            if found != value:
                raise PlanError(
                    f"The folder holds episodes with {field} {value!r}, not {found!r}; choose another --out."
                )
        session = secrets.token_hex(8)
        hands = self._hands(prepared.instance, seeds)
        oracle = self._oracle(plan, prepared, capabilities, hands, diagnosed=handoff is not None)
        record = run_record(plan, identity, contract, world, capabilities, spec, instance, setup, session)
        if (service := system.declared()) is not None:
            record |= {"service": service}
        if handoff is not None:
            record |= {"handoff": handoff.world.tick, "checkpoint": handoff.digest}
        recorder = Recorder(path, record)
        try:
            for block in handoff.blocks if handoff is not None else (prepared.block,):
                recorder.block(block)
            if handoff is not None and handoff.prefix is not None:
                recorder.adopt(handoff.prefix)
            episode = Episode(
                world,
                contract,
                instance,
                system,
                spec,
                recorder,
                lambda joints, increment: self.arm.increment(joints, increment),
                prepared.referee,
                setup,
                plan.video,
                plan.budget,
                oracle,
                None
                if handoff is None or handoff.prefix is None
                else Resumed(len(handoff.deliveries), handoff.steps, handoff.witnessed),
                None if watcher is None else watcher.reached,
                pace(plan.clock, index),
                hands,
            )
            if watcher is not None:
                episode.tap = watcher.see
            ending = yield from episode.run(session)
            if watcher is None and ending.reason != "invalid":
                recorder.commit(_scores(identity, ending))
        finally:
            encoders = recorder.close()
        return identity, ending, encoders

    def system(self, plan: Plan, seeds: Seeds) -> System:
        """Return the tested system of `plan`, opened, for one episode or branch."""
        elsewhere = transport_of(plan.policy, plan.transport) != IN_PROCESS
        patience = plan.deadline_s + (MARGIN_S if elsewhere else 0.0)
        return System(lambda: self._policy(plan, seeds), plan.policy, patience)

    def negotiate(self, plan: Plan, system: System) -> None:
        """Refuse what the system or the laboratory does not offer: a compatibility result, outside the population."""
        system.settle(self.world.cameras)
        capabilities = system.capabilities
        if plan.action not in capabilities.actions:
            name, offered = capabilities.name, ", ".join(capabilities.actions)
            raise PlanError(f"{name!r} does not support action profile {plan.action!r}; it offers {offered}.")
        for entry in parse(plan.support):
            self._negotiate(entry, capabilities)
        for fault in plan.faults:
            if fault.cell not in self.world.channels.cells:
                there = ", ".join(self.world.channels.cells)
                raise PlanError(f"There is no load cell {fault.cell!r} in {self.contract.name}; load cells: {there}.")
        for camera in (*capabilities.cameras, *plan.video):
            if camera not in self.world.cameras:
                if self.fidelity == FAST:
                    raise PlanError(
                        f"The fast laboratory has no camera {camera!r}; a system without cameras would work."
                    )
                there = ", ".join(self.world.cameras)
                raise PlanError(f"There is no camera {camera!r} in {self.contract.name}; cameras: {there}.")

    def _negotiate(self, entry: Intervention, capabilities: Capabilities) -> None:
        """Refuse support for which the system has no interface, or which this bench cannot give."""
        lends = capabilities.performs and bool(self.world.channels.vessels)
        if lends and entry.scope == "geometry":
            raise Unsupported(
                "The bench's hands know where everything is, so there is no geometry to support; "
                "semantic, decision or skill would work."
            )
        if lends and entry.scope == "skill":
            return  # what it asks the bench to carry out needs no interface of its own
        interfaces = capabilities.sites if entry.mode == "replace" else capabilities.accepts
        if entry.scope not in interfaces:
            name, sites = capabilities.name, ", ".join(interfaces) or "none"
            raise Unsupported(f"{name!r} has no interface for {entry}; it offers {entry.mode} at: {sites}.")

    def _policy(self, plan: Plan, seeds: Seeds) -> Policy:
        if plan.policy != EXPERT:
            isolated, deadline_s = plan.isolated, plan.deadline_s
            return make_policy(plan.policy, seeds.policy, plan.profile, isolated=isolated, deadline_s=deadline_s)
        if self.world.channels.vessels:
            return Performer(self.contract, lambda: self._referee.state, self.world.needed)
        return Reference(self.contract, self._scene(), self.arm, seeds.policy)

    def _hands(self, instance: Any, seeds: Seeds) -> Hands | None:
        """Return what carries out the operations that a tested system asks for; nothing where none take numbers."""
        if not self.contract.goal(instance).parameters:
            return None
        if self.fidelity == FAST:
            return lambda _, operation, given: _passed(self._fast.perform(operation, given), self._fast)
        executor = Reference(self.contract, self._scene(), self.arm, seeds.policy)
        return executor.perform

    def _scene(self) -> Scene:
        return Scene(
            self.world.channels,
            self.contract.shapes(),
            self.contract.regions,
            self.world.now,
            lambda: self._referee.state,
            self.world.tare,
            lambda: self.world.dripping(),
        )

    def _oracle(
        self, plan: Plan, prepared: Prepared, declared: Capabilities, hands: Hands | None, *, diagnosed: bool
    ) -> Oracle | None:
        """Return what listens at the interfaces of a system and gives the support of `plan`, with its own executor.

        A system without any is listened to where it asks the bench to carry something out: in a diagnosis, and where
        that is supported.
        """
        contract, referee, world = self.contract, prepared.referee, self.world
        asks = hands is not None and declared.performs and (diagnosed or bool(plan.support))
        if not declared.sites and not declared.accepts and not asks:
            return None
        scene, interventions = self._scene(), parse(plan.support)
        if hands is None or not declared.performs:
            executor = Reference(contract, scene, self.arm, prepared.seeds.policy)
            return Oracle(contract, referee, scene, executor, interventions)
        settings = contract.goal(prepared.instance).parameters
        lending = Lending(contract, lambda: referee.state, settings, hands, world.needed, world.holds)
        return Oracle(contract, referee, scene, None, interventions, lending)


def _lent(path: Path) -> tuple[Lent, ...]:
    """Return what the records of a prefix say that the bench's hands carried out."""
    return tuple(
        Lent(entry["observation"], entry["tick"], Operation(**entry["operation"]))
        for entry in read_run(path).lines(folder.ACTIONS)
        if entry["act"] == Perform.__name__
    )


def check_fidelity(contract: TaskContract[Any, Any], fidelity: str) -> None:
    """Refuse a laboratory that cannot run a task."""
    if fidelity not in contract.fidelities:
        there = " or ".join(f"--fidelity {name}" for name in contract.fidelities)
        raise PlanError(f"{contract.name} cannot run with fidelity {fidelity!r}; {there} would work.")
    if contract.wetware().vessels and (install := missing()) and _dissolves(contract):
        raise PlanError(f"{contract.name} needs the package phreeqc for its chemistry: {install} would work.")


def _dissolves(contract: TaskContract[Any, Any]) -> bool:
    """Return whether something is dissolved in the liquids of a task."""
    setup = lay_out(contract, *draw(contract, 0, 0))
    return isinstance(setup, WetSetup) and any(filling.amounts for filling in setup.liquids.values())


def _world(parts: tuple[Any, ...], render: str, fidelity: str) -> World:
    """Return the laboratory of that fidelity; both offer the same."""
    if fidelity == FAST:
        return cast(World, FastWorld(parts))  # the same members, as far as the bench uses them
    return World(parts, render="quality" if render == "quality" else "fast")


def _passed(ticks: Iterator[int], world: FastWorld) -> Script[None]:
    """Let the time pass that the hands of the fast laboratory ask for."""
    for count in ticks:
        yield Wait(count * world.channels.timestep)


def invalid(plan: Plan, index: int, path: Path, fault: Exception, started: float) -> Result:
    """Record an attempt that never reached its handoff."""
    recorder = Recorder(path, {"plan": plan, "index": index})
    recorder.events([Invalidated(0, type(fault).__name__, str(fault))])
    recorder.close()
    return Result(index, "unresolved", "invalid", str(fault), path, time.perf_counter() - started)


def _scores(identity: RunId, ending: Ending) -> dict[str, Any]:
    clock = ending.clock
    return {
        "status": "scored",
        "key": identity.key(),
        "identity": identity,
        "reports": identity.reports,
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
