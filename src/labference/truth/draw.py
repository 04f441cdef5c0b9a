"""Which instance an episode has: balanced over strata, one seed per stream of chance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .contract import TaskContract
from .identity import Seeds
from .measurement import SensorFault, Setup


def stratum_of(contract: TaskContract[Any, Any], campaign: int, index: int) -> int:
    """Return the stratum of episode `index`: every stratum comes once before any comes twice, in shuffled order."""
    count = len(contract.strata())
    cycle, position = divmod(index, count)
    return int(np.random.default_rng([campaign, cycle]).permutation(count)[position])


def draw(contract: TaskContract[Any, Any], campaign: int, index: int, policy: int = 0) -> tuple[Any, Seeds]:
    """Return the instance of episode `index` and the seeds it was drawn from; `policy` is the root policy seed."""
    seeds = Seeds.of(campaign, index, policy)
    stratum = contract.strata()[stratum_of(contract, campaign, index)]
    return contract.sample(stratum, np.random.default_rng(seeds.task_state)), seeds


def lay_out(
    contract: TaskContract[Any, Any], instance: Any, seeds: Seeds, faults: tuple[SensorFault, ...] = ()
) -> Setup:
    """Return the layout of `instance`, drawn from the layout seed, with `faults` to inject."""
    return replace(contract.setup(instance, np.random.default_rng(seeds.layout)), faults=faults)
