"""Tested systems behind a wire: one file a wire, each a module of the shape of `Client`."""

from __future__ import annotations

from typing import Protocol

from labference.wire import ActionSpec, Goal, Policy


class Client(Protocol):
    """What a module that speaks to a system in another process offers.

    `address` is the whole name of the system, its scheme included. `profile` is the path of a profile file, or ''.
    `deadline_s` is the longest wall time of one answer [s]; after it the connection is given up.
    """

    def connect(self, address: str, seed: int, profile: str, deadline_s: float) -> Policy:
        """Return the system for one episode, over a connection of its own.

        The policy seed says nothing of the instance. Raises `ServiceFault` where nobody is there.
        """
        ...

    def preflight(self, address: str, profile: str, spec: ActionSpec, goal: Goal, deadline_s: float) -> None:
        """Contact the system once and compare what it declares with `profile`, `spec` and `goal`.

        Raises `Refusal` where it does not fit and `ServiceFault` where nobody is there; one sentence each.
        """
        ...
