"""Serve a local system over HTTP, as `docs/http.md` describes the wire: several sessions at a time."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from labference.policies.remote.formats import FORMATS, JSON, MSGPACK, Format, by_media, has_msgpack
from labference.policies.remote.limits import LARGEST_FRAME
from labference.wire import ActionSpec, Capabilities, Goal, Observation, Operation, Policy, Refusal, Witness
from labference.wire.call import REFUSED, RETURNED, outcome, too_long
from labference.wire.plain import from_plain, to_plain

IDLE_S = 900.0
"""A session that has not been asked for so long is closed [s]: whoever began it is gone."""
OK, BAD, NOWHERE, GONE, REFUSAL, FAULT = 200, 400, 404, 410, 422, 503
Make = Callable[[int], Policy]


def serve(
    make: Make,
    host: str,
    port: int,
    profile: str = "",
    ready: Callable[[str], None] = print,
) -> None:
    """Serve systems that `make` builds, one a session, until interrupted."""
    if profile:
        raise Refusal("unsupported", "HTTP needs no profile: the server declares all there is.")
    with Server(make, host, port) as server:
        ready(server.address)
        server.serve_forever()


@dataclass(slots=True)
class Session:
    """One system at work, asked by one request at a time."""

    policy: Policy
    asked: float = field(default_factory=time.monotonic)
    busy: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, call: Callable[[Policy], object]) -> object:
        """Carry out one call after the other."""
        with self.busy:
            self.asked = time.monotonic()
            try:
                return call(self.policy)
            finally:
                self.asked = time.monotonic()


class Lost(Exception):
    """A request names something that is not here."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Server(ThreadingHTTPServer):
    """Systems by session id; a context manager that closes them all at the end."""

    daemon_threads = True
    request_queue_size = 64
    block_on_close = False

    def __init__(self, make: Make, host: str, port: int, idle_s: float = IDLE_S) -> None:
        self.make = make
        self.capabilities = _declared(make)
        self._idle_s = idle_s
        self._sessions: dict[str, Session] = {}
        self._changing = threading.Lock()
        self._connections: set[Any] = set()
        super().__init__((host, port), _Handler)

    @property
    def address(self) -> str:
        """Return the address that `labference run --policy` takes."""
        return f"http://{self.server_address[0]!s}:{self.server_port}"

    @property
    def sessions(self) -> int:
        """Return how many sessions are open."""
        return len(self._sessions)

    def call(self, path: str, session: str, arguments: dict[str, Any]) -> Callable[[], object]:
        """Return what a request asks for, to be carried out; `Lost` where it cannot be."""
        match path:
            case "/reset":
                return lambda: self._begin(session, **arguments)
            case "/close":
                return lambda: self.end(session)
            case "/act":
                ask = self._find(session).ask
                return lambda: ask(lambda policy: _act(policy, **arguments))
            case "/witness":
                ask = self._find(session).ask
                return lambda: ask(lambda policy: _witness(policy, **arguments))
        raise Lost(NOWHERE, f"There is nothing at {path[:80]!r}.")

    def end(self, session: str) -> None:
        """Close a session, if it is open."""
        with self._changing:
            found = self._sessions.pop(session, None)
        if found is not None:
            found.ask(lambda policy: policy.close())

    def _begin(self, session: str, seed: int, goal: Goal, spec: ActionSpec) -> None:
        """Begin a session; one of the same id is closed first."""
        self.end(session)
        policy = self.make(seed)
        policy.open()
        with self._changing:
            self._sessions[session] = Session(policy)
        policy.reset(goal, spec, session)

    def _find(self, session: str) -> Session:
        with self._changing:
            found = self._sessions.get(session)
        if found is None:
            raise Lost(GONE, f"There is no session {session[:40]!r}; it was closed, or begun before a restart.")
        return found

    def service_actions(self) -> None:
        """Close the sessions that nobody has asked for long."""
        since = time.monotonic() - self._idle_s
        with self._changing:
            idle = [name for name, one in self._sessions.items() if one.asked < since and not one.busy.locked()]
        for name in idle:
            outcome(self.capabilities.name, lambda name=name: self.end(name))  # type: ignore[misc]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own."""
        with self._changing:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection."""
        with self._changing:
            self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Stop listening, cut all connections, and close all sessions that are not busy."""
        super().server_close()
        with self._changing:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for name, found in list(self._sessions.items()):
            if not found.busy.locked():
                outcome(self.capabilities.name, lambda name=name: self.end(name))  # type: ignore[misc]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that has gone is no error of ours, and what a system raises is answered."""


