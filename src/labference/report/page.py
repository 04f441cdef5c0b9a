"""Write one page that holds a whole evaluation and opens from a file, without a server and without the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import labference
from labference.score.campaign import IdentityError, find_campaigns
from labference.score.diagnosis import check_comparable, find_diagnoses

from . import diagnosis as answered
from . import phrases
from .conditions import EXPLAINED
from .diagnosed import Diagnosed, diagnosed
from .levels import Section, sections
from .plots import levels_figure, runtime_figure, svg
from .strips import DRAWN
from .system import System, systems

NAME = "report.html"


@dataclass(frozen=True, slots=True)
class Numbers:
    """One table of numbers, with the systems that share it."""

    systems: list[str]
    sections: tuple[Section, ...]


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


def write_diagnoses(path: Path, out: Path | None = None) -> Path:
    """Write the report of every diagnosis in `path`, by default next to them, and return where it lies."""
    page = out or path / NAME
    text = render_diagnoses(diagnosed(find_diagnoses(path), page))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return page


def render_diagnoses(shown: Sequence[Diagnosed]) -> str:
    """Return the page of diagnoses as text; those that cannot be compared keep tables of their own."""
    diagnoses = [system.findings.diagnosis for system in shown]
    try:
        check_comparable(diagnoses)
        groups, apart = [list(shown)], ""
    except IdentityError as error:
        groups, apart = [[system] for system in shown], str(error)
    return (
        _environment()
        .get_template("diagnosis.html.jinja")
        .render(
            version=labference.__version__,
            tasks=list(dict.fromkeys(found.registration.task for found in diagnoses)),
            development=any(found.development for found in diagnoses),
            systems=shown,
            explained=answered.EXPLAINED,
            drawn=DRAWN,
            outcomes=answered.SHOWN,
            apart=apart,
            numbers=[
                Numbers([system.label for system in group], answered.numbers([system.findings for system in group]))
                for group in groups
            ],
            fields=_fields([system.condition for system in shown]),
        )
    )


def render(shown: Sequence[System]) -> str:
    """Return the page as text."""
    summaries = [system.summary for system in shown]
    timed = [summary for summary in summaries if summary.runtime]
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            version=labference.__version__,
            tasks=list(dict.fromkeys(summary.task for summary in summaries)),
            selected=list(dict.fromkeys(phrases.decisive(summary) for summary in summaries)),
            systems=shown,
            fields=_fields([system.condition for system in shown]),
            levels=sections(summaries),
            conditions=EXPLAINED,
            levels_figure=Markup(svg(levels_figure(summaries), "levels")),
            runtime_figure=Markup(svg(runtime_figure(timed), "runtime")) if timed else None,
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("labference.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["phrases"] = phrases
    return environment


def _fields(conditions: Sequence[dict[str, str]]) -> tuple[Field, ...]:
    names = conditions[0] if conditions else {}
    rows = ((name, tuple(condition[name] for condition in conditions)) for name in names)
    return tuple(Field(name, values[:1] if len(set(values)) == 1 else values) for name, values in rows)
