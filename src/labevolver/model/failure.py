"""Every way in which a request can fail, under the port's names."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import httpx2
from pydantic_ai import exceptions as library
from pydantic_ai.exceptions import ModelHTTPError

from .port import Fault


class CassetteMiss(Exception):
    """A cassette does not hold a request; the sentence says what is different."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed, and whether the same request may work a moment later."""

    fault: Fault
    sentence: str
    again: bool = False
    wait_s: float | None = None
    """What the provider asked to wait [s]."""


UNREADABLE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, json.JSONDecodeError)
"""What a client library raises over a body that lacks what it reads: an empty list of choices, a missing field."""
EXPECTED = (
    CassetteMiss,
    library.AgentRunError,
    library.UserError,
    OSError,
    httpx2.HTTPError,
    asyncio.TimeoutError,
    *UNREADABLE,
)
"""Everything that a request is known to raise."""
STATUS: dict[type[Exception], tuple[Fault, bool]] = {
    library.ModelRateLimitError: ("rate_limited", True),
    library.ModelQuotaExceededError: ("denied", False),
    library.ModelAuthenticationError: ("denied", False),
    library.ModelContextWindowExceededError: ("too_long", False),
    library.ModelRequestRejectedError: ("rejected", False),
    library.ModelUnavailableError: ("unavailable", True),
    library.ModelServerError: ("unavailable", True),
    library.ModelTimeoutError: ("timeout", True),
    library.ModelRequestTimeout: ("timeout", True),
    library.ModelConnectionError: ("unreachable", True),
    library.ContentFilterError: ("filtered", False),
}
"""Error of the client library -> fault, and whether to try again; the first that fits counts."""
OVERFLOWS = ("exceed_context_size", "context size", "context length", "context window")
"""How servers word that a request does not fit, those among them that the client library does not know."""
QUICKER = "a longer wait, or a lower limit of output tokens, may have worked"
AGAIN_FROM = 500
"""HTTP status from which a failure of an unknown kind may pass."""


def named(error: Exception, model: str, deadline_s: float) -> Failure:
    """Return what an exception of one request means that had to be answered within a deadline."""
    for link in _causes(error):
        if isinstance(link, CassetteMiss):
            return Failure("not_recorded", str(link))
    said = _said(error)
    if isinstance(error, ModelHTTPError) and _overflows(error):
        larger = "a larger one, or a lower limit of output tokens, would have worked"
        return Failure("too_long", f"{model} has no room for this request in its context; {larger}. It said: {said}")
    for kind, (fault, again) in STATUS.items():
        if isinstance(error, kind):
            return Failure(fault, f"{model}: {said}", again, _asked_wait(error))
    if isinstance(error, ModelHTTPError):
        again = error.status_code >= AGAIN_FROM
        return Failure("unavailable" if again else "rejected", f"{model}: {said}", again, error.retry_after)
    if isinstance(error, TimeoutError):
        return Failure("timeout", f"{model} did not reply within {deadline_s:g} s; {QUICKER}.", True)
    if isinstance(error, LookupError):
        return Failure("empty", f"{model} sent a reply without a choice ({said}).", True)
    if isinstance(error, (OSError, httpx2.HTTPError)):
        return Failure("unreachable", f"{model} cannot be reached: {said}", True)
    if isinstance(error, (library.UnexpectedModelBehavior, *UNREADABLE)):
        return Failure("garbled", f"{model} sent a reply that cannot be read: {said}", True)
    return Failure("setup", f"{model} cannot be used like this: {said}")


def _overflows(error: ModelHTTPError) -> bool:
    """Return whether a provider refused a request for its length."""
    if isinstance(error, library.ModelContextWindowExceededError):
        return True
    words = str(error.body).lower()
    return error.status_code < AGAIN_FROM and any(each in words for each in OVERFLOWS)


def _asked_wait(error: Exception) -> float | None:
    return error.retry_after if isinstance(error, library.ModelAPIError) else None


def _causes(error: BaseException) -> list[BaseException]:
    links = [error]
    while (cause := links[-1].__cause__ or links[-1].__context__) is not None and cause not in links:
        links.append(cause)
    return links


def _said(error: Exception) -> str:
    text = " ".join(_message(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."


def _message(error: Exception) -> str:
    """Return what an exception says: of an HTTP error the status and the provider's own message, where it has one."""
    if isinstance(error, ModelHTTPError):
        match error.body:
            case {"message": str(text)} | {"error": {"message": str(text)}} | {"error": str(text)} | str(text):
                return f"status {error.status_code}: {text}"
            case _:
                pass
    return str(error)
