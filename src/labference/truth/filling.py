"""What the vessels of a wet bench hold at the start."""

from __future__ import annotations

from dataclasses import dataclass, field

from .measurement import Setup


@dataclass(frozen=True, slots=True)
class Filling:
    """What one vessel holds at the start.

    grams    mass [g]; pours of physics and of the fast laboratory differ from it by what each trial draws
    liquid   how it pours, a name in `world.wet.liquids.LIQUIDS`
    amounts  what is dissolved, as (formula, amount) pairs [mol per kg of water]; nothing is pure water
    """

    grams: float
    liquid: str = "water"
    amounts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class WetSetup(Setup):
    """A setup of a bench with vessels.

    liquids      filling per vessel; vessels that are not named are empty and dry
    seed         of everything that the liquids draw: lips, streams, drops, films
    noise        scale of those draws; 0 lets every pour be nominal, 1.0 to 1.3 is like real ones
    temperature  of bench and liquids [C]
    """

    liquids: dict[str, Filling] = field(default_factory=dict)
    seed: int = 0
    noise: float = 1.0
    temperature: float = 25.0
