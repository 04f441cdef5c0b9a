"""Write one page that holds a whole evaluation and opens from a file, without a server and without the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import labference
from labference.score.campaign import find_campaigns

from . import phrases
from .conditions import EXPLAINED
from .levels import sections
from .plots import levels_figure, runtime_figure, svg
from .system import System, systems

NAME = "report.html"


@dataclass(frozen=True, slots=True)
class Field:
    """One line of "what was run"; a single value where every system agrees."""

    name: str
    values: tuple[str, ...]


def write_report(path: Path, out: Path | None = None) -> Path:
    """Write the report of every campaign in `path`, by default next to them, and return where it lies."""
    page = out or path / NAME
    shown = systems(find_campaigns(path), page)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render(shown), encoding="utf-8")
    return page


def render(shown: Sequence[System]) -> str:
    """Return the page as text."""
    environment = Environment(
        loader=PackageLoader("labference.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["phrases"] = phrases
    summaries = [system.summary for system in shown]
    timed = [summary for summary in summaries if summary.runtime]
    return environment.get_template("page.html.jinja").render(
        version=labference.__version__,
        tasks=list(dict.fromkeys(summary.task for summary in summaries)),
        selected=list(dict.fromkeys(phrases.decisive(summary) for summary in summaries)),
        systems=shown,
        fields=_fields(shown),
        levels=sections(summaries),
        conditions=EXPLAINED,
        levels_figure=Markup(svg(levels_figure(summaries), "levels")),
        runtime_figure=Markup(svg(runtime_figure(timed), "runtime")) if timed else None,
    )


def _fields(shown: Sequence[System]) -> tuple[Field, ...]:
    names = shown[0].condition if shown else {}
    rows = ((name, tuple(system.condition[name] for system in shown)) for name in names)
    return tuple(Field(name, values[:1] if len(set(values)) == 1 else values) for name, values in rows)
