"""Who reads the truth: their results are references, and never results."""

from __future__ import annotations

from .identity import EXPERT

EXPOSED = "+evaluator"
"""Ends the name of a tool that shows the evaluator's state to whoever answers, for training."""


def reads_the_truth(policy: str) -> bool:
    """Return whether a plan's `policy` may know what an evaluation hides."""
    return policy == EXPERT or policy.endswith(EXPOSED)
