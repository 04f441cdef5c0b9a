"""Give the support that a branch registers: at the opportunity it belongs to, at its site, checked and recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from labference.motion.kinematics import Unreachable
from labference.truth.contract import TaskContract
from labference.truth.geometry import Region, Round, Socket, axis_error, position_error, region_distance
from labference.truth.referee import Referee
from labference.truth.support import Intervention, check, supplied
from labference.wire import (
    Assist,
    Execute,
    GeometryReport,
    Observation,
    Operation,
    Parameter,
    Perform,
    Reading,
    Report,
    Script,
    StateReport,
    Target,
)
from labference.wire.support import Scope

from .lending import Effect, Lending
from .reference import NoRoom, Reference, Scene

DOWN = (0.0, 0.0, -1.0)
"""The axis along which a hand approaches everything on this bench."""
Said = StateReport | Report | GeometryReport | Execute | Perform


@dataclass(frozen=True, slots=True)
class Miss:
    """How far a stated target is off: `position` [m] and `axis` [rad], None where the output is invalid."""

    name: str
    position: float | None
    axis: float | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was said at an interface, what would have been right, and what was given.

    tick, opportunity, evidence, observation  what it is bound to; `observation` is the delivery that carries support
    scope, mode, site  of the intervention; mode "none" where nothing was given
    said       facts, an operation or targets of the system, None for information given at an opening
    reference  certified facts, the legal set, true targets, or the parameters of the reference executor
    misses     of stated targets
    supplied   what the system was given
    stated     parameters with which the system would have the bench carry out its operation
    effect     what an operation of the bench's hands led to, in a line of its own at the delivery after it
    """

    tick: int
    opportunity: int
    evidence: int
    observation: int
    scope: str
    mode: str
    site: str
    said: object
    reference: object
    misses: tuple[Miss, ...] = ()
    supplied: Assist | None = None
    stated: tuple[Parameter, ...] = ()
    effect: Effect | None = None


