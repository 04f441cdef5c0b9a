"""A language model as the Operator: the same context in words, one typed answer for each proposal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labference.wire import Refusal, ServiceFault

from .. import prompts
from ..gate.gate import ABANDON
from ..model.budget import Budget, Limits
from ..model.port import Ask, Mind, ModelError
from ..skills.atomic import ARGUMENTS, Action, action, catalogue
from ..skills.templates import GUIDELINES
from .context import Context, Proposal

if TYPE_CHECKING:
    from .symbolic import Habits

ROLE = "operator"


@dataclass(frozen=True, slots=True)
class Number:
    """One parameter of an action, in the unit of the catalogue."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the model answers: an intent, and the action that it is grounded in."""

    intent: str
    kind: str
    item: str = ""
    numbers: tuple[Number, ...] = ()
    follows: tuple[str, ...] = ()


class LanguageMind:
    """Asks a mind for each proposal, within the budget of one trial.

    A service that fails is a validity event (`ServiceFault`); a model that gives no usable answer, or uses up its
    budget, is an interface failure of the tested system (`Refusal`).
    """

    def __init__(self, mind: Mind, habits: Habits, limits: Limits | None = None) -> None:
        self._mind, self._habits, self._limits = mind, habits, limits
        self.budget = Budget(limits)

    @property
    def name(self) -> str:
        """Return provider, model and prompt."""
        return f"{self._mind.name} {prompts.load(ROLE).identity}"

    def begin(self) -> None:
        """Start a trial with a fresh budget."""
        self.budget = Budget(self._limits)

    def propose(self, context: Context) -> Proposal:
        """Return what the model proposes, well formed or not: the gate says which."""
        told = prompts.load(ROLE).filled(actions="\n".join(catalogue(context.goal)), templates="\n".join(GUIDELINES))
        try:
            chosen = self._mind.ask(Ask(ROLE, told, self.words(context)), Chosen, self.budget).value
        except ModelError as error:
            if error.of_service:
                raise ServiceFault(f"{self._mind.name}: {error}") from error
            raise Refusal("malformed", f"{self._mind.name} gave no usable proposal ({error.fault}).") from error
        known = {hit.entry.id for hit in context.advice.hits}
        return Proposal(chosen.intent, _grounded(chosen), tuple(name for name in chosen.follows if name in known))

    def words(self, context: Context) -> str:
        """Return the context as the model is told it; without state it gets readings as they were last shown."""
        belief = context.belief
        state = (
            belief.lines()
            if self._habits.state
            else [f"{name}: {known.value}" for name, known in belief.readings.items()]
        )
        parts = [f"Goal: {context.goal.instruction}", "State:", *state, "Progress:", *context.checkpoint.lines()]
        parts += ["Since then: " + ("; ".join(map(str, context.recent)) or "nothing")]
        logs = context.noted if self._habits.notes else context.exceptions
        parts += ["Refused in this trial:", *([log.sentence for log in logs] or ["nothing"])]
        if context.exceptions:
            parts += [f"Just refused: {context.exceptions[-1].sentence}"]
        if self._habits.memory != "none":
            hits = [f"{hit.entry.id} ({hit.record}): {hit.entry.lesson.advice.told}" for hit in context.advice.hits]
            parts += ["Experience:", *(hits or ["nothing that fits"])]
        return "\n".join(parts)


def _grounded(chosen: Chosen) -> Action:
    """Return the action with the usual item and place of its kind; what is no kind stays as it is."""
    if chosen.kind == ABANDON:
        return Action(ABANDON)
    named = tuple((each.name, each.value) for each in chosen.numbers)
    if chosen.kind not in ARGUMENTS:
        return Action(chosen.kind, chosen.item, "", named)
    usual, place = ARGUMENTS[chosen.kind]
    base = action(chosen.kind, chosen.item if not usual else "")
    return Action(base.kind, chosen.item if not usual and place else base.item, base.place, named)
