"""Run studies of ALFWorld or set finished ones side by side: tables on the terminal and in files, and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from labevolver.experiments.alfworld import SYMBOLIC, Plan, StudyError, study
from labevolver.experiments.alfworld_compare import (
    Study,
    backbone_table,
    by_mind,
    called,
    comparable,
    load,
    spread_table,
)
from labevolver.experiments.alfworld_methods import BANK, METHODS
from labevolver.experiments.alfworld_plots import draw, draw_minds
from labevolver.experiments.alfworld_rows import Row
from labevolver.experiments.alfworld_tables import main_table, memory_table, type_table
from labevolver.experiments.page import write_page
from labevolver.labs.alfworld.library import OWN_NAME, LibraryError, find_library
from labevolver.labs.alfworld.pddl import ProblemError
from labevolver.labs.alfworld.talker import Examples
from labevolver.model.port import ModelError

WIDTH = 150
"""Columns of a table in a file."""
console = Console(markup=False, emoji=False)
errors = Console(stderr=True, markup=False, emoji=False)


def run_studies(
    plan: Plan,
    seeds: Sequence[int],
    data: Path | None,
    out: Path,
    workers: int,
    record: Path | None,
    replay: Path | None,
) -> None:
    """Run or go on with one study in `out`, or with one for each of `seeds` in a folder below it, and show the results.

    Raises:
        StudyError, LibraryError, ModelError: As `study`.
    """
    library, sentence = find_library(data)
    if sentence:
        console.print(sentence, highlight=False)
    with ExitStack() as stack:
        model = None
        if plan.mind != SYMBOLIC:
            from labevolver.model.mind import LanguageModel

            model = stack.enter_context(LanguageModel(plan.mind, record=record, replay=replay))
            plan = replace(plan, mind=model.name)
        for seed in seeds or (plan.seed,):
            folder = out / f"seed-{seed}" if seeds else out
            plan = replace(plan, seed=seed)
            results = study(plan, data, folder, workers, model, _teller(f"seed {seed}, " if seeds else ""))
            _show(results, plan, library.name, folder, quiet=bool(seeds))
    if seeds:
        _show_compared([load(out / f"seed-{seed}") for seed in seeds], out)
    elif any(out.glob(f"*/{BANK}")):
        console.print(f"page: {write_page(out)}", markup=False, highlight=False, soft_wrap=True)


def compare(folders: Sequence[Path], out: Path) -> None:
    """Set finished studies side by side: the spread over seeds, and Success@20 of every mind.

    Raises:
        StudyError: A folder holds no finished study, or the studies differ in more than mind and seed.
    """
    studies = [load(folder) for folder in folders]
    comparable(studies)
    _show_compared(studies, out)


def plan_of(methods: str, mind: str, examples: str, **numbers: int) -> Plan:
    """Return the plan of a command line; raises `StudyError`."""
    return Plan(
        methods=tuple(methods.split(",")) if methods else tuple(METHODS),
        mind=mind,
        examples=_examples(examples),
        **numbers,  # type: ignore[arg-type]
    )


@contextmanager
def said() -> Iterator[None]:
    """Say in one sentence what cannot be done, with exit code 2."""
    try:
        yield
    except (StudyError, LibraryError, ModelError, ProblemError) as error:
        errors.print(f"{error}", highlight=False)
        raise typer.Exit(2) from error
    except OSError as error:
        errors.print(f"{error.filename} cannot be used: {error.strerror}.", highlight=False)
        raise typer.Exit(2) from error


def _teller(where: str) -> Callable[[str], None]:
    return lambda name: console.print(f"{where}{name}: done", highlight=False)


def seeds_of(seeds: str) -> tuple[int, ...]:
    """Return the seeds of a list with commas, each once."""
    try:
        return tuple(dict.fromkeys(int(each) for each in seeds.split(","))) if seeds else ()
    except ValueError as error:
        raise StudyError(
            f"The seeds are {seeds!r}; whole numbers with commas, such as 0,1,2, would have worked."
        ) from error


def _examples(word: str) -> Examples:
    match word:
        case "fixed" | "parsed" | "given":
            return word
        case _:
            raise StudyError(f"The examples are {word!r}; fixed, parsed or given would have worked.")


def _show(results: dict[str, list[Row]], plan: Plan, games: str, out: Path, quiet: bool) -> None:
    title = f"{games}, {called(plan.mind)}, seed {plan.seed}"
    beside = games != OWN_NAME
    tables = [main_table(results, cost, title, beside) for cost in (False, True)]
    tables += [type_table(results, plan.thoughts_cost), memory_table(results, beside)]
    _print(tables, out / "tables.txt", quiet)
    draw([results], plan.thoughts_cost, title, out / "alfworld.png", beside)
    if not quiet:
        total = sum(row.seconds for found in results.values() for row in found)
        console.print(
            f"Processor time of all trials: {total:.0f} s. Tables, trials and figure are in {out}.", highlight=False
        )


def _show_compared(studies: Sequence[Study], out: Path) -> None:
    """Print and draw what several studies say together."""
    out.mkdir(parents=True, exist_ok=True)
    record, minds = studies[0].record, by_mind(studies)
    beside, cost = record["games"] != OWN_NAME, bool(record["thoughts_cost"])
    tables = [spread_table(found, each, beside) for found in minds.values() for each in (False, True)]
    _print(tables + ([backbone_table(minds, cost)] if len(minds) > 1 else []), out / "tables.txt")
    for number, (mind, found) in enumerate(minds.items()):
        seeds = ", ".join(str(each.seed) for each in found)
        name = "alfworld.png" if len(minds) == 1 else f"alfworld-{number}.png"
        title = f"{record['games']}, {called(mind)}, seeds {seeds}"
        draw([each.results for each in found], cost, title, out / name, beside)
    if len(minds) > 1:
        results = {mind: [each.results for each in found] for mind, found in minds.items()}
        draw_minds(results, cost, f"{record['games']}: what each mind makes of each memory", out / "minds.png")
    for each in studies:
        if each.left_out:
            console.print(f"{each.folder}: {', '.join(each.left_out)} not finished, left out.", highlight=False)
    console.print(f"Tables and figures are in {out}.", highlight=False)


def _print(tables: Sequence[Table], path: Path, quiet: bool = False) -> None:
    with path.open("w", encoding="utf-8") as file:
        for table in tables:
            if not quiet:
                Console(width=None if console.is_terminal else WIDTH, markup=False, emoji=False).print(table)
            Console(file=file, width=WIDTH, markup=False, emoji=False).print(table)
