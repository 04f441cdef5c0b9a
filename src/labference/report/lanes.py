"""Choice, execution and completion as three lanes over simulated time, built from the recorded events alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from . import phrases

Event = dict[str, Any]
Scale = Callable[[float], float]
"""From a tick to a horizontal position [px]."""

LETTER = 6.3
"""Width of a drawn letter, on the generous side [px]."""
APART, SMALLEST = 17.0, 0.4
"""Least distance between the marks of a lane where they have room [px], and the smallest scale of their symbols."""
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
    """Something that happens at an instant; `kind` names its symbol, `at` is where it truly lies before spreading.

    In a lane that is crowded, symbols are drawn smaller, by `scale`.
    """

    x: float
    at: float
    kind: str
    label: str
    title: str
    anchor: str = "start"
    scale: float = 1.0


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
    everything, events = events, [event for event in events if event["tick"] >= 0]
    execution = (*_clearances(everything, drawing), *_holds(everything, drawing))
    return (
        Lane("Choice", _opportunities(events, drawing), _arranged(_choices(events, drawing), drawing)),
        Lane("Execution", execution, _arranged(_outcomes(events, drawing), drawing)),
        Lane("Completion", _dwells(events, drawing, dwell_ticks), _arranged(_endings(events, drawing), drawing)),
    )


def steps(events: list[Event], drawing: Drawing) -> tuple[Mark, ...]:
    """Return in one lane what a system chose, what came of it and how it ended; few words have room."""
    told = (*_choices(events, drawing), *_outcomes(events, drawing), *_endings(events, drawing))
    brief = (replace(mark, label=mark.label.removeprefix("chose ")) for mark in told if mark.kind != "lifted")
    return _arranged(brief, drawing)


def bands(events: list[Event], drawing: Drawing) -> tuple[Span, ...]:
    """Return the intervals in which the environment had control and hid the scene."""
    rebuilt = any(event["event"] == "Rebuilt" for event in events)
    title = "The environment hides the scene" + " and rebuilds what may have moved" * rebuilt
    return tuple(
        drawing.span(start, stop, "hidden", ("hidden by the environment", "hidden"), title)
        for start, stop in _between(events, "Hidden", "Revealed", drawing.end)
    )


def _between(events: list[Event], begin: str, end: str, last: int) -> Iterable[tuple[int, int]]:
    """Yield from each event `begin` to the next event `end`, or to tick `last`."""
    for event in events:
        if event["event"] == begin:
            after = (other["tick"] for other in events if other["event"] == end and other["tick"] >= event["tick"])
            yield event["tick"], next(after, last)


def _clearances(events: list[Event], drawing: Drawing) -> tuple[Span, ...]:
    return tuple(
        drawing.span(start, stop, "clear", (), "The empty hand is clear of the bench")
        for start, stop in _between(events, "Withdrew", "Returned", drawing.end)
        if stop > 0
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
        if stop <= 0:
            continue
        title = f"Attempt {event['attempt']}: holds {event['item']}"
        spans.append(drawing.span(event["tick"], stop, "hold", (f"holds {event['item']}", event["item"]), title))
        if freed is not None and rested is not None:
            spans.append(drawing.span(freed, rested, "settling", (), f"{event['item']} comes to rest"))
    return tuple(spans)


def _outcomes(events: list[Event], drawing: Drawing) -> Iterable[Mark]:
    yield from _aimed(events, drawing)
    yield from _rested(events, drawing)
    yield from _worked(events, drawing)
    elsewhere = {event["tick"]: event for event in events if event["event"] == "Deviated"}
    for event in events:
        tick = event["tick"]
        match event:
            case {"event": "Dropped", "item": item}:
                yield drawing.mark(tick, "dropped", f"dropped {item}", f"{item} dropped")
            case {"event": "Fell", "item": item}:
                yield drawing.mark(tick, "dropped", f"{item} off bench", f"{item} left the bench")
            case {"event": "Noted", "category": "operation_failure", "operation": operation}:
                words, label = phrases.operation(operation), "failed"
                if tick in elsewhere:
                    label = f"not {elsewhere[tick]['intended']}"
                    words += f", came to rest at {elsewhere[tick]['place']}"
                yield drawing.mark(tick, "failure", label, f"Operation failed: {words}")
            case {"event": "Noted", "category": "recovery", "operation": operation}:
                words = phrases.operation(operation)
                yield drawing.mark(tick, "recovery", "recovered", f"Recovered: {words}")


def _aimed(events: list[Event], drawing: Drawing) -> Iterable[Mark]:
    """Yield what the hand did on its way: a grasp that held, a socket that it entered or went for."""
    confirmed = _confirmed(events)
    for event in events:
        match event:
            case {"event": "Lifted", "tick": tick, "item": item}:
                yield drawing.mark(tick, "lifted", "", f"{item} lifted{confirmed.get(tick, '')}")
            case {"event": "Entered", "tick": tick, "item": item, "place": place}:
                yield drawing.mark(tick, "aimed", f"enters {place}", f"{item} enters {place}")
            case {"event": "Approached", "tick": tick, "place": place}:
                yield drawing.mark(tick, "aimed", f"goes for {place}", f"The open hand descends towards {place}")


def _worked(events: list[Event], drawing: Drawing) -> Iterable[Mark]:
    """Yield what became of liquids and tools; of a dip of a meter, the reading with which it settled first."""
    settled = False
    for event in events:
        match event:
            case {"event": "Transferred", "tick": tick, "source": source, "grams": grams}:
                title = f"{grams:.3f} g of {source} arrived in {event['vessel']}"
                yield drawing.mark(tick, "poured", f"+{grams:.2f} g {source}", title)
            case {"event": "Spilt", "tick": tick, "grams": grams}:
                yield drawing.mark(tick, "dropped", f"spilt {grams:.2f} g", f"{grams:.3f} g landed in no vessel")
            case {"event": "Stirred" | "Rinsed" | "Tared" as done, "tick": tick}:
                about = next(str(event[name]) for name in ("vessel", "probe", "cell") if name in event)
                yield drawing.mark(tick, "worked", done.lower(), f"{done}: {about}")
            case {"event": "Immersed"}:
                settled = False
            case {"event": "Measured", "tick": tick, "settled": True, "ph": ph, "ec": ec} if not settled:
                settled = True
                title = f"Settled in {event['vessel']}: pH {ph:.2f}, {ec:.0f} µS/cm"
                yield drawing.mark(tick, "measured", f"pH {ph:.2f}", title)


def _rested(events: list[Event], drawing: Drawing) -> Iterable[Mark]:
    """Yield where items came to rest, and who moved those that no attempt handled."""
    confirmed = _confirmed(events)
    hidden = list(_between(events, "Hidden", "Revealed", drawing.end))
    for event in events:
        if event["event"] != "Settled":
            continue
        tick, words = event["tick"], phrases.resting(event["item"], event["place"])
        if event["attempt"]:
            yield drawing.mark(tick, "settled", words, f"At rest: {words}{confirmed.get(tick, '')}")
        elif event["place"] != event["origin"]:
            by_itself = any(start <= tick <= stop for start, stop in hidden)
            said = "Put there by the environment" if by_itself else "Pushed"
            yield drawing.mark(tick, "settled", words, f"{said}: {words}")


def _confirmed(events: list[Event]) -> dict[int, str]:
    """Return what to add at the ticks at which an operation was confirmed."""
    return {event["tick"]: ", confirmed" for event in events if event["event"] == "Confirmed"}


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
    """Spread marks that would overlap, as far as there is room; then keep each label that has room to its right, or
    else to its left.
    """
    spread = sorted(marks, key=lambda mark: mark.at)
    last = drawing.right - 7
    apart = min(APART, max(0.0, last - drawing.x(0)) / max(1, len(spread) - 1))
    x = -math.inf
    for number, mark in enumerate(spread):
        x = min(max(mark.at, x + apart), last - apart * (len(spread) - 1 - number))
        spread[number] = replace(mark, x=x, scale=max(SMALLEST, apart / APART))
    return tuple(_with_room(spread, number, drawing) for number in range(len(spread)))


def _with_room(marks: list[Mark], number: int, drawing: Drawing) -> Mark:
    """Return a mark with its label to the right, to the left, or without one; the left may be an earlier label's."""
    mark, wide = marks[number], LETTER * len(marks[number].label) + 16
    after = marks[number + 1].x - 8 if number + 1 < len(marks) else drawing.right
    if mark.x + wide <= after:
        return mark
    before = drawing.x(0) if number == 0 else mark.x if marks[number - 1].label else marks[number - 1].x + 8
    if mark.x - wide >= before:
        return replace(mark, anchor="end")
    return replace(mark, label="")
