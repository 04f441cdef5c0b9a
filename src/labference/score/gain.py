"""What support changes: paired gains over matched branches (paper section 6.4, equation 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from labference.truth.support import parse

from . import bootstrap
from .bootstrap import Clustered, clustered
from .branch import Branch, Outcome
from .diagnosis import BASE, Diagnosis
from .rate import Interval, Rate, rate

OutcomeName = Literal["choice", "subgoal", "completion", "failures"]
OUTCOMES: tuple[OutcomeName, ...] = ("choice", "subgoal", "completion", "failures")
ERRORS: tuple[OutcomeName, ...] = ("failures",)
"""Outcomes of which less is better: their gain is base minus supported, and they have no upper limit."""


@dataclass(frozen=True, slots=True)
class Gain:
    """One paired contrast; positive values are improvements.

    registered  starts of the registration
    complete    starts with valid outcomes in every branch of the contrast
    base        mean outcome without support, over the complete starts
    supported   mean outcome with it
    value       the contrast over all starts, None while the population is incomplete
    interval    of `value`, by resampling groups of matched branches
    bounds      what `value` can still become, None where it is known or the outcome has no limits
    alike       every group shows the same contrast, so that the interval is a bound and no resampling
    """

    outcome: OutcomeName
    registered: int
    complete: int
    base: float | None
    supported: float | None
    value: float | None
    interval: Interval | None
    bounds: Interval | None = None
    alike: bool = False

    @property
    def helps(self) -> bool:
        """Return whether the interval lies above zero."""
        return self.interval is not None and self.interval.low > 0

    @property
    def harms(self) -> bool:
        """Return whether the interval lies below zero."""
        return self.interval is not None and self.interval.high < 0


@dataclass(frozen=True, slots=True)
class Support:
    """What one registered support condition did.

    status     complete, incomplete, or unsupported by the tested system
    missing    starts without a valid outcome in the base, and in the supported branch
    delivered  supported branches in which support reached the system or its executor
    receipts   how often it did
    agreement  first choices that are the supplied operation, of branches in which one was supplied; None without
               decision support
    outcomes   rate of each outcome but the errors in the supported branch
    """

    support: str
    status: Literal["complete", "incomplete", "unsupported"]
    sentence: str
    missing: tuple[int, int]
    gains: tuple[Gain, ...]
    delivered: Rate
    receipts: int
    agreement: Rate | None

    def gain(self, outcome: str) -> Gain | None:
        """Return the gain in `outcome`, None where the support is unsupported."""
        return next((entry for entry in self.gains if entry.outcome == outcome), None)


def value(outcome: Outcome, name: str) -> float:
    """Return one outcome as a number."""
    return float(object.__getattribute__(outcome, name))


def supports(diagnosis: Diagnosis) -> tuple[Support, ...]:
    """Return every registered support condition of `diagnosis`."""
    return tuple(_support(diagnosis, support) for support in diagnosis.supports)


def contrasts(diagnosis: Diagnosis) -> dict[str, tuple[Gain, ...]]:
    """Return the interaction contrasts of joint supports whose parts are registered too; zero is an additive gain."""
    found = {}
    for joint in diagnosis.supports:
        parts = [str(entry) for entry in parse(joint)]
        if len(parts) == 2 and all(part in diagnosis.supports for part in parts):
            branches = [diagnosis.of(name) for name in (joint, *parts, BASE)]
            if not any(branch.status == "unsupported" for column in branches for branch in column):
                found[joint] = tuple(_contrast(diagnosis, name, branches, (1, -1, -1, 1)) for name in OUTCOMES)
    return found


def outcome_rate(branches: Sequence[Branch], name: str) -> Rate:
    """Return how many scored branches reached an outcome."""
    return rate(bool(value(branch.outcome, name)) for branch in branches if branch.outcome is not None)


def grouped_rate(diagnosis: Diagnosis, support: str, test: Callable[[Branch], Sequence[bool]]) -> Clustered:
    """Return the rate of what `test` finds in each scored branch, which stays together."""
    return clustered(test(branch) for branch in diagnosis.of(support) if branch.outcome is not None)


def _support(diagnosis: Diagnosis, support: str) -> Support:
    base, branches = diagnosis.of(BASE), diagnosis.of(support)
    scored = [branch for branch in branches if branch.outcome is not None]
    refused = next((branch.sentence for branch in branches if branch.status == "unsupported"), None)
    missing = (_missing(base), _missing(branches))
    return Support(
        support=support,
        status="unsupported" if refused is not None else "incomplete" if any(missing) else "complete",
        sentence=refused or "",
        missing=missing,
        gains=() if refused is not None else tuple(_gain(diagnosis, name, base, branches) for name in OUTCOMES),
        delivered=rate(bool(branch.given) for branch in scored),
        receipts=sum(len(branch.given) for branch in scored),
        agreement=_agreement(scored) if "decision" in support else None,
    )


def _missing(branches: Sequence[Branch]) -> int:
    return sum(branch.outcome is None for branch in branches)


def _agreement(scored: Sequence[Branch]) -> Rate:
    """Compare the first choice with the operation that was supplied for it; no identifiable choice disagrees."""
    pairs = []
    for branch in scored:
        assert branch.outcome is not None  # scored
        supplied = [
            entry["supplied"]["operation"]
            for entry in branch.given
            if entry["scope"] == "decision" and entry["opportunity"] == branch.outcome.opportunity
        ]
        if supplied:
            pairs.append(branch.outcome.chosen == supplied[0])
    return rate(pairs)


def _gain(diagnosis: Diagnosis, name: OutcomeName, base: Sequence[Branch], branches: Sequence[Branch]) -> Gain:
    return _contrast(diagnosis, name, [branches, base], (1, -1))


def _contrast(
    diagnosis: Diagnosis, name: OutcomeName, columns: Sequence[Sequence[Branch]], signs: tuple[int, ...]
) -> Gain:
    """Return the sum of the `columns` of branches with their `signs`; the first is supported, the last the base."""
    starts = diagnosis.registration.starts
    turned = -1 if name in ERRORS else 1
    rows = [[branch.outcome for branch in row] for row in zip(*columns, strict=True)]
    known = [
        (turned * sum(sign * value(found, name) for sign, found in zip(signs, row, strict=True) if found), start.group)
        for row, start in zip(rows, starts, strict=True)
        if None not in row
    ]
    whole = [[found for found in row if found is not None] for row in rows if None not in row]
    means = [sum(value(row[column], name) for row in whole) / len(whole) if whole else None for column in (0, -1)]
    found = Gain(name, len(starts), len(known), means[1], means[0], None, None)
    if len(known) < len(starts):
        return found if name in ERRORS else replace(found, bounds=_bounds(rows, signs, name))
    clusters = bootstrap.clusters([entry for entry, _ in known], [group for _, group in known])
    mean = sum(entry for entry, _ in known) / len(known)
    # Counts have no limits of their own: starts that could still differ are taken to differ by one.
    least, most = (mean - 1, mean + 1) if name in ERRORS else (-_span(signs), _span(signs))
    interval = bootstrap.interval(clusters, least, most)
    return replace(found, value=mean, interval=interval, alike=bootstrap.alike(clusters))


def _span(signs: Sequence[int]) -> float:
    """Return the largest contrast of outcomes between 0 and 1."""
    return float(sum(sign > 0 for sign in signs))


def _bounds(rows: Sequence[Sequence[Outcome | None]], signs: Sequence[int], name: OutcomeName) -> Interval:
    """Return the least and the largest contrast, over whatever the missing outcomes may turn out to be."""
    low = high = 0.0
    for row in rows:
        for sign, found in zip(signs, row, strict=True):
            if found is not None:
                low, high = low + sign * value(found, name), high + sign * value(found, name)
            else:
                low, high = low + min(sign, 0), high + max(sign, 0)
    return Interval(low / len(rows), high / len(rows))
