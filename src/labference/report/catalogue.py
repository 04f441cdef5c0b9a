"""What there is to run, as tables for the terminal; nothing here counts, so that they are there at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from labference.truth.contract import TaskContract
from labference.truth.draw import draw
from labference.wire import Goal, Setting
from labference.wire.wetlab import BROKEN, TUBE, USES

APPARATUS = ("beaker", "probe", "rod")
"""Items of the wet bench that are no tubes."""


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
        ("Laboratories", ", ".join(f"--fidelity {name}" for name in task.fidelities)),
        ("Operations", ", ".join(goal.kinds)),
        ("Items", ", ".join(goal.items)),
        ("Places", ", ".join(goal.places)),
        ("History", task.history),
        ("Budget", f"{task.budget_steps} control steps"),
        ("Response", f"{task.response_s:g} s of simulated time per decision"),
        ("Dwell", f"{task.dwell_s:g} s"),
        *_rules(goal),
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


def operations_table(task: TaskContract[Any, Any]) -> Table | None:
    """Return what the bench's hands do for a system that answers `Perform`, with all numbers; None where they do not.

    Every kind once, with item and place as an operation names them, and the numbers that it takes.
    """
    goal = task.goal(draw(task, 0, 0)[0])
    if not goal.parameters:
        return None
    table = plain_table(
        "In Perform(Operation(KIND, ITEM, PLACE), (Parameter(NAME, VALUE), ...)),\n"
        "numbers that are left out take the default."
    )
    table.add_column("Kind", style="bold", no_wrap=True)
    table.add_column(Text("Item, place, and what the bench does"))
    table.add_column(Text("Numbers: range (default)"), no_wrap=True)
    tubes = "/".join(item for item in goal.items if item not in APPARATUS)
    for kind in (kind for kind in USES if kind in goal.kinds):
        use, settings = USES[kind], [entry for entry in goal.parameters if entry.kind == kind]
        where = ", ".join(filter(None, (tubes if use.item == TUBE else use.item, use.place)))
        said = Text.assemble(where, "\n" * bool(where), (use.does, "dim"))
        table.add_row(kind, said, Text("\n".join(map(_setting, settings)) or "–"))
    return table


def _setting(setting: Setting) -> str:
    """Return name, range with its unit, and default."""
    return f"{setting.name} {setting.low:g} to {setting.high:g} {setting.unit} ({setting.default:g})"


def _rules(goal: Goal) -> list[tuple[str, str]]:
    """Return what ends the hope of a valid completion on a wet bench."""
    if not goal.parameters:
        return []
    broken = [f"{name}: {what}" for name, (kind, what) in BROKEN.items() if kind in goal.kinds]
    return [("Broken for good", "\n".join(broken))]


def plain_table(caption: str | None = None) -> Table:
    """Return an empty table in the style of all of ours."""
    return Table(box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False)
