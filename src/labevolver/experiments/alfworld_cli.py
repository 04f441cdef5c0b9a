"""`labevolver experiment alfworld` and `alfworld-compare`: their options; what they run is imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def alfworld(
    data: Annotated[Path | None, typer.Option(help="ALFWorld's tree or a bundle ($ALFWORLD_DATA).")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the study; one that was interrupted goes on.")] = Path(
        "runs/alfworld"
    ),
    methods: Annotated[str, typer.Option(help="Some of its methods, with commas between (all).")] = "",
    stream: Annotated[int, typer.Option(min=0, help="Train tasks to learn from.")] = 500,
    unseen: Annotated[int, typer.Option(min=0, help="valid_unseen tasks.")] = 134,
    seed: Annotated[int, typer.Option(help="Seed of the order of the stream.")] = 0,
    seeds: Annotated[str, typer.Option(help="Several, such as 0,1,2: a study each, and the spread over them.")] = "",
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
    from labevolver.experiments.alfworld_run import plan_of, run_studies, said, seeds_of

    with said():
        numbers = {"stream": stream, "unseen": unseen, "seed": seed, "horizon": horizon}
        plan = plan_of(methods, mind, examples, thoughts_cost=thoughts_cost, **numbers)
        run_studies(plan, seeds_of(seeds), data, out, workers, record, replay)


def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders of finished studies: several seeds, several minds.")],
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path("runs/alfworld-compared"),
) -> None:
    """Set finished studies side by side: the spread over seeds, and Success@20 of every mind (paper, figure 4)."""
    from labevolver.experiments import alfworld_run

    with alfworld_run.said():
        alfworld_run.compare(folders, out)
