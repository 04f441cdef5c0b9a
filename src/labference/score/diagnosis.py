"""Read what a diagnosis recorded, and check that its branches are one experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from labference.records import strict
from labference.records.folder import DIAGNOSIS as DIAGNOSIS
from labference.records.reader import RecordError
from labference.truth.diagnosis import Registration, branch_folder, restore
from labference.truth.identity import SHARED, system_name

from .branch import Branch, read_branch
from .campaign import IdentityError

BASE = ""
"""The branch without support."""
EVERYWHERE = tuple(name for name in SHARED if name not in ("intervention", "budget"))
"""Identity fields that every branch of every start agrees on."""
PER_START = ("index", "instance", "layout", "seeds", "budget")
"""Identity fields that every branch of one start agrees on, beside its checkpoint."""
ACROSS = ("task", "version", "contract", "assets", "history", "physics", "faults", "rendering", "evaluation", "action")
"""Identity fields that must agree before two systems stand side by side."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A registered diagnosis of one system; `branches` holds every registered branch, by support and start number."""

    path: Path
    policy: str
    registration: Registration
    branches: dict[tuple[str, int], Branch]

    @property
    def system(self) -> str:
        """Return what the tested system is called: a server by what it declared, once a branch is scored."""
        identity = self.identity
        return str(identity["policy"]) if identity.get("transport") == self.policy else self.policy

    @property
    def supports(self) -> tuple[str, ...]:
        """Return the registered support conditions without the base."""
        return tuple(support for support in self.registration.branches if support != BASE)

    @property
    def development(self) -> bool:
        """Return whether the starts are for choosing interventions, and not for results."""
        return self.registration.split == "development"

    def of(self, support: str) -> tuple[Branch, ...]:
        """Return the branches of a support condition, in the order of the starts; none where it is not registered."""
        if support not in self.registration.branches:
            return ()
        return tuple(self.branches[support, start.number] for start in self.registration.starts)

    @property
    def identity(self) -> dict[str, Any]:
        """Return the identity that its scored branches share, empty before the first one."""
        first = next((branch.run for branch in self.branches.values() if branch.run is not None), None)
        return first["identity"] if first else {}

    @property
    def lent(self) -> bool:
        """Return whether the bench's hands carry out what the tested system asks for, as far as is known yet."""
        return any(branch.lent for branch in self.branches.values())

    @property
    def unfinished(self) -> int:
        """Return how many registered branches have neither an outcome nor a compatibility result."""
        return sum(branch.status in ("unresolved", "missing") for branch in self.branches.values())


def start_folder(out: Path, number: int) -> Path:
    """Return the folder of a start."""
    return out / f"start-{number:04d}"


def is_diagnosis(path: Path) -> bool:
    """Return whether `path` is the folder of a diagnosis, or holds some directly below it."""
    return (path / DIAGNOSIS).exists() or any(path.glob(f"*/{DIAGNOSIS}"))


def find_diagnoses(path: Path) -> list[Diagnosis]:
    """Return the diagnosis in `path`, or those in its direct subfolders."""
    found = [path] if (path / DIAGNOSIS).exists() else [entry.parent for entry in sorted(path.glob(f"*/{DIAGNOSIS}"))]
    if not found:
        raise RecordError(f"No {DIAGNOSIS} in {path} or below; give a folder that `labference diagnose` wrote.")
    return [read_diagnosis(entry) for entry in found]


def read_diagnosis(path: Path) -> Diagnosis:
    """Return the diagnosis in `path`.

    Raises `RecordError` where records are missing or garbled, `IdentityError` where branches do not belong together.
    """
    if not (path / DIAGNOSIS).exists():
        raise RecordError(f"No {DIAGNOSIS} in {path}; give the --out folder of a `labference diagnose`.")
    try:
        record = strict.read(path / DIAGNOSIS)
        registration, policy, known = restore(record["registration"]), str(record["policy"]), record["sha256"]
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path / DIAGNOSIS} holds no registration: {type(error).__name__}: {error}.") from error
    if registration.sha256 != known:
        raise IdentityError(f"{path / DIAGNOSIS} was changed after it was registered; run the plan into another --out.")
    branches = {
        (support, start.number): read_branch(
            start_folder(path, start.number) / branch_folder(support), start.number, support
        )
        for start in registration.starts
        for support in registration.branches
    }
    found = Diagnosis(path, policy, registration, branches)
    _check(found)
    return found


