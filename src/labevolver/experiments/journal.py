"""The proposals of a trial, written as they are made, so that it can be gone through again without asking anybody.

A trial whose records are complete may be killed before it has taught. A language model need not propose the same again,
and its answers were paid for; a program would need the memory as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labference.truth.identity import PlanError
from labference.wire import Act, ActionSpec, Goal, Observation, Refusal, ServiceFault

from ..agent import Agent
from ..observe.detector import Detector
from ..operate.context import Context, Operator, Proposal
from ..operate.language import LanguageMind
from ..operate.symbolic import SymbolicMind
from ..skills.atomic import Action
from ..supervise import Recall

Eyes = Callable[[], Detector]
"""Makes what looks at the bench in one trial."""
ENDED = "ended"
"""Marks the last line of a trial that ended because nothing more was proposed, and tells why."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the Operator of a trial had used of its budget at its end, or at the last proposal of an older journal."""

    requests: int = 0
    tokens: int = 0


class Journaling(Agent):
    """An agent that has written down what was proposed before any act leaves it."""

    def __init__(
        self, operator: Operator, method: str, recall: Recall | None, path: Path, detector: Detector | None = None
    ) -> None:
        super().__init__(operator, method, recall, detector)
        self._path = path
        self._written = 0

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Begin the trial, and its journal."""
        super().reset(goal, spec, session)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(_line({"operator": self.operator.name}), encoding="utf-8")
        self._written = 0

    def act(self, observation: Observation) -> Act:
        """Return the next act, once the proposals that led to it are written; and why there is none, with its cost."""
        try:
            return super().act(observation)
        except (Refusal, ServiceFault) as error:
            self._write({ENDED: str(error), **_more(self.operator)})
            raise
        finally:
            self._write()

    def _write(self, *last: dict[str, Any]) -> None:
        moves = [] if self.trial is None else self.trial.moves[self._written :]
        more = _more(self.operator)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(_line({**_proposal(move.proposal), **more}) for move in moves))
            file.write("".join(map(_line, last)))
        self._written += len(moves)


class Recorded:
    """An Operator that proposes what a journal says, in order."""

    def __init__(self, path: Path) -> None:
        """Read a journal; raises `PlanError` where there is none."""
        try:
            head, *lines = read(path)
            self.name = str(head["operator"])
        except (OSError, ValueError, KeyError) as error:
            raise PlanError(f"The trial of {path} cannot teach: what was proposed cannot be read ({error}).") from error
        self._lines = [line for line in lines if ENDED not in line]
        self._next = 0
        last = self._lines[-1] if self._lines else {}
        self.promised = [(int(number), str(entry), float(ph)) for number, entry, ph in last.get("promised", ())]
        """What `SymbolicMind.promised` was at the end."""

    def begin(self) -> None:
        """Start at the first proposal."""
        self._next = 0

    def propose(self, context: Context) -> Proposal:
        """Return the next proposal; raises `Refusal` after the last, as the model did then."""
        del context
        if self._next == len(self._lines):
            raise Refusal("malformed", f"{self.name} proposed nothing more.")
        said = self._lines[self._next]
        self._next += 1
        numbers = tuple((name, value) for name, value in said["numbers"])
        acted = Action(said["kind"], said["item"], said["place"], numbers)
        return Proposal(said["intent"], acted, tuple(said["follows"]))


def spent(path: Path) -> Spent:
    """Return what the Operator of a journal had used; nothing where there is no journal."""
    lines = read(path)[1:] if path.exists() else []
    last = lines[-1] if lines else {}
    return Spent(last.get("requests", 0), last.get("tokens", 0))


def read(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a journal."""
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")
    ]


def recorded(path: Path, method: str, recall: Recall | None, eyes: Eyes | None = None) -> Callable[[], Agent]:
    """Return what makes the agent that goes through a journal again."""
    return lambda: Agent(Recorded(path), method, recall, None if eyes is None else eyes())


def _more(operator: Operator) -> dict[str, Any]:
    """Return what else has to be known of an Operator: what it has used of its budget, or has promised."""
    match operator:
        case LanguageMind(budget=budget):
            return {"requests": budget.requests, "tokens": budget.tokens}
        case SymbolicMind(promised=promised):
            return {"promised": promised} if promised else {}
        case _:
            return {}


def _proposal(made: Proposal) -> dict[str, Any]:
    acted = made.action
    numbers = [[name, value] for name, value in acted.parameters]
    return {
        "intent": made.intent,
        "kind": acted.kind,
        "item": acted.item,
        "place": acted.place,
        "numbers": numbers,
        "follows": list(made.follows),
    }


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True) + "\n"
