"""Where games come from: ALFWorld's own tree, a compact bundle of it, or the few games that ship with this package."""

from __future__ import annotations

import json
import lzma
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from labevolver.labs.alfworld.game import TASK_TYPES, Game, TaskType

VARIABLE = "ALFWORLD_DATA"
USUAL = Path("~/.cache/alfworld")
"""Where `alfworld-download` puts its files unless the variable says otherwise."""
FETCH = "pip install alfworld && alfworld-download"
ID = re.compile(r'"id":\s*"([^"]+)"')
HELP_ACTION = re.compile(r'action help \{.*?feedback :: "(.*?)";', re.DOTALL)
OWN = Path(__file__).parent / "games"
"""Games of our own making."""
OWN_NAME = "shipped games"
MOVE = "move {o} to {r}"
T = TypeVar("T")
UNPLAYED = ("movable", "Sliced")
"""Task folders that ALFWorld itself leaves out."""


class LibraryError(ValueError):
    """The games that were asked for are not there, or are not ones we can play."""


class Library(Protocol):
    """Games in named splits."""

    @property
    def name(self) -> str:
        """Return what records call this source."""
        ...

    def splits(self) -> list[str]:
        """Return the splits there are."""
        ...

    def ids(self, split: str) -> list[str]:
        """Return the ids of a split, sorted, so that an order does not depend on a file system."""
        ...

    def games(self, split: str, ids: Iterable[str]) -> list[Game]:
        """Return games in the order of `ids`."""
        ...


def find_library(data: Path | None = None) -> tuple[Library, str]:
    """Return the games in `data`, else in `$ALFWORLD_DATA`, else in ALFWorld's usual folder, else the shipped ones.

    The second value is a sentence for the user, empty where ALFWorld's games were found.

    Raises:
        LibraryError: `data` or `$ALFWORLD_DATA` names a folder that holds no games.
    """
    for named, origin in ((data, "--data"), (os.environ.get(VARIABLE), f"${VARIABLE}")):
        if named:
            return open_library(Path(named).expanduser(), origin), ""
    usual = USUAL.expanduser()
    if usual.is_dir() and Tree(usual).splits():
        return Tree(usual), ""
    return Bundle(
        OWN, "shipped games"
    ), f"ALFWorld's own games are not here; `{FETCH}` brings them. These are games of our own making."


def open_library(folder: Path, origin: str = "--data") -> Library:
    """Return the games in a folder, which is a tree or a bundle.

    Raises:
        LibraryError: It is neither.
    """
    for library in (Bundle(folder), Tree(folder)):
        if library.splits():
            return library
    raise LibraryError(
        f"{origin} {str(folder)!r} holds neither json_2.1.*/SPLIT/TASK/TRIAL/game.tw-pddl nor SPLIT.jsonl.xz; "
        f"`{FETCH}` writes the former to {USUAL}."
    )


@dataclass(frozen=True)
class Tree:
    """The folder that `alfworld-download` writes."""

    folder: Path
    name: str = "alfworld tree"

    def splits(self) -> list[str]:
        """Return the splits there are."""
        return sorted(self._splits)

    def ids(self, split: str) -> list[str]:
        """Return the ids of a split, sorted."""
        root = _known(self._splits, split)
        found = (path.parent.relative_to(root).as_posix() for path in root.glob("*/*/game.tw-pddl"))
        return sorted(name for name in found if not any(word in name for word in UNPLAYED))

    def games(self, split: str, ids: Iterable[str]) -> list[Game]:
        """Return games in the order of `ids`."""
        root = _known(self._splits, split)
        return [_from_tree(root, name) for name in ids]

    @cached_property
    def _splits(self) -> dict[str, Path]:
        """Return split -> its folder, of the newest release where there are several."""
        releases = sorted(self.folder.glob("json_2.1.*"))
        return {split.name: split for release in releases for split in release.iterdir() if _has_games(split)}


def _has_games(split: Path) -> bool:
    return split.is_dir() and next(split.glob("*/*/game.tw-pddl"), None) is not None


def _from_tree(root: Path, name: str) -> Game:
    path = root / name / "game.tw-pddl"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        grammar, problem = str(data["grammar"]), str(data["pddl_problem"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LibraryError(f"The game {name!r} cannot be read: {type(error).__name__} {error}.") from error
    if MOVE not in grammar:
        raise LibraryError(
            f"The game {name!r} is older than ALFWorld 0.4: it has no `{MOVE}`; `{FETCH}` brings new ones."
        )
    task = re.search(r"Your task is to: (.*?)\"", grammar)
    if task is None:
        raise LibraryError(f"The game {name!r} states no task.")
    return Game(name, task[1], _task_type(name), problem, tuple(data.get("walkthrough") or ()), _help(grammar))


@dataclass(frozen=True)
class Bundle:
    """One compressed file a split, one line a game, beside one grammar for all."""

    folder: Path
    name: str = "alfworld bundle"

    def splits(self) -> list[str]:
        """Return the splits there are."""
        return sorted(path.name.removesuffix(".jsonl.xz") for path in self.folder.glob("*.jsonl.xz"))

    def ids(self, split: str) -> list[str]:
        """Return the ids of a split, sorted."""
        return sorted(_id(line) for line in self._lines(split))

    def games(self, split: str, ids: Iterable[str]) -> list[Game]:
        """Return games in the order of `ids`."""
        wanted = list(ids)
        rest = set(wanted)
        grammar = self.folder / "grammar.twl2"
        text = grammar.read_text(encoding="utf-8") if grammar.exists() else MOVE
        if MOVE not in text:
            raise LibraryError(
                f"The games in {str(self.folder)!r} are older than ALFWorld 0.4; `{FETCH}` brings new ones."
            )
        words = _help(text)
        found = {name: _from_line(line, words) for line in self._lines(split) if (name := _id(line)) in rest}
        return [_known(found, name) for name in wanted]

    def _lines(self, split: str) -> Iterator[str]:
        path = self.folder / f"{split}.jsonl.xz"
        if not path.exists():
            raise LibraryError(f"There is no split {split!r}; there are {', '.join(self.splits())}.")
        try:
            with lzma.open(path, "rt", encoding="utf-8") as lines:
                yield from lines
        except (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError) as error:
            raise LibraryError(f"The bundle {str(path)!r} cannot be read: {error}; fetch it again.") from error


def _from_line(line: str, words: str) -> Game:
    try:
        row = json.loads(line)
        return Game(row["id"], row["goal"], _task_type(row["id"]), row["problem"], tuple(row["walkthrough"]), words)
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise LibraryError(f"A line of a bundle is no game ({error}): {line[:60]!r}.") from error


def _id(line: str) -> str:
    found = ID.search(line)
    if found is None:
        raise LibraryError(f'A line of a bundle names its game with "id"; this one does not: {line[:60]!r}.')
    return found[1]


def _task_type(name: str) -> TaskType:
    for kind in TASK_TYPES:
        if name.startswith(kind):
            return kind
    raise LibraryError(f"The game {name!r} is of no task type of ALFWorld: {', '.join(TASK_TYPES)}.")


def _help(grammar: str) -> str:
    found = HELP_ACTION.search(grammar)
    return found[1].lstrip("\n") if found else ""


def _known(table: dict[str, T], name: str) -> T:
    if name not in table:
        raise LibraryError(
            f"There is no {name!r}; there are {len(table)} others, such as {next(iter(sorted(table)), '-')!r}."
        )
    return table[name]
