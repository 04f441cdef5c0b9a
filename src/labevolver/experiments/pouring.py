"""Table 1 (20 g of water after 40 self-exploration trials) and Figure 6 (three liquids, four masses, locked gains)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from labference.policies import make_policy
from labference.truth.identity import FAST

from ..agent import METHODS, Agent
from ..bank import Bank
from ..experience import Source
from ..labs.wet_lessons import gains_lesson
from ..maintain import Finished, Teach
from ..operate.symbolic import Habits, SymbolicMind
from ..skills.search import Gains, explore
from .common import Mean, Outcome, mean, plan_of, play, rate
from .evolve import Setting, trial

PAPER = {
    "fixed PD": "0.500 / 0.100 / 21.0",
    "adaptive pre-stop PD": "0.133 / 0.153 / 20.4",
    "labevolver": "0.083 / 0.117 / 11.2",
}
"""Table 1 of labevolver: MAE [g], SD [g], time [s]; three pours each."""
BASELINES = {"fixed PD": "fixed_pd", "adaptive pre-stop PD": "adaptive_pd", "best pre-stop PD": "best_pd"}
TASKS = {"water": "pouring-water", "sucrose": "pouring-sucrose", "oil": "pouring-oil"}
LIQUIDS = {"water": "water", "sucrose": "sucrose", "oil": "olive oil"}
MASSES = (10.0, 20.0, 30.0, 40.0)
WITHIN_G = 0.2
EXPLORING = Habits(one_shot=True)
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of Table 1: errors of the true mass in the beaker after the whole trial, and time of the pour."""

    name: str
    error: Mean
    spread: float
    seconds: Mean
    within: str
    paper: str = ""

    def __str__(self) -> str:
        return (
            f"{self.name:22s} MAE {self.error} g, SD {self.spread:.3f} g, time {self.seconds} s, within 0.2 g "
            f"{self.within}, n = {self.error.n}{f'; paper {self.paper}' if self.paper else ''}"
        )


def table_1(out: Path, n: int, seed: int, replicates: int, say: Say, fidelity: str = FAST) -> list[Row]:
    """Return Table 1; `replicates` explorations, each followed by its share of the `n` locked pours."""
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, policy in BASELINES.items():
        plan = plan_of("pouring-water", policy, n, seed, "table-1", fidelity)
        where = out / policy
        pours = [play(plan, index, where, lambda policy=policy: make_policy(policy, 0))[0] for index in range(n)]  # type: ignore[misc]
        rows.append(_row(name, pours, 20.0))
        say(str(rows[-1]))
    each = -(-n // replicates)
    locked: list[Outcome] = []
    for number in range(replicates):
        bank = Bank(out / f"bank-{number}.db")
        where = out / f"labevolver-{number}"
        gains = learn(bank, where / "explore", "water", 20.0, 1000 + seed + number, fidelity)
        locked += validate(bank, where / "locked", "water", 20.0, each, seed + 10 + number, fidelity)
        bank.close()
        say(f"exploration {number + 1}: kp {gains.kp:.2f}, kd {gains.kd:.2f}, pre_stop {gains.pre_stop:.2f}")
    rows.append(_row("labevolver", locked, 20.0))
    say(str(rows[-1]))
    return rows


def transfer(out: Path, n: int, seed: int, say: Say, fidelity: str = FAST) -> list[Row]:
    """Return Figure 6: 40 trials and `n` locked pours for every liquid and mass, one bank for all."""
    rows: list[Row] = []
    every: list[tuple[Outcome, float]] = []
    out.mkdir(parents=True, exist_ok=True)
    bank = Bank(out / "bank.db")
    for liquid in TASKS:
        for mass in MASSES:
            where = out / f"{liquid}-{mass:.0f}"
            learn(bank, where / "explore", liquid, mass, 2000 + seed, fidelity)
            pours = validate(bank, where / "locked", liquid, mass, n, seed + 20, fidelity)
            every += [(pour, mass) for pour in pours]
            rows.append(_row(f"{liquid} {mass:.0f} g", pours, mass))
            say(str(rows[-1]))
    bank.close()
    errors = [abs(pour.poured - mass) for pour, mass in every]
    inside = sum(error <= WITHIN_G + 1e-9 for error in errors)
    say(
        f"all: within 0.2 g {rate(inside, len(errors))} of {len(errors)} pours (paper 95.3 % of 43), "
        f"MAE {mean(errors)} g (paper 0.081 g)"
    )
    return rows


def learn(bank: Bank, out: Path, liquid: str, mass: float, seed: int, fidelity: str = FAST) -> Gains:
    """Explore gains for a mass of a liquid, teach the bank what was best, and return it."""
    plan = plan_of(TASKS[liquid], "labevolver-exploring", 200, seed, f"figure-6:{mass:.0f}g", fidelity)
    seen: list[tuple[float, float]] = []
    while True:
        gains, done = explore(seed, seen)
        if done:
            break
        found, _ = play(plan, len(seen), out, lambda gains=gains: _exploring(gains))  # type: ignore[misc]
        seen.append((round(found.shown - mass, 1), found.pour_s))
    run = f"explore/{liquid}/{mass:g}/{seed}"
    lesson = gains_lesson(LIQUIDS[liquid], mass, dict(gains.numbers))
    bank.learn(Finished(run, True, Source(instances=(f"{plan.task}:{seed}",))), [Teach(lesson)])
    return gains


def validate(bank: Bank, out: Path, liquid: str, mass: float, n: int, seed: int, fidelity: str = FAST) -> list[Outcome]:
    """Return `n` pours with what the bank advises, which they do not change."""
    plan = plan_of(TASKS[liquid], "labevolver-locked", n, seed, f"figure-6:{mass:.0f}g", fidelity)
    setting = Setting("labevolver", learns=False)

    def locked() -> SymbolicMind:
        return SymbolicMind(Habits(one_shot=True, memory=METHODS["labevolver"].memory))

    return [trial(plan, index, out, bank, setting, locked) for index in range(n)]


def _exploring(gains: Gains) -> Agent:
    return Agent(SymbolicMind(EXPLORING, gains.numbers), "inner-only")


def _row(name: str, pours: list[Outcome], mass: float) -> Row:
    errors = [pour.poured - mass for pour in pours]
    inside = sum(abs(error) <= WITHIN_G + 1e-9 for error in errors)
    return Row(
        name,
        mean(abs(error) for error in errors),
        mean(errors).spread,
        mean(pour.pour_s for pour in pours),
        rate(inside, len(errors)),
        PAPER.get(name, ""),
    )
