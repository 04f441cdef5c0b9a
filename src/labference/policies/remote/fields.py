"""Typed fields of a TOML file, each mistake in one sentence that names the field and what would have worked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args


class ProfileError(ValueError):
    """A profile cannot be used; the sentence names the field and what would have worked."""


class Fields:
    """Take typed fields out of a table, and refuse what is left."""

    def __init__(self, source: str, table: Mapping[str, Any], path: str) -> None:
        self._source, self._table, self._path = source, dict(table), path
        self._left = dict(table)

    def at(self, name: str) -> str:
        """Return how a sentence names a field."""
        return f"{self._source}: {self._path}{name}"

    def names(self) -> list[str]:
        """Return the names that are there."""
        return list(self._left)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string; required without a default."""
        return str(self._take(name, default, lambda value: type(value) is str and (value or default == ""), "text"))

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        return bool(self._take(name, default, lambda value: type(value) is bool, "true or false"))

    def number(self, name: str) -> float:
        """Return a finite number; required."""
        return float(self._take(name, None, _finite, "a number"))

    def positive(self, name: str, default: float | None = None) -> float:
        """Return a number above 0; required without a default."""
        return float(self._take(name, default, lambda value: _finite(value) and value > 0, "a number above 0"))

    def limit(self, name: str) -> float | None:
        """Return a number above 0, or None where there is none."""
        found = self._take(name, None, lambda value: _finite(value) and value > 0, "a number above 0", True)
        return None if found is None else float(found)

    def count(self, name: str, default: int | None) -> int | None:
        """Return a whole number from 1."""
        found = self._take(name, default, lambda v: type(v) is int and v >= 1, "a whole number from 1", True)
        return None if found is None else int(found)

    def numbers(self, name: str, length: int, default: tuple[float, ...]) -> tuple[float, ...]:
        """Return `length` numbers above 0; a single one may stand alone."""
        value = self._left.get(name)
        if _finite(value):
            self._left[name] = [value]
        found = self._take(
            name,
            list(default),
            lambda v: type(v) is list and len(v) == length and all(_finite(entry) and entry > 0 for entry in v),
            f"{length} numbers above 0" if length > 1 else "a number above 0",
        )
        return tuple(map(float, found))

    def size(self, name: str) -> tuple[int, int] | None:
        """Return width and height in pixels."""
        found = self._take(
            name,
            None,
            lambda v: type(v) is list and len(v) == 2 and all(type(side) is int and 1 <= side <= 4096 for side in v),
            "[width, height] in pixels, 1 to 4096 each",
            True,
        )
        return None if found is None else (int(found[0]), int(found[1]))

    def words(self, name: str) -> tuple[str, ...]:
        """Return a list of words that is not empty; a single one may stand alone."""
        if type(self._left.get(name)) is str:
            self._left[name] = [self._left[name]]
        found = self._take(
            name,
            None,
            lambda v: type(v) is list and v and all(type(entry) is str for entry in v),
            "a list of words",
        )
        return tuple(found)

    def choice(self, name: str, kind: Any, default: str) -> Any:
        """Return one of the words of a Literal."""
        words = get_args(kind)
        return self._take(name, default, lambda value: value in words, " or ".join(words))

    def table(self, name: str) -> Fields:
        """Return the reader of a table inside; an absent one is empty."""
        found = self._take(name, {}, lambda value: type(value) is dict, "a table")
        return Fields(self._source, found, f"{self._path}{name}.")

    def tables(self, name: str) -> Iterable[tuple[str, Fields]]:
        """Return the readers of the tables in a table, by name."""
        inside = self.table(name)
        return [(entry, inside.table(entry)) for entry in inside.names()]

    def done(self) -> None:
        """Refuse a field that nobody asked for."""
        if self._left:
            name = next(iter(self._left))
            raise ProfileError(f"{self.at(name)} is no field of a profile; check its spelling, or leave it out.")

    def _take(
        self, name: str, default: Any, good: Callable[[Any], Any], would: str, optional: bool | None = None
    ) -> Any:
        if name not in self._left:
            if default is None and not optional:
                raise ProfileError(f"{self.at(name)} is missing; {would} would work.")
            return default
        value = self._left.pop(name)
        if not good(value):
            raise ProfileError(f"{self.at(name)} is {value!r}; {would} would work.")
        return value


def _finite(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(float(value))  # type: ignore[arg-type]
