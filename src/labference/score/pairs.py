"""Registered pairs of starts: does the answer change with the state, and persist through a move (section 7.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .branch import Branch
from .diagnosis import BASE, Diagnosis
from .interfaces import SOURCES, located
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


@dataclass(frozen=True, slots=True)
class Moved:
    """Localisation over the geometric pairs, each member in its own scene: p' = R p + d and v' = R v.

    located  pairs in which everything that the operation needs was located in both poses
    one, two  position errors e_p [m] in the first and in the second pose, of the pairs in which both were stated
    axes     directed axis errors e_v [rad] in both poses of these pairs
    """

    located: Pairs
    one: tuple[float, ...]
    two: tuple[float, ...]
    axes: tuple[float, ...]


def paired(diagnosis: Diagnosis, kind: Literal["state", "geometry"]) -> Pairs:
    """Return P_state, or how often the same local choice was made and realised in both poses."""
    return _pairs(diagnosis, kind, _chosen if kind == "state" else _realised)


def moved(diagnosis: Diagnosis) -> Moved:
    """Return how well the same local target is located before and after the transform, where the right one is asked.

    The decision is given (the branch `decision:replace`), so that both members locate the same local target.
    """
    found = [
        [_misses(diagnosis, number) for number in (pair.one, pair.two)]
        for pair in diagnosis.registration.pairs
        if pair.kind == "geometry"
    ]
    shared = [(one, two, name) for one, two in found for name in one if name in two]
    return Moved(
        _pairs(diagnosis, "geometry", lambda branch: bool(located(branch)), SOURCES["geometry"]),
        tuple(one[name][0] for one, _, name in shared),
        tuple(two[name][0] for _, two, name in shared),
        tuple(entry[name][1] for one, two, name in shared for entry in (one, two)),
    )


def _misses(diagnosis: Diagnosis, number: int) -> dict[str, tuple[float, float]]:
    """Return e_p [m] and e_v [rad] of the targets that a start's first geometry report stated validly, by name."""
    branch = diagnosis.branches.get((SOURCES["geometry"], number))
    receipt = None if branch is None else branch.first("geometry")
    stated = [] if receipt is None else receipt["misses"]
    return {miss["name"]: (miss["position"], miss["axis"]) for miss in stated if None not in miss.values()}


def _pairs(
    diagnosis: Diagnosis, kind: Literal["state", "geometry"], passed: Callable[[Branch], bool], support: str = BASE
) -> Pairs:
    registered = support in diagnosis.registration.branches
    pairs = [pair for pair in diagnosis.registration.pairs if pair.kind == kind and registered]
    known = [[_known(diagnosis.branches[support, number], passed) for number in (pair.one, pair.two)] for pair in pairs]
    good = sum(all(member is True for member in members) for members in known)
    # One member that failed decides its pair, whatever becomes of the other.
    open_ = sum(None in members and False not in members for members in known)
    return Pairs(kind, Rate(good, len(pairs)), Bounds(good, open_, len(pairs)) if pairs else None)


def _known(branch: Branch, passed: Callable[[Branch], bool]) -> bool | None:
    return None if branch.outcome is None else passed(branch)


def _chosen(branch: Branch) -> bool:
    return branch.outcome is not None and branch.outcome.choice


def _realised(branch: Branch) -> bool:
    return branch.outcome is not None and branch.outcome.choice and branch.outcome.subgoal
