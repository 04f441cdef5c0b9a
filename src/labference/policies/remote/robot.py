"""A remote robot policy as a tested system: what all wires of such policies share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from labference.wire import (
    Act,
    ActionSpec,
    Capabilities,
    Goal,
    Move,
    Observation,
    Operation,
    Refusal,
    ServiceFault,
    Stop,
)
from labference.wire.receipt import Level, RequestReceipt
from labference.wire.refusal import KINDS

from .convert import to_commands, to_request
from .digests import MOST_ENTRIES, digests, told
from .fields import ProfileError
from .link import Link
from .profile import Profile
from .profile_file import find_profile

REPLY = "labference"
"""Key under which our own servers declare themselves and say more with an answer; a stock server has no such key."""
DEFAULT = "labference"
"""Profile of a server when none is given."""
LONGEST_NAME = 64
"""Most characters of a name or a version that a service gives itself."""


class RemoteRobot(ABC):
    """Ask a robot policy in another process for actions, over a connection of its own for one episode.

    Raises `ServiceFault` for whatever the transport or the service does wrong, and `Refusal` for an answer that is
    nonsense, or no message of the wire at all.
    """

    prompt_key: ClassVar[str]
    """What this wire calls the instruction, unless the profile says otherwise."""

    def __init__(self, url: str, profile: Profile, seed: int, deadline_s: float) -> None:
        self.profile, self.seed = profile, seed
        self._receipts: list[RequestReceipt] = []
        self._link = Link(url, min(deadline_s, profile.deadline_s))
        try:
            self.metadata: dict[str, Any] = self.greet()
        except BaseException as error:
            self._link.kill()
            if isinstance(error, Refusal) and error.kind != "unsupported":  # a greeting is no answer of a policy
                raise ServiceFault(str(error)) from error
            raise

    @abstractmethod
    def greet(self) -> dict[str, Any]:
        """Exchange what opens a connection; return what the server declares."""

    @abstractmethod
    def begin(self, goal: Goal, session: str) -> None:
        """Tell the server that an episode begins, where the wire has a way."""

    @abstractmethod
    def infer(self, fields: dict[str, Any], images: dict[str, Any], observation: int) -> dict[str, Any]:
        """Return the answer to a request, whole."""

    @abstractmethod
    def unverified(self) -> list[str]:
        """Return what this server leaves no way to check, one sentence each."""

    @property
    def extension(self) -> dict[str, Any]:
        """What one of our own servers declares; a stock server declares nothing."""
        return reply_of(self.metadata)

    @property
    def label(self) -> tuple[str, str]:
        """Name and version of the tested system: as the server gives them or else the profile, with the profile's."""
        version = named(self.extension.get("version"), "")
        return named(self.extension.get("name"), self.profile.name), f"{version} {self.profile.short}".strip()

    def open(self) -> Capabilities:
        """Declare what the profile says of the service."""
        views = self.profile.views
        name, version = self.label
        return Capabilities(
            name,
            version,
            actions=(self.profile.action.spec.name,),
            cameras=tuple(view.camera for view in views if not view.optional),
            optional=tuple(view.camera for view in views if view.optional),
            depth=any(view.depth for view in views),
            reports=bool(self.profile.says.operation),
        )

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Begin an episode."""
        if spec != self.profile.action.spec:
            offered = self.profile.action.spec.name
            raise Refusal("unsupported", f"Profile {self.profile.name!r} drives {offered!r}, not {spec.name!r}.")
        if sentence := self.profile.prompt.too_long(goal.instruction):
            raise Refusal("unsupported", sentence)
        self.begin(goal, session)

    def act(self, observation: Observation) -> Act:
        """Send what the profile maps of `observation`, and return what the answer means."""
        fields, images = to_request(self.profile, observation, self.prompt_key)
        sent = digests(fields | images)
        self._receipts.append(RequestReceipt(observation.id, "request-only", sent))
        answer = self.infer(fields, images, observation.id)
        level, seen, said = _receipt(answer)
        self._receipts[-1] = RequestReceipt(observation.id, level, sent, seen, said)
        check_refused(answer)
        if self._says(answer, self.profile.says.stop, False):
            return Stop()
        if self.profile.action.key not in answer:
            raise Refusal("malformed", f"An answer has no key {self.profile.action.key!r}, but {_keys(answer)}.")
        found = to_commands(self.profile, answer[self.profile.action.key], observation.senses.robot)
        if found.clipped:
            self._receipts[-1] = RequestReceipt(observation.id, level, sent, seen, (*said, ("clipped", found.clipped)))
        look = self._says(answer, self.profile.says.look, True)
        return Move(found.commands, self._operation(answer), look)

    def close(self) -> None:
        """Say goodbye."""
        self._link.close()

    def receipts(self) -> tuple[RequestReceipt, ...]:
        """Return the receipts since the last call."""
        found, self._receipts = tuple(self._receipts), []
        return found

    def declared(self) -> str:
        """Return as JSON what the service declared, and what could not be verified about it."""
        return json.dumps(
            {
                "profile": self.profile.name,
                "profile_sha256": self.profile.sha256,
                "conventions": self.profile.conventions(),
                "server": told(self.metadata),
                "not_verified": self.unverified(),
            }
        )

    def _says(self, answer: dict[str, Any], key: str, otherwise: bool) -> bool:
        """Return the truth value under `key`, where the profile has such a key and the answer too."""
        value = answer.get(key, otherwise) if key else otherwise
        if type(value) is not bool:
            raise Refusal("dtype", f"{key!r} is {type(value).__name__}; send true or false.")
        return value

    def _operation(self, answer: dict[str, Any]) -> Operation | None:
        key = self.profile.says.operation
        words = answer.get(key) if key else None
        if words is None:
            return None
        if not isinstance(words, list | tuple) or len(words) != 3 or not all(type(word) is str for word in words):
            raise Refusal("unknown_operation", f"{key!r} is no list of kind, item and place.")
        return Operation(*words)


def reply_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what one of our own servers says beside an answer or in its metadata."""
    found = answer.get(REPLY)
    return found if isinstance(found, dict) else {}


