"""What goes wrong at the boundary, in public words only."""

from __future__ import annotations

KINDS = (
    "nonfinite",
    "shape",
    "dtype",
    "too_long",
    "empty",
    "out_of_range",
    "unknown_operation",
    "unknown_act",
    "unsupported",
    "too_many",
    "malformed",
    "exception",
)
"""What can be wrong with an answer."""


class Refusal(Exception):
    """A supported interface was answered with nonsense: scored as an interface failure.

    `kind` is one of `KINDS`. The sentence is built from the answer and the `ActionSpec` alone.
    """

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


class ServiceFault(Exception):
    """A service, transport or process behind a policy failed: a validity event, never a policy outcome."""
