"""Tested systems that misbehave in one way each at the second question: in a process of their own, and behind HTTP.

The tables say how an episode then has to end, and words of its sentence.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lab_policies import HERE, Scripted
from labference.policies.remote.limits import LARGEST_FRAME
from labference.wire import JOINT, Act, Capabilities, Fact, Move, Observation, Operation, Script, StateReport, Wait

INTERFACE, SERVICE = "interface_failure", "invalid"
"""How an episode ends after nonsense through a supported interface (scored), and after a service failed (retried)."""
TRACE = 'Traceback (most recent call last):\n  File "policy.py", line 7, in infer\nRuntimeError: CUDA out of memory\n'
HONEST = np.tile(HERE, (2, 1))
NONSENSE: dict[str, tuple[np.ndarray, str]] = {
    "nan": (np.where(np.arange(8) == 3, np.nan, HONEST), "send finite numbers"),
    "three": (HONEST[:, :3], "takes (n, 8)"),
    "enormous": (np.full((2, 8), 1e9), "works"),
    "cube": (HONEST[None], "takes (n, 8)"),
    "nothing": (np.empty((0, 8)), "send 1 to 50"),
    "too many": (np.repeat(HONEST, 40, axis=0), "send 1 to 50"),
}
"""Commands that no wire can make sense of."""


# --- in a process of its own


class Swinging(Scripted):
    """Send short chunks, as an honest system does."""

    def act(self, observation: Observation) -> Act:
        return Move(HONEST)


class Seeded(Scripted):
    """Move as its seed says, and look at every second answer."""

    wants = Capabilities("seeded", "1", cameras=("front",), depth=True, readings=True)

    def work(self, observation: Observation) -> Script[None]:
        chance = np.random.default_rng(self.seed)
        while True:
            steps = chance.normal(0.0, 0.005, (3, 8)).cumsum(0) * (np.arange(8) < 7)
            observation = yield Move(np.clip(HERE + steps, JOINT.low, JOINT.high), look=False)
            shown = observation.senses.readings[0].value or 0.0
            observation = yield Wait(0.1 + 1e-4 * abs(shown))


class Onlooker(Scripted):
    """Say what it was shown of a prefix."""

    wants = Capabilities("onlooker", "1", sites=("semantic",), witnesses=True)

    def reset(self, *given: Any) -> None:
        super().reset(*given)
        self.facts: list[Fact] = []

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        if operation is not None:
            self.facts.insert(0, Fact(operation.item, operation.place))
        self.facts.append(Fact("seen", observation.senses.time))

    def act(self, observation: Observation) -> Act:
        return StateReport(tuple(self.facts))


class Rogue(Scripted):
    """Behave once, and then misbehave."""

    def reset(self, *given: Any) -> None:
        super().reset(*given)
        self.questions = 0

    def act(self, observation: Observation) -> Act:
        self.questions += 1
        return Wait(0.1) if self.questions == 1 else self.misbehave()

    def misbehave(self) -> Act:
        raise NotImplementedError


class Hangs(Rogue):
    def misbehave(self) -> Act:
        while True:
            time.sleep(1)


class HangsLater(Swinging):
    """Hang at the fifth question."""

    def act(self, observation: Observation) -> Act:
        if observation.id > 4:
            time.sleep(1000)
        return super().act(observation)


class HangsInC(Rogue):
    """Block every signal, and sleep in C without letting go of the interpreter."""

    def misbehave(self) -> Act:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        ctypes.PyDLL(None).sleep(1000)
        raise AssertionError


class Computes(Rogue):
    """Count in a loop of C that no signal handler interrupts."""

    def misbehave(self) -> Act:
        return Wait(float(sum(range(10**12))))


class Late(Rogue):
    def misbehave(self) -> Act:
        time.sleep(3)
        return Wait(0.1)


class Leaves(Rogue):
    def misbehave(self) -> Act:
        print("the licence has run out", flush=True)
        os._exit(3)


class Crashes(Rogue):
    def misbehave(self) -> Act:
        ctypes.string_at(0)
        raise AssertionError


class Forks(Rogue):
    """Leave a child behind that holds every pipe open."""

    def misbehave(self) -> Act:
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(4)


class AnswersTwice(Rogue):
    """Fork, and let both halves answer; one of them ends soon."""

    def misbehave(self) -> Act:
        if half := os.fork():
            os.waitpid(half, 0)
        else:
            threading.Timer(0.2, os._exit, [0]).start()
        return Wait(0.1)


class ClosesEverything(Rogue):
    def misbehave(self) -> Act:
        os.closerange(3, 1000)
        return Wait(0.1)


class Scribbles(Rogue):
    """Write into whatever is open."""

    def misbehave(self) -> Act:
        for number in range(3, 64):
            try:
                os.write(number, b"\xff" * 64)
            except OSError:
                continue
        return Wait(0.1)


class Raises(Rogue):
    def misbehave(self) -> Act:
        raise RuntimeError("the grip\nis jammed")


class RunsOutOfMemory(Rogue):
    def misbehave(self) -> Act:
        raise MemoryError("no room")


class Quits(Rogue):
    def misbehave(self) -> Act:
        sys.exit("enough")


class Huge(Rogue):
    def misbehave(self) -> Act:
        return Move(np.zeros((LARGEST_FRAME // 64 + 1, 8)))


class Talks(Rogue):
    def misbehave(self) -> Any:
        return {"act": "wait"}


class Nonsense(Rogue):
    commands: ClassVar[np.ndarray]

    def misbehave(self) -> Act:
        return Move(self.commands)


for _word, (_commands, _) in NONSENSE.items():
    _name = _word.title().replace(" ", "")
    globals()[_name] = type(_name, (Nonsense,), {"commands": _commands})

IN_PROCESS: dict[str, tuple[str, str]] = {
    "Raises": (INTERFACE, "raised RuntimeError: the grip is jammed"),
    "RunsOutOfMemory": (INTERFACE, "raised MemoryError: no room"),
    "Quits": (INTERFACE, "raised SystemExit: enough"),
    "Huge": (INTERFACE, f"at most {LARGEST_FRAME} work"),
    "Talks": (INTERFACE, "A dict cannot cross"),
    "Scribbles": (INTERFACE, "at most"),
    "Leaves": (SERVICE, "ended with exit status 3 before it answered: the licence has run out"),
    "Crashes": (SERVICE, "was killed by SIGSEGV"),
    "Forks": (SERVICE, "ended with exit status 4"),
    "ClosesEverything": (SERVICE, "before it answered"),
    "Hangs": (SERVICE, "gave no answer within"),
    "HangsInC": (SERVICE, "gave no answer within"),
    "Computes": (SERVICE, "gave no answer within"),
    "Late": (SERVICE, "gave no answer within"),
    **{word.title().replace(" ", ""): (INTERFACE, said) for word, (_, said) in NONSENSE.items()},
}
"""Class in this module -> how an episode with it in a process of its own ends."""
SILENT = ("Hangs", "HangsInC", "Computes", "Late")
"""Those that only a deadline ends."""


class HangsOnce(Rogue):
    """Hang as long as the file named by ROGUE_MARKER exists, and remove it."""

    def misbehave(self) -> Act:
        marker = Path(os.environ["ROGUE_MARKER"])
        if marker.exists():
            marker.unlink()
            time.sleep(1000)
        return Wait(0.1)


ASKED = 0


class Mortal(Swinging):
    """Take the whole process down at question number ROGUE_LIFE."""

    def act(self, observation: Observation) -> Act:
        global ASKED
        ASKED += 1
        if int(os.environ.get("ROGUE_LIFE", "0")) == ASKED:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().act(observation)


# --- behind HTTP

HTTP: dict[str, tuple[str, str]] = {
    "hangs": (SERVICE, "gave no whole answer within"),
    "late": (SERVICE, "gave no whole answer within"),
    "drips": (SERVICE, "gave no whole answer within"),
    "hangs in the middle": (SERVICE, "gave no whole answer within"),
    "closes": (SERVICE, "was lost"),
    "closes in the middle": (SERVICE, "was lost"),
    "closes in the middle of a chunk": (SERVICE, "was lost"),
    "speaks another protocol": (SERVICE, "was lost"),
    "previous": (SERVICE, "Request 3 was answered with the answer to request 2"),
    "next": (SERVICE, "Request 3 was answered with the answer to request 4"),
    "another session": (SERVICE, "was answered with the answer of session 'another'"),
    "traceback": (SERVICE, "status 500: RuntimeError: CUDA out of memory."),
    "unavailable": (SERVICE, "status 503: The model is gone."),
    "forgets the session": (SERVICE, "status 410"),
    "is too busy": (SERVICE, "status 429"),
    "forgets the way": (SERVICE, "status 404"),
    "redirects": (SERVICE, "redirects"),
    "says no length": (SERVICE, "send Content-Length"),
    "refuses": (INTERFACE, "The arm is asleep."),
    "refuses and hangs up": (INTERFACE, "The arm is asleep."),
    "refuses in its own words": (INTERFACE, "status 400: RuntimeError: CUDA out of memory."),
    "traceback as an answer": (INTERFACE, "RuntimeError: CUDA out of memory. application/json"),
    "huge": (INTERFACE, f"at most {LARGEST_FRAME} work"),
    "huge without end": (INTERFACE, f"more than {LARGEST_FRAME} bytes"),
    "literal nan": (INTERFACE, "send finite numbers"),
    "half a body": (INTERFACE, "is no JSON"),
    "a list": (INTERFACE, "an object works"),
    "no number": (INTERFACE, "echo the request's"),
    "no act": (INTERFACE, "has no 'act'"),
    "unknown noun": (INTERFACE, "nouns: ActionSpec"),
    "observation": (INTERFACE, "no act"),
    "pickle": (INTERFACE, "application/octet-stream"),
    **{word: (INTERFACE, said) for word, (_, said) in NONSENSE.items()},
}
"""What a server does at the second question -> how an episode ends."""
SLOW = ("hangs", "late", "drips", "hangs in the middle")
"""Those that only a deadline ends."""
STATUS = {
    "traceback": (500, TRACE),
    "unavailable": (503, '{"error": {"kind": "fault", "sentence": "The model is gone."}}'),
    "forgets the session": (410, "gone"),
    "is too busy": (429, "later"),
    "forgets the way": (404, "<html>nothing here</html>"),
    "redirects": (307, ""),
    "refuses": (422, '{"error": {"kind": "unsupported", "sentence": "The arm is asleep."}}'),
    "refuses and hangs up": (400, '{"error": {"kind": "unsupported", "sentence": "The arm is asleep."}}'),
    "refuses in its own words": (400, TRACE),
}
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BODIES: dict[str, Any] = {
    "literal nan": '{"request": 3, "act": {"noun": "Move", "commands": [[NaN]]}}',
    "half a body": '{"request": 3, "act": ',
    "a list": "[3]",
    "no number": '{"act": {"noun": "Wait", "seconds": 0.1}}',
    "no act": '{"request": 3}',
    "unknown noun": '{"request": 3, "act": {"noun": "Grasp"}}',
    "observation": '{"request": 3, "act": {"noun": "Fact", "name": "display", "value": 1}}',
}


class RogueServer(ThreadingHTTPServer):
    """Speak the wire of docs/http.md, as another program would, and misbehave at the second question of a session."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.over = threading.Event()
        self.paths: list[str] = []
        self.sessions: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing; clients hang up on rogues."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RogueServer

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        declared = {"noun": "Capabilities", "name": "rogue", "version": "1", "actions": ["joint"]}
        self.say({"capabilities": declared} if self.path == "/capabilities" else {"status": "ok"})

    def do_POST(self) -> None:
        self.server.paths.append(self.path)
        found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number, answer = found["request"], {"request": found["request"]}
        self.server.sessions.append(found["session"])
        if self.path != "/act":
            self.say(answer)
        elif number == 2:
            self.say(answer | {"act": {"noun": "Move", "commands": HONEST.tolist()}})
        else:
            self.misbehave(self.server.fault, answer)

    def misbehave(self, fault: str, answer: dict[str, Any]) -> None:
        honest = json.dumps(answer | {"act": {"noun": "Move", "commands": HONEST.tolist()}})
        if fault in STATUS:
            status, text = STATUS[fault]
            self.send(status, "application/json" if text.startswith("{") else "text/plain", text)
        elif fault in BODIES:
            self.send(200, "application/json", BODIES[fault])
        elif fault in NONSENSE:
            array = NONSENSE[fault][0]
            data = {"__ndarray__": base64.b64encode(array.tobytes()).decode(), "dtype": "float64", "shape": array.shape}
            self.say(answer | {"act": {"noun": "Move", "commands": data}})
        elif fault in ("previous", "next"):
            self.say(json.loads(honest) | {"request": answer["request"] + (1 if fault == "next" else -1)})
        elif fault == "another session":
            self.say(json.loads(honest) | {"session": "another"})
        elif fault in SLOW:
            self.dawdle(fault, honest)
        else:
            self.break_down(fault, honest)
            self.close_connection = True

    def dawdle(self, fault: str, honest: str) -> None:
        over = self.server.over
        match fault:
            case "hangs":
                over.wait()
            case "late":
                over.wait(3)
                self.send(200, "application/json", honest)
            case "drips":
                self.write(f"{HEAD}Content-Length: 100000\r\n\r\n")
                while not over.wait(0.02):
                    self.write(" ")
            case "hangs in the middle":
                self.write(f"{HEAD}Content-Length: 100\r\n\r\n{{")
                over.wait()

    def break_down(self, fault: str, honest: str) -> None:
        match fault:
            case "closes in the middle":
                self.write(f"{HEAD}Content-Length: 100\r\n\r\n{{")
            case "closes in the middle of a chunk":
                self.write(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n64\r\n{{")
            case "speaks another protocol":
                self.write("220 mail.example.org ESMTP\r\n")
            case "says no length":
                self.write(f"{HEAD}\r\n{honest}")
            case "traceback as an answer":
                self.send(200, "text/plain", TRACE)
            case "pickle":
                self.send(200, "application/octet-stream", "\x80\x04.")
            case "huge":
                self.write(f"{HEAD}Content-Length: {LARGEST_FRAME + 1}\r\n\r\n")
                self.server.over.wait()
            case "huge without end":
                self.write(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n")
                while not self.server.over.is_set():
                    self.write(f"100000\r\n{' ' * (1 << 20)}\r\n")

    def say(self, tree: dict[str, Any]) -> None:
        self.send(200, "application/json", json.dumps(tree))

    def send(self, status: int, media: str, text: str) -> None:
        body = text.encode("latin-1")
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        if status == 307:
            self.send_header("Location", f"{self.server.address}/health")
        if self.server.fault == "refuses and hangs up" and status == 400:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def write(self, text: str) -> None:
        self.wfile.write(text.encode("latin-1"))

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[Any]:
    """Serve in a thread, and stop at the end."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        if isinstance(server, RogueServer):
            server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
