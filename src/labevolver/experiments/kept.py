"""Ways to keep a memory that are compared: with all of maintenance, without forgetting, without any, as procedures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ..bank import Bank, Learned
from ..maintain import Finished, Teach, fingerprint
from ..operations import Add, Settings, Trial

NEVER = 1e12
"""Trials after which an unused memory retains exp(-1), where nothing is to be forgotten."""


class Unmaintained(Bank):
    """A bank that keeps every lesson as it came: nothing is merged, voted on or forgotten."""

    def learn(self, trial: Finished, proposals: Iterable[object]) -> Learned:
        """Add all lessons of a trial, all or nothing; a trial known by its run is not learned again."""
        lessons = [each.lesson for each in proposals if isinstance(each, Teach)]
        with self._writing():
            known = self._ledger.read(run=trial.run)
            if known and isinstance(begun := known[0].operation, Trial):
                return Learned(begun.number, tuple(known), repeated=True)
            number, source, first = self.trials + 1, trial.whole_source, self.settings.first
            adds = [
                Add(f"{each.kind}-{fingerprint(each)}-{number}.{place}", each, first, number, source, trial.run)
                for place, each in enumerate(lessons, 1)
            ]
            return Learned(number, tuple(self._append((Trial(number, trial.run, trial.success, source), *adds))))


@dataclass(frozen=True, slots=True)
class Kept:
    """One way to keep a memory: the method that uses it, and how its bank is made."""

    method: str
    bank: Callable[[Path, float], Bank]


def _bank(path: Path, strength: float) -> Bank:
    return Bank(path, Settings(strength=strength))


WAYS = {
    "labevolver": Kept("labevolver", _bank),
    "without forgetting": Kept("labevolver", lambda path, _: _bank(path, NEVER)),
    "without maintenance": Kept("labevolver", lambda path, _: Unmaintained(path, Settings(strength=NEVER))),
    "memp": Kept("memp", _bank),
}
"""What is compared."""
