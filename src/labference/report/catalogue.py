"""What there is to run, as tables for the terminal; nothing here counts, so that they are there at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from labference.truth.contract import TaskContract
from labference.truth.draw import draw


def tasks_table(tasks: Sequence[TaskContract[Any, Any]]) -> Table:
    """Return the tasks with what they ask, and their registered instance lists with sizes."""
    table = plain_table(caption="labference tasks TASK says more.")
    table.add_column("Task", style="bold", no_wrap=True)
    table.add_column("Asked")
    table.add_column(Text("Instance lists"))
    for task in tasks:
        lists = [f"{name} ({len(members)})" for name, members in task.lists().items()]
        table.add_row(Text(task.name), Text(task.summary), Text("\n".join(lists) or "–"))
    return table


def task_table(task: TaskContract[Any, Any]) -> Table:
    """Return what `task` asks and allows, one field a row."""
    instance, _ = draw(task, 0, 0)
    goal = task.goal(instance)
    table = plain_table()
    table.add_column(Text(task.name), style="bold", no_wrap=True)
    table.add_column(Text(task.summary))
    for field, value in (
        ("Version", task.version),
        ("Instruction", goal.instruction),
        ("Operations", ", ".join(goal.kinds)),
        ("Items", ", ".join(goal.items)),
        ("Places", ", ".join(goal.places)),
        ("History", task.history),
        ("Budget", f"{task.budget_steps} control steps"),
        ("Response", f"{task.response_s:g} s of simulated time per decision"),
        ("Dwell", f"{task.dwell_s:g} s"),
    ):
        table.add_row(field, Text(value))
    return table


def instances_table(task: TaskContract[Any, Any]) -> Table:
    """Return the instances of `task`: its strata, and every registered list with its labels."""
    table = plain_table(
        caption="labference run TASK --instances LIST, or LIST:LABEL; without it, strata in shuffled order."
    )
    table.add_column("Instances", style="bold", no_wrap=True)
    table.add_column("Size", justify="right")
    table.add_column("Labels")
    table.add_row("strata", str(len(task.strata())), Text("drawn: any number of episodes", style="dim"))
    for name, members in task.lists().items():
        table.add_row(Text(name), str(len(members)), Text(", ".join(member.label for member in members)))
    return table


def plain_table(caption: str | None = None) -> Table:
    """Return an empty table in the style of all of ours."""
    return Table(box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False)
