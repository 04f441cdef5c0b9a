"""Which instance an episode has: balanced over strata, one seed per stream of chance."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .identity import PlanError, Seeds
from .measurement import SensorFault, Setup

if TYPE_CHECKING:
    from .contract import TaskContract


TWINS = "twins"
"""Names the list, which every task has, of pairs that differ in nothing but what decides the scored choice."""


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of a registered list of instances.

    label    names it within the list
    group    members of a group share every seed: they differ in `stratum` alone
    stratum  what `TaskContract.sample` is given
    """

    label: str
    group: int
    stratum: Hashable


def stratum_of(contract: TaskContract[Any, Any], campaign: int, index: int) -> int:
    """Return the stratum of episode `index`: every stratum comes once before any comes twice, in shuffled order."""
    count = len(contract.strata())
    cycle, position = divmod(index, count)
    return int(np.random.default_rng([campaign, cycle]).permutation(count)[position])


def find_members(contract: TaskContract[Any, Any], instances: str) -> tuple[Member, ...]:
    """Return the members that `instances` names: a registered list, or one member of it as LIST:LABEL."""
    name, _, label = instances.partition(":")
    lists = contract.lists()
    if name not in lists:
        known = ", ".join((*lists, TWINS))
        raise PlanError(f"No instances {name!r} in {contract.name}; registered lists: {known}.")
    members = tuple(member for member in lists[name] if label in ("", member.label))
    if not members:
        labels = ", ".join(member.label for member in lists[name])
        raise PlanError(f"No instance {label!r} in list {name!r} of {contract.name}; instances: {labels}.")
    return members


def draw(
    contract: TaskContract[Any, Any], campaign: int, index: int, policy: int = 0, instances: str = ""
) -> tuple[Any, Seeds]:
    """Return the instance of episode `index` and the seeds it was drawn from.

    `policy` is the root policy seed. `instances` names a registered list, whose members come in order and again;
    without one, instances are balanced over the strata.
    """
    if instances == TWINS:
        seeds = Seeds.of(campaign, index // 2, policy)
        return contract.twins(np.random.default_rng(seeds.task_state))[index % 2], seeds
    if instances:
        members = find_members(contract, instances)
        cycle, position = divmod(index, len(members))
        member = members[position]
        groups = 1 + max(entry.group for entry in find_members(contract, instances.partition(":")[0]))
        seeds, stratum = Seeds.of(campaign, cycle * groups + member.group, policy), member.stratum
    else:
        seeds = Seeds.of(campaign, index, policy)
        stratum = contract.strata()[stratum_of(contract, campaign, index)]
    return contract.sample(stratum, np.random.default_rng(seeds.task_state)), seeds


def lay_out(
    contract: TaskContract[Any, Any], instance: Any, seeds: Seeds, faults: tuple[SensorFault, ...] = ()
) -> Setup:
    """Return the layout of `instance`, drawn from its own seeds, with `faults` to inject."""
    return replace(contract.setup(instance, seeds), faults=faults)
