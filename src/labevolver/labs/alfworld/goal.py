"""Read a task sentence: what must be found, what must be done to it, and where it goes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Treatment: TypeAlias = Literal["clean", "heat", "cool"]
TREATMENTS: dict[str, Treatment] = {
    "clean": "clean", "heat": "heat", "hot": "heat", "cool": "cool", "cold": "cool",
}  # fmt: skip
APPLIANCE: dict[Treatment, str] = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
"""Treatment -> the class of receptacle that does it."""
FORMS = tuple(
    re.compile(form)
    for form in (
        r"(?:examine|look at) (?:the |a |some )?(?P<thing>\w+) (?:with|under) (?:the |a )?(?P<lamp>\w+)",
        r"(?:find|put) two (?P<two>\w+)(?: and put them)? (?:in|on|to) (?:the |a )?(?P<place>\w+)",
        r"(?P<how>clean|heat|cool) (?:some |a |the )?(?P<thing>\w+) and put it (?:in|on) (?:the |a )?(?P<place>\w+)",
        r"put (?:a |some |the )(?P<how>clean|hot|cool|cold) (?P<thing>\w+) (?:in|on) (?:the |a )?(?P<place>\w+)",
        r"put (?:a |some |the )(?P<thing>\w+) (?:in|on) (?:the |a )?(?P<place>\w+)",
    )
)


class GoalError(ValueError):
    """The sentence is none of the forms in which ALFWorld states a task."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A task as its sentence states it; classes are in lower case, as names in the game are."""

    thing: str
    count: int = 1
    treatment: Treatment | None = None
    destination: str | None = None
    lamp: str | None = None

    @property
    def word(self) -> str:
        """Return the kind of task in one word, read from the sentence and not from the game."""
        if self.lamp:
            return "look"
        return "two" if self.count == 2 else self.treatment or "put"


def parse_goal(sentence: str) -> Goal:
    """Return what a task sentence asks for.

    Example: "heat some egg and put it in diningtable." -> Goal("egg", 1, "heat", "diningtable")

    Raises:
        GoalError: The sentence has none of the known forms.
    """
    for form in FORMS:
        if found := form.match(sentence.strip().lower()):
            part = found.groupdict()
            two = part.get("two")
            how = part.get("how")
            return Goal(
                thing=two or part["thing"],
                count=2 if two else 1,
                treatment=TREATMENTS[how] if how else None,
                destination=part.get("place"),
                lamp=part.get("lamp"),
            )
    raise GoalError(f"The task {sentence!r} is in no known form; 'put a mug in desk.' would have worked.")
