"""What is known about how an observation reached a remote system, and what that system declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

Level = Literal["request-only", "received", "transformed"]
"""What a receipt vouches for: what was sent; what the service says it took in; or what it says reached the model."""


@dataclass(frozen=True, slots=True)
class RequestReceipt:
    """One question to a remote system.

    observation     the delivery that it carried
    level           what `seen` vouches for; "request-only" where the service gives no receipts
    sent, seen      key of the request -> sha256 of its content, as sent, and as the service says
    said            further statements of the service or the client about this answer, such as clipped actions
    """

    observation: int
    level: Level
    sent: tuple[tuple[str, str], ...]
    seen: tuple[tuple[str, str], ...] = ()
    said: tuple[tuple[str, str | int | float | bool], ...] = ()


@runtime_checkable
class Accountable(Protocol):
    """A system behind a wire that keeps receipts."""

    def receipts(self) -> tuple[RequestReceipt, ...]:
        """Return the receipts since the last call, oldest first."""
        ...

    def declared(self) -> str:
        """Return as JSON what the service declared when it was opened, and what could not be verified."""
        ...
