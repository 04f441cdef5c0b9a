"""The HTTP door: `POST /call` with a method and its arguments, always answered with 200 and `ok` true or false."""

from __future__ import annotations

import hmac
import json
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from .desk import Desk
from .plain import as_ndarray, as_png, dressed, read
from .tools import CATALOGUE

LARGEST = 1 << 20
"""Largest request body [bytes]."""
PATIENCE_S = 30.0
"""Longest wait for the rest of a request [s]."""
ENCODINGS = {"png": as_png, "ndarray": as_ndarray}


class Wrong(Exception):
    """A request that is no call; the sentence says what would be one."""


class Door(ThreadingHTTPServer):
    """Serve a desk at `host`:`port` (0 picks a free one) to whoever sends `Authorization: Bearer TOKEN`."""

    daemon_threads = True

    def __init__(self, desk: Desk, token: str, host: str = "127.0.0.1", port: int = 0) -> None:
        self.desk = desk
        self.token = token
        super().__init__((host, port), Handler)

    @property
    def address(self) -> str:
        """Return where the door is."""
        host, port = self.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say in one line what broke a connection; a client that went away is none of our business."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"A request failed: {type(error).__name__}: {error}", file=sys.stderr)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Door
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE_S
    disable_nagle_algorithm = True  # otherwise a reply waits 40 ms for the acknowledgement of its headers

    def do_GET(self) -> None:
        """Answer /healthz and /tools."""
        if self.path == "/healthz":
            self._send({"status": "ok"})
        elif self.path == "/tools":
            tools = self.server.desk.tools
            self._send(
                [{"name": t.name, "description": t.description, "input_schema": t.schema()} for t in tools],
            )
        else:
            self._send({"error": "GET /healthz, GET /tools or POST /call would work."}, HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Answer /call."""
        if self.path != "/call":
            self.close_connection = True
            self._send({"error": "GET /healthz, GET /tools or POST /call would work."}, HTTPStatus.NOT_FOUND)
            return
        try:
            message = self._message()
            name, arguments, image = _call(message)
        except Wrong as wrong:
            self.close_connection = True  # the body may be unread
            self._send({"ok": False, "error": str(wrong)})
            return
        try:
            reply = self.server.desk.call(name, arguments)
        except Exception as error:  # noqa: BLE001  # no traceback crosses; the server says what broke
            self.log_error("%s", f"{type(error).__name__}: {error}")
            self._send({"ok": False, "error": "The bench failed, and has stopped."})
            return
        shown = dressed(reply, image)
        sentence = {"error": shown["error"]} if "error" in shown else {}
        self._send({"ok": not sentence, **sentence, "result": shown})

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing of every request: calls are in the records."""

    def _message(self) -> Any:
        """Return the JSON value of the body of an allowed request."""
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), f"Bearer {self.server.token}".encode()):
            raise Wrong("The token is missing or wrong; send the header 'Authorization: Bearer TOKEN'.")
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            raise Wrong("The request has no Content-Length; send its body as one piece.")
        if len(length) > 12 or int(length) > LARGEST:
            raise Wrong(f"A body of {length[:20]} bytes was announced; at most {LARGEST} would work.")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Wrong(f"The body ended after {len(body)} of {length} bytes.")
        try:
            return read(body)
        except ValueError as error:
            raise Wrong(f"The body is no JSON ({error}).") from error

    def _send(self, value: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        body = json.dumps(value, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def _call(message: Any) -> tuple[str, object, Callable[[np.ndarray], Any]]:
    """Return method, named arguments, and how images are to be encoded."""
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        raise Wrong('The body is no call; {"method": "observe", "args": [], "kwargs": {}} would work.')
    if unknown := message.keys() - {"method", "args", "kwargs", "images"}:
        raise Wrong(f"A call has no field {min(unknown)[:60]!r}; method, args, kwargs and images would work.")
    name, args, kwargs = message["method"], message.get("args", []), message.get("kwargs", {})
    encoding = message.get("images", "png")
    if not isinstance(encoding, str) or encoding not in ENCODINGS:
        raise Wrong(f"Images cannot be sent as {str(encoding)[:60]!r}; {' or '.join(ENCODINGS)} would work.")
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        raise Wrong("args is a list of values, and kwargs an object of named ones.")
    return name, _named(name, args, kwargs), ENCODINGS[encoding]


def _named(method: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments by name; those in `args` have the names of the catalogue, in its order."""
    tool = CATALOGUE.get(method)
    names = list(tool.parameters) if tool is not None else []
    if len(args) > len(names):
        raise Wrong(f"{method[:60]!r} takes at most {len(names)} arguments in args, not {len(args)}.")
    by_place = dict(zip(names, args, strict=False))
    if twice := by_place.keys() & kwargs.keys():
        raise Wrong(f"The argument {min(twice)!r} is in args and in kwargs; one of them would work.")
    return {**by_place, **kwargs}
