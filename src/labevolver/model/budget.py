"""Hard limits of one trial: requests, tokens and money. Counted before each request leaves, whatever sends it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Most of each that a trial may use; None is no limit."""

    requests: int | None = 200
    """Requests that leave, answered or not."""
    tokens: int | None = None
    """Tokens in and out. A request may still use what it was sent with: its prompt, and the output it is allowed."""
    cost_usd: float | None = None
    """US dollars, by the price list of the installed genai-prices."""

    def __post_init__(self) -> None:
        for name, value in (("requests", self.requests), ("tokens", self.tokens), ("cost_usd", self.cost_usd)):
            if value is not None and value < 0:
                raise ValueError(f"The limit of {name} is {value}; 0 or more would have worked.")


class Budget:
    """What a trial has used of its limits. One for each trial; several minds may share it."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.requests = 0
        self.tokens = 0
        self.cost_usd = 0.0
        self.untold = 0
        """Answered requests that did not tell their tokens; counted as one for each byte, which is never too few."""
        self.unpriced = 0
        """Answered requests without a known price."""

    def spent(self) -> str:
        """Return the sentence for what is used up, or nothing."""
        for used, limit, what in (
            (self.requests, self.limits.requests, "requests"),
            (self.tokens, self.limits.tokens, "tokens"),
            (self.cost_usd, self.limits.cost_usd, "US dollars"),
        ):
            if limit is not None and used >= limit:
                return f"The trial's limit of {limit:g} {what} is used up ({used:g})."
        return ""

    def tokens_left(self) -> int | None:
        """Return how many tokens are left, or None if there is no limit."""
        return None if self.limits.tokens is None else max(0, self.limits.tokens - self.tokens)

    def sent(self) -> None:
        """Count a request that is about to leave."""
        self.requests += 1

    def answered(self, tokens: int | None, size: int, cost_usd: float | None) -> None:
        """Count what a reply used: its tokens, or the bytes of request and reply [B] if it does not tell them."""
        self.tokens += size if tokens is None else tokens
        self.untold += tokens is None
        self.cost_usd += cost_usd or 0.0
        self.unpriced += cost_usd is None
