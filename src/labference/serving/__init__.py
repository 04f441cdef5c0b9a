"""Servers: host a local tested system over a wire, one file a wire, each with a function of the shape of `Serve`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from labference.wire import Policy

WIRES = {
    "http": "labference.serving.http",
    "openpi": "labference.serving.openpi",
    "vla-eval": "labference.serving.vla_eval",
}
"""Modules with a function `serve`, by the scheme of the addresses that they listen at."""


class Serve(Protocol):
    """What `serve` of such a module takes."""

    def __call__(
        self,
        make: Callable[[int], Policy],
        host: str,
        port: int,
        profile: str = "",
        ready: Callable[[str], None] = print,
    ) -> None:
        """Serve systems that `make` builds with a policy seed, one a session, until interrupted.

        `port` 0 takes a free one. `profile` is the path of a profile file, or ''. `ready` is called with the address,
        scheme included, once connections are accepted.
        """
        ...
