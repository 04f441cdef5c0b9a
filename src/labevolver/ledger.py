"""The file of a bank: an append-only log in SQLite with a chain of digests, and what is derived from it beside it.

One writer at a time, under SQLite's own lock (`BEGIN IMMEDIATE`, waiting up to `WAIT_S`); a transaction that has been
committed is on disk (WAL with synchronous FULL).
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .codec import Malformed, read, written
from .experience import Experience
from .operations import Logged, Operation, body, entry_of, parse, run_of
from .words import Index, rank, tokens

WAIT_S = 30.0
"""Longest wait for another writer [s]: four busy writers kept an unlucky one waiting for up to 4 s."""
PAUSE_S = 0.05
"""Between two tries to begin a file that another process is beginning [s]; SQLite does not wait there."""
APPLICATION = 0x6C656231
"""SQLite's `application_id` of a bank."""
TABLES = (
    "CREATE TABLE log (number INTEGER PRIMARY KEY, name TEXT NOT NULL, entry TEXT NOT NULL, run TEXT NOT NULL,"
    " body TEXT NOT NULL, digest TEXT NOT NULL)",
    "CREATE INDEX log_entry ON log (entry)",
    "CREATE INDEX log_run ON log (run)",
    "CREATE TABLE entries (id TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE head (number INTEGER NOT NULL)",
    "INSERT INTO head VALUES (0)",
    "CREATE TRIGGER log_stays BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'the log of a bank is append-only'); END",
    "CREATE TRIGGER log_keeps BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'the log of a bank is append-only'); END",
    f"PRAGMA application_id = {APPLICATION}",
)


class BankError(Exception):
    """A bank cannot be opened, read or written; the sentence says why."""


