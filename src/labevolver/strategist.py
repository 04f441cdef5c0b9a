"""The outer loop (paper, section 3.2): e = Ψ(τ, g), what a finished trial teaches, as proposals to the bank.

`Strategist` is the protocol. `SymbolicStrategist` reads a trajectory by rule and needs no model; `model.strategist`
asks one. Both only propose: what becomes of it is decided by the bank.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .experience import Advice, Draft, Experience, Parameter, State, Term, around
from .maintain import Doubt, Finished, Proposal, Support, Teach

ORDER = "order"
"""Parameter of a strategy that lists its actions."""


@dataclass(frozen=True, slots=True)
class Refused:
    """What the gate said of a proposed action."""

    layer: str
    rule: str
    because: tuple[str, ...] = ()
    """Fields of the state that the rule looked at."""
    allowed: str = ""
    """What would have been allowed, as the gate says it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One proposed action of a trial, in the state in which it was proposed."""

    action: str
    parameters: tuple[Parameter, ...] = ()
    state: State = field(default_factory=dict)
    depends: tuple[str, ...] = ()
    """Fields of the state that the action's effect depends on; empty for all."""
    refused: Refused | None = None
    effective: bool = False
    """Whether it did what it was proposed for, as measured afterwards."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """τ: a finished trial with its goal, its first state, its steps, and what it did with the advice it was given.

    Goal and state are fields of one space, so a target has a name of its own, such as `target_ph`.
    """

    finished: Finished
    goal: State
    start: State
    steps: tuple[Step, ...] = ()
    followed: tuple[str, ...] = ()
    """Entries whose advice was carried out."""
    contradicted: tuple[str, ...] = ()
    """Entries that what was measured speaks against."""
    progress: tuple[str, ...] = ()
    """The Supervisor's last checkpoint in words, a line each: what was added, and what was read before and after it."""

    def __post_init__(self) -> None:
        if shared := sorted(self.goal.keys() & self.start.keys()):
            raise ValueError(
                f"Goal and state both have {shared[0]!r}; target_{shared[0]} in the goal would have worked."
            )


class Strategist(Protocol):
    """Whoever turns trajectories into proposals."""

    @property
    def name(self) -> str:
        """Return what a record calls it, with its version."""
        ...

    def reflect(self, trajectory: Trajectory, entries: Sequence[Experience]) -> list[Proposal]:
        """Return proposals; `entries` are those that the trial was shown or that are near it."""
        ...


class SymbolicStrategist:
    """Extracts by rule: effective actions with parameters, the first action and order of a success, refused actions.

    `spreads` widens the value of a field to a range by so much to both sides, in the field's unit; a field without one
    is widened by a share of its value.
    """

    name = "symbolic@1"

    def __init__(self, spreads: Mapping[str, float] | None = None, units: Mapping[str, str] | None = None) -> None:
        self._spreads = dict(spreads or {})
        self._units = dict(units or {})

    def reflect(self, trajectory: Trajectory, entries: Sequence[Experience] = ()) -> list[Proposal]:
        """Return votes on what was followed or contradicted, and the lessons, each once."""
        lessons = dict.fromkeys(
            [*self._skills(trajectory), *self._strategies(trajectory), *self._safety(trajectory)],
        )
        return [*votes(trajectory), *map(Teach, lessons)]

    def _skills(self, trajectory: Trajectory) -> Iterable[Draft]:
        for step in trajectory.steps:
            if step.effective and step.parameters and step.refused is None:
                when = self._when(trajectory.goal, step.state, step.depends, action=step.action)
                yield Draft("skill", when, Advice(f"{step.action} works with {_named(step)}.", step.parameters))

    def _strategies(self, trajectory: Trajectory) -> Iterable[Draft]:
        """Yield the first effective action of a success, and the order of all that were carried out."""
        done = [step for step in trajectory.steps if step.refused is None]
        first = next((step for step in done if step.effective), None)
        if not trajectory.finished.success or first is None:
            return
        order = Parameter(ORDER, " > ".join(_without_repeats(step.action for step in done)))
        with_values = f" with {_named(first)}" if first.parameters else ""
        sentence = f"Begin with {first.action}{with_values}; the order that succeeded is {{{ORDER}}}."
        yield Draft(
            "strategy",
            self._when(trajectory.goal, trajectory.start, ()),
            Advice(sentence, (*(each for each in first.parameters if each.name != ORDER), order)),
        )

    def _safety(self, trajectory: Trajectory) -> Iterable[Draft]:
        for step in trajectory.steps:
            if step.refused is None:
                continue
            allowed = f" Allowed: {_plain(step.refused.allowed)}." if step.refused.allowed else ""
            sentence = f"{step.action} is refused by {_plain(step.refused.rule)} ({step.refused.layer}).{allowed}"
            when = self._when({}, step.state, step.refused.because, action=step.action)
            yield Draft("safety", when, Advice(sentence, (Parameter("rule", step.refused.rule),)))

    def _when(self, goal: State, state: State, fields: tuple[str, ...], **words: str) -> tuple[Term, ...]:
        """Return the condition for a goal and a state, all of its fields or some, and some words; goals win."""
        chosen = {name: value for name, value in state.items() if not fields or name in fields}
        values = {**words, **chosen, **goal}
        return tuple(
            around(name, values[name], self._units.get(name, ""), self._spreads.get(name)) for name in sorted(values)
        )


def votes(trajectory: Trajectory) -> list[Proposal]:
    """Return the votes of a trial: for what it followed and succeeded with, against what failed or was contradicted."""
    contradicted = set(trajectory.contradicted)
    followed = [name for name in dict.fromkeys(trajectory.followed) if name not in contradicted]
    kind = Support if trajectory.finished.success else Doubt
    return [
        *(kind(name, followed=True) for name in followed),
        *(Doubt(name, followed=name in trajectory.followed) for name in dict.fromkeys(trajectory.contradicted)),
    ]


def _named(step: Step) -> str:
    return ", ".join(f"{each.name} = {{{each.name}}}" for each in step.parameters)


def _plain(text: str) -> str:
    """Return a text of the gate without a final stop, and without braces, which would name parameters."""
    return text.strip().rstrip(".").translate({ord("{"): "(", ord("}"): ")"})


def _without_repeats(names: Iterable[str]) -> list[str]:
    """Return names without immediate repeats."""
    kept: list[str] = []
    for name in names:
        if kept[-1:] != [name]:
            kept.append(name)
    return kept
