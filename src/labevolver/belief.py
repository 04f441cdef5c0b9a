"""The hierarchical laboratory state s = (A, E, O) of the paper, section 3.1: what is believed, from where, since when.

A belief is never written into: whoever learns something returns another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .experience import State, Value

FEEDBACK, TRACKING, GOAL, PORT = "robot feedback", "state tracking", "goal", "data port"
"""Where a field may come from, beside the name of a detector; `TRACKING` is what follows from an action that was
carried out."""
TAKEN = "it was taken"
IN_VAIN, TIMES = "in_vain", "in_vain_times"
"""Fields of the agent: what was carried out last and changed nothing that is believed, and how often in a row."""


@dataclass(frozen=True, slots=True)
class Known:
    """A field of the state: its value, the unit, where it comes from, and the simulated time at which it was so [s].

    `stale` says in a few words why the value does not count any more, and is empty while it does.
    """

    value: Value | None
    unit: str = ""
    source: str = TRACKING
    time: float = 0.0
    stale: str = ""

    @property
    def valid(self) -> bool:
        """Return whether there is a value, and it still counts."""
        return self.value is not None and not self.stale

    def outdated(self, why: str) -> Known:
        """Return the same, no longer counting; the first reason stays."""
        return self if self.stale else replace(self, stale=why)

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        value = "unknown" if self.value is None else f"{self.value:g}" if isinstance(self.value, float) else self.value
        return f"{value}{unit} ({self.source}, {self.time:.0f} s{_since(self.stale)})"


UNKNOWN = Known(None)
Fields = Mapping[str, Known]


@dataclass(frozen=True, slots=True)
class At:
    """Where a thing was located, robot base frame: its origin [m], the lower end of what stands, and its axis.

    `ends` is False for one that lies where nothing tells its ends apart. Source, time [s] and `stale` as in `Known`.
    """

    position: tuple[float, float, float]
    axis: tuple[float, float, float]
    source: str
    time: float
    ends: bool = True
    stale: str = ""

    def outdated(self, why: str) -> At:
        """Return the same, no longer counting; the first reason stays."""
        return self if self.stale else replace(self, stale=why)

    @property
    def known(self) -> Known:
        """Return the position in words, as a field of its thing."""
        x, y, z = self.position
        ends = "" if self.ends else ", this end or the other,"
        return Known(f"{x:.3f}, {y:.3f}, {z:.3f}{ends}", "m", self.source, self.time, self.stale)


@dataclass(frozen=True, slots=True)
class Thing:
    """One object e = (identity, pose, attributes): its kind, where it is if anything has located it, and the rest."""

    kind: str
    at: At | None = None
    fields: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Belief:
    """s = (A, E, O) at simulated `time` [s].

    agent         A: `hand` is the held item or "", `opening` [m], and `in_vain` what changed nothing
    things        E: by the names of the goal
    readings      O: what each data port showed last, by its name; `steady NAME` is whether it was stable
    """

    time: float = 0.0
    agent: Fields = field(default_factory=dict)
    things: Mapping[str, Thing] = field(default_factory=dict)
    readings: Fields = field(default_factory=dict)

    def known(self, thing: str, name: str) -> Known:
        """Return a field of a thing, `UNKNOWN` where nothing is known of it."""
        found = self.things.get(thing)
        return UNKNOWN if found is None else found.fields.get(name, UNKNOWN)

    def number(self, thing: str, name: str) -> float | None:
        """Return a field that counts as a number, or None."""
        found = self.known(thing, name)
        if not found.valid or isinstance(found.value, (str, bool)) or found.value is None:
            return None
        return float(found.value)

    @property
    def hand(self) -> str:
        """Return the held item, "" for none."""
        held = self.agent.get("hand", UNKNOWN)
        return held.value if isinstance(held.value, str) else ""

    def with_agent(self, **fields: Known) -> Belief:
        """Return the belief with other fields of A."""
        return replace(self, agent={**self.agent, **fields})

    def without_agent(self, *names: str) -> Belief:
        """Return the belief without some fields of A."""
        if not any(name in self.agent for name in names):
            return self
        return replace(self, agent={name: each for name, each in self.agent.items() if name not in names})

    def with_thing(self, name: str, **fields: Known) -> Belief:
        """Return the belief with other fields of one thing of E."""
        thing = self.things[name]
        return replace(self, things={**self.things, name: replace(thing, fields={**thing.fields, **fields})})

    def taken(self, name: str) -> Belief:
        """Return the belief in which a thing is no longer where it was located."""
        thing = self.things.get(name)
        if thing is None or thing.at is None:
            return self
        return replace(self, things={**self.things, name: replace(thing, at=thing.at.outdated(TAKEN))})

    def with_readings(self, time: float, readings: Fields) -> Belief:
        """Return the belief with a newer O."""
        return replace(self, time=time, readings={**self.readings, **readings})

    def state(self) -> State:
        """Return every field that counts as one flat state, `THING.FIELD` for those of E."""
        flat: dict[str, Value] = {name: each.value for name, each in self.agent.items() if _counts(each)}  # type: ignore[misc]
        for name, thing in self.things.items():
            flat |= {f"{name}.{key}": each.value for key, each in thing.fields.items() if _counts(each)}  # type: ignore[misc]
        return flat

    def lines(self) -> list[str]:
        """Return the belief for a reader or a language model, a line each."""
        told = [f"time {self.time:.0f} s", *(f"{name}: {each}" for name, each in self.agent.items())]
        for name, thing in self.things.items():
            told += [f"{name} at: {thing.at.known}"] if thing.at is not None else []
            told += [f"{name} {key}: {each}" for key, each in thing.fields.items()]
        return told + [f"{name}: {each}" for name, each in self.readings.items()]


def _since(stale: str) -> str:
    return f", stale: {stale}" if stale else ""


def _counts(known: Known) -> bool:
    return known.valid
