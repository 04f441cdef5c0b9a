"""Client for model servers of vla-eval: one msgpack map a frame, an opening exchange, numbered observations.

An answer with another number than the question, or an ERROR frame, ends the connection: left open, it would pair every
later observation with the answer to the one before. Nothing about the instance is sent, and no score.
"""

from __future__ import annotations

import time
from typing import Any

import labference
from labference.wire import ActionSpec, Goal, Refusal, ServiceFault

from .arrays import Malformed, pack_vla_eval, unpack_vla_eval
from .limits import quoted
from .robot import DEFAULT, REPLY, RemoteRobot, profile_of, url_of

PROTOCOL = 1
"""Version of the wire."""
FIELDS: dict[str, tuple[type, ...]] = {"type": (str,), "payload": (dict,), "seq": (int,), "timestamp": (int, float)}
"""What every frame must have."""


def connect(address: str, seed: int, profile: str, deadline_s: float) -> VlaEval:
    """Return the policy at `vla-eval://HOST:PORT` for one episode; `profile` is a name or a path, '' for our own."""
    return VlaEval(url_of(address), profile_of(profile or DEFAULT), seed, deadline_s)


def preflight(address: str, profile: str, spec: ActionSpec, goal: Goal, deadline_s: float) -> None:
    """Contact the server once, compare its specs with the profile, and refuse what does not fit; see `probe`."""
    from .probe import check_vla_eval

    robot = VlaEval(url_of(address), profile_of(profile or DEFAULT), 0, deadline_s)
    try:
        check_vla_eval(robot, spec, goal, given=bool(profile))
    finally:
        robot.close()


def framed(kind: str, payload: dict[str, Any], seq: int) -> bytes:
    """Return one frame."""
    return pack_vla_eval({"type": kind, "payload": payload, "seq": seq, "timestamp": time.time()})


def unframed(frame: bytes) -> tuple[str, dict[str, Any], int]:
    """Return kind, payload and number of a frame; raises `Malformed`."""
    found = unpack_vla_eval(frame)
    if not isinstance(found, dict):
        raise Malformed(f"a frame is a {type(found).__name__} and no map")
    for name, kind in FIELDS.items():
        if not isinstance(found.get(name), kind):
            raise Malformed(f"a frame has no {name}, or one of another type")
    return found["type"], found["payload"], found["seq"]


class VlaEval(RemoteRobot):
    """A policy on vla-eval's wire, for one episode."""

    prompt_key = "task_description"

    def greet(self) -> dict[str, Any]:
        """Exchange HELLO; return what the server declares."""
        self._seq, self._begun = 0, False
        hello = {"harness_version": f"labference {labference.__version__}", "protocol_version": PROTOCOL}
        found = self._ask("hello", hello, "hello")
        if found.get("protocol_version") != PROTOCOL:
            raise Refusal(
                "unsupported", f"The server speaks protocol {found.get('protocol_version')!r}; {PROTOCOL} would work."
            )
        return found

    def begin(self, goal: Goal, session: str) -> None:
        """Announce an episode under its opaque session, and its seed to a server of ours; nothing answers that."""
        del goal  # every observation carries the instruction
        payload: dict[str, Any] = {"task": {"name": session}}
        if self.extension:
            payload[REPLY] = {"session": session, "seed": self.seed}
        self._send("episode_start", payload)
        self._begun = True

    def infer(self, fields: dict[str, Any], images: dict[str, Any], observation: int) -> dict[str, Any]:
        """Return the answer to one observation."""
        return self._ask("observation", {"images": images, **fields}, "action")

    def close(self) -> None:
        """End the episode without a word about how it went, and say goodbye."""
        try:
            if self._begun and self._link.alive:
                self._send("episode_end", {"metrics": {}})
        except ServiceFault:
            pass  # an episode that has ended is not unresolved because nobody could be told
        finally:
            super().close()

    def unverified(self) -> list[str]:
        """Return what the specs of vla-eval leave no way to check."""
        if self.extension:
            return []
        found = [
            "The rate of the actions: vla-eval's specs have none.",
            "What became of images and prompt inside the server: receipts are of the request only.",
            "Whether results depend on earlier episodes: the server has no seed.",
            "Whether the server keeps a buffer of its own: chunk.owner in the profile says so.",
        ]
        if not self.metadata.get("action_spec"):
            found.append("The convention of the actions: the server declares no action_spec.")
        return found

    def _send(self, kind: str, payload: dict[str, Any]) -> int:
        self._seq += 1
        self._link.send(framed(kind, payload, self._seq))
        return self._seq

    def _ask(self, kind: str, payload: dict[str, Any], expected: str) -> dict[str, Any]:
        """Send a frame and return the payload of the frame that answers it."""
        early = self._link.unasked()
        if early is not None:
            self._read(early)
            self._link.kill()
            raise ServiceFault("The server sent an answer that nobody had asked for; answers may be shifted by one.")
        seq = self._send(kind, payload)
        said, answer, number = self._read(self._link.receive())
        if said != expected or number != seq:
            self._link.kill()
            raise ServiceFault(
                f"The server answered {kind} {seq} with {quoted(said)} {number}; an answer to another question is "
                "never used."
            )
        return answer

    def _read(self, frame: bytes | str) -> tuple[str, dict[str, Any], int]:
        """Return what a frame holds; an error ends the connection."""
        try:
            if isinstance(frame, str):
                raise ServiceFault(f"The server failed: {quoted(frame)}")
            said, answer, number = unframed(frame)
            if said == "error":
                raise ServiceFault(f"The server failed: {quoted(str(answer.get('error', answer)))}")
        except Malformed as error:
            self._link.kill()
            raise Refusal("malformed", f"The server sent what is no message of vla-eval: {error}.") from error
        except ServiceFault:
            self._link.kill()
            raise
        return said, answer, number
