"""What a campaign runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Plan:
    """A registered population of episodes.

    When a campaign is resumed, `episodes` may grow and `deadline_s`, the longest wall time of one answer [s], may
    change; nothing else may.
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

    def condition(self) -> dict[str, Any]:
        """Return what must agree for a campaign to be resumed."""
        fields = asdict(self)
        return {name: fields[name] for name in fields.keys() - {"episodes", "deadline_s"}} | {"video": list(self.video)}
