"""Run one trial: a mind, a game, and two ways to count its steps."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from labevolver.labs.alfworld.advice import Exchange
from labevolver.labs.alfworld.play import Play

OK = "OK."
"""Answer to a thought."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What happened in a trial. A win is counted in commands, and in commands and thoughts."""

    exchanges: tuple[Exchange, ...]
    won: bool

    @property
    def commands(self) -> int:
        """Return how many commands were given."""
        return sum(not each.thought for each in self.exchanges)

    @property
    def turns(self) -> int:
        """Return how many commands and thoughts there were."""
        return len(self.exchanges)

    def success(self, limit: int, thoughts_cost: bool) -> bool:
        """Return whether the task was done within `limit` steps under a counting rule."""
        return self.won and (self.turns if thoughts_cost else self.commands) <= limit


def run(play: Play, turns: Generator[str, str, None], horizon: int, thoughts_cost: bool = False) -> Episode:
    """Let a mind play until the task is done, it gives up, or `horizon` steps are used up.

    Thoughts that cost nothing are still bounded: one a command and one more.
    """
    exchanges: list[Exchange] = []
    said: str | None = None
    commands = 0
    while not play.won and commands < horizon and len(exchanges) < (horizon if thoughts_cost else 2 * horizon + 1):
        try:
            command = next(turns) if said is None else turns.send(said)
        except StopIteration:
            break
        if command.startswith("think:"):
            said = OK
        else:
            said = play.step(command)
            commands += 1
        exchanges.append(Exchange(command, said))
    turns.close()
    return Episode(tuple(exchanges), play.won)
