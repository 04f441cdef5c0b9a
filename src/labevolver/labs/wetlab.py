"""The wet laboratory as the agent sees it: what a goal asks for, and the state in which experience is stored.

Everything is read from the goal's words and the delivered readings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from labference.wire import Goal, Refusal

from ..belief import Belief
from ..experience import State, Value
from ..skills.atomic import BEAKER, tubes_of

Objective = Literal["mass", "ph", "ph-ec"]
ACID, BASE, SALT, WATER = "acid", "base", "salt", "water"
CAPACITY_G = 105.0
"""What a 100 mL beaker may hold where a goal does not say it [g]."""
NUMBER = r"(\d+(?:\.\d+)?)"
UNITS = {"ph": "pH", "ec": "uS/cm", "grams": "g", "target_ph": "pH", "target_ec": "uS/cm", "target_g": "g"}
"""Units of the fields of a situation."""
SPREADS = {"ph": 0.4, "ec": 80.0, "grams": 15.0, "target_ph": 0.25, "target_ec": 15.0, "target_g": 1.0}
"""By how much a value of a situation is widened to both sides where it becomes a condition; conventions of ours."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a goal asks for, None for what it does not: pH, EC [uS/cm], mass [g], each with its tolerance."""

    objective: Objective
    ph: float | None = None
    ph_tolerance: float = 0.0
    ec: float | None = None
    ec_tolerance: float = 0.0
    grams: float | None = None
    grams_tolerance: float = 0.0
    liquid: str = ""
    tubes: tuple[str, ...] = ()
    capacity_g: float = CAPACITY_G

    def side(self, ph: float | None) -> str:
        """Return whether a pH is "below", "within" or "above" the wanted range; "" where that cannot be said."""
        if ph is None or self.ph is None:
            return ""
        return _side(ph, self.ph, self.ph_tolerance)

    def ec_side(self, ec: float | None) -> str:
        """Return the same of a conductivity [uS/cm]; "within" where none is asked for."""
        if self.ec is None:
            return "within"
        return "" if ec is None else _side(ec, self.ec, self.ec_tolerance)

    def mass_side(self, grams: float | None) -> str:
        """Return the same of a mass [g]."""
        if grams is None or self.grams is None:
            return ""
        return _side(grams, self.grams, self.grams_tolerance)

    @property
    def fields(self) -> State:
        """Return the goal as fields of a situation."""
        found: dict[str, Value] = {"objective": self.objective}
        if self.ph is not None:
            found["target_ph"] = self.ph
        if self.ec is not None:
            found["target_ec"] = self.ec
        if self.grams is not None:
            found |= {"target_g": self.grams, "liquid": self.liquid}
        return found


def read_goal(goal: Goal) -> Target:
    """Return what a goal asks for; raises `Refusal` for one that is no task of the wet bench."""
    text, tubes = goal.instruction, tubes_of(goal)
    if (mass := re.search(rf"Pour {NUMBER} g of ([^.]+?) from the tube", text)) is not None:
        near = _number(rf"within {NUMBER} g", text)
        return Target("mass", grams=float(mass[1]), grams_tolerance=near, liquid=mass[2], tubes=tubes)
    if re.search(rf"pH {NUMBER} with a tolerance of", text) is None:
        raise Refusal("unsupported", f"The wet-lab agent does not know what to do with {text[:60]!r}.")
    ph, near = _number(rf"pH {NUMBER}", text), _number(rf"pH [\d.]+ with a tolerance of {NUMBER}", text)
    capacity = _number(rf"beaker holds {NUMBER} g", text, CAPACITY_G)
    if "uS/cm" not in text:
        return Target("ph", ph, near, tubes=tubes, capacity_g=capacity)
    ec = _number(rf"EC {NUMBER}", text)
    close = _number(rf"EC [\d.]+ uS/cm with a tolerance of {NUMBER}", text)
    return Target("ph-ec", ph, near, ec, close, tubes=tubes, capacity_g=capacity)


def situation(belief: Belief) -> State:
    """Return what of a belief experience is paired with: pH, EC [uS/cm] and mass [g] of the beaker, as far as valid."""
    found: dict[str, Value] = {}
    for name in ("ph", "ec", "grams"):
        value = belief.number(BEAKER, name)
        if value is not None:
            found[name] = value
    return found


def reached(target: Target, belief: Belief) -> bool:
    """Return whether what is known and counts says that the goal's values are reached."""
    if target.objective == "mass":
        return target.mass_side(belief.number(BEAKER, "shown_g")) == "within"
    ph, ec = belief.number(BEAKER, "ph"), belief.number(BEAKER, "ec")
    return ec is not None and target.side(ph) == "within" and target.ec_side(ec) == "within"


def _side(value: float, wanted: float, tolerance: float) -> str:
    if abs(value - wanted) <= tolerance + 1e-9:
        return "within"
    return "above" if value > wanted else "below"


def _number(pattern: str, text: str, otherwise: float | None = None) -> float:
    found = re.search(pattern, text)
    if found is not None:
        return float(found[1])
    if otherwise is None:
        raise Refusal("unsupported", f"The wet-lab agent does not find {pattern!r} in {text[:60]!r}.")
    return otherwise
