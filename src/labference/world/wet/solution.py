"""A liquid as what went into it: a small value that can be mixed, divided, stored and compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

from .species import CARBONATES, ENGINE_NAMES, MOLAR_MASS


class SolutionJson(TypedDict):
    """A solution as plain JSON; Python writes and reads its numbers without loss."""

    water: float
    moles: dict[str, float]
    temperature: float


@dataclass(frozen=True, slots=True)
class Solution:
    """Water and what was dissolved in it. Nothing has reacted yet: `chemistry.equilibrium` says what becomes of it.

    water: [kg]. moles: formula and amount [mol], sorted by formula. temperature: [°C].
    The amount of CO2 may be negative: carbonate that was added as a salt can leave as gas (`carbon.aerate`).
    """

    water: float
    moles: tuple[tuple[str, float], ...] = ()
    temperature: float = 25.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.water) and self.water >= 0):
            raise ValueError(f"A solution cannot hold {self.water!r} kg of water: give a finite mass of at least 0 kg.")
        if not math.isfinite(self.temperature):
            raise ValueError(f"A solution cannot have a temperature of {self.temperature!r} °C: give a finite one.")
        last = ""
        for formula, amount in self.moles:
            _check(formula, amount)
            if formula <= last:
                raise ValueError(f"{formula!r} follows {last!r}: name each formula once, sorted, or use Solution.of.")
            last = formula

    @classmethod
    def of(cls, moles: Mapping[str, float] | None = None, *, water: float, temperature: float = 25.0) -> Solution:
        """Dissolve amounts [mol] in water [kg] at a temperature [°C].

        Example: Solution.of({"KCl": 0.01}, water=1.0)
        """
        present = {formula: float(amount) for formula, amount in (moles or {}).items() if amount != 0}
        return cls(float(water), tuple(sorted(present.items())), float(temperature))

    @property
    def mass(self) -> float:
        """Water and all that is dissolved in it [kg]."""
        return self.water + sum(amount * MOLAR_MASS[formula] for formula, amount in self.moles)

    @property
    def carbon(self) -> float:
        """Inorganic carbon in all its forms [mol]."""
        return sum(amount * CARBONATES.get(formula, 0) for formula, amount in self.moles)

    def amount(self, formula: str) -> float:
        """Return how much of a formula went into it [mol], 0 if none."""
        return dict(self.moles).get(formula, 0.0)

    def molality(self, formula: str) -> float:
        """Return how much of a formula went into a kilogram of its water [mol/kg]."""
        return self.amount(formula) / self.water

    def __add__(self, other: Solution) -> Solution:
        """Mix two liquids completely; the heat is shared by mass. The order makes no difference, to the last bit."""
        if not self.mass:
            return other
        if not other.mass:
            return self
        mine, theirs = dict(self.moles), dict(other.moles)
        if mine.keys() == theirs.keys():
            moles = tuple([(name, amount + theirs[name]) for name, amount in self.moles])
        else:
            moles = tuple((name, mine.get(name, 0.0) + theirs.get(name, 0.0)) for name in sorted({*mine, *theirs}))
        return _unchecked(self.water + other.water, moles, _shared(self, other))

    def portion(self, mass: float) -> Solution:
        """Return `mass` [kg] of a liquid that is composed like this one; `ValueError` for no mass."""
        if not 0.0 <= mass < math.inf:
            raise ValueError(f"There is no portion of {mass!r} kg: take a finite mass of at least 0 kg.")
        whole = self.mass
        share = mass / whole if whole else 0.0
        moles = tuple([(name, share * amount) for name, amount in self.moles])
        return _unchecked(self.water * share, moles, self.temperature)

    def dissolve(self, moles: Mapping[str, float]) -> Solution:
        """Return the solution with more dissolved in it [mol], at the same temperature."""
        return self + Solution.of(moles, water=0.0, temperature=self.temperature)

    def dilute(self, water: float) -> Solution:
        """Return the solution with more pure water [kg] in it, at the same temperature."""
        return self + Solution(water, (), self.temperature)

    def split(self, mass: float) -> tuple[Solution, Solution]:
        """Take `mass` [kg] out of it; return what was taken and what is left, which together are what there was."""
        whole = self.mass
        if not 0 <= mass <= whole:
            raise ValueError(f"Cannot take {mass * 1e3:.6g} g out of {whole * 1e3:.6g} g: take 0 g up to all of it.")
        if mass == whole:
            return self, replace(EMPTY, temperature=self.temperature)
        share = mass / whole
        taken = tuple((name, amount * share) for name, amount in self.moles)
        left = tuple(
            (name, amount - part) for (name, amount), (_, part) in zip(self.moles, taken, strict=True)
        )  # by difference, so that both add up
        water = self.water * share
        return Solution(water, taken, self.temperature), Solution(self.water - water, left, self.temperature)

    def at(self, temperature: float) -> Solution:
        """Return the same liquid warmed or cooled to `temperature` [°C]."""
        return replace(self, temperature=float(temperature))

    def to_json(self) -> SolutionJson:
        """Return it as plain JSON; `from_json` gives back the same bits."""
        return {"water": self.water, "moles": dict(self.moles), "temperature": self.temperature}

    @classmethod
    def from_json(cls, stored: SolutionJson) -> Solution:
        """Read what `to_json` wrote."""
        return cls(stored["water"], tuple(sorted(stored["moles"].items())), stored["temperature"])


EMPTY = Solution(0.0)
"""Nothing: the neutral element of mixing."""


def _unchecked(water: float, moles: tuple[tuple[str, float], ...], temperature: float) -> Solution:
    """Return a solution that was made of checked ones, a step that is taken thousands of times in a minute."""
    made = object.__new__(Solution)
    object.__setattr__(made, "water", water)
    object.__setattr__(made, "moles", moles)
    object.__setattr__(made, "temperature", temperature)
    return made


def _check(formula: str, amount: float) -> None:
    if formula not in ENGINE_NAMES:
        raise ValueError(f"{formula!r} is not a formula that can be dissolved here: {', '.join(ENGINE_NAMES)}.")
    if not math.isfinite(amount) or (amount < 0 and formula != "CO2"):
        raise ValueError(f"A solution cannot hold {amount!r} mol of {formula}: give a finite amount of at least 0 mol.")


def _shared(one: Solution, other: Solution) -> float:
    """Return the temperature of a mixture [°C]: exactly the common one where there is one."""
    if one.temperature == other.temperature:
        return one.temperature
    a, b = one.mass, other.mass
    return (a * one.temperature + b * other.temperature) / (a + b)
