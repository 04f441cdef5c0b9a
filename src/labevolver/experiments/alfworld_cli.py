"""`labevolver experiment alfworld`: run or go on with a study, print its tables, draw its figure."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:  # the command itself imports what it runs: --help needs none of it
    from labevolver.experiments.alfworld import Plan
    from labevolver.experiments.alfworld_rows import Row
    from labevolver.labs.alfworld.talker import Examples

WIDTH = 132
"""Columns of a table in a file."""
console = Console()


def alfworld(
    data: Annotated[Path | None, typer.Option(help="ALFWorld's tree or a bundle ($ALFWORLD_DATA).")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the study; one that was interrupted goes on.")] = Path(
        "runs/alfworld"
    ),
    methods: Annotated[str, typer.Option(help="Some of its methods, with commas between (all).")] = "",
    stream: Annotated[int, typer.Option(min=0, help="Train tasks to learn from.")] = 500,
    unseen: Annotated[int, typer.Option(min=0, help="valid_unseen tasks.")] = 134,
    seed: Annotated[int, typer.Option(help="Seed of the order of the stream.")] = 0,
    horizon: Annotated[int, typer.Option(min=1, help="Steps after which a trial ends.")] = 50,
    thoughts_cost: Annotated[bool, typer.Option("--thoughts-cost", help="A thought uses up a step.")] = False,
    mind: Annotated[str, typer.Option(help="symbolic, or a model such as deepseek:NAME.")] = "symbolic",
    examples: Annotated[
        str, typer.Option(help="Of a language model: fixed, parsed, or given (tells the type).")
    ] = "fixed",
    record: Annotated[Path | None, typer.Option(help="Record a model's replies in this file.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Answer from a recording, without a connection.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; results do not depend on it.")] = 2,
) -> None:
    """Experience over a stream of ALFWorld tasks, all methods side by side (paper, section 4.2)."""
    from labevolver.experiments.alfworld import SYMBOLIC, Plan, StudyError, study
    from labevolver.experiments.alfworld_methods import METHODS
    from labevolver.labs.alfworld.library import LibraryError, find_library
    from labevolver.model.port import ModelError

    try:
        plan = Plan(
            tuple(methods.split(",")) if methods else tuple(METHODS),
            stream, unseen, seed, horizon, thoughts_cost, _examples(examples), mind,
        )  # fmt: skip
        library, sentence = find_library(data)
        if sentence:
            console.print(sentence, highlight=False)
        with ExitStack() as stack:
            model = None
            if mind != SYMBOLIC:
                from labevolver.model.mind import LanguageModel

                model = stack.enter_context(LanguageModel(mind, record=record, replay=replay))
                plan = replace(plan, mind=model.name)
            results = study(
                plan, data, out, workers, model, lambda name: console.print(f"{name}: done", highlight=False)
            )
    except (StudyError, LibraryError, ModelError) as error:
        Console(stderr=True).print(f"{error}", highlight=False)
        raise typer.Exit(2) from error
    _show(results, plan, library.name, out)
    from labevolver.experiments.page import write_page

    console.print(f"page: {write_page(out)}", markup=False, highlight=False, soft_wrap=True)


def _examples(word: str) -> Examples:
    from labevolver.experiments.alfworld import StudyError

    match word:
        case "fixed" | "parsed" | "given":
            return word
        case _:
            raise StudyError(f"The examples are {word!r}; fixed, parsed or given would have worked.")


def _show(results: dict[str, list[Row]], plan: Plan, games: str, out: Path) -> None:
    from labevolver.experiments.alfworld import SYMBOLIC
    from labevolver.experiments.alfworld_plots import draw
    from labevolver.experiments.alfworld_tables import main_table, memory_table, type_table
    from labevolver.labs.alfworld.library import OWN_NAME

    mind = "symbolic mind, no language model" if plan.mind == SYMBOLIC else plan.mind
    title = f"{games}, {mind}, seed {plan.seed}"
    beside = games != OWN_NAME
    tables = [main_table(results, cost, title, beside) for cost in (False, True)]
    tables += [type_table(results, plan.thoughts_cost), memory_table(results, beside)]
    with (out / "tables.txt").open("w", encoding="utf-8") as file:
        for table in tables:
            console.print(table)
            Console(file=file, width=WIDTH).print(table)
    draw(results, plan.thoughts_cost, title, out / "alfworld.png", beside)
    total = sum(row.seconds for found in results.values() for row in found)
    console.print(
        f"Processor time of all trials: {total:.0f} s. Tables, trials and figure are in {out}.", highlight=False
    )
