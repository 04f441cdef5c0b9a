"""The command line: parsing and printing. Rooms are imported inside commands, so that `--help` needs no physics."""

from __future__ import annotations

import os
import sys

import typer

from .bridge import bridge
from .catalogue import doctor, tasks
from .diagnosis import compare, diagnose, plan
from .records import audit, report, score
from .run import run
from .serve import serve

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measure whether a robot's next choice follows from what actually happened on a laboratory bench.",
)
for _command in (tasks, run, bridge, plan, diagnose, compare, score, audit, report, serve, doctor):
    app.command()(_command)


def main() -> None:
    """Run the command line; a policy or task module in the working folder is found, as with `python -m`."""
    sys.path.insert(0, os.getcwd())
    sys.exit(app())
