"""The port: what the agent asks of a mind, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from ..prompts import Prompt
from .budget import Budget

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Fault = Literal[
    "rate_limited",
    "unavailable",
    "unreachable",
    "timeout",
    "garbled",
    "empty",
    "rejected",
    "denied",
    "too_long",
    "filtered",
    "invalid",
    "budget",
    "unpriced",
    "not_recorded",
    "setup",
]
"""What can go wrong, in the order of `EXPLAINED`."""
EXPLAINED: dict[Fault, str] = {
    "rate_limited": "the provider asked to wait",
    "unavailable": "the provider failed (5xx)",
    "unreachable": "no connection",
    "timeout": "no reply in time",
    "garbled": "the reply was not what the provider's interface promises",
    "empty": "the reply held no choice",
    "rejected": "the provider refused the request",
    "denied": "key, account or quota",
    "too_long": "more than the model's context, or cut off at the limit of tokens",
    "filtered": "the provider's content filter",
    "invalid": "no reply had the type that was asked for",
    "budget": "a limit of the trial is used up",
    "unpriced": "a cost limit, and no known price",
    "not_recorded": "a cassette does not hold this request",
    "setup": "the model cannot be used as named",
}
ANSWER: frozenset[Fault] = frozenset({"invalid", "too_long", "filtered", "budget"})
"""Faults of an answer, or of who asked for too many: they are scored. From any other, such as a wrong key, nothing is
learned about the model, and the trial is tried again."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a model that can see, as the bytes of a file."""

    data: bytes
    media_type: str = "image/png"


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to a mind in one role; what the role is told comes from a prompt file."""

    role: str
    prompt: Prompt
    content: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One request that left, answered or not: each may have been billed."""

    outcome: str
    """`answered`, or a fault."""
    latency_s: float
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    """None where no price is known, never 0."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[T_co]):
    """A typed answer, and every call that it took."""

    value: T_co
    calls: tuple[Call, ...]
    prompt: str
    """Name, version and digest of the prompt."""

    @property
    def attempts(self) -> int:
        """Return how many requests left."""
        return len(self.calls)

    @property
    def tokens(self) -> int | None:
        """Return the tokens of all calls, in and out; None if an answered call does not tell its own."""
        told = [call for call in self.calls if call.outcome == "answered"]
        if any(call.tokens_in is None or call.tokens_out is None for call in told):
            return None
        return sum((call.tokens_in or 0) + (call.tokens_out or 0) for call in told)

    @property
    def cost_usd(self) -> float | None:
        """Return what all answered calls cost [US dollars]; None if one has no known price."""
        costs = [call.cost_usd for call in self.calls if call.outcome == "answered"]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def latency_s(self) -> float:
        """Return the time from the first request to the last reply, waits between them left out [s]."""
        return sum(call.latency_s for call in self.calls)


class ModelError(Exception):
    """A mind did not answer: `fault` is one of `EXPLAINED`, `calls` what left anyway, `raw` what was said last."""

    def __init__(self, fault: Fault, sentence: str, calls: tuple[Call, ...] = (), raw: str = "") -> None:
        super().__init__(sentence)
        self.fault = fault
        self.calls = calls
        self.raw = raw

    @property
    def of_service(self) -> bool:
        """Return whether a service, or how it was asked, failed, which says nothing about the model."""
        return self.fault not in ANSWER


class Mind(Protocol):
    """Whatever answers typed questions: a language model, a recording of one, or a rule."""

    @property
    def name(self) -> str:
        """Return provider and model, as they stand in a record."""
        ...

    def ask(self, ask: Ask, answer: type[T], budget: Budget) -> Reply[T]:
        """Return an answer of the type asked for, within the budget; raises `ModelError` and nothing else."""
        ...
