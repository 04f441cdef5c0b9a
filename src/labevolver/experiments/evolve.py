"""One trial of a method with a memory: recall, act, learn from what the bench says of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from labference.bench.plan import Plan
from labference.records import folder, strict
from labference.truth.identity import PlanError

from ..agent import METHODS, Agent
from ..bank import Bank
from ..experience import Source
from ..labs.wet_lessons import WetStrategist
from ..labs.wet_memory import WetMemory
from ..labs.wet_trajectory import trajectory
from ..maintain import Finished
from ..operate.context import Operator
from ..operate.symbolic import SymbolicMind
from ..strategist import Strategist
from .common import TRANSCRIPTS, Outcome, outcome, play, write_transcript
from .journal import Eyes, Journaling, Recorded, recorded

REPEATED = "repeated"
VERDICT, CLAIM = "verdict", "claim"
"""What the Strategist is told of success: the bench's verdict, or what the agent claimed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A method as it is run: `learns` after each trial, and `feedback` is what the Strategist sees of success."""

    method: str = "labevolver"
    learns: bool = True
    feedback: str = VERDICT


def trial(
    plan: Plan,
    index: int,
    out: Path,
    bank: Bank | None,
    setting: Setting,
    operator: Callable[[], Operator] | None = None,
    gains: tuple[tuple[str, float], ...] = (),
    strategist: Callable[[], Strategist] | None = None,
    eyes: Eyes | None = None,
) -> Outcome:
    """Run one trial of a method; with a bank it recalls, and learns what the trial teaches, once per trial.

    `operator`, `strategist` and `eyes` make those of this trial; without them the symbolic ones are taken, and nothing
    looks at the bench.

    Where the records are there already, nothing is run; a trial that was stopped after them and before it had taught is
    gone through once more beside them, and teaches then; no Operator is asked for that. Raises `ModelError` where a
    model as the Strategist cannot be asked: the trial has not taught yet, and will when this is called again.
    """
    habits = METHODS[setting.method]
    recall = None if bank is None or habits.memory == "none" else WetMemory(bank, habits.memory).recall
    told = journal(out, index)

    def make() -> Agent:
        mind = SymbolicMind(habits, gains) if operator is None else operator()
        return Journaling(mind, setting.method, recall, told, None if eyes is None else eyes())

    found, agent = play(plan, index, out, make)
    teaches = bank is not None and setting.learns
    if agent is None and (
        found.intercepts < 0 or (bank is not None and teaches and not bank.log(run=run_name(plan, found)))
    ):
        agent = repeated(plan, found, out, recorded(told, setting.method, recall, eyes) if told.exists() else make)
        found = outcome(index, found.path, out)
    if bank is not None and teaches and isinstance(agent, Agent):
        _learn(bank, plan, found, agent, setting, strategist)
    return found


def journal(out: Path, index: int) -> Path:
    """Return where the proposals of a trial stand."""
    return out / TRANSCRIPTS / f"trial-{index:04d}.proposals.jsonl"


def repeated(plan: Plan, found: Outcome, out: Path, make: Callable[[], Agent]) -> Agent:
    """Go through a recorded trial again in a folder beside it, and write the transcript that is missing.

    Raises `PlanError` where it goes another way than its records.
    """
    beside = out / REPEATED
    shutil.rmtree(beside, ignore_errors=True)
    again, agent = play(plan, found.index, beside, make)
    assert isinstance(agent, Agent)
    for name in ("reason", "additions", "seconds"):
        was, now = getattr(found, name), getattr(again, name)
        if was != now:
            raise PlanError(
                f"Trial {found.index} of {out} cannot teach: gone through again, its {name} is {now} and was {was}; "
                "the memory it began with has changed, and a new folder would have worked."
            )
    write_transcript(out, found.index, agent)
    return agent


def run_name(plan: Plan, found: Outcome) -> str:
    """Return what the bank calls a trial: the key of its record."""
    key = strict.read(found.path / folder.SCORES)["key"]
    return f"{plan.task}/{plan.seed}/{found.index}/{key[:12]}"


def _learn(
    bank: Bank, plan: Plan, found: Outcome, agent: Agent, setting: Setting, make: Callable[[], Strategist] | None
) -> None:
    name = run_name(plan, found)
    if bank.log(run=name):
        return
    mind, who = agent.operator, WetStrategist() if make is None else make()
    source = Source(instances=(f"{plan.task}:{plan.seed}:{found.index}",), versions=(who.name, mind.name))
    if agent.trial is None or agent.supervisor is None:  # it failed before it had seen anything
        bank.learn(Finished(name, False, source), [])
        return
    finished = Finished(name, agent.trial.claimed if setting.feedback == CLAIM else found.success, source)
    now = agent.supervisor.checkpoint
    promised = mind.promised if isinstance(mind, (SymbolicMind, Recorded)) else ()
    entries = list({hit.entry.id: hit.entry for each in agent.trial.retrieved for hit in each.hits}.values())
    if isinstance(who, WetStrategist):
        bank.learn(finished, who.reflect(agent.trial, now, finished, promised, entries))
    else:
        bank.learn(finished, who.reflect(trajectory(agent.trial, now, finished, promised, entries), entries))
