"""An answer of the tested system while its commands are under way, and what the records keep of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from labference.records.recorder import ActRecord
from labference.wire import Act, Execute, GeometryReport, Move, Perform, Report, StateReport


@dataclass(slots=True)
class Answer:
    """An admitted act whose commands are under way."""

    act: Act
    tick: int
    observation: int
    clipped: int
    seconds: float
    requested: np.ndarray
    charge: float = 0.0
    late: bool = False
    applied: list[np.ndarray] = field(default_factory=list)

    def record(self, dropped: int) -> ActRecord:
        """Return what the records keep of it; `dropped` commands of it were not carried out."""
        act, stated = self.act, None
        content: object = None
        match act:
            case Move():
                stated = act.commits
            case Report() | Execute():
                stated = act.operation
            case GeometryReport():
                stated, content = act.operation, act.targets
            case Perform():
                stated, content = act.operation, act.parameters
            case StateReport():
                content = act.facts
            case _:
                pass
        return ActRecord(
            type(act).__name__,
            self.tick,
            self.observation,
            stated,
            self.requested,
            np.array(self.applied),
            dropped,
            self.clipped,
            self.seconds,
            content,
            self.charge,
            self.late,
        )
