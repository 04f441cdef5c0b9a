"""How alike two lessons are, from their structure first; and what a state has to do with a condition.

Both results lie in [0, 1]. Nothing here was fitted: the weights are a convention of ours, and part of what the version
of a bank's rules stands for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from .experience import NEAR, Draft, Parameter, State, Term, Value, word
from .words import tokens

CONDITION, PARAMETERS, SENTENCE = 0.5, 0.3, 0.2
"""Weights of the three parts of a lesson; parts that neither lesson has leave theirs to the others."""
UNKNOWN = 0.5
"""What a term counts that asks for a field which the state does not tell."""
TINY = 1e-9


def alike(one: Draft, other: Draft) -> float:
    """Return how alike two lessons are: 1 for the same, 0 for two kinds or two units of one parameter."""
    if one.kind != other.kind or _units_differ(one, other):
        return 0.0
    parts = [(SENTENCE, _sentences(one.advice.sentence, other.advice.sentence))]
    if one.when or other.when:
        parts.append((CONDITION, _conditions(one.when, other.when)))
    if one.advice.parameters or other.advice.parameters:
        parts.append((PARAMETERS, _parameters(one.advice.parameters, other.advice.parameters)))
    return sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)


def same_numbers(one: Draft, other: Draft) -> bool:
    """Return whether two lessons advise the same parameters, numbers within a share `NEAR` of each other."""
    ours, theirs = ({each.name: each.value for each in lesson.advice.parameters} for lesson in (one, other))
    return ours.keys() == theirs.keys() and all(_close(ours[name], theirs[name]) >= 1 - NEAR for name in ours)


def fit(term: Term, state: State) -> float:
    """Return how a state fits a term: 1 if it holds, less with the distance from a range, `UNKNOWN` if untold."""
    if term.field not in state:
        return UNKNOWN
    value = state[term.field]
    if term.holds(value):
        return 1.0
    if term.among or isinstance(value, (str, bool)) or not math.isfinite(value):
        return 0.0
    nearest = term.low if term.low is not None and value < term.low else term.high
    assert nearest is not None
    width = (term.high - term.low) if term.low is not None and term.high is not None else 0.0
    return math.exp(-abs(value - nearest) / max(width, 2 * NEAR * abs(nearest), TINY))


def applies(when: tuple[Term, ...], state: State) -> float:
    """Return the mean fit of a condition's terms; `UNKNOWN` for advice that names no condition."""
    return sum(fit(term, state) for term in when) / len(when) if when else UNKNOWN


def _conditions(one: tuple[Term, ...], other: tuple[Term, ...]) -> float:
    ours, theirs = ({term.field: term for term in terms} for terms in (one, other))
    fields = ours.keys() | theirs.keys()
    both = ours.keys() & theirs.keys()
    return sum(_overlap(ours[name], theirs[name]) for name in sorted(both)) / len(fields)


def _overlap(one: Term, other: Term) -> float:
    """Return the share of two terms' hull that is common to both; ranges are widened by `NEAR` first."""
    if bool(one.among) != bool(other.among) or one.unit != other.unit:
        return 0.0
    if one.among:
        return len(set(one.among) & set(other.among)) / len(set(one.among) | set(other.among))
    if (one.low is None) != (other.low is None) or (one.high is None) != (other.high is None):
        return 0.0
    (low_one, high_one), (low_other, high_other) = _widened(one, other), _widened(other, one)
    common = min(high_one, high_other) - max(low_one, low_other)
    total = max(high_one, high_other) - min(low_one, low_other)
    return max(0.0, common) / total


def _widened(term: Term, beside: Term) -> tuple[float, float]:
    """Return a range widened at both ends; an open end is put where the further bound of the two terms is."""
    bounds = [bound for each in (term, beside) for bound in (each.low, each.high) if bound is not None]
    size = max(*(abs(bound) for bound in bounds), TINY)
    low = min(bounds) - size if term.low is None else term.low
    high = max(bounds) + size if term.high is None else term.high
    return low - NEAR * size, high + NEAR * size


def _parameters(one: tuple[Parameter, ...], other: tuple[Parameter, ...]) -> float:
    ours, theirs = ({each.name: each.value for each in parameters} for parameters in (one, other))
    both = ours.keys() & theirs.keys()
    return sum(_close(ours[name], theirs[name]) for name in sorted(both)) / len(ours.keys() | theirs.keys())


def _close(one: Value, other: Value) -> float:
    if isinstance(one, str) or isinstance(other, str):
        return float(word(one) == word(other))
    return 1 - min(1.0, abs(one - other) / max(abs(one), abs(other), TINY))


def _sentences(one: str, other: str) -> float:
    """Return the cosine of two sentences' word counts."""
    ours, theirs = _counted(one), _counted(other)
    if not ours or not theirs:
        return float(one.strip() == other.strip())
    return min(1.0, _dot(ours, theirs) / math.sqrt(_dot(ours, ours) * _dot(theirs, theirs)))


@lru_cache(maxsize=4096)
def _counted(sentence: str) -> Mapping[str, int]:
    return Counter(tokens(sentence))


def _dot(one: Mapping[str, int], other: Mapping[str, int]) -> int:
    return sum(count * other.get(name, 0) for name, count in one.items())


def _units_differ(one: Draft, other: Draft) -> bool:
    units = {each.name: each.unit for each in one.advice.parameters}
    return any(units.get(each.name, each.unit) != each.unit for each in other.advice.parameters)
