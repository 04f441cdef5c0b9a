"""Read the committed scores of a campaign, and check that they are one experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labference.records import folder, strict
from labference.records.reader import RecordError
from labference.truth.identity import SHARED


class IdentityError(Exception):
    """Two runs are not the same experiment; the sentence says which field differs."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """`scores` of the scored episodes by index; `planned` is the fixed denominator."""

    path: Path
    condition: dict[str, Any]
    planned: int
    scores: dict[int, dict[str, Any]]

    @property
    def unresolved(self) -> int:
        """Return how many planned episodes have no scores."""
        return self.planned - len(self.scores)

    @property
    def identity(self) -> dict[str, Any]:
        """Return the shared identity fields, empty before the first scored episode."""
        first = next(iter(self.scores.values()), None)
        return {field: first["identity"][field] for field in SHARED} if first else {}


def read_campaign(path: Path) -> Campaign:
    """Return the campaign in `path`."""
    if not (path / folder.CAMPAIGN).exists():
        raise RecordError(f"No {folder.CAMPAIGN} in {path}; give the --out folder of a `labference run`.")
    plan = strict.read(path / folder.CAMPAIGN)
    scores: dict[int, dict[str, Any]] = {}
    for index in range(plan["episodes"]):
        attempt = folder.finished(folder.episode_folder(path, index))
        if attempt is not None:
            scores[index] = strict.read(attempt / folder.SCORES)
    check_identity(path, scores)
    return Campaign(path, plan["condition"], plan["episodes"], scores)


def find_campaigns(path: Path) -> list[Campaign]:
    """Return the campaign in `path`, or those in its direct subfolders."""
    found = [entry for entry in folder.campaigns_below(path) if (entry / folder.CAMPAIGN).exists()]
    if not found:
        raise RecordError(f"No {folder.CAMPAIGN} in {path} or below; give a folder that `labference run` wrote.")
    return [read_campaign(entry) for entry in found]


def check_identity(path: Path, scores: dict[int, dict[str, Any]]) -> None:
    """Refuse to add episodes that were run under different conditions."""
    first: tuple[int, dict[str, Any]] | None = None
    for index, score in scores.items():
        if first is None:
            first = index, score["identity"]
            continue
        for field in SHARED:
            if score["identity"][field] != first[1][field]:
                raise IdentityError(
                    f"Episodes {first[0]} and {index} of {path} differ in {field}: "
                    f"{first[1][field]!r} and {score['identity'][field]!r}; score them apart."
                )
