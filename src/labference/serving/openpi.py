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
from labference.policies.remote.profile import Profile
from labference.policies.remote.robot import DEFAULT, profile_of
from labference.wire import Policy

from .hosted import Service, hosts
from .sockets import Serving

HEALTH = ("/healthz", "OK\n")
FAILED = 1011
"""Close code after an error."""


def serve(
    make: Callable[[int], Policy], host: str, port: int, profile: str = "", ready: Callable[[str], None] = print
) -> None:
    """Serve systems that `make` builds, one a connection, until interrupted; '' is our own profile.

    Raises `Refusal` where they cannot be served.
    """
    with hosting(make, profile_of(profile or DEFAULT), host, port) as serving:
        ready(f"openpi://{serving.host}:{serving.port}")
        serving.wait()


def hosting(make: Callable[[int], Policy], profile: Profile, host: str = "127.0.0.1", port: int = 0) -> Serving:
    """Return a server of local systems that reads requests by `profile`; entering it serves in a thread."""
    return listen(hosts(make, profile, OpenPi.prompt_key), host, port)


def listen(make: Callable[[], Service], host: str = "127.0.0.1", port: int = 0) -> Serving:
    """Return a server that makes a service for every connection; entering it serves in a thread."""
    return Serving(lambda connection: _talk(connection, make()), host, port, HEALTH)


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
            answer = service.infer(*split(request))
            answer["labference"]["observation"] = asked.get("observation")
            return answer
    raise ValueError(f"No request {asked['op']!r}; reset, infer or probe would work.")


def split(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and the images of a flat request: colour images are (h, w, 3) uint8."""
    images = {
        key: value
        for key, value in request.items()
        if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3
    }
    return {key: value for key, value in request.items() if key not in images}, images
