"""ALFWorld (paper, section 4.2): a stream of shuffled train tasks, then valid_unseen with the memory frozen.

Every method meets the same tasks in the same order, with its own memory. A folder holds the plan, one file of trials a
method, and a bank where a method has one; a study that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from labevolver.experiments.alfworld_methods import BANK, METHODS
from labevolver.experiments.alfworld_rows import Phase, Row, append, rows
from labevolver.labs.alfworld.advice import Advice, Memory, Situation
from labevolver.labs.alfworld.episode import run
from labevolver.labs.alfworld.evolver import VERSION, Evolver
from labevolver.labs.alfworld.game import Game
from labevolver.labs.alfworld.library import Library, find_library
from labevolver.labs.alfworld.play import Play
from labevolver.labs.alfworld.seeker import Seeker
from labevolver.labs.alfworld.talker import Examples, Talker
from labevolver.model.budget import Budget, Limits
from labevolver.model.port import Mind

SYMBOLIC = "symbolic"
PHASES: tuple[Phase, ...] = ("train", "valid_unseen")
CHARACTERS = 4
"""A token in a text that no model was sent; a convention."""


class StudyError(ValueError):
    """The study cannot be run as asked."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a study varies, and what it holds fixed."""

    methods: tuple[str, ...] = tuple(METHODS)
    stream: int = 500
    """Train tasks."""
    unseen: int = 134
    """valid_unseen tasks."""
    seed: int = 0
    """Of the order of the stream, and of ties in the search."""
    horizon: int = 50
    """Steps after which a trial ends."""
    thoughts_cost: bool = False
    """Whether a thought uses up a step of the horizon; both counts are reported anyway."""
    examples: Examples = "fixed"
    """What a language model is shown; `given` tells it the task type."""
    mind: str = SYMBOLIC
    """`symbolic`, or a model as the port names it."""
    requests: int = 120
    """Most requests to a model in one trial."""

    def __post_init__(self) -> None:
        wrong = [name for name in self.methods if name not in METHODS]
        if wrong:
            raise StudyError(f"There is no method {wrong[0]!r}; there are {', '.join(METHODS)}.")
        if min(self.stream, self.unseen) < 0 or self.horizon < 1:
            raise StudyError("A study has 0 or more tasks, and a horizon of at least 1 step.")


def order(library: Library, plan: Plan) -> dict[Phase, list[str]]:
    """Return the ids of the tasks: train ids sorted, then shuffled by the seed; valid_unseen ids sorted."""
    stream = library.ids("train") if plan.stream else []
    random.Random(plan.seed).shuffle(stream)
    return {
        "train": stream[: plan.stream],
        "valid_unseen": library.ids("valid_unseen")[: plan.unseen] if plan.unseen else [],
    }


def study(
    plan: Plan,
    data: Path | None,
    out: Path,
    workers: int = 1,
    mind: Mind | None = None,
    done: Callable[[str], None] = print,
) -> dict[str, list[Row]]:
    """Run what is missing of a study and return all its trials.

    `mind` is needed for a language model, and is asked from this process only. `done` is told of every finished method.

    Raises:
        StudyError: The folder holds another study.
        LibraryError: There are no games where they were said to be.
        ModelError: A model did not answer through no fault of its own; run again to go on.
    """
    library, _ = find_library(data)
    _register(plan, library, out)
    if mind is not None or workers == 1:
        for name in plan.methods:
            run_method(name, plan, data, out, mind)
            done(name)
    else:
        with ProcessPoolExecutor(workers) as pool:
            heavy_first = sorted(plan.methods, key=lambda name: -list(METHODS).index(name))
            jobs = {pool.submit(run_method, name, plan, data, out): name for name in heavy_first}
            for job in as_completed(jobs):
                job.result()
                done(jobs[job])
    return {name: rows(out / f"{name}.jsonl") for name in plan.methods}


