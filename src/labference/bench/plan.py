"""Which instances a campaign runs: balanced over strata, with a seed of its own per stream of chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labference.truth.contract import TaskContract
from labference.truth.identity import Seeds


@dataclass(frozen=True, slots=True)
class Plan:
    """A registered population of episodes; `episodes` may grow when a campaign is resumed, nothing else may change."""

    task: str
    policy: str
    episodes: int
    seed: int = 0
    action: str = "joint"
    render: str = "fast"
    video: tuple[str, ...] = ()

    def condition(self) -> dict[str, Any]:
        """Return what must agree for a campaign to be resumed."""
        return {
            "task": self.task,
            "policy": self.policy,
            "seed": self.seed,
            "action": self.action,
            "render": self.render,
            "video": list(self.video),
        }


def stratum_of(contract: TaskContract[Any, Any], campaign: int, index: int) -> int:
    """Return the stratum of episode `index`: every stratum comes once before any comes twice, in shuffled order."""
    count = len(contract.strata())
    cycle, position = divmod(index, count)
    return int(np.random.default_rng([campaign, cycle]).permutation(count)[position])


def draw(contract: TaskContract[Any, Any], campaign: int, index: int) -> tuple[Any, Seeds]:
    """Return the instance of episode `index` and the seeds it was drawn from."""
    seeds = Seeds.of(campaign, index)
    stratum = contract.strata()[stratum_of(contract, campaign, index)]
    return contract.sample(stratum, np.random.default_rng(seeds.task_state)), seeds
