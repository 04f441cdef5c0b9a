"""The experience bank M: a log of operations, and the entries that it amounts to.

What `learn`, `forget`, `undo` and `retract` have returned is on disk. Any number of processes may write: each decides
on the entries as they are under the lock, so none writes back what it read before. The log is the truth; `verify` folds
it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .experience import Experience
from .fold import Entries, carry_out, fold, living, undone
from .ledger import BankError as BankError
from .ledger import Ledger
from .maintain import Desk, Finished, maintain
from .operations import Forget, Logged, Open, Operation, Quarantine, Settings, Trial, Undo

MEMORY = ":memory:"
"""Path of a bank that no file holds."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What a bank made of a trial: its number among all trials, and the operations."""

    trial: int
    operations: tuple[Logged, ...]
    repeated: bool = False
    """Whether it had been learned before, so that nothing was done now."""


class Bank:
    """A bank in a file, or in memory. Use one object per thread."""

    def __init__(self, path: str | Path, settings: Settings | None = None, *, create: bool = True) -> None:
        """Open a bank, or begin one; other `settings` than those in force are put on record. Raises `BankError`."""
        if not create and not Path(path).is_file():
            raise BankError(f"There is no memory bank at {path}; a run with a bank makes one.")
        self._ledger = Ledger(str(path), Open(settings or Settings()))
        self._load()
        if settings is not None and settings != self.settings:
            with self._writing():
                self._append((Open(settings),))

    def __enter__(self) -> Bank:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything acknowledged is already in it."""
        self._ledger.close()

    @property
    def settings(self) -> Settings:
        """Return the numbers in force."""
        latest = self._ledger.read(name=Open.__name__)[-1].operation
        assert isinstance(latest, Open)
        return latest.settings

    @property
    def trials(self) -> int:
        """Return how many trials have taught so far."""
        return self._ledger.count(Trial.__name__)

    def entries(self, *, ended: bool = False) -> list[Experience]:
        """Return the entries in use by id, or with `ended` all that there ever were."""
        self._catch_up()
        return sorted(self._entries.values(), key=lambda entry: entry.id) if ended else living(self._entries.values())

    def entry(self, name: str) -> Experience:
        """Return an entry, in use or not, by its id or the beginning of it; raises `BankError` with known ids."""
        self._catch_up()
        if name in self._entries:
            return self._entries[name]
        begun = [each for each in sorted(self._entries) if name and each.startswith(name)]
        if len(begun) == 1:
            return self._entries[begun[0]]
        known = ", ".join((begun or sorted(self._entries))[:3]) or "nothing yet"
        raise BankError(f"{name!r} is not one entry; there is {known}.")

    def log(self, *, entry: str = "", run: str = "") -> list[Logged]:
        """Return the log, or what it says of one entry or one trial."""
        return self._ledger.read(entry=entry, run=run)

    def undone(self) -> set[int]:
        """Return the numbers of the operations that stand undone."""
        return undone(self._ledger.read())

    def quarantined(self) -> list[Logged]:
        """Return what could not be used, as it came."""
        return self._ledger.read(name=Quarantine.__name__)

    def seen(self, instances: Iterable[str]) -> set[str]:
        """Return which of these task instances have taught the bank anything that still stands."""
        skipped = self.undone()
        taught: set[str] = set()
        for logged in self._ledger.read(name=Trial.__name__):
            if logged.number not in skipped and isinstance(logged.operation, Trial):
                taught.update(logged.operation.source.instances)
        return taught & set(instances)

    def words(self, query: str) -> dict[str, float]:
        """Return the BM25 score of the entries in use that share a word with a query; higher is better."""
        return self._ledger.search(query, {entry.id: entry.lesson.text for entry in self.entries()})

    def learn(self, trial: Finished, proposals: Iterable[object]) -> Learned:
        """Maintain the bank with what a trial taught, all or nothing; a trial known by its run is not learned again."""
        asked = list(proposals)
        with self._writing():
            known = self._ledger.read(run=trial.run)
            if known and isinstance(begun := known[0].operation, Trial):
                return Learned(begun.number, tuple(known), repeated=True)
            number = self.trials + 1
            desk = Desk(dict(self._entries), trial, number, self.settings, self._ledger.taken)
            opening = Trial(number, trial.run, trial.success, trial.whole_source)
            return Learned(number, tuple(self._append((opening, *maintain(desk, asked)))))

    def forget(self, name: str, reason: str = "") -> Logged:
        """Take an entry out of use; raises `BankError` if it is not in use."""
        with self._writing():
            entry = self.entry(name)
            if entry.ended:
                raise BankError(f"{entry.id} is no longer in use: {entry.ended}.")
            return self._append((Forget(entry.id, reason or "it was taken out by hand"),))[0]

    def undo(self, number: int, reason: str = "") -> Logged:
        """Let an operation never have happened; raises `BankError` if there is none, or it is undone already."""
        with self._writing():
            log = self._ledger.read()
            target = next((logged for logged in log if logged.number == number), None)
            if target is None:
                raise BankError(f"There is no operation #{number}; the last is #{log[-1].number}.")
            if isinstance(target.operation, Open):
                raise BankError(f"#{number} sets the bank's numbers; open the bank with others to change them.")
            if number in undone(log):
                raise BankError(f"#{number} is undone already.")
            return self._append((Undo(number, reason),))[0]

    def retract(self, run: str, reason: str = "") -> list[Logged]:
        """Undo all that one trial taught; raises `BankError` if nothing of it stands."""
        with self._writing():
            skipped = self.undone()
            standing = [logged for logged in self._ledger.read(run=run) if logged.number not in skipped]
            if not run or not standing:
                raise BankError(f"Nothing that {run!r} taught still stands.")
            return self._append([Undo(logged.number, reason or f"{run} is retracted") for logged in standing])

    def verify(self) -> list[str]:
        """Return what is wrong with the file, one sentence each; empty if nothing is."""
        return list(self._ledger.faults(fold(self._ledger.read())))

    def rebuild(self) -> None:
        """Make the index anew from the log."""
        with self._writing():
            self._refold()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the only write lock, with the entries up to date."""
        with self._ledger.writing():
            try:
                self._catch_up()
                yield
            except BaseException:
                self._stale = True
                raise

    def _load(self) -> None:
        """Take the entries from the index."""
        self._head, entries = self._ledger.stored()
        self._entries: Entries = {entry.id: entry for entry in entries}
        self._stale = False

    def _catch_up(self) -> None:
        """Fold what has been appended since, by whomever."""
        if self._stale:
            self._load()
        news = self._ledger.read(after=self._head)
        if any(isinstance(logged.operation, Undo) for logged in news):
            news, self._entries = self._ledger.read(), {}
            self._entries = fold(news)
        else:
            for logged in news:
                carry_out(self._entries, logged)
        self._head = news[-1].number if news else self._head

    def _append(self, operations: Iterable[Operation]) -> list[Logged]:
        """Append operations while writing, and bring the index up to date."""
        made = self._ledger.append(operations)
        if any(isinstance(logged.operation, Undo) for logged in made):
            self._refold()
            return made
        before = dict(self._entries)
        changed = sorted({name for logged in made for name in carry_out(self._entries, logged)})
        self._head = made[-1].number if made else self._head
        news = [(self._entries[name], _reworded(before.get(name), self._entries[name])) for name in changed]
        self._ledger.store(news, self._head)
        return made

    def _refold(self) -> None:
        log = self._ledger.read()
        self._entries, self._head = fold(log), log[-1].number
        self._ledger.clear()
        self._ledger.store([(entry, True) for entry in self._entries.values()], self._head)


def _reworded(before: Experience | None, after: Experience) -> bool:
    """Return whether an entry is to be found by other words than before, or no longer."""
    return before is None or before.lesson != after.lesson or before.ended != after.ended
