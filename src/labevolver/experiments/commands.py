"""`labevolver experiment NAME` and `labevolver run TASK`: parsing and printing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from .options import Asked, Fidelity, with_crew

if TYPE_CHECKING:
    from .crew import Crew

# Laboratory, methods and experiments are imported by the command that needs them: --help and `memory` need none.
console = Console(markup=False, emoji=False)
errors = Console(stderr=True, markup=False, emoji=False)
Out = Annotated[Path, typer.Option(help="Folder of all records.")]
N = Annotated[int, typer.Option("-n", "--trials", min=2, help="Trials, or locked pours, in each cell.")]
Seed = Annotated[int, typer.Option(help="Root of all seeds.")]


def say(text: str) -> None:
    """Print a line at once."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


@with_crew
def learning(
    asked: Asked,
    out: Out = Path("learning"),
    trials: Annotated[int, typer.Option(min=2, help="Trials, one after the other.")] = 10,
    seed: Seed = 0,
    task: Annotated[str, typer.Option(help="ph or ph-ec.")] = "ph",
) -> None:
    """Ten trials of pH 5 from an empty memory: additions, intercepts and time fall."""
    from . import ph

    _with(out, asked, lambda crew: ph.learning(out, trials, seed, say, task, crew=crew))


@with_crew
def ph_(asked: Asked, out: Out = Path("ph"), n: N = 30, seed: Seed = 0) -> None:
    """Table 2: pH 5 by act, react, inner-only, memp and labevolver; then transfer to pH 6 and 9."""
    from . import ph

    _with(out, asked, lambda crew: (ph.table_2(out, n, seed, say, crew), ph.transfer(out, n, seed, say, crew)))


@with_crew
def ph_ec_(asked: Asked, out: Out = Path("ph-ec"), n: N = 30, seed: Seed = 0) -> None:
    """Figure 7: pH 6 with EC 300 with no, partial and full experience; four targets."""
    from . import ph_ec

    _with(out, asked, lambda crew: ph_ec.figure_7(out, n, seed, say, crew))


def pouring_(
    out: Out = Path("pouring"),
    n: N = 30,
    seed: Seed = 0,
    replicates: Annotated[int, typer.Option(min=1, help="Independent explorations of 40 trials.")] = 6,
    fidelity: Fidelity = "fast",
) -> None:
    """Table 1: 20 g of water by three PD controllers, and by gains found in 40 trials."""
    from . import pouring

    _go(out, lambda: pouring.table_1(out, n, seed, replicates, say, fidelity))


def transfer(out: Out = Path("transfer"), n: N = 30, seed: Seed = 0, fidelity: Fidelity = "fast") -> None:
    """Figure 6: water, sucrose and oil, 10 to 40 g, each after 40 trials with locked gains."""
    from . import pouring

    _go(out, lambda: pouring.transfer(out, n, seed, say, fidelity))


def growth_(
    out: Out = Path("growth"),
    trials: Annotated[int, typer.Option("-n", "--trials", min=6, help="Trials of the stream.")] = 60,
    seed: Seed = 0,
    strength: Annotated[float, typer.Option(min=1.0, help="Trials in which an unused memory fades to 37 %.")] = 20.0,
) -> None:
    """Memory growth: one stream of mixed trials, met by memories that are kept in four ways."""
    from . import growth

    _go(out, lambda: growth.growth(out, trials, seed, say, strength))


def confirm_(
    out: Out = Path("confirm"),
    trials: Annotated[int, typer.Option("-n", "--trials", min=1, help="Trials of each condition.")] = 5,
    seed: Seed = 0,
    parts: Annotated[
        str, typer.Option(help="Some of ph, ph-ec and pouring, with commas between.")
    ] = "ph,ph-ec,pouring",
) -> None:
    """The headlines with the simulated arm in few trials, with memories that cross between the laboratories."""
    from . import confirm

    asked = parts.split(",")
    if unknown := [each for each in asked if each not in confirm.PARTS]:
        _fail(f"There is no part {unknown[0]!r}; {', '.join(confirm.PARTS)} would have worked.")
    _go(out, lambda: confirm.confirm(out, trials, seed, say, asked))