class _Handler(BaseHTTPRequestHandler):
    """Answer one connection, request by request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = IDLE_S
    server: Server

    def do_GET(self) -> None:
        """Say that one is there, or what the system is and wants."""
        if self.path == "/health":
            self._say(OK, JSON, {"status": "ok"})
        elif self.path == "/capabilities":
            media = [form.media for form in FORMATS.values() if form is not MSGPACK or has_msgpack()]
            self._say(OK, JSON, {"capabilities": to_plain(self.server.capabilities), "formats": media})
        else:
            self._fail(NOWHERE, "malformed", f"There is nothing at {self.path[:80]!r}.")

    def do_POST(self) -> None:
        """Carry out a call of a session."""
        form = by_media(self.headers.get("Content-Type", "")) or JSON
        try:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            session, number, arguments = _request(form.read(body))
            call = self.server.call(self.path, session, arguments)
        except Lost as lost:
            self._fail(lost.status, "unsupported", str(lost), form)
        except (Refusal, KeyError, TypeError, ValueError) as error:
            self.close_connection = True
            self._fail(BAD, "malformed", f"The request is malformed: {error}", form)
        else:
            self._answer(form, {"session": session, "request": number}, call)

    def _answer(self, form: Format, echoed: dict[str, object], call: Callable[[], object]) -> None:
        """Carry out a call, and say how it ended."""

        def write() -> bytes:
            found = call()
            act = {} if found is None else {"act": to_plain(found, binary=form.binary)}
            return form.write({**echoed, **act})

        ended = outcome(self.server.capabilities.name, write)
        if ended[0] == RETURNED and len(ended[1]) > LARGEST_FRAME:
            ended = (REFUSED, "too_long", too_long(len(ended[1]), LARGEST_FRAME))
        match ended:
            case ("returned", body):
                self._send(OK, form, body)
            case ("refused", kind, sentence):
                self._fail(REFUSAL, kind, sentence, form)
            case (_, sentence):
                self._fail(FAULT, "fault", sentence, form)

    def _fail(self, status: int, kind: str, sentence: str, form: Format = JSON) -> None:
        self._say(status, form, {"error": {"kind": kind, "sentence": sentence}})

    def _say(self, status: int, form: Format, tree: object) -> None:
        self._send(status, form, form.write(tree))

    def _send(self, status: int, form: Format, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", form.media)
        self.send_header("Content-Length", str(len(body)))
        with contextlib.suppress(ConnectionError):
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: what happens is in the records of whoever asks."""


def _request(tree: Any) -> tuple[str, int, dict[str, Any]]:
    """Return session, number and arguments of a request."""
    content = dict(tree)
    session, number = content.pop("session"), content.pop("request")
    if type(session) is not str or type(number) is not int:
        raise TypeError("session is text and request a number")
    return session, number, {name: from_plain(entry) for name, entry in content.items()}


def _act(policy: Policy, observation: Observation) -> object:
    return policy.act(observation)


def _witness(policy: Policy, observation: Observation, operation: Operation | None) -> None:
    if not isinstance(policy, Witness):
        raise Refusal("unsupported", "The system declared to take a prefix, and has no witness().")
    policy.witness(observation, operation)


def _declared(make: Make) -> Capabilities:
    """Return what the systems that `make` builds declare."""
    policy = make(0)
    try:
        return policy.open()
    finally:
        policy.close()
