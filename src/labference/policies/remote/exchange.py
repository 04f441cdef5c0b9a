"""One HTTP connection to a policy server, for one episode: one deadline per exchange, and no second try.

No redirect is followed and no proxy of the environment is used. A connection that ran out of time or broke is not used
again.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import math
import socket
import ssl
import sys
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult

from labference.wire import Refusal, ServiceFault
from labference.wire.call import too_long

from .limits import LARGEST_FRAME

CONNECT_S = 10.0
"""Longest wall time of opening a connection [s]."""
PART = 1 << 20


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered; `media` is its Content-Type."""

    status: int
    media: str
    body: bytes


class Exchange:
    """Send requests and receive whole replies; raises `ServiceFault` and is dead from then on."""

    def __init__(self, address: SplitResult, deadline_s: float) -> None:
        self._address = address
        self._deadline_s = deadline_s
        self._place = f"{address.scheme}://{address.netloc}"
        self._socket = _Clocked(_connected(address, min(CONNECT_S, deadline_s), self._place))
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port)
        self._connection.sock = self._socket
        self._connection.auto_open = 0
        self.alive = True

    def ask(
        self, method: str, path: str, media: str = "", body: bytes | None = None, within_s: float = math.inf
    ) -> Reply:
        """Return what the server replies to a request, whole, within the deadline and `within_s` [s]."""
        if not self.alive:
            raise ServiceFault(f"The connection to {self._place} was given up after a fault and is not used again.")
        if self._connection.sock is None:
            self.close()
            raise ServiceFault(
                f"{self._place} closes the connection after an answer; HTTP/1.1, which keeps it open, would work."
            )
        patience = min(within_s, self._deadline_s)
        self._socket.until = time.monotonic() + patience
        headers = {"Content-Type": media, "Accept": media} if media else {"Accept": "application/json"}
        try:
            self._connection.request(method, self._address.path.rstrip("/") + path, body, headers)
            return self._read(self._connection.getresponse())
        except TimeoutError:
            self.close()
            hint = "; --deadline allows more." if patience == self._deadline_s else "."
            raise ServiceFault(f"{self._place} gave no whole answer within {patience:g} s{hint}") from None
        except (OSError, http.client.HTTPException) as error:
            self.close()
            words = " ".join(str(error).split())[:200] or type(error).__name__
            raise ServiceFault(f"The connection to {self._place} was lost: {words.rstrip('.')}.") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self.alive = False
        with contextlib.suppress(OSError):
            self._connection.close()
            self._socket.end()

    def _read(self, response: http.client.HTTPResponse) -> Reply:
        media = response.getheader("Content-Type", "")
        if response.length is not None:
            if response.length > LARGEST_FRAME:
                raise Refusal("too_long", too_long(response.length, LARGEST_FRAME))
            return Reply(response.status, media, response.read())
        if not response.chunked:
            raise ServiceFault(f"{self._place} sent a body without saying how long it is; send Content-Length.")
        body = bytearray()
        while part := response.read(PART):
            body += part
            if len(body) > LARGEST_FRAME:
                raise Refusal("too_long", f"An answer has more than {LARGEST_FRAME} bytes; at most that many work.")
        return Reply(response.status, media, bytes(body))


def _connected(address: SplitResult, patience_s: float, place: str) -> socket.socket:
    secure = address.scheme == "https"
    try:
        found = socket.create_connection((address.hostname, address.port or (443 if secure else 80)), patience_s)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secure:
            return ssl.create_default_context().wrap_socket(found, server_hostname=address.hostname)
    except TimeoutError:
        raise ServiceFault(f"{place} accepted no connection within {patience_s:g} s; is the server running?") from None
    except ssl.SSLError as error:
        words = (error.reason or str(error)).lower().replace("_", " ")
        raise ServiceFault(
            f"{place} made no secure connection ({words}); SSL_CERT_FILE can name the certificate to trust."
        ) from error
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise ServiceFault(f"No server answers at {place} ({words}); start it, or give another address.") from error
    return found


class _Clocked:
    """A socket that stops to wait at `until`, whatever arrives in between: the deadline is that of a whole exchange."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.until = 0.0

    def sendall(self, data: bytes) -> None:
        self._wait_no_longer()
        self._socket.sendall(data)

    def recv_into(self, buffer: Any) -> int:
        self._wait_no_longer()
        if sys.platform == "linux":  # a server that sends head and body apart waits for this acknowledgement
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return self._socket.recv_into(buffer)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self), PART)

    def close(self) -> None:
        """Leave it open: a connection that the server means to close has an answer that is still to be read."""

    def end(self) -> None:
        self._socket.close()

    def _wait_no_longer(self) -> None:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


class _Incoming(io.RawIOBase):
    """Reads from a clocked socket; closing it leaves the socket open for the next exchange."""

    def __init__(self, source: _Clocked) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._source.recv_into(buffer)
