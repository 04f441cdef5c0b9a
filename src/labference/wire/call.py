"""Calls of a policy across a wire: what one says, and how it can end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .codec import decode, encode
from .refusal import Refusal, ServiceFault

RETURNED, REFUSED, FAULTY = "returned", "refused", "faulty"
LONGEST_WORDS = 200
"""Most characters of what a policy raised that are passed on."""


def raised(name: str, error: BaseException) -> Refusal:
    """Return what an exception that the system called `name` raised on its own account counts as."""
    words = " ".join(str(error).split())[:LONGEST_WORDS].encode(errors="backslashreplace").decode()
    return Refusal("exception", f"{name!r} raised {type(error).__name__}: {words}")


def outcome(name: str, call: Callable[[], object]) -> tuple[Any, ...]:
    """Carry out a call of the system called `name`, and return how it ended, as a value that can cross.

    `KeyboardInterrupt` belongs to whoever is at the terminal, and passes.
    """
    try:
        return (RETURNED, call())
    except Refusal as refusal:
        return (REFUSED, refusal.kind, str(refusal))
    except ServiceFault as fault:
        return (FAULTY, str(fault))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # a policy may raise anything
        found = raised(name, error)
        return (REFUSED, found.kind, str(found))


def packed(name: str, call: Callable[[], object], largest: int) -> bytes:
    """Return how a call of the system called `name` ended as bytes.

    What cannot cross, or is longer than `largest` bytes, becomes a refusal.
    """
    ended = outcome(name, lambda: encode(outcome(name, call)))
    message: bytes = ended[1] if ended[0] == RETURNED else encode(ended)
    return message if len(message) <= largest else encode((REFUSED, "too_long", too_long(len(message), largest)))


def result(message: bytes) -> Any:
    """Return what a call returned, or raise what it ended with."""
    match decode(message):
        case ("returned", value):
            return value
        case ("refused", str(kind), str(sentence)):
            raise Refusal(kind, sentence)
        case ("faulty", str(sentence)):
            raise ServiceFault(sentence)
    raise Refusal("malformed", f"A message of {len(message)} bytes says nothing of how a call ended.")


def too_long(size: int, largest: int) -> str:
    """Return the sentence about an answer of `size` bytes."""
    return f"An answer has {size} bytes; at most {largest} work."
