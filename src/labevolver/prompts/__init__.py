"""Prompts are files: a version on the first line, text below, and the digest of both in every record."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).parent
HEAD = re.compile(r"version: (\d+)\n\n")
GAP = re.compile(r"\{\{(\w+)\}\}")
"""Where a text waits for a value."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it is sent; version and digest are those of the file, before its gaps were filled."""

    name: str
    version: int
    sha256: str
    text: str

    @property
    def identity(self) -> str:
        """Return name, version and the first twelve digits of the digest."""
        return f"{self.name}@{self.version}:{self.sha256[:12]}"

    def filled(self, **values: str) -> Prompt:
        """Return the prompt with every gap filled; raises `ValueError` if a value is missing or has no gap."""
        gaps = set(GAP.findall(self.text))
        if gaps != values.keys():
            wrong = ", ".join(sorted(gaps ^ values.keys()))
            raise ValueError(f"The prompt {self.name!r} takes {', '.join(sorted(gaps)) or 'nothing'}; see {wrong}.")
        return replace(self, text=GAP.sub(lambda gap: values[gap[1]], self.text))


def load(name: str) -> Prompt:
    """Return the prompt of a file in this folder; raises `ValueError` with those that there are."""
    path = FOLDER / f"{name}.md"
    if name not in names():
        raise ValueError(f"There is no prompt {name!r}; there is {', '.join(names())}.")
    whole = path.read_text(encoding="utf-8")
    head = HEAD.match(whole)
    if head is None:
        raise ValueError(f"The prompt {name!r} does not begin with 'version: NUMBER' and an empty line.")
    return Prompt(name, int(head[1]), hashlib.sha256(whole.encode()).hexdigest(), whole[head.end() :].strip())


def names() -> list[str]:
    """Return the names of all prompts."""
    return sorted(path.stem for path in FOLDER.glob("*.md"))
