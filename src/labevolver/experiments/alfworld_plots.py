"""Figure 4 of the paper for a study of ours: cumulative success, valid_unseen, memories."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

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


def draw(results: Results, thoughts_cost: bool, title: str, path: Path, beside: bool = True) -> None:
    """Write the three panels as a PNG; with `beside`, dotted lines and crosses are the paper's, of another mind."""
    figure = Figure(figsize=(16, 5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    first, second, third = figure.subplots(1, 3)
    _success(first, results, thoughts_cost, beside)
    _unseen(second, results, thoughts_cost, beside)
    _memories(third, results, beside)
    figure.savefig(path, dpi=120)


def _success(axes: Axes, results: Results, thoughts_cost: bool, beside: bool) -> None:
    for number, (name, found) in enumerate(results.items()):
        rates = [100 * rate for rate in cumulative(found, 20, thoughts_cost)]
        axes.plot(range(1, len(rates) + 1)[SKIP:], rates[SKIP:], color=f"C{number}", label=name)
        if beside and name in PAPER_STREAM:
            axes.axhline(float(PAPER_STREAM[name]), color=f"C{number}", linestyle=":", linewidth=0.8)
    axes.set(xlabel="tasks of the stream", ylabel="cumulative Success@20 [%]", title="(a) stream")
    axes.legend(fontsize=7, ncols=2, loc="lower right")


def _unseen(axes: Axes, results: Results, thoughts_cost: bool, beside: bool) -> None:
    for number, (name, found) in enumerate(results.items()):
        rate = share(phase(found, "valid_unseen"), 20, thoughts_cost)
        axes.barh(name, 100 * (rate or 0), color=f"C{number}")
        if beside and name in PAPER_UNSEEN:
            axes.plot(float(PAPER_UNSEEN[name]), name, "kx")
    axes.invert_yaxis()
    axes.set(xlabel="Success@20 [%]", title="(b) valid_unseen, memory frozen", xlim=(0, 100))


def _memories(axes: Axes, results: Results, beside: bool) -> None:
    for number, (name, found) in enumerate(results.items()):
        sizes = [row.size for row in phase(found, "train")]
        if any(sizes):
            axes.plot(range(1, len(sizes) + 1), sizes, color=f"C{number}", label=name)
            if beside and name in PAPER_SIZE:
                axes.plot(len(sizes), float(PAPER_SIZE[name]), "x", color=f"C{number}")
    axes.set(xlabel="tasks of the stream", ylabel="memories", title="(c) memories", yscale="log")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)
