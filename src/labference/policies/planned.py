"""Baselines with the reader's eyes and hands that do not go by what happened."""

from __future__ import annotations

import numpy as np

from labference.motion import Arm
from labference.sight import TUBE_CAMERAS
from labference.wire import Goal, Refusal

from .loading import LoadingByPlan
from .modular import Modular, Parts
from .recalling import Recalling


class Planned(Modular):
    """Plan every operation from the first look, and follow that plan whatever happens.

    In recall the plan is a position in the room: that of the hole it chose, where the rack stood at first.
    """

    name, version, cameras = "planned", "2", TUBE_CAMERAS
    stateful = True

    def assemble(self, goal: Goal, arm: Arm, chance: np.random.Generator) -> Parts:
        """Return eyes and hands of the reader with a mind that decides once."""
        if "retrieve" in goal.kinds:
            return Recalling(arm, chance, "plan")
        if "insert" in goal.kinds:
            return LoadingByPlan(arm, goal, chance)
        raise Refusal("unsupported", f"{self.name!r} loads and recalls; here one can {', '.join(goal.kinds)}.")


class OldPosition(Modular):
    """Look where the tube has come to rest, and return to that position in the room, wherever the rack is by then."""

    name, version, cameras = "old_position", "2", TUBE_CAMERAS
    stateful = True

    def assemble(self, goal: Goal, arm: Arm, chance: np.random.Generator) -> Parts:
        """Return eyes and hands of the reader with a memory of places in the room."""
        if "retrieve" not in goal.kinds:
            raise Refusal("unsupported", f"{self.name!r} recalls; here one can {', '.join(goal.kinds)}.")
        return Recalling(arm, chance, "position")
