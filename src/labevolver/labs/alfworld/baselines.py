"""Memories to compare with: none, a table of counts, whole trajectories, and workflows in the manner of MemP."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from labevolver.labs.alfworld.advice import Advice, Chance, Situation, Trial
from labevolver.labs.alfworld.extract import Findings, findings
from labevolver.labs.alfworld.notes import CLOSED, PLACE, kind

UNSEEN = 0.05
"""Sightings that a pair without any counts for."""
NOWHERE = 0.01
"""Chance at a receptacle class that retrieved experience does not name."""


class Nothing:
    """No memory."""

    size = 0

    def consult(self, situation: Situation) -> Advice:
        """Return nothing."""
        del situation
        return Advice()

    def learn(self, trial: Trial) -> None:
        """Forget at once."""


class LocationTable:
    """How often each class of things was seen at each class of receptacles: the baseline that memory has to beat."""

    def __init__(self) -> None:
        self._seen: dict[str, Counter[str]] = defaultdict(Counter)
        self._looks: Counter[str] = Counter()

    def consult(self, situation: Situation) -> Advice:
        """Return sightings per look at each receptacle class."""
        sought = situation["find"]
        counts = self._seen[sought]
        chances = {place: Chance((counts[place] + UNSEEN) / (looks + 1)) for place, looks in self._looks.items()}
        return Advice(chances, UNSEEN, text=_places_text(sought, chances))

    def learn(self, trial: Trial) -> None:
        """Count every look and every sighting."""
        for exchange in trial.exchanges:
            if place := PLACE.search(exchange.said):
                self._looks[kind(place[1])] += 1
                for name in place[2].split(", "):
                    if name != "nothing":
                        self._seen[name.removeprefix("and ").split()[1]][kind(place[1])] += 1
            elif closed := CLOSED.search(exchange.said):
                self._looks[kind(closed[1])] += 1

    @property
    def size(self) -> int:
        """Return the number of cells that are not zero."""
        return sum(len(+counts) for counts in self._seen.values())


class RawContext:
    """The latest successful trajectories, whole, in the context of the next trial."""

    def __init__(self, most: int = 10) -> None:
        self._kept: deque[Trial] = deque(maxlen=most)

    def consult(self, situation: Situation) -> Advice:
        """Return the trajectories; for a program, what they show about the thing that is sought."""
        shown = [findings(trial) for trial in self._kept]
        chances = _shares(situation["find"], shown)
        text = "\n\n".join(transcript(trial) for trial in self._kept)
        return Advice(chances, NOWHERE if chances else None, text=text)

    def learn(self, trial: Trial) -> None:
        """Keep a successful trajectory."""
        if trial.won:
            self._kept.append(trial)

    @property
    def size(self) -> int:
        """Return how many trajectories are kept."""
        return len(self._kept)


@dataclass(slots=True)
class Workflow:
    """A trajectory or a part of it as a procedure."""

    query: frozenset[str]
    """Words it is retrieved by."""
    text: str
    found: dict[str, str]
    """Thing -> receptacle class it was found at."""
    hits: int = 0
    successes: int = 0


class MempStyle:
    """Procedural memory after MemP: successful trajectories become workflows, retrieved by their words.

    Of each trajectory one workflow of the whole task and one for each thing it had to find; a workflow that was
    retrieved three times and helped in less than half of them is deleted, as in the public code. The rest is ours.
    """

    MOST, LEAST_OVERLAP, TRIALS, LEAST_SUCCESS = 10, 0.4, 3, 0.5

    def __init__(self) -> None:
        self._workflows: list[Workflow] = []
        self._retrieved: list[Workflow] = []

    def consult(self, situation: Situation) -> Advice:
        """Return the workflows whose words are most like the situation's."""
        sought = situation["find"]
        asked = {situation["task"], sought}
        ranked = sorted(enumerate(self._workflows), key=lambda pair: (-_overlap(asked, pair[1].query), -pair[0]))
        best = [flow for _, flow in ranked[: self.MOST] if _overlap(asked, flow.query) >= self.LEAST_OVERLAP]
        self._retrieved += best
        where = Counter(flow.found[sought] for flow in best if sought in flow.found)
        total = sum(where.values())
        chances = {place: Chance(count / total) for place, count in where.items()}
        return Advice(chances, NOWHERE if chances else None, text="\n".join(flow.text for flow in best))

    def learn(self, trial: Trial) -> None:
        """Write down a successful trajectory, and count how what was retrieved did."""
        for flow in {id(flow): flow for flow in self._retrieved}.values():
            flow.hits += 1
            flow.successes += trial.won
        self._retrieved.clear()
        self._workflows = [flow for flow in self._workflows if not self._failing(flow)]
        if trial.won:
            self._workflows += _workflows(trial)

    def _failing(self, flow: Workflow) -> bool:
        return flow.hits >= self.TRIALS and flow.successes / flow.hits < self.LEAST_SUCCESS

    @property
    def size(self) -> int:
        """Return the number of workflows."""
        return len(self._workflows)


def _workflows(trial: Trial) -> list[Workflow]:
    shown = findings(trial)
    if shown.goal is None:
        return []
    done = [each.command for each in trial.exchanges if not each.thought and each.said != "Nothing happens."]
    held = {thing: place for place, boxes in shown.looked.items() for box in boxes.values() for thing in box}
    found = {thing: shown.taken if thing == shown.goal.thing else held.get(thing, "") for thing in sorted(shown.sought)}
    found = {thing: place for thing, place in found.items() if place}
    whole = Workflow(frozenset({shown.goal.word, shown.goal.thing}), "; ".join(done), found)
    parts = [
        Workflow(frozenset({thing}), f"To find a {thing}, look into the {place}.", {thing: place})
        for thing, place in found.items()
    ]
    return [whole, *parts]


def transcript(trial: Trial) -> str:
    """Return a trajectory as a player saw it."""
    turns = (f"> {each.command}\n{each.said}" for each in trial.exchanges)
    return "\n".join((trial.opening, *turns))


def _overlap(one: set[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def _shares(sought: str, shown: Iterable[Findings]) -> dict[str, Chance]:
    """Return per receptacle class the mean share of receptacles that held a thing, over trials that saw one."""
    shares: dict[str, list[float]] = defaultdict(list)
    for each in shown:
        if sought in each.things:
            for place in each.looked:
                shares[place].append(each.share(sought, place))
    return {place: Chance(sum(values) / len(values)) for place, values in shares.items()}


def _places_text(sought: str, chances: dict[str, Chance]) -> str:
    best = sorted(chances.items(), key=lambda pair: -pair[1].share)[:5]
    return f"Seen a {sought}: " + ", ".join(f"{place} {chance.share:.0%} of looks" for place, chance in best)
