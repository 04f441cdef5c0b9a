"""Episodes by what their instance is like: how far each decision was reached and answered, and what was completed."""

from __future__ import annotations

from dataclasses import dataclass

from labference.score.choice import Reach
from labference.score.rate import Rate
from labference.score.summary import Summary

COLUMNS = 5
"""Most decisions beside each other."""
EXPLAINED = "First choice correct/decision reached/episodes. Valid: validly completed/episodes."


@dataclass(frozen=True, slots=True)
class Line:
    """One condition; `field` is "" where it continues the line above or counts every episode."""

    field: str
    value: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The lines of one system below the names of their columns."""

    columns: tuple[str, ...]
    lines: tuple[Line, ...]


def breakdown(summary: Summary) -> Breakdown:
    """Return the conditions of `summary`: every question the first time it is asked, then those asked again."""
    decisions = summary.conditions[0].reach
    first = [entry.name for entry in decisions if entry.time == 1]
    again = [entry.name for entry in decisions if entry.time > 1]
    # The order of the decisions is kept; questions that are asked again only fill what room is left.
    chosen = {*first[:COLUMNS], *again[: max(0, COLUMNS - len(first))]}
    names = [entry.name for entry in decisions if entry.name in chosen]
    lines, above = [], ""
    for condition in summary.conditions:
        cells = (*(_cell(condition.reached(name)) for name in names), _completed(condition.valid))
        field = condition.field if condition.field != above else ""
        lines.append(Line(field, condition.value if condition.field else "all", cells))
        above = condition.field
    return Breakdown((*names, "valid"), tuple(lines))


def _cell(found: Reach) -> str:
    return f"{found.correct_of_reached.count}/{found.reached.count}/{found.reached.population}"


def _completed(valid: Rate) -> str:
    return f"{valid.count}/{valid.population}"
