"""Search by words: the BM25 of SQLite's FTS5, and the same in plain Python where SQLite was built without it."""

from __future__ import annotations

import math
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

K1, B = 1.2, 0.75
"""Saturation of repeats and weight of length, as FTS5 has them."""
LEAST = 1e-6
"""Weight of a word that half of all texts or more contain, as FTS5 has it."""


def tokens(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents, numbers split at the decimal point."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return re.findall(r"[^\W_]+", plain.lower())


def rank(texts: Mapping[str, str], query: str) -> dict[str, float]:
    """Return the BM25 score of every text that shares a word with a query; higher is better."""
    counts = {name: Counter(tokens(text)) for name, text in texts.items()}
    lengths = {name: count.total() for name, count in counts.items()}
    mean = sum(lengths.values()) / max(1, len(lengths))
    scores: dict[str, float] = {}
    for term in dict.fromkeys(tokens(query)):
        holding = {name: count[term] for name, count in counts.items() if term in count}
        weight = max(LEAST, math.log((len(counts) - len(holding) + 0.5) / (len(holding) + 0.5)))
        for name, hits in holding.items():
            share = hits * (K1 + 1) / (hits + K1 * (1 - B + B * lengths[name] / mean))
            scores[name] = scores.get(name, 0.0) + weight * share
    return scores


class Index:
    """The words of a bank's entries, kept in its database by FTS5."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @staticmethod
    def available(connection: sqlite3.Connection) -> bool:
        """Return whether this SQLite has FTS5."""
        return bool(connection.execute("SELECT sqlite_compileoption_used('ENABLE_FTS5')").fetchone()[0])

    def create(self) -> None:
        """Create the index if it is not there."""
        self._connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(id UNINDEXED, text)")

    def put(self, name: str, text: str | None) -> None:
        """Replace the words of an entry, as `tokens` makes them, or take them out with None."""
        self._connection.execute("DELETE FROM words WHERE id = ?", (name,))
        if text is not None:
            self._connection.execute("INSERT INTO words (id, text) VALUES (?, ?)", (name, text))

    def clear(self) -> None:
        """Take everything out."""
        self._connection.execute("DELETE FROM words")

    def all(self) -> dict[str, str]:
        """Return the words of each entry."""
        return dict(self._connection.execute("SELECT id, text FROM words"))

    def rank(self, query: str) -> dict[str, float]:
        """Return what `rank` of this module returns."""
        asked = _expression(tokens(query))
        if not asked:
            return {}
        rows = self._connection.execute("SELECT id, bm25(words) FROM words WHERE words MATCH ?", (asked,))
        return {name: -score for name, score in rows}


def _expression(terms: Iterable[str]) -> str:
    """Return the FTS5 query for any of some words, each quoted so that none is an operator."""
    return " OR ".join(f'"{term}"' for term in dict.fromkeys(terms))