def attempts(path: Path) -> list[Path]:
    """Return the attempt folder of every scored branch of the diagnoses in `path`."""
    branches = [branch for found in find_diagnoses(path) for branch in found.branches.values()]
    return [branch.path for branch in branches if branch.outcome is not None and branch.path is not None]


def check_comparable(diagnoses: Sequence[Diagnosis]) -> None:
    """Refuse to put diagnoses side by side that are not of the same registration, or not of the same laboratory."""
    first = diagnoses[0]
    for other in diagnoses[1:]:
        both = f"{first.path} and {other.path}"
        if first.registration.sha256 != other.registration.sha256:
            raise IdentityError(f"{both} are of different registrations: {_differing(first, other)}.")
        for name in ACROSS:
            if first.identity and other.identity and first.identity[name] != other.identity[name]:
                one, two = first.identity[name], other.identity[name]
                raise IdentityError(f"{both} differ in {name}: {one!r} and {two!r}; they cannot be compared.")
        for start in first.registration.starts:
            one, two = (_checkpoint(found.branches[BASE, start.number]) for found in (first, other))
            if one and two and one != two:
                raise IdentityError(f"{both} differ in the checkpoint of start {start.number}: {one!r} and {two!r}.")


def _differing(first: Diagnosis, other: Diagnosis) -> str:
    """Return the first registered field that differs, with both values."""
    one, two = asdict(first.registration), asdict(other.registration)
    name = next(field.name for field in fields(Registration) if one[field.name] != two[field.name])
    if name in ("starts", "pairs") and len(one[name]) != len(two[name]):
        return f"{len(one[name])} and {len(two[name])} {name}"
    if name in ("starts", "pairs"):
        number = next(number for number, (a, b) in enumerate(zip(one[name], two[name], strict=True)) if a != b)
        return f"{name}, from entry {number}"
    return f"{name} {one[name]!r} and {two[name]!r}"


def _checkpoint(branch: Branch) -> str:
    return str(branch.run["checkpoint"]) if branch.run else ""


def _check(found: Diagnosis) -> None:
    """Refuse branches that are not what was registered, or not the same experiment as each other."""
    scored = [branch for branch in found.branches.values() if branch.run is not None]
    _agree(found.path, scored, ((name, partial(_identity, name=name)) for name in EVERYWHERE))
    starts = {start.number: start for start in found.registration.starts}
    for branch in scored:
        registered = {
            "version": found.registration.version,
            "contract": found.registration.contract,
            "instances": found.registration.instances,
            "campaign": found.registration.campaign,
            "instance": starts[branch.start].instance,
            "index": starts[branch.start].index,
            "intervention": branch.support or "none",
            "fidelity": found.registration.fidelity,
        }
        if not found.registration.operations:  # else the prefix has a share in it, which differs from start to start
            registered["budget"] = found.registration.budget
        for name, value in registered.items():
            if _identity(branch, name) != value:
                raise IdentityError(f"{branch.path} has {name} {_identity(branch, name)!r}, registered is {value!r}.")
        assert branch.run is not None  # scored
        plan = branch.run["plan"]
        for name, value, there in (
            ("task", found.registration.task, plan["task"]),
            ("policy", found.policy, system_name(plan["policy"])),
        ):
            if there != value:
                raise IdentityError(f"{branch.path} has {name} {there!r}, registered is {value!r}.")
    for number in starts:
        same = [branch for branch in scored if branch.start == number]
        _agree(found.path, same, ((name, partial(_identity, name=name)) for name in PER_START))
        _agree(found.path, same, (("checkpoint", _checkpoint), ("handoff", _handoff)))


def _agree(path: Path, scored: Sequence[Branch], read: Iterable[tuple[str, Any]]) -> None:
    for name, value in read:
        for other in scored[1:]:
            if value(other) != value(scored[0]):
                first, second = (f"{_branch(entry)} has {value(entry)!r}" for entry in (scored[0], other))
                raise IdentityError(f"Branches of {path} differ in {name}: {first}, {second}; they are not matched.")


def _identity(branch: Branch, name: str) -> Any:
    assert branch.run is not None  # scored
    return branch.run["identity"].get(name)


def _handoff(branch: Branch) -> int:
    assert branch.run is not None  # scored
    return int(branch.run["handoff"])


def _branch(branch: Branch) -> str:
    return f"start {branch.start} {branch_folder(branch.support)}"
