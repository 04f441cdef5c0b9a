"""Memory growth on the wet bench: one stream of mixed trials, met by memories that are kept in different ways.

The stream asks for pH, for pH with conductivity and for masses of three liquids, in an order that a seed draws; all
memories meet the same instances in the same order, each from an empty bank.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labference.records import strict
from labference.truth.identity import FAST, PlanError

from ..bank import Bank
from ..experience import Experience
from ..fold import Entries, carry_out, living
from ..labs.wet_memory import WORKFLOW
from ..operations import Trial
from ..report.memory import replayed
from ..transcript import Transcript, parsed
from .common import TRANSCRIPTS, Outcome, plan_of, rate
from .evolve import Setting, trial
from .growth_plots import draw
from .kept import WAYS
from .pouring import MASSES, TASKS

TRIALS = 60
STRENGTH = 20.0
"""Trials after which a memory that was never reused retains exp(-1): ten times faster than usual, so that a stream of
60 trials shows forgetting at all. A new entry that nobody reuses lasts for 22 trials."""
PHS = ("ph5", "ph6", "ph9")
PAIRS = ("ph6-ec300", "ph5-ec400", "ph8.5-ec350", "ph7-ec250")
WINDOW = 12
"""Trials over which a moving mean is taken."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """One trial of the stream: its task, the member of the registered list, and its index among those of its kind."""

    task: str
    instances: str
    index: int


@dataclass(frozen=True, slots=True)
class Met:
    """What one memory made of one trial of the stream.

    retrieved  entries that the memory gave in the trial, each once
    followed   those of them that the Operator followed
    used       those that it followed in a trial that succeeded
    size       entries in use after the trial that the method can be given
    """

    asked: Asked
    success: bool
    additions: int
    intercepts: int
    seconds: float
    retrieved: int
    followed: int
    used: int
    size: int


@dataclass(frozen=True, slots=True)
class Grown:
    """One memory over the stream, with how many entries were added, changed and lost."""

    name: str
    met: tuple[Met, ...]
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def precision(self) -> float:
        """Return which share of what was retrieved was followed."""
        return _share(sum(each.followed for each in self.met), sum(each.retrieved for each in self.met))

    @property
    def usefulness(self) -> float:
        """Return which share of what was retrieved was followed in trials that succeeded."""
        return _share(sum(each.used for each in self.met), sum(each.retrieved for each in self.met))


def stream(trials: int, seed: int) -> list[Asked]:
    """Return a stream: in every six trials two of pH, one of pH with conductivity, and a pour of each liquid."""
    chance = random.Random(f"growth {seed}")
    seen: dict[tuple[str, str], int] = {}
    found: list[Asked] = []
    for block in range(-(-trials // 6)):
        kinds = [("ph", f"targets:{PHS[(2 * block + each) % len(PHS)]}") for each in range(2)]
        kinds.append(("ph-ec", f"targets:{PAIRS[block % len(PAIRS)]}"))
        kinds += [(task, f"figure-6:{MASSES[block % len(MASSES)]:.0f}g") for task in TASKS.values()]
        chance.shuffle(kinds)
        for task, instances in kinds:
            index = seen[task, instances] = seen.get((task, instances), -1) + 1
            found.append(Asked(task, instances, index))
    return found[:trials]


def growth(
    out: Path, trials: int, seed: int, say: Say, strength: float = STRENGTH, ways: Sequence[str] = tuple(WAYS)
) -> list[Grown]:
    """Run or go on with the stream for every memory; write the table and the figure, and return what was found.

    Raises `PlanError` for a folder that holds another stream.
    """
    _register(out, {"trials": trials, "seed": seed, "strength": strength})
    asked = stream(trials, seed)
    grown = []
    for name in ways:
        grown.append(_grow(out / name.replace(" ", "-"), name, asked, seed, strength))
        say(told(grown[-1]))
    (out / "growth.txt").write_text("\n".join(map(told, grown)) + "\n", encoding="utf-8")
    draw({each.name: each.met for each in grown}, min(WINDOW, max(1, trials // 3)), out / "growth.png")
    return grown


def told(found: Grown) -> str:
    """Return one memory as a line: the first and the last third of the stream, its size, and what was retrieved."""
    third = max(1, len(found.met) // 3)
    success = sum(each.success for each in found.met)
    fell = (("additions", 1), ("intercepts", 1), ("seconds", 0))
    ends = ", ".join(
        f"{name} {_mean(found.met[:third], name, digits)} to {_mean(found.met[-third:], name, digits)}"
        for name, digits in fell
    )
    counts = ", ".join(f"{count} {word}" for word, count in found.counts.items())
    return (
        f"{found.name}: success {rate(success, len(found.met))} of {len(found.met)}; {ends} (first and last third); "
        f"{found.met[-1].size} entries ({counts}); of what was retrieved {100 * found.precision:.0f} % was followed, "
        f"{100 * found.usefulness:.0f} % with success"
    )


def _grow(out: Path, name: str, asked: Sequence[Asked], seed: int, strength: float) -> Grown:
    out.mkdir(parents=True, exist_ok=True)
    way = WAYS[name]
    met: list[tuple[Asked, Outcome, Path]] = []
    with way.bank(out / "bank.db", strength) as bank:
        for each in asked:
            place = out / f"{each.task}-{each.instances.partition(':')[2]}"
            most = sum((other.task, other.instances) == (each.task, each.instances) for other in asked)
            plan = plan_of(each.task, f"labevolver-{way.method}", most, seed, each.instances, FAST)
            met.append((each, trial(plan, each.index, place, bank, Setting(way.method)), place))
        sizes = _sizes(bank, way.method)
        moments = replayed(bank.log(), bank.undone())[0]
    counts = {
        "added": sum(each.of("Add") for each in moments),
        "updated": sum(each.of("Update") for each in moments),
        "ended": sum(each.ended for each in moments),
    }
    rows = [_met(*each, size) for each, size in zip(met, sizes, strict=True)]
    return Grown(name, tuple(rows), counts)


def _met(asked: Asked, found: Outcome, place: Path, size: int) -> Met:
    held = _transcript(place, found.index)
    moves, given = (held.moves, held.retrieved) if held else ((), ())
    retrieved = {name for names in given for name in names}
    followed = {name for move in moves if move.admitted for name in move.follows} & retrieved
    return Met(
        asked,
        found.success,
        found.additions,
        found.intercepts,
        found.seconds,
        len(retrieved),
        len(followed),
        len(followed) if found.success else 0,
        size,
    )


def _transcript(place: Path, index: int) -> Transcript | None:
    return parsed(strict.read(place / TRANSCRIPTS / f"trial-{index:04d}.json"))


def _sizes(bank: Bank, method: str) -> list[int]:
    """Return how many entries in use a method can be given, after every trial that taught."""
    sizes = []
    for entries in _after(bank):
        sizes.append(sum(_is_workflow(each) == (method == "memp") for each in entries))
    return sizes


def _after(bank: Bank) -> Iterator[list[Experience]]:
    """Yield the entries in use after every trial."""
    entries: Entries = {}
    begun = False
    for logged in bank.log():
        if isinstance(logged.operation, Trial):
            if begun:
                yield living(entries.values())
            begun = True
        carry_out(entries, logged)
    if begun:
        yield living(entries.values())


def _is_workflow(entry: Experience) -> bool:
    return any(term.field == "topic" and WORKFLOW in term.among for term in entry.lesson.when)


def _register(out: Path, condition: dict[str, float]) -> None:
    """Write down what a stream is, or refuse a folder that holds another."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "growth.json"
    if not path.exists():
        path.write_text(json.dumps(condition) + "\n", encoding="utf-8")
        return
    before = json.loads(path.read_text(encoding="utf-8"))
    for name, value in condition.items():
        if before.get(name) != value:
            raise PlanError(
                f"{str(out)!r} holds a stream with {name} {before.get(name)}, not {value}; another --out works."
            )


def _mean(met: Sequence[Met], name: str, digits: int) -> str:
    return f"{sum(getattr(each, name) for each in met) / len(met):.{digits}f}"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
