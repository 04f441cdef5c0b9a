"""Registration of a diagnosis: which starts, pairs and branches there are, fixed and hashed before anything runs."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from labference.wire import Operation

from .contract import TaskContract
from .draw import TWINS, draw, find_members, lay_out
from .identity import PHYSICS, PlanError, digest
from .measurement import Setup
from .referee import WORDLESS
from .support import parse

BRANCHES = (
    "",
    "semantic:replace",
    "decision:replace",
    "geometry:replace",
    "skill:replace",
    "decision:replace+geometry:replace",
)
"""The base, one replacement per interface, and the execution test: the correct subgoal and geometry given."""
LENT_BRANCHES = ("", "semantic:replace", "decision:replace", "skill:replace", "decision:replace+skill:replace")
"""The same where the bench's hands carry out what a system asks for: they know the geometry."""
SPLITS = ("development", "held-out")
LARGEST = 10_000
"""Most starts of one registration."""


@dataclass(frozen=True, slots=True)
class Start:
    """One registered start: episode `index` of the campaign, its place in a list, and the digest of its instance."""

    number: int
    label: str
    group: int
    index: int
    instance: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two starts by number: "state" pairs require different answers in the same layout, "geometry" pairs the same local
    answer in another pose.
    """

    kind: str
    one: int
    two: int


@dataclass(frozen=True, slots=True)
class Registration:
    """A preregistered diagnosis.

    split       development or held-out; the two draw from different campaigns by construction
    seed        root of the campaign seed
    operations  operations that the reference executor carries out before the handoff
    budget      control steps of a branch after the handoff
    branches    support conditions, "" is the base
    fidelity    which laboratory, physics or fast
    """

    task: str
    version: str
    contract: str
    instances: str
    split: str
    seed: int
    policy_seed: int
    operations: int
    budget: int
    starts: tuple[Start, ...]
    pairs: tuple[Pair, ...]
    branches: tuple[str, ...]
    fidelity: str = PHYSICS

    @property
    def campaign(self) -> int:
        """Return the campaign seed: development campaigns are even, held-out ones odd."""
        return 2 * self.seed + SPLITS.index(self.split)

    @property
    def sha256(self) -> str:
        """Return the digest that names this registration; plans that name no laboratory mean the one with the arm."""
        values = json.loads(json.dumps(asdict(self)))
        if self.fidelity == PHYSICS:
            del values["fidelity"]
        return digest(values)


def register(
    contract: TaskContract[Any, Any],
    contract_digest: str,
    *,
    task: str = "",
    instances: str = "",
    starts: int = 100,
    seed: int = 0,
    policy_seed: int = 0,
    split: str = "held-out",
    operations: int = 0,
    branches: tuple[str, ...] | None = None,
    budget: int | None = None,
    fidelity: str = PHYSICS,
) -> Registration:
    """Draw the starts of a diagnosis and pair them.

    Without `branches` they are `BRANCHES`, or `LENT_BRANCHES` for a task in which the bench lends its hands. Raises
    `PlanError` for a size, a split, a list, a branch or a laboratory that does not exist.
    """
    if fidelity not in contract.fidelities:
        there = " or ".join(contract.fidelities)
        raise PlanError(f"{contract.name} cannot run with fidelity {fidelity!r}; {there} would work.")
    if branches is None:
        branches = LENT_BRANCHES if contract.wetware().vessels else BRANCHES
    if not 1 <= starts <= LARGEST:
        raise PlanError(f"A diagnosis of {starts} starts cannot be registered; 1 to {LARGEST} would work.")
    if split not in SPLITS:
        raise PlanError(f"No split {split!r}; {' or '.join(SPLITS)} would work.")
    if operations < 0:
        raise PlanError(f"A prefix of {operations} operations does not exist; 0 or more would work.")
    if min(seed, policy_seed) < 0:
        raise PlanError(f"A seed of {min(seed, policy_seed)} draws nothing; 0 or more would work.")
    if len({parse(branch) for branch in branches}) < len(branches) or "" not in branches:
        raise PlanError("Branches must differ, and one of them must be the base, written as an empty string.")
    if budget is not None and budget < 1:
        raise PlanError(f"A budget of {budget} control steps runs nothing; 1 or more would work.")
    draft = Registration(
        task or contract.name,
        contract.version,
        contract_digest,
        instances,
        split,
        seed,
        policy_seed,
        operations,
        contract.budget_steps if budget is None else budget,
        (),
        (),
        branches,
        fidelity,
    )
    drawn = [draw(contract, draft.campaign, index, policy_seed, instances) for index in range(starts)]
    labels = _labels(contract, instances, starts)
    listed = tuple(
        Start(index, label, group, index, digest(json.loads(json.dumps(asdict(instance)))))
        for index, ((instance, _), (label, group)) in enumerate(zip(drawn, labels, strict=True))
    )
    layouts = [lay_out(contract, instance, seeds) for instance, seeds in drawn]
    legal = [_asked(contract, instance, operations) for instance, _ in drawn]
    return replace(draft, starts=listed, pairs=_pairs(listed, legal, layouts))


def read(path: Path) -> Registration:
    """Return the registration in a file that `write` made; refuse one that was changed since."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        found = restore(record["registration"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(f"{path} holds no registration ({error}); `labference plan` writes one.") from error
    if found.sha256 != record["sha256"]:
        raise PlanError(f"{path} was changed after it was registered; register a new plan instead.")
    return found


