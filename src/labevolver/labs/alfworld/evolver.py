"""labevolver's outer loop on ALFWorld: extract lessons, maintain the bank, forget, retrieve by structured state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from labevolver.bank import Bank
from labevolver.compare import applies
from labevolver.experience import Draft, Experience, Source, State
from labevolver.labs.alfworld.advice import Advice, Chance, Situation, Trial
from labevolver.labs.alfworld.extract import findings
from labevolver.labs.alfworld.lessons import PRESENT, lessons, number, subject, word
from labevolver.labs.alfworld.seeker import CO_LOCATED, NOT_AT_DESTINATION
from labevolver.maintain import Doubt, Finished, Proposal, Revise, Support, Teach
from labevolver.operations import Settings
from labevolver.retrieve import Query, retrieve

VERSION = "alfworld-lessons 1"
NEVER = 1e12
"""Trials after which an entry that was never reused retains exp(-1), where nothing is to be forgotten."""
SETTINGS = Settings(merge=0.8, strength=45.0)
"""Lessons about one subject are 0.85 alike when their numbers are as different as can be, hence `merge`."""
UNSAID = 0.03
"""Chance at a receptacle class that no entry names while some are named."""
UNSEEN, CAUTION = 0.1, 3
"""Every share is read as if so many trials more had seen that share: one sighting is not yet a rule."""
RARE = 0.05
"""Share up to which a thing counts as not being at its destination."""
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
        return read(found)

    def learn(self, trial: Trial) -> None:
        """Distil a finished trial into the bank."""
        finished = Finished(trial.id, trial.won, Source((), (trial.game,), (VERSION,)))
        self.bank.learn(finished, self._proposals(trial))

    def _proposals(self, trial: Trial) -> Iterator[Proposal]:
        held = {subject(entry.lesson): entry for entry in self.bank.entries()}
        ids = {entry.id for entry in held.values()}
        helped = trial.used if trial.won else trial.followed
        for source in sorted(helped & ids):
            yield Support(source, followed=True) if trial.won else Doubt(source, followed=True)
        for lesson in lessons(findings(trial)):
            entry = held.get(subject(lesson))
            if entry is None:
                yield from _taught(lesson)
                continue
            if _positive(lesson) and entry.id not in helped:
                yield Support(entry.id)
            if _numbers(lesson):
                yield Revise(entry.id, lesson)

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
        return read(found)

    def learn(self, trial: Trial) -> None:
        """Append what a trial teaches."""
        for lesson in lessons(findings(trial)):
            if _positive(lesson):
                self._count += 1
                entry = Experience(f"{lesson.kind}-{self._count}", 1, lesson, SETTINGS.first, born=self._count)
                sought = next((term.among[0] for term in lesson.when if term.field == "find"), "")
                self._entries[f"{lesson.kind} {sought}"].append(entry)

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return self._count


def read(entries: Iterable[Experience]) -> Advice:
    """Return retrieved experience as advice; several entries on one receptacle class count with their mean."""
    shares: dict[str, list[Chance]] = defaultdict(list)
    steps: dict[str, float] = {}
    rules: dict[str, str] = {}
    sentences: dict[str, None] = {}
    for entry in entries:
        sentences[f"- {entry.lesson.advice.sentence}{_record(entry)}"] = None
        place, share, rule = word(entry, "place"), number(entry, "chance"), word(entry, "rule")
        if rule == CO_LOCATED or (rule == NOT_AT_DESTINATION and share is not None and share <= RARE):
            rules[rule] = entry.id
        elif entry.lesson.kind == "skill":
            steps[place] = number(entry, "steps") or 1.0
        elif place and share is not None:
            shares[place].append(Chance(_cautious(share, len(entry.source.runs)), entry.id))
    chances = {
        place: Chance(sum(each.share for each in found) / len(found), found[0].source)
        for place, found in shares.items()
    }
    return Advice(chances, UNSAID if chances else None, steps, rules, "\n".join(sentences))


def _cautious(share: float, trials: int) -> float:
    """Return a share as `CAUTION` trials more would leave it that had seen next to nothing."""
    known = max(1, trials)
    return (share * known + UNSEEN * CAUTION) / (known + CAUTION)


def _record(entry: Experience) -> str:
    share = number(entry, "chance")
    shown = f" Held one in {share:.0%} of looks." if share is not None and entry.lesson.kind == "strategy" else ""
    return f"{shown} (followed {entry.uses} times, {entry.successes} with success)"


def _state(situation: Situation) -> State:
    room = dict.fromkeys(situation["room"].split(), PRESENT)
    return {**room, "laboratory": "alfworld", "find": situation["find"], "task": situation["task"]}


def _taught(lesson: Draft) -> Iterator[Teach]:
    """Yield a lesson that is new, unless it says no more than that something was not seen."""
    if _positive(lesson):
        yield Teach(lesson)


def _positive(lesson: Draft) -> bool:
    """Return whether a lesson speaks for what it says."""
    values = {each.name: each.value for each in lesson.advice.parameters}
    return bool(values["chance"]) == ("rule" not in values) if "chance" in values else True


def _numbers(lesson: Draft) -> bool:
    """Return whether a lesson has numbers that trials revise."""
    return any(each.name == "chance" for each in lesson.advice.parameters)
