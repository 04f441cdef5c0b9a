"""Tables for the terminal. Every rate shows its numerator and denominator."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from labference.score.audit import Audit
from labference.score.finding import Findings
from labference.score.summary import Summary
from labference.truth.diagnosis import Registration

from . import phrases
from .catalogue import plain_table
from .conditions import EXPLAINED as CONDITIONS
from .conditions import breakdown
from .diagnosis import EXPLAINED as ANSWERED
from .diagnosis import SHOWN, Cell, answers, labels, numbers
from .levels import Section, sections

EXPLAINED = 2
"""Most systems side by side that leave room for a column saying what is counted."""
INDENT = 2
"""Of what is counted below the name of its section."""
ABREAST = 2
"""Most systems side by side whose rates fit on one line of 80 columns."""
LABEL = 26
"""Widest label of a row on one line."""
TONES = {"good": "bold green", "bad": "bold red", "": ""}


def results_table(summaries: Sequence[Summary]) -> Table:
    """Return the paper's table 3: selection and completion apart, each with its own population."""
    table = plain_table(
        caption=f"Selection: {phrases.selections(summaries)}, of scored episodes.\n"
        "Episodes: scored/planned. Brackets: count/population, 95 % Wilson interval in %.\n"
        "Runtime: simulated/model/rendering/physics."
    )
    table.add_column("System", style="bold", overflow="fold", min_width=9)
    several = len({summary.task for summary in summaries}) > 1
    table.add_column("Episodes", justify="right", min_width=8)
    table.add_column(Text("Correct\nselection"), justify="right", no_wrap=True)
    table.add_column(Text("Task\ncompletion"), justify="right", no_wrap=True)
    table.add_column(Text("Mean runtime\n[s]" if several else "Mean runtime [s]"), justify="right", no_wrap=True)
    for summary in summaries:
        cells = [
            f"{summary.scored}/{summary.planned}",
            _stacked(str(summary.selection)),
            _stacked(phrases.completion(summary)),
            _broken(phrases.runtime(summary.runtime)) if several else phrases.runtime(summary.runtime),
        ]
        table.add_row(_titled(summary) if several else Text(summary.system), *cells)
    return table


def levels_table(summaries: Sequence[Summary]) -> Table:
    """Return choice, execution, completion and their events, one column per system."""
    return _sections_table("Level", sections(summaries), [summary.system for summary in summaries])


def answers_table(found: Findings) -> Table:
    """Return the table that answers where a system fails, and what would help."""
    table = plain_table(caption=ANSWERED)
    registered = found.diagnosis.registration
    title = f"{found.diagnosis.system}, {registered.task}, {len(registered.starts)} {registered.split} starts"
    table.title, table.title_justify = Text(title), "left"
    table.add_column("Interface: own test", width=22, overflow="fold")
    table.add_column("Support", width=11)
    for outcome in SHOWN:
        table.add_column(Text(f"Gain in\n{outcome}"), justify="right", width=11)
    for line in answers(found):
        own = Text()
        if line.verdict:
            own.append(f"{line.name}: ", style="bold").append(line.verdict, style=TONES[line.tone])
            tested = _stacked(line.test).replace("), ", "),\n")
            own.append(f"\n{line.question}\n{tested}", style="dim")
        else:
            own.append(line.name, style="bold")
        table.add_row(own, Text(line.support.replace(":", ":\n").replace(" +", "\n+")), *map(_gained, line.cells))
    return table


def numbers_table(systems: Sequence[Findings]) -> Table:
    """Return everything that diagnoses measured, one column per system."""
    return _sections_table("Quantity", numbers(systems), labels(systems))


