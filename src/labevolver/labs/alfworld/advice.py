"""What a memory tells a player before a trial and at its checkpoints, and what it is told afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

Situation: TypeAlias = Mapping[str, str]
"""The structured state a memory is asked about: what is sought (`find`), the task in a word, the room's furniture."""


class Chance(NamedTuple):
    """How often a class of things was found in or on a class of receptacles, and who says so."""

    share: float
    """Of one receptacle, 0 to 1."""
    source: str = ""
    """Id of the experience, empty where nobody votes."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Retrieved experience, for a program and for a reader. Empty is a valid answer."""

    chances: Mapping[str, Chance] = field(default_factory=lambda: MappingProxyType({}))
    """Receptacle class -> chance of finding there what is sought."""
    elsewhere: float | None = None
    """Chance at a receptacle class that `chances` does not name; None: nothing is known."""
    steps: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Receptacle class -> steps it takes to look into one."""
    rules: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Rules about the interface, by name, with the id of the experience."""
    text: str = ""
    """The same for a language model."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One turn: a command or a thought, and what came back."""

    command: str
    said: str

    @property
    def thought(self) -> bool:
        """Return whether this was said to oneself."""
        return self.command.startswith("think:")


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished trial as its memory may learn from it: texts only, and whether the task was done."""

    id: str
    game: str
    """Id of the game, so that nobody is evaluated on what taught him."""
    opening: str
    exchanges: tuple[Exchange, ...]
    won: bool
    followed: frozenset[str] = frozenset()
    """Experiences that the player acted on."""
    used: frozenset[str] = frozenset()
    """Those of them that led to what was sought."""
    asked: tuple[Situation, ...] = ()
    """What the memory was asked, in order; asked again and taught again, a memory is the same again."""


Consult: TypeAlias = Callable[[Situation], Advice]
"""Retrieval, refreshed at checkpoints."""


class Memory(Protocol):
    """What one method keeps between trials."""

    def consult(self, situation: Situation) -> Advice:
        """Return what is known for a situation."""
        ...

    def learn(self, trial: Trial) -> None:
        """Take in a finished trial."""
        ...

    @property
    def size(self) -> int:
        """Return how many memories it holds."""
        ...
