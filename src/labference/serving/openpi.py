"""Host a policy on OpenPI's websocket, with resets, seeds and receipts for clients that ask for them.

A stock client sends plain requests and gets plain answers. A request that carries `__labference__` says what it is:
`reset` (session, seed), `infer` (session, observation, seed) or `probe` (actions).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from labference.policies.remote.arrays import pack_openpi, unpack_openpi
from labference.policies.remote.openpi import EXTENSION, OpenPi
from labference.policies.remote.profile_file import find_profile
from labference.policies.remote.robot import DEFAULT

from .hosted import Service, hosting
from .sockets import Serving

HEALTH = ("/healthz", "OK\n")
FAILED = 1011
"""Close code after an error."""


def host(policy: str, profile: str, address: str, port: int) -> Serving:
    """Return a server of the local system called `policy`, which reads requests by `profile` ('' is our own).

    Raises `UnknownPolicy`, `ProfileError` or `Refusal` where it cannot be served.
    """
    return serve(hosting(policy, find_profile(profile or DEFAULT), OpenPi.prompt_key), address, port)


def serve(make: Callable[[], Service], address: str, port: int) -> Serving:
    """Return a server that makes a service for every connection; the server listens, `run` or `begin` serves."""
    return Serving(lambda connection: _talk(connection, make()), address, port, HEALTH)


def _talk(connection: ServerConnection, service: Service) -> None:
    """Answer one client until it goes."""
    try:
        connection.send(pack_openpi({"labference": service.describe()}))
        for frame in connection:
            try:
                answer = _answer(service, frame)
            except Exception:  # noqa: BLE001  # what a stock server does: the traceback as text, then the end
                connection.send(traceback.format_exc())
                connection.close(FAILED)
                return
            connection.send(pack_openpi(answer))
    except ConnectionClosed:
        pass  # the client is gone, and so is the episode
    finally:
        service.close()


def _answer(service: Service, frame: bytes | str) -> dict[str, Any]:
    request = unpack_openpi(frame if isinstance(frame, bytes) else frame.encode())
    if not isinstance(request, dict):
        raise TypeError(f"A request is a map, not a {type(request).__name__}.")
    asked = request.pop(EXTENSION, None) or {"op": "infer"}
    match asked["op"]:
        case "reset":
            service.reset(int(asked["seed"]), str(asked["session"]))
            return {"labference": {"reset": True}}
        case "probe":
            fields, images = split(request)
            return {"labference": service.probe(fields, images, asked["actions"])}
        case "infer":
            return service.infer(*split(request))
    raise ValueError(f"No request {asked['op']!r}; reset, infer or probe would work.")


def split(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and the images of a flat request: colour images are (h, w, 3) uint8."""
    images = {
        key: value
        for key, value in request.items()
        if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3
    }
    return {key: value for key, value in request.items() if key not in images}, images
