"""What is remembered: advice, and the state in which it was learned (paper, section 3.2).

A condition is a conjunction of terms over the fields of a structured state, such as `ph` between 7.5 and 8.0. A field
that no term names does not matter. The smallest condition that covers two others is their hull.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["skill", "strategy", "safety"]
KINDS: tuple[Kind, ...] = ("skill", "strategy", "safety")
Value = float | int | str | bool
"""What a field of a structured state may hold; numbers are in the unit that the field's owner states."""
State = Mapping[str, Value]
PLACE = re.compile(r"\{(\w+)\}")
"""Where a sentence names a parameter."""
LONGEST = 2000
"""Characters of a sentence of advice; what is longer is a transcript."""
NEAR = 0.05
"""Share of a number's size within which two numbers mean the same condition; a convention of ours."""


@dataclass(frozen=True, slots=True)
class Term:
    """One field of a state within [`low`, `high`], both included, or `among` some words.

    None leaves that side open. `unit` is for readers; two units of one field are never compared.
    """

    field: str
    low: float | None = None
    high: float | None = None
    among: tuple[str, ...] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        numeric = self.low is not None or self.high is not None
        if not self.field or numeric == bool(self.among):
            raise ValueError(f"The term on {self.field!r} needs a name, and either low or high or some words.")
        if any(bound is not None and not math.isfinite(bound) for bound in (self.low, self.high)):
            raise ValueError(
                f"The bounds of {self.field!r} are {self.low} to {self.high}; finite ones would have worked."
            )
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"The term on {self.field!r} runs from {self.low:g} to {self.high:g}; swap them.")

    def holds(self, value: Value) -> bool:
        """Return whether a value satisfies the term; a word never satisfies a range, nor a number a set of words."""
        if self.among:
            return word(value) in self.among
        if isinstance(value, (str, bool)) or not math.isfinite(value):
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.among:
            return f"{self.field} = {' or '.join(self.among)}"
        if self.low is None:
            return f"{self.field} ≤ {self.high:g}{unit}"
        if self.high is None:
            return f"{self.field} ≥ {self.low:g}{unit}"
        return f"{self.field} = {self.low:g}{'' if self.high == self.low else f'–{self.high:g}'}{unit}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number or a word that an action takes, such as `pre_stop` = 1.8 g."""

    name: str
    value: float | str
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("A parameter needs a name.")
        if isinstance(self.value, bool):
            raise ValueError(
                f"The parameter {self.name!r} is {self.value}; the word 'true' or 'false' would have worked."
            )
        if isinstance(self.value, float) and not math.isfinite(self.value):
            raise ValueError(f"The parameter {self.name!r} is {self.value}; a finite number would have worked.")

    @property
    def shown(self) -> str:
        """Return the value with its unit."""
        value = self.value if isinstance(self.value, str) else f"{self.value:.4g}"
        return f"{value}{f' {self.unit}' if self.unit else ''}"

    def __str__(self) -> str:
        return f"{self.name} = {self.shown}"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do: parameters for a program, and a sentence for a reader or a language model.

    The sentence names parameters as `{amount}`, so that it still says what they are after they were averaged.
    """

    sentence: str
    parameters: tuple[Parameter, ...] = ()

    def __post_init__(self) -> None:
        if not self.sentence.strip():
            raise ValueError("Advice needs a sentence.")
        if len(self.sentence) > LONGEST:
            raise ValueError(f"The advice has {len(self.sentence)} characters; up to {LONGEST} would have worked.")
        _unique("parameter", (parameter.name for parameter in self.parameters))
        named = {parameter.name for parameter in self.parameters}
        for name in PLACE.findall(self.sentence):
            if name not in named:
                known = ", ".join(sorted(named)) or "no parameter"
                raise ValueError(f"The sentence asks for {{{name}}}; the advice has {known}.")

    @property
    def told(self) -> str:
        """Return the sentence with the values that the parameters have now."""
        values = {each.name: each.shown for each in self.parameters}
        return PLACE.sub(lambda found: values[found[1]], self.sentence)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a lesson comes from: trials, the task instances that they ran on, and the versions involved."""

    runs: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()

    def __or__(self, other: Source) -> Source:
        """Return both, each name once, in the order in which they came."""
        return Source(
            _both(self.runs, other.runs), _both(self.instances, other.instances), _both(self.versions, other.versions)
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """A lesson before it is in a bank: e of equation Maintain(M, e, o)."""

    kind: Kind
    when: tuple[Term, ...]
    advice: Advice

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"The kind is {self.kind!r}; {', '.join(KINDS)} would have worked.")
        _unique("field", (term.field for term in self.when))

    @property
    def text(self) -> str:
        """Return all words of the lesson, for text search."""
        named = " ".join(f"{each.name} {each.value}" for each in self.advice.parameters)
        return f"{self.advice.sentence} {' '.join(map(str, self.when))} {named}"


@dataclass(frozen=True, slots=True)
class Experience:
    """An entry of a bank. Times are numbers of trials, never of seconds."""

    id: str
    version: int
    """1, plus one for each change of the condition or the advice."""
    lesson: Draft
    score: float
    uses: int = 0
    """Votes of trials that followed the advice."""
    successes: int = 0
    """How many of these succeeded."""
    source: Source = field(default_factory=Source)
    voters: tuple[str, ...] = ()
    """Trials that voted; none votes twice."""
    born: int = 0
    """Trial that brought it."""
    reused: int = 0
    """Last successful trial that followed it, or 0."""
    settled: int = 0
    """Trial up to which forgetting has been charged."""
    ended: str = ""
    """Why it is no longer in use; empty while it is."""

    @property
    def utility(self) -> float:
        """Return the rate of success among uses, (successes + 1) / (uses + 2)."""
        return (self.successes + 1) / (self.uses + 2)


def word(value: Value) -> str:
    """Return how a value reads as a word: true and false for booleans."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def hull(one: Iterable[Term], other: Iterable[Term]) -> tuple[Term, ...]:
    """Return the smallest condition that holds wherever one of two holds.

    A field that only one of them names, or that they name in two units or as number and word, is left open.
    """
    others = {term.field: term for term in other}
    joined = []
    for term in one:
        match = others.get(term.field)
        if match is None or bool(match.among) != bool(term.among) or match.unit != term.unit:
            continue
        if term.among:
            joined.append(Term(term.field, among=_both(term.among, match.among)))
            continue
        low = None if term.low is None or match.low is None else min(term.low, match.low)
        high = None if term.high is None or match.high is None else max(term.high, match.high)
        if low is not None or high is not None:
            joined.append(Term(term.field, low, high, unit=term.unit))
    return tuple(joined)


def around(name: str, value: Value, unit: str = "", spread: float | None = None) -> Term:
    """Return the term for a value and its neighbours: `spread` to both sides, or a share `NEAR` of its size."""
    if isinstance(value, (str, bool)):
        return Term(name, among=(word(value),))
    half = abs(value) * NEAR if spread is None else spread
    return Term(name, value - half, value + half, unit=unit)


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"The {what} {name!r} is named twice.")
        seen.add(name)
