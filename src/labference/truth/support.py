"""Oracle support: what may be given at which interface, and the check that nothing else is (paper section 6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from labference.wire import Assist, Fact, Operation, Reading
from labference.wire.support import MODES, SCOPES, Mode, Scope

from .contract import TaskContract
from .identity import PlanError


class SupportError(Exception):
    """Support holds something that its scope does not cover; the sentence is for whoever builds it."""


@dataclass(frozen=True, slots=True, order=True)
class Intervention:
    """One registered support condition; mode and application site are separate fields of the record.

    The site of a replacement is the interface of its scope, that of an assist is the observation.
    """

    scope: Scope
    mode: Mode

    def __str__(self) -> str:
        return f"{self.scope}:{self.mode}"

    @property
    def site(self) -> str:
        """Return where the support enters."""
        return self.scope if self.mode == "replace" else "observation"


def parse(text: str) -> tuple[Intervention, ...]:
    """Return the interventions of `text`, such as "" or "decision:replace+geometry:replace"."""
    found = []
    for word in filter(None, text.split("+")):
        scope, _, mode = word.partition(":")
        if scope not in SCOPES or mode not in MODES:
            raise PlanError(f"No intervention {word!r}; {'|'.join(SCOPES)} : {'|'.join(MODES)} would work.")
        if (scope, mode) == ("skill", "assist"):
            raise PlanError("A skill cannot be told, only done; skill:replace would work.")
        found.append(Intervention(scope, mode))
    if len({entry.scope for entry in found}) < len(found):
        raise PlanError(f"{text!r} supports one scope twice; once would work.")
    return tuple(sorted(found))


def supplied(legal: Iterable[Operation]) -> Operation:
    """Return the legal operation that decision support gives: removals first, then in the order of names.

    The registered rule for states with several legal operations; the whole set stays the reference.
    """
    return min(legal, key=lambda operation: (operation.kind != "remove", operation))


def check(
    assist: Assist,
    contract: TaskContract[Any, Any],
    state: Any,
    readings: tuple[Reading, ...],
    named: Iterable[str],
) -> None:
    """Refuse support that says more than its scope.

    Semantic support states facts that the contract certifies from what can be seen now, decision support one legal
    operation, geometry support where each of the things `named` is, in their order: leaving one out, or putting one
    first, would say which is meant. A skill is done, never told. Nothing says anything else.
    """
    allowed = {"semantic": {"facts"}, "decision": {"operation"}, "geometry": {"targets"}, "skill": {"operation"}}
    filled = {name for name in ("facts", "operation", "targets") if object.__getattribute__(assist, name)}
    if extra := filled - allowed[assist.scope]:
        raise SupportError(f"Support of scope {assist.scope!r} carries {', '.join(sorted(extra))}.")
    if assist.scope == "semantic":
        certified: set[Fact] = set(contract.facts(state, readings))
        if wrong := [fact for fact in assist.facts if fact not in certified]:
            raise SupportError(f"{wrong[0]} is not a fact that {contract.name} certifies here.")
    if assist.scope == "decision" and assist.operation not in contract.legal(state):
        raise SupportError(f"{assist.operation} is not legal here.")
    if assist.scope == "skill" and (assist.mode, assist.operation is None) != ("replace", False):
        raise SupportError("A skill cannot be told, only done.")
    if assist.scope == "geometry" and tuple(target.name for target in assist.targets) != tuple(named):
        raise SupportError(f"Geometry is given for {', '.join(named) or 'nothing'}, all of it and in this order.")
