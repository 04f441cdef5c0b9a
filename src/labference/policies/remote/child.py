"""A child process that hosts tested systems: frames over pipes of its own, killed when it does not answer in time.

It leads a process group, so that whatever it started goes with it, and it does not outlive us: the kernel kills it when
the lifeline, a pipe that nobody writes to, is closed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from multiprocessing import util
from typing import IO

from labference.wire import Refusal, ServiceFault
from labference.wire.call import too_long

from .limits import LARGEST_FRAME, quoted

HEAD = struct.Struct("<QQ")
"""Each frame is preceded by its length [bytes] and the number of its question, which the answer repeats."""
PIPE_SIZE = 1 << 20
"""Wanted size of the buffer of a pipe [bytes], where it can be set: a picture should not take a hundred switches."""
GLANCE_S = 0.05
"""How often to look whether the child is alive while its pipe is silent: a process it forked may hold that open [s]."""
GOODBYE_S = 1.0
"""How long a child that was told to end may take [s]."""
TAIL = 4096
"""How much of the last output of a child is kept to be quoted [bytes]."""


class Child:
    """One process that answers frame by frame; raises `ServiceFault` and is dead from then on."""

    def __init__(self, name: str) -> None:
        self._name = name
        its_requests, self._requests = os.pipe()
        self._replies, its_replies = os.pipe()
        its_lifeline, self._lifeline = os.pipe()
        its_ends = (its_requests, its_replies, its_lifeline)
        _widen(self._requests)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "labference.serving.process", *map(str, its_ends)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=its_ends,
                start_new_session=True,
                bufsize=0,
            )
        finally:
            for end in its_ends:
                os.close(end)
        self._asked = 0
        os.set_blocking(self._requests, False)
        os.set_blocking(self._replies, False)
        assert self._process.stdout is not None  # it was asked for
        self._output = _Output(self._process.stdout)
        self._goodbye = util.Finalize(
            self, _end, (self._process, self._requests, self._replies, self._lifeline), exitpriority=1
        )

    @property
    def alive(self) -> bool:
        """Return whether it may be asked."""
        return self._goodbye.still_active() and self._process.poll() is None

    def ask(self, message: bytes, deadline_s: float) -> bytes:
        """Send a frame and return the one that answers it, within `deadline_s` of wall time [s]."""
        if not self.alive:
            raise ServiceFault(f"{self._name!r} has ended and is not asked again.")
        until = time.monotonic() + deadline_s
        self._asked += 1
        try:
            self._send(HEAD.pack(len(message), self._asked), until)
            self._send(message, until)
            size, number = HEAD.unpack(self._receive(HEAD.size, until))
            if size > LARGEST_FRAME:
                raise Refusal("too_long", too_long(size, LARGEST_FRAME))
            if number != self._asked:  # it forked, and both halves answer
                raise ServiceFault(
                    f"Question {self._asked} to {self._name!r} was answered with the answer to question {number}."
                )
            return bytes(self._receive(size, until))
        except TimeoutError:
            self.kill()
            sentence = f"{self._name!r} gave no answer within {deadline_s:g} s and was ended; --deadline allows more."
            raise ServiceFault(sentence) from None
        except (EOFError, OSError):
            raise ServiceFault(self._obituary()) from None
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End it and whatever it started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Tell it to end, and see that it does."""
        if self._goodbye.still_active():
            self._goodbye()

    def _obituary(self) -> str:
        """Return how it died, and its last words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GOODBYE_S)
        code = self._process.poll()
        self.kill()
        if code is None:
            how = "closed its pipe"
        elif code < 0:
            how = f"was killed by {_signal_name(-code)}"
        else:
            how = f"ended with exit status {code}"
        words = quoted(self._output.tail())
        return f"The process of {self._name!r} {how} before it answered{f': {words}' if words else '.'}"

    def _send(self, data: bytes, until: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._requests, select.POLLOUT, until)
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(self._requests, view) :]

    def _receive(self, size: int, until: float) -> bytearray:
        found = bytearray()
        while len(found) < size:
            self._wait(self._replies, select.POLLIN, until)
            with contextlib.suppress(BlockingIOError):
                part = os.read(self._replies, min(size - len(found), PIPE_SIZE))
                if not part:
                    raise EOFError
                found += part
        return found

    def _wait(self, end: int, event: int, until: float) -> None:
        """Return when something can be done with a pipe, or raise."""
        poll = select.poll()
        poll.register(end, event)
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            dead = self._process.poll() is not None
            if poll.poll(0 if dead else 1000 * min(left, GLANCE_S)):
                return
            if dead:
                raise EOFError


class _Output:
    """Pass on what a child prints, to our standard error, and keep the end of it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._tail = b""
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    def tail(self) -> str:
        """Return the end of what has been printed."""
        self._thread.join(GLANCE_S)
        return self._tail.decode(errors="replace")

    def _pass_on(self) -> None:
        with self._pipe:
            while part := self._pipe.read(1 << 16):
                self._tail = (self._tail + part)[-TAIL:]
                with contextlib.suppress(OSError):
                    os.write(2, part)


def _end(process: subprocess.Popen[bytes], requests: int, replies: int, lifeline: int) -> None:
    """Let a child find its requests at an end, and end what is left of its group a little later."""
    os.close(requests)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GOODBYE_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for end in (replies, lifeline):
        os.close(end)
    process.wait()


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # an administrator may allow less
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_SIZE)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
