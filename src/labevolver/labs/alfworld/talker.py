"""A language model as a player: two solved games, the retrieved experience, the game so far, one line a turn.

The examples are our own games, played by the symbolic mind; their thoughts are its. In the public harness of ReAct the
examples are of the game's own task type, which tells the type. Here that has to be declared.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

from labevolver.labs.alfworld.advice import Advice, Consult, Exchange
from labevolver.labs.alfworld.episode import run
from labevolver.labs.alfworld.game import SHORT, TASK_TYPES, TaskType
from labevolver.labs.alfworld.goal import Goal, GoalError, parse_goal
from labevolver.labs.alfworld.library import OWN, Bundle
from labevolver.labs.alfworld.notes import Notes
from labevolver.labs.alfworld.play import Play
from labevolver.labs.alfworld.seeker import Seeker, Style
from labevolver.labs.alfworld.speech import BANNER
from labevolver.model.budget import Budget
from labevolver.model.port import Ask, Call, Mind, ModelError
from labevolver.prompts import load

Examples: TypeAlias = Literal["fixed", "parsed", "given"]
"""Which games are shown: the same two always, two of the kind that the sentence says, two of the game's own type."""
FIXED = ("put", "clean")
EXAMPLE_SEED = 4
PROMPTS = {True: "alfworld_react", False: "alfworld_act"}


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model answers."""

    line: str
    """One line: a command, or a thought that begins with `think:`."""


@dataclass(slots=True)
class Talker:
    """One player of one game."""

    opening: str
    consult: Consult
    mind: Mind
    budget: Budget
    style: Style = field(default_factory=Style)
    examples: Examples = "fixed"
    given: TaskType | None = None
    """The game's type, where the examples are declared to be of it."""
    followed: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    fault: str = ""
    """What the model itself did wrong that ended the game."""

    @property
    def tokens(self) -> int:
        """Return the tokens of all calls, in and out; calls that do not tell theirs count nothing."""
        return sum((call.tokens_in or 0) + (call.tokens_out or 0) for call in self.calls)

    def turns(self) -> Generator[str, str, None]:
        """Play until the game ends the generator, or the model gives no usable answer.

        Raises:
            ModelError: The model did not answer through no fault of its own.
        """
        notes = Notes.of(self.opening)
        goal = _goal(notes.task)
        advice = self._advice(goal, notes)
        prompt = load(PROMPTS[self.style.thoughts])
        head = self._examples(goal) + _experience(advice) + f"\nHere is the task.\n{_bare(self.opening)}\n"
        told: list[str] = []
        while True:
            try:
                reply = self.mind.ask(Ask("operator", prompt, head + "\n".join([*told, ">"])), Turn, self.budget)
            except ModelError as error:
                self.calls += error.calls
                if error.of_service:
                    raise
                self.fault = error.fault
                return
            self.calls += reply.calls
            line = (reply.value.line.strip().splitlines() or [""])[0].removeprefix(">").strip()
            said = yield line
            told += [f"> {line}", said]

    def _advice(self, goal: Goal | None, notes: Notes) -> Advice:
        if goal is None:
            return Advice()
        room = " ".join(sorted(notes.room))
        wanted = [word for word in (goal.thing, goal.lamp) if word]
        every = [self.consult({"find": word, "task": goal.word, "room": room}) for word in wanted]
        lines = dict.fromkeys(line for advice in every for line in advice.text.splitlines())
        return Advice(text="\n".join(lines))

    def _examples(self, goal: Goal | None) -> str:
        match self.examples:
            case "fixed":
                words = FIXED
            case "parsed":
                words = (goal.word, goal.word) if goal else FIXED
            case "given":
                words = (SHORT[self.given],) * 2 if self.given else FIXED
        shown = (example(word, number, self.style.thoughts) for number, word in enumerate(words))
        return "Here are two examples.\n" + "\n".join(shown)


@cache
def example(word: str, number: int, thoughts: bool) -> str:
    """Return a solved game of a kind as a transcript: one of those of our own making, played by the symbolic mind."""
    library = Bundle(OWN)
    kind = next(each for each in TASK_TYPES if SHORT[each] == word)
    names = [name for name in library.ids("train") if name.startswith(kind)]
    (game,) = library.games("train", [names[number % len(names)]])
    play = Play(game)
    player = Seeker(play.opening, lambda situation: Advice(), random.Random(EXAMPLE_SEED), Style(thoughts=thoughts))
    return transcript(play.opening, run(play, player.turns(), horizon=50).exchanges)


def transcript(opening: str, exchanges: tuple[Exchange, ...]) -> str:
    """Return a game as a player reads it, without the banner."""
    return "\n".join([_bare(opening), *(f"> {each.command}\n{each.said}" for each in exchanges), ""])


def _bare(opening: str) -> str:
    return opening.removeprefix(BANNER).strip()


def _experience(advice: Advice) -> str:
    return f"\nExperience from earlier tasks; it is advice, not a rule.\n{advice.text}\n" if advice.text else ""


def _goal(task: str) -> Goal | None:
    try:
        return parse_goal(task)
    except GoalError:
        return None
