"""The policy behind the `vla` tool: a vision-language-action model that the agent calls with an instruction."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from labference.bench.admit import admit
from labference.bench.laboratory import MARGIN_S
from labference.bench.plan import Plan
from labference.bench.system import System
from labference.policies import make_policy
from labference.truth.identity import IN_PROCESS, PROCESS, PlanError, transport_of
from labference.wire import ActionSpec, Capabilities, Goal, Move, Observation, Refusal, Stop, Wait

from .tools import ToolError


class Helper:
    """One opened policy for one episode; it sees what it declared, and is told the agent's instruction as its goal.

    A local one runs in a child process where the plan says so, like a tested one.

    Raises `PlanError` where it cannot be opened or does not offer the action profile. `ServiceFault` passes through:
    then the tested system is not whole, and its episode cannot be measured.
    """

    def __init__(self, name: str, seed: int, profile: str, plan: Plan) -> None:
        transport, deadline_s, action = transport_of(name, plan.transport), plan.deadline_s, plan.action
        isolated, elsewhere = transport == PROCESS, transport != IN_PROCESS
        self.system = System(
            lambda: make_policy(name, seed, profile, isolated=isolated, deadline_s=deadline_s),
            name,
            deadline_s + (MARGIN_S if elsewhere else 0.0),
        )
        if action not in self.capabilities.actions:
            offered = ", ".join(self.capabilities.actions)
            self.close()
            raise PlanError(f"{name!r} does not support action profile {action!r}; it offers {offered}.")

    @property
    def capabilities(self) -> Capabilities:
        """Return what the policy declared."""
        return self.system.capabilities

    def settle(self, cameras: tuple[str, ...]) -> None:
        """Keep those of the optional cameras that the laboratory has."""
        self.system.settle(cameras)

    def begin(self, goal: Goal, spec: ActionSpec) -> None:
        """Start over with the instruction of `goal`, in a session of its own."""
        self._goal, self._spec = goal, spec
        with _refusals_are_errors():
            self.system.reset(goal, spec, secrets.token_hex(8))

    def act(self, observation: Observation) -> Move | Wait | Stop:
        """Return the next chunk, a wait, or that the policy has finished; `ToolError` for anything else."""
        with _refusals_are_errors():
            answer = self.system.act(self._shown(observation))
            act = admit(answer, self._spec, self._goal, self.capabilities).act
        match act:
            case Move():
                return replace(act, commits=None, look=True)
            case Wait():
                return replace(act, look=True)
            case Stop():
                return act
        kind = type(act).__name__
        raise ToolError(f"The policy behind vla answered with a {kind}; only Move, Wait and Stop are taken.", bad=False)

    def close(self) -> None:
        """Release the policy."""
        self.system.close()

    def _shown(self, observation: Observation) -> Observation:
        """Return what the policy declared to take of an observation, under the agent's instruction."""
        wants, senses = self.capabilities, observation.senses
        frames = tuple(
            frame if wants.depth else replace(frame, depth=None)
            for frame in senses.frames
            if frame.camera in wants.cameras
        )
        readings = senses.readings if wants.readings else ()
        return Observation(observation.id, self._goal, replace(senses, frames=frames, readings=readings))


@contextmanager
def _refusals_are_errors() -> Iterator[None]:
    """What the policy answers wrongly is for the agent to deal with: it chose to call it."""
    try:
        yield
    except Refusal as refusal:
        raise ToolError(f"The policy behind vla cannot be used here: {refusal}", bad=False) from refusal
