"""A language model as the Operator: u ~ π(c), then a = (k, θ) ~ π(· | u, c), two typed answers (paper, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

from labference.wire import Refusal, ServiceFault

from .. import prompts
from ..gate.gate import ABANDON
from ..model.budget import Budget, Limits
from ..model.port import Ask, Mind, ModelError
from ..prompts import Prompt
from ..skills.atomic import ARGUMENTS, Action, action, catalogue
from ..skills.templates import GUIDELINES, TEMPLATES
from .context import Context, Proposal
from .symbolic import Habits
from .words import grounding, words

ROLE = "operator"
INTENT, ACTION = "operator_intent", "operator_action"
"""Prompts of the two questions; the one-call form is asked by `ROLE`."""
Steps = Literal["two", "one"]
TWO: Steps = "two"
"""The paper's form; "one" asks for intent and action in one answer, with half the requests."""
SHOWN = 200
"""Most characters of an unusable answer that a record shows."""
T = TypeVar("T")
Name = Literal["measure cycle", "add cycle", "dose and measure", "rinse cycle", "pour a mass", "end"]
assert set(Name.__args__) == set(TEMPLATES)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Number:
    """One parameter of an action, in the unit of the catalogue."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Intended:
    """u: what the model wants next, in a sentence, and the template that it belongs to."""

    intent: str
    template: Name
    follows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grounded:
    """a = (k, θ): the action that an intent is grounded in."""

    kind: str
    item: str = ""
    numbers: tuple[Number, ...] = ()
    follows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Both in one answer."""

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

    def __init__(self, mind: Mind, habits: Habits, limits: Limits | None = None, steps: Steps = TWO) -> None:
        self._mind, self._habits, self._limits, self.steps = mind, habits, limits, steps
        self.budget = Budget(limits)

    @property
    def name(self) -> str:
        """Return provider, model and prompts."""
        asked = (ROLE,) if self.steps == "one" else (INTENT, ACTION)
        return " ".join([self._mind.name, *(prompts.load(each).identity for each in asked)])

    def begin(self) -> None:
        """Start a trial with a fresh budget."""
        self.budget = Budget(self._limits)

    def propose(self, context: Context) -> Proposal:
        """Return what the model proposes, well formed or not: the gate says which."""
        return self._in_one(context) if self.steps == "one" else self._in_two(context)

    def words(self, context: Context) -> str:
        """Return the context as the model is told it."""
        return words(context, self._habits)

    def _in_one(self, context: Context) -> Proposal:
        told = prompts.load(ROLE).filled(actions="\n".join(catalogue(context.goal)), templates="\n".join(GUIDELINES))
        said = self._ask(told, self.words(context), Chosen)
        return Proposal(said.intent, _grounded(said), _given(context, said.follows))

    def _in_two(self, context: Context) -> Proposal:
        known = self.words(context)
        u = self._ask(prompts.load(INTENT).filled(templates="\n".join(GUIDELINES)), known, Intended)
        template = TEMPLATES[u.template]
        inside, outside = grounding(template, catalogue(context.goal))
        told = prompts.load(ACTION).filled(
            template=u.template, guideline=template.guideline, actions="\n".join(inside), others="\n".join(outside)
        )
        a = self._ask(told, f"{known}\nIntent: {u.intent}", Grounded)
        return Proposal(u.intent, _grounded(a), _given(context, (*u.follows, *a.follows)))

    def _ask(self, prompt: Prompt, content: str, answer: type[T]) -> T:
        try:
            return self._mind.ask(Ask(ROLE, prompt, content), answer, self.budget).value
        except ModelError as error:
            if error.of_service:
                raise ServiceFault(f"{self._mind.name}: {error}") from error
            said = f" It said last: {error.raw[:SHOWN]!r}." if error.raw else ""
            raise Refusal(
                "malformed",
                f"{self._mind.name} gave no usable proposal ({error.fault}): {str(error).rstrip('.')}.{said}",
            ) from error


def _given(context: Context, follows: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries, each once, that the model was really shown."""
    known = {hit.entry.id for hit in context.advice.hits}
    return tuple(name for name in dict.fromkeys(follows) if name in known)


def _grounded(said: Chosen | Grounded) -> Action:
    """Return the action with the usual item and place of its kind; what is no kind stays as it is."""
    if said.kind == ABANDON:
        return Action(ABANDON)
    named = tuple((each.name, each.value) for each in said.numbers)
    if said.kind not in ARGUMENTS:
        return Action(said.kind, said.item, "", named)
    usual, place = ARGUMENTS[said.kind]
    base = action(said.kind, said.item if not usual else "")
    return Action(base.kind, said.item if not usual and place else base.item, base.place, named)
