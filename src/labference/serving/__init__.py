"""Servers: host a local tested system over a wire, one file a wire, each with a function of the shape of `Serve`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol

from labference.policies import UnknownPolicy
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


def find_server(wire: str) -> Serve:
    """Return the function that serves over `wire`."""
    if wire not in WIRES:
        raise UnknownPolicy(f"No wire {wire!r} to serve over; wires: {', '.join(WIRES)}.")
    try:
        module = importlib.import_module(WIRES[wire])
    except ImportError as error:
        raise UnknownPolicy(
            f"Serving over {wire} needs the extra 'remote' ({error}): pip install 'labference[remote]' would work."
        ) from error
    found: Serve = vars(module)["serve"]
    return found
