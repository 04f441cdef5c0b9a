"""Safety experience: what the gate refused, as a condition on the view of a proposal and what to do instead."""

from __future__ import annotations

from collections.abc import Iterable

from ..experience import Advice, Draft, Parameter, Term, around, word
from ..gate.gate import ExceptionLog
from ..gate.rules import View
from ..skills.atomic import Action, action

INSTEAD, RULE = "instead", "rule"
"""Parameters of a safety lesson: kind of the action that is due instead, and the rule that was broken."""
WORDS = ("amount_g", "room_g", "most_g", "pre_stop", "seconds")
"""Numbers of a proposal, which a precaution does not depend on."""


def lesson(log: ExceptionLog) -> Draft:
    """Return a refusal as a lesson; it holds for the kind of action, where the fields that the rule asks are alike."""
    fields = dict((*log.where, *log.values))
    when = [Term("kind", among=(log.action.kind,))]
    when += [around(name, value) for name, value in sorted(fields.items()) if name not in WORDS]
    parameters = [Parameter(RULE, log.rule), *([Parameter(INSTEAD, log.remedy)] if log.remedy else [])]
    text = f"{log.action.kind} is refused by {{{RULE}}}. {log.allowed}".translate({ord("["): "(", ord("]"): ")"})
    return Draft("safety", tuple(when), Advice(text, tuple(parameters)))


def applies(draft: Draft, view: View) -> bool:
    """Return whether a safety lesson speaks of a proposal with this view."""
    return bool(draft.when) and all(term.field in view and term.holds(view[term.field]) for term in draft.when)


def remedy(draft: Draft) -> str:
    """Return the kind of action that a lesson puts first, or nothing."""
    return next((word(each.value) for each in draft.advice.parameters if each.name == INSTEAD), "")


def first_due(drafts: Iterable[tuple[str, Draft]], view: View) -> tuple[str, str] | None:
    """Return the entry and the kind of action that come first by some lessons, or None where none speaks.

    What is still to be measured comes before what is only to be put away.
    """
    due = [(name, remedy(draft)) for name, draft in drafts if remedy(draft) and applies(draft, view)]
    return min(due, key=lambda each: each[1] != "measure", default=None)


def grounded(kind: str, wanted: Action, hand: str, **numbers: float) -> Action:
    """Return a remedy with its item: what is held for `place`, the wanted tube for `pick`."""
    if kind == "place":
        return action("place", hand)
    if kind == "pick":
        return action("pick", wanted.item)
    return action(kind, "", **(numbers if kind == "measure" else {}))
