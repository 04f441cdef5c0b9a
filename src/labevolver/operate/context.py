"""What an Operator is given, and what it answers: c = (g, s, I, r), and then u and a = (k, θ) (paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from labference.wire import Goal

from ..belief import Belief
from ..gate.gate import ExceptionLog
from ..gate.rules import View
from ..labs.wetlab import Target
from ..retrieve import Retrieved
from ..skills.atomic import Action
from ..supervise import NOTHING, Checkpoint


@dataclass(frozen=True, slots=True)
class Context:
    """The planning context of one proposal.

    exceptions  the gate's logs since the last action that it admitted, the latest last
    noted       all logs of the trial so far
    recent      actions carried out since the last checkpoint
    advice      what the memory holds for this situation
    """

    goal: Goal
    target: Target
    belief: Belief
    see: Callable[[Action], View]
    checkpoint: Checkpoint
    exceptions: tuple[ExceptionLog, ...] = ()
    noted: tuple[ExceptionLog, ...] = ()
    recent: tuple[Action, ...] = ()
    advice: Retrieved = NOTHING


@dataclass(frozen=True, slots=True)
class Proposal:
    """An intent, the action that it is grounded in, and the entries of the memory that it follows."""

    intent: str
    action: Action
    follows: tuple[str, ...] = ()


class Operator(Protocol):
    """Whoever proposes the next action."""

    @property
    def name(self) -> str:
        """Return what a record calls it, with its version."""
        ...

    def begin(self) -> None:
        """Forget the last trial."""
        ...

    def propose(self, context: Context) -> Proposal:
        """Return the next proposal."""
        ...
