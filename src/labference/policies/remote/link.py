"""One websocket to a policy server, for one episode: whatever happens to it is a fault of the service.

A connection that ran out of time or broke is never used again: on a wire without sequence numbers, a late answer would
be taken for the answer to the next question.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.sync.client import connect

from labference.wire import Refusal, ServiceFault

from .limits import LARGEST_FRAME

OPEN_S, CLOSE_S = 10.0, 0.5
"""Longest wall time of opening a connection and of a polite goodbye [s]."""
TOO_BIG = 1009
"""Close code of whoever was sent a frame beyond the limit."""


class Link:
    """Send and receive whole frames under a deadline; raises `ServiceFault` and is dead from then on.

    A frame beyond the limit is an answer like any other, and a `Refusal`.
    """

    def __init__(self, url: str, deadline_s: float) -> None:
        self.url = url
        self._deadline_s = deadline_s
        try:
            # A context manager that is not left here: `close` and `kill` end the connection.
            self._socket: Any = connect(
                url,
                compression=None,
                ping_interval=None,  # a server that thinks in its event loop cannot answer pings
                proxy=None,
                max_size=LARGEST_FRAME,
                open_timeout=min(OPEN_S, deadline_s),
                close_timeout=CLOSE_S,
            ).__enter__()
            _limit_sending(self._socket.socket, deadline_s)
        except (OSError, EOFError, TimeoutError, InvalidHandshake, InvalidURI, ValueError) as error:
            raise ServiceFault(f"No server opened a websocket at {url}: {_words(error)}") from error

    @property
    def alive(self) -> bool:
        """Whether the connection is in use: neither closed nor given up."""
        return self._socket is not None

    def send(self, frame: bytes) -> None:
        """Send a binary frame."""
        try:
            self._usable().send(frame)
        except (ConnectionClosed, OSError) as error:
            self.kill()
            raise ServiceFault(f"The connection was lost while a request was sent: {_words(error)}") from error

    def unasked(self) -> bytes | str | None:
        """Return a frame that lies there already: one that answers nothing, if nothing was asked."""
        try:
            frame: bytes | str = self._usable().recv(timeout=0)
        except (TimeoutError, ConnectionClosed, OSError, UnicodeDecodeError):
            return None  # a lost connection shows when it is used
        return frame

    def receive(self) -> bytes | str:
        """Return the next frame, whole: bytes, or text where the server sent text."""
        try:
            frame: bytes | str = self._usable().recv(timeout=self._deadline_s)
        except TimeoutError:
            self.kill()
            raise ServiceFault(
                f"The server gave no answer within {self._deadline_s:g} s; --deadline and deadline_s in the profile "
                "allow more."
            ) from None
        except (ConnectionClosed, OSError, UnicodeDecodeError) as error:
            self.kill()
            if isinstance(error, ConnectionClosed) and error.sent is not None and error.sent.code == TOO_BIG:
                raise Refusal("too_long", f"An answer has more than {LARGEST_FRAME} bytes.") from error
            raise ServiceFault(f"The connection was lost before an answer came: {_words(error)}") from error
        return frame

    def kill(self) -> None:
        """Cut the connection without a goodbye."""
        found, self._socket = self._socket, None
        if found is not None:
            found.close_socket()

    def close(self) -> None:
        """Say goodbye; a connection that was cut stays so."""
        found, self._socket = self._socket, None
        if found is not None:
            found.close()

    def _usable(self) -> Any:
        if self._socket is None:
            raise ServiceFault("The connection was closed after a fault and is not used again.")
        return self._socket


def _limit_sending(connected: socket.socket, seconds: float) -> None:
    """Let a send to a server that does not read fail after `seconds`, where the system offers it."""
    if sys.platform == "win32":
        return
    whole = int(seconds)
    limit = struct.pack("ll", whole, int(1e6 * (seconds - whole)))
    try:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    except OSError as error:
        # A server may have said its word and gone; the thread that receives has closed the socket, and keeps the word.
        if error.errno != errno.EBADF:
            raise


def _words(error: BaseException) -> str:
    """Return an error in one short line."""
    text = " ".join(str(error).split())[:200] or type(error).__name__
    return text if text.endswith(".") else f"{text}."
