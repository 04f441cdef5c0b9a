"""What a campaign runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labference.records.strict import plain
from labference.truth.measurement import SensorFault


@dataclass(frozen=True, slots=True)
class Plan:
    """A registered population of episodes.

    When a campaign is resumed, `episodes` may grow and `deadline_s`, the longest wall time of one answer [s], may
    change; nothing else may. `instances` names a registered list of the task, or one of its members as LIST:LABEL;
    without one, instances are drawn from the task's strata. `budget` [control steps] stands in for the contract's,
    `faults` are injected into every episode. `clock` says how much simulated time an answer costs (`bench/clock.py`).
    """

    task: str
    policy: str
    episodes: int
    seed: int = 0
    action: str = "joint"
    render: str = "fast"
    video: tuple[str, ...] = ()
    policy_seed: int = 0
    deadline_s: float = 600.0
    budget: int | None = None
    faults: tuple[SensorFault, ...] = ()
    instances: str = ""
    support: str = ""
    clock: str = "paused"

    def condition(self) -> dict[str, Any]:
        """Return what must agree for a campaign to be resumed."""
        values: dict[str, Any] = plain(self)
        return {name: value for name, value in values.items() if name not in ("episodes", "deadline_s")}
