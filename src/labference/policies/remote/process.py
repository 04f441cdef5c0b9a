"""A local system in a child process: nothing it does can reach the bench, and a hang is a fault and no end."""

from __future__ import annotations

import os
import sys
from typing import Any

from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Operation, Policy, Refusal, codec
from labference.wire.call import result

POSIX = os.name == "posix"
START_S = 60.0
"""How long a process may take to begin, where the deadline of an answer is shorter [s]."""
hosting = False
"""Whether this is such a child itself."""
_idle: dict[str, Any] = {}
"""The child that waits for the next episode, by the name of its system: what is slow to load is loaded once."""


def connect(name: str, seed: int, deadline_s: float) -> Policy:
    """Return the local system called `name` in a child process, for one episode."""
    host = _Host(name, deadline_s)
    try:
        host.call("make", seed)
    except BaseException:
        host.release()
        raise
    return Isolated(host)


def missing(name: str, deadline_s: float) -> str:
    """Return why there is no local system called `name`, or ''."""
    host = _Host(name, deadline_s)
    sentence = str(host.call("find"))
    host.release()
    return sentence


def dismiss() -> None:
    """End the child that waits, if there is one."""
    while _idle:
        _idle.popitem()[1].close()


class Isolated:
    """A system in a child process."""

    def __init__(self, host: _Host) -> None:
        self._host = host

    def open(self) -> Capabilities:
        """Ask what it is and wants."""
        found: Capabilities = self._host.call("open")
        return found

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Begin an episode."""
        self._host.call("reset", goal, spec, session)

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Show what happened before it took over."""
        self._host.call("witness", observation, operation)

    def act(self, observation: Observation) -> Act:
        """Ask for an answer."""
        answer: Act = self._host.call("act", observation)
        return answer

    def close(self) -> None:
        """Close the system; its process waits for the next episode, unless it has ended."""
        try:
            if self._host.alive:
                self._host.call("close")
        finally:
            self._host.release()


class _Host:
    """A child process, from the first call to `release`."""

    def __init__(self, name: str, deadline_s: float) -> None:
        self._name, self._deadline_s = name, deadline_s
        self._child = _idle.pop(name, None)
        if self._child is None or not self._child.alive:
            self._child = _start(name)
            self._child.ask(codec.encode((name, tuple(sys.path))), max(deadline_s, START_S))

    @property
    def alive(self) -> bool:
        """Return whether it may be called."""
        return bool(self._child.alive)

    def call(self, method: str, *arguments: object) -> Any:
        """Return what a method returned; after a fault there is no second process within an episode."""
        return result(self._child.ask(codec.encode((method, *arguments)), self._deadline_s))

    def release(self) -> None:
        """Let the child wait for the next episode."""
        if self._child.alive and _idle.get(self._name) is not self._child:
            dismiss()
            _idle[self._name] = self._child


def _start(name: str) -> Any:
    if not POSIX:
        raise Refusal("unsupported", "A policy in a process of its own needs a POSIX system; --in-process would work.")
    if hosting:  # a module that runs itself when it is imported would go on without end
        raise Refusal(
            "unsupported",
            "A policy in a process of its own cannot begin a run; its module may do so under "
            'if __name__ == "__main__".',
        )
    from .child import Child

    return Child(name)
