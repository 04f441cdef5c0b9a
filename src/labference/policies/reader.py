"""An honest system: it sees only what any tested system sees, and does what the bench calls for at each moment."""

from __future__ import annotations

import numpy as np

from labference.motion import Arm
from labference.sight import CAMERAS, TUBE_CAMERAS
from labference.wire import Goal, Refusal

from .loading import LoadingBySight
from .modular import Modular, Parts
from .recalling import Recalling
from .weighing_by_sight import WeighingBySight


class Reader(Modular):
    """Weigh, load and recall by sight: look before each operation, and remember what has been seen in an episode."""

    name, version, optional = "reader", "4", (*CAMERAS, *TUBE_CAMERAS)
    stateful = True

    def assemble(self, goal: Goal, arm: Arm, chance: np.random.Generator) -> Parts:
        """Return the parts for the task that the vocabulary of the goal speaks of."""
        if "retrieve" in goal.kinds:
            return Recalling(arm, chance, "hole")
        if "insert" in goal.kinds:
            return LoadingBySight(arm, goal, chance)
        if "add" in goal.kinds:
            return WeighingBySight(arm, goal)
        raise Refusal("unsupported", f"The reader weighs, loads and recalls; here one can {', '.join(goal.kinds)}.")
