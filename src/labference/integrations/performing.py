"""Operations that the bench carries out with its own hands, as an action space of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from labference.truth.identity import PlanError
from labference.wire import Goal, Operation, Parameter, Perform

PERFORM = "perform"
"""The action of an environment whose bench lends its hands."""


class Operations:
    """The words of a goal as indices: an action is a dictionary of `kind`, `item`, `place` and `parameters`.

    kinds, items, places  what the indices mean; item and place 0 are none
    settings              what `parameters` (n,) are, in this order: numbers of an operation of another kind are not
                          looked at, and NaN is the default
    """

    def __init__(self, task: str, goal: Goal) -> None:
        if not goal.parameters:
            raise PlanError(f"The bench lends nobody its hands in {task}; action 'joint' or 'end_effector' would work.")
        self.kinds, self.settings = goal.kinds, goal.parameters
        self.items, self.places = ("", *goal.items), ("", *goal.places)

    @property
    def defaults(self) -> np.ndarray:
        """Return the default of every number (n,)."""
        return np.array([setting.default for setting in self.settings])

    def space(self) -> spaces.Dict:
        """Return every operation with every number in its range."""
        low, high = (np.array([getattr(setting, end) for setting in self.settings]) for end in ("low", "high"))
        return spaces.Dict(
            {
                "kind": spaces.Discrete(len(self.kinds)),
                "item": spaces.Discrete(len(self.items)),
                "place": spaces.Discrete(len(self.places)),
                "parameters": spaces.Box(low, high, dtype=np.float64),
            }
        )

    def action(self, kind: str, item: str = "", place: str = "", **parameters: float) -> dict[str, Any]:
        """Return the action for an operation in words; raises `PlanError` for a word that there is not."""
        chosen = {
            "kind": _index("kind", kind, self.kinds),
            "item": _index("item", item, self.items),
            "place": _index("place", place, self.places),
        }
        numbers = self.defaults
        names = {setting.name: at for at, setting in enumerate(self.settings) if setting.kind == kind}
        for name, value in parameters.items():
            numbers[_index("parameter", name, tuple(names), names)] = value
        return chosen | {"parameters": numbers}

    def act(self, action: Mapping[str, Any]) -> object:
        """Return what an action asks for; what is none is left for the bench to refuse by name."""
        try:
            kind, item, place = (
                _word(action[name], words)
                for name, words in (("kind", self.kinds), ("item", self.items), ("place", self.places))
            )
            numbers = np.asarray(action["parameters"], np.float64)
        except (KeyError, TypeError, ValueError, IndexError):
            return action
        if numbers.shape != (len(self.settings),):
            return action
        parameters = tuple(
            Parameter(setting.name, float(value))
            for setting, value in zip(self.settings, numbers, strict=True)
            if setting.kind == kind and not np.isnan(value)
        )
        return Perform(Operation(kind, item, place), parameters)


def _word(index: Any, words: tuple[str, ...]) -> str:
    """Return the word of an index, or a word that nobody knows."""
    number = int(index)
    return words[number] if 0 <= number < len(words) else f"number {number}"


def _index(what: str, word: str, words: tuple[str, ...], at: Mapping[str, int] | None = None) -> int:
    if word not in words:
        raise PlanError(
            f"There is no {what} {word!r}; {', '.join(map(repr, filter(None, words))) or 'none'} would work."
        )
    return words.index(word) if at is None else at[word]
