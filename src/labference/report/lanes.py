"""Choice, execution and completion as three lanes over simulated time, built from the recorded events alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from . import phrases

Event = dict[str, Any]
Scale = Callable[[float], float]
"""From a tick to a horizontal position [px]."""

LETTER = 6.3
"""Width of a drawn letter, on the generous side [px]."""
APART = 17.0
"""Least distance between the marks of a lane [px]."""
ADVANCE = ("premature_advancement", "needless_repetition", "late_choice", "unbound_report")
"""Event categories that concern a choice."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that lasts; `label` is drawn where it fits, `title` always answers a pointer or a screen reader."""

    x: float
    width: float
    kind: str
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happens at an instant; `kind` names its symbol, `at` is where it truly lies before spreading."""

    x: float
    at: float
    kind: str
    label: str
    title: str
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Lane:
    """One level of results."""

    name: str
    spans: tuple[Span, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """What turns events into positions: the scale, the time step [s], the last tick, and the right edge [px]."""

    x: Scale
    timestep: float
    end: int
    right: float

    def span(self, start: int, stop: int, kind: str, labels: tuple[str, ...], title: str) -> Span:
        """Return a span with the first of `labels` that fits inside."""
        left, right = self.x(max(0, start)), self.x(max(0, stop))
        when = f"{self.seconds(start)} to {self.seconds(stop)} s"
        fitting = next((label for label in labels if LETTER * len(label) + 10 <= right - left), "")
        return Span(left, max(2.0, right - left - 1.5), kind, fitting, f"{title}, {when}")

    def mark(self, tick: int, kind: str, label: str, title: str) -> Mark:
        """Return a mark."""
        at = self.x(max(0, tick))
        return Mark(at, at, kind, label, f"{title}, {self.seconds(tick)} s")

    def seconds(self, tick: int) -> str:
        """Return a tick as simulated time."""
        return f"{tick * self.timestep:.1f}"


def lanes(events: list[Event], drawing: Drawing, dwell_ticks: int) -> tuple[Lane, ...]:
    """Return the three lanes of an episode."""
    events = [event for event in events if event["tick"] >= 0]
    return (
        Lane("Choice", _opportunities(events, drawing), _arranged(_choices(events, drawing), drawing)),
        Lane("Execution", _holds(events, drawing), _arranged(_outcomes(events, drawing), drawing)),
        Lane("Completion", _dwells(events, drawing, dwell_ticks), _arranged(_endings(events, drawing), drawing)),
    )


def _opportunities(events: list[Event], drawing: Drawing) -> tuple[Span, ...]:
    closed = {event["opportunity"]: event for event in events if event["event"] == "Closed"}
    return tuple(
        drawing.span(
            event["tick"],
            closed[event["opportunity"]]["tick"] if event["opportunity"] in closed else drawing.end,
            "open" if event["physical"] else "open wordless",
            (f"legal: {phrases.operations(event['legal'])}", f"{len(event['legal'])} legal"),
            f"Opportunity {event['opportunity']}, legal: {phrases.operations(event['legal'])}",
        )
        for event in events
        if event["event"] == "Opened"
    )


def _choices(events: list[Event], drawing: Drawing) -> Iterable[Mark]:
    for event in events:
        match event:
            case {"event": "Chosen", "track": track, "operation": operation, "correct": correct}:
                word = "correct" if correct else "wrong"
                said = "chose" if track == "behaviour" else "reported"
                kind = word if track == "behaviour" else f"report-{word}"
                words = phrases.operation(operation)
                yield drawing.mark(event["tick"], kind, f"{said} {words}", f"First choice ({track}): {words}, {word}")
            case {"event": "Revised", "operation": operation, "track": track}:
                words = phrases.operation(operation)
                yield drawing.mark(event["tick"], "revised", "", f"Revised ({track}): {words}")
            case {"event": "Noted", "category": category} if category in ADVANCE:
                words = phrases.plain(category)
                yield drawing.mark(event["tick"], "warning", words, f"{words}: {phrases.operation(event['operation'])}")


def _holds(events: list[Event], drawing: Drawing) -> tuple[Span, ...]:
    """Return from each grasp to the release, drop or end that closes it, and from there to rest."""
    spans = []
    for event in events:
        if event["event"] != "Grasped":
            continue
        after = [other for other in events if other.get("attempt") == event["attempt"] and other is not event]
        freed = next((other["tick"] for other in after if other["event"] in ("Released", "Dropped", "Fell")), None)
        rested = next((other["tick"] for other in after if other["event"] in ("Settled", "Fell")), None)
        stop = drawing.end if freed is None else freed
        title = f"Attempt {event['attempt']}: holds {event['item']}"
        spans.append(drawing.span(event["tick"], stop, "hold", (f"holds {event['item']}", event["item"]), title))
        if freed is not None and rested is not None:
            spans.append(drawing.span(freed, rested, "settling", (), f"{event['item']} comes to rest"))
    return tuple(spans)


def _outcomes(events: list[Event], drawing: Drawing) -> Iterable[Mark]:
    for event in events:
        match event:
            case {"event": "Settled", "attempt": attempt, "item": item, "place": place} if attempt:
                yield drawing.mark(event["tick"], "settled", f"{item} on {place}", f"{item} at rest on {place}")
            case {"event": "Settled", "item": item, "place": place, "origin": origin} if place != origin:
                yield drawing.mark(event["tick"], "settled", f"{item} on {place}", f"{item} pushed to {place}")
            case {"event": "Dropped", "item": item}:
                yield drawing.mark(event["tick"], "dropped", f"dropped {item}", f"{item} dropped")
            case {"event": "Fell", "item": item}:
                yield drawing.mark(event["tick"], "dropped", f"{item} off bench", f"{item} left the bench")
            case {"event": "Noted", "category": "operation_failure", "operation": operation}:
                words = phrases.operation(operation)
                yield drawing.mark(event["tick"], "failure", "failed", f"Operation failed: {words}")
            case {"event": "Noted", "category": "recovery", "operation": operation}:
                words = phrases.operation(operation)
                yield drawing.mark(event["tick"], "recovery", "recovered", f"Recovered: {words}")


def _dwells(events: list[Event], drawing: Drawing, dwell_ticks: int) -> tuple[Span, ...]:
    spans = []
    for event in events:
        if event["event"] == "Completed":
            start = event["tick"] - dwell_ticks
            spans.append(drawing.span(start, event["tick"], "dwell", (), "Terminal state held"))
        if event["event"] == "DwellBroken":
            start = event["tick"] - event["held"]
            spans.append(
                drawing.span(
                    start, event["tick"], "broken", ("broken dwell", "broken"), "Terminal state held, then lost"
                )
            )
    return tuple(spans)


def _endings(events: list[Event], drawing: Drawing) -> Iterable[Mark]:
    for event in events:
        match event:
            case {"event": "Completed"}:
                yield drawing.mark(event["tick"], "completed", "held: completed", "Completed")
            case {"event": "Stopped"}:
                yield drawing.mark(event["tick"], "stopped", "stopped", "The system stopped")
            case {"event": "Noted", "category": "early_termination"}:
                yield drawing.mark(event["tick"], "warning", "early", "Early termination")
            case {"event": "Violated", "rule": rule}:
                words = phrases.plain(rule)
                yield drawing.mark(event["tick"], "violated", words, f"Irreversible violation: {words}")
            case {"event": "Refused" | "Invalidated" as kind, "sentence": sentence}:
                yield drawing.mark(event["tick"], "violated", kind.lower(), sentence)


def _arranged(marks: Iterable[Mark], drawing: Drawing) -> tuple[Mark, ...]:
    """Spread marks that would overlap, then keep each label that has room to its right, or else to its left."""
    spread: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: mark.at):
        x = max(mark.at, spread[-1].x + APART) if spread else mark.at
        spread.append(replace(mark, x=x))
    overrun = max(0.0, spread[-1].x + 7 - drawing.right) if spread else 0.0
    spread = [
        replace(mark, x=mark.x - overrun) if mark.x + overrun > drawing.right - APART else mark for mark in spread
    ]
    return tuple(_with_room(spread, number, drawing.right) for number in range(len(spread)))


def _with_room(marks: list[Mark], number: int, right: float) -> Mark:
    """Return a mark with its label to the right, to the left, or without one; the left may be an earlier label's."""
    mark, wide = marks[number], LETTER * len(marks[number].label) + 16
    after = marks[number + 1].x - 8 if number + 1 < len(marks) else right
    if mark.x + wide <= after:
        return mark
    before = 0.0 if number == 0 else mark.x if marks[number - 1].label else marks[number - 1].x + 8
    if mark.x - wide >= before:
        return replace(mark, anchor="end")
    return replace(mark, label="")
