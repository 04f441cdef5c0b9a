"""Host a local policy as a model server of vla-eval: raw chunks, so that the client keeps what is not carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

import labference
from labference.policies.remote.arrays import Malformed
from labference.policies.remote.profile import Profile
from labference.policies.remote.robot import DEFAULT, profile_of
from labference.policies.remote.vla_eval import PROTOCOL, VlaEval, framed, unframed
from labference.wire import Policy

from .hosted import Service, hosts
from .sockets import Serving

HEALTH = ("/health", '{"status": "ok"}\n')


def serve(
    make: Callable[[int], Policy], host: str, port: int, profile: str = "", ready: Callable[[str], None] = print
) -> None:
    """Serve systems that `make` builds, one a connection, until interrupted; '' is our own profile.

    Raises `Refusal` where they cannot be served.
    """
    with hosting(make, profile_of(profile or DEFAULT), host, port) as serving:
        ready(f"vla-eval://{serving.host}:{serving.port}")
        serving.wait()


def hosting(make: Callable[[int], Policy], profile: Profile, host: str = "127.0.0.1", port: int = 0) -> Serving:
    """Return a server of local systems that reads observations by `profile`; entering it serves in a thread."""
    return listen(hosts(make, profile, VlaEval.prompt_key), profile, host, port)


def listen(make: Callable[[], Service], profile: Profile, host: str = "127.0.0.1", port: int = 0) -> Serving:
    """Return a server that makes a service for every connection; entering it serves in a thread."""
    return Serving(lambda connection: _talk(connection, make(), profile), host, port, HEALTH)


def _talk(connection: ServerConnection, service: Service, profile: Profile) -> None:
    """Answer one client until it goes."""
    try:
        for frame in connection:
            try:
                kind, payload, seq = unframed(frame if isinstance(frame, bytes) else frame.encode())
            except Malformed as error:
                connection.send(framed("error", {"error": f"malformed: {error}"}, 0))
                return
            answer = _answer(service, profile, kind, payload)
            if answer is not None:
                connection.send(framed(*answer, seq))
    except ConnectionClosed:
        pass  # the client is gone, and so is the episode
    finally:
        service.close()


def _answer(
    service: Service, profile: Profile, kind: str, payload: dict[str, Any]
) -> tuple[str, dict[str, Any]] | None:
    """Return kind and payload of the frame that answers one, if any."""
    try:
        match kind:
            case "hello":
                return "hello", _hello(service, profile)
            case "episode_start":
                told = payload.get("labference") or {}
                service.reset(int(told.get("seed", 0)), str(told.get("session", "served")))
            case "observation":
                images = payload.pop("images", {})
                return "action", service.infer(payload, images)
            case "episode_end":
                service.close()
    except Exception as error:  # noqa: BLE001  # what a stock server does
        return "error", {"error": f"{kind}_failed: {type(error).__name__}: {error}"}
    return None


def _hello(service: Service, profile: Profile) -> dict[str, Any]:
    found = service.describe()
    return {
        "harness_version": f"labference {labference.__version__}",
        "protocol_version": PROTOCOL,
        "model_server": found["name"],
        "capabilities": {},
        "action_spec": action_spec(profile),
        "labference": found,
    }


def action_spec(profile: Profile) -> dict[str, Any]:
    """Return the action convention of a profile as vla-eval states one, as far as it can."""
    gripper = profile.gripper
    formats = {
        (-1.0, 1.0): "binary_close_positive",
        (1.0, -1.0): "binary_close_negative",
        (0.0, 1.0): "binary_close_01",
    }
    grip = formats.get((gripper.open, gripper.closed), "raw")
    parts: list[tuple[str, int, str]] = [("gripper", 1, grip)]
    if profile.action.meaning == "end_effector_delta":
        parts = [("position", 3, "delta_xyz"), ("rotation", 3, "axis_angle"), *parts]
    else:
        form = "joint_positions" if profile.action.meaning == "joint_position" else "joint_velocity"
        parts = [("joints", 7, form), *parts]
    return {name: {"name": name, "dims": dims, "format": form} for name, dims, form in parts}
