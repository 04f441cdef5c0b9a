"""The picture of one trial over time: proposals and rulings, the belief and what of it counts, and readings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..skills.atomic import BEAKER
from ..transcript import Change, Moved, Transcript
from .scale import Scale, Tick, round_step, times, vertical

WIDTH, LEFT, RIGHT = 960.0, 92.0, 22.0
"""Drawing width and its margins [px]."""
PANEL = 96.0
"""Height of a panel of readings [px]."""
LETTER, APART = 6.3, 15.0
"""Width of a drawn letter, on the generous side, and least distance of two marks [px]."""
SHOWN = (
    ("", "hand", "hand"),
    (BEAKER, "ph", "pH"),
    (BEAKER, "ec", "EC"),
    (BEAKER, "shown_g", "shown mass"),
    (BEAKER, "mixed", "stirred"),
    ("probe", "coat", "on the probe"),
)
"""Fields of the belief that have a strip: thing, field, and what the strip is called."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that lasts; `label` is drawn where it fits, `title` always answers a pointer or a screen reader."""

    x: float
    width: float
    kind: str
    label: str
    title: str
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A refusal: where it is drawn, and `at` where it truly lies [px]."""

    x: float
    at: float
    title: str


@dataclass(frozen=True, slots=True)
class Strip:
    """One field of the belief over time."""

    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """A reading that was taken; hollow where it does not count."""

    x: float
    y: float
    counts: bool
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Readings of one quantity with the band that the goal asks for; positions count down from its top [px]."""

    name: str
    unit: str
    dots: tuple[Dot, ...]
    path: str
    ticks: tuple[Tick, ...]
    band: tuple[float, float]
    """Top and height of the band."""
    wanted: str


