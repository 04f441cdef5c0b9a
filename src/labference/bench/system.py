"""The boundary around a tested system: copies in, copies out, a deadline, and one name for whatever it raises."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, TypeVar

from labference.truth.identity import PlanError
from labference.wire import (
    ActionSpec,
    Capabilities,
    Goal,
    Observation,
    Operation,
    Policy,
    Refusal,
    ServiceFault,
    Witness,
    codec,
)
from labference.wire.call import raised
from labference.wire.receipt import Accountable, RequestReceipt
from labference.wire.support import SCOPES

T = TypeVar("T")

Questions = Generator[Observation, object, T]
"""Yields observations and is sent the answer to each; what answering raises is thrown in."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What an agent bridge may say of a delivery; none of it tells whether anything was right.

    observation  number of the delivery
    evidence     version of the evidence delivered so far: it grows when something happened, and is seen by everybody
    opened       number of the delivery that opened the choice which is pending, or was last; 0 before the first
    steps        control steps carried out so far
    applied      commands of the last answer that reached the robot
    late         whether the last answer came too late to be carried out
    """

    observation: int
    evidence: int
    opened: int
    steps: int
    applied: int = 0
    late: bool = False


def answered(questions: Questions[T], system: System) -> T:
    """Let `system` answer every observation, and return what came of it."""
    try:
        observation = next(questions)
        while True:
            try:
                answer = system.act(observation)
            except BaseException as error:  # noqa: BLE001  # passed on, whatever it is
                observation = questions.throw(error)
            else:
                observation = questions.send(answer)
    except StopIteration as end:
        found: T = end.value
        return found
    finally:
        questions.close()


class System:
    """A policy as the bench sees it: nothing it returns or is handed is shared with the bench.

    `make` builds it. A policy that cannot be built, opened or understood is incompatible: `PlanError`.
    """

    heard = False
    """Whether it has answered an observation, whatever it said."""

    def __init__(self, make: Callable[[], Policy], name: str, deadline_s: float) -> None:
        self.name = name
        self._deadline = _Deadline(deadline_s, name)
        try:
            self._policy = self._ask(make)
            try:
                self.capabilities = self._open()
            except BaseException:
                with suppress(Refusal, ServiceFault):
                    self._ask(self._policy.close)
                raise
        except Refusal as refusal:
            self._deadline.restore()
            raise PlanError(f"{name!r} could not be opened: {refusal}") from refusal
        except BaseException:
            self._deadline.restore()
            raise

    def settle(self, cameras: tuple[str, ...]) -> None:
        """Keep those of the optional cameras that the laboratory has, in the order in which they were declared."""
        declared = self.capabilities
        extra = (name for name in declared.optional if name in cameras and name not in declared.cameras)
        self.capabilities = replace(declared, cameras=(*declared.cameras, *extra), optional=())

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Begin an episode."""
        self._ask(lambda: self._policy.reset(codec.copy(goal), codec.copy(spec), session))

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Show an observation of a prefix, and the operation that led to it, to a system that declared to take them."""
        if not self.capabilities.witnesses:
            return
        policy = self._policy
        if not isinstance(policy, Witness):
            raise Refusal("unsupported", f"{self.name!r} declared to take a prefix, and has no witness().")
        self._ask(lambda: policy.witness(codec.copy(observation), codec.copy(operation)))

    def notice(self, notice: Notice) -> None:
        """Take note of what was delivered; a tested system is told nothing of it."""

    def act(self, observation: Observation) -> object:
        """Return the answer to `observation`, whatever it is."""
        answer = self._ask(lambda: self._policy.act(observation))
        self.heard = True
        return answer

    def taken(self) -> tuple[RequestReceipt, ...]:
        """Return the receipts of a system behind a wire since the last call; other systems keep none."""
        policy = self._policy
        if not isinstance(policy, Accountable):
            return ()
        try:
            return tuple(receipt for receipt in self._ask(policy.receipts) if type(receipt) is RequestReceipt)
        except (Refusal, ServiceFault):
            return ()  # a receipt that cannot be had changes no result

    def declared(self) -> Any:
        """Return the JSON values that a system behind a wire declares of its service; None for other systems."""
        policy = self._policy
        return json.loads(self._ask(policy.declared)) if isinstance(policy, Accountable) else None

    def close(self) -> str:
        """Close the policy; return "closed" or what it said, which changes no result any more."""
        try:
            self._ask(self._policy.close)
        except (Refusal, ServiceFault) as said:
            return str(said)
        finally:
            self._deadline.restore()
        return "closed"

    def _open(self) -> Capabilities:
        found = self._ask(self._policy.open)
        if type(found) is not Capabilities:
            raise Refusal("unsupported", f"open() returned a {type(found).__name__}, not Capabilities.")
        capabilities: Capabilities = self._ask(lambda: codec.copy(found))
        _check(capabilities)
        return capabilities

    def _ask(self, question: Callable[[], T]) -> T:
        """Call the system; what it raises on its own account is an interface failure, not ours."""
        try:
            self._deadline.start()
            try:
                return question()
            finally:
                self._deadline.stop()
        except (KeyboardInterrupt, Refusal, ServiceFault):
            raise
        except BaseException as error:
            raise raised(self.name, error) from error


def _check(capabilities: Capabilities) -> None:
    """Refuse declarations of another type than the fields ask for; the codec has turned lists into tuples."""
    names = (
        capabilities.actions,
        capabilities.cameras,
        capabilities.optional,
        capabilities.sites,
        capabilities.accepts,
    )
    words = (capabilities.name, capabilities.version, *(word for entry in names for word in _all(entry)))
    flags = (
        capabilities.depth,
        capabilities.readings,
        capabilities.reports,
        capabilities.witnesses,
        capabilities.performs,
    )
    if not all(type(word) is str for word in words) or not all(type(flag) is bool for flag in flags):
        raise Refusal("unsupported", f"{capabilities!r} has a field of the wrong type.")
    if strange := {*capabilities.sites, *capabilities.accepts} - set(SCOPES):
        raise Refusal("unsupported", f"No interface {min(strange)!r}; {', '.join(SCOPES)} would work.")


def _all(names: object) -> tuple[object, ...]:
    return names if isinstance(names, tuple) else (None,)


class _Deadline:
    """Interrupt a call with `ServiceFault` after `seconds` of wall time, and again every second.

    A late answer is no answer, whatever the callee did with the interrupt. Only the main thread of a process on a POSIX
    system can be interrupted, and only between two steps of Python; elsewhere there is no deadline.
    """

    def __init__(self, seconds: float, name: str) -> None:
        self._sentence = f"{name!r} gave no answer within {seconds:g} s; --deadline allows more."
        self._seconds = seconds
        self._asking = self._expired = False
        self._outer = (0.0, 0.0)
        self._works = sys.platform != "win32" and threading.current_thread() is threading.main_thread()
        self._before = signal.signal(signal.SIGALRM, self._expire) if self._works else None

    def start(self) -> None:
        """Begin to count."""
        if self._works:
            self._asking, self._expired = True, False
            self._outer = signal.setitimer(signal.ITIMER_REAL, self._seconds, 1.0)

    def stop(self) -> None:
        """End the count; raise `ServiceFault` if it had run out."""
        while self._asking:
            try:
                self._asking = False
                signal.setitimer(signal.ITIMER_REAL, *self._outer)
            except ServiceFault:  # the alarm rang on the way here
                self._asking = True
        if self._expired:
            raise ServiceFault(self._sentence)

    def restore(self) -> None:
        """Give the alarm back to whoever had it."""
        if self._works:
            signal.signal(signal.SIGALRM, self._before)

    def _expire(self, number: int, frame: FrameType | None) -> None:
        if self._asking:
            self._expired = True
            raise ServiceFault(self._sentence)
