"""Registered pairs of starts: does the answer change with the state, and persist through a move (section 7.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .branch import Outcome
from .diagnosis import BASE, Diagnosis
from .rate import Bounds, Rate


@dataclass(frozen=True, slots=True)
class Pairs:
    """Paired correctness over the registered pairs of one kind.

    correct  pairs in which both members pass; the rate is over all pairs, and final once none is unresolved
    bounds   s/N and (s + u)/N
    """

    kind: Literal["state", "geometry"]
    correct: Rate
    bounds: Bounds | None


def paired(diagnosis: Diagnosis, kind: Literal["state", "geometry"]) -> Pairs:
    """Return P_state, or how often the same local choice was made and realised in both poses."""
    passed = _chosen if kind == "state" else _realised
    pairs = [pair for pair in diagnosis.registration.pairs if pair.kind == kind]
    known = [
        [_known(diagnosis.branches[BASE, number].outcome, passed) for number in (pair.one, pair.two)] for pair in pairs
    ]
    good = sum(all(member is True for member in members) for members in known)
    # One member that failed decides its pair, whatever becomes of the other.
    open_ = sum(None in members and False not in members for members in known)
    return Pairs(kind, Rate(good, len(pairs)), Bounds(good, open_, len(pairs)) if pairs else None)


def _known(outcome: Outcome | None, passed: Callable[[Outcome], bool]) -> bool | None:
    return None if outcome is None else passed(outcome)


def _chosen(outcome: Outcome) -> bool:
    return outcome.choice


def _realised(outcome: Outcome) -> bool:
    return outcome.choice and outcome.subgoal