class Oracle:
    """The supports of one episode.

    Information (assist) is bound to the opportunity at whose opening it is made, and comes with every observation until
    the next one opens. A replacement answers what the system says at its interface, from the state of that moment.

    Where the bench lends its hands (`lending`), skill support lets them carry out the selected operation with the
    parameters of the reference executor. Otherwise `executor` does.
    """

    def __init__(
        self,
        contract: TaskContract[Any, Any],
        referee: Referee,
        scene: Scene,
        executor: Reference | None,
        interventions: tuple[Intervention, ...],
        lending: Lending | None = None,
    ) -> None:
        self._contract, self._referee, self._scene, self._executor = contract, referee, scene, executor
        self._lending = lending
        self._modes = {entry.scope: entry.mode for entry in interventions}
        self._given: tuple[Assist, ...] = ()
        self._bound = 0
        self._reply: Assist | None = None
        self._receipts: list[Receipt] = []

    def supports(self, observation: int, tick: int, readings: tuple[Reading, ...]) -> tuple[Assist, ...]:
        """Return what delivery `observation` carries: fresh information at a new opportunity, and a reply."""
        now = self._referee.current
        if now is not None and now.id != self._bound:
            self._bound = now.id
            scopes = [scope for scope, mode in self._modes.items() if mode == "assist" and self._available(scope)]
            self._given = tuple(self._content(scope, "assist", readings, None) for scope in scopes)
            for assist in self._given:
                reference = self._reference(assist.scope, readings, None)
                self._note(observation, tick, assist.scope, None, reference, assist)
        self._effect(observation, tick)
        reply, self._reply = self._reply, None
        return self._given if reply is None else (*self._given, reply)

    def taken(self) -> list[Receipt]:
        """Return the receipts since the last call."""
        taken, self._receipts = self._receipts, []
        return taken

    def hear(self, act: Said, observation: int, tick: int, readings: tuple[Reading, ...]) -> None:
        """Note what the system says at an interface beside what is so; prepare the reply where it is replaced.

        `observation` is the delivery that will carry the reply. A `Perform` is heard where nothing announces it: what
        carries it out is replaced then, and nothing is said to the system.
        """
        scope, said = _interface(act)
        operation = None if isinstance(act, StateReport) else act.operation
        given = None
        if self._modes.get(scope) == "replace" and self._available(scope):
            given = self._content(scope, "replace", readings, operation)
        self._reply = self._reply if isinstance(act, Perform) else given
        misses = tuple(self._miss(target) for target in act.targets) if isinstance(act, GeometryReport) else ()
        stated = act.parameters if isinstance(act, Execute | Perform) else ()
        self._note(observation, tick, scope, said, self._reference(scope, readings, operation), given, misses, stated)

    def began(self, operation: Operation) -> None:
        """Take note that the bench's hands begin with `operation`."""
        if self._lending is not None:
            self._lending.began(operation)

    def parameters(self, operation: Operation) -> tuple[Parameter, ...]:
        """Return the parameters with which the bench carries out `operation` under skill support."""
        return () if self._lending is None else self._lending.parameters(operation)

    def _effect(self, observation: int, tick: int) -> None:
        """Note what the operation led to that has ended with this delivery."""
        effect = None if self._lending is None else self._lending.effect()
        if effect is not None:
            now = (tick, self._bound, self._referee.evidence, observation)
            self._receipts.append(Receipt(*now, "skill", "none", "skill", None, None, effect=effect))

    def _available(self, scope: Scope) -> bool:
        """Tell whether there is anything to give: nothing is legal once an item is lost."""
        return scope != "decision" or bool(self._contract.legal(self._referee.state))

    def executes(self) -> bool:
        """Tell whether the reference executor stands in for the system's hands."""
        return self._modes.get("skill") == "replace"

    def carry_out(self, operation: Operation, observation: Observation) -> Script[None]:
        """Attempt whatever the system selected, a wrong but feasible target included."""
        subject = self._contract.subject(self._referee.state, operation)
        if self._executor is None or subject not in self._scene.channels.items:
            return
        try:
            yield from self._executor.carry_out(observation, replace(operation, item=subject))
        except (Unreachable, NoRoom, KeyError):
            return

    def _content(self, scope: Scope, mode: Any, readings: tuple[Reading, ...], operation: Operation | None) -> Assist:
        state = self._referee.state
        match scope:
            case "semantic":
                assist = Assist(scope, mode, facts=self._contract.facts(state, readings))
            case "decision":
                assist = Assist(scope, mode, operation=supplied(self._contract.legal(state)))
            case "geometry":
                assist = Assist(scope, mode, targets=self._targets(operation))
            case _:
                assist = Assist(scope, mode, operation=operation)
        check(assist, self._contract, state, readings, self._names(operation))
        return assist

    def _targets(self, operation: Operation | None) -> tuple[Target, ...]:
        """Return where the things of `operation` are, or all candidates."""
        regions = self._scene.regions
        return tuple(
            self._item(name) if name in self._scene.channels.items else _place(name, regions[name])
            for name in self._names(operation)
        )

    def _names(self, operation: Operation | None) -> tuple[str, ...]:
        """Return what may be located for `operation`, or all candidates; an item only where it is what is meant."""
        regions, items = self._scene.regions, self._scene.channels.items
        if operation is None:
            return tuple(name for name in self._contract.candidates() if name in items or name in regions)
        subject = self._contract.subject(self._referee.state, operation)
        names = self._contract.frames(operation)
        return tuple(name for name in names if name in regions or (name in items and name == subject))

    def _item(self, name: str) -> Target:
        x, y, z = (float(value) for value in self._scene.pose(name)[0])
        return Target(name, (x, y, z), DOWN)

    def _reference(self, scope: Scope, readings: tuple[Reading, ...], operation: Operation | None) -> object:
        """Return what would be right at an interface."""
        match scope:
            case "semantic":
                return self._contract.facts(self._referee.state, readings)
            case "decision":
                return tuple(sorted(self._contract.legal(self._referee.state)))
            case "geometry":
                return self._targets(operation)
            case _:
                return None if self._lending is None or operation is None else self._lending.parameters(operation)

    def _miss(self, said: Target) -> Miss:
        if said.name in self._scene.channels.items:
            off = position_error(said.position, self._item(said.name).position)
        elif said.name in self._scene.regions:
            off = region_distance(said.position, self._scene.regions[said.name])
        else:
            off = None
        return Miss(said.name, off, axis_error(said.axis, DOWN))

    def _note(
        self,
        observation: int,
        tick: int,
        scope: Scope,
        said: object,
        reference: object,
        assist: Assist | None,
        misses: tuple[Miss, ...] = (),
        stated: tuple[Parameter, ...] = (),
    ) -> None:
        mode = "none" if assist is None else assist.mode
        site = "observation" if mode == "assist" else scope
        now = (tick, self._bound, self._referee.evidence, observation)
        self._receipts.append(Receipt(*now, scope, mode, site, said, reference, misses, assist, stated))


def _interface(act: Said) -> tuple[Scope, object]:
    match act:
        case StateReport():
            return "semantic", act.facts
        case Report():
            return "decision", act.operation
        case GeometryReport():
            return "geometry", act.targets
        case _:
            return "skill", act.operation


def _place(name: str, region: Region) -> Target:
    match region:
        case Socket():
            x, y, z = region.mouth
        case Round():
            (x, y), z = region.centre, region.height
        case _:
            (x, y), z = ((a + b) / 2 for a, b in zip(region.low, region.high, strict=True)), region.height
    return Target(name, (float(x), float(y), float(z)), DOWN)