def _register(plan: Plan, library: Library, out: Path) -> None:
    """Write the plan and the order down, or refuse a folder that holds another."""
    out.mkdir(parents=True, exist_ok=True)
    ids = order(library, plan)
    digest = hashlib.sha256("\n".join(ids["train"] + ids["valid_unseen"]).encode()).hexdigest()
    kept = {"games": library.name, "lessons": VERSION, "order_sha256": digest, "order": ids}
    record = {**asdict(replace(plan, methods=())), **kept}
    path = out / "study.json"
    text = json.dumps(record, indent=1) + "\n"
    if not path.exists():
        path.write_text(text, encoding="utf-8")
    elif (before := json.loads(path.read_text(encoding="utf-8"))) != json.loads(text):
        differs = next(key for key in record if before.get(key) != json.loads(text)[key])
        raise StudyError(f"{str(out)!r} holds a study with another {differs.replace('_', ' ')}; choose another --out.")


def run_method(name: str, plan: Plan, data: Path | None, out: Path, mind: Mind | None = None) -> None:
    """Run what is missing of one method, trial by trial."""
    path = out / f"{name}.jsonl"
    before = rows(path)
    library, _ = find_library(data)
    ids = order(library, plan)
    if len(before) == sum(map(len, ids.values())):
        return
    method = METHODS[name]
    with ExitStack() as stack:
        memory = method.memory(_bank(out, name, bool(before)))
        if isinstance(memory, Evolver):
            stack.enter_context(memory.bank)
        _recall(memory, before)
        for phase in PHASES:
            todo = ids[phase][sum(row.phase == phase for row in before) :]
            first = len(ids[phase]) - len(todo)
            for index, game in enumerate(library.games(phase, todo) if todo else (), first):
                append(path, trial(name, plan, memory, game, phase, index, mind))


def _bank(out: Path, name: str, goes_on: bool) -> Path:
    """Return where a method's bank lies; of a method that begins there is none yet."""
    folder = out / name
    folder.mkdir(exist_ok=True)
    if not goes_on:
        for old in folder.glob(f"{BANK}*"):
            old.unlink()
    return folder / BANK


def _recall(memory: Memory, before: Sequence[Row]) -> None:
    """Bring a memory to where it was: ask it what it was asked, teach it what it was taught."""
    for row in before:
        for situation in row.asked:
            memory.consult(situation)
        if row.phase == "train":
            memory.learn(row.trial)


def trial(name: str, plan: Plan, memory: Memory, game: Game, phase: Phase, index: int, mind: Mind | None) -> Row:
    """Run one trial, and teach the memory if the phase is the stream."""
    began = time.process_time()
    asked: list[Situation] = []
    text: list[str] = []

    def consult(situation: Situation) -> Advice:
        advice = memory.consult(situation)
        asked.append(situation)
        text.append(advice.text)
        return advice

    play = Play(game)
    style = METHODS[name].style
    draw = random.Random(f"{plan.seed} {game.id}")
    talker = None
    player: Seeker | Talker
    if mind is None:
        player = Seeker(play.opening, consult, draw, style)
    else:
        given = game.task_type if plan.examples == "given" else None
        budget = Budget(Limits(requests=plan.requests))
        player = talker = Talker(play.opening, consult, mind, budget, style, plan.examples, given)
    episode = run(play, player.turns(), plan.horizon, plan.thoughts_cost)
    row = Row(
        phase, index, game.id, game.task_type, episode.won, episode.commands, episode.turns, memory.size,
        sum(map(len, text)) // CHARACTERS if talker is None else talker.tokens,
        0.0, play.opening, episode.exchanges, tuple(sorted(player.followed)), tuple(sorted(player.used)), tuple(asked),
        talker.fault if talker else "",
    )  # fmt: skip
    if phase == "train":
        memory.learn(row.trial)
    return replace(row, size=memory.size, seconds=time.process_time() - began)
