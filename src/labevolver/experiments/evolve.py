"""One trial of a method with a memory: recall, act, learn from what the bench says of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from labference.bench.plan import Plan
from labference.records import folder, strict

from ..agent import METHODS, Agent
from ..bank import Bank
from ..experience import Source
from ..labs.wet_lessons import WetStrategist
from ..labs.wet_memory import WetMemory
from ..maintain import Finished
from ..operate.context import Operator
from ..operate.symbolic import SymbolicMind
from .common import Outcome, outcome, play, write_transcript

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
) -> Outcome:
    """Run one trial of a method; with a bank it recalls, and learns what the trial teaches, once per trial.

    Where the records are there already, nothing is run; a trial that was stopped after them and before it had taught is
    run once more beside them, which repeats it, and teaches then.
    """
    habits = METHODS[setting.method]
    recall = None if bank is None or habits.memory == "none" else WetMemory(bank, habits.memory).recall

    def make() -> Agent:
        mind = SymbolicMind(habits, gains) if operator is None else operator()
        return Agent(mind, setting.method, recall)

    found, agent = play(plan, index, out, make)
    teaches = bank is not None and setting.learns
    if agent is None and (
        found.intercepts < 0 or (bank is not None and teaches and not bank.log(run=run_name(plan, found)))
    ):
        agent = repeated(plan, index, out, make)
        found = outcome(index, found.path, out)
    if bank is not None and teaches and isinstance(agent, Agent):
        _learn(bank, plan, found, agent, setting)
    return found


def repeated(plan: Plan, index: int, out: Path, make: Callable[[], Agent]) -> Agent:
    """Run a recorded trial again in a folder beside it, and write the transcript that is missing."""
    beside = out / REPEATED
    shutil.rmtree(beside, ignore_errors=True)
    _, agent = play(plan, index, beside, make)
    assert isinstance(agent, Agent)
    write_transcript(out, index, agent)
    return agent


def run_name(plan: Plan, found: Outcome) -> str:
    """Return what the bank calls a trial: the key of its record."""
    key = strict.read(found.path / folder.SCORES)["key"]
    return f"{plan.task}/{plan.seed}/{found.index}/{key[:12]}"


def _learn(bank: Bank, plan: Plan, found: Outcome, agent: Agent, setting: Setting) -> None:
    assert agent.trial is not None and agent.supervisor is not None
    told = agent.trial.claimed if setting.feedback == CLAIM else found.success
    source = Source(instances=(f"{plan.task}:{plan.seed}:{found.index}",), versions=(WetStrategist.name,))
    finished = Finished(run_name(plan, found), told, source)
    mind = agent.operator
    promised = mind.promised if isinstance(mind, SymbolicMind) else ()
    entries = [hit.entry for each in agent.trial.retrieved for hit in each.hits]
    now = agent.supervisor.checkpoint
    bank.learn(finished, WetStrategist().reflect(agent.trial, now, finished, promised, entries))
