"""The options by which a command is told who proposes and who reflects, once for all commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

REQUESTS = 400
"""Most requests of the Operator in one trial, and of the Strategist after it, unless told otherwise."""
OUTPUT_TOKENS, DEADLINE_S = 2048, 120.0
"""Most tokens of one answer, and the longest time for it [s], unless told otherwise."""
Fidelity = Annotated[str, typer.Option(help="fast, or physics: with the simulated arm, which takes longer.")]
Model = Annotated[str, typer.Option(help="A language model as Operator and Strategist: openai:NAME, ... (symbolic).")]
Strategist = Annotated[str, typer.Option(help="Who reflects: symbolic, or model (model where there is one).")]
Steps = Annotated[str, typer.Option(help="How a model proposes: intent and then action (two), or both at once (one).")]
Requests = Annotated[int, typer.Option(min=1, help="Most requests of the Operator in a trial, and of the Strategist.")]
OutputTokens = Annotated[int, typer.Option(min=1, help="Most tokens of one answer of a model.")]
Wait = Annotated[float, typer.Option(min=1.0, help="Longest time that a model may take for one answer, in seconds.")]
Record = Annotated[Path | None, typer.Option(help="Add the model's replies to this recording.")]
Replay = Annotated[str, typer.Option(help="Take replies from this recording; stand-in: the one that ships, no model.")]
Asked = dict[str, Any]
"""What was asked for, by the fields of `crew.Asked`."""


def _asked(
    model: Model = "",
    strategist: Strategist = "",
    steps: Steps = "two",
    requests: Requests = REQUESTS,
    output_tokens: OutputTokens = OUTPUT_TOKENS,
    wait: Wait = DEADLINE_S,
    record: Record = None,
    replay: Replay = "",
    fidelity: Fidelity = "fast",
) -> Asked:
    return {
        "model": model,
        "strategist": strategist,
        "steps": steps,
        "requests": requests,
        "output_tokens": output_tokens,
        "deadline_s": wait,
        "record": record,
        "replay": replay,
        "fidelity": fidelity,
    }


def with_crew(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, whose first argument is an `Asked`, the options that fill it."""
    theirs = inspect.signature(_asked, eval_str=True).parameters
    _, *own = inspect.signature(command, eval_str=True).parameters.values()

    @wraps(command)
    def told(**given: Any) -> None:
        asked = _asked(**{name: given.pop(name) for name in theirs})
        command(asked, **given)

    parameters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in sorted((*own, *theirs.values()), key=lambda each: each.default is not inspect.Parameter.empty)
    ]
    told.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    told.__annotations__ = {each.name: each.annotation for each in parameters}
    return told
