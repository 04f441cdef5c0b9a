"""One episode as the page shows it; everything is read from its attempt folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from labference.records import folder
from labference.records.reader import Run, read_run
from labference.score import choice

from . import phrases
from .frames import KeyFrame, instants, key_frames, playable
from .timeline import Timeline, timeline
from .trace import read_traces

FILES = (folder.RUN, folder.EVENTS, folder.SCORES, folder.OBSERVATIONS, folder.ACTIONS, folder.ONLINE)
"""Records that a browser can open."""


@dataclass(frozen=True, slots=True)
class Link:
    """A relative link."""

    words: str
    target: str


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One opportunity, in words; `choice` is empty where behaviour cannot answer."""

    number: int
    observation: int
    opened: str
    legal: str
    choice: str
    chosen: str
    correct: bool | None
    report: str
    report_correct: bool | None
    revisions: int
    closed: str


@dataclass(frozen=True, slots=True)
class Shown:
    """Which costly parts of an episode the page has room for."""

    timeline: bool
    frames: bool


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """What the page says about an episode; by default, that nothing ran.

    instance    what tells it from the other episodes of its campaign
    choice      correct, wrong, none, unreached or unresolved: the decision that the task is about
    outcome     completed, failed or unresolved
    remarks     clean, recovered, violations and event categories
    sentence    what went wrong, where somebody said so
    """

    anchor: str
    index: int
    attempts: int
    goal: str = ""
    instance: str = ""
    choice: str = "unresolved"
    outcome: str = "unresolved"
    first: str = "none"
    legal: str = "none"
    remarks: tuple[str, ...] = ()
    ending: str = "not run"
    sentence: str = "This episode has not been run."
    confirmed: str = ""
    clocks: dict[str, str] = field(default_factory=dict)
    decisions: tuple[DecisionRow, ...] = ()
    timeline: Timeline | None = None
    frames: tuple[KeyFrame, ...] = ()
    videos: tuple[Link, ...] = ()
    records: tuple[Link, ...] = ()


def episode_view(
    episode: Path, index: int, anchor: str, page: Path, shown: Shown, *, decisive: str = "", instance: str = ""
) -> EpisodeView:
    """Return the view of the newest finished attempt in `episode`, or of what an unfinished one left.

    `decisive` is the kind of decision that the task is about (`labference.score.choice.DECISIVE`).
    """
    attempts = folder.attempts(episode)
    attempt = folder.finished(episode) or next(
        (path for path in reversed(attempts) if (path / folder.RUN).exists()), None
    )
    if attempt is None:
        return EpisodeView(anchor, index, len(attempts))
    run = read_run(attempt)
    scores = run.scores or {}
    verdict: dict[str, Any] = scores.get("verdict", {})
    measured = "channels" in run.run
    videos = [path for path in sorted(attempt.glob("*.mp4")) if run.scores or playable(path)]
    first = choice.decisive(verdict, decisive) if verdict else None
    return EpisodeView(
        anchor=anchor,
        index=index,
        attempts=len(attempts),
        goal=run.run["goal"]["instruction"] if "goal" in run.run else "",
        instance=instance,
        choice=_choice(first) if run.scores else "unresolved",
        outcome=("completed" if verdict["valid"] else "failed") if run.scores else "unresolved",
        first=phrases.operation(first["choice"]) if first else "none",
        legal=phrases.operations(first["legal"]) if first else "none",
        remarks=_remarks(verdict),
        ending=phrases.ending(scores["reason"]) if scores else "no scores",
        sentence=scores.get("sentence", "") or _fault(run),
        confirmed=f"{verdict['correct_confirmed']}/{verdict['correct_attempts']}" if verdict else "",
        clocks=_clocks(scores),
        decisions=tuple(_decision(entry, run.channels.timestep) for entry in verdict.get("decisions", ())),
        timeline=timeline(run, read_traces(run)) if shown.timeline and measured else None,
        frames=key_frames(_filmed(run, videos), instants(run)) if shown.frames and measured and videos else (),
        videos=tuple(Link(path.stem, link(path, page)) for path in videos),
        records=tuple(Link(name, link(attempt / name, page)) for name in FILES if (attempt / name).exists()),
    )


def link(path: Path, page: Path) -> str:
    """Return `path` as a link from the page at `page`, quoted so that any folder name works."""
    return quote(Path(os.path.relpath(path.resolve(), page.parent.resolve())).as_posix())


def _choice(first: dict[str, Any] | None) -> str:
    if first is None:
        return "unreached"
    if first["correct"] is None:
        return "none"
    return "correct" if first["correct"] else "wrong"


def _remarks(verdict: dict[str, Any]) -> tuple[str, ...]:
    if not verdict:
        return ()
    named = [name for name in ("clean", "recovered") if verdict[name]]
    broken = [f"violation: {phrases.plain(rule)}" for rule in dict.fromkeys(verdict["violations"])]
    counted = {name: times for name, times in verdict["categories"].items() if times}
    missed = [f"{item} went to {place}, not {intended}" for _, item, intended, place in verdict.get("deviations", ())]
    categories = [phrases.plain(name) + (f" ×{times}" if times > 1 else "") for name, times in counted.items()]
    return (*named, *broken, *missed, *categories)


def _clocks(scores: dict[str, Any]) -> dict[str, str]:
    if not scores:
        return {}
    spent = {name.removesuffix("_s"): phrases.seconds(value) for name, value in scores["runtime"].items()}
    return {"simulated": phrases.seconds(scores["simulated_s"]), **spent}


def _decision(entry: dict[str, Any], timestep: float) -> DecisionRow:
    def when(tick: int | None) -> str:
        return "" if tick is None else f"{tick * timestep:.2f}"

    return DecisionRow(
        number=entry["opportunity"],
        observation=entry["observation"],
        opened=when(entry["opened"]),
        legal=phrases.operations(entry["legal"]),
        choice=phrases.operation(entry["choice"]) if entry["physical"] else "",
        chosen=when(entry["chosen"]),
        correct=entry["correct"],
        report="" if entry["report"] is None else phrases.operation(entry["report"]),
        report_correct=entry["report_correct"],
        revisions=len(entry["revisions"]),
        closed=f"{when(entry['closed'])} {entry['because'] or ''}".strip(),
    )


def _fault(run: Run) -> str:
    """Return what the last validity event of an unfinished attempt says."""
    said = [event["sentence"] for event in run.lines(folder.EVENTS) if event["event"] == "Invalidated"]
    if run.scores is not None:
        return ""
    return said[-1] if said else "The attempt was interrupted before it was scored."


def _filmed(run: Run, videos: Sequence[Path]) -> Path:
    """Return the video of the camera that the plan names first."""
    named = [run.path / f"{camera}.mp4" for camera in run.run["plan"]["video"]]
    return next((path for path in named if path in videos), videos[0])
