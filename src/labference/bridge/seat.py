"""Where an agent sits at a bench: acts in, deliveries out, within its limits, and never an act that is refused."""

from __future__ import annotations

import math
from dataclasses import replace

from labference.bench.admit import admit
from labference.bench.episode import STATEMENT, STATEMENTS
from labference.bench.session import Session
from labference.bench.system import Notice
from labference.wire import Act, Move, Observation, Operation, Refusal, Senses, Stop, Wait

from .budget import Budget
from .tools import ToolError

GLANCE_S = 0.05
"""Time after which fresh frames are there [s]: one control period."""
LATE_STOPS = 3
"""Stops of one agent in a row that may be late; a stop is answered at once, so that evidence rarely comes between."""


class Over(Exception):
    """The episode has ended."""


class Seat:
    """Answer one session that has begun with `observation`.

    An agent's tool layer is its interface: what the bench would refuse is refused here, as a `ToolError`, and costs
    nothing but the call.
    """

    def __init__(self, session: Session, observation: Observation, budget: Budget) -> None:
        self.session = session
        self.budget = budget
        self.commits: Operation | None = None
        self._began = observation.senses.time
        self.late = False
        self._statements = 0
        self.seen: Senses | None = None
        self._take(observation)

    @property
    def notice(self) -> Notice:
        """Return what is said of the last delivery."""
        return self.session.notice

    def answer(self, act: Act) -> Observation:
        """Carry out an act and return what follows.

        Raises `ToolError` where the bench would refuse it, `Over` when the episode ends with it, and `Exhausted` when a
        limit is reached before or after it.
        """
        self.budget.check()
        act = self._within(act)
        self.check(act)
        if isinstance(act, Move):
            act, self.commits = replace(act, commits=self.commits), None
        self._statements = self._statements + 1 if isinstance(act, STATEMENT) else 0
        observation = self.session.answer(act)
        if observation is None:
            raise Over
        self._take(observation)
        if self.notice.late and isinstance(act, Move):
            self.commits = act.commits  # it was not stated
        self.budget.check()
        return observation

    def glance(self) -> Observation:
        """Return an observation with frames of now; passes one control period unless there is one already."""
        if self.observation.senses.frames or not self.session.capabilities.cameras:
            return self.observation
        return self.answer(Wait(GLANCE_S))

    def finish(self) -> None:
        """Declare the task finished: raises `Over`, or `ToolError` where the clock called it late."""
        self._statements = 0
        observation = self.session.answer(Stop())
        if observation is None:
            raise Over
        self._take(observation)
        raise ToolError("That came too late to be carried out; call finish again.", bad=False)

    def stop(self) -> None:
        """Declare the task finished for an agent that has used up a limit, again where new evidence made that late.

        Where the clock calls every stop late, no answer of this agent can be carried out: an interface failure, so that
        the bench is not asked until the budget is gone.
        """
        for _ in range(LATE_STOPS):
            if self.session.answer(Stop()) is None:
                return
        sentence = f"{LATE_STOPS} stops in a row came later than the clock allows."
        self.session.fail(Refusal("too_many", sentence))

    def _take(self, observation: Observation) -> None:
        self.observation = observation
        self.late |= self.notice.late
        self.seen = observation.senses if observation.senses.frames else self.seen
        self.budget.simulated_s = observation.senses.time - self._began

    def _within(self, act: Act) -> Act:
        """Cut a motion or a wait that would go beyond the limit of simulated time."""
        limit = self.budget.limits.simulated_s
        if limit is None:
            return act
        rate = self.session.spec.rate_hz
        periods = max(1, math.ceil((limit - self.budget.simulated_s) * rate - 1e-6))
        match act:
            case Move():
                return replace(act, commands=act.commands[:periods])
            case Wait():
                return replace(act, seconds=min(act.seconds, periods / rate))
            case _:
                return act

    def check(self, act: Act) -> None:
        """Refuse what the bench would refuse."""
        if isinstance(act, STATEMENT) and self._statements >= STATEMENTS:
            raise ToolError(f"{STATEMENTS} statements in a row were made; wait or move before the next one.", bad=False)
        self.admit(act)

    def admit(self, act: Act) -> Act:
        """Return the act as the bench takes it; refuse what it could not make sense of."""
        try:
            return admit(act, self.session.spec, self.session.goal, self.session.capabilities).act
        except Refusal as refusal:
            raise ToolError(str(refusal)) from refusal
