"""Key frames of a recorded video, small enough to lie inside the page."""

from __future__ import annotations

import base64
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av

from labference.records import folder
from labference.records.reader import Run

from . import phrases

WIDTH = 240
"""Widest embedded frame [px]."""
QUALITY = 76
"""JPEG quality."""
MOST = 12
"""Most frames of an episode."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment worth showing [s], and what happened."""

    time: float
    words: str


@dataclass(frozen=True, slots=True)
class KeyFrame:
    """An image as a data URI, with its caption."""

    source: str
    time: str
    words: str


def instants(run: Run) -> tuple[Instant, ...]:
    """Return the start, the first choice, the first outcome and the end of an episode.

    Where the environment acts, also the scene before, during and after that, the choices afterwards, and the last
    outcome; at most `MOST` in all.
    """
    timestep = run.channels.timestep
    events = [event for event in run.lines(folder.EVENTS) if event["tick"] >= 0]
    choices = [event for event in events if event["event"] == "Chosen" and event["track"] == "behaviour"]
    outcomes = [event for event in events if event["event"] in ("Settled", "Dropped", "Fell") and event["attempt"]]
    hidden = next((event["tick"] for event in events if event["event"] == "Hidden"), None)
    revealed = next((event["tick"] for event in events if event["event"] == "Revealed"), None)
    found = [Instant(0.0, "start")]
    found += [Instant(event["tick"] * timestep, _chosen(event, "first choice")) for event in choices[:1]]
    found += [Instant(event["tick"] * timestep, _outcome(event)) for event in outcomes[:1]]
    if hidden is not None:
        found.append(Instant(hidden * timestep, "before the scene is hidden"))
    if hidden is not None and revealed is not None:
        found.append(Instant((hidden + revealed) / 2 * timestep, "hidden"))
        found.append(Instant(revealed * timestep, "shown again"))
        later = [event for event in choices if event["tick"] >= revealed]
        found += [Instant(event["tick"] * timestep, _chosen(event, "choice")) for event in later]
        last = [event for event in outcomes if event["tick"] >= revealed][-1:]
        found += [Instant(event["tick"] * timestep, _outcome(event)) for event in last]
    if run.scores is not None:
        found.append(Instant(run.scores["simulated_s"], f"end: {phrases.ending(run.scores['reason'])}"))
    return tuple(found if len(found) <= MOST else [*found[: MOST - 2], *found[-2:]])


def _chosen(event: dict[str, Any], name: str) -> str:
    return f"{name}: {phrases.operation(event['operation'])}, {'correct' if event['correct'] else 'wrong'}"


def _outcome(event: dict[str, Any]) -> str:
    match event["event"]:
        case "Settled":
            return f"at rest: {phrases.resting(event['item'], event['place'])}"
        case "Dropped":
            return f"{event['item']} dropped"
        case _:
            return f"{event['item']} left the bench"


def key_frames(video: Path, wanted: Sequence[Instant]) -> tuple[KeyFrame, ...]:
    """Return the frames of `video` nearest to `wanted`; a video that cannot be decoded has none."""
    try:
        with av.open(str(video)) as container:
            stream = container.streams.video[0]
            rate = float(stream.average_rate)
            # The first frame is filmed at the end of the first period, not at the handoff.
            numbers = [max(0, min(round(instant.time * rate), stream.frames) - 1) for instant in wanted]
            frames = enumerate(itertools.islice(container.decode(stream), max(numbers) + 1))
            images = {number: _jpeg(frame) for number, frame in frames if number in numbers}
    except (av.error.FFmpegError, IndexError, OSError):
        return ()
    return tuple(
        KeyFrame(images[number], f"{instant.time:.1f} s", instant.words)
        for number, instant in zip(numbers, wanted, strict=True)
        if number in images
    )


def playable(video: Path) -> bool:
    """Return whether `video` was closed; an encoder that was killed leaves a file that nothing plays."""
    try:
        with av.open(str(video)) as container:
            return bool(container.streams.video)
    except (av.error.FFmpegError, OSError):
        return False


def _jpeg(frame: Any) -> str:
    image = frame.to_image()
    image.thumbnail((WIDTH, WIDTH))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
