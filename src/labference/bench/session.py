"""An episode that somebody else drives: environments of other libraries and agents with tools answer step by step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from labference.truth.identity import PlanError
from labference.wire import ActionSpec, Capabilities, Goal, Observation, Operation, Refusal, ServiceFault, codec
from labference.wire.receipt import RequestReceipt

from .laboratory import Laboratory, Result
from .plan import Plan
from .system import Notice, System

ABANDONED = "The session was closed before the episode had ended."


class Driven(System):
    """The place of a tested system whose answers come from outside.

    `behind` is a system that whoever answers asks in turn: its service is declared and its receipts are kept.
    """

    def __init__(self, capabilities: Capabilities, behind: System | None = None) -> None:
        self._behind = behind
        self.name = capabilities.name
        self.capabilities = codec.copy(capabilities)
        self.goal: Goal | None = None
        self.spec: ActionSpec | None = None
        self.noticed: Notice | None = None

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Keep what a tested system would be told."""
        self.goal, self.spec = codec.copy(goal), codec.copy(spec)

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Take in nothing."""

    def notice(self, notice: Notice) -> None:
        """Keep what is said of the last delivery."""
        self.noticed = notice

    def act(self, observation: Observation) -> object:
        """Refuse: whoever drives the session answers."""
        raise ServiceFault("A driven session answers through Session.answer.")

    def taken(self) -> tuple[RequestReceipt, ...]:
        """Return the receipts of the system behind the answers, if there is one."""
        return () if self._behind is None else self._behind.taken()

    def declared(self) -> Any:
        """Return what the system behind the answers declares of its service, if there is one."""
        return None if self._behind is None else self._behind.declared()

    def close(self) -> str:
        """Hold nothing."""
        return "closed"


class Session:
    """One episode, recorded as `labference run` records it: `begin`, `answer` until `result` is there, `close`.

    `plan.policy` names the driver in the records; it is never constructed. Closing early leaves a validity event, so
    that an abandoned episode counts as unresolved and not as a failure.
    """

    def __init__(
        self,
        laboratory: Laboratory,
        plan: Plan,
        index: int,
        out: Path,
        capabilities: Capabilities,
        behind: System | None = None,
    ) -> None:
        self._driven = Driven(capabilities, behind)
        self._questions = laboratory.ask(plan, index, out, self._driven)
        self._open = False
        self.result: Result | None = None

    @property
    def goal(self) -> Goal:
        """Return the goal; known once the session has begun."""
        if self._driven.goal is None:
            raise PlanError("The session has not begun; call begin() first.")
        return self._driven.goal

    @property
    def spec(self) -> ActionSpec:
        """Return the action profile; known once the session has begun."""
        if self._driven.spec is None:
            raise PlanError("The session has not begun; call begin() first.")
        return self._driven.spec

    @property
    def notice(self) -> Notice:
        """Return what may be said of the last delivery; known once the session has begun."""
        if self._driven.noticed is None:
            raise PlanError("The session has not begun; call begin() first.")
        return self._driven.noticed

    @property
    def capabilities(self) -> Capabilities:
        """Return what was declared, with the optional cameras that the laboratory has."""
        return self._driven.capabilities

    def begin(self) -> Observation | None:
        """Prepare the instance and return the first observation, or None where preparation failed (`result` says)."""
        if self._open or self.result is not None:
            raise PlanError("The session has begun already; make a new one for another episode.")
        return self._next(lambda: next(self._questions))

    def answer(self, act: object) -> Observation | None:
        """Carry out `act` and return the next observation, or None once the episode has ended.

        What cannot be admitted ends the episode as an interface failure, exactly as it would for a policy.
        """
        self._check()
        return self._next(lambda: self._questions.send(act))

    def fail(self, error: Refusal | ServiceFault) -> None:
        """End the episode with what went wrong on the side of whoever answers."""
        self._check()
        self._next(lambda: self._questions.throw(error))

    def close(self) -> None:
        """End an episode that is under way as unresolved; do nothing after its end."""
        if self._open:
            self.fail(ServiceFault(ABANDONED))
        self._questions.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check(self) -> None:
        if not self._open:
            raise PlanError("The session is not under way; begin() a new one.")

    def _next(self, advance: Callable[[], Observation]) -> Observation | None:
        try:
            self._open = True
            observation = advance()
        except StopIteration as end:
            self._open, self.result = False, end.value
            return None
        except BaseException:
            self._open = False
            raise
        return observation
