"""Baselines with the reader's eyes and hands that do not go by what happened."""

from __future__ import annotations

import numpy as np

from labference.motion import Arm
from labference.motion.player import Player
from labference.sight import TUBE_CAMERAS
from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Refusal, Script

from .loading import load_by_plan
from .recalling import recall


class Planned:
    """Plan every operation from the first look, and follow that plan whatever happens.

    In recall the plan is a position in the room: that of the hole it chose, where the rack stood at first.
    """

    name = "planned"
    kinds: tuple[str, ...] = ("insert",)

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._arm = Arm()
        self._player = Player(self._work)

    def open(self) -> Capabilities:
        """Declare joint commands and RGB-D frames of one camera."""
        return Capabilities(self.name, "1", actions=("joint",), cameras=TUBE_CAMERAS, depth=True)

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Start over."""
        if not set(self.kinds) <= set(goal.kinds):
            raise Refusal(
                "unsupported", f"{self.name!r} needs to {', '.join(self.kinds)}; here one can {', '.join(goal.kinds)}."
            )
        if spec != self._arm.spec:
            self._arm = Arm(spec)
        self._goal = goal
        self._player.restart()

    def act(self, observation: Observation) -> Act:
        """Return the next act of the script."""
        return self._player.act(observation)

    def close(self) -> None:
        """Release nothing."""

    def _work(self, observation: Observation) -> Script[None]:
        chance = np.random.default_rng(self._seed)
        if "retrieve" in self._goal.kinds:
            return recall(self._arm, self._goal, observation, chance, "plan")
        return load_by_plan(self._arm, self._goal, observation, chance)


class OldPosition(Planned):
    """Look where the tube has come to rest, and return to that position in the room, wherever the rack is by then."""

    name = "old_position"
    kinds = ("insert", "retrieve")

    def _work(self, observation: Observation) -> Script[None]:
        return recall(self._arm, self._goal, observation, np.random.default_rng(self._seed), "position")
