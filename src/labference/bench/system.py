"""The boundary around a tested system: copies in, copies out, a deadline, and one name for whatever it raises."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from labference.truth.identity import PlanError
from labference.wire import ActionSpec, Capabilities, Goal, Observation, Policy, Refusal, ServiceFault, codec

T = TypeVar("T")


class System:
    """A policy as the bench sees it: nothing it returns or is handed is shared with the bench."""

    def __init__(self, policy: Policy, name: str, deadline_s: float) -> None:
        self._policy = policy
        self._deadline_s = deadline_s
        self.name = name
        self.capabilities = self._open()

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Begin an episode."""
        self._ask(lambda: self._policy.reset(codec.copy(goal), codec.copy(spec), session))

    def act(self, observation: Observation) -> object:
        """Return the answer to `observation`, whatever it is."""
        return self._ask(lambda: self._policy.act(observation))

    def close(self) -> str:
        """Close the policy; return "closed" or what it said, which changes no result any more."""
        try:
            self._ask(self._policy.close)
        except (Refusal, ServiceFault) as said:
            return str(said)
        return "closed"

    def _open(self) -> Capabilities:
        """Ask what the system is; one that cannot say is incompatible."""
        try:
            found = self._ask(self._policy.open)
            if type(found) is not Capabilities:
                raise Refusal("unsupported", f"open() returned a {type(found).__name__}, not Capabilities.")
            capabilities: Capabilities = codec.copy(found)
            _check(capabilities)
        except Refusal as refusal:
            raise PlanError(f"{self.name!r} could not be opened: {refusal}") from refusal
        return capabilities

    def _ask(self, question: Callable[[], T]) -> T:
        """Call the system; what it raises on its own account is an interface failure, not ours."""
        try:
            with _deadline(self._deadline_s, self.name):
                return question()
        except (Refusal, ServiceFault):
            raise
        except (Exception, SystemExit) as error:
            words = " ".join(str(error).split())[:200]
            raise Refusal("exception", f"{self.name!r} raised {type(error).__name__}: {words}") from error


def _check(capabilities: Capabilities) -> None:
    """Refuse declarations of another type than the fields ask for; the codec has turned lists into tuples."""
    words = (capabilities.name, capabilities.version, *_all(capabilities.actions), *_all(capabilities.cameras))
    flags = (capabilities.depth, capabilities.readings, capabilities.reports)
    if not all(type(word) is str for word in words) or not all(type(flag) is bool for flag in flags):
        raise Refusal("unsupported", f"{capabilities!r} has a field of the wrong type.")


def _all(names: object) -> tuple[object, ...]:
    return names if isinstance(names, tuple) else (None,)


@contextmanager
def _deadline(seconds: float, name: str) -> Iterator[None]:
    """Raise `ServiceFault` in the calling code once `seconds` of wall time have passed, and every second from then on.

    Only the main thread of a process on a POSIX system can be interrupted; elsewhere there is no deadline.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise ServiceFault(f"{name!r} gave no answer within {seconds:g} s; --deadline allows more.")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
