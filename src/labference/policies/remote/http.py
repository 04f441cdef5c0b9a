"""A tested system behind HTTP, as `docs/http.md` describes the wire: JSON or msgpack, one connection per episode."""

from __future__ import annotations

import secrets
import string
from dataclasses import fields
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Operation, Policy, Refusal, ServiceFault
from labference.wire.plain import from_plain, to_plain
from labference.wire.refusal import KINDS

from .exchange import Exchange, Reply
from .formats import FORMATS, JSON, MSGPACK, Format, by_media, has_msgpack
from .limits import quoted

SERVICE = (401, 403, 404, 407, 408, 410, 425, 429)
"""Statuses below 500 that say that the service, a session or the way to it is gone, not that an answer is nonsense."""

HEALTH_S = 10.0
"""Longest wall time that a server may take to say that it is there [s]."""


def connect(address: str, seed: int, profile: str, deadline_s: float) -> Policy:
    """Return the system served at `address`, for one episode."""
    return Served(address, seed, profile, deadline_s)


def preflight(address: str, profile: str, spec: ActionSpec, goal: Goal, deadline_s: float) -> None:
    """Ask the server for its health and its declaration, compare action profiles, begin a session and close it."""
    system = Served(address, 0, profile, deadline_s)
    try:
        system.healthy()
        declared = system.open()
        if spec.name not in declared.actions:
            offered = ", ".join(map(str, declared.actions)) or "none"
            raise Refusal(
                "unsupported", f"{declared.name!r} does not drive action profile {spec.name!r}; it drives {offered}."
            )
        for theirs in system.specs:
            _compare(theirs, spec)
        system.reset(goal, spec, secrets.token_hex(8))
    finally:
        system.close()


class Served:
    """A system behind HTTP, for one episode."""

    def __init__(self, address: str, seed: int, profile: str, deadline_s: float) -> None:
        if profile:
            raise Refusal("unsupported", f"An HTTP server declares all there is; leave out the profile {profile!r}.")
        self._url, self._asked = _parse(address)
        self._exchange = Exchange(self._url, deadline_s)
        self._seed = seed
        self._form: Format = FORMATS.get(self._asked, JSON)
        self._session = ""
        self._begun = False
        self._request = 0
        self.specs: tuple[ActionSpec, ...] = ()

    def healthy(self) -> None:
        """Raise unless the server says that it is there."""
        _content(self._exchange.ask("GET", "/health", within_s=HEALTH_S))

    def open(self) -> Capabilities:
        """Ask what the system is and wants, and settle in which form to speak."""
        found = _content(self._exchange.ask("GET", "/capabilities"))
        declared, specs = from_plain(found.get("capabilities")), from_plain(found.get("specs") or [])
        if not isinstance(declared, Capabilities):
            raise Refusal("malformed", "The answer to GET /capabilities has no noun Capabilities under 'capabilities'.")
        if not _words(declared.actions):
            raise Refusal("malformed", f"The server declares actions {declared.actions!r:.40}; a list of names works.")
        if not isinstance(specs, tuple) or not all(isinstance(spec, ActionSpec) for spec in specs):
            raise Refusal("malformed", "The answer to GET /capabilities has no list of ActionSpec under 'specs'.")
        self.specs = specs
        offered = found.get("formats") or [JSON.media]
        if not _words(offered):
            raise Refusal("malformed", f"The server declares formats {offered!r:.40}; a list of media types works.")
        if not self._asked and MSGPACK.media in offered and has_msgpack():
            self._form = MSGPACK
        return declared

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Begin a session under an id of its own."""
        self._session, self._begun = session, True
        self._post("/reset", seed=self._seed, goal=goal, spec=spec)

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Show what happened before it took over."""
        self._post("/witness", observation=observation, operation=operation)

    def act(self, observation: Observation) -> Act:
        """Ask for an answer."""
        found = self._post("/act", observation=observation)
        if "act" not in found:
            raise Refusal("malformed", "The answer to POST /act has no 'act'.")
        answer: Act = from_plain(found["act"])
        return answer

    def close(self) -> None:
        """End the session, unless the connection was given up."""
        try:
            if self._begun and self._exchange.alive:
                self._post("/close")
        finally:
            self._exchange.close()

    def _post(self, path: str, **content: object) -> dict[str, Any]:
        """Send a request, and return the answer that names its number."""
        self._request += 1
        head = {"session": self._session, "request": self._request}
        body = {name: to_plain(value, binary=self._form.binary) for name, value in content.items()}
        found = _content(self._exchange.ask("POST", path, self._form.media, self._form.write(head | body)))
        number = found.get("request")
        if type(number) is not int:
            raise Refusal("malformed", f"The answer to POST {path} has no number under 'request'; echo the request's.")
        if number != self._request:
            self._exchange.close()
            raise ServiceFault(f"Request {self._request} was answered with the answer to request {number}.")
        session = found.get("session", self._session)
        if session != self._session:
            self._exchange.close()
            raise ServiceFault(
                f"Request {self._request} of session {self._session!r} was answered with the answer of session "
                f"{str(session)[:40]!r}."
            )
        return found


