"""Servers of robot policies that misbehave in one way each, on both websocket wires, and one that behaves."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from labference.policies.remote.arrays import pack_openpi, pack_vla_eval, unpack_openpi, unpack_vla_eval
from labference.policies.remote.limits import LARGEST_FRAME
from labference.wire.action import STROKE
from labference.wire.panda import HOME
from rogue import INTERFACE, SERVICE, TRACE

ENDINGS = {
    "hangs": (SERVICE, "gave no answer within"),
    "closes": (SERVICE, "connection was lost"),
    "late": (SERVICE, "gave no answer within"),
    "unasked": (SERVICE, "nobody had asked for"),
    "nan": (INTERFACE, "send finite numbers"),
    "three": (INTERFACE, "takes (n, 8)"),
    "enormous": (INTERFACE, "Action 0 has 1e+09 at the gripper; 0 to 0.08 would work"),
    "cube": (INTERFACE, "takes (n, 8)"),
    "none": (INTERFACE, "has no key 'actions'"),
    "words": (INTERFACE, "Actions are str"),
    "traceback": (SERVICE, "RuntimeError: CUDA out of memory"),
    "huge": (INTERFACE, "more than 67108864 bytes"),
    "previous": (SERVICE, "answer to another question is never used"),
    "garbage": (INTERFACE, "no message of"),
    "objects": (INTERFACE, "no message of"),
    "short": (INTERFACE, "no message of"),
    "deep": (INTERFACE, "no message of"),
}
"""Misbehaviour at the second question -> how the episode ends, and words of its sentence, the same on both wires."""
SLOW = ("hangs", "late")
"""Those that only a deadline ends."""
PATIENT_S, IMPATIENT_S = 60.0, 1.0
"""Deadlines [s]; nothing asserts how long anything takes."""
PROFILE = f"""
name = "rogue"
deadline_s = {PATIENT_S}
[state]
joints = ["joints"]
[action]
rate_hz = 20
[gripper]
open = {STROKE}
closed = 0.0
[chunk]
execute = 10
"""
HONEST = np.tile(np.r_[HOME, STROKE], (10, 1))
ANSWERS: dict[str, Any] = {
    "nan": np.where(np.arange(8) == 3, np.nan, HONEST),
    "three": HONEST[:, :3],
    "enormous": np.full((10, 8), 1e9),
    "cube": HONEST[None],
    "words": "left a bit",
}


class Rogue:
    """Speak one wire, behave for `good` questions of a connection, and then misbehave."""

    def __init__(self, wire: str, fault: str, good: int = 1) -> None:
        self.wire, self.fault, self.good = wire, fault, good
        self.connections = 0
        self.requests: list[dict[str, Any]] = []
        self.frames: list[tuple[str, dict[str, Any]]] = []
        self.over = threading.Event()

    def talk(self, connection: ServerConnection) -> None:
        self.connections += 1
        with suppress(ConnectionClosed):
            self.openpi(connection) if self.wire == "openpi" else self.vla_eval(connection)

    def openpi(self, connection: ServerConnection) -> None:
        connection.send(pack_openpi({}))
        for count, frame in enumerate(connection):
            assert isinstance(frame, bytes)
            self.requests.append(unpack_openpi(frame))
            self.answer(connection, count, 0)

    def vla_eval(self, connection: ServerConnection) -> None:
        count = 0
        for frame in connection:
            assert isinstance(frame, bytes)
            message = unpack_vla_eval(frame)
            kind, payload, seq = message["type"], message["payload"], message["seq"]
            self.frames.append((kind, payload))
            if kind == "hello":
                connection.send(self.framed("hello", {"harness_version": "0", "protocol_version": 1}, seq))
            elif kind == "episode_start" and self.fault == "episode_start":
                connection.send(self.framed("error", {"error": "episode_start_failed: KeyError: 'task'"}, seq))
            elif kind == "observation":
                self.requests.append(payload)
                self.answer(connection, count, seq)
                count += 1

    def framed(self, kind: str, payload: dict[str, Any], seq: int) -> bytes:
        return pack_vla_eval({"type": kind, "payload": payload, "seq": seq, "timestamp": 0.0})

    def whole(self, payload: dict[str, Any], seq: int) -> bytes:
        return pack_openpi(payload) if self.wire == "openpi" else self.framed("action", payload, seq)

    def answer(self, connection: ServerConnection, count: int, seq: int) -> None:
        if count < self.good:
            connection.send(self.whole({"actions": HONEST}, seq))
            if self.fault == "unasked":
                connection.send(self.whole({"actions": HONEST}, seq))
            return
        match self.fault:
            case "hangs":
                self.over.wait()
            case "closes":
                connection.close_socket()
            case "late":
                self.over.wait(2 * IMPATIENT_S)
                connection.send(self.whole({"actions": HONEST}, seq))
            case "none":
                connection.send(self.whole({"state": HONEST}, seq))
            case "traceback":
                connection.send(TRACE)
                connection.close(1011)
            case "huge":
                connection.send(bytes(LARGEST_FRAME + 1))
            case "previous":
                connection.send(self.whole({"actions": HONEST}, seq - 1))
            case "error":
                connection.send(self.framed("error", {"error": "observation_failed: RuntimeError: no GPU"}, seq))
            case "garbage" | "objects" | "short" | "deep":
                connection.send(self.malformed(seq))
            case _:
                connection.send(self.whole({"actions": ANSWERS.get(self.fault, HONEST)}, seq))

    def malformed(self, seq: int) -> bytes:
        """Return bytes that look like an answer and are none."""
        good = self.whole({"actions": HONEST}, seq)
        match self.fault:
            case "garbage":
                return b"\xc1\xc1 not a message"
            case "objects":
                return good.replace(b"<f8", b"|O8")
            case "short":
                return good.replace(b"\x92\x0a\x08", b"\x92\x0b\x08")  # shape (10, 8) becomes (11, 8)
        return b"\x91" * 600 + b"\x00"


@contextmanager
def serving(rogue: Rogue, port: int = 0) -> Iterator[int]:
    """Serve on a free port of this machine, or on `port`; connections are cut at the end."""
    server = serve(rogue.talk, "127.0.0.1", port, compression=None, max_size=None, ping_interval=None)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.socket.getsockname()[1]
    finally:
        rogue.over.set()
        for connection in server.connections:
            connection.close_socket()
        server.shutdown()
        thread.join()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
