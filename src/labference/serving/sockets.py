"""A websocket server with one service per connection, and a health page on the same port."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from websockets.sync.server import Server, ServerConnection, serve

GOODBYE_S = 2.0
"""How long connections may take to end once they are cut; a policy at work is not waited for [s]."""
Handler = Callable[[ServerConnection], None]


class Serving:
    """A server that listens from the moment it is made; port 0 takes a free one."""

    def __init__(self, handler: Handler, host: str, port: int, health: tuple[str, str]) -> None:
        path, words = health

        def reply(connection: ServerConnection, request: Any) -> Any:
            return connection.respond(200, words) if request.path == path else None

        self._server: Server = serve(
            handler, host, port, compression=None, max_size=None, ping_interval=None, process_request=reply
        )
        self._thread: threading.Thread | None = None
        self.host, self.port = self._server.socket.getsockname()[:2]

    def begin(self) -> Serving:
        """Serve in a thread."""
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def wait(self) -> None:
        """Return once it was closed elsewhere, or at Ctrl-C."""
        assert self._thread is not None  # waits for what `begin` began
        with suppress(KeyboardInterrupt):
            self._thread.join()

    def close(self) -> None:
        """Stop listening, cut every connection, and close the services that are not busy."""
        if self._thread is None:
            self._server.socket.close()
            return
        for connection in self._server.connections:
            connection.close_socket()
        closing = threading.Thread(target=self._server.shutdown, daemon=True)  # waits for all that is at work
        closing.start()
        closing.join(GOODBYE_S)
        self._thread.join()

    def __enter__(self) -> Serving:
        return self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
