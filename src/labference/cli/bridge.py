"""`labference bridge`: a bench for an agent with tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import (
    UNRESOLVED,
    Fidelity,
    Instances,
    Profile,
    Render,
    Seed,
    Support,
    TaskName,
    Video,
    errors,
    file_name,
    one_sentence,
)

if TYPE_CHECKING:
    from labference.bench.laboratory import Result


def bridge(
    task: TaskName,
    over: Annotated[str, typer.Option(help="http, or mcp: stdin and stdout, or HTTP with --port.")] = "http",
    name: Annotated[str, typer.Option(help="What the agent is called in the records.")] = "agent",
    version: Annotated[str, typer.Option("--agent-version", help="Its version: model, prompt, memory.")] = "1",
    episodes: Annotated[int | None, typer.Option(help="Size of the population (1, or the whole list).")] = None,
    instances: Instances = "",
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the records (runs/TASK/NAME).")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="Port to listen at (any free one).")] = None,
    token: Annotated[str, typer.Option(help="What clients send as their bearer token (a random one).")] = "",
    camera: Annotated[list[str] | None, typer.Option(help="Camera to deliver; repeat for more (all).")] = None,
    depth: Annotated[bool, typer.Option(help="Deliver depth, for geometry queries.")] = True,
    readings: Annotated[
        bool | None, typer.Option(help="Deliver the instruments' data ports (where the bench lends its hands).")
    ] = None,
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
    support: Support = "",
    clock: Annotated[str, typer.Option(help="paused, real-time[:LIMIT] or latency:S[:LIMIT].")] = "paused",
    render: Render = "fast",
    video: Video = None,
    fidelity: Fidelity = "physics",
) -> None:
    """Let an agent drive a bench through tools, as JSON over HTTP or as MCP; prints where they are."""
    with one_sentence():
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
        where = out or Path("runs", file_name("-".join(filter(None, (task, instances)))), file_name(name))
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
            fidelity=fidelity,
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


def _ended(result: Result) -> str:
    """Return in one line how an episode ended."""
    sentence = f": {result.sentence}" if result.sentence else ""
    return f"Episode {result.index}: {result.status}, {result.reason}{sentence}"
