"""The figure of memory growth: entries in use, additions and intercepts, and what retrieval was good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DASHES = ("-", "--", ":", "-.")
"""Lines that lie on each other can be told apart."""


class Row(Protocol):
    """What is drawn of one trial."""

    @property
    def additions(self) -> int:
        """Return the pours."""
        ...

    @property
    def retrieved(self) -> int:
        """Return the entries that the memory gave."""
        ...

    @property
    def used(self) -> int:
        """Return those that were followed in a trial that succeeded."""
        ...

    @property
    def size(self) -> int:
        """Return the entries in use after the trial."""
        ...


def draw(grown: Mapping[str, Sequence[Row]], window: int, path: Path) -> None:
    """Write three panels over the stream as a PNG; means move over `window` trials."""
    figure = Figure(figsize=(13, 3.9), layout="constrained")
    FigureCanvasAgg(figure)
    first, second, third = figure.subplots(1, 3)
    for number, (name, met) in enumerate(grown.items()):
        style = {"color": f"C{number}", "label": name, "linewidth": 1.6, "linestyle": DASHES[number % len(DASHES)]}
        trials = range(1, len(met) + 1)
        first.plot(trials, [each.size for each in met], **style)
        additions = moving([float(each.additions) for each in met], [1.0] * len(met), window)
        second.plot(trials[window - 1 :], additions[window - 1 :], **style)
        useful = moving([float(each.used) for each in met], [float(each.retrieved) for each in met], window)
        third.plot(trials[window - 1 :], [100 * each for each in useful[window - 1 :]], **style)
    _axes(first, "entries in use", "")
    _axes(second, "additions of a trial", f"mean of {window} trials")
    _axes(third, "followed with success / retrieved [%]", f"over {window} trials")
    first.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)


def moving(values: Sequence[float], weights: Sequence[float], window: int) -> list[float]:
    """Return the sum of values over that of weights, each over the last `window`; 0 where there are no weights."""
    found = []
    for end in range(1, len(values) + 1):
        begin = max(0, end - window)
        whole = sum(weights[begin:end])
        found.append(sum(values[begin:end]) / whole if whole else 0.0)
    return found


def _axes(axes: Axes, title: str, note: str) -> None:
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_xlabel(f"trials of the stream{f' ({note})' if note else ''}", fontsize=9)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
