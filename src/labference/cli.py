"""The command line: parsing and printing. Rooms are imported inside commands, so that `--help` needs no physics."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labference.policies import ADDRESSES, BUILT_IN, DEADLINE_S

if TYPE_CHECKING:
    from rich.progress import Progress

    from labference.bench.laboratory import Result
    from labference.score.diagnosis import Diagnosis
    from labference.truth.diagnosis import Registration
    from labference.truth.measurement import SensorFault

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measure whether a robot's next choice follows from what actually happened on a laboratory bench.",
)
console = Console()
errors = Console(stderr=True)
Folder = Annotated[Path, typer.Argument(help="A folder that `labference run` wrote.")]
PolicyName = Annotated[str, typer.Option(help=f"expert, {', '.join(BUILT_IN)}, module:Class, or {ADDRESSES}.")]
Profile = Annotated[str, typer.Option(help="TOML file that says how to talk to a server.")]
Deadline = Annotated[float, typer.Option(help="Longest wall time of one answer in s.")]
InProcess = Annotated[bool, typer.Option("--in-process", help="Run a local policy here, not in a process of its own.")]
EPISODES = 10
"""Size of a population that is not a registered list."""
DIFFERENT, UNUSABLE, UNRESOLVED, INTERRUPTED = 1, 2, 3, 130
"""Exit codes: an audit differs; the request cannot be carried out; episodes stay unresolved; Ctrl-C."""


@app.command()
def tasks(
    task: Annotated[str | None, typer.Argument(help="Say more about this one: its goal and its instances.")] = None,
) -> None:
    """List the tasks with their registered instance lists."""
    with _one_sentence():
        from labference.report.tables import instances_table, task_table, tasks_table
        from labference.tasks import all_tasks, find_task

        if task is None:
            console.print(tasks_table(list(all_tasks().values())))
        else:
            found = find_task(task)
            console.print(task_table(found))
            console.print(instances_table(found))


@app.command()
def run(
    task: Annotated[str, typer.Argument(help="A task name, or module:TASKS/task-name.")],
    policy: PolicyName,
    episodes: Annotated[int | None, typer.Option(help="Size of the population (10, or the whole list).")] = None,
    instances: Annotated[str, typer.Option(help="LIST or LIST:LABEL of `labference tasks TASK` (all strata).")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Campaign seed; task and layout seeds follow from it.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the records (runs/TASK/POLICY or runs/TASK-LIST/POLICY).")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; results do not depend on it.")] = 1,
    action: Annotated[str, typer.Option(help="Action profile: joint or end_effector.")] = "joint",
    policy_seed: Annotated[int, typer.Option(min=0, help="Root of the seeds that policies are handed.")] = 0,
    deadline: Deadline = DEADLINE_S,
    budget: Annotated[int | None, typer.Option(help="Control steps per episode (the task's).")] = None,
    fault: Annotated[list[str] | None, typer.Option(help="Silence a load cell, CELL:START:STOP:SOURCE, in s.")] = None,
    render: Annotated[str, typer.Option(help="fast, or quality with shadows.")] = "fast",
    video: Annotated[list[str] | None, typer.Option(help="Camera to film; repeat for more.")] = None,
    support: Annotated[str, typer.Option(help="Oracle support throughout, SCOPE:MODE or several with +.")] = "",
    clock: Annotated[
        str, typer.Option(help="paused, real-time[:LIMIT], latency:S[:LIMIT] or replay:FOLDER; what an answer costs.")
    ] = "paused",
    profile: Profile = "",
    in_process: InProcess = False,
    fidelity: Annotated[
        str, typer.Option(help="physics, with the simulated arm, or fast, where a task has it.")
    ] = "physics",
) -> None:
    """Run episodes; the same command resumes what was interrupted."""
    with _one_sentence():
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
        where = out or Path("runs", _file_name(population), _file_name(system_name(policy)))
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
            _transport(in_process),
            fidelity,
        )
        _run_with_progress(plan, where, workers)
        summary = summarise(read_campaign(where))
        console.print(results_table([summary]))
        console.print(f"Records: {where}")
    if summary.unresolved:
        errors.print(f"{summary.unresolved} episodes are unresolved; run the same command again to retry them.")
        raise typer.Exit(UNRESOLVED)


@app.command()
def bridge(
    task: Annotated[str, typer.Argument(help="A task name, or module:TASKS/task-name.")],
    over: Annotated[str, typer.Option(help="http, or mcp: stdin and stdout, or HTTP with --port.")] = "http",
    name: Annotated[str, typer.Option(help="What the agent is called in the records.")] = "agent",
    version: Annotated[str, typer.Option("--agent-version", help="Its version: model, prompt, memory.")] = "1",
    episodes: Annotated[int | None, typer.Option(help="Size of the population (1, or the whole list).")] = None,
    instances: Annotated[str, typer.Option(help="LIST or LIST:LABEL of `labference tasks TASK` (all strata).")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Campaign seed; task and layout seeds follow from it.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the records (runs/TASK/NAME).")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="Port to listen at (any free one).")] = None,
    token: Annotated[str, typer.Option(help="What clients send as their bearer token (a random one).")] = "",
    camera: Annotated[list[str] | None, typer.Option(help="Camera to deliver; repeat for more (all).")] = None,
    depth: Annotated[bool, typer.Option(help="Deliver depth, for geometry queries.")] = True,
    readings: Annotated[bool, typer.Option(help="Deliver the instruments' data ports.")] = False,
    without: Annotated[list[str] | None, typer.Option(help="Tool that is not offered; repeat for more.")] = None,
    calls: Annotated[int | None, typer.Option(help="Most tool calls per episode.")] = None,
    tokens: Annotated[int | None, typer.Option(help="Most tokens per episode, as told.")] = None,
    wall: Annotated[float | None, typer.Option(help="Longest wall time of an episode in s.")] = None,
    simulated: Annotated[float | None, typer.Option(help="Longest simulated time of an episode in s.")] = None,
    mistakes: Annotated[int, typer.Option(help="Calls with bad arguments per episode before it is a failure.")] = 20,
    idle: Annotated[float, typer.Option(help="Wall time in s without a call after which the client has gone.")] = 600.0,
    vla: Annotated[str, typer.Option(help="Policy behind the vla tool, as --policy of `run`.")] = "",
    profile: Profile = "",
    budget: Annotated[int | None, typer.Option(help="Control steps per episode (the task's).")] = None,
    support: Annotated[str, typer.Option(help="Oracle support throughout, SCOPE:MODE or several with +.")] = "",
    clock: Annotated[str, typer.Option(help="paused, real-time[:LIMIT] or latency:S[:LIMIT].")] = "paused",
    render: Annotated[str, typer.Option(help="fast, or quality with shadows.")] = "fast",
    video: Annotated[list[str] | None, typer.Option(help="Camera to film; repeat for more.")] = None,
) -> None:
    """Let an agent drive a bench through tools, as JSON over HTTP or as MCP; prints where they are."""
    with _one_sentence():
        from labference.bench.campaign import remaining
        from labference.bench.plan import Plan
        from labference.bridge import Limits, Terms
        from labference.bridge.desk import Desk
        from labference.bridge.serve import check, serve
        from labference.tasks import find_task
        from labference.truth.draw import TWINS, find_members
        from labference.truth.identity import PROCESS

        check(over, port)
        limits = Limits(calls, tokens, wall, simulated, mistakes)
        cameras = tuple(camera) if camera else None
        terms = Terms(name, version, cameras, depth, readings, tuple(without or ()), limits, vla, profile)
        listed = instances and instances != TWINS
        size = len(find_members(find_task(task), instances)) if listed else 1
        where = out or Path("runs", _file_name("-".join(filter(None, (task, instances)))), _file_name(name))
        plan = Plan(
            task,
            name,
            size if episodes is None else episodes,
            seed,
            render=render,
            video=tuple(video or ()),
            budget=budget,
            instances=instances,
            support=support,
            clock=clock,
            transport=PROCESS,
        )

        def say(text: str) -> None:
            errors.print(text, markup=False, highlight=False, soft_wrap=True)

        with Desk(plan, where, terms, idle_s=idle, heard=lambda result: say(_ended(result))) as desk:
            try:
                serve(desk, over, host, port, token, say)
            finally:
                say(f"Records: {where}")
        missing = len(remaining(plan, where))
    if missing:
        say(f"{missing} episodes are unresolved; run the same command again to retry them.")
        raise typer.Exit(UNRESOLVED)


@app.command()
def plan(
    task: Annotated[str, typer.Argument(help="A task name, or module:TASKS/task-name.")],
    out: Annotated[Path, typer.Option(help="File to write the registration to.")],
    instances: Annotated[str, typer.Option(help="LIST or LIST:LABEL of `labference tasks TASK` (all strata).")] = "",
    starts: Annotated[int, typer.Option(help="Registered starts: the denominator of everything.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Root of the starts.")] = 0,
    split: Annotated[str, typer.Option(help="held-out, or development; they share no start.")] = "held-out",
    after: Annotated[int, typer.Option(help="Operations that the reference executor does before the handoff.")] = 0,
    branch: Annotated[
        list[str] | None, typer.Option(help="Support, SCOPE:MODE or two of them with +; repeat for more.")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Control steps after the handoff (the task's).")] = None,
    policy_seed: Annotated[int, typer.Option(min=0, help="Root of the seeds that policies are handed.")] = 0,
) -> None:
    """Register a diagnosis: its starts, pairs and branches, hashed before anything runs."""
    with _one_sentence():
        from labference.records.strict import write_atomically
        from labference.report.tables import registration_table
        from labference.tasks import contract_digest, find_task
        from labference.truth.diagnosis import BRANCHES, read, register, written
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
            branches=("", *branch) if branch else BRANCHES,
            budget=budget,
        )
        if out.exists() and read(out).sha256 != registration.sha256:
            raise PlanError(f"{out} holds another registration; choose another --out.")
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, written(registration))
        console.print(registration_table(registration))
        console.print(f"Plan: {out}")


@app.command()
def diagnose(
    plan: Annotated[Path, typer.Argument(help="A file that `labference plan` wrote.")],
    policy: PolicyName,
    out: Annotated[Path | None, typer.Option(help="Folder for the records (runs/diagnosis/TASK/POLICY).")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; results do not depend on it.")] = 1,
    deadline: Deadline = DEADLINE_S,
    profile: Profile = "",
    in_process: InProcess = False,
) -> None:
    """Continue every registered start with and without support; the same command resumes what was interrupted."""
    with _one_sentence():
        from labference.score.diagnosis import read_diagnosis
        from labference.truth.diagnosis import read
        from labference.truth.identity import system_name

        registration = read(plan)
        name = f"{registration.task}-{registration.instances}" if registration.instances else registration.task
        where = out or Path("runs", "diagnosis", _file_name(name), _file_name(system_name(policy)))
        _diagnose_with_progress(registration, policy, where, workers, profile, _transport(in_process), deadline)
        found = read_diagnosis(where)
        _print_diagnosis(found)
        console.print(f"Records: {where}")
    if found.unfinished:
        errors.print(f"{found.unfinished} branches are unresolved; run the same command again to retry them.")
        raise typer.Exit(UNRESOLVED)


@app.command()
def compare(
    paths: Annotated[list[Path], typer.Argument(help="Folders that `labference diagnose` wrote, for one plan.")],
) -> None:
    """Put diagnosed systems side by side, each number with its interval."""
    with _one_sentence():
        from labference.report.tables import numbers_table
        from labference.score.diagnosis import check_comparable, find_diagnoses
        from labference.score.finding import findings, sentences

        diagnoses = [found for path in paths for found in find_diagnoses(path)]
        check_comparable(diagnoses)
        systems = [findings(found) for found in diagnoses]
        console.print(numbers_table(systems))
        for system in systems:
            console.print(f"{system.diagnosis.policy}: {' '.join(sentences(system))}", markup=False, highlight=False)


@app.command()
def score(path: Folder) -> None:
    """Print choice, execution and completion of one campaign, or of several side by side; or what a diagnosis found."""
    with _one_sentence():
        from labference.score.diagnosis import find_diagnoses, is_diagnosis

        if is_diagnosis(path):
            for diagnosis in find_diagnoses(path):
                _print_diagnosis(diagnosis)
            return
        from labference.report.tables import conditions_table, levels_table, results_table
        from labference.score.campaign import find_campaigns
        from labference.score.summary import summarise

        summaries = [summarise(campaign) for campaign in find_campaigns(path)]
        console.print(results_table(summaries))
        console.print(levels_table(summaries))
        for summary in summaries:
            console.print(conditions_table(summary, titled=len(summaries) > 1))


@app.command()
def audit(path: Folder) -> None:
    """Replay saved measurements through the same contract; exit 1 at the first difference."""
    with _one_sentence():
        from rich.progress import track

        from labference.records.folder import campaigns_below, runs_below
        from labference.records.reader import RecordError
        from labference.report.tables import audit_table
        from labference.score.audit import audit as replay
        from labference.score.diagnosis import attempts, is_diagnosis

        below = [run for folder in campaigns_below(path) for run in runs_below(folder)]
        runs = attempts(path) if is_diagnosis(path) else below
        if not runs:
            raise RecordError(f"No finished episode in {path}; give a folder that `labference run` wrote.")
        audits = []
        for attempt in track(runs, description="Replaying", console=console, transient=True):
            audits.append(replay(attempt))
            if audits[-1].difference:
                break
        console.print(audit_table(audits))
    if audits[-1].difference:
        errors.print(f"{audits[-1].path}: {audits[-1].difference}", soft_wrap=True)
        raise typer.Exit(DIFFERENT)


@app.command()
def report(
    path: Folder, out: Annotated[Path | None, typer.Option(help="Page to write (PATH/report.html).")] = None
) -> None:
    """Write one page with tables, plots, frames and videos, or with what a diagnosis found."""
    with _one_sentence():
        from labference.report.page import write_diagnoses, write_report
        from labference.score.diagnosis import is_diagnosis

        write = write_diagnoses if is_diagnosis(path) else write_report
        console.print(f"Report: {write(path, out)}")


@app.command()
def serve(
    policy: Annotated[str, typer.Argument(help=f"{', '.join(BUILT_IN)}, or module:Class.")],
    over: Annotated[str, typer.Option(help="http, openpi or vla-eval.")] = "http",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 takes a free one.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    profile: Profile = "",
) -> None:
    """Serve a local policy over a wire until Ctrl-C; prints the address to give to --policy once it listens."""
    with _one_sentence():
        from functools import partial

        from labference.policies import find_policy, make_policy
        from labference.serving import find_server
        from labference.truth.identity import PlanError
        from labference.wire import Refusal

        find_policy(policy)
        listen = find_server(over)
        try:
            listen(partial(make_policy, policy), host, port, profile, lambda address: print(address, flush=True))
        except KeyboardInterrupt:
            return
        except Refusal as refusal:
            raise PlanError(str(refusal)) from refusal
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise PlanError(f"Cannot listen at {host}:{port} ({why}); --port 0 takes a free one.") from error


@app.command()
def doctor() -> None:
    """Check that this machine can simulate and render, and say what to install if not."""
    from labference.doctor import diagnose

    findings = diagnose()
    for finding in findings:
        mark = "[green]ok[/]" if finding.good else "[red]no[/]"
        console.print(f"{mark}  {finding.sentence}")
    if not findings[-1].good:
        raise typer.Exit(UNUSABLE)


def _ended(result: Result) -> str:
    """Return in one line how an episode ended."""
    sentence = f": {result.sentence}" if result.sentence else ""
    return f"Episode {result.index}: {result.status}, {result.reason}{sentence}"


def _fault(text: str) -> SensorFault:
    """Return the sensor fault that `text` describes."""
    from labference.truth.identity import PlanError
    from labference.truth.measurement import SensorFault

    try:
        cell, start, stop, source = text.split(":", 3)
        return SensorFault(cell, float(start), float(stop), source)
    except ValueError:
        raise PlanError(f"No sensor fault {text!r}; 'balance:2:4:loose plug' would work.") from None


def _transport(in_process: bool) -> str:
    """Return how a local policy is reached: in a process of its own, where the system has such."""
    from labference.truth.identity import IN_PROCESS, PROCESS

    return IN_PROCESS if in_process or os.name != "posix" else PROCESS


def _run_with_progress(plan: object, where: Path, workers: int) -> None:
    """Run a campaign under a progress bar; what ended badly is said at once."""
    from labference.bench.campaign import remaining, run
    from labference.bench.plan import Plan

    assert isinstance(plan, Plan)  # typed loosely so that --help does not import the bench
    results = run(plan, where, workers)
    with _progress() as progress, _what_is_there():
        done = plan.episodes - len(remaining(plan, where))
        bar = progress.add_task(f"{plan.policy} on {plan.task}", total=plan.episodes, completed=done)
        for result in results:
            progress.advance(bar)
            if result.sentence:
                progress.console.print(f"Episode {result.index}: {result.reason}: {result.sentence}", markup=False)


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
    with _progress() as progress, _what_is_there():
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


def _print_diagnosis(diagnosis: Diagnosis) -> None:
    """Print the table that answers, what it says in words, and the numbers behind it."""
    from labference.report.tables import answers_table, numbers_table
    from labference.score.finding import findings, sentences

    found = findings(diagnosis)
    console.print(answers_table(found))
    for sentence in sentences(found):
        console.print(sentence, markup=False, highlight=False)
    console.print(numbers_table([found]))


def _progress() -> Progress:
    """Return the bar under which episodes and branches are counted."""
    from rich import progress as bars

    return bars.Progress(
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=console,
    )


@contextmanager
def _what_is_there() -> Iterator[None]:
    """Say why a run stopped before its end; what it did is still shown."""
    from labference.bench.patience import GivenUp

    try:
        yield
    except GivenUp as sentence:
        errors.print(str(sentence), markup=False, soft_wrap=True)


@contextmanager
def _one_sentence() -> Iterator[None]:
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


def _file_name(name: str) -> str:
    """Return `name` as a folder name."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)


def main() -> None:
    """Run the command line; a policy or task module in the working folder is found, as with `python -m`."""
    sys.path.insert(0, os.getcwd())
    sys.exit(app())
