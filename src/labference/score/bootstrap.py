"""Intervals for what is not one outcome per independent episode: whole clusters are resampled (paper section 7.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from .rate import CONFIDENCE, Interval, Rate

RESAMPLES, SEED = 9999, 7
"""The same records give the same interval, digit for digit."""
BATCH = 1000
"""Resamples held in memory at a time."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What stays together: the sum of `size` outcomes of one episode, or of one group of matched branches."""

    total: float
    size: int


@dataclass(frozen=True, slots=True)
class Clustered(Rate):
    """A rate over opportunities that episodes share: its interval resamples episodes."""

    clusters: tuple[Cluster, ...] = field(default=(), repr=False)

    @property
    def interval(self) -> Interval | None:
        """Return the cluster bootstrap interval at `CONFIDENCE`, None where the population is empty."""
        return interval(self.clusters, 0.0, 1.0)


def clustered(episodes: Iterable[Iterable[bool]]) -> Clustered:
    """Return how many outcomes are true, given the outcomes of each episode."""
    found = [[bool(outcome) for outcome in episode] for episode in episodes]
    clusters = tuple(Cluster(sum(outcomes), len(outcomes)) for outcomes in found)
    return Clustered(sum(map(sum, found)), sum(map(len, found)), clusters)


def clusters(values: Sequence[float], groups: Sequence[int]) -> tuple[Cluster, ...]:
    """Return `values` by group, in the order in which groups appear."""
    found: dict[int, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        found.setdefault(group, []).append(value)
    return tuple(Cluster(sum(members), len(members)) for members in found.values())


@lru_cache(maxsize=4096)
def interval(found: tuple[Cluster, ...], least: float, most: float) -> Interval | None:
    """Return the percentile bootstrap interval of sum(total)/sum(size), None where there is nothing.

    Outcomes lie in [`least`, `most`]. Clusters that are all alike give a bootstrap nothing to resample; then the Wilson
    bound on the share of clusters that could still differ, each by as much as possible, makes the interval.
    """
    from scipy.stats import binomtest, bootstrap  # here: it takes a second, and most commands print no interval

    kept = [cluster for cluster in found if cluster.size]
    if not kept:
        return None
    totals = np.array([cluster.total for cluster in kept], float)
    sizes = np.array([cluster.size for cluster in kept], float)
    value, each = totals.sum() / sizes.sum(), totals / sizes
    if np.ptp(each) < 1e-12:
        other = binomtest(0, len(kept)).proportion_ci(CONFIDENCE, method="wilson").high
        return Interval(float(value - other * (value - least)), float(value + other * (most - value)))
    drawn = bootstrap(
        (totals, sizes),
        _ratio,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=BATCH,
        confidence_level=CONFIDENCE,
        method="percentile",
        random_state=np.random.default_rng(SEED),
    ).confidence_interval
    return Interval(float(drawn.low), float(drawn.high))


def alike(found: Sequence[Cluster]) -> bool:
    """Return whether the interval of `found` rests on the Wilson bound instead of resampling."""
    each = [cluster.total / cluster.size for cluster in found if cluster.size]
    return not each or max(each) - min(each) < 1e-12


def _ratio(totals: Any, sizes: Any, axis: int) -> Any:
    return totals.sum(axis=axis) / sizes.sum(axis=axis)
