"""Read the committed scores of a campaign, and check that they are one experiment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labference.records import folder, strict
from labference.records.reader import RecordError
from labference.truth.identity import SHARED


class IdentityError(Exception):
    """Two runs are not the same experiment; the sentence says which field differs."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """`scores` of the scored episodes by index; `planned` is the fixed denominator.

    instances  what each scored episode was made for, as `run.json` holds it
    revealed   tick at which the environment first showed the scene again, for episodes in which it acted
    kinds      operation kinds that the goal names
    """

    path: Path
    condition: dict[str, Any]
    planned: int
    scores: dict[int, dict[str, Any]]
    instances: dict[int, dict[str, Any]] = field(default_factory=dict)
    revealed: dict[int, int] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()

    @property
    def unresolved(self) -> int:
        """Return how many planned episodes have no scores."""
        return self.planned - len(self.scores)

    @property
    def system(self) -> str:
        """Return what the tested system is called: a server by what it declared, once an episode is scored."""
        policy = str(self.condition["policy"])
        return str(self.identity.get("policy", policy)) if self.condition.get("transport") == policy else policy

    @property
    def identity(self) -> dict[str, Any]:
        """Return the shared identity fields, empty before the first scored episode."""
        first = next(iter(self.scores.values()), None)
        return {name: first["identity"][name] for name in SHARED} if first else {}


def read_campaign(path: Path) -> Campaign:
    """Return the campaign in `path`."""
    if not (path / folder.CAMPAIGN).exists():
        raise RecordError(f"No {folder.CAMPAIGN} in {path}; give the --out folder of a `labference run`.")
    plan = strict.read(path / folder.CAMPAIGN)
    found = Campaign(path, plan["condition"], plan["episodes"], {})
    kinds: tuple[str, ...] = ()
    for index in range(plan["episodes"]):
        attempt = folder.finished(folder.episode_folder(path, index))
        if attempt is None:
            continue
        found.scores[index] = strict.read(attempt / folder.SCORES)
        run = strict.read(attempt / folder.RUN) if (attempt / folder.RUN).exists() else {}
        found.instances[index] = run.get("instance", {})
        kinds = kinds or tuple(run.get("goal", {}).get("kinds", ()))
        shown_again = found.scores[index].get("verdict", {}).get("revealed", ())
        if shown_again:
            found.revealed[index] = shown_again[0]
    check_identity(path, found.scores)
    return replace(found, kinds=kinds)


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
        for name in SHARED:
            if score["identity"][name] != first[1][name]:
                raise IdentityError(
                    f"Episodes {first[0]} and {index} of {path} differ in {name}: "
                    f"{first[1][name]!r} and {score['identity'][name]!r}; score them apart."
                )
