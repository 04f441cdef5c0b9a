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
    """Return the start, the first choice, the first outcome and the end of an episode."""
    timestep = run.channels.timestep
    events = [event for event in run.lines(folder.EVENTS) if event["tick"] >= 0]
    found = [Instant(0.0, "start")]
    choice = next((e for e in events if e["event"] == "Chosen" and e["track"] == "behaviour"), None)
    if choice is not None:
        word = "correct" if choice["correct"] else "wrong"
        words = f"first choice: {phrases.operation(choice['operation'])}, {word}"
        found.append(Instant(choice["tick"] * timestep, words))
    outcome = next((e for e in events if e["event"] in ("Settled", "Dropped", "Fell") and e["attempt"]), None)
    if outcome is not None:
        found.append(Instant(outcome["tick"] * timestep, _outcome(outcome)))
    if run.scores is not None:
        found.append(Instant(run.scores["simulated_s"], f"end: {phrases.ending(run.scores['reason'])}"))
    return tuple(found)


def _outcome(event: dict[str, Any]) -> str:
    match event["event"]:
        case "Settled":
            return f"{event['item']} at rest on {event['place']}"
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
