"""Where calls queue: one thread owns the laboratory and lets one agent drive one episode after the other."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from labference.bench.campaign import agreed, contact, keep, remaining
from labference.bench.laboratory import Laboratory, Result
from labference.bench.plan import Plan
from labference.bench.session import Driven
from labference.truth.identity import PlanError, policy_identity
from labference.wire import Capabilities

from .driver import Bridge, Reply, lends, offered
from .helper import Helper
from .terms import Terms
from .tools import CATALOGUE, RESET, Tool

LINGER_S = 5.0
"""How long a desk answers after the last episode has ended [s]."""
CLOSED = "The bench is closed."
UNDER_WAY = "An episode is under way; finish ends it."

Job = tuple[str, object, "Future[Reply]"]


class Desk:
    """Serve the episodes of `plan` that `out` does not hold yet, in order; each is recorded as `labference run` does.

    The first call, or `reset`, begins an episode, `reset` every further one. Calls are carried out one at a time, in
    the order in which they come. An episode in which nobody calls for `idle_s` of wall time [s] ends unresolved: the
    client has gone away. `heard` is told every result.

    Raises `PlanError` where plan, terms and laboratory do not fit; nothing is recorded then.
    """

    def __init__(
        self,
        plan: Plan,
        out: Path,
        terms: Terms | None = None,
        *,
        idle_s: float = 600.0,
        heard: Callable[[Result], None] = lambda result: None,
    ) -> None:
        self.plan = plan
        self.out = out
        self.terms = terms or Terms()
        self.idle_s = idle_s
        self.over = threading.Event()
        self._heard = heard
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        self._closed = False
        self._lock = threading.Lock()
        self._bridge: Bridge | None = None
        self._told = False
        self._failure: BaseException | None = None
        self._closing = ExitStack()
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._work, args=(ready,), name="bench", daemon=True)
        self._thread.start()
        ready.result()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Return the tools that are offered."""
        return (*(CATALOGUE[name] for name in self._offered), RESET)

    def call(self, name: str, arguments: object = None) -> Reply:
        """Carry out one call, from any thread, and return the reply; raises what broke the bench itself."""
        future: Future[Reply] = Future()
        with self._lock:
            if self._closed:
                return {"error": CLOSED, "ended": CLOSED}
            self._jobs.put((name, {} if arguments is None else arguments, future))
        return future.result()

    def close(self) -> None:
        """Finish the call under way, end an episode under way as unresolved, and stop; raises what broke the bench."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _work(self, ready: Future[None]) -> None:
        """Own the laboratory: graphics contexts belong to one thread."""
        try:
            self._laboratory = Laboratory(self.plan.task, self.plan.render, self.plan.fidelity)
            self._closing.callback(self._laboratory.world.close)
            self._prepare()
        except BaseException as error:  # noqa: BLE001  # handed to whoever opened the desk
            self._closing.close()
            ready.set_exception(error)
            return
        ready.set_result(None)
        try:
            try:
                self._serve()
            finally:
                self._end()
        except BaseException as error:  # noqa: BLE001  # handed to whoever closes the desk
            self._failure = error
        finally:
            self._refuse_all()
            self._closing.close()
            self.over.set()

    def _end(self) -> None:
        """End an episode under way as unresolved."""
        if self._bridge is not None:
            self._bridge.close()
            self._tell()

    def _prepare(self) -> None:
        """Check everything that can be known before the first call; register the population."""
        self._offered = offered(self.terms, self._laboratory)
        cameras = self._laboratory.world.cameras
        capabilities = self.terms.capabilities(cameras, self._open_helper(), lent=lends(self._laboratory))
        self._laboratory.negotiate(self.plan, Driven(capabilities))
        name = policy_identity(self.plan.policy, capabilities)
        if (known := agreed(self.out).get("policy", name)) != name:
            raise PlanError(f"{self.out} holds episodes of {known!r}, not {name!r}; choose another --out.")
        self._closing.enter_context(keep(self.plan, self.out, driven=True))
        self._waiting = remaining(self.plan, self.out)
        if not self._waiting:
            raise PlanError(f"{self.out} holds all {self.plan.episodes} episodes already; choose another --out.")

    def _open_helper(self) -> Capabilities | None:
        """Open the policy behind vla once, so that what does not fit is known before an episode; return its terms."""
        terms, plan = self.terms, self.plan
        if not terms.vla:
            return None
        contact(replace(plan, policy=terms.vla, profile=terms.profile))
        helper = Helper(terms.vla, 0, terms.profile, plan)
        helper.settle(self._laboratory.world.cameras)
        helper.close()
        return helper.capabilities

    def _serve(self) -> None:
        """Answer calls until the desk is closed, or all is done and nobody calls any more."""
        last = time.monotonic()
        while True:
            try:
                job = self._jobs.get(timeout=self._patience(time.monotonic() - last))
            except queue.Empty:
                if self._expire(time.monotonic() - last):
                    self._refuse_all()
                    return
                continue
            if job is None:
                return
            name, arguments, future = job
            try:
                future.set_result(self._answer(name, arguments))
            except BaseException as error:
                future.set_exception(error)
                self._refuse_all()
                raise
            finally:
                last = time.monotonic()
                self._tell()

    def _answer(self, name: str, arguments: object) -> Reply:
        bridge = self._bridge
        if name == RESET.name:
            if bridge is not None and not bridge.ended:
                return {"error": UNDER_WAY}
            return self._begin()
        if bridge is None:
            begun = self._begin()
            bridge = self._bridge
            if bridge is None or bridge.ended:
                return begun
        return bridge.call(name, arguments)

    def _begin(self) -> Reply:
        """Begin the next episode."""
        if not self._waiting:
            return {"error": f"All {self.plan.episodes} episodes are done.", "ended": CLOSED}
        self._bridge = Bridge(self._laboratory, self.plan, self._waiting.pop(0), self.out, self.terms, kept=True)
        self._told = False
        return self._bridge.begin()

    def _patience(self, idle: float) -> float | None:
        """Return how long to wait for the next call [s]."""
        bridge = self._bridge
        if bridge is None:
            return None
        if bridge.ended:
            return None if self._waiting else max(0.0, LINGER_S - idle)
        wall = self.terms.limits.wall_s
        left = self.idle_s - idle
        return max(0.01, left if wall is None else min(left, wall - bridge.wall_s))

    def _expire(self, idle: float) -> bool:
        """Do what has to be done though nobody calls; return whether the desk can close."""
        bridge = self._bridge
        if bridge is None:
            return False
        if bridge.ended:
            return not self._waiting and idle >= LINGER_S
        if not bridge.check() and idle >= self.idle_s:
            bridge.close()
        self._tell()
        return False

    def _tell(self) -> None:
        """Tell once how an episode ended."""
        bridge = self._bridge
        if bridge is not None and bridge.result is not None and not self._told:
            self._told = True
            self._heard(bridge.result)

    def _refuse_all(self) -> None:
        """Take no more calls, and answer those that wait."""
        with self._lock:
            self._closed = True
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                job[2].set_result({"error": CLOSED, "ended": CLOSED})
