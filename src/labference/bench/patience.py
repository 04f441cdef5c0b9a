"""When to stop a run because nobody is there: a dead server would cost two attempts at all that remains."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Protocol, TypeVar

SILENT = 3
"""Most results in a row without a single answer of the tested system, while more remain."""


class GivenUp(Exception):
    """A run was stopped before its end; what is finished is kept, and the same command goes on."""


class Ended(Protocol):
    """A result, of an episode or of a branch."""

    @property
    def silent(self) -> bool:
        """Whether the tested system failed before its first answer."""
        ...


T = TypeVar("T", bound=Ended)


def patiently(results: Generator[T], total: int, policy: str) -> Iterator[T]:
    """Pass on `total` results, and raise `GivenUp` after too many in a row that are silent."""
    row = 0
    with closing(results):
        for number, result in enumerate(results, 1):
            yield result
            row = row + 1 if result.silent else 0
            if row >= SILENT and number < total:
                raise GivenUp(
                    f"{policy!r} failed {row} times in a row before its first answer, so the run stops here; "
                    "what is finished is kept."
                )
