"""The Strategist as a language model: extraction in one question, read operation by operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import prompts
from ..codec import written
from ..experience import Experience, State, word
from ..maintain import Proposal, Unreadable
from ..proposals import Said, from_text, proposal
from ..strategist import Step, Trajectory, votes
from .budget import Budget
from .port import Ask, Mind, ModelError

ROLE = "strategist"
MOST = 12
"""Operations that a trial may propose."""
OF_ANSWER = ("invalid", "too_long", "filtered")
"""Faults of an answer: the same question would end in the same again, so what can be read of it is all there is."""


@dataclass(frozen=True, slots=True)
class Reflection:
    """What the model answers."""

    operations: tuple[Said, ...]


class LanguageStrategist:
    """Asks a mind what a trial teaches; votes on what was followed come from the trial's record, as everywhere.

    An answer that is never of the right type, is cut off or withheld is read item by item: what is sound is proposed,
    the rest is handed on to be quarantined. Whatever else goes wrong raises `ModelError`: the trial has not taught yet,
    and can be asked about again.
    """

    def __init__(self, mind: Mind, budget: Budget) -> None:
        self._mind = mind
        self._budget = budget
        self._prompt = prompts.load(ROLE)

    @property
    def name(self) -> str:
        """Return the mind and the prompt."""
        return f"{self._mind.name} {self._prompt.identity}"

    def reflect(self, trajectory: Trajectory, entries: Sequence[Experience]) -> list[Proposal]:
        """Return proposals; raises `ModelError` where nothing was learned about the model."""
        counted = votes(trajectory)
        ask = Ask(ROLE, self._prompt.filled(most=str(MOST)), told(trajectory, entries))
        try:
            said = self._mind.ask(ask, Reflection, self._budget).value.operations
        except ModelError as error:
            if error.fault not in OF_ANSWER:
                raise
            made = from_text(error.raw, trajectory.followed) if error.raw else [Unreadable("", str(error))]
        else:
            made = [proposal(each, trajectory.followed) for each in said]
        extra = [Unreadable(repr(each), f"It is beyond the {MOST} operations of a trial.") for each in made[MOST:]]
        return [*counted, *made[:MOST], *extra]


def told(trajectory: Trajectory, entries: Sequence[Experience]) -> str:
    """Return a trajectory and entries as the text that a mind is shown."""
    ended = "It succeeded." if trajectory.finished.success else "It failed."
    steps = [f"{number}. {_step(step)}" for number, step in enumerate(trajectory.steps, 1)]
    known = [
        f"- {each.id} (followed {each.uses}, succeeded {each.successes}): {written(each.lesson)}" for each in entries
    ]
    return "\n".join(
        [
            f"Goal: {_state(trajectory.goal)}. First state: {_state(trajectory.start)}. {ended}",
            "Steps:",
            *(steps or ["none"]),
            *(["Progress:", *trajectory.progress] if trajectory.progress else []),
            "Entries:",
            *(known or ["none"]),
            f"Followed: {', '.join(trajectory.followed) or 'none'}.",
        ]
    )


def _step(step: Step) -> str:
    values = ", ".join(map(str, step.parameters))
    if step.refused is not None:
        allowed = f"; allowed: {step.refused.allowed}" if step.refused.allowed else ""
        ended = f"refused by {step.refused.rule} ({step.refused.layer}){allowed}"
    else:
        ended = "effective" if step.effective else "not effective"
    return f"{step.action}({values}) in {_state(step.state)}: {ended}"


def _state(state: State) -> str:
    return ", ".join(f"{name} = {word(value)}" for name, value in sorted(state.items())) or "nothing told"
