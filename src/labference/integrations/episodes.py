"""Episodes of one task, one after another, answered by another tool and recorded as `labference run` records them."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labference.bench.plan import Plan
from labference.records import folder, strict
from labference.records.lock import hold_episode
from labference.truth.identity import PlanError
from labference.truth.privilege import EXPOSED
from labference.wire import PROFILES, ActionSpec, Capabilities, Move, Observation, ServiceFault, codec

if TYPE_CHECKING:
    from labference.bench.laboratory import Laboratory, Result
    from labference.bench.session import Session

TRIES = 2
"""Attempts at the preparation of an instance, as in a campaign."""
SINGLE = np.float32
"""Other tools send commands in single precision."""


class Episodes:
    """Drive episodes of `plan.task`: `begin`, `answer` until it returns None, `result` says how it ended.

    plan          its `policy` names the tool, its `seed` the campaign
    capabilities  name and version of who answers, and the sensors it is given
    out           folder for the records: a campaign folder per condition, which `labference score`, `audit` and
                  `report` read; None keeps no record longer than its episode
    planned       how many episodes each campaign counts at least; one that is never begun counts as unresolved
    exposed       whether the tool shows the evaluator's state to whoever answers, which the records then say

    Raises `PlanError` where plan, laboratory and folder do not fit. A laboratory is built, so hold one of these for
    many episodes and `close` it.
    """

    def __init__(
        self, plan: Plan, capabilities: Capabilities, out: str | Path | None = None, planned: int = 0, *, exposed: bool
    ) -> None:
        if plan.action not in PROFILES:
            raise PlanError(f"No action profile {plan.action!r}; profiles: {', '.join(PROFILES)}.")
        # MuJoCo binds its renderer when it is imported, which a tool may want to configure before.
        from labference.bench.laboratory import Laboratory

        system = f"{capabilities.name} ({plan.policy})"
        self.plan = replace(plan, policy=f"{system}{EXPOSED}" if exposed else system)
        self.capabilities = replace(capabilities, actions=(plan.action,))
        self.spec: ActionSpec = PROFILES[plan.action]
        self.laboratory: Laboratory = Laboratory(plan.task, plan.render, plan.fidelity)
        for camera in capabilities.cameras:
            if camera not in self.laboratory.world.cameras:
                there = ", ".join(self.laboratory.world.cameras)
                raise PlanError(f"There is no camera {camera!r} in {plan.task}; cameras: {there}.")
        self._planned = planned
        self._out = None if out is None else Path(out)
        self._scratch = Path(tempfile.mkdtemp(prefix="labference-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        self._holding = contextlib.ExitStack()
        self._session: Session | None = None
        self.path: Path | None = None

    @property
    def budget(self) -> int:
        """Return the control steps of an episode."""
        return self.laboratory.contract.budget_steps if self.plan.budget is None else self.plan.budget

    @property
    def result(self) -> Result | None:
        """Return how the last episode ended; None while one is under way, and before the first."""
        return None if self._session is None else self._session.result

    @property
    def scores(self) -> dict[str, Any] | None:
        """Return the committed scores of the last episode; None where it is under way or unresolved."""
        if self.path is None or not (self.path / folder.SCORES).exists():
            return None
        found: dict[str, Any] = strict.read(self.path / folder.SCORES)
        return found

    def check_remaining(self) -> None:
        """Raise `PlanError` where every episode that `self.plan` counts has its scores already."""
        if self._out is None or not self._planned:
            return
        where = self._out / campaign_name(self.plan)
        if all(folder.finished(folder.episode_folder(where, index)) for index in range(self._planned)):
            raise PlanError(f"{where} has scores of all {self._planned} episodes already; choose another out or seed.")

    def begin(self, plan: Plan, index: int, *, keep: bool = True) -> Observation:
        """Return the first observation of episode `index` of `plan`; an episode that is under way ends as unresolved.

        Where not to `keep`, the episode leaves no record behind, as without a folder.
        `plan` may differ from `self.plan` in `seed`, `instances`, `policy_seed` and `budget`. Raises `PlanError` where
        the folder holds another experiment, or scores of this episode already, or another process is in it, and
        `ServiceFault` where the instance could not be prepared.
        """
        self.abandon()
        self._session = self.path = None
        if index < 0:
            raise PlanError(f"There is no episode {index}; 0 or more would work.")
        try:
            return self._begin(plan, index, self._folder(plan, index, keep))
        except BaseException:
            self._holding.close()
            raise

    def _begin(self, plan: Plan, index: int, where: Path) -> Observation:
        from labference.bench.campaign import agreed
        from labference.bench.session import Session

        self.laboratory.expect(agreed(where))
        for _ in range(TRIES):
            session = Session(self.laboratory, plan, index, where, self.capabilities)
            first = session.begin()
            self._session = session
            self.path = folder.attempts(folder.episode_folder(where, index))[-1]
            if first is not None:
                return first
        # The reason may name what is hidden, and the episode will be tried again.
        below = folder.episode_folder(where, index)
        raise ServiceFault(f"Episode {index} could not be prepared; {folder.EVENTS} below {below} says why.")

    def answer(self, act: object) -> Observation | None:
        """Carry out `act` and return the next observation; None once the episode has ended."""
        observation = self._under_way().answer(act)
        if observation is None:
            self._holding.close()
        return observation

    def last(self) -> Observation:
        """Return what the registered sensors show now, as it would be delivered; for tools that want a last look."""
        wants, world = self._under_way().capabilities, self.laboratory.world
        senses = world.sense(wants.cameras, depth=wants.depth, readings=wants.readings)
        return Observation(0, codec.copy(self._under_way().goal), codec.copy(senses))

    def snapshot(self) -> dict[str, Any]:
        """Return the evaluator's live scores: for exposed episodes only."""
        if self.path is None:
            raise PlanError("No episode has begun; call begin() first.")
        lines = strict.read_lines(self.path / folder.ONLINE)
        found: dict[str, Any] = lines[-1]["scores"] if lines else {}
        return found

    def abandon(self, sentence: str = "") -> None:
        """End an episode that is under way as unresolved, with `sentence` in its record."""
        session = self._session
        if session is None or session.result is not None:
            return
        if sentence:
            session.fail(ServiceFault(sentence))
        session.close()
        self._holding.close()

    def close(self) -> None:
        """End an episode that is under way as unresolved, and release the laboratory."""
        self.abandon()
        self.laboratory.world.close()
        self._finalizer()

    def _under_way(self) -> Session:
        if self._session is None:
            raise PlanError("No episode has begun; call begin() first.")
        return self._session

    def _folder(self, plan: Plan, index: int, keep: bool) -> Path:
        """Return the campaign folder for `plan`, which counts episode `index` from now on."""
        from labference.bench.campaign import enter

        if self._out is None or not keep:
            where = self._scratch / "episode"
            shutil.rmtree(where, ignore_errors=True)
            return where
        where = self._out / campaign_name(plan)
        where.mkdir(parents=True, exist_ok=True)
        with _locked(where / "campaign.lock"):
            enter(replace(plan, episodes=max(self._planned, index + 1)), where)
        self._holding.enter_context(hold_episode(where, index))
        if folder.finished(folder.episode_folder(where, index)) is not None:
            raise PlanError(
                f"{where} has scores of episode {index} already; choose another out, seed or index to run it again."
            )
        return where


def campaign_name(plan: Plan) -> str:
    """Return the folder name of a campaign: what tells it from others that the same tool runs."""
    words = [plan.task, f"seed-{plan.seed}", plan.instances, f"policy-{plan.policy_seed}" if plan.policy_seed else ""]
    return re.sub(r"[^\w.-]+", "-", "-".join(word for word in words if word))


def commands(action: object, spec: ActionSpec) -> Move:
    """Return the motion that another tool's `action` asks for, (size,) or (n, size) numbers; nothing is judged here.

    A bound that was rounded to single precision lies just outside of the range, and counts as the bound.
    """
    try:
        rows = np.asarray(action)
    except ValueError:
        return Move(action)  # type: ignore[arg-type]  # refused by name at admission
    if rows.dtype.kind not in "fiu":
        return Move(rows)
    rows = np.atleast_2d(np.array(rows, np.float64))
    if rows.shape[-1] == spec.size:
        for bound in (np.array(spec.low), np.array(spec.high)):
            near = np.abs(rows - bound) <= np.spacing(np.abs(bound).astype(SINGLE))
            rows = np.where(near, bound, rows)
    return Move(rows)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time change a folder, where the system has file locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
