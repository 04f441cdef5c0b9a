"""One game: its problem, the sentence that states its task, and what a scorer knows beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

TaskType: TypeAlias = Literal[
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
]
TASK_TYPES: tuple[TaskType, ...] = get_args(TaskType)
SHORT = dict(zip(TASK_TYPES, ("put", "look", "clean", "heat", "cool", "two"), strict=True))
"""Task type -> the one word tables use."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game as it lies in a library. A mind is handed what `Play` says, never this."""

    id: str
    """TASK-FOLDER/TRIAL-FOLDER, the same in the tree and in the bundle."""
    task: str
    """The sentence after "Your task is to:", with its full stop."""
    task_type: TaskType
    problem: str
    """PDDL text."""
    walkthrough: tuple[str, ...]
    """Commands that win."""
    help: str = ""
    """Answer to `help`, where the game's own grammar says one."""
