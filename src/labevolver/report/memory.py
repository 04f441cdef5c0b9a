"""A memory bank over its trials: what each trial did to it, and the history of every entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..bank import Bank
from ..experience import KINDS, Experience
from ..fold import Entries, carry_out, living
from ..operations import Forget, Logged, Trial, Undo, run_of
from ..shown import histories, quarantine_lines, summary
from .scale import Scale, Tick, round_step, vertical

WIDTH, LEFT, RIGHT, HEIGHT = 960.0, 44.0, 14.0, 130.0
"""Drawing of the number of entries [px]."""
SPARK, SPARK_HEIGHT = 150.0, 26.0
"""Drawing of one entry's score [px]."""
MOST_POINTS = 60
"""Points of one score; forgetting moves it a little with every trial."""
MOST_HISTORY = 40
"""Lines of one entry's history on the page."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What one trial did: counts of operations by name, entries that ended, and entries in use after it, by kind."""

    number: int
    run: str
    success: bool
    counts: dict[str, int]
    ended: int
    inuse: dict[str, int]

    @property
    def size(self) -> int:
        """Return the entries in use."""
        return sum(self.inuse.values())

    def of(self, name: str) -> int:
        """Return how many operations of a name it brought."""
        return self.counts.get(name, 0)


@dataclass(frozen=True, slots=True)
class Line:
    """One entry with its history."""

    entry: Experience
    when: str
    spark: str
    """Points of its score over the trials."""
    last: tuple[float, float]
    """Last of these points."""
    zero: float
    """Height at which it is forgotten [px]."""
    history: tuple[str, ...]
    hidden: int
    """Lines of its history that are left out."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One kind of entries as an area over the trials."""

    kind: str
    points: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """One bank as the page shows it."""

    name: str
    anchor: str
    words: str
    moments: tuple[Moment, ...]
    layers: tuple[Layer, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    lines: tuple[Line, ...]
    quarantine: tuple[str, ...]
    by_hand: tuple[str, ...] = field(default=())
    """Operations of people: what was forgotten or undone."""


def remembered(bank: Bank, name: str, anchor: str) -> Remembered:
    """Return a bank's growth and entries, the best first; undone operations count as if they had never been."""
    log, undone = bank.log(), bank.undone()
    moments, scores = replayed(log, undone)
    entries = sorted(bank.entries(ended=True), key=lambda each: (bool(each.ended), -each.score, each.id))
    highest = max((score for points in scores.values() for _, score in points), default=1.0)
    layers, rows, columns = _areas(moments)
    told = histories(log, undone)
    return Remembered(
        name,
        anchor,
        summary(bank),
        tuple(moments),
        layers,
        rows,
        columns,
        tuple(_line(each, scores.get(each.id, []), len(moments), highest, told.get(each.id, ())) for each in entries),
        tuple(quarantine_lines(bank.quarantined())) if bank.quarantined() else (),
        tuple(_by_hand(log)),
    )


def replayed(log: Sequence[Logged], undone: set[int]) -> tuple[list[Moment], dict[str, list[tuple[int, float]]]]:
    """Fold a log trial by trial; return what each did, and each entry's score by trial number."""
    entries: Entries = {}
    moments: list[Moment] = []
    scores: dict[str, list[tuple[int, float]]] = {}
    for begun, rest in _trials(log, undone):
        before = {each.id for each in living(entries.values())}
        for logged in rest:
            carry_out(entries, logged)
        now = living(entries.values())
        inuse = Counter(each.lesson.kind for each in now)
        number = begun.number if begun else len(moments)
        if begun is not None:
            counts = dict(Counter(each.name for each in rest))
            gone = len(before - {each.id for each in now})
            kinds: dict[str, int] = {kind: inuse.get(kind, 0) for kind in KINDS}
            moments.append(Moment(number, begun.run, begun.success, counts, gone, kinds))
        for each in entries.values():
            points = scores.setdefault(each.id, [])
            if not (points and each.ended and points[-1][1] < 0):
                points.append((number, each.score))
    return moments, scores


def _trials(log: Sequence[Logged], undone: set[int]) -> Iterable[tuple[Trial | None, list[Logged]]]:
    """Yield each trial with its operations; what people did in between comes with no trial."""
    begun: Trial | None = None
    rest: list[Logged] = []
    for logged in log:
        if logged.number in undone or isinstance(logged.operation, Undo):
            continue
        run = run_of(logged.operation)
        if isinstance(logged.operation, Trial) or (begun is not None and run != begun.run):
            if rest or begun is not None:
                yield begun, rest
            begun, rest = (logged.operation if isinstance(logged.operation, Trial) else None), []
        rest.append(logged)
    if rest:
        yield begun, rest


def _line(
    entry: Experience, points: list[tuple[int, float]], trials: int, highest: float, history: Sequence[str]
) -> Line:
    x, y = Scale(0, max(1, trials), 2, SPARK - 4), vertical(-0.5, 1.15 * max(1.0, highest), SPARK_HEIGHT)
    drawn = [(x(number), y(score)) for number, score in _thinned(points)] or [(x(0), y(entry.score))]
    return Line(
        entry,
        ", ".join(f"{each}none" if str(each).endswith("= ") else str(each) for each in entry.lesson.when),
        " ".join(f"{at:.1f},{down:.1f}" for at, down in drawn),
        drawn[-1],
        y(0.0),
        tuple(history[:MOST_HISTORY]),
        max(0, len(history) - MOST_HISTORY),
    )


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return at most about `MOST_POINTS` points, steps up or down by more than forgetting does among them."""
    if len(points) <= MOST_POINTS:
        return points
    every = -(-len(points) // MOST_POINTS)
    jumps = {n for n in range(1, len(points)) if abs(points[n][1] - points[n - 1][1]) > 0.5}
    near = jumps | {n - 1 for n in jumps}
    return [each for n, each in enumerate(points) if n % every == 0 or n in near or n == len(points) - 1]


def _areas(moments: Sequence[Moment]) -> tuple[tuple[Layer, ...], tuple[Tick, ...], tuple[Tick, ...]]:
    """Return the kinds as areas that lie on each other, and the ticks of both axes."""
    if not moments:
        return (), (), ()
    x = Scale(moments[0].number - 1, max(moments[-1].number, 1), LEFT, WIDTH - RIGHT)
    y = vertical(0, max(4, max(each.size for each in moments)) * 1.08, HEIGHT)
    floor = [0] * len(moments)
    layers = []
    for kind in KINDS:
        top = [below + each.inuse[kind] for below, each in zip(floor, moments, strict=True)]
        layers.append(Layer(kind, _ring(moments, floor, top, x, y)))
        floor = top
    step = max(1.0, round_step(x.stop / 12))
    return tuple(layers), y.ticks(max(1.0, round_step(y.stop / 4))), x.ticks(step)


def _ring(moments: Sequence[Moment], floor: list[int], top: list[int], x: Scale, y: Scale) -> str:
    """Return the outline between two rows of steps: an entry is there from the trial that brought it."""
    upper = [(x(each.number - 1), y(value)) for each, value in zip(moments, top, strict=True)]
    lower = [(x(each.number - 1), y(value)) for each, value in zip(moments, floor, strict=True)]
    ends = [x(each.number) for each in moments]
    over = [point for (at, up), end in zip(upper, ends, strict=True) for point in ((at, up), (end, up))]
    under = [point for (at, up), end in zip(lower, ends, strict=True) for point in ((at, up), (end, up))]
    return " ".join(f"{at:.1f},{up:.1f}" for at, up in (*over, *reversed(under)))


def _by_hand(log: Sequence[Logged]) -> Iterable[str]:
    for logged in log:
        match logged.operation:
            case Forget(entry=name, reason=reason):
                yield f"#{logged.number}: {name} was forgotten: {reason}"
            case Undo(target=target, reason=reason):
                yield f"#{logged.number}: #{target} was undone{f': {reason}' if reason else ''}"
            case _:
                continue
