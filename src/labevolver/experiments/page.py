"""Gather what a study left behind, and write the page that shows it."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from urllib.parse import quote

from labference.records import folder, strict
from labference.report.style import css

from ..bank import Bank, BankError
from ..codec import Malformed
from ..report.memory import Remembered, remembered
from ..report.page import Campaign, Study, render
from ..report.series import series
from ..report.trial import Link, Result, Trial, trial
from ..transcript import Transcript, parsed
from .common import TRANSCRIPTS, Outcome, mean, outcome, rate
from .evolve import REPEATED

NAME = "page.html"
MOST = 60
"""Trials that unfold on a page unless more are asked for."""
WORKS = "the --out of `labevolver run` or of an experiment would have worked."
FIELDS = ("task", "policy", "instances", "seed", "fidelity")
"""What of a campaign's condition the page tells."""
LARGEST_TABLE, LARGEST_FIGURE = 100_000, 2_000_000
"""Largest texts and pictures of a study that are put on its page [bytes]."""


class PageError(ValueError):
    """There is nothing to show; the sentence says what would have worked."""


def write_page(out: Path, to: Path | None = None, banks: Sequence[Path] = (), most: int = MOST) -> Path:
    """Write the page of everything below `out`, by default next to it, and return where it lies.

    `banks` are files of memory banks that lie elsewhere; `most` is how many trials unfold. Raises `PageError`.
    """
    if not out.is_dir():
        raise PageError(f"There is no folder {str(out)!r}; {WORKS}")
    page = to or out / NAME
    found = gather(out, page, banks, most)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render(found, css()), encoding="utf-8")
    return page


def gather(out: Path, page: Path, banks: Sequence[Path] = (), most: int = MOST) -> Study:
    """Return what a page of `out` at `page` shows; raises `PageError` where there is nothing."""
    notes: list[str] = []
    places = [each for each in sorted(out.rglob(folder.CAMPAIGN)) if REPEATED not in each.relative_to(out).parts]
    files = [*sorted(out.rglob("*.db")), *banks]
    memories = [held for n, path in enumerate(files) if (held := _bank(path, out, f"memory-{n}", notes)) is not None]
    if not places and not memories:
        raise PageError(f"{str(out)!r} holds no trials and no memory bank; {WORKS}")
    share = max(2, most // max(1, len(places)))
    campaigns = [_campaign(each.parent, out, f"c{n}", page.parent, share, memories) for n, each in enumerate(places)]
    return Study(
        out.resolve().name, tuple(campaigns), tuple(memories), tuple(notes), tuple(_tables(out)), tuple(_figures(out))
    )


def _campaign(place: Path, out: Path, anchor: str, beside: Path, most: int, memories: Sequence[Remembered]) -> Campaign:
    told = json.loads((place / folder.CAMPAIGN).read_text(encoding="utf-8"))
    condition = told["condition"]
    name = place.relative_to(out).as_posix()
    found = [
        outcome(int(path.name.rpartition("-")[2]), attempt, place)
        for path in folder.episodes(place)
        if (attempt := folder.finished(path)) is not None
    ]
    results = [_result(each, place, condition, beside) for each in found]
    shown = results if len(results) <= most else [*results[: most - most // 2], *results[-(most // 2) :]]
    measured = [each for each in results if each.intercepts >= 0]
    return Campaign(
        "trials" if name == "." else name,
        anchor,
        tuple((word, str(condition[word])) for word in FIELDS if condition[word] != ""),
        int(told["episodes"]),
        len(results),
        rate(sum(each.success for each in results), len(results)),
        _mean([float(each.additions) for each in results]),
        _mean([float(each.intercepts) for each in measured]),
        _mean([each.seconds for each in results]),
        tuple(_trial(each, place, f"{anchor}-{each.index}") for each in shown),
        len(results) - len(shown),
        series(results),
        _nearest(name, memories),
    )


def _mean(values: Sequence[float]) -> str:
    if not values:
        return "–"
    found = mean(values)
    return str(found).partition(" ± ")[0] if found.n < 2 else str(found)


def _result(found: Outcome, place: Path, condition: dict[str, object], beside: Path) -> Result:
    key = strict.read(found.path / folder.SCORES)["key"]
    told = place / TRANSCRIPTS / f"trial-{found.index:04d}.txt"
    links = [Link("records", _relative(found.path, beside))]
    if told.exists():
        links.append(Link("transcript", _relative(told, beside)))
    return Result(
        found.index,
        f"{condition['task']}/{condition['seed']}/{found.index}/{key[:12]}",
        found.success,
        found.reason,
        found.additions,
        found.intercepts,
        found.seconds,
        tuple(links),
    )


def _trial(result: Result, place: Path, anchor: str) -> Trial:
    told, problem = _transcript(place / TRANSCRIPTS / f"trial-{result.index:04d}.json")
    return trial(anchor, result, told, problem)


def _transcript(path: Path) -> tuple[Transcript | None, str]:
    """Return a transcript, or None and why there is none."""
    if not path.exists():
        return None, "This system keeps no transcript; the records tell what it did."
    try:
        found = parsed(strict.read(path))
        return found, "" if found else "It failed before the agent had seen anything."
    except (Malformed, ValueError) as error:
        return None, f"The transcript cannot be read: {error}"


def _bank(path: Path, out: Path, anchor: str, notes: list[str]) -> Remembered | None:
    name = path.relative_to(out).as_posix() if path.is_relative_to(out) else str(path)
    try:
        with Bank(path, create=False) as bank:
            return remembered(bank, name, anchor)
    except BankError as error:
        notes.append(f"{name}: {error}")
        return None


def _nearest(name: str, memories: Sequence[Remembered]) -> str:
    """Return the anchor of the bank whose path agrees longest with that of a campaign."""
    found = [(_alike(name, re.sub(r"(-warm)?\.db$", "", each.name)), each.anchor) for each in memories]
    return max(found, key=lambda each: each[0])[1] if found else ""


def _alike(one: str, other: str) -> int:
    """Return how many characters two names begin with together."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _tables(out: Path) -> list[tuple[str, str]]:
    """Return the tables that a study wrote as text, by name."""
    paths = [each for each in sorted(out.glob("*.txt")) if each.stat().st_size <= LARGEST_TABLE]
    return [(each.name, each.read_text(encoding="utf-8", errors="replace")) for each in paths]


def _figures(out: Path) -> list[tuple[str, str]]:
    """Return the pictures that a study drew, as data URIs by name."""
    paths = [each for each in sorted(out.glob("*.png")) if each.stat().st_size <= LARGEST_FIGURE]
    return [(each.name, "data:image/png;base64," + base64.b64encode(each.read_bytes()).decode()) for each in paths]


def _relative(path: Path, beside: Path) -> str:
    return quote(Path(os.path.relpath(path.resolve(), beside.resolve())).as_posix())
