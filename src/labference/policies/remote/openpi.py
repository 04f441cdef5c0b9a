"""Client for OpenPI's websocket: the server speaks first, then each binary request has one binary answer.

The wire has no sequence numbers, no episodes and no seed. Our own server and wrapper (`labference.serving.openpi`) add
them under one key, `__labference__`, and declare it in their metadata; a stock server is asked nothing that it does not
know, and what cannot be checked about it is reported as not verified.
"""

from __future__ import annotations

from typing import Any

from labference.wire import ActionSpec, Goal, Refusal, ServiceFault

from .arrays import Malformed, pack_openpi, unpack_openpi
from .digests import told
from .limits import quoted
from .robot import DEFAULT, RemoteRobot, profile_of, reply_of, url_of

EXTENSION = "__labference__"
"""Key of a request under which our own servers are told what kind of request it is."""


def connect(address: str, seed: int, profile: str, deadline_s: float) -> OpenPi:
    """Return the policy at `openpi://HOST:PORT` for one episode; `profile` is a name or a path, '' for our own."""
    return OpenPi(url_of(address), profile_of(profile or DEFAULT), seed, deadline_s)


def preflight(address: str, profile: str, spec: ActionSpec, goal: Goal, deadline_s: float) -> None:
    """Contact the server once, compare conventions, and refuse what does not fit; see `probe`."""
    from .probe import check_openpi

    found = profile_of(profile or DEFAULT)
    robot = OpenPi(url_of(address), found, 0, deadline_s)
    try:
        check_openpi(robot, spec, goal, given=bool(profile))
    finally:
        robot.close()


class OpenPi(RemoteRobot):
    """A policy on OpenPI's wire, for one episode."""

    prompt_key = "prompt"

    def greet(self) -> dict[str, Any]:
        """Take the metadata with which the server begins."""
        return self._receive()

    def begin(self, goal: Goal, session: str) -> None:
        """Reset the policy with its seed, where the server offers that."""
        del goal  # every request carries the instruction
        self._session, self._step = session, 0
        if self.extension.get("reset") is True:
            answer = self.ask({EXTENSION: {"op": "reset", "session": session, "seed": self.seed}})
            if not reply_of(answer).get("reset"):
                raise ServiceFault(f"The server did not confirm a reset, but said {told(answer)!r}.")

    def infer(self, fields: dict[str, Any], images: dict[str, Any], observation: int) -> dict[str, Any]:
        """Return the answer to one request."""
        request = fields | images
        if self.extension:
            request[EXTENSION] = {
                "op": "infer",
                "session": self._session,
                "observation": observation,
                "seed": self.seed,
            }
        answer = self.ask(request)
        if self.extension and reply_of(answer).get("observation") != observation:
            self._link.kill()
            raise ServiceFault(
                f"The server answered observation {told(reply_of(answer).get('observation'))} when asked about "
                f"{observation}; an answer to another question is never used."
            )
        return answer

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and return its answer."""
        if self._link.unasked() is not None:
            self._link.kill()
            raise ServiceFault("The server sent an answer that nobody had asked for; answers may be shifted by one.")
        self._link.send(pack_openpi(request))
        return self._receive()

    def unverified(self) -> list[str]:
        """Return what a stock server leaves no way to check."""
        if self.extension:
            return []
        return [
            "The rate and the scale of the actions: a stock server declares no conventions.",
            "Whether the server uses every camera and state key: a stock server drops unknown keys without an error.",
            "What became of images and prompt inside the server: receipts are of the request only.",
            "Whether results depend on earlier episodes: a stock server has no reset and no seed.",
        ]

    def _receive(self) -> dict[str, Any]:
        """Return the next map; text is a traceback, and ends the connection."""
        frame = self._link.receive()
        if isinstance(frame, str):
            self._link.kill()
            raise ServiceFault(f"The server failed: {quoted(frame)}")
        try:
            found = unpack_openpi(frame)
        except Malformed as error:
            self._link.kill()
            raise Refusal("malformed", f"The server sent what is no message of OpenPI: {error}.") from error
        if not isinstance(found, dict):
            self._link.kill()
            raise Refusal("malformed", f"The server sent a {type(found).__name__}; a map would work.")
        return found
