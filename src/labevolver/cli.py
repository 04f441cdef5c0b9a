"""The command line: parsing and printing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from . import __version__
from .bank import Bank, BankError
from .codec import plain
from .experiments import commands
from .experiments.alfworld_cli import alfworld, compare
from .operations import line
from .shown import entries_table, entry_lines, printable, quarantine_lines, summary, why_lines

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="A training-free agent for the wet lab that learns from its own trials.",
)
memory = typer.Typer(
    no_args_is_help=True, help="What the agent remembers, where it has it from, and how to take it back."
)
app.add_typer(memory, name="memory")
experiment = typer.Typer(no_args_is_help=True, help="The experiments of the paper, each with its tables.")
experiment.command()(alfworld)
experiment.command("alfworld-compare")(compare)
commands.add_to(app, experiment)
app.add_typer(experiment, name="experiment")
console = Console(markup=False, emoji=False)
errors = Console(stderr=True, markup=False, emoji=False)
Path_ = Annotated[Path, typer.Option("--bank", envvar="LABEVOLVER_BANK", help="File of the memory bank.")]
Id = Annotated[str, typer.Argument(help="An entry's id, or the beginning of it.")]
BANK = Path("memory.db")
WRONG, UNUSABLE = 1, 2
"""Exit codes: the bank does not verify; the request cannot be carried out."""


def _version(asked: bool) -> None:
    if asked:
        console.print(f"labevolver {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version  # Handled by its callback.


@app.command()
def page(
    out: Annotated[Path, typer.Argument(help="Folder that `labevolver run` or an experiment wrote.")],
    to: Annotated[Path | None, typer.Option(help="File to write (OUT/page.html).")] = None,
    bank: Annotated[list[Path] | None, typer.Option(help="A memory bank that lies elsewhere; may be repeated.")] = None,
    trials: Annotated[int, typer.Option(min=1, help="Most trials that unfold, shared by all populations.")] = 60,
) -> None:
    """Write one page that shows belief, proposals, rulings and memory over time."""
    from .experiments.page import PageError, write_page

    try:
        _print([f"page: {write_page(out, to, bank or (), trials)}"])
    except (PageError, OSError) as error:
        errors.print(printable(str(error)), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(UNUSABLE) from error


@memory.command("list")
def list_(
    bank: Path_ = BANK,
    kind: Annotated[str, typer.Option(help="skill, strategy or safety.")] = "",
    ended: Annotated[bool, typer.Option("--ended", help="Those that are no longer in use, too.")] = False,
    quarantined: Annotated[bool, typer.Option("--quarantined", help="What could not be used, as it came.")] = False,
) -> None:
    """List the entries in use, the best first."""
    with _open(bank) as held:
        if quarantined:
            _print(quarantine_lines(held.quarantined()))
            return
        found = [entry for entry in held.entries(ended=ended) if kind in ("", entry.lesson.kind)]
        console.print(entries_table(found))
        _print([summary(held)])


@memory.command()
def show(entry: Id, bank: Path_ = BANK) -> None:
    """Show one entry: when it holds, what it advises, its record and its sources."""
    with _open(bank) as held:
        _print(entry_lines(held.entry(entry), held.settings))


@memory.command()
def why(entry: Id, bank: Path_ = BANK) -> None:
    """Tell an entry's whole history: every operation, by which trial, and the score after it."""
    with _open(bank) as held:
        name = held.entry(entry).id
        _print(why_lines(name, held.log(), held.undone()))


@memory.command()
def export(
    bank: Path_ = BANK,
    out: Annotated[Path | None, typer.Option(help="File to write to (standard output).")] = None,
    log: Annotated[bool, typer.Option("--log", help="The operations instead of the entries.")] = False,
) -> None:
    """Write all entries, or the whole log, as JSON lines."""
    with _open(bank) as held:
        rows = [line(each) for each in held.log()] if log else [plain(each) for each in held.entries(ended=True)]
        text = "".join(json.dumps(row, sort_keys=True, ensure_ascii=False) + "\n" for row in rows)
        if out is None:
            sys.stdout.write(text)
            return
        out.write_text(text, encoding="utf-8")
        _print([f"{len(rows)} lines: {out}"])


@memory.command()
def forget(
    entry: Id,
    bank: Path_ = BANK,
    reason: Annotated[str, typer.Option(help="Why, for whoever reads the log.")] = "",
) -> None:
    """Take an entry out of use; it stays in the log."""
    with _open(bank) as held:
        done = held.forget(entry, reason)
        _print([f"Forgotten as #{done.number}. To take it back: labevolver memory undo {done.number}"])


@memory.command()
def undo(
    number: Annotated[int | None, typer.Argument(help="Number of an operation, as `why` shows it.")] = None,
    bank: Path_ = BANK,
    run: Annotated[str, typer.Option(help="Undo everything that this trial taught.")] = "",
    reason: Annotated[str, typer.Option(help="Why, for whoever reads the log.")] = "",
) -> None:
    """Let an operation, or a whole trial, never have been learned; undoing an undo brings it back."""
    with _open(bank) as held:
        if (number is None) == (not run):
            raise BankError("Name either the number of an operation or, with --run, a trial.")
        made = held.retract(run, reason) if number is None else [held.undo(number, reason)]
        numbers = f"#{made[0].number}" if len(made) == 1 else f"#{made[0].number} to #{made[-1].number}"
        _print([f"Undone as {numbers}.", summary(held)])


@memory.command()
def verify(bank: Path_ = BANK) -> None:
    """Fold the log again and compare: nothing changed, nothing cut, index and log agree."""
    with _open(bank) as held:
        wrong = held.verify()
        _print(wrong or [f"{len(held.log())} operations and the index agree. {summary(held)}"])
    if wrong:
        raise typer.Exit(WRONG)


@contextmanager
def _open(path: Path) -> Iterator[Bank]:
    """Open a bank that is there; what cannot be done is one sentence and exit code 2."""
    try:
        with Bank(path, create=False) as held:
            yield held
    except (BankError, OSError) as error:
        errors.print(printable(str(error)), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(UNUSABLE) from error


def _print(lines: list[str]) -> None:
    for text in lines:
        console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command line."""
    app()
