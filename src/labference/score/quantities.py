"""What a task's results are measured in beside the three levels: grams of error, additions, minutes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labference.records import folder, strict
from labference.records.revive import revived
from labference.tasks import find_task
from labference.truth.contract import ContractError
from labference.truth.events import Event, Measured, Transferred
from labference.truth.wetware import Wetware

from .campaign import Campaign
from .rate import CONFIDENCE

TOLD = {"Transferred": Transferred, "Measured": Measured}
"""Events that quantities are taken from."""


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean of `values`, one per episode, with half its interval (Student) and their standard deviation (n - 1)."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        """Return the mean, None over nobody."""
        return math.fsum(self.values) / len(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Return the standard deviation, None for fewer than two values."""
        if len(self.values) < 2 or self.mean is None:
            return None
        return math.sqrt(math.fsum((value - self.mean) ** 2 for value in self.values) / (len(self.values) - 1))

    @property
    def half(self) -> float | None:
        """Return half of the interval at `CONFIDENCE`, None for fewer than two values."""
        if self.deviation is None:
            return None
        from scipy.stats import t  # here: it takes a second, and most commands print no interval

        count = len(self.values)
        return float(t.ppf(0.5 + CONFIDENCE / 2, count - 1)) * self.deviation / math.sqrt(count)

    def __str__(self) -> str:
        if self.mean is None:
            return "unavailable (0)"
        half = self.half
        if half is None:
            return f"{written(self.mean, self.mean)} (1)"
        return f"{written(self.mean, half)} ± {written(half, half)} ({len(self.values)})"


def written(value: float, finest: float) -> str:
    """Return `value` with two significant digits of `finest`, at most three decimals and at least one."""
    decimals = 1 - math.floor(math.log10(abs(finest))) if finest else 1
    return f"{value:.{min(3, max(1, decimals))}f}"


def quantities(campaign: Campaign) -> dict[str, Mean]:
    """Return what the contract measures scored episodes by, named with its unit.

    A signed `error [unit]` is told by its size as well. Empty for tasks without liquids, and where the task file is not
    here any more.
    """
    try:
        contract = find_task(str(campaign.condition["task"]))
    except ContractError:
        return {}
    if contract.wetware() == Wetware():
        return {}
    found: dict[str, list[float]] = {}
    for index in campaign.scores:
        attempt = folder.finished(folder.episode_folder(campaign.path, index))
        if attempt is None or not campaign.instances.get(index):
            continue
        told = contract.quantities(contract.restore(campaign.instances[index]), _events(attempt / folder.EVENTS))
        if told:
            told = {**told, "time [s]": float(campaign.scores[index]["simulated_s"])}
        for name, value in told.items():
            if name.startswith("error "):
                found.setdefault(f"absolute {name}", []).append(abs(value))
            found.setdefault(name, []).append(value)
    return {name: Mean(tuple(values)) for name, values in found.items()}


def _events(path: Path) -> Sequence[Event]:
    told = []
    for entry in strict.read_lines(path):
        kind = TOLD.get(entry["event"])
        if kind is not None:
            told.append(revived(kind, {name: value for name, value in entry.items() if name != "event"}))
    return told
