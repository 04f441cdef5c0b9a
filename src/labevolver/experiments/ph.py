"""Ten pH trials that show learning, Table 2 (pH 5 by method), and the transfer of its experience to pH 6 and pH 9."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..bank import Bank
from ..fold import fold, living
from .common import Mean, Outcome, mean, plan_of, rate
from .crew import Crew
from .evolve import Setting, journal, run_name
from .journal import Spent, spent

PAPER = {
    "act": "0 of 3, 2.67 additions, 0.33 intercepts, 338 s",
    "react": "3 of 3, 5.67 additions, 1.67 intercepts, 1550 s",
    "inner-only": "3 of 3, 4.67 additions, 6.00 intercepts, 1500 s",
    "labevolver": "3 of 3, 2.33 additions, 0.67 intercepts, 802 s",
}
"""Table 2 of labevolver, means of one run with each of three language models."""
METHODS = ("act", "react", "inner-only", "memp", "labevolver")
WARM = 10
"""Trials from which methods with a memory learn before they are compared."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One line: success, and means over all trials, successful or not."""

    name: str
    success: str
    additions: Mean
    intercepts: Mean
    seconds: Mean
    paper: str = ""

    def __str__(self) -> str:
        return (
            f"{self.name:22s} success {self.success}, additions {self.additions}, intercepts {self.intercepts}, "
            f"time {self.seconds} s, n = {self.additions.n}{f'; paper {self.paper}' if self.paper else ''}"
        )


def learning(
    out: Path, trials: int, seed: int, say: Say, task: str = "ph", instances: str = "paper", crew: Crew | None = None
) -> list[Outcome]:
    """Run some trials one after the other with one growing memory, and tell how the numbers fall."""
    crew = crew or Crew()
    plan = plan_of(task, "labevolver", trials, seed, instances)
    found = []
    out.mkdir(parents=True, exist_ok=True)
    with Bank(out / "bank.db") as bank:
        if crew.mind:
            say(crew.told())
        say(_head(crew))
        for index in range(trials):
            each = crew.trial(plan, index, out / "trials", bank, Setting())
            found.append(each)
            told = _line(index, each, _kept(bank, run_name(plan, each)))
            say(told + (_spent(spent(journal(out / "trials", index))) if crew.mind else ""))
        if crew.reflects:
            say(f"{len(bank.quarantined())} operations of the Strategist could not be used (memory list --quarantined)")
    half = max(1, trials // 2)
    say(f"first {half}: {_told(found[:half])}")
    say(f"last {half}:  {_told(found[-half:])}")
    return found


def _kept(bank: Bank, run: str) -> int:
    """Return how many entries were in use once a trial had taught, whatever has been learned since."""
    last = bank.log(run=run)[-1].number
    return len(living(fold([each for each in bank.log() if each.number <= last]).values()))


def _head(crew: Crew) -> str:
    told = f"{'trial':>5} {'success':>8} {'additions':>10} {'intercepts':>11} {'time':>8} {'memory':>8}"
    return told + (f" {'requests':>9} {'tokens':>8}" if crew.mind else "")


def _line(index: int, each: Outcome, entries: int) -> str:
    return (
        f"{index + 1:5d} {'yes' if each.success else 'no':>8} {each.additions:10d} {each.intercepts:11d} "
        f"{each.seconds:6.0f} s {entries:8d}"
    )


def _spent(used: Spent) -> str:
    return f" {used.requests:9d} {used.tokens:8d}"


def table_2(out: Path, n: int, seed: int, say: Say, crew: Crew | None = None) -> list[Row]:
    """Return Table 2 on `n` waters that are the same for every method; no method learns from them."""
    crew = crew or Crew()
    rows = []
    for method in METHODS:
        bank = warmed(out / f"{method}.db", out / f"{method}-warm", method, seed, crew=crew)
        plan = plan_of("ph", f"labevolver-{method}", n, seed, "paper")
        setting = Setting(method, learns=False)
        found = [crew.trial(plan, index, out / method, bank, setting) for index in range(n)]
        rows.append(row(method, found, PAPER.get(method, "")))
        say(str(rows[-1]))
    return rows


def transfer(out: Path, n: int, seed: int, say: Say, crew: Crew | None = None) -> list[Row]:
    """Return pH 6 and pH 9 without a memory, and with that of pH 5."""
    crew = crew or Crew()
    bank = warmed(out / "labevolver.db", out / "labevolver-warm", "labevolver", seed, crew=crew)
    rows = []
    for label in ("ph6", "ph9"):
        for method in ("inner-only", "labevolver"):
            plan = plan_of("ph", f"labevolver-{method}", n, seed + 1, f"targets:{label}")
            setting = Setting(method, learns=False)
            found = [crew.trial(plan, index, out / f"{label}-{method}", bank, setting) for index in range(n)]
            rows.append(row(f"{label} {method}", found))
            say(str(rows[-1]))
    return rows


def warmed(path: Path, out: Path, method: str, seed: int, trials: int = WARM, crew: Crew | None = None) -> Bank | None:
    """Return a bank that has learned from `trials` other waters of pH 5, or None for methods without a memory."""
    if method not in ("memp", "labevolver"):
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    bank = Bank(path)
    plan = plan_of("ph", f"labevolver-{method}", trials, seed + 5000, "paper")
    for index in range(trials):
        (crew or Crew()).trial(plan, index, out, bank, Setting(method))
    return bank


def row(name: str, found: Sequence[Outcome], paper: str = "") -> Row:
    """Return a line of a table."""
    return Row(
        name,
        rate(sum(each.success for each in found), len(found)),
        mean(each.additions for each in found),
        mean(each.intercepts for each in found),
        mean(each.seconds for each in found),
        paper,
    )


def _told(found: Sequence[Outcome]) -> str:
    n = len(found)
    return (
        f"{sum(each.additions for each in found) / n:.1f} additions, "
        f"{sum(each.intercepts for each in found) / n:.1f} intercepts, "
        f"{sum(each.seconds for each in found) / n:.0f} s, {sum(each.success for each in found)} of {n} successful"
    )