def restore(record: dict[str, Any]) -> Registration:
    """Return the registration that a JSON object holds."""
    values = dict(record)
    values["starts"] = tuple(Start(**entry) for entry in values["starts"])
    values["pairs"] = tuple(Pair(**entry) for entry in values["pairs"])
    values["branches"] = tuple(values["branches"])
    return Registration(**values)


def written(registration: Registration) -> dict[str, Any]:
    """Return what the file of a registration holds."""
    return {"registration": asdict(registration), "sha256": registration.sha256}


def branch_folder(branch: str) -> str:
    """Return the folder name of a branch."""
    return branch.replace(":", "-") or "base"


def _labels(contract: TaskContract[Any, Any], instances: str, count: int) -> list[tuple[str, int]]:
    """Return label and group of each start."""
    if not instances:
        return [("", index) for index in range(count)]
    if instances == TWINS:
        return [(f"{index // 2}-{'ab'[index % 2]}", index // 2) for index in range(count)]
    members = find_members(contract, instances)
    groups = 1 + max(member.group for member in members)
    cycles = (divmod(index, len(members)) for index in range(count))
    return [(members[place].label, cycle * groups + members[place].group) for cycle, place in cycles]


def _asked(contract: TaskContract[Any, Any], instance: Any, operations: int) -> frozenset[Operation]:
    """Return the reference set of the first choice after the handoff.

    Without a prefix that is the start, unless one can only wait there for the choice that instances are made for.
    """
    first = contract.legal(contract.start(instance))
    physical = any(operation.kind not in WORDLESS for operation in first)
    return first if operations == 0 and physical else contract.legal(contract.scored(instance))


def _pairs(starts: tuple[Start, ...], legal: list[frozenset[Any]], layouts: list[Setup]) -> tuple[Pair, ...]:
    """Pair neighbours of a group: disjoint answers make a state pair, equal ones in other poses a geometric pair."""
    groups: dict[Hashable, list[int]] = {}
    for start in starts:
        groups.setdefault(start.group, []).append(start.number)
    found = []
    for members in groups.values():
        for one, two in zip(members[::2], members[1::2], strict=False):
            if not legal[one] & legal[two]:
                found.append(Pair("state", one, two))
            elif legal[one] == legal[two] and layouts[one].fixtures | layouts[one].after != (
                layouts[two].fixtures | layouts[two].after
            ):
                found.append(Pair("geometry", one, two))
    return tuple(found)
