"""Figure 4 of the paper for studies of ours: cumulative success, valid_unseen, memories; over seeds, mean and range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from labevolver.experiments.alfworld_methods import METHODS
from labevolver.experiments.alfworld_tables import (
    PAPER_SIZE,
    PAPER_STREAM,
    PAPER_UNSEEN,
    Results,
    cumulative,
    phase,
    share,
)

SKIP = 10
"""Tasks whose cumulative rate is too noisy to draw."""
COLORS = {name: f"C{number}" for number, name in enumerate(METHODS)}


def draw(studies: Sequence[Results], thoughts_cost: bool, title: str, path: Path, beside: bool = True) -> None:
    """Write the three panels as a PNG, one study a seed.

    With `beside`, dotted lines and crosses are the paper's, of another mind.
    """
    figure = _figure(title)
    first, second, third = figure.subplots(1, 3)
    _success(first, studies, thoughts_cost, beside)
    _unseen(second, studies, thoughts_cost, beside)
    _memories(third, studies, beside)
    figure.savefig(path, dpi=120)


def draw_minds(minds: Mapping[str, Sequence[Results]], thoughts_cost: bool, title: str, path: Path) -> None:
    """Write Success@20 on valid_unseen as a PNG, a group of bars a mind, whiskers from least to most over seeds."""
    figure = _figure(title)
    axes = figure.subplots()
    names = [name for name in METHODS if any(name in each for studies in minds.values() for each in studies)]
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        for place, studies in enumerate(minds.values()):
            rates = _rates(studies, name, thoughts_cost)
            if rates:
                label = name if name not in axes.get_legend_handles_labels()[1] else None
                axes.bar(place + number * width, np.mean(rates), width, color=COLORS[name], label=label)
                axes.vlines(place + number * width, min(rates), max(rates), color="k", linewidth=1)
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(minds))], list(minds))
    axes.set(ylabel="Success@20 [%] on valid_unseen", ylim=(0, 100))
    axes.legend(fontsize=8, ncols=2, loc="lower right")
    figure.savefig(path, dpi=120)


def _figure(title: str) -> Figure:
    figure = Figure(figsize=(16, 5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    return figure


def _names(studies: Sequence[Results]) -> list[str]:
    return [name for name in METHODS if any(name in each for each in studies)]


def _curve(axes: Axes, curves: Sequence[Sequence[float]], name: str) -> None:
    """Draw the mean of curves, and a band from the least to the most."""
    values = np.array(curves)
    tasks = np.arange(1, values.shape[1] + 1)
    axes.plot(tasks, values.mean(0), color=COLORS[name], label=name)
    if len(curves) > 1:
        axes.fill_between(tasks, values.min(0), values.max(0), color=COLORS[name], alpha=0.15, linewidth=0)


def _success(axes: Axes, studies: Sequence[Results], thoughts_cost: bool, beside: bool) -> None:
    for name in _names(studies):
        rates = [[100 * rate for rate in cumulative(each[name], 20, thoughts_cost)] for each in studies if name in each]
        _curve(axes, [[np.nan] * min(SKIP, len(curve)) + curve[SKIP:] for curve in rates], name)
        if beside and name in PAPER_STREAM:
            axes.axhline(float(PAPER_STREAM[name]), color=COLORS[name], linestyle=":", linewidth=0.8)
    axes.set(xlabel="tasks of the stream", ylabel="cumulative Success@20 [%]", title="(a) stream")
    axes.legend(fontsize=7, ncols=2, loc="lower right")


def _rates(studies: Sequence[Results], name: str, thoughts_cost: bool) -> list[float]:
    found = (share(phase(each[name], "valid_unseen"), 20, thoughts_cost) for each in studies if name in each)
    return [100 * rate for rate in found if rate is not None]


def _unseen(axes: Axes, studies: Sequence[Results], thoughts_cost: bool, beside: bool) -> None:
    for name in _names(studies):
        rates = _rates(studies, name, thoughts_cost)
        axes.barh(name, float(np.mean(rates)) if rates else 0.0, color=COLORS[name])
        if len(rates) > 1:
            axes.hlines(name, min(rates), max(rates), color="k", linewidth=1.5)
        if beside and name in PAPER_UNSEEN:
            axes.plot(float(PAPER_UNSEEN[name]), name, "kx")
    axes.invert_yaxis()
    axes.set(xlabel="Success@20 [%]", title="(b) valid_unseen, memory frozen", xlim=(0, 100))


def _memories(axes: Axes, studies: Sequence[Results], beside: bool) -> None:
    for name in _names(studies):
        sizes = [[float(row.size) for row in phase(each[name], "train")] for each in studies if name in each]
        if any(map(any, sizes)):
            _curve(axes, sizes, name)
            if beside and name in PAPER_SIZE:
                axes.plot(len(sizes[0]), float(PAPER_SIZE[name]), "x", color=COLORS[name])
    axes.set(xlabel="tasks of the stream", ylabel="memories", title="(c) memories", yscale="log")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)
