"""Several studies of ALFWorld beside each other: the spread over seeds, and what each mind makes of each memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from labevolver.experiments.alfworld import SYMBOLIC, StudyError
from labevolver.experiments.alfworld_methods import METHODS
from labevolver.experiments.alfworld_rows import Row, rows
from labevolver.experiments.alfworld_tables import NONE, PAPER_SIZE, PAPER_STREAM, PAPER_UNSEEN, phase, share

SAME = ("games", "stream", "unseen", "horizon", "thoughts_cost", "examples")
"""What studies must share to be compared; minds and seeds may differ."""
Measure = Callable[[Sequence[Row]], float | None]


@dataclass(frozen=True, slots=True)
class Study:
    """A finished study as its folder tells it; methods of which trials are missing are left out."""

    folder: Path
    record: Mapping[str, Any]
    results: Mapping[str, Sequence[Row]]
    left_out: tuple[str, ...] = ()

    @property
    def mind(self) -> str:
        """Return the mind's name."""
        return str(self.record["mind"])

    @property
    def seed(self) -> int:
        """Return the seed of the order."""
        return int(self.record["seed"])


def load(folder: Path) -> Study:
    """Return the study of a folder.

    Raises:
        StudyError: The folder holds none, or no method of it is finished.
    """
    path = folder / "study.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        length = sum(len(ids) for ids in record["order"].values())
        found = {name: rows(folder / f"{name}.jsonl") for name in METHODS if (folder / f"{name}.jsonl").exists()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(f"{str(folder)!r} holds no study of ALFWorld: {error}.") from error
    whole = {name: each for name, each in found.items() if len(each) == length}
    if not whole:
        raise StudyError(f"No method in {str(folder)!r} has all its {length} trials; run the study to its end.")
    return Study(folder, record, whole, tuple(name for name in found if name not in whole))


def comparable(studies: Sequence[Study]) -> None:
    """Raise `StudyError` unless all studies asked the same of every mind, and none is there twice."""
    first = studies[0]
    for other in studies[1:]:
        for name in SAME:
            if first.record.get(name) != other.record.get(name):
                raise StudyError(
                    f"{str(first.folder)!r} and {str(other.folder)!r} differ in their {name.replace('_', ' ')} "
                    f"({first.record.get(name)} and {other.record.get(name)}); only minds and seeds may differ."
                )
    seen: dict[tuple[str, int], Path] = {}
    for each in studies:
        if (each.mind, each.seed) in seen:
            raise StudyError(
                f"{str(seen[each.mind, each.seed])!r} and {str(each.folder)!r} have the same mind and seed; name one."
            )
        seen[each.mind, each.seed] = each.folder


def by_mind(studies: Iterable[Study]) -> dict[str, list[Study]]:
    """Return mind -> its studies in the order of their seeds."""
    found: dict[str, list[Study]] = {}
    for each in sorted(studies, key=lambda study: study.seed):
        found.setdefault(each.mind, []).append(each)
    return found


def called(mind: str) -> str:
    """Return a mind's name, with the warning that a program is no language model."""
    return "symbolic mind, no language model" if mind == SYMBOLIC else mind


def spread(values: Iterable[float | None], factor: float = 1.0, digits: int = 1) -> str:
    """Return a mean, with the least and the most on a second line where there are several."""
    known = [factor * value for value in values if value is not None]
    if not known:
        return NONE
    mean = f"{sum(known) / len(known):.{digits}f}"
    return mean if len(known) == 1 else f"{mean}\n{min(known):.{digits}f}–{max(known):.{digits}f}"


def success(split: str, limit: int, thoughts_cost: bool, last: int = 0) -> Measure:
    """Return the measure of the success rate of a phase, or of its last tasks."""
    return lambda found: share(phase(found, split)[-last:], limit, thoughts_cost)  # type: ignore[arg-type]


def memories(mark: int) -> Measure:
    """Return the measure of the number of memories after so many tasks of the stream."""

    def size(found: Sequence[Row]) -> float | None:
        stream = phase(found, "train")
        return float(stream[mark - 1].size) if 0 < mark <= len(stream) else None

    return size


def spread_table(studies: Sequence[Study], thoughts_cost: bool, beside: bool) -> Table:
    """Return mean and range over the seeds of one mind's studies, `beside` the paper's numbers or not."""
    seeds = ", ".join(str(each.seed) for each in studies)
    counted = "thoughts cost a step" if thoughts_cost else "thoughts cost nothing"
    table = Table(title=f"{called(studies[0].mind)}, seeds {seeds}; mean (least to most); {counted}; success [%]")
    length = int(studies[0].record["stream"])
    middle = length * 2 // 5
    columns: list[tuple[str, Measure | Mapping[str, str], float, int]] = [
        ("stream @20", success("train", 20, thoughts_cost), 100, 1),
        ("paper", PAPER_STREAM, 1, 1),
        ("last 100 @20", success("train", 20, thoughts_cost, 100), 100, 1),
        ("stream @50", success("train", 50, thoughts_cost), 100, 1),
        ("unseen @20", success("valid_unseen", 20, thoughts_cost), 100, 1),
        ("paper", PAPER_UNSEEN, 1, 1),
        (f"memories at {middle}", memories(middle), 1, 0),
        (f"at {length}", memories(length), 1, 0),
        ("paper, 500", PAPER_SIZE, 1, 0),
    ]
    table.add_column("method")
    for head, _, _, _ in columns:
        table.add_column(head, justify="right")
    for name in METHODS:
        found = [each.results[name] for each in studies if name in each.results]
        if found:
            cells = [
                (measure.get(name, NONE) if beside else NONE)
                if isinstance(measure, Mapping)
                else spread(map(measure, found), factor, digits)
                for _, measure, factor, digits in columns
            ]
            few = f"\n{len(found)} of {len(studies)} seeds" if len(found) < len(studies) else ""
            table.add_row(name + few, *cells)
    return table


def backbone_table(minds: Mapping[str, Sequence[Study]], thoughts_cost: bool) -> Table:
    """Return Success@20 on valid_unseen, a row a mind and a column a method, with the gain over react in points."""
    table = Table(title="Success@20 [%] on valid_unseen by mind; mean over seeds (least to most)")
    measure = success("valid_unseen", 20, thoughts_cost)
    methods = [name for name in METHODS if any(name in each.results for found in minds.values() for each in found)]
    table.add_column("mind")
    for name in methods:
        table.add_column(name, justify="right")
    table.add_column("labevolver - react", justify="right")
    for mind, found in minds.items():
        cells = [
            spread((measure(each.results[name]) for each in found if name in each.results), 100) for name in methods
        ]
        gains = [
            (measure(each.results["labevolver"]) or 0.0) - (measure(each.results["react"]) or 0.0)
            for each in found
            if {"labevolver", "react"} <= each.results.keys()
        ]
        table.add_row(mind, *cells, spread(gains, 100))
    return table