class Ledger:
    """The log of a bank and its derived tables, in a file or, with `:memory:`, in memory."""

    def __init__(self, path: str, first: Operation) -> None:
        """Open a file, or begin one with `first`; raises `BankError`."""
        self.path = path
        with self.told():
            self._connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
        try:
            with self.told():
                self._prepare(first)
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def read(self, *, after: int = 0, name: str = "", entry: str = "", run: str = "") -> list[Logged]:
        """Return the log after an operation's number, or what it says of one operation, entry or trial."""
        asked = {"name": name, "entry": entry, "run": run}
        given = {column: value for column, value in asked.items() if value}
        where = "".join(f" AND {column} = :{column}" for column in given)
        query = f"SELECT number, name, body FROM log WHERE number > :after{where} ORDER BY number"
        with self.told():
            rows = self._connection.execute(query, {"after": after, **given})
            return [Logged(number, parse(kind, text)) for number, kind, text in rows]

    def count(self, name: str) -> int:
        """Return how many operations of one name there are."""
        with self.told():
            return int(self._connection.execute("SELECT count(*) FROM log WHERE name = ?", (name,)).fetchone()[0])

    def taken(self, entry: str) -> bool:
        """Return whether an entry was ever added, undone additions among them."""
        query = "SELECT count(*) FROM log WHERE entry = ? AND name = 'Add'"
        return bool(self._connection.execute(query, (entry,)).fetchone()[0])

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the only write lock; commit at the end, or change nothing. Raises `BankError`."""
        with self.told():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

    def append(self, operations: Iterable[Operation]) -> list[Logged]:
        """Append operations and return them as they read; only while writing."""
        last = "SELECT number, digest FROM log ORDER BY number DESC LIMIT 1"
        head, digest = self._connection.execute(last).fetchone() or (0, "")
        made = []
        for number, operation in enumerate(operations, head + 1):
            name, text = type(operation).__name__, body(operation)
            digest = _chained(digest, name, text)
            row = (number, name, entry_of(operation), run_of(operation), text, digest)
            self._connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", row)
            made.append(Logged(number, parse(name, text)))
        return made

    def store(self, entries: Iterable[tuple[Experience, bool]], head: int) -> None:
        """Put entries into the derived tables, each with whether its words changed; only while writing.

        `head` is the number of the last operation that they follow from.
        """
        for entry, reworded in entries:
            row = (entry.id, written(entry))
            self._connection.execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", row)
            if self._index is not None and reworded:
                self._index.put(entry.id, None if entry.ended else text_of(entry))
        self._connection.execute("UPDATE head SET number = ?", (head,))

    def stored(self) -> tuple[int, list[Experience]]:
        """Return the entries of the index, and the number of the last operation that they follow from."""
        with self.told():
            (number,) = self._connection.execute("SELECT number FROM head").fetchone()
            rows = self._connection.execute("SELECT body FROM entries ORDER BY id")
            return number, [read(Experience, json.loads(text)) for (text,) in rows]

    def clear(self) -> None:
        """Empty the derived tables; only while writing."""
        self._connection.execute("DELETE FROM entries")
        if self._index is not None:
            self._index.clear()

    def search(self, query: str, texts: dict[str, str]) -> dict[str, float]:
        """Return the BM25 score of the entries that share a word with a query, of `texts` where there is no FTS5."""
        with self.told():
            return rank(texts, query) if self._index is None else self._index.rank(query)

    def faults(self, truth: dict[str, Experience]) -> Iterator[str]:
        """Yield what is wrong, a sentence each: the chain, and the derived tables beside what the log amounts to."""
        with self.told():
            yield from self._broken_chain()
            held = dict(self._connection.execute("SELECT id, body FROM entries"))
            (head,) = self._connection.execute("SELECT number FROM head").fetchone()
            (last,) = self._connection.execute("SELECT max(number) FROM log").fetchone()
            if head != last:
                yield f"The index follows from #{head}, the log ends at #{last}; rebuild it."
            for name in sorted(truth.keys() | held.keys()):
                if name not in truth or held.get(name) != written(truth[name]):
                    yield f"The index differs from the log at {name}; rebuild it."
            used = {name for name, entry in truth.items() if not entry.ended}
            if self._index is not None and self._index.all() != {name: text_of(truth[name]) for name in used}:
                yield "The index of words differs from the entries in use; rebuild it."

    @contextmanager
    def told(self) -> Iterator[None]:
        """Turn what SQLite and the codec say into one sentence."""
        try:
            yield
        except (sqlite3.Error, Malformed) as error:
            raise BankError(f"The memory bank {self.path} cannot be used: {error}.") from error

    def _prepare(self, first: Operation) -> None:
        connection = self._connection
        # Tables first: whoever begins the bank at this moment sets both at once.
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise BankError(f"{self.path} is a database, but not a memory bank.")
        self._to_wal()
        connection.execute("PRAGMA synchronous = FULL")
        self._index = Index(connection) if Index.available(connection) else None
        if self._begun():
            return
        with self.writing():
            if not self._begun():
                for statement in TABLES:
                    connection.execute(statement)
                if self._index is not None:
                    self._index.create()
                self.store((), self.append((first,))[-1].number)

    def _to_wal(self) -> None:
        """Switch to a write-ahead log; SQLite does not wait for others here, so this does."""
        tries = round(WAIT_S / PAUSE_S)
        for left in range(tries, 0, -1):
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or left == 1:
                    raise
                time.sleep(PAUSE_S)

    def _begun(self) -> bool:
        return bool(self._connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'log'").fetchone()[0])

    def _broken_chain(self) -> Iterator[str]:
        digest, last = "", 0
        rows = self._connection.execute("SELECT number, name, body, digest FROM log ORDER BY number")
        for number, name, text, held in rows.fetchall():
            digest = _chained(digest, name, text)
            if held != digest or number != last + 1:
                yield f"The log was changed or cut at #{number}."
                return
            last = number


def text_of(entry: Experience) -> str:
    """Return the words by which an entry is found."""
    return " ".join(tokens(entry.lesson.text))


def _chained(digest: str, name: str, text: str) -> str:
    """Return the SHA-256 over the digest before, an operation's name and its line."""
    return hashlib.sha256(f"{digest}\n{name}\n{text}".encode()).hexdigest()
