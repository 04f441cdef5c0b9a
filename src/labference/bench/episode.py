"""The timed closed loop: the only caller of `World.step`.

Deliver evidence, ask, admit, apply for one control period, measure, judge. The loop is a generator that yields what it
delivers and is sent the answer, so that a tested system, an environment of another library, or a person at a terminal
can sit on the other side. Physics pauses while they think, unless the registered clock says otherwise.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np

from labference.records.recorder import Recorder
from labference.truth.clock import periods
from labference.truth.contract import TaskContract
from labference.truth.events import Event, Invalidated, Physical, Refused
from labference.truth.measurement import POLICY, Block, Setup
from labference.truth.referee import Referee
from labference.truth.verdict import judge
from labference.wire import (
    Act,
    ActionSpec,
    Execute,
    GeometryReport,
    Goal,
    Move,
    Observation,
    Perform,
    Reading,
    Refusal,
    Report,
    Script,
    ServiceFault,
    StateReport,
    Stop,
    Wait,
)
from labference.world.faults import SimulationFault
from labference.world.world import World

from .admit import Admitted, admit
from .answer import Answer
from .clock import PAUSED, Pace
from .deliver import Courier
from .ending import Clock, Ending, Resumed
from .lending import Hands
from .oracle import Oracle
from .system import Notice, Questions, System
from .transition import check, schedule

STATEMENT = (Report, StateReport, GeometryReport, Execute)
STATEMENTS = 16
"""Most statements in a row without simulated time passing; one more is an interface failure, so that nothing hangs."""
GRACE_S = 3.0
"""After `Stop` the robot holds still for the terminal window plus this long, so that a reading can steady [s]."""
VIDEO_RATE_HZ = 10.0
HANDOFF_REACHED = "handoff"
"""How an episode ends that only leads to a checkpoint."""


class Episode:
    """One run of one policy on one prepared instance."""

    def __init__(
        self,
        world: World,
        contract: TaskContract[Any, Any],
        instance: Any,
        system: System,
        spec: ActionSpec,
        recorder: Recorder,
        increment: Callable[[np.ndarray, np.ndarray], np.ndarray],
        referee: Referee,
        setup: Setup,
        video: tuple[str, ...] = (),
        budget: int | None = None,
        oracle: Oracle | None = None,
        resumed: Resumed | None = None,
        until: Callable[[Referee], bool] | None = None,
        pace: Pace = PAUSED,
        hands: Hands | None = None,
    ) -> None:
        self.tap: Callable[[Observation], None] | None = None
        self._resumed = resumed
        self._until = until
        self._pace = pace
        self._hands = hands
        self._oracle = oracle
        self._executor: Script[None] | None = None
        self.setup = setup
        self.world = world
        self.contract = contract
        self.system = system
        self.spec = spec
        self.recorder = recorder
        self.goal: Goal = contract.goal(instance)
        self.referee = referee
        self._increment = increment
        self._video = video
        self._budget = contract.budget_steps if budget is None else budget
        self._clock = Clock()
        self._substeps = substeps(spec.rate_hz, world.channels.timestep)
        self._queue: deque[np.ndarray] = deque()
        self._answer: Answer | None = None
        self._steps = 0
        self._periods = 0
        self._courier = Courier(self.goal)
        if resumed is not None:
            self._courier.delivered, self._steps = resumed.delivered, resumed.steps
        self._opened = 0
        self._carried = (0, False)
        self._statements = 0
        self._look = True
        self._driving = False
        self._glance: Observation | None = None
        self._stop_at: int | None = None

    def run(self, session: str) -> Questions[Ending]:
        """Run until the terminal dwell, the policy's stop, the budget or a failure ends the episode.

        Yields each observation and is sent the answer to it; what answering raises is to be thrown in.
        """
        try:
            if self._resumed is None or not self._resumed.delivered:  # a prefix has left its events already
                self._judged(self.referee.history)
            self._timed(lambda: self.system.reset(self.goal, self.spec, session))
            for message, operation in self._resumed.witnessed if self._resumed is not None else ():
                self._timed(lambda m=message, o=operation: self.system.witness(m, o))  # type: ignore[misc]
            reason = yield from self._loop()
            sentence = ""
        except Refusal as refusal:
            reason, sentence = "interface_failure", str(refusal)
            self._settle_answer()
            self.recorder.events([Refused(self.world.tick, refusal.kind, sentence)])
        except (ServiceFault, SimulationFault) as fault:
            reason, sentence = "invalid", str(fault)
            self._settle_answer()
            self.recorder.events([Invalidated(self.world.tick, type(fault).__name__, sentence)])
        except BaseException:
            self._settle_answer()
            raise
        if reason != HANDOFF_REACHED:
            self._judged(self.referee.finish(self.world.tick))
        verdict = judge(self.referee.history)
        return Ending(reason, verdict, self._steps, self.world.time, self._courier.delivered, self._clock, sentence)

    def _loop(self) -> Questions[str]:
        while True:
            if self._until is not None and self._executor is None and self._until(self.referee):
                self._settle_answer()
                return HANDOFF_REACHED
            if self.referee.completed:
                self._settle_answer()
                return "completed"
            if self._stop_at is not None and self.world.tick >= self._stop_at:
                self._settle_answer()
                return "stopped"
            if self._stop_at is None and self._steps >= self._budget:
                self._settle_answer()
                return "budget"
            if self.referee.due:
                self._interrupt()
                self._transition()
            elif self._executor is not None and not self._queue:
                self._drive()
            elif self._executor is not None:
                self._go_on()
            elif self._stop_at is None and (not self._queue or self.referee.pending):
                self._settle_answer()
                yield from self._consult()
            else:
                self._go_on()

    def _consult(self) -> Questions[None]:
        """Deliver fresh evidence, ask for an act, let the time pass that the clock charges for it, admit it."""
        wants = self.system.capabilities
        started = time.perf_counter()
        cameras = wants.cameras if self._look or self.referee.pending else ()
        senses = self.world.sense(cameras, depth=wants.depth, readings=wants.readings)
        if cameras:
            self._clock.rendering += time.perf_counter() - started
        number, tick, before = self._courier.delivered + 1, self.world.tick, self.referee.current
        opened = self.referee.deliver(number, tick)
        self._opened = number if self.referee.current is not before else self._opened
        assists = self._oracle.supports(number, tick, self._readings()) if self._oracle is not None else ()
        delivery = self._courier.deliver(senses, assists)
        self.recorder.observation(delivery.observation, tick, self.referee.evidence, delivery.sha256)
        for receipt in self._oracle.taken() if self._oracle is not None else ():
            self.recorder.interface(receipt)
        self._judged(opened)
        if self.tap is not None:
            self.tap(delivery.observation)
        self.system.notice(Notice(number, self.referee.evidence, self._opened, self._steps, *self._carried))
        started = time.perf_counter()
        try:
            answer = yield delivery.observation
        finally:
            seconds = time.perf_counter() - started
            self._clock.model += seconds
            for taken in self.system.taken():
                self.recorder.request(taken)
        admitted = admit(answer, self.spec, self.goal, wants)
        self._check(admitted.act)
        charge = self._pace.charge(self._courier.delivered, seconds)
        if self._think(charge):
            self._accept(admitted, seconds, charge)
        else:
            self._expire(admitted, seconds, charge)

    def _timed(self, question: Callable[[], Any]) -> Any:
        """Ask the tested system and count the wall time it takes; physics pauses meanwhile."""
        started = time.perf_counter()
        try:
            return question()
        finally:
            self._clock.model += time.perf_counter() - started

    def _think(self, charge: float) -> bool:
        """Let `charge` seconds pass while the robot holds its command; return whether the answer still holds.

        It does not where it comes later than the clock allows, or where new evidence, the end of the episode or a turn
        of the environment came meanwhile.
        """
        tick, left = self.world.tick, periods(charge, self.spec.rate_hz)
        while left > 0 and not self._overtaken():
            left -= self._advance(HOLD, min(left, self.world.stride, self._budget - self._steps))
        if self.world.tick > tick and (self._overtaken() or self.referee.pending):
            return False
        return charge <= self._pace.limit_s

    def _overtaken(self) -> bool:
        """Return whether something comes before any answer."""
        return self.referee.completed or self.referee.due or self._steps >= self._budget

    def _check(self, act: Act) -> None:
        """Refuse what this bench cannot do, before any time passes for it."""
        if isinstance(act, Move) and not self.world.moves:
            raise Refusal("unsupported", "No arm follows commands in the fast laboratory; send Perform, Wait or Stop.")
        if isinstance(act, Perform) and self._hands is None:
            raise Refusal("unsupported", "This bench lends nobody its hands; send Move, Wait, Report or Stop.")
        self._statements = self._statements + 1 if isinstance(act, STATEMENT) else 0
        if self._statements > STATEMENTS:
            raise Refusal(
                "too_many", f"{self._statements} statements in a row; at most {STATEMENTS} without a Move or Wait."
            )

    def _expire(self, admitted: Admitted, seconds: float, charge: float) -> None:
        """Record an answer that came too late; none of it is carried out."""
        commands = admitted.act.commands if isinstance(admitted.act, Move) else np.empty((0, self.spec.size))
        self._queue.extend(commands)
        self._answer = Answer(
            admitted.act, self.world.tick, self._courier.delivered, admitted.clipped, seconds, commands, charge, True
        )
        self._look = True
        self._settle_answer()

    def _accept(self, admitted: Admitted, seconds: float, charge: float) -> None:
        """Queue a motion or a wait; score a statement at once."""
        act, tick = admitted.act, self.world.tick
        self._look = act.look if isinstance(act, Move | Wait) else not self.system.capabilities.sites
        commands = act.commands if isinstance(act, Move) else np.empty((0, self.spec.size))
        self._answer = Answer(act, tick, self._courier.delivered, admitted.clipped, seconds, commands, charge)
        match act:
            case Move():
                self._queue.extend(commands)
                if act.commits is not None:
                    self._judged(self.referee.commit(act.commits, tick))
            case Wait():
                self._queue.extend(repeat(HOLD, max(1, round(act.seconds * self.spec.rate_hz))))
            case Report():
                if self.system.capabilities.reports:
                    self._judged(self.referee.report(act.operation, tick))
                self._stated(act)
            case StateReport() | GeometryReport():
                self._stated(act)
            case Execute():
                self._begin(act)
            case Perform():
                self._lend(act, tick)
            case Stop():
                self._judged(self.referee.stop(tick))
                grace = self.contract.dwell_s + GRACE_S
                self._stop_at = tick + round(grace / self.world.channels.timestep)

    def _stated(self, act: StateReport | Report | GeometryReport | Execute) -> None:
        """Let support answer a statement; it takes no simulated time."""
        if self._oracle is not None:
            self._oracle.hear(act, self._courier.delivered + 1, self.world.tick, self._readings())
        self._settle_answer()

    def _begin(self, act: Execute) -> None:
        """Hand the announced operation to the reference executor, where that is the support."""
        if self._oracle is None or not self._oracle.executes():
            self._stated(act)
            return
        self._oracle.hear(act, self._courier.delivered + 1, self.world.tick, self._readings())
        if self._hands is not None and self.system.capabilities.performs:
            self._lend(Perform(act.operation, act.parameters), self.world.tick)
        else:
            self._executor = self._oracle.carry_out(act.operation, self._unseen())

    def _lend(self, act: Perform, tick: int) -> None:
        """Let the bench's hands carry out an operation, to its end; the choice is made.

        Under skill support they do it with the parameters of the reference executor.
        """
        assert self._hands is not None and self._answer is not None  # refused otherwise, and just admitted
        if self._oracle is not None:
            if "skill" not in self.system.capabilities.sites:
                self._oracle.hear(act, self._courier.delivered + 1, tick, self._readings())
            if self._oracle.executes():
                act = Perform(act.operation, self._oracle.parameters(act.operation))
            self._oracle.began(act.operation)
        self._answer.act, self._statements = act, 0
        self._judged(self.referee.perform(act.operation, tick))
        parameters = {parameter.name: parameter.value for parameter in act.parameters}
        self._executor = self._hands(self._unseen(), act.operation, parameters)

    def _drive(self) -> None:
        """Ask the executor for its next commands; nobody else is asked until it has finished."""
        assert self._executor is not None  # asked only while it works
        try:
            step = next(self._executor) if not self._driving else self._executor.send(self._seen_by_hands())
        except StopIteration:
            self._executor, self._driving = None, False
            self._settle_answer()
            return
        self._driving = True
        rows = step.commands if isinstance(step, Move) else None
        held = max(1, round(step.seconds * self.spec.rate_hz)) if isinstance(step, Wait) else 0
        self._queue.extend(rows if rows is not None else repeat(HOLD, held))

    def _seen_by_hands(self) -> Observation:
        """Return what the executor goes by now; without an arm it looks at nothing, and the last one will do."""
        if self._glance is None or self.world.moves:
            self._glance = self._unseen()
        return self._glance

    def _unseen(self) -> Observation:
        """Return what the executor goes by; it is not delivered to anybody."""
        return Observation(0, self.goal, self.world.sense(readings=True))

    def _readings(self) -> tuple[Reading, ...]:
        return self.world.sense(readings=True).readings

    def _interrupt(self) -> None:
        """Drop the queue; the answer under way ends unless the executor goes on with it."""
        if self._executor is None:
            self._settle_answer()
        self._queue.clear()

    def _go_on(self) -> None:
        """Carry out the next command; a stretch without any passes at once where the laboratory allows it."""
        command, wanted = self._queue.popleft() if self._queue else HOLD, 1
        if command is HOLD:
            wanted = self._stretch()
        passed = self._advance(command, wanted)
        if passed < wanted and self._executor is not None:
            self._queue.clear()  # what the hands waited for has come
        elif self._stop_at is None:
            self._queue.extendleft(repeat(HOLD, wanted - passed))

    def _stretch(self) -> int:
        """Return how many control periods without a command may pass at once, and take them off the queue."""
        stopping = self._stop_at is not None and not self._queue
        if self._stop_at is not None:
            left = math.ceil((self._stop_at - self.world.tick) / self._substeps)
        else:
            left = self._budget - self._steps
        most = min(left, self.world.stride if self._executor is None else self.world.longest)
        if stopping:
            return max(1, most)
        # Commands and holding still never wait together.
        waiting = len(self._queue) if self._queue and self._queue[0] is HOLD else 0
        taken = max(0, min(most - 1, waiting))
        if taken:
            self._queue = deque(repeat(HOLD, waiting - taken))
        return 1 + taken

    def _advance(self, command: np.ndarray, wanted: int = 1) -> int:
        """Apply one command for one control period, or `wanted` of them, measure, judge; return how many passed."""
        target = self._target(command)
        if self._answer is not None and command is not HOLD:
            self._answer.applied.append(target)
        passed = self._step(target, POLICY, wanted).ticks // self._substeps
        self._steps += passed
        return passed

    def _step(self, target: np.ndarray, control: int, wanted: int = 1) -> Block:
        """Let control periods pass: the only call of `World.step`."""
        started = time.perf_counter()
        block, readouts = self.world.step(target, wanted * self._substeps, control)
        events = self.referee.observe(block, readouts, self.world.dipped)
        self._clock.physics += time.perf_counter() - started
        self._periods += 1
        self.recorder.block(block)
        self._judged(events)
        if self._video and self._due(VIDEO_RATE_HZ):
            self._film()
        return block

    def _transition(self) -> None:
        """Let the environment act while the robot holds its command and nobody is asked; it costs no control steps."""
        transition = self.contract.transition(self.referee.state, self.setup)
        before = self.world.now()
        for stage in schedule(transition, self._substeps * self.world.channels.timestep):
            if stage.change is not None:
                self.world.rearrange(stage.change)
            block = self._step(self.world.command, stage.control)
            if stage.check:
                check(transition.change, before, block, self.world.channels)

    def _target(self, command: np.ndarray) -> np.ndarray:
        """Return joint targets and gripper opening (8,) for a command of the profile; HOLD keeps those in force."""
        force = self.world.command
        if command is HOLD:
            return force
        if self.spec.space == "joint":
            return command
        return np.append(self._increment(force[:7], command[:6]), command[6])

    def _settle_answer(self) -> None:
        """Record the answer under way; whatever is left of its queue is dropped."""
        answer, self._answer = self._answer, None
        dropped = len(self._queue)
        self._queue.clear()
        if answer is None:
            return
        self._carried = len(answer.applied), answer.late
        self.recorder.act(answer.record(dropped))

    def _judged(self, events: list[Event]) -> None:
        """Record conclusions as they are reached, with a live snapshot of the scores whenever one concerns them."""
        if not events:
            return
        self.recorder.events(events)
        if any(not isinstance(event, Physical) for event in events):
            self.recorder.online({"tick": self.world.tick, "scores": self.referee.snapshot()})

    def _due(self, rate_hz: float) -> bool:
        every = max(1, round(self.spec.rate_hz / rate_hz))
        return self._periods % every == 0

    def _film(self) -> None:
        started = time.perf_counter()
        for frame in self.world.sense(self._video).frames:
            self.recorder.video(frame.camera, frame.rgb)
        self._clock.rendering += time.perf_counter() - started


HOLD = np.empty(0)
"""Stands for "keep the command in force" in a queue."""


def substeps(rate_hz: float, timestep: float) -> int:
    """Return the physics steps per control period, refusing a period that is not a whole number of them."""
    exact = 1 / (rate_hz * timestep)
    steps = max(1, round(exact))
    if abs(steps - exact) > 1e-9:
        near = sorted({1 / (n * timestep) for n in (max(1, int(exact)), int(exact) + 1)})
        rates = " or ".join(f"{rate:.6g}" for rate in near)
        raise ValueError(f"{rate_hz:g} Hz is not a whole number of {timestep:g} s physics steps; {rates} Hz would be.")
    return steps
