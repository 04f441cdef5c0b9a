"""Play one game: a command in, a sentence out. All that a mind meets of a game is this text."""

from __future__ import annotations

from labevolver.labs.alfworld.game import Game
from labevolver.labs.alfworld.house import house
from labevolver.labs.alfworld.pddl import holds, parse_problem
from labevolver.labs.alfworld.rules import Action, State, apply, legal
from labevolver.labs.alfworld.speech import HELP, NOTHING, feedback, opening


class Play:
    """A game under way.

    Raises:
        ProblemError: The game's problem cannot be read.
    """

    def __init__(self, game: Game) -> None:
        problem = parse_problem(game.problem)
        self._goal = problem.goal
        self._house = house(problem)
        self._state = State.of(problem)
        self._help = game.help or HELP
        self._commands: dict[str, Action] | None = None
        self.opening = opening(self._house, game.task)
        """The room and the task."""
        self.steps = 0
        """Commands so far, those that did nothing too."""
        self.won = holds(self._goal, self._state.facts)

    @property
    def admissible(self) -> list[str]:
        """Return the commands that would do something now, sorted. No mind of ours is handed this list."""
        return sorted(self._legal())

    def step(self, command: str) -> str:
        """Carry out a command and return what the game says; every command costs a step."""
        self.steps += 1
        action = self._legal().get(command.strip())
        if action is None:
            return NOTHING
        apply(self._house, self._state, action)
        if action.verb not in ("look", "inventory", "help", "examine"):
            self._commands = None
            self.won = self.won or holds(self._goal, self._state.facts)
        return feedback(self._house, self._state, action, self._help)

    def _legal(self) -> dict[str, Action]:
        if self._commands is None:
            self._commands = legal(self._house, self._state)
        return self._commands