@with_crew
def run(
    asked: Asked,
    task: Annotated[str, typer.Argument(help="A task of the wet bench: ph, ph-ec, pouring-water, ...")],
    out: Out = Path("labevolver-run"),
    method: Annotated[str, typer.Option(help="act, react, inner-only, memp or labevolver.")] = "labevolver",
    episodes: Annotated[int, typer.Option(min=1, help="Trials.")] = 1,
    seed: Seed = 0,
    instances: Annotated[str, typer.Option(help="A registered list of the task, LIST or LIST:LABEL.")] = "",
    bank: Annotated[Path | None, typer.Option(envvar="LABEVOLVER_BANK", help="Memory bank (OUT/memory.db).")] = None,
    feedback: Annotated[str, typer.Option(help="What the Strategist sees of success: verdict or claim.")] = "verdict",
    quiet: Annotated[bool, typer.Option("--quiet", help="No transcripts.")] = False,
    eyes: Annotated[str, typer.Option(help="What looks at the bench first: none, rgb-d, or model (physics).")] = "none",
) -> None:
    """Run trials of the agent on the wet bench; it recalls before each and learns after it."""
    from ..agent import METHODS
    from ..bank import Bank
    from .common import TRANSCRIPTS, plan_of
    from .evolve import CLAIM, VERDICT, Setting

    if method not in METHODS or feedback not in (VERDICT, CLAIM):
        _fail(f"No method {method!r} with feedback {feedback!r}; {', '.join(METHODS)}, with {VERDICT} or {CLAIM}.")
    setting = Setting(method, feedback=feedback)

    def go(crew: Crew) -> None:
        plan = plan_of(task, f"labevolver-{method}", episodes, seed, instances)
        with Bank(bank or out / "memory.db") as held:
            for index in range(episodes):
                found = crew.trial(plan, index, out, held, setting)
                if not quiet:
                    say((out / TRANSCRIPTS / f"trial-{index:04d}.txt").read_text(encoding="utf-8").rstrip())
                say(
                    f"trial {index + 1}: {'success' if found.success else f'no success ({found.reason})'}, "
                    f"{found.additions} additions, {found.intercepts} intercepts, {found.seconds:.0f} s"
                )
                if found.refused:
                    say(found.refused)

    _with(out, {**asked, "eyes": eyes}, go, () if bank is None else (bank,))


def add_to(app: typer.Typer, experiment: typer.Typer) -> None:
    """Add the wet lab's commands: `run` to an application, its experiments to another."""
    app.command()(run)
    for name, command in (
        ("learning", learning),
        ("ph", ph_),
        ("ph-ec", ph_ec_),
        ("pouring", pouring_),
        ("transfer", transfer),
        ("growth", growth_),
        ("confirm", confirm_),
    ):
        experiment.command(name)(command)


def _with(
    out: Path,
    asked: Asked,
    work: Callable[[Crew], object],
    banks: tuple[Path, ...] = (),
) -> None:
    """Do what is asked with the crew that is asked for."""
    from . import crew as crews

    def go() -> None:
        with crews.assembled(crews.Asked(**asked), out) as crew:
            work(crew)

    _go(out, go, banks)


def _go(out: Path, work: Callable[[], object], banks: tuple[Path, ...] = ()) -> None:
    """Do some work and write the page that shows it; `banks` are those that do not lie in `out`."""
    from labference.truth.contract import ContractError
    from labference.truth.identity import PlanError

    from ..bank import BankError
    from ..model.port import ModelError
    from .page import write_page

    try:
        out.mkdir(parents=True, exist_ok=True)
        work()
        say(f"page: {write_page(out, banks=banks)}")
    except (PlanError, ContractError, BankError, ModelError, OSError) as error:
        _fail(str(error))


def _fail(sentence: str) -> None:
    errors.print(sentence, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(2)
