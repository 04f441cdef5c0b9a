"""The agent: a tested system of labference whose every act went through the gate, and the record of its trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Refusal, ServiceFault

from .belief import Belief
from .experience import State, Value
from .gate.gate import ABANDON, ExceptionLog, Gate, Ruling
from .gate.view import view
from .labs.wetlab import Target, read_goal, situation
from .model.port import ModelError
from .observe.detector import Detector, NoDetector
from .observe.observer import Observer
from .operate.context import Context, Operator, Proposal
from .operate.symbolic import Habits, SymbolicMind
from .retrieve import Retrieved
from .skills.atomic import PROBE, Action, action
from .supervise import NOTHING, Supervisor

VERSION = "1"
PATIENCE = 24
"""Refusals in a row after which the agent gives up, whatever its Operator says."""
METHODS = {
    "act": Habits(one_shot=True, state=False, notes=False),
    "react": Habits(state=False),
    "inner-only": Habits(),
    "memp": Habits(memory="workflow"),
    "labevolver": Habits(memory="experience"),
}
"""The compared methods: they share skills, gate and Observer, and differ in what their Operator may use."""
Recall = Callable[[State], Retrieved]


@dataclass(frozen=True, slots=True)
class Move:
    """One proposal of a trial: belief, intent, action, ruling, advice followed, and the view that the rules saw."""

    time: float
    proposal: Proposal
    ruling: Ruling
    belief: Belief
    state: State
    view: State


@dataclass(slots=True)
class Trial:
    """What the agent keeps of one trial, whatever the bench records."""

    goal: Goal
    target: Target
    start: State
    moves: list[Move] = field(default_factory=list)
    retrieved: list[Retrieved] = field(default_factory=list)
    ended: float = 0.0
    claimed: bool = False
    """Whether it ended by claiming that the goal is reached."""


class Agent:
    """Observer, Operator, Supervisor and gate around one trial; the memory is asked through `recall`.

    With a `detector`, the first observation is looked at, and the bench has to have its cameras.
    """

    def __init__(
        self,
        operator: Operator,
        method: str = "inner-only",
        recall: Recall | None = None,
        detector: Detector | None = None,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"No method {method!r}; methods: {', '.join(METHODS)}.")
        self.operator, self.method = operator, method
        self._recall = recall or (lambda _: NOTHING)
        self._detector: Detector = detector or NoDetector()
        self.trial: Trial | None = None
        self.supervisor: Supervisor | None = None

    def open(self) -> Capabilities:
        """Ask for the data ports, for the bench's hands, and for the cameras of a detector."""
        name = f"labevolver {self.method}, {self.operator.name}"
        cameras = self._detector.cameras
        if cameras:
            name += f", {self._detector.name}"
        return Capabilities(name, VERSION, cameras=cameras, depth=bool(cameras), readings=True, performs=True)

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Forget the last trial, and read the goal."""
        del spec, session
        self._goal, self._target = goal, read_goal(goal)
        self.gate = Gate(goal, self._target)
        self._observer, self.belief = Observer(self._detector), Belief()
        self._done: Action | None = None
        self._recent: list[Action] = []
        self.trial = None
        self.operator.begin()

    def act(self, observation: Observation) -> Act:
        """Take in what came back, and return the next act that the gate admits."""
        self._take_in(observation)
        return self._answer()

    def _answer(self) -> Act:
        """Return the next act that the gate admits, from what is believed."""
        exceptions: list[ExceptionLog] = []
        while True:
            proposal = self._propose(tuple(exceptions))
            ruling = self.gate.rule(self.belief, proposal.action)
            self._keep(proposal, ruling)
            if ruling.admitted:
                self._done = proposal.action
                assert self.trial is not None
                self.trial.claimed = proposal.action.kind not in (ABANDON,)
                return self.gate.dispatch(ruling)
            assert ruling.exception is not None
            exceptions.append(ruling.exception)
            if len(exceptions) >= PATIENCE:
                return self._surrender()

    def close(self) -> None:
        """Release nothing."""

    @property
    def noted(self) -> tuple[ExceptionLog, ...]:
        """Return every exception log of the trial, the first of each rule and kind."""
        logs = [each.exception for each in self.gate.intercepts if each.exception is not None]
        return tuple({(log.rule, log.action.kind, log.where, log.values): log for log in reversed(logs)}.values())[::-1]

    def _take_in(self, observation: Observation) -> None:
        if self.trial is None or self.supervisor is None:
            self.belief = self._look(observation)
            self.trial = Trial(self._goal, self._target, situation(self.belief))
            self.supervisor = Supervisor(self._ask, self._situation)
            self.supervisor.begin(self.belief)
            return
        if self._done is not None:
            self.belief = self._observer.update(self.belief, self._done, observation)
            self._recent.append(self._done)
            if self.supervisor.follow(self.belief, self._done):
                self._recent = [self._done]
        self.trial.ended = self.belief.time

    def _look(self, observation: Observation) -> Belief:
        """Return the first belief; a service that fails is a validity event, frames that do not do are a refusal."""
        try:
            return self._observer.initial(observation)
        except ModelError as error:
            if error.of_service:
                raise ServiceFault(f"{self._detector.name}: {error}") from error
            raise Refusal(
                "malformed", f"{self._detector.name} named nothing that can be used ({error.fault})."
            ) from error
        except ValueError as error:
            raise Refusal("unsupported", str(error)) from error

    def _propose(self, exceptions: tuple[ExceptionLog, ...]) -> Proposal:
        assert self.supervisor is not None
        return self.operator.propose(
            Context(
                self._goal,
                self._target,
                self.belief,
                lambda action: view(self._target, self._goal, self.belief, action),
                self.supervisor.checkpoint,
                exceptions,
                self.noted,
                tuple(self._recent),
                self.supervisor.advice,
            )
        )

    def _keep(self, proposal: Proposal, ruling: Ruling) -> None:
        assert self.trial is not None
        seen = view(self._target, self._goal, self.belief, proposal.action)
        self.trial.moves.append(Move(self.belief.time, proposal, ruling, self.belief, situation(self.belief), seen))

    def _surrender(self) -> Act:
        """End the trial where nothing is admitted; a full hand first puts back what it holds, and that is ruled on too.

        Raises `Refusal` where even that is not admitted.
        """
        for intent, last in (("give up: the gate refuses everything", Action(ABANDON)), *self._returns()):
            ruling = self.gate.rule(self.belief, last)
            self._keep(Proposal(intent, last), ruling)
            if ruling.admitted:
                self._done = None if last.kind == ABANDON else last
                return self.gate.dispatch(ruling)
        raise Refusal("malformed", f"The gate refuses everything with {self.belief.hand or 'nothing'} in the hand.")

    def _returns(self) -> list[tuple[str, Action]]:
        """Return what puts back the thing in the hand, with what may have to come before."""
        held = self.belief.hand
        if held == PROBE:
            return [("put back the probe", action("return_probe")), ("rinse the probe", action("rinse_probe"))]
        return [(f"put back the {held}", action("place", held))] if held else []

    def _ask(self, state: State) -> Retrieved:
        found = self._recall(state)
        assert self.trial is not None
        self.trial.retrieved.append(found)
        return found

    def _situation(self, belief: Belief) -> State:
        """Return goal, present, and how the trial began."""
        assert self.supervisor is not None
        now, readings = situation(belief), self.supervisor.checkpoint.readings
        begun: dict[str, Value] = {f"start_{name}": value for name, value in now.items()}
        if readings:
            begun = {"start_ph": readings[0].ph, "start_ec": readings[0].ec, "start_grams": readings[0].grams}
        return {**self._target.fields, **now, **begun}


class InnerOnly(Agent):
    """The inner loop with the symbolic mind and no memory, as `labference run --policy` names it."""

    def __init__(self, seed: int = 0) -> None:
        del seed  # nothing is drawn
        super().__init__(SymbolicMind(METHODS["inner-only"]), "inner-only")


class Seeing(Agent):
    """The inner loop that looks at the bench first: for a laboratory with cameras."""

    def __init__(self, seed: int = 0) -> None:
        from .observe.depth import DepthDetector  # it loads what images need

        del seed
        super().__init__(SymbolicMind(METHODS["inner-only"]), "inner-only", detector=DepthDetector())


class React(Agent):
    """Within-trial reasoning on what was last shown."""

    def __init__(self, seed: int = 0) -> None:
        del seed
        super().__init__(SymbolicMind(METHODS["react"]), "react")


class ActOnce(Agent):
    """One plan, made once."""

    def __init__(self, seed: int = 0) -> None:
        del seed
        super().__init__(SymbolicMind(METHODS["act"]), "act")
