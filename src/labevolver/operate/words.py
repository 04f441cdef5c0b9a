"""The planning context c = (g, s, I, r) in words, as a language model is told it."""

from __future__ import annotations

from collections.abc import Iterable

from ..experience import Draft, Term, word
from ..gate.gate import ABANDON
from ..gate.rules import View
from ..retrieve import Hit
from ..skills.atomic import STOP, Action
from ..skills.templates import Template
from .context import Context
from .symbolic import Habits

PROPOSED = ("kind", "item", "thing", "holds_it", "other_tube")
"""Fields of a view that speak of the proposal, not of the laboratory."""
NONE = "none"


def words(context: Context, habits: Habits) -> str:
    """Return the context; without state it holds the readings as they were last shown."""
    parts = [f"Goal: {context.goal.instruction}", "State:", *_state(context, habits)]
    parts += ["Progress:", *context.checkpoint.lines()]
    parts += ["Since then: " + ("; ".join(map(str, context.recent)) or "nothing")]
    logs = context.noted if habits.notes else context.exceptions
    parts += ["Refused in this trial:", *([log.sentence for log in logs] or ["nothing"])]
    if context.exceptions:
        parts += [f"Just refused: {context.exceptions[-1].sentence}"]
    if habits.memory != "none":
        parts += ["Experience:", *(_experience(context.advice.hits) or ["nothing that fits"])]
    return "\n".join(parts)


def grounding(template: Template, catalogue: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the lines of a catalogue that a template is made of, and the rest without their numbers."""
    lines = {line.split(" ", 1)[0]: line for line in catalogue}
    inside = [line for kind, line in lines.items() if kind in template.kinds]
    outside = [line.partition(" (")[0] for kind, line in lines.items() if kind not in template.kinds]
    return inside, [*outside, *([] if STOP in lines else [STOP]), ABANDON]


def _state(context: Context, habits: Habits) -> list[str]:
    if not habits.state:
        return [f"{name}: {known.value}" for name, known in context.belief.readings.items()]
    return [*context.belief.lines(), f"What rules and experience look at: {_fields(context.see(Action(STOP)))}"]


def _fields(seen: View) -> str:
    return ", ".join(f"{name} = {_shown(value)}" for name, value in seen.items() if name not in PROPOSED)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return (word(value) if isinstance(value, (str, bool, int)) else str(value)) or NONE


def _experience(hits: Iterable[Hit]) -> list[str]:
    return [
        f"{hit.entry.id} ({hit.record}; {_condition(hit.entry.lesson)}): {hit.entry.lesson.advice.told}" for hit in hits
    ]


def _condition(lesson: Draft) -> str:
    terms = ", ".join(map(_term, lesson.when))
    return f"when {terms}" if terms else "for every state"


def _term(term: Term) -> str:
    if term.among:
        return f"{term.field} = {' or '.join(each or NONE for each in term.among)}"
    return str(term)
