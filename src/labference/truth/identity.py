"""Who ran what: the fields that must agree before two runs are added or compared (paper section 7.4)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

import numpy as np


class PlanError(Exception):
    """A plan cannot be run, or its folder holds another experiment; the sentence is for the user."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """One seed per stream of chance, drawn separately so that no stream shifts another."""

    task_state: int
    layout: int
    policy: int

    @classmethod
    def of(cls, campaign: int, index: int) -> Seeds:
        """Derive the seeds of episode `index` of a campaign."""
        words = np.random.SeedSequence([campaign, index]).generate_state(3, np.uint32)
        return cls(*(int(word) for word in words))


@dataclass(frozen=True, slots=True)
class RunId:
    """The registered condition of an episode; everything but `index`, `instance`, `layout` and `seeds` is shared by a
    campaign.
    """

    task: str
    version: str
    assets: str
    policy: str
    sensors: str
    action: str
    history: str
    intervention: str
    budget: int
    physics: str
    evaluation: str
    campaign: int
    index: int
    instance: str
    layout: str
    seeds: Seeds

    def key(self) -> str:
        """Return the run key: equal keys are the same experiment and may be resumed, not repeated."""
        return digest(asdict(self))


def digest(value: object) -> str:
    """Return the sha256 of the canonical JSON of `value`."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
