"""An honest system: it sees only what any tested system sees, and does what the bench calls for at each moment."""

from __future__ import annotations

import numpy as np

from labference.motion import Arm
from labference.motion.player import Player
from labference.sight import CAMERAS, TUBE_CAMERAS
from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Refusal, Script

from .loading import load_by_sight
from .recalling import recall
from .weighing_by_sight import read_target, weigh_by_sight


class Reader:
    """Weigh, load and recall by sight: look before each operation, and remember what has been seen in an episode."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._arm = Arm()
        self._player = Player(self._work)

    def open(self) -> Capabilities:
        """Declare joint commands and RGB-D frames of whichever of its cameras the bench has; no data port."""
        return Capabilities("reader", "2", actions=("joint",), depth=True, optional=(*CAMERAS, *TUBE_CAMERAS))

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Start over."""
        if spec != self._arm.spec:
            self._arm = Arm(spec)
        if not {"add", "insert"} & set(goal.kinds):
            raise Refusal("unsupported", f"The reader weighs, loads and recalls, and cannot {', '.join(goal.kinds)}.")
        if "add" in goal.kinds:
            read_target(goal.instruction)
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
            return recall(self._arm, self._goal, observation, chance, "hole")
        if "insert" in self._goal.kinds:
            return load_by_sight(self._arm, self._goal, observation, chance)
        return weigh_by_sight(self._arm, self._goal, observation)
