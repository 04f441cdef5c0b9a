"""A third party's policy in forty lines: hold still, watch the balance's data port, and say what it means.

    labference run weighing-basic --policy my_policy:Watcher --episodes 2

run in the folder of this file. The policy offers the report track, so that waiting is a scored answer.
"""

from __future__ import annotations

from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Operation, Report, Stop, Wait


class Watcher:
    """Report "wait" while the display is unsteady, then stop without having moved anything."""

    def __init__(self, seed: int = 0) -> None:
        self._reported = 0

    def open(self) -> Capabilities:
        return Capabilities("watcher", "1", readings=True, reports=True)

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        self._reported = 0

    def act(self, observation: Observation) -> Act:
        reading = observation.senses.readings[0]
        if not reading.stable and self._reported != observation.id:
            self._reported = observation.id
            return Report(Operation("wait"))
        return Stop() if observation.senses.time > 2 else Wait(0.5)

    def close(self) -> None:
        pass
