"""What every command needs: words of options, exit codes, where it prints, and what a user can do about an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labference.policies import ADDRESSES, BUILT_IN

if TYPE_CHECKING:
    from rich.progress import Progress

console = Console(markup=False, emoji=False)
errors = Console(stderr=True, markup=False, emoji=False)
TaskName = Annotated[str, typer.Argument(help="A task name, or module:TASKS/task-name.")]
Folder = Annotated[Path, typer.Argument(help="A folder that `labference run` wrote.")]
PolicyName = Annotated[str, typer.Option(help=f"expert, {', '.join(BUILT_IN)}, module:Class, or {ADDRESSES}.")]
Instances = Annotated[str, typer.Option(help="LIST or LIST:LABEL of `labference tasks TASK` (all strata).")]
Profile = Annotated[str, typer.Option(help="TOML file that says how to talk to a server.")]
Deadline = Annotated[float, typer.Option(help="Longest wall time of one answer in s.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes; results do not depend on it.")]
Seed = Annotated[int, typer.Option(min=0, help="Campaign seed; task and layout seeds follow from it.")]
PolicySeed = Annotated[int, typer.Option(min=0, help="Root of the seeds that policies are handed.")]
Render = Annotated[str, typer.Option(help="fast, or quality with shadows.")]
Video = Annotated[list[str] | None, typer.Option(help="Camera to film; repeat for more.")]
Support = Annotated[str, typer.Option(help="Oracle support throughout, SCOPE:MODE or several with +.")]
Fidelity = Annotated[str, typer.Option(help="physics, with the simulated arm, or fast, where a task has it.")]
InProcess = Annotated[bool, typer.Option("--in-process", help="Run a local policy here, not in a process of its own.")]
DIFFERENT, UNUSABLE, UNRESOLVED, INTERRUPTED = 1, 2, 3, 130
"""Exit codes: an audit differs; the request cannot be carried out; episodes stay unresolved; Ctrl-C."""


def transport(in_process: bool) -> str:
    """Return how a local policy is reached: in a process of its own, where the system has such."""
    from labference.truth.identity import IN_PROCESS, PROCESS

    return IN_PROCESS if in_process or os.name != "posix" else PROCESS


def file_name(name: str) -> str:
    """Return `name` as a folder name."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)


def counting() -> Progress:
    """Return the bar under which episodes and branches are counted."""
    from rich import progress as bars

    return bars.Progress(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=console,
    )


@contextmanager
def what_is_there() -> Iterator[None]:
    """Say why a run stopped before its end; what it did is still shown."""
    from labference.bench.patience import GivenUp

    try:
        yield
    except GivenUp as sentence:
        errors.print(str(sentence), markup=False, soft_wrap=True)


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn an error that a user can act on into one sentence and an exit code."""
    from labference.policies import UnknownPolicy
    from labference.records.reader import RecordError
    from labference.records.strict import DamagedError
    from labference.score.campaign import IdentityError
    from labference.truth.contract import ContractError
    from labference.truth.identity import PlanError
    from labference.world.faults import RenderingFault

    try:
        yield
    except KeyboardInterrupt:
        errors.print("Interrupted; what is finished is kept, and the same command resumes it.")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenExecutor as error:
        errors.print(f"A worker process died ({error}); the same command resumes.", markup=False, soft_wrap=True)
        raise typer.Exit(UNUSABLE) from None
    except (
        ContractError,
        DamagedError,
        IdentityError,
        OSError,
        PlanError,
        RecordError,
        RenderingFault,
        UnknownPolicy,
    ) as error:
        errors.print(str(error), markup=False, soft_wrap=True)
        raise typer.Exit(UNUSABLE) from None
