"""The forest plot: what each support changes, with its interval, over the line of no change."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from labference.score.finding import Findings
from labference.score.gain import ERRORS, OUTCOMES, Gain

from . import phrases
from .diagnosis import gain_cell
from .plots import BLUE, GREY, INK, ORANGE, SETTINGS, WIDTH

TITLES = {"choice": "Choice", "subgoal": "Subgoal", "completion": "Completion", "failures": "Failures avoided"}


def forest_figure(found: Findings) -> Figure:
    """Return a panel per outcome with a row per support: gain and 95 % interval, an open bar where bounds are known."""
    rows: list[tuple[str, dict[str, Gain]]] = [
        (phrases.support(entry.support), {gain.outcome: gain for gain in entry.gains}) for entry in found.supports
    ]
    rows += [
        (f"interaction in\n{phrases.support(name)}", {gain.outcome: gain for gain in contrast})
        for name, contrast in found.contrasts.items()
    ]
    with matplotlib.rc_context(SETTINGS):
        engine = ConstrainedLayoutEngine(w_pad=0.08)
        figure = Figure(figsize=(WIDTH, 1.2 + 0.5 * len(rows)), layout=engine)
        panels = figure.subplots(1, len(OUTCOMES), sharey=True)
        for axes, name in zip(panels, OUTCOMES, strict=True):
            scale = 1.0 if name in ERRORS else 100.0
            for row, (_, gains) in enumerate(rows):
                _draw(axes, row, gains.get(name), scale)
            _dress(axes, TITLES[name], "per start" if name in ERRORS else "percentage points")
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.set_yticks(range(len(rows)), [label for label, _ in rows], parse_math=False, fontsize=8.5)
        _one_scale([axes for axes, name in zip(panels, OUTCOMES, strict=True) if name not in ERRORS])
    return figure


def _draw(axes: Axes, row: int, gain: Gain | None, scale: float) -> None:
    """Draw what is known of one gain."""
    if gain is None:
        _note(axes, 0.0, row, "unsupported")
        return
    if gain.value is None or gain.interval is None:
        if gain.bounds is not None:
            left, width = scale * gain.bounds.low, scale * (gain.bounds.high - gain.bounds.low)
            axes.barh(row, width, 0.26, left, facecolor="none", edgecolor=GREY, linewidth=1.3, linestyle=(0, (3, 2)))
        end = max(0.0, scale * gain.bounds.high) if gain.bounds is not None else 0.0
        _note(axes, end, row, f"{gain.complete}/{gain.registered} pairs")
        return
    colour = BLUE if gain.helps else ORANGE if gain.harms else GREY
    axes.plot(
        [scale * gain.interval.low, scale * gain.interval.high],
        [row, row],
        color=colour,
        lw=2.2,
        alpha=0.6,
        solid_capstyle="butt",
    )
    filled = colour if gain.helps or gain.harms else "none"
    axes.plot([scale * gain.value], [row], "o", ms=7, mfc=filled, mec=colour, mew=1.4, clip_on=False, zorder=4)
    value = gain_cell(gain).value
    axes.annotate(value, (scale * gain.value, row), (5, 5), textcoords="offset points", fontsize=8)


def _note(axes: Axes, at: float, row: int, text: str) -> None:
    """Write why there is no gain, beside what is known."""
    axes.annotate(text, (at, row), (4, 0), textcoords="offset points", va="center", fontsize=8, style="italic")


def _dress(axes: Axes, title: str, unit: str) -> None:
    axes.axvline(0, color=INK, lw=1)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(unit, fontsize=8.5)
    axes.grid(axis="x", color=GREY, alpha=0.28, lw=0.7)
    axes.tick_params(length=0, labelsize=8.5)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.spines[:].set_visible(False)
    low, high = axes.get_xlim()
    reach = max(-low, high, 1e-9)
    axes.set_xlim(min(low, -0.15 * reach), max(high, 0.15 * reach))


def _one_scale(panels: Sequence[Axes]) -> None:
    """Let panels of the same unit show the same stretch."""
    limits = [axes.get_xlim() for axes in panels]
    low, high = min(low for low, _ in limits), max(high for _, high in limits)
    for axes in panels:
        axes.set_xlim(max(low, -205), min(high, 205))
