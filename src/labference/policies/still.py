"""The system that never moves: whatever it scores is an error of the bench."""

from __future__ import annotations

from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Wait


class Still:
    """Wait, forever."""

    def __init__(self, seed: int = 0) -> None:
        del seed  # nothing is drawn

    def open(self) -> Capabilities:
        """Declare both action profiles; neither is used."""
        return Capabilities("still", "1", actions=("joint", "end_effector"))

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Remember nothing."""

    def act(self, observation: Observation) -> Act:
        """Hold still for a second."""
        return Wait(1.0)

    def close(self) -> None:
        """Release nothing."""
