"""Figures over systems: choice against execution against completion, and where the time goes."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from labference.score.rate import Bounds, Rate
from labference.score.summary import Runtime, Summary

from . import phrases

INK = "#010203"
"""Stands for the colour of the surrounding text; `svg` puts `currentColor` in its place."""
BLUE, ORANGE, GREEN, GREY = "#3182bd", "#d98200", "#1a9a76", "#8a919a"
"""Distinguishable with every common colour vision, on white and on dark grey."""
WIDTH = 10.4
"""[inch]"""
SETTINGS = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def levels_figure(summaries: Sequence[Summary]) -> Figure:
    """Return three panels with a row per system: rate and 95 % interval; an open bar where rates are bounds."""
    panels: list[tuple[str, str, str, list[Rate | Bounds]]] = [
        ("Choice", f"{_chosen(summaries)} correct", BLUE, [summary.selection for summary in summaries]),
        ("Execution", "confirmed, of correct choices", ORANGE, [summary.execution for summary in summaries]),
        ("Completion", "valid task completion", GREEN, [_completion(summary) for summary in summaries]),
    ]
    with matplotlib.rc_context(SETTINGS):
        engine = ConstrainedLayoutEngine(w_pad=0.12)
        figure = Figure(figsize=(WIDTH, 1.15 + 0.46 * len(summaries)), layout=engine)
        for axes, (title, meaning, colour, values) in zip(figure.subplots(1, 3, sharey=True), panels, strict=True):
            for row, value in enumerate(values):
                _draw(axes, row, value, colour)
            _percent_axes(axes, f"{title}\n", meaning)
            _system_rows(axes, [summary.system for summary in summaries])
    return figure


def runtime_figure(summaries: Sequence[Summary]) -> Figure:
    """Return where the wall clock goes per episode, a stacked bar per system."""
    timed = [(summary.system, summary.runtime) for summary in summaries if summary.runtime]
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH, 0.9 + 0.36 * len(timed)), layout="constrained")
        axes = figure.subplots()
        starts = [0.0] * len(timed)
        for number, (label, colour) in enumerate(_PARTS):
            lengths = [_parts(means)[number] for _, means in timed]
            axes.barh(range(len(timed)), lengths, 0.5, starts, color=colour, label=label)
            starts = [start + length for start, length in zip(starts, lengths, strict=True)]
        for row, (total, (_, means)) in enumerate(zip(starts, timed, strict=True)):
            text = f"{phrases.seconds(total)} s wall, {phrases.seconds(means.simulated)} s simulated"
            axes.annotate(text, (total, row), (6, 0), textcoords="offset points", va="center", fontsize=8.5)
        axes.set_xlim(0, 1.4 * max(starts, default=1.0) or 1.0)
        axes.set_xlabel("mean wall-clock seconds per episode", fontsize=8.5)
        axes.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), fontsize=8.5, borderaxespad=0.2)
        _system_rows(axes, [system for system, _ in timed])
    return figure


def svg(figure: Figure, name: str = "labference") -> str:
    """Return `figure` as an inline SVG element that takes its text colour from the page and refers to nothing outside.

    Figures of one page need different names, which make their element ids different.
    """
    with matplotlib.rc_context({**SETTINGS, "svg.hashsalt": name}):
        buffer = io.StringIO()
        bare = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", transparent=True, metadata=bare)
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="[a-zA-Z0-9.]+_\d+"| xmlns(:xlink)?="[^"]*"', "", text)
    return re.sub(r'<svg width="[^"]*" height="[^"]*"', '<svg aria-hidden="true"', text, count=1)


_PARTS = (("model", BLUE), ("rendering", ORANGE), ("physics", GREEN), ("other", GREY))


def _parts(means: Runtime) -> tuple[float, float, float, float]:
    other = max(0.0, means.wall - means.model - means.rendering - means.physics)
    return means.model, means.rendering, means.physics, other


def _chosen(summaries: Sequence[Summary]) -> str:
    """Return which choice the selections count, without naming tasks where they differ."""
    named = {phrases.decisive(summary) for summary in summaries}
    return named.pop() if len(named) == 1 else "choice"


def _completion(summary: Summary) -> Rate | Bounds:
    return summary.completion if summary.unresolved else summary.valid


def _draw(axes: Axes, row: int, value: Rate | Bounds, colour: str) -> None:
    """Draw what is known: dot and interval, bounds as an open bar, or a word where nobody was counted."""
    match value:
        case Bounds():
            left, width = 100 * value.low, 100 * (value.high - value.low)
            axes.barh(row, width, 0.26, left, facecolor="none", edgecolor=colour, linewidth=1.3, linestyle=(0, (3, 2)))
            _count(
                axes, row, f"{value.successes}/{value.planned}..{value.successes + value.unresolved}/{value.planned}"
            )
        case Rate(count=count, population=population):
            interval = value.interval
            if interval is None or value.value is None:
                axes.plot([2], [row], "o", ms=7, mfc="none", mec=GREY, mew=1.2, ls="none")
                axes.text(6, row, "unavailable", va="center", fontsize=8.5, style="italic")
            else:
                low, high = 100 * interval.low, 100 * interval.high
                axes.plot([low, high], [row, row], color=colour, lw=2.2, alpha=0.55, solid_capstyle="butt")
                axes.plot([100 * value.value], [row], "o", ms=8, color=colour, clip_on=False, zorder=4)
            _count(axes, row, f"{count}/{population}")


def _count(axes: Axes, row: int, text: str) -> None:
    axes.text(106, row, text, va="center", fontsize=8.5)


def _percent_axes(axes: Axes, title: str, meaning: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=2)
    axes.text(0, 1.03, meaning, transform=axes.transAxes, fontsize=8.5)
    axes.set_xlim(-2, 104)
    axes.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 %"], fontsize=8.5)
    axes.grid(axis="x", color=GREY, alpha=0.28, lw=0.7)


def _system_rows(axes: Axes, systems: list[str]) -> None:
    axes.set_yticks(range(len(systems)), systems, parse_math=False)
    axes.set_ylim(len(systems) - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