def _words(entries: object) -> bool:
    return isinstance(entries, list | tuple) and all(isinstance(entry, str) for entry in entries)


def _parse(address: str) -> tuple[SplitResult, str]:
    """Return a checked address, and the form of bodies that it asks for, or ''."""
    try:
        url = urlsplit(address)
        asked = dict(parse_qsl(url.query, strict_parsing=True)) if url.query else {}
        good = bool(url.hostname) and url.port != 0 and not url.fragment and url.username is None
        (url.hostname or "").encode("idna")  # raises where no name can be looked up
        url.path.encode("ascii")
        good = good and not set(url.path) & set(string.whitespace)
    except ValueError:
        good, asked = False, {}
    form = asked.pop("format", "")
    if not good or asked or form not in ("", *FORMATS):
        raise Refusal(
            "unsupported", f"{address!r} is no address; http://HOST:PORT would work, with ?format=json or without."
        )
    if form == MSGPACK.name and not has_msgpack():
        raise Refusal("unsupported", "?format=msgpack needs the extra 'remote': pip install 'labference[remote]'.")
    return url, form


def _content(reply: Reply) -> dict[str, Any]:
    """Return the object that a server answered, or raise what its status means."""
    if reply.status in SERVICE or reply.status >= 500 or reply.status < 200:
        raise ServiceFault(f"The server answered with status {reply.status}{_said(reply)}")
    if 300 <= reply.status < 400:
        raise ServiceFault(f"The server redirects (status {reply.status}); give the address that it redirects to.")
    if reply.status >= 400:
        kind, sentence = _error(reply)
        raise Refusal(kind, sentence or f"The server refused with status {reply.status}{_said(reply)}")
    form = by_media(reply.media)
    if form is None:
        works = " or ".join(known.media for known in FORMATS.values())
        raise Refusal("malformed", f"The server answered with {reply.media[:40]!r}{_said(reply)} {works} works.")
    found = form.read(reply.body)
    if not isinstance(found, dict):
        raise Refusal("malformed", f"The server answered with a {type(found).__name__}; an object works.")
    return found


def _error(reply: Reply) -> tuple[str, str]:
    """Return kind and sentence of a refusal that the server explains as it should, else no sentence."""
    form = by_media(reply.media)
    try:
        error = form.read(reply.body)["error"] if form is not None else {}
        kind, sentence = error["kind"], error["sentence"]
    except (Refusal, KeyError, TypeError, IndexError):
        return "malformed", ""
    known = isinstance(kind, str) and kind in KINDS
    return kind if known else "malformed", sentence if isinstance(sentence, str) else ""


def _said(reply: Reply) -> str:
    """Return the last line of what a server said, as the end of a sentence."""
    sentence = _error(reply)[1] or quoted(reply.body[-4096:].decode(errors="replace"))
    return f": {quoted(sentence).rstrip('.')}." if sentence else "."


def _compare(theirs: ActionSpec, ours: ActionSpec) -> None:
    """Refuse a system that was made for another convention than the bench's of the same name."""
    if theirs.name != ours.name:
        return
    for field in fields(ActionSpec):
        stated, meant = (object.__getattribute__(spec, field.name) for spec in (theirs, ours))
        if stated != meant:
            raise Refusal(
                "unsupported",
                f"The server was made for profile {ours.name!r} with {field.name} {stated!r}; here it is {meant!r}.",
            )
