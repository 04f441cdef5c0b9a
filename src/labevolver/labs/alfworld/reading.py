"""Retrieved experience as advice: chances for a program, sentences for a reader or a language model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from labevolver.experience import Experience
from labevolver.labs.alfworld.advice import Advice, Chance
from labevolver.labs.alfworld.lessons import CHANCE, number, search, word
from labevolver.labs.alfworld.seeker import CO_LOCATED, NOT_AT_DESTINATION

UNSEEN, CAUTION = 0.1, 3
"""Every share is read as if so many trials more had seen that share: one sighting is not yet a rule."""
RARE = 0.05
"""Share up to which a thing counts as not being at its destination."""


def read(entries: Iterable[Experience], thing: str) -> Advice:
    """Return retrieved experience as advice on a thing; entries on one receptacle class count by their trials."""
    seen: dict[str, list[Experience]] = defaultdict(list)
    steps: dict[str, float] = {}
    rules: dict[str, str] = {}
    sentences: dict[str, None] = {}
    for entry in entries:
        sentences[_sentence(entry, thing)] = None
        place, share, rule = word(entry, "place"), number(entry, CHANCE), word(entry, "rule")
        if rule == CO_LOCATED or (rule == NOT_AT_DESTINATION and share is not None and share <= RARE):
            rules[rule] = entry.id
        elif entry.lesson.kind == "skill":
            steps[place] = number(entry, "steps") or 1.0
        elif place and share is not None:
            seen[place].append(entry)
    chances = {place: Chance(_chance(found), found[0].id) for place, found in seen.items()}
    most = max((sum(map(trials, found)) for found in seen.values()), default=0)
    return Advice(chances, cautious(0.0, most) if chances else None, steps, rules, "\n".join(sentences))


def cautious(share: float, known: int) -> float:
    """Return a share that so many trials saw as `CAUTION` trials more would leave it that saw next to nothing.

    A receptacle class that no entry names is one at which the trials behind the other entries saw nothing.
    """
    return (share * known + UNSEEN * CAUTION) / (known + CAUTION)


def trials(entry: Experience) -> int:
    """Return how many trials an entry rests on."""
    return max(1, len(entry.source.runs))


def _chance(found: Iterable[Experience]) -> float:
    weighed = [(number(entry, CHANCE) or 0.0, trials(entry)) for entry in found]
    known = sum(weight for _, weight in weighed)
    return cautious(sum(share * weight for share, weight in weighed) / known, known)


def _sentence(entry: Experience, thing: str) -> str:
    """Return what an entry says of one thing, and how it did; one that is about many things names only this."""
    place, share = word(entry, "place"), number(entry, CHANCE)
    located = bool(place) and share is not None
    told = search(thing, place) if located else entry.lesson.advice.sentence
    shown = f" Held one in {share:.0%} of looks." if share is not None and entry.lesson.kind == "strategy" else ""
    return f"- {told}{shown} (followed {entry.uses} times, {entry.successes} with success)"
