"""The two forms of a body over HTTP: plain values as strict JSON, or as msgpack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labference.wire import Refusal, plain


@dataclass(frozen=True, slots=True)
class Format:
    """A form of plain values: its media type, how they are written and read, and whether arrays are bytes in it."""

    name: str
    media: str
    write: Callable[[object], bytes]
    read: Callable[[bytes], Any]
    binary: bool = False


def _pack(tree: object) -> bytes:
    import msgpack

    try:
        packed: bytes = msgpack.packb(tree, unicode_errors="surrogatepass")
    except (ValueError, OverflowError) as error:
        raise Refusal("malformed", f"A value cannot be written as msgpack: {error}.") from error
    return packed


def _unpack(message: bytes) -> Any:
    import msgpack

    try:
        return msgpack.unpackb(message, ext_hook=_no_extension, unicode_errors="surrogatepass")
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise Refusal("malformed", f"A body of {len(message)} bytes is no msgpack: {error or 'cut off'}.") from error


def _no_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"extension type {code} of {len(data)} bytes")


JSON = Format("json", "application/json", plain.to_json, plain.from_json)
MSGPACK = Format("msgpack", "application/msgpack", _pack, _unpack, binary=True)
FORMATS = {form.name: form for form in (JSON, MSGPACK)}
"""Forms of a body, by the word for them in an address."""


def by_media(media: str) -> Format | None:
    """Return the form that a Content-Type header names, whatever its parameters."""
    word = media.partition(";")[0].strip().lower()
    return next((form for form in FORMATS.values() if form.media == word), None)


def has_msgpack() -> bool:
    """Return whether msgpack is installed."""
    try:
        import msgpack  # noqa: F401
    except ImportError:
        return False
    return True
