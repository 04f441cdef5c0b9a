"""What there is: tasks, and whether this machine can run them."""

from __future__ import annotations

from typing import Annotated

import typer

from .common import UNUSABLE, console, one_sentence


def tasks(
    task: Annotated[str | None, typer.Argument(help="Say more about this one: its goal and its instances.")] = None,
) -> None:
    """List the tasks with their registered instance lists."""
    with one_sentence():
        from labference.report.catalogue import instances_table, operations_table, task_table, tasks_table
        from labference.tasks import all_tasks, find_task

        if task is None:
            console.print(tasks_table(list(all_tasks().values())))
        else:
            found = find_task(task)
            console.print(task_table(found))
            if (operations := operations_table(found)) is not None:
                console.print(operations)
            console.print(instances_table(found))


def doctor() -> None:
    """Check that this machine can simulate and render, and say what to install if not."""
    from rich.text import Text

    from labference.doctor import diagnose

    findings = diagnose()
    for finding in findings:
        mark = ("ok", "green") if finding.good else ("no", "red")
        console.print(Text.assemble(mark, f"  {finding.sentence}"))
    if not findings[-1].good:
        raise typer.Exit(UNUSABLE)
