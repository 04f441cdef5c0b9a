"""`labference run`: a campaign of one tested system on one task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labference.policies import DEADLINE_S

from .common import (
    UNRESOLVED,
    Deadline,
    Fidelity,
    InProcess,
    Instances,
    PolicyName,
    PolicySeed,
    Profile,
    Render,
    Seed,
    Support,
    TaskName,
    Video,
    Workers,
    console,
    counting,
    errors,
    file_name,
    one_sentence,
    transport,
    what_is_there,
)

if TYPE_CHECKING:
    from labference.bench.plan import Plan
    from labference.truth.measurement import SensorFault

EPISODES = 10
"""Size of a population that is not a registered list."""


def run(
    task: TaskName,
    policy: PolicyName,
    episodes: Annotated[int | None, typer.Option(help="Size of the population (10, or the whole list).")] = None,
    instances: Instances = "",
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the records (runs/TASK/POLICY or runs/TASK-LIST/POLICY).")
    ] = None,
    workers: Workers = 1,
    action: Annotated[str, typer.Option(help="Action profile: joint or end_effector.")] = "joint",
    policy_seed: PolicySeed = 0,
    deadline: Deadline = DEADLINE_S,
    budget: Annotated[int | None, typer.Option(help="Control steps per episode (the task's).")] = None,
    fault: Annotated[list[str] | None, typer.Option(help="Silence a load cell, CELL:START:STOP:SOURCE, in s.")] = None,
    render: Render = "fast",
    video: Video = None,
    support: Support = "",
    clock: Annotated[
        str, typer.Option(help="paused, real-time[:LIMIT], latency:S[:LIMIT] or replay:FOLDER; what an answer costs.")
    ] = "paused",
    profile: Profile = "",
    in_process: InProcess = False,
    fidelity: Fidelity = "physics",
) -> None:
    """Run episodes; the same command resumes what was interrupted."""
    with one_sentence():
        from labference.bench.plan import Plan
        from labference.report.tables import results_table
        from labference.score.campaign import read_campaign
        from labference.score.summary import summarise
        from labference.tasks import find_task
        from labference.truth.draw import TWINS, find_members
        from labference.truth.identity import system_name

        listed = instances and instances != TWINS
        size = len(find_members(find_task(task), instances)) if listed else EPISODES
        population = "-".join(filter(None, (task, instances, support)))
        where = out or Path("runs", file_name(population), file_name(system_name(policy)))
        faults = tuple(_fault(text) for text in fault or ())
        films = tuple(video or ())
        plan = Plan(
            task,
            policy,
            size if episodes is None else episodes,
            seed,
            action,
            render,
            films,
            policy_seed,
            deadline,
            budget,
            faults,
            instances,
            support,
            clock,
            profile,
            transport(in_process),
            fidelity,
        )
        _run_with_progress(plan, where, workers)
        summary = summarise(read_campaign(where))
        console.print(results_table([summary]))
        console.print(f"Records: {where}")
    if summary.unresolved:
        errors.print(f"{summary.unresolved} episodes are unresolved; run the same command again to retry them.")
        raise typer.Exit(UNRESOLVED)


def _fault(text: str) -> SensorFault:
    """Return the sensor fault that `text` describes."""
    from labference.truth.identity import PlanError
    from labference.truth.measurement import SensorFault

    try:
        cell, start, stop, source = text.split(":", 3)
        return SensorFault(cell, float(start), float(stop), source)
    except ValueError:
        raise PlanError(f"No sensor fault {text!r}; 'balance:2:4:loose plug' would work.") from None


def _run_with_progress(plan: Plan, where: Path, workers: int) -> None:
    """Run a campaign under a progress bar; what ended badly is said at once."""
    from labference.bench.campaign import remaining, run

    results = run(plan, where, workers)
    with counting() as progress, what_is_there():
        done = plan.episodes - len(remaining(plan, where))
        bar = progress.add_task(f"{plan.policy} on {plan.task}", total=plan.episodes, completed=done)
        for result in results:
            progress.advance(bar)
            if result.sentence:
                progress.console.print(f"Episode {result.index}: {result.reason}: {result.sentence}", markup=False)
