"""Render the page from what was gathered; everything that a model may have written is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .. import __version__
from .memory import Remembered
from .series import Series
from .trial import Link, Trial


@dataclass(frozen=True, slots=True)
class Campaign:
    """One population of trials: what was run, its numbers in words, and its trials.

    trials   those that unfold; `hidden` more are only counted in the numbers
    """

    name: str
    anchor: str
    fields: tuple[tuple[str, str], ...]
    planned: int
    finished: int
    success: str
    additions: str
    intercepts: str
    seconds: str
    trials: tuple[Trial, ...]
    hidden: int
    series: tuple[Series, ...]
    bank: str = ""
    """Anchor of the bank that its trials are likely to have asked, "" for none."""


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that one page shows; `notes` are what could not be read, `tables` texts that the study wrote."""

    title: str
    campaigns: tuple[Campaign, ...]
    banks: tuple[Remembered, ...]
    notes: tuple[str, ...] = ()
    tables: tuple[tuple[str, str], ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    """Name and data URI of each picture that the study wrote."""
    files: tuple[Link, ...] = ()


def render(study: Study, style: str) -> str:
    """Return the page as text; `style` is CSS of our own, put before the page's."""
    environment = Environment(
        loader=PackageLoader("labevolver.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["px"] = lambda value: f"{value:.1f}"
    page = environment.get_template("page.html.jinja")
    trials = {trial.result.run: trial.anchor for trial in shown_trials(study.campaigns)}
    entries = {campaign.anchor: entry_targets(study.banks, campaign.bank) for campaign in study.campaigns}
    return page.render(version=__version__, study=study, style=Markup(style), runs=trials, entries=entries)


def entry_targets(banks: Sequence[Remembered], nearest: str) -> dict[str, str]:
    """Return where each entry is on the page; banks may share an id, and then `nearest` is meant, or the first."""
    found: dict[str, str] = {}
    for bank in sorted(banks, key=lambda each: each.anchor != nearest):
        for line in bank.lines:
            found.setdefault(line.entry.id, f"{bank.anchor}-{line.entry.id}")
    return found


def shown_trials(campaigns: Sequence[Campaign]) -> list[Trial]:
    """Return the trials that unfold on the page."""
    return [trial for campaign in campaigns for trial in campaign.trials]
