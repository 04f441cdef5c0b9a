"""One episode for an agent: tools in, replies out. What is right, legal or worth a point is in none of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from labference.bench.campaign import agreed
from labference.bench.laboratory import Laboratory, Result, invalid
from labference.bench.plan import Plan
from labference.bench.session import Session
from labference.records import folder
from labference.records.lock import hold_episode
from labference.records.strict import plain
from labference.truth.identity import PlanError, Seeds
from labference.wire import JOINT, Observation, Refusal, ServiceFault

from .budget import Budget, Exhausted
from .helper import Helper
from .ledger import Ledger
from .seat import Over, Seat
from .terms import Terms
from .tools import CATALOGUE, ToolError, check, shallow
from .work import Work

ENDED = "The episode has ended."
UNAVAILABLE = "The policy behind vla is not available: the episode has ended and will be tried again."

Reply = dict[str, Any]
"""What every call returns.

sim_time          simulated time of the last delivery [s]
evidence_version  version of the evidence delivered so far
opportunity_id    number of the delivery that opened the choice which is pending
budget            what is left: steps (control periods), calls, tokens, wall_s, simulated_s; None without a limit
result, error     what the tool found, or one sentence on why it could not
support           only under a support condition: what came with the last delivery
late              only where the clock called an answer late, so that it was not carried out
ended             only once the episode has ended: one sentence
"""


class Bridge:
    """Let an agent drive one recorded episode through tools; `begin`, `call` until `ended`, `close`.

    An agent's tool layer is its interface: bad arguments and what the bench would refuse are answered with one sentence
    and counted; more than `terms.limits.errors` bad calls are an interface failure. A limit that is used up ends the
    episode as if the agent had finished. Closing early leaves an unresolved episode, never a failure. From `begin` on
    the episode is this bridge's alone, among all processes, unless the caller has `kept` the folder already.

    Raises `PlanError` where plan, terms and laboratory do not fit; nothing is recorded then.
    """

    def __init__(
        self,
        laboratory: Laboratory,
        plan: Plan,
        index: int,
        out: Path,
        terms: Terms | None = None,
        *,
        kept: bool = False,
    ) -> None:
        if plan.action != JOINT.name:
            raise PlanError(
                f"The motion tools write {JOINT.name!r} commands, not {plan.action!r}; choose {JOINT.name!r}."
            )
        self.terms = terms or Terms()
        if plan.policy != self.terms.name:
            raise PlanError(f"The plan is for {plan.policy!r}, not for the agent; {self.terms.name!r} would work.")
        self._laboratory, self._plan, self._index, self._out = laboratory, plan, index, out
        self._helper: Helper | None = None
        self._ledger: Ledger | None = None
        self._seat: Seat | None = None
        self._ended = ""
        self._kept, self._holding = kept, ExitStack()
        self._tools = offered(self.terms, laboratory)
        self.result: Result | None = None

    @property
    def ended(self) -> bool:
        """Return whether the episode has ended."""
        return bool(self._ended)

    @property
    def wall_s(self) -> float:
        """Return the wall time since the episode began [s]."""
        return self._at().budget.wall_s

    @property
    def observation(self) -> Observation:
        """Return the last observation as it was delivered, for agents in Python."""
        return self._at().observation

    def begin(self) -> Reply:
        """Prepare the episode, and return what `goal` replies."""
        if self._seat is not None or self._ended:
            raise PlanError("The episode has begun already; make a new Bridge for another one.")
        if not self._kept:
            self._holding.enter_context(hold_episode(self._out, self._index))
        try:
            return self._begin()
        except BaseException:
            self._release()
            raise

    def _begin(self) -> Reply:
        path = folder.next_attempt(folder.episode_folder(self._out, self._index))
        started = time.perf_counter()
        try:
            self._helper = self._call_in_helper()
        except ServiceFault as fault:
            self.result = invalid(self._plan, self._index, path, fault, started)
            self._ended = UNAVAILABLE
            self._settle()
            return {"ended": self._ended}
        helper = self._helper
        capabilities = self.terms.capabilities(
            self._laboratory.world.cameras,
            None if helper is None else helper.capabilities,
            lent=lends(self._laboratory),
        )
        behind = None if helper is None else helper.system
        self._session = Session(self._laboratory, self._plan, self._index, self._out, capabilities, behind)
        self._laboratory.expect(agreed(self._out))
        try:
            observation = self._session.begin()
        finally:
            self._laboratory.expect({})
        self._ledger = Ledger(path)
        if observation is None:
            self._over(ENDED)
            self._settle()
            return {"ended": self._ended}
        self._seat = Seat(self._session, observation, Budget(self.terms.limits))
        self._work = Work(self._seat, self.terms, self._helper, self._tools)
        return self._envelope({"result": self._work.goal()})

    def call(self, name: str, arguments: object = None) -> Reply:
        """Carry out one tool call and return the reply; it never raises for what an agent does."""
        if self._ended:
            return self._envelope({"error": ENDED})
        given = {} if arguments is None else shallow(arguments)
        return self._recorded(name, given, lambda seat: self._tried(seat, name, given))

    def check(self) -> bool:
        """End the episode if a limit was used up since the last call, as wall time is; return whether it has ended."""
        if not self._ended and self._at().budget.exhausted:
            self._recorded("", {}, lambda seat: {})
        return self.ended

    def close(self) -> None:
        """End an episode that is under way as unresolved; do nothing after its end."""
        if self._seat is not None and not self._ended:
            self._session.close()
            self._over("The bridge was closed before the episode had ended.")
        self._settle()

    def goal(self) -> Reply:
        """Read what is asked, and under which terms."""
        return self.call("goal")

    def observe(self, **given: Any) -> Reply:
        """Look through `cameras`, with `depth` where wanted."""
        return self.call("observe", given)

    def report_state(self, **given: Any) -> Reply:
        """State `facts`: names with values."""
        return self.call("report_state", given)

    def report_choice(self, kind: str, item: str = "", place: str = "") -> Reply:
        """State the operation that should come next."""
        return self.call("report_choice", {"kind": kind, "item": item, "place": place})

    def report_geometry(self, **given: Any) -> Reply:
        """State where `targets` of the operation `kind`, `item`, `place` are."""
        return self.call("report_geometry", given)

    def commit(self, kind: str, item: str = "", place: str = "") -> Reply:
        """Say which operation the next motion serves."""
        return self.call("commit", {"kind": kind, "item": item, "place": place})

    def geometry(self, **given: Any) -> Reply:
        """Ask where a `pixel` of a `camera`, or a `name`, or everything seen is."""
        return self.call("geometry", given)

    def vla(self, instruction: str, **given: Any) -> Reply:
        """Let the policy behind the bench act for at most `max_chunks` answers."""
        return self.call("vla", {"instruction": instruction, **given})

    def perform(self, kind: str, item: str = "", place: str = "", **parameters: float) -> Reply:
        """Let the bench carry out an operation with its own hands."""
        return self.call("perform", {"kind": kind, "item": item, "place": place, "parameters": parameters})

    def move(self, **given: Any) -> Reply:
        """Move to a `position`, to `joints`, or set the `opening`."""
        return self.call("move", given)

    def pick(self, **given: Any) -> Reply:
        """Take something from above at a `position`."""
        return self.call("pick", given)

    def place(self, **given: Any) -> Reply:
        """Put down what the hand holds at a `position`."""
        return self.call("place", given)

    def insert(self, **given: Any) -> Reply:
        """Push what the hand holds down to a `position` below the mouth at `entry`."""
        return self.call("insert", given)

    def wait(self, seconds: float) -> Reply:
        """Let simulated time pass."""
        return self.call("wait", {"seconds": seconds})

    def finish(self, summary: str = "") -> Reply:
        """Declare the task finished."""
        return self.call("finish", {"summary": summary})

    def tell(self, tokens: int) -> Reply:
        """Count tokens of the agent's model."""
        return self.call("tell", {"tokens": tokens})

    def __enter__(self) -> Bridge:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _recorded(self, name: str, given: object, action: Callable[[Seat], Reply]) -> Reply:
        """Carry out a call, record it with its reply, and release the episode if it has ended."""
        seat, started = self._at(), time.perf_counter()
        tick = round(seat.observation.senses.time / self._laboratory.world.channels.timestep)
        try:
            reply = self._envelope(self._answered(seat, action))
        except BaseException:
            self.close()
            raise
        if self._ledger is not None:
            self._ledger.write(name, given, reply, tick, 1000 * (time.perf_counter() - started))
        self._settle()
        return reply

    def _answered(self, seat: Seat, action: Callable[[Seat], Reply]) -> Reply:
        """Return what a call leads to, its end of the episode included."""
        body: Reply = {}
        seat.late = False
        try:
            body = action(seat)
            seat.budget.check()
        except Over:
            self._over(ENDED)
        except Exhausted as limit:
            seat.stop()
            self._over(f"{limit} {ENDED}")
        except ServiceFault as fault:
            self._session.fail(fault)
            self._over(UNAVAILABLE)
        if seat.budget.errors > self.terms.limits.errors and not self._ended:
            sentence = f"More than {self.terms.limits.errors} calls had bad arguments."
            self._session.fail(Refusal("too_many", sentence))
            self._over(f"{sentence} {ENDED}")
        return body

    def _tried(self, seat: Seat, name: str, arguments: object) -> Reply:
        """Check and count a call, and let it be done."""
        tool = CATALOGUE.get(name) if name in self._tools else None
        try:
            if tool is None:
                raise ToolError(f"There is no tool {name[:60]!r}; tools: {', '.join(self._tools)}.")
            checked = check(tool, arguments)
            seat.budget.tokens += checked.pop("tokens", 0)
            if tool.name == "tell":
                return {"result": {}}
            return {"result": self._work.do(tool.name, checked)}
        except ToolError as error:
            seat.budget.errors += error.bad
            return {"error": str(error)}
        finally:
            seat.budget.calls += tool is None or not tool.free

    def _envelope(self, body: Reply) -> Reply:
        seat = self._seat
        if seat is None:
            return {**body, "ended": self._ended}
        notice = seat.notice
        return {
            "sim_time": round(seat.observation.senses.time, 6),
            "evidence_version": notice.evidence,
            "opportunity_id": notice.opened,
            "budget": seat.budget.remaining(self._steps() - notice.steps),
            **body,
            **({"support": plain(seat.observation.assists)} if seat.observation.assists else {}),
            **({"late": True} if seat.late else {}),
            **({"ended": self._ended} if self._ended else {}),
        }

    def _steps(self) -> int:
        """Return the control steps of the whole episode."""
        return self._plan.budget if self._plan.budget is not None else self._laboratory.contract.budget_steps

    def _at(self) -> Seat:
        if self._seat is None:
            raise PlanError("The episode has not begun, or could not be prepared; call begin() of a new Bridge.")
        return self._seat

    def _over(self, sentence: str) -> None:
        """Note that the episode has ended."""
        self._ended, self.result = sentence, self._session.result

    def _settle(self) -> None:
        """Release what an episode holds once it has ended."""
        if self._ended:
            self._release()

    def _release(self) -> None:
        if self._helper is not None:
            self._helper.close()
            self._helper = None
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None
        self._holding.close()

    def _call_in_helper(self) -> Helper | None:
        if not self.terms.vla:
            return None
        plan = self._plan
        seed = Seeds.of(plan.seed, self._index, plan.policy_seed).policy
        helper = Helper(self.terms.vla, seed, self.terms.profile, plan)
        helper.settle(self._laboratory.world.cameras)
        return helper


def lends(laboratory: Laboratory) -> bool:
    """Return whether the bench lends agents its hands: a wet bench does, and the motion tools are not offered there."""
    return bool(laboratory.world.channels.vessels)


def offered(terms: Terms, laboratory: Laboratory) -> tuple[str, ...]:
    """Return the names of the tools that `terms` leave of those that `laboratory` has; refuse a helper without work."""
    if terms.vla and lends(laboratory):
        raise PlanError(f"The bench lends its hands in {laboratory.contract.name}; leave out the vla {terms.vla!r}.")
    return terms.tools(lent=lends(laboratory), seeing=bool(laboratory.world.cameras))