@dataclass(frozen=True, slots=True)
class Addition:
    """A pour that was carried out: when it began and ended [px], and what the balance said of it."""

    x: float
    width: float
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that `picture.svg.jinja` draws."""

    actions: tuple[Span, ...]
    refusals: tuple[Mark, ...]
    strips: tuple[Strip, ...]
    panels: tuple[Panel, ...]
    additions: tuple[Addition, ...]
    ticks: tuple[Tick, ...]
    left: float = LEFT
    right: float = WIDTH - RIGHT
    width: float = WIDTH
    panel: float = PANEL


def picture(told: Transcript) -> Picture:
    """Return the picture of a trial."""
    end = max([told.ended, 1.0, *(move.time for move in told.moves), *(at.time for at in told.checkpoint.readings)])
    scale = Scale(0.0, end, LEFT, WIDTH - RIGHT)
    return Picture(
        _actions(told.moves, end, scale),
        _refusals(told.moves, scale),
        tuple(strip for each in _shown(told) if (strip := _strip(told.moves, end, scale, *each)) is not None),
        tuple(_panels(told, scale)),
        _additions(told.moves, end, scale),
        times(scale),
    )


def carried_out(moves: Sequence[Moved], end: float) -> list[tuple[Moved, float]]:
    """Return the admitted moves, each with the time at which the next belief came, or the trial ended [s]."""
    found = []
    for number, move in enumerate(moves):
        if move.admitted:
            after = next((later.time for later in moves[number + 1 :]), end)
            found.append((move, max(after, move.time)))
    return found


def poured(moves: Sequence[Moved], move: Moved) -> float | None:
    """Return what the balance said was added by a pour [g], as the belief tells it at the next proposal, or None."""
    after = next((later.belief for place, later in enumerate(moves) if place and moves[place - 1] is move), ())
    value = next((each.value for each in after if (each.thing, each.field) == (BEAKER, "last_g")), None)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def shown(change: Change) -> str:
    """Return the value of a field in words."""
    value, unit = change.value, f" {change.unit}" if change.unit else ""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value or "nothing"
    return f"{value:.4g}{unit}"


def _actions(moves: Sequence[Moved], end: float, scale: Scale) -> tuple[Span, ...]:
    spans = []
    for move, until in carried_out(moves, end):
        words = move.kind.replace("_", " ")
        labels = (f"{words} {move.item}", words) if move.kind in ("pour", "pick", "place") else (words,)
        title = f"{move.intent}: {move.action}, {move.time:.0f} to {until:.0f} s"
        if move.follows:
            title += f", by {', '.join(move.follows)}"
        spans.append(_span(scale, move.time, until, f"act-{_group(move.kind)}", labels, title, bool(move.follows)))
    return tuple(spans)


def _group(kind: str) -> str:
    """Return by what an action is coloured: it changes the liquid, reads it, or serves one of both."""
    return {"pour": "pour", "measure": "read", "weigh": "read", "stop": "end", "abandon": "end"}.get(kind, "serve")


def _refusals(moves: Sequence[Moved], scale: Scale) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    for move in moves:
        if move.exception is not None:
            at = scale(move.time)
            x = max(at + 7, marks[-1].x + APART) if marks else at + 7
            marks.append(Mark(x, at, f"{move.time:.0f} s: {move.exception.sentence}"))
    over = max(0.0, marks[-1].x + 7 - scale.right) if marks else 0.0
    return tuple(replace(mark, x=mark.x - over) if mark.x > scale.right - over - APART * 9 else mark for mark in marks)


def _shown(told: Transcript) -> Iterable[tuple[str, str, str]]:
    """Return the fields that matter for a goal: of a mass nothing is stirred."""
    return (each for each in SHOWN if told.target.grams is None or each[1] != "mixed")


def _strip(moves: Sequence[Moved], end: float, scale: Scale, thing: str, field: str, name: str) -> Strip | None:
    """Return one field over time, or None where it was never known."""
    history = list(_history(moves, thing, field))
    if all(change.value is None for _, change in history):
        return None
    spans = []
    for number, (begin, change) in enumerate(history):
        until = history[number + 1][0] if number + 1 < len(history) else end
        if change.value is None or until <= begin:
            continue
        kind, why = ("stale", f"does not count: {change.stale}") if change.stale else ("counts", "counts")
        title = f"{name} {shown(change)}, {why}; {change.source}, of {change.time:.0f} s"
        spans.append(_span(scale, begin, until, kind, (shown(change),), title))
    return Strip(name, tuple(spans))


def _history(moves: Iterable[Moved], thing: str, field: str) -> Iterable[tuple[float, Change]]:
    """Yield when a field got another value, or another validity, and what it was then."""
    last: Change | None = None
    for move in moves:
        for change in move.belief:
            if (change.thing, change.field) != (thing, field):
                continue
            if last is None or (change.value, change.stale) != (last.value, last.stale):
                yield move.time, change
            last = change


def _panels(told: Transcript, scale: Scale) -> Iterable[Panel]:
    target, readings = told.target, told.checkpoint.readings
    if target.ph is not None:
        values = [(at.time, at.ph, at.settled) for at in readings]
        yield _panel("pH", "", values, target.ph, target.ph_tolerance, scale)
    if target.ec is not None:
        values = [(at.time, at.ec, at.settled) for at in readings]
        yield _panel("EC", "uS/cm", values, target.ec, target.ec_tolerance, scale)
    if target.grams is not None:
        masses = [
            (time, float(change.value), not change.stale)
            for time, change in _history(told.moves, BEAKER, "shown_g")
            if isinstance(change.value, (int, float))
        ]
        yield _panel("mass", "g", masses, target.grams, target.grams_tolerance, scale)


def _panel(
    name: str, unit: str, values: list[tuple[float, float, bool]], wanted: float, near: float, scale: Scale
) -> Panel:
    every = [value for _, value, _ in values] + [wanted - near, wanted + near]
    margin = 0.12 * max(max(every) - min(every), 4 * near, 1e-6)
    down = vertical(min(every) - margin, max(every) + margin, PANEL)
    step = round_step((down.stop - down.start) / 4)
    unit_ = f" {unit}" if unit else ""
    dots = tuple(
        Dot(
            scale(time),
            down(value),
            counts,
            f"{value:.4g}",
            f"{name} {value:.4g}{unit_} at {time:.0f} s, {'counts' if counts else 'does not count'}",
        )
        for time, value, counts in values
    )
    path = " ".join(f"{dot.x:.1f},{dot.y:.1f}" for dot in dots) if len(dots) > 1 else ""
    top, bottom = down(wanted + near), down(wanted - near)
    return Panel(name, unit, dots, path, down.ticks(step), (top, max(bottom - top, 1.5)), f"{wanted:g} ± {near:g}")


def _additions(moves: Sequence[Moved], end: float, scale: Scale) -> tuple[Addition, ...]:
    found = []
    for move, until in carried_out(moves, end):
        if move.kind != "pour":
            continue
        grams = poured(moves, move)
        label = f"+{grams:.1f} g {move.item}" if grams is not None else f"+ {move.item}"
        found.append(
            Addition(
                scale(move.time),
                max(2.0, scale(until) - scale(move.time)),
                label,
                f"{label}, {move.time:.0f} to {until:.0f} s",
            )
        )
    return tuple(found)


def _span(
    scale: Scale, begin: float, until: float, kind: str, labels: tuple[str, ...], title: str, follows: bool = False
) -> Span:
    """Return a span with the first of `labels` that fits inside."""
    left, right = scale(begin), scale(until)
    label = next((each for each in labels if LETTER * len(each) + 8 <= right - left), "")
    return Span(left, max(2.0, right - left - 1.0), kind, label, title, follows)