def registration_table(registration: Registration) -> Table:
    """Return what a plan registers, with its denominators."""
    kinds = [pair.kind for pair in registration.pairs]
    table = plain_table()
    table.add_column(Text(registration.task), style="bold", no_wrap=True)
    table.add_column(Text(registration.split))
    for field, value in (
        ("Registration", registration.sha256),
        ("Version", registration.version),
        ("Laboratory", registration.fidelity),
        ("Instances", registration.instances or "all strata"),
        ("Starts", f"{len(registration.starts)}: the denominator of rates, and the pairs of every gain"),
        ("State pairs", f"{kinds.count('state')}: the denominator of P_state"),
        ("Geometry pairs", str(kinds.count("geometry"))),
        ("Branches", "\n".join(branch or "base" for branch in registration.branches)),
        ("Prefix", f"{registration.operations} operations"),
        ("Budget", f"{registration.budget} control steps after the handoff"),
        ("Seeds", f"campaign {registration.campaign}, policy {registration.policy_seed}"),
    ):
        table.add_row(field, Text(value, overflow="fold"))
    return table


def conditions_table(summary: Summary, *, titled: bool) -> Table:
    """Return the decisions and completion of one system by condition, under its name if `titled`."""
    found = breakdown(summary)
    table = plain_table(caption=CONDITIONS)
    if titled:
        table.title, table.title_justify = Text(f"{summary.system}, {summary.task}"), "left"
    table.add_column("Condition", overflow="fold")
    for name in found.columns:
        table.add_column(Text(name), justify="right")
    for line in found.lines:
        if line.field:
            table.add_row(Text(line.field, style="bold"))
        table.add_row(Text(line.value if line is found.lines[0] else " " * INDENT + line.value), *line.cells)
    return table


def audit_table(audits: Sequence[Audit]) -> Table:
    """Return what each replay reproduced, or where it first differs."""
    table = plain_table()
    table.add_column("Episode", no_wrap=True)
    table.add_column("Ticks", justify="right")
    table.add_column("Events", justify="right")
    table.add_column("Replay")
    for entry in audits:
        name = Text("/".join(entry.path.parts[-3:]))
        table.add_row(name, str(entry.ticks), str(entry.events), _outcome(entry.difference))
    return table


def _sections_table(first: str, found: Sequence[Section], systems: Sequence[str]) -> Table:
    """Return sections of rows, one column per system; few systems leave room for what is counted."""
    table = plain_table()
    explained = len(systems) <= EXPLAINED
    longest = max(len(row.label) for section in found for row in section.rows)
    # Names of sections and supports are longer, and may break.
    table.add_column(first, width=INDENT + min(LABEL, longest), overflow="fold")
    if explained:
        table.add_column("Counted", style="dim")
    for system in systems:
        table.add_column(Text(system), justify="right", overflow="fold")
    for section in found:
        _add_section(table, section, explained, stacked=len(systems) > ABREAST)
    return table


def _gained(cell: Cell) -> Text:
    """Return a gain with its interval below it."""
    if not cell.value:
        return Text(cell.detail.replace(", ", "\n"), style="dim")
    return Text.assemble(
        (f"{cell.mark} {cell.value}\n", TONES[cell.tone]), (cell.detail.replace(" to ", "\nto "), "dim")
    )


def _add_section(table: Table, section: Section, explained: bool, *, stacked: bool) -> None:
    table.add_row(Text(section.name, style="bold"))
    for row in section.rows:
        meaning = [Text(row.meaning)] if explained else []
        table.add_row(
            Text(" " * INDENT + row.label), *meaning, *(Text(_stacked(cell) if stacked else cell) for cell in row.cells)
        )
    table.add_section()


def _titled(summary: Summary) -> Text:
    """Return the system's name over the task's."""
    return Text.assemble(summary.system, "\n", (summary.task, "not bold"))


def _broken(runtime: str) -> str:
    """Return a list of seconds on two lines."""
    clocks = runtime.split("/")
    return "/".join(clocks[:2]) + "/\n" * (len(clocks) > 2) + "/".join(clocks[2:])


def _stacked(cell: str) -> str:
    """Return `cell` with its counts below the rate."""
    return cell.replace(" (", "\n(")


def _outcome(difference: str | None) -> Text:
    return Text(difference, style="red") if difference else Text("identical", style="green")
