"""labevolver's outer loop on ALFWorld: extract lessons, maintain the bank, forget, retrieve by structured state.

Where things are is learned for each class of things and merged later: what is well known of two classes, and alike, is
said once. So the bank grows small where experience is rich, and keeps what is rare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from labevolver.bank import Bank
from labevolver.compare import applies
from labevolver.experience import Draft, Experience, Source, State
from labevolver.labs.alfworld.advice import Advice, Situation, Trial
from labevolver.labs.alfworld.extract import findings
from labevolver.labs.alfworld.lessons import CHANCE, FIND, PRESENT, lessons, number, restated, sought, subjects, word
from labevolver.labs.alfworld.reading import read, trials
from labevolver.maintain import Doubt, Finished, Proposal, Revise, Support, Teach, Unite
from labevolver.operations import Settings
from labevolver.retrieve import Query, retrieve

VERSION = "alfworld-lessons 2"
NEVER = 1e12
"""Trials after which an entry that was never reused retains exp(-1), where nothing is to be forgotten."""
SETTINGS = Settings(merge=0.8)
"""Lessons about one subject are 0.85 alike when their numbers are as different as can be, hence `merge`."""
KNOWN = 10
"""Trials from which on an entry is known well enough to become one with another that is alike."""
SAME = 0.05
"""Chances that differ by no more are one: after `KNOWN` trials a chance is known no better than to 0.1 or 0.2."""
MOST = {"strategy": 14, "skill": 8, "safety": 4}
"""K for each kind of experience."""
FLOOR = 0.9
"""Least fit of the state: every term of a condition has to hold."""


class Evolver:
    """The whole: a bank that is maintained and, unless told otherwise, forgets."""

    def __init__(self, path: Path | str = ":memory:", *, forgets: bool = True, settings: Settings = SETTINGS) -> None:
        if not forgets:
            settings = Settings(merge=settings.merge, strength=NEVER)
        self.bank = Bank(path, settings)

    def consult(self, situation: Situation) -> Advice:
        """Retrieve the top K of each kind for the state."""
        state = _state(situation)
        found: list[Experience] = []
        for kind, most in MOST.items():
            query = Query(state, kinds=(kind,), most=most, floor=FLOOR)  # type: ignore[arg-type]
            found += [hit.entry for hit in retrieve(self.bank, query).hits]
        return read(found, situation["find"])

    def learn(self, trial: Trial) -> None:
        """Distil a finished trial into the bank."""
        finished = Finished(trial.id, trial.won, Source((), (trial.game,), (VERSION,)))
        self.bank.learn(finished, self._proposals(trial))

    def _proposals(self, trial: Trial) -> Iterator[Proposal]:
        entries = {entry.id: entry for entry in self.bank.entries()}
        held = {subject: entry.id for entry in entries.values() for subject in subjects(entry.lesson)}
        helped = trial.used if trial.won else trial.followed
        for source in sorted(helped & entries.keys()):
            yield Support(source, followed=True) if trial.won else Doubt(source, followed=True)
        evidence: dict[str, list[Draft]] = defaultdict(list)
        for lesson in lessons(findings(trial)):
            (subject,) = subjects(lesson)
            if subject in held:
                evidence[held[subject]].append(lesson)
            else:
                yield from _taught(lesson)
        for name, said in evidence.items():
            if name not in helped and any(map(_positive, said)):
                yield Support(name)
            if (chance := _mean(said)) is not None:
                yield Revise(name, restated(entries[name].lesson, chance))
        yield from _unions(entries.values())

    @property
    def size(self) -> int:
        """Return the number of entries in use."""
        return len(self.bank.entries())


class Unmaintained:
    """Every lesson of every trial as an entry of its own: the bank without Maintain and without forgetting."""

    def __init__(self) -> None:
        self._entries: dict[str, list[Experience]] = defaultdict(list)
        self._count = 0

    def consult(self, situation: Situation) -> Advice:
        """Retrieve the latest K of each kind that fit the state."""
        state = _state(situation)
        found: list[Experience] = []
        for kind, most in MOST.items():
            names = {f"{kind} {situation['find']}", f"{kind} "}
            fitting = [e for name in names for e in self._entries[name] if applies(e.lesson.when, state) >= FLOOR]
            found += sorted(fitting, key=lambda entry: -entry.born)[:most]
        return read(found, situation["find"])

    def learn(self, trial: Trial) -> None:
        """Append what a trial teaches."""
        for lesson in lessons(findings(trial)):
            if _positive(lesson):
                self._count += 1
                entry = Experience(f"{lesson.kind}-{self._count}", 1, lesson, SETTINGS.first, born=self._count)
                (thing,) = sought(lesson)
                self._entries[f"{lesson.kind} {thing}"].append(entry)

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return self._count


def _state(situation: Situation) -> State:
    room = dict.fromkeys(situation["room"].split(), PRESENT)
    return {**room, "laboratory": "alfworld", FIND: situation["find"], "task": situation["task"]}


def _taught(lesson: Draft) -> Iterator[Teach]:
    """Yield a lesson that is new, unless it says no more than that something was not seen."""
    if _positive(lesson):
        yield Teach(lesson)


def _positive(lesson: Draft) -> bool:
    """Return whether a lesson speaks for what it says."""
    values = {each.name: each.value for each in lesson.advice.parameters}
    return bool(values["chance"]) == ("rule" not in values) if "chance" in values else True


def _mean(said: Iterable[Draft]) -> float | None:
    """Return the mean chance that one trial's lessons on one entry give, None if they give none."""
    chances = [each.value for lesson in said for each in lesson.advice.parameters if each.name == CHANCE]
    shares = [share for share in chances if not isinstance(share, str)]
    return sum(shares) / len(shares) if shares else None


def _unions(entries: Iterable[Experience]) -> Iterator[Unite]:
    """Yield for each receptacle class the two entries most alike, if both are well known and their chances near."""
    at: dict[str, list[Experience]] = defaultdict(list)
    for entry in entries:
        if word(entry, "place") and number(entry, CHANCE) is not None and trials(entry) >= KNOWN:
            at[word(entry, "place")].append(entry)
    for place, found in sorted(at.items()):
        ranked = sorted(found, key=lambda entry: (number(entry, CHANCE), entry.id))
        apart = [((number(b, CHANCE) or 0.0) - (number(a, CHANCE) or 0.0), a, b) for a, b in pairwise(ranked)]
        near, *pair = min(apart, key=lambda each: each[0], default=(1.0,))
        if near <= SAME:
            stays, goes = sorted(pair, key=lambda entry: (entry.born, entry.id))
            things = sorted({*sought(stays.lesson), *sought(goes.lesson)})
            yield Unite(stays.id, goes.id, f"In or on the {place}, look for: {', '.join(things)}.")
