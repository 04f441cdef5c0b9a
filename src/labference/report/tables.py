"""Tables for the terminal. Every rate shows its numerator and denominator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from labference.score.audit import Audit
from labference.score.summary import Summary
from labference.truth.contract import TaskContract

from . import phrases
from .levels import Section, sections

EXPLAINED = 2
"""Most systems side by side that leave room for a column saying what is counted."""
ABREAST = 2
"""Most systems side by side whose rates fit on one line of 80 columns."""


def tasks_table(tasks: Sequence[TaskContract[Any, Any]]) -> Table:
    """Return the tasks with what they ask and what they allow."""
    table = _table()
    table.add_column("Task", style="bold", no_wrap=True)
    table.add_column("Version", justify="right")
    table.add_column("Asked")
    table.add_column(Text("Budget\n[steps]"), justify="right")
    table.add_column(Text("Dwell\n[s]"), justify="right")
    for task in tasks:
        table.add_row(Text(task.name), task.version, Text(task.summary), str(task.budget_steps), f"{task.dwell_s:g}")
    return table


def results_table(summaries: Sequence[Summary]) -> Table:
    """Return the paper's table 3: selection and completion apart, each with its own population."""
    table = _table(
        caption="Episodes: scored/planned. Brackets: count/population, 95 % Wilson interval in %.\n"
        "Runtime: simulated/model/rendering/physics."
    )
    table.add_column("System", style="bold", overflow="fold", min_width=9)
    several = len({summary.task for summary in summaries}) > 1
    if several:
        table.add_column("Task", overflow="fold")
    table.add_column("Episodes", justify="right", min_width=8)
    table.add_column(Text("Correct\nselection"), justify="right", no_wrap=True)
    table.add_column(Text("Task\ncompletion"), justify="right", no_wrap=True)
    table.add_column(Text("Mean runtime [s]"), justify="right", no_wrap=True)
    for summary in summaries:
        cells = [
            f"{summary.scored}/{summary.planned}",
            _stacked(str(summary.selection)),
            _stacked(phrases.completion(summary)),
            phrases.runtime(summary.runtime),
        ]
        table.add_row(Text(summary.system), *([Text(summary.task)] if several else []), *cells)
    return table


def levels_table(summaries: Sequence[Summary]) -> Table:
    """Return choice, execution, completion and their events, one column per system."""
    table = _table()
    explained = len(summaries) <= EXPLAINED
    table.add_column("Level", no_wrap=True)
    if explained:
        table.add_column("Counted", style="dim")
    for summary in summaries:
        table.add_column(Text(summary.system), justify="right")
    for section in sections(summaries):
        _add_section(table, section, explained, stacked=len(summaries) > ABREAST)
    return table


def audit_table(audits: Sequence[Audit]) -> Table:
    """Return what each replay reproduced, or where it first differs."""
    table = _table()
    table.add_column("Episode", no_wrap=True)
    table.add_column("Ticks", justify="right")
    table.add_column("Events", justify="right")
    table.add_column("Replay")
    for entry in audits:
        name = Text("/".join(entry.path.parts[-3:]))
        table.add_row(name, str(entry.ticks), str(entry.events), _outcome(entry.difference))
    return table


def _table(caption: str | None = None) -> Table:
    return Table(box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False)


def _add_section(table: Table, section: Section, explained: bool, *, stacked: bool) -> None:
    table.add_row(Text(section.name, style="bold"))
    for row in section.rows:
        meaning = [Text(row.meaning)] if explained else []
        table.add_row(
            Text(f"  {row.label}"), *meaning, *(Text(_stacked(cell) if stacked else cell) for cell in row.cells)
        )
    table.add_section()


def _stacked(cell: str) -> str:
    """Return `cell` with its counts below the rate."""
    return cell.replace(" (", "\n(")


def _outcome(difference: str | None) -> Text:
    return Text(difference, style="red") if difference else Text("identical", style="green")
