"""Read a PDDL problem of ALFWorld: its ground facts and its goal, and decide whether the goal holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

Fact: TypeAlias = tuple[str, ...]
Facts: TypeAlias = Mapping[str, AbstractSet[Fact]]
"""Predicate -> the tuples of ids it holds of."""
Formula: TypeAlias = "tuple[str | Formula, ...]"
Binding: TypeAlias = dict[str, str]

ATOM = re.compile(r"\(\s*(\w+)((?:\s+[^\s()]+)*)\s*\)")
TOKEN = re.compile(r"[()]|[^\s()]+")


class ProblemError(ValueError):
    """The text is not a problem of ALFWorld's domain."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Facts that hold at the start and the goal, in lower case as the planner reads them."""

    facts: Mapping[str, frozenset[Fact]]
    goal: Formula


def parse_problem(text: str) -> Problem:
    """Return the facts and the goal of a PDDL problem; numeric facts such as distances are left out.

    Raises:
        ProblemError: There is no `(:init` or no `(:goal`, or the goal's brackets do not match.
    """
    lower = text.lower()
    start, end = lower.find("(:init"), lower.find("(:goal")
    if start < 0 or end < start:
        raise ProblemError("A problem has an (:init ...) followed by a (:goal ...); this text has not.")
    facts: dict[str, set[Fact]] = {}
    for predicate, arguments in ATOM.findall(lower, start + len("(:init"), end):
        facts.setdefault(predicate, set()).add(tuple(arguments.split()))
    return Problem({name: frozenset(rows) for name, rows in facts.items()}, _goal(lower[end:]))


def _goal(text: str) -> Formula:
    """Return the formula of `(:goal FORMULA)`."""
    stack: list[list[str | Formula]] = [[]]
    for token in TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = tuple(stack.pop())
            if len(stack) == 1:
                if len(done) != 2 or not isinstance(done[1], tuple):
                    break
                return done[1]
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    raise ProblemError("The goal of a problem is one formula in matching brackets; this one is not.")


def holds(formula: Formula, facts: Facts) -> bool:
    """Return whether a closed formula holds: and, or, not, exists, =, and atoms."""
    return next(_bindings(formula, facts, {}), None) is not None


def _bindings(formula: Formula, facts: Facts, bound: Binding) -> Iterator[Binding]:
    """Yield the ways to make `formula` true that extend `bound`."""
    head, *rest = formula
    parts = [part for part in rest if isinstance(part, tuple)]
    match head:
        case "and":
            yield from _conjunction(parts, facts, bound)
        case "or":
            for part in parts:
                yield from _bindings(part, facts, bound)
        case "not":
            if next(_bindings(parts[0], facts, bound), None) is None:
                yield bound
        case "exists":
            inner = {name: value for name, value in bound.items() if name not in parts[0]}
            if next(_bindings(parts[1], facts, inner), None) is not None:
                yield bound
        case "=":
            left, right = (bound.get(str(word), str(word)) for word in rest)
            if left == right:
                yield bound
        case _:
            yield from _atom(str(head), [str(word) for word in rest], facts, bound)


def _conjunction(parts: list[Formula], facts: Facts, bound: Binding) -> Iterator[Binding]:
    """Join the conjuncts, always the one with the fewest free variables first, tests last of all."""
    if not parts:
        yield bound
        return
    first = min(parts, key=lambda part: _freedom(part, bound))
    rest = [part for part in parts if part is not first]
    for extended in _bindings(first, facts, bound):
        yield from _conjunction(rest, facts, extended)


def _freedom(part: Formula, bound: Binding) -> int:
    """Return how many variables an atom would have to bind; what binds nothing for others waits."""
    if any(isinstance(word, tuple) for word in part) or part[0] == "=":
        return 100
    return sum(1 for word in part[1:] if isinstance(word, str) and word.startswith("?") and word not in bound)


def _atom(predicate: str, words: list[str], facts: Facts, bound: Binding) -> Iterator[Binding]:
    rows = facts.get(predicate, frozenset())
    terms = [bound.get(word, word) for word in words]
    if not any(term.startswith("?") for term in terms):
        if tuple(terms) in rows:
            yield bound
        return
    for row in rows:
        extended = dict(bound)
        for term, value in zip(terms, row, strict=True):
            if term != value and (not term.startswith("?") or extended.setdefault(term, value) != value):
                break
        else:
            yield extended
