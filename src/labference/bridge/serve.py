"""Open a door for a desk, say where it is, and keep it open until the desk is over or the client has gone."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

from labference.truth.identity import PlanError

from .desk import Desk
from .http import Door

DOORS = ("http", "mcp")


def check(over: str, port: int | None) -> None:
    """Refuse a door that cannot be opened here, before anything is built."""
    if over not in DOORS:
        raise PlanError(f"There is no door {over!r}; {' or '.join(DOORS)} would work.")
    if port is not None and not 0 <= port < 1 << 16:
        raise PlanError(f"There is no port {port}; 0 to 65535 would work, 0 for any that is free.")
    if over == "mcp":
        try:
            from . import mcp as mcp
        except ImportError as error:
            raise PlanError(
                f"MCP needs the extra 'mcp' ({error}): pip install 'labference[mcp]' would work."
            ) from error


def serve(desk: Desk, over: str, host: str, port: int | None, token: str, say: Callable[[str], None]) -> None:
    """Serve `desk` over "http", over "mcp" on stdin and stdout, or over "mcp" by HTTP where a port is given.

    A server that is told to terminate closes as with Ctrl-C: an episode under way is unresolved.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)
    if over == "mcp" and port is None:
        from .mcp import serve_stdio

        say("MCP over stdin and stdout.")
        serve_stdio(desk)
        return
    token = token or secrets.token_urlsafe(16)
    if over == "mcp":
        _serve_mcp(desk, host, port or 0, token, say)
    else:
        _serve_http(desk, host, port or 0, token, say)


def _serve_http(desk: Desk, host: str, port: int, token: str, say: Callable[[str], None]) -> None:
    with Door(desk, token, host, port) as door:
        thread = threading.Thread(target=door.serve_forever, name="door", daemon=True)
        thread.start()
        say(f"HTTP at {door.address}\nToken {token}")
        try:
            desk.over.wait()
        finally:
            door.shutdown()
            thread.join()


def _serve_mcp(desk: Desk, host: str, port: int, token: str, say: Callable[[str], None]) -> None:
    from .mcp import serve_http

    with socket.create_server((host, port)) as listener:
        name, number = listener.getsockname()[:2]
        say(f"MCP at http://{name}:{number}/mcp\nToken {token}")
        serve_http(desk, token, listener)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
