"""Recorded replies: what a provider answered to exactly which request, on the wire, without keys and other headers.

A cassette is a file of JSON lines, packed by xz where its name ends so. Its key is the SHA-256 of a request's path and
body, with pictures replaced by their digests. The same request recorded twice is answered in the order of recording. A
request that is not on the cassette is an error that says what is different from the nearest one that is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2

from .failure import CassetteMiss

KEPT = ("content-type", "retry-after", "retry-after-ms")
"""Headers of a reply that matter to who reads it."""
PACKED = ".xz"
PICTURE = "data:"
LONG = 60
"""Most characters of a value that a miss shows."""


class Recorder(httpx2.AsyncBaseTransport):
    """A transport that sends through a client and appends every exchange to a cassette before it hands the reply on."""

    def __init__(self, inner: httpx2.AsyncClient, path: Path) -> None:
        """Make sure that a cassette can be written; raises `CassetteMiss`. A torn last line is cut off."""
        if path.suffix == PACKED:
            raise CassetteMiss(f"A recording is written as it is; {path.with_suffix('')} would have worked.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a+b") as file:
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        except OSError as error:
            raise CassetteMiss(f"The recording {path} cannot be written: {error}.") from error
        self._inner = inner
        self._path = path

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request on, and record it with its reply."""
        asked = scrubbed(request.url.path, await request.aread())
        reply = await self._inner.send(request)
        headers = {name: reply.headers[name] for name in KEPT if name in reply.headers}
        line = {
            "key": key(asked),
            "request": asked,
            "status": reply.status_code,
            "headers": headers,
            "reply": reply.content.decode("utf-8", "replace"),
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, sort_keys=True, ensure_ascii=False) + "\n")
        return httpx2.Response(reply.status_code, headers=headers, content=reply.content, request=request)

    async def aclose(self) -> None:
        """Close the client that sends."""
        await self._inner.aclose()


class Player(httpx2.AsyncBaseTransport):
    """A transport that answers from a cassette and opens no connection."""

    def __init__(self, path: Path) -> None:
        """Read a cassette; raises `CassetteMiss` if it cannot be read."""
        self._path = path
        try:
            self._lines = [json.loads(line) for line in _text(path).split("\n") if line.strip()]
            self._waiting: dict[str, list[Any]] = {}
            for line in self._lines:
                self._waiting.setdefault(line["key"], []).append(line)
        except (OSError, ValueError, KeyError, TypeError, EOFError, lzma.LZMAError) as error:
            raise CassetteMiss(f"The recording {path} cannot be read: {error}.") from error

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the recorded reply; raises `CassetteMiss`."""
        asked = scrubbed(request.url.path, await request.aread())
        waiting = self._waiting.get(key(asked))
        if waiting is None:
            raise CassetteMiss(f"{self._path} does not hold this request. {self._difference(asked)}")
        if not waiting:
            raise CassetteMiss(f"{self._path} holds this request, but fewer replies to it than are asked for now.")
        line = waiting.pop(0)
        return httpx2.Response(line["status"], headers=line["headers"], content=line["reply"].encode(), request=request)

    def _difference(self, asked: Mapping[str, Any]) -> str:
        """Say how a request differs from the recorded one that differs in fewest places."""
        if not self._lines:
            return "It is empty."
        nearest = min((list(differences(line["request"], asked)) for line in self._lines), key=len)
        places = "; ".join(nearest[:3])
        more = f"; and {len(nearest) - 3} places more" if len(nearest) > 3 else ""
        return f"Different from the nearest recorded one: {places}{more}."


def _text(path: Path) -> str:
    if path.suffix == PACKED:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            return file.read()
    return path.read_text(encoding="utf-8")


def scrubbed(path: str, body: bytes) -> dict[str, Any]:
    """Return a request as it is recorded: path and body, each picture as its digest."""
    try:
        content = json.loads(body or b"null")
    except ValueError:
        content = {"bytes": hashlib.sha256(body).hexdigest()}
    return {"path": path, "body": _without_pictures(content)}


def key(asked: Mapping[str, Any]) -> str:
    """Return the key of a scrubbed request."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def differences(recorded: Any, asked: Any, where: str = "") -> Iterator[str]:
    """Yield every place at which two requests differ, with both values."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for name in sorted(recorded.keys() | asked.keys()):
            here = f"{where}.{name}" if where else name
            yield from differences(recorded.get(name), asked.get(name), here)
    elif isinstance(recorded, list) and isinstance(asked, list):
        for index in range(max(len(recorded), len(asked))):
            one, other = (each[index] if index < len(each) else None for each in (recorded, asked))
            yield from differences(one, other, f"{where}[{index}]")
    elif recorded != asked:
        yield f"{where} was {_excerpt(recorded, asked)} and is {_excerpt(asked, recorded)}"


def _without_pictures(value: Any) -> Any:
    match value:
        case {"type": "base64", "data": str(data)}:
            return {**value, "data": _digest(data)}
        case dict():
            return {name: _without_pictures(each) for name, each in value.items()}
        case list():
            return [_without_pictures(each) for each in value]
        case str() if value.startswith(PICTURE) and ";base64," in value:
            head, _, data = value.partition(";base64,")
            return f"{head};{_digest(data)}"
        case _:
            return value


def _digest(data: str) -> str:
    return f"sha256={hashlib.sha256(base64.b64decode(data)).hexdigest()}"


def _excerpt(value: Any, other: Any) -> str:
    """Return a value, or of two long texts the part from a little before where they part."""
    text = json.dumps(value, ensure_ascii=False)
    beside = json.dumps(other, ensure_ascii=False)
    start = 0
    if isinstance(value, str) and isinstance(other, str):
        same = next((at for at, (a, b) in enumerate(zip(text, beside, strict=False)) if a != b), 0)
        start = max(0, same - LONG // 3)
    shown = text[start : start + LONG]
    return f"{'…' if start else ''}{shown}{'…' if start + LONG < len(text) else ''}"
