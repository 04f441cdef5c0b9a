"""The boundary around a tested system: copies in, copies out, a deadline, and one name for whatever it raises."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from labference.truth.identity import PlanError
from labference.wire import ActionSpec, Capabilities, Goal, Observation, Policy, Refusal, ServiceFault, codec

T = TypeVar("T")


class System:
    """A policy as the bench sees it: nothing it returns or is handed is shared with the bench."""

    def __init__(self, policy: Policy, name: str, deadline_s: float) -> None:
        self._policy = policy
        self._deadline = _Deadline(deadline_s, name)
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
        finally:
            self._deadline.restore()
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
            self._deadline.restore()
            raise PlanError(f"{self.name!r} could not be opened: {refusal}") from refusal
        return capabilities

    def _ask(self, question: Callable[[], T]) -> T:
        """Call the system; what it raises on its own account is an interface failure, not ours."""
        try:
            with self._deadline:
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


class _Deadline:
    """Interrupt the calling code with `ServiceFault` after `seconds` of wall time, and every second from then on.

    Only the main thread of a process on a POSIX system can be interrupted; elsewhere there is no deadline.
    """

    def __init__(self, seconds: float, name: str) -> None:
        self._seconds = seconds
        self._name = name
        self._works = sys.platform != "win32" and threading.current_thread() is threading.main_thread()
        self._before = signal.signal(signal.SIGALRM, self._expire) if self._works else None

    def __enter__(self) -> None:
        if self._works:
            signal.setitimer(signal.ITIMER_REAL, self._seconds, 1.0)

    def __exit__(self, *_: object) -> None:
        if self._works:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def restore(self) -> None:
        """Give the alarm back to whoever had it."""
        if self._works:
            signal.signal(signal.SIGALRM, self._before)

    def _expire(self, number: int, frame: FrameType | None) -> None:
        raise ServiceFault(f"{self._name!r} gave no answer within {self._seconds:g} s; --deadline allows more.")