def check_refused(answer: dict[str, Any]) -> None:
    """Raise the refusal that one of our own servers passes on from the policy it hosts."""
    found = reply_of(answer).get("refused")
    if isinstance(found, list) and len(found) == 2 and found[0] in KINDS:
        raise Refusal(found[0], str(told(found[1])))


Said = tuple[tuple[str, str | int | float | bool], ...]


def _receipt(answer: dict[str, Any]) -> tuple[Level, tuple[tuple[str, str], ...], Said]:
    """Return what the service says about what it took in, where it does."""
    found = reply_of(answer).get("receipt")
    if not isinstance(found, dict):
        return "request-only", (), ()
    hashes = found.get("sha256")
    seen = list(hashes.items())[:MOST_ENTRIES] if isinstance(hashes, dict) else []
    level: Level = "transformed" if found.get("level") == "transformed" else "received"
    notes = (("prompt_tokens", found.get("n_prompt_tokens")), ("truncated", found.get("truncated")))
    return (
        level,
        tuple(sorted((str(told(key)), str(told(value))) for key, value in seen)),
        tuple((name, value) for name, value in notes if isinstance(value, bool | int)),
    )


def named(words: object, otherwise: str) -> str:
    """Return a name that a service gives itself, printable and short."""
    found = " ".join(str(told(words)).split())[:LONGEST_NAME] if isinstance(words, str) else ""
    return found or otherwise


def _keys(answer: dict[str, Any]) -> str:
    return ", ".join(repr(told(key)) for key in list(answer)[:8]) or "none"


def url_of(address: str) -> str:
    """Return the websocket URL of `openpi://HOST:PORT` or `vla-eval://HOST:PORT`."""
    return f"ws://{address.partition('://')[2]}"


def profile_of(name: str) -> Profile:
    """Return the profile of that name or path; what is wrong with it is an incompatibility."""
    try:
        return find_profile(name)
    except ProfileError as error:
        raise Refusal("unsupported", str(error)) from error
