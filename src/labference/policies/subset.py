"""Which standards bring a balance to a target: arithmetic over all subsets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable


def best_subset(wanted: float, standards: Iterable[int]) -> tuple[frozenset[int], float]:
    """Return the subset of `standards` whose sum is nearest to `wanted`, and how far it is [g].

    Of equally near subsets the one with fewer weights comes first, then the lighter one.
    """
    ordered = sorted(set(standards))
    subsets = [subset for size in range(len(ordered) + 1) for subset in itertools.combinations(ordered, size)]
    best = min(subsets, key=lambda subset: abs(wanted - sum(subset)))
    return frozenset(best), abs(wanted - sum(best))


def next_correction(on_pan: frozenset[int], wanted: frozenset[int]) -> int | None:
    """Return the standard to move next, or None where all is right; removals come first, so that the pan has room."""
    surplus, missing = on_pan - wanted, wanted - on_pan
    return max(surplus or missing, default=None)
