"""The Strategist's extraction for the wet lab: e = (skill, strategy, safety) of one trial, paired with its state.

skill     gains of a pour that met its mass, and how long a measurement takes to settle
strategy  dose curves, what a stock does to the conductivity, and the whole recorded procedure (for `memp`)
safety    each refusal of the gate, with the state in which it was refused
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..agent import Move, Trial
from ..experience import Advice, Draft, Experience, Parameter, Term, around
from ..maintain import Finished, Proposal, Teach
from ..operate.precautions import lesson
from ..skills.tools import Dose, apparent_ec, fitted, reference_of
from ..strategist import votes
from ..supervise import Checkpoint
from .wet_memory import CONDUCTIVITY, CURVE, GAINS, MEASURING, WORKFLOW
from .wet_trajectory import trajectory
from .wetlab import ACID, BASE, SPREADS, UNITS

LEAST_G = 0.5
"""Smallest addition from which a conductivity is inferred [g]: the balance shows tenths."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the Strategist is told of a trial: a declared condition of a run.

    success   "verdict" is the bench's, "claim" only what the agent itself believed
    """

    success: str = "verdict"


class WetStrategist:
    """Extracts by rule."""

    name = "wet symbolic@1"

    def reflect(
        self,
        trial: Trial,
        now: Checkpoint,
        finished: Finished,
        promised: Sequence[tuple[int, str, float]] = (),
        entries: Sequence[Experience] = (),
    ) -> list[Proposal]:
        """Return votes and lessons; `promised` are the pH values that entries promised for doses by number."""
        told = trajectory(trial, now, finished, promised, entries)
        drafts = [*_safety(trial.moves), *_measuring(now, trial), *_curves(now), *_conductivities(now)]
        drafts += [*_gains(trial, finished), *(_workflow(trial, now) if finished.success else ())]
        return [*votes(told), *map(Teach, dict.fromkeys(drafts))]


def _safety(moves: Iterable[Move]) -> list[Draft]:
    return [lesson(log) for move in moves if (log := move.ruling.exception) is not None and log.layer != "interface"]


def _measuring(now: Checkpoint, trial: Trial) -> list[Draft]:
    """Return how long a measurement has to be: the shortest one of the trial after which a reading had settled.

    What has not settled by then is measured on, which costs less than to wait for the slowest liquid every time. What
    is read again although it had settled does not count.
    """
    sums, running = [], 0.0
    for move in trial.moves:
        acted = move.proposal.action
        if not move.ruling.admitted:
            continue
        if acted.kind == "measure" and not move.view.get("read"):
            running += acted.numbers.get("seconds", 0.0)
        elif acted.kind in ("rinse_probe", "return_probe") and running:
            sums.append(running)
            running = 0.0
    if not sums or not now.readings or not now.readings[-1].settled:
        return []
    when = (Term("topic", among=(MEASURING,)),)
    return [Draft("skill", when, Advice("Measure for {seconds}.", (Parameter("seconds", min(sums), "s"),)))]


def _curves(now: Checkpoint) -> list[Draft]:
    """Return the curve of the first row of doses from one of acid and base, where it passes its reference."""
    row: list[Dose] = []
    for dose in now.doses:
        if dose.tube not in (ACID, BASE) or dose.after is None or (row and dose.tube != row[0].tube):
            break
        row.append(dose)
    if not row:
        return []
    start, last, tube = row[0].before, row[-1].after, row[0].tube
    assert last is not None  # only such doses are in the row
    so_far, points = 0.0, [(0.0, start.ph)]
    for dose in row:
        so_far += dose.grams
        points.append((so_far, dose.after.ph if dose.after is not None else start.ph))
    curve = fitted(points, start, reference_of(tube, start.ph))
    if curve is None:
        return []
    moved = "rises" if last.ec > start.ec else "falls"
    when = (
        Term("topic", among=(CURVE,)),
        Term("tube", among=(tube,)),
        Term("ec_change", among=(moved,)),
        around("start_ph", start.ph, UNITS["ph"], SPREADS["ph"]),
        around("start_ec", start.ec, UNITS["ec"], SPREADS["ec"]),
    )
    text = (
        f"From {tube}, {{per}} 0.0001 g for each gram of water and uS/cm bring pH to {{reference}}; the rest by shares."
    )
    numbers = tuple(Parameter(name, value) for name, value in curve.parameters(moved).items())
    return [Draft("strategy", when, Advice(text, numbers))]


def _conductivities(now: Checkpoint) -> list[Draft]:
    """Return what each tube did to EC: that of its first addition large enough, as later ones may have overshot."""
    found = {
        dose.tube: value
        for dose in reversed(now.doses)
        if dose.grams >= LEAST_G and (value := apparent_ec(dose)) is not None
    }
    return [
        Draft(
            "strategy",
            (Term("topic", among=(CONDUCTIVITY,)), Term("tube", among=(tube,))),
            Advice(
                f"{tube} mixes as if its conductivity were {{apparent_ec}}.",
                (Parameter("apparent_ec", value, "uS/cm"),),
            ),
        )
        for tube, value in found.items()
    ]


def _gains(trial: Trial, finished: Finished) -> list[Draft]:
    """Return the numbers of a first pour that met its mass."""
    target = trial.target
    if target.grams is None or not finished.success:
        return []
    pours = [move for move in trial.moves if move.ruling.admitted and move.proposal.action.kind == "pour"]
    if len(pours) != 1:
        return []
    return [gains_lesson(target.liquid, target.grams, pours[0].proposal.action.numbers)]


def gains_lesson(liquid: str, grams: float, numbers: Mapping[str, float]) -> Draft:
    """Return the lesson that a pour of some grams of a liquid works with these numbers."""
    units = {"kp": "deg/s/g", "kd": "deg/g", "pre_stop": "g"}
    named = tuple(Parameter(name, float(numbers[name]), unit) for name, unit in units.items() if name in numbers)
    when = (
        Term("topic", among=(GAINS,)),
        Term("liquid", among=(liquid,)),
        around("target_g", grams, UNITS["target_g"], SPREADS["target_g"]),
    )
    text = f"Pour {liquid} with " + ", ".join(f"{each.name} {{{each.name}}}" for each in named) + "."
    return Draft("skill", when, Advice(text, named))


def _workflow(trial: Trial, now: Checkpoint) -> list[Draft]:
    """Return the whole procedure of a success, as a memory of procedures keeps it."""
    if not now.doses:
        return []
    doses = "; ".join(f"{dose.grams:.1f} {dose.tube}" for dose in now.doses)
    fields = trial.target.fields
    when = (
        Term("topic", among=(WORKFLOW,)),
        *(around(name, value, UNITS.get(name, "")) for name, value in fields.items()),
    )
    return [Draft("strategy", when, Advice("The procedure that succeeded: {doses}.", (Parameter("doses", doses),)))]
