"""The agent with an interface behind each of its parts, so that a diagnosis can test and support them.

It says what it believes, what it is going to do, and with which numbers, before it acts; and it takes what comes back
in their place. Otherwise it is the same agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from labference.wire import (
    Act,
    ActionSpec,
    Assist,
    Capabilities,
    Execute,
    Fact,
    Goal,
    Observation,
    Operation,
    Perform,
    Report,
    Script,
    StateReport,
    Stop,
)

from .agent import Agent
from .belief import PORT, Belief, Known
from .skills.atomic import BALANCE, BEAKER, PROBE, STOP, Action, dispatchable

SITES = ("semantic", "decision", "skill")
FIELDS = {BALANCE: "shown_g", "pH": "ph", "EC": "ec"}
"""Facts with numbers, and the fields of the beaker that hold them."""
CLEAN = "water"
"""What hangs on a probe that was rinsed."""
DIRTY = "beaker"
GIVEN = "it was not given"


class Interfaces(Agent):
    """An agent that speaks at the state, decision and skill interfaces."""

    def open(self) -> Capabilities:
        """Declare an interface behind each part; what happened before it took over matters to it."""
        return replace(super().open(), sites=SITES, accepts=SITES[:2], witnesses=True)

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Forget the last trial."""
        super().reset(goal, spec, session)
        self._script: Script[None] | None = None

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Take in what others did before, and what it looked like afterwards."""
        if operation is not None:
            self._done = Action(operation.kind, operation.item, operation.place)
        self._take_in(observation)
        self._done = None

    def act(self, observation: Observation) -> Act:
        """Return the next statement or act."""
        if self._script is None:
            self._script = self._work(observation)
            return next(self._script)
        return self._script.send(observation)

    def _work(self, observation: Observation) -> Script[None]:
        while True:
            self._take_in(observation)
            observation = yield StateReport(tuple(stated(self.belief)))
            self.belief = told(self.belief, observation.support("semantic"))
            act = self._answer()
            operation = act.operation if isinstance(act, Perform) else Operation(STOP)
            observation = yield Report(operation)
            given = observation.support("decision")
            if given is not None and given.operation not in (None, operation):
                act = self._instead(given.operation)
            if not isinstance(act, Perform):
                observation = yield act
                continue
            observation = yield Execute(act.operation, act.parameters)
            if observation.support("skill") is None:
                observation = yield act

    def _instead(self, operation: Operation | None) -> Act:
        """Return the given operation with the numbers that the agent last wanted for such a one, if it ever did."""
        assert operation is not None and self.trial is not None
        if operation.kind == STOP:
            return Stop()
        meant = (move.proposal.action for move in reversed(self.trial.moves))
        numbers = next((each.parameters for each in meant if (each.kind, each.item) == _key(operation)), ())
        self._done = Action(operation.kind, operation.item, operation.place, numbers)
        return dispatchable(self._done, self._goal)


def stated(belief: Belief) -> Iterator[Fact]:
    """Yield the facts that a belief holds and that still count."""
    if isinstance(belief.agent.get("hand", Known(None)).value, str):
        yield Fact("hand", belief.hand or "empty")
    if (shown := belief.number(BEAKER, FIELDS[BALANCE])) is not None:
        yield Fact(BALANCE, shown)
    if PROBE not in belief.things:
        return
    yield Fact("mixed", belief.known(BEAKER, "mixed").value is True)
    yield Fact("rinsed", belief.known(PROBE, "coat").value == CLEAN)
    for name in ("pH", "EC"):
        value = belief.number(BEAKER, FIELDS[name])
        if value is not None:
            yield Fact(name, value)


def told(belief: Belief, given: Assist | None) -> Belief:
    """Return a belief with facts that were given; replaced, what was not given does not count."""
    if given is None:
        return belief
    facts = {fact.name: fact.value for fact in given.facts}
    time = belief.time
    if isinstance(hand := facts.get("hand"), str):
        belief = belief.with_agent(hand=Known("" if hand == "empty" else hand, time=time))
    for name, field in FIELDS.items():
        known = belief.known(BEAKER, field)
        if name in facts and not (known.valid and known.value == facts[name]):
            belief = belief.with_thing(BEAKER, **{field: Known(float(facts[name]), known.unit, PORT, time)})
        elif name not in facts and given.mode == "replace" and known.valid:
            belief = belief.with_thing(BEAKER, **{field: known.outdated(GIVEN)})
    if "mixed" in facts:
        belief = belief.with_thing(BEAKER, mixed=Known(bool(facts["mixed"]), time=time))
    if "rinsed" in facts and (belief.known(PROBE, "coat").value == CLEAN) != facts["rinsed"]:
        belief = belief.with_thing(PROBE, coat=Known(CLEAN if facts["rinsed"] else DIRTY, time=time))
    return belief


def _key(operation: Operation) -> tuple[str, str]:
    return operation.kind, operation.item
