"""τ of a wet-lab trial as every Strategist takes it: steps with their states, and whether each did what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..agent import Move, Trial
from ..experience import Experience, Parameter, State, Value
from ..gate.gate import parameters
from ..maintain import Finished
from ..skills.atomic import STOP, Action
from ..strategist import Step, Trajectory
from ..supervise import Checkpoint

BROKEN = 0.6
"""How far pH may be from what an entry promised before it counts as contradicted [pH]."""
SHOWS: dict[str, tuple[str, Value]] = {
    "pick": ("hand_kind", "tube"),
    "place": ("hand_kind", ""),
    "stir": ("mixed", True),
    "tare": ("zeroed", True),
    "weigh": ("steady", True),
    "take_probe": ("hand_kind", "probe"),
    "measure": ("read", True),
    "rinse_probe": ("coat", "water"),
    "return_probe": ("hand_kind", ""),
}
"""Kind of action -> field of the next view, and its value where the action did what it is for."""


def trajectory(
    trial: Trial,
    now: Checkpoint,
    finished: Finished,
    promised: Sequence[tuple[int, str, float]] = (),
    entries: Sequence[Experience] = (),
) -> Trajectory:
    """Return τ; a precaution that was followed is not blamed for a trial that failed.

    `promised` are the pH values that entries promised for doses by number. How the beaker was when it was first read
    stands beside the first state, under the names by which experience is retrieved.
    """
    safety = {entry.id for entry in entries if entry.lesson.kind == "safety"}
    followed = [name for move in trial.moves if move.ruling.admitted for name in move.proposal.follows]
    kept = [name for name in dict.fromkeys(followed) if finished.success or name not in safety]
    broken = {name for number, name, ph in promised if _missed(now, number, ph)}
    after = [later.view for _, later in pairwise(trial.moves)]
    steps = tuple(
        _step(move, view, trial.claimed) for move, view in zip(trial.moves, [*after, None], strict=bool(trial.moves))
    )
    start = {**trial.start, **begun(now)}
    return Trajectory(
        finished, trial.target.fields, start, steps, tuple(kept), tuple(sorted(broken)), tuple(now.lines())
    )


def begun(now: Checkpoint) -> dict[str, Value]:
    """Return how the beaker was when it was first read: pH, EC [uS/cm] and mass [g]; nothing before that."""
    if not now.readings:
        return {}
    first = now.readings[0]
    return {"start_ph": first.ph, "start_ec": first.ec, "start_grams": first.grams}


def _missed(now: Checkpoint, number: int, ph: float) -> bool:
    after = now.doses[number].after if number < len(now.doses) else None
    return after is not None and abs(after.ph - ph) > BROKEN


def _step(move: Move, after: State | None, claimed: bool) -> Step:
    """Return a move as a step; what was refused has the fields that the rule looked at in its state."""
    log, acted = move.ruling.exception, move.proposal.action
    state = dict(move.state)
    if log is not None and log.layer != "interface":
        state |= {"kind": acted.kind, **dict((*log.where, *log.values))}
    return Step(
        _named(acted),
        _sound(acted),
        state,
        refused=None if log is None else log.refused(),
        effective=log is None and _effective(move, after, claimed),
    )


def _named(acted: Action) -> str:
    """Return the kind, with the tube where there is one."""
    return f"{acted.kind} {acted.item}" if acted.kind in ("pick", "place", "pour") and acted.item else acted.kind


def _effective(move: Move, after: State | None, claimed: bool) -> bool:
    """Return whether the state after an admitted action shows its effect; the last one has no state after it."""
    kind = move.proposal.action.kind
    if after is None:
        return kind == STOP and claimed
    if kind == "pour":
        return after.get("additions") != move.view.get("additions")
    if kind not in SHOWS:
        return False
    name, value = SHOWS[kind]
    return after.get(name) == value


def _sound(acted: Action) -> tuple[Parameter, ...]:
    try:
        return parameters(acted)
    except ValueError:
        return ()  # what was refused may hold numbers that no log can
