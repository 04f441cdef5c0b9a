"""Play a script as a policy does: one act per observation."""

from __future__ import annotations

from collections.abc import Callable

from ..wire import Act, Observation, Script


class Player:
    """Begin `script` with the first observation after a restart, and send it every later one."""

    def __init__(self, script: Callable[[Observation], Script[None]]) -> None:
        self._script = script
        self._running: Script[None] | None = None

    def restart(self) -> None:
        """Forget the script under way."""
        self._running = None

    def act(self, observation: Observation) -> Act:
        """Return the next act of the script."""
        if self._running is None:
            self._running = self._script(observation)
            return next(self._running)
        return self._running.send(observation)
