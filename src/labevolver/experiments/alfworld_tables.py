"""The tables of a study, in the paper's form, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rich.table import Table

from labevolver.experiments.alfworld_rows import Phase, Row
from labevolver.labs.alfworld.game import SHORT, TASK_TYPES

PAPER_STREAM: MappingProxyType[str, str] = MappingProxyType(
    {"act": "72.6", "react": "76.2", "memp-style": "87.6", "labevolver": "91.4"}
)
"""Success@20 [%] over 500 train tasks with DeepSeek-V4-Pro, figure 4(a); three are differences that the text states."""
PAPER_UNSEEN: MappingProxyType[str, str] = MappingProxyType({"act": "72.4", "labevolver": "85.8"})
"""Success@20 [%] on 134 valid_unseen tasks with DeepSeek-V4-Pro, section 4.2."""
PAPER_SIZE: MappingProxyType[str, str] = MappingProxyType(
    {"memp-style": "1177", "labevolver-no-forgetting": "372", "labevolver": "281"}
)
"""Memories at task 500, figure 4(c)."""
Results = Mapping[str, Sequence[Row]]
NONE = "–"


def share(found: Sequence[Row], limit: int, thoughts_cost: bool) -> float | None:
    """Return the success rate within `limit` steps, None of no tasks."""
    return sum(row.success(limit, thoughts_cost) for row in found) / len(found) if found else None


def phase(found: Sequence[Row], name: Phase) -> list[Row]:
    """Return the trials of a phase in order."""
    return sorted((row for row in found if row.phase == name), key=lambda row: row.index)


def percent(value: float | None) -> str:
    """Return a rate in percent with one decimal."""
    return NONE if value is None else f"{100 * value:.1f}"


def main_table(results: Results, thoughts_cost: bool, title: str, beside: bool = True) -> Table:
    """Return success within 20 and 50 steps over the stream and on valid_unseen, `beside` the paper's or not."""
    counted = "thoughts cost a step" if thoughts_cost else "thoughts cost nothing"
    table = Table(title=f"{title}; {counted}; success [%]")
    table.add_column("method")
    for head in ("stream @20", "paper", "first 100", "last 100", "stream @50", "unseen @20", "paper", "unseen @50"):
        table.add_column(head, justify="right")
    for name, found in results.items():
        stream, unseen = phase(found, "train"), phase(found, "valid_unseen")
        tail = stream[-100:]
        cells = [
            share(stream, 20, thoughts_cost),
            share(stream[:100], 20, thoughts_cost),
            share(tail, 20, thoughts_cost),
        ]
        more = [share(stream, 50, thoughts_cost), share(unseen, 20, thoughts_cost), share(unseen, 50, thoughts_cost)]
        table.add_row(
            name,
            percent(cells[0]),
            PAPER_STREAM.get(name, NONE) if beside else NONE,
            *map(percent, [*cells[1:], *more[:2]]),
            PAPER_UNSEEN.get(name, NONE) if beside else NONE,
            percent(more[2]),
        )
    return table


def type_table(results: Results, thoughts_cost: bool) -> Table:
    """Return Success@20 by task type, over the stream and on valid_unseen."""
    table = Table(title="Success@20 [%] by task type, stream / valid_unseen")
    table.add_column("method")
    for kind in TASK_TYPES:
        table.add_column(SHORT[kind], justify="right")
    for name, found in results.items():
        cells = []
        for kind in TASK_TYPES:
            of_kind = [row for row in found if row.task_type == kind]
            parts = (share(phase(of_kind, each), 20, thoughts_cost) for each in ("train", "valid_unseen"))
            cells.append(" / ".join(map(percent, parts)))
        table.add_row(name, *cells)
    return table


def memory_table(results: Results, beside: bool = True) -> Table:
    """Return the number of memories along the stream, and tokens and seconds a task."""
    table = Table(title="Memories after so many tasks; per task of the stream: tokens, processor time")
    table.add_column("method")
    length = max((len(phase(found, "train")) for found in results.values()), default=0)
    marks = sorted({max(1, length * part // 5) for part in range(1, 6)}) if length else []
    for mark in marks:
        table.add_column(str(mark), justify="right")
    for head in ("paper, 500", "tokens", "time [ms]"):
        table.add_column(head, justify="right")
    for name, found in results.items():
        stream = phase(found, "train")
        sizes = [str(stream[mark - 1].size) if len(stream) >= mark else NONE for mark in marks]
        count = len(stream)
        tokens = f"{sum(row.tokens for row in stream) / count:.0f}" if count else NONE
        cost = f"{1000 * sum(row.seconds for row in stream) / count:.1f}" if count else NONE
        table.add_row(name, *sizes, PAPER_SIZE.get(name, NONE) if beside else NONE, tokens, cost)
    return table


def cumulative(found: Sequence[Row], limit: int, thoughts_cost: bool) -> list[float]:
    """Return the success rate over the first 1, 2, 3 ... tasks of the stream."""
    won, rates = 0, []
    for count, row in enumerate(phase(found, "train"), 1):
        won += row.success(limit, thoughts_cost)
        rates.append(won / count)
    return rates
