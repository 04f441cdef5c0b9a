"""What a campaign runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from labference.policies.remote.fields import ProfileError
from labference.policies.remote.profile_file import profile_bytes
from labference.records.strict import plain
from labference.truth.identity import IN_PROCESS, PHYSICS, PROCESS, PlanError, system_name, transport_of
from labference.truth.measurement import SensorFault


@dataclass(frozen=True, slots=True)
class Plan:
    """A registered population of episodes.

    When a campaign is resumed, `episodes` may grow, and `deadline_s`, the longest wall time of one answer [s], and the
    address of a server may change; nothing else may. `instances` names a registered list of the task, or one of its
    members as LIST:LABEL; without one, instances are drawn from the task's strata. `budget` [control steps] stands in
    for the contract's, `faults` are injected into every episode. `clock` says how much simulated time an answer costs
    (`bench/clock.py`). `profile` is the path of a profile file for a server, or ''. `transport` is "in-process" or
    "process" for a local policy; an address has its own. `fidelity` is "physics", with the simulated arm, or "fast".
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
    profile: str = ""
    transport: str = IN_PROCESS
    fidelity: str = PHYSICS

    @property
    def isolated(self) -> bool:
        """Return whether the policy is a local one in a child process."""
        return transport_of(self.policy, self.transport) == PROCESS

    def condition(self) -> dict[str, Any]:
        """Return what must agree for a campaign to be resumed: not where a server listens, nor where a file lies."""
        values: dict[str, Any] = plain(self)
        values |= {
            "policy": system_name(self.policy),
            "profile": profile_digest(self.profile),
            "transport": transport_of(self.policy, self.transport),
        }
        return {name: value for name, value in values.items() if name not in ("episodes", "deadline_s")}


def profile_digest(name: str) -> str:
    """Return the first 12 hex digits of the sha256 of a profile, built in or a file, or '' where there is none."""
    if not name:
        return ""
    try:
        return hashlib.sha256(profile_bytes(name)).hexdigest()[:12]
    except ProfileError as error:
        raise PlanError(str(error)) from error
