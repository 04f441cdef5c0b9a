"""The child process behind `policies/remote/process.py`: hosts one local system at a time until its pipe ends."""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from labference.policies import UnknownPolicy, find_policy
from labference.policies.remote import process
from labference.policies.remote.child import HEAD
from labference.policies.remote.limits import LARGEST_FRAME
from labference.wire import Policy, Refusal, Witness, codec
from labference.wire.call import packed


class Host:
    """Carry out calls of one system; `make` begins a new one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._policy: Policy | None = None

    def answer(self, method: str, arguments: tuple[Any, ...]) -> bytes:
        """Return how a call ended."""
        return packed(self._name, lambda: self._call(method)(*arguments), LARGEST_FRAME)

    def _call(self, method: str) -> Callable[..., object]:
        match method, self._policy:
            case "find", _:
                return self._find
            case "make", _:
                return self._make
            case "open", policy if policy is not None:
                return policy.open
            case "reset", policy if policy is not None:
                return policy.reset
            case "act", policy if policy is not None:
                return policy.act
            case "close", policy if policy is not None:
                return policy.close
            case "witness", Witness() as policy:
                return policy.witness
        raise Refusal("unsupported", f"{self._name!r} declared to take a prefix, and has no {method}().")

    def _find(self) -> str:
        try:
            find_policy(self._name)
        except UnknownPolicy as unknown:
            return str(unknown)
        return ""

    def _make(self, seed: int) -> None:
        self._policy = None  # whatever the last one held goes before the next one takes it
        self._policy = find_policy(self._name)(seed=seed)


def main() -> None:
    """Serve the calls that arrive on the pipe given as the first argument, and answer on the second."""
    requests, replies, lifeline = (int(number) for number in sys.argv[1:4])
    for end in (requests, replies, lifeline):
        os.set_inheritable(end, False)  # a program that the policy starts is none of ours
    _hold(lifeline)
    source, sink = io.FileIO(requests), io.FileIO(replies, "w")
    number, message = _read(source)
    name, paths = codec.decode(message)
    sys.path[:] = paths
    _write(sink, number, b"")
    process.hosting = True
    host = Host(name)
    while True:
        number, message = _read(source)
        if not message:
            return
        method, *arguments = codec.decode(message)
        _write(sink, number, host.answer(method, tuple(arguments)))


def _read(source: io.FileIO) -> tuple[int, bytes | bytearray]:
    """Return the number of the next question and its frame, empty at the end of all."""
    head = _exactly(source, HEAD.size)
    if not head:
        return 0, head
    size, number = HEAD.unpack(head)
    return number, _exactly(source, size)


def _exactly(source: io.FileIO, size: int) -> bytes | bytearray:
    """Return that many bytes, or none at the end of all."""
    found = bytearray(size)
    view, at = memoryview(found), 0
    while at < size:
        count = source.readinto(view[at:])
        if not count:
            return b""
        at += count
    return found


def _write(sink: io.FileIO, number: int, message: bytes) -> None:
    """Answer question `number`; in one piece, lest a process that the policy forked writes in between."""
    view = memoryview(HEAD.pack(len(message), number) + message)
    while view:
        view = view[sink.write(view) or 0 :]


def _hold(lifeline: int) -> None:
    """Have this process and all it starts killed when the other end of `lifeline` is closed, however busy it is.

    Linux does that in the kernel: the pipe is made to signal the group with SIGKILL. Elsewhere a thread watches it, and
    a computation that never lets go of the interpreter outlives a parent that was killed.
    """
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # closed before it could signal
            os._exit(1)
    else:
        threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()


def _watch(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
