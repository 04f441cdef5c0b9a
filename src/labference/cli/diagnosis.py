"""`labference plan`, `diagnose` and `compare`: where a system fails, and what would help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labference.policies import DEADLINE_S

from .common import (
    UNRESOLVED,
    Deadline,
    InProcess,
    Instances,
    PolicyName,
    PolicySeed,
    Profile,
    TaskName,
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
    from labference.score.diagnosis import Diagnosis
    from labference.truth.diagnosis import Registration


def plan(
    task: TaskName,
    out: Annotated[Path, typer.Option(help="File to write the registration to.")],
    instances: Instances = "",
    starts: Annotated[int, typer.Option(help="Registered starts: the denominator of everything.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Root of the starts.")] = 0,
    split: Annotated[str, typer.Option(help="held-out, or development; they share no start.")] = "held-out",
    after: Annotated[int, typer.Option(help="Operations that the reference executor does before the handoff.")] = 0,
    branch: Annotated[
        list[str] | None, typer.Option(help="Support, SCOPE:MODE or two of them with +; repeat for more.")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Control steps after the handoff (the task's).")] = None,
    policy_seed: PolicySeed = 0,
    fidelity: Annotated[
        str, typer.Option(help="physics, with the simulated arm, or fast, where a task has it.")
    ] = "physics",
) -> None:
    """Register a diagnosis: its starts, pairs and branches, hashed before anything runs."""
    with one_sentence():
        from labference.records.strict import write_atomically
        from labference.report.tables import registration_table
        from labference.tasks import contract_digest, find_task
        from labference.truth.diagnosis import read, register, written
        from labference.truth.identity import PlanError

        contract = find_task(task)
        registration = register(
            contract,
            contract_digest(contract),
            task=task,
            instances=instances,
            starts=starts,
            seed=seed,
            policy_seed=policy_seed,
            split=split,
            operations=after,
            branches=("", *branch) if branch else None,
            budget=budget,
            fidelity=fidelity,
        )
        if out.exists() and read(out).sha256 != registration.sha256:
            raise PlanError(f"{out} holds another registration; choose another --out.")
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, written(registration))
        console.print(registration_table(registration))
        console.print(f"Plan: {out}")


def diagnose(
    plan: Annotated[Path, typer.Argument(help="A file that `labference plan` wrote.")],
    policy: PolicyName,
    out: Annotated[Path | None, typer.Option(help="Folder for the records (runs/diagnosis/TASK/POLICY).")] = None,
    workers: Workers = 1,
    deadline: Deadline = DEADLINE_S,
    profile: Profile = "",
    in_process: InProcess = False,
) -> None:
    """Continue every registered start with and without support; the same command resumes what was interrupted."""
    with one_sentence():
        from labference.score.diagnosis import read_diagnosis
        from labference.truth.diagnosis import read
        from labference.truth.identity import system_name

        registration = read(plan)
        name = f"{registration.task}-{registration.instances}" if registration.instances else registration.task
        where = out or Path("runs", "diagnosis", file_name(name), file_name(system_name(policy)))
        _diagnose_with_progress(registration, policy, where, workers, profile, transport(in_process), deadline)
        found = read_diagnosis(where)
        print_diagnosis(found)
        console.print(f"Records: {where}")
    if found.unfinished:
        errors.print(f"{found.unfinished} branches are unresolved; run the same command again to retry them.")
        raise typer.Exit(UNRESOLVED)


def compare(
    paths: Annotated[list[Path], typer.Argument(help="Folders that `labference diagnose` wrote, for one plan.")],
) -> None:
    """Put diagnosed systems side by side, each number with its interval."""
    with one_sentence():
        from labference.report.tables import numbers_table
        from labference.score.diagnosis import check_comparable, find_diagnoses
        from labference.score.finding import findings, sentences

        diagnoses = [found for path in paths for found in find_diagnoses(path)]
        check_comparable(diagnoses)
        systems = [findings(found) for found in diagnoses]
        console.print(numbers_table(systems))
        for system in systems:
            console.print(f"{system.diagnosis.system}: {' '.join(sentences(system))}", markup=False, highlight=False)


def print_diagnosis(diagnosis: Diagnosis) -> None:
    """Print the table that answers, what it says in words, and the numbers behind it."""
    from labference.report.tables import answers_table, numbers_table
    from labference.score.finding import findings, sentences

    found = findings(diagnosis)
    console.print(answers_table(found))
    for sentence in sentences(found):
        console.print(sentence, markup=False, highlight=False)
    console.print(numbers_table([found]))


def _diagnose_with_progress(
    registration: Registration,
    policy: str,
    where: Path,
    workers: int,
    profile: str,
    transport: str,
    deadline_s: float,
) -> None:
    """Run a diagnosis under a progress bar; what ended badly is said at once."""
    from labference.bench.diagnosis import remaining, run

    results = run(registration, policy, where, workers, profile=profile, transport=transport, deadline_s=deadline_s)
    total = len(registration.starts) * len(registration.branches)
    with counting() as progress, what_is_there():
        done = total - len(remaining(registration, where))
        bar = progress.add_task(f"{policy} on {registration.task}", total=total, completed=done)
        refused: set[str] = set()
        for result in results:
            progress.advance(bar)
            if result.status == "unsupported" and result.branch not in refused:
                refused.add(result.branch)
                progress.console.print(f"{result.branch}: {result.sentence}", markup=False)
            elif result.sentence and result.status != "unsupported":
                branch = result.branch or "base"
                said = f"Start {result.start}, {branch}: {result.reason}: {result.sentence}"
                progress.console.print(said, markup=False)
