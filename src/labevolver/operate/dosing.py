"""How much to add next: by the last dose of this trial alone, or by curves of earlier trials.

Nothing here knows chemistry. Experience says how much earlier waters of this mass and conductivity took, and which
share of a dose remains from one pH to another; how strong this stock is follows from the doses of this trial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..labs.wetlab import ACID, BASE, SALT, WATER, Target
from ..retrieve import Retrieved
from ..skills.tools import (
    FIRST_G,
    Dose,
    Reading,
    apparent_ec,
    bounded,
    secant,
    to_reach_ec,
)
from ..supervise import Checkpoint
from .advice import curves, number

STRIDE = 0.7
"""Share of a secant step that is added: a titration curve gets steeper. The first dose after an overshoot is
at most half as large as the last one of its reagent."""
CAUTION = 0.9
"""Share of a dose from experience that is added before this stock has shown how strong it is."""
TELLS = 0.01
"""Least change of EC, as a share, that tells one reagent from another."""
LEAST_SHARE = 0.05
"""Least part of a curve that this trial has to have passed to show how strong its stock is."""
MISFIT = 0.35
"""Logarithm of the ratio of doses from which a curve of another trial is about another stock."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A dose: the tube, the grams, the entries that it follows, and the pH that they promise, if they do."""

    tube: str
    grams: float
    follows: tuple[str, ...] = ()
    expected_ph: float | None = None


def cold(target: Target, now: Checkpoint) -> Wanted | None:
    """Correct pH first, then EC, each by the secant of its last dose; None where nothing helps."""
    last = now.last
    tube = None if last is None else due(target, last)
    if last is None or tube is None:
        return None
    doses = now.of(tube)
    if not doses:
        return Wanted(tube, FIRST_G)
    dose = doses[-1]
    assert dose.after is not None  # only such doses are returned
    if tube in (ACID, BASE):
        grams = STRIDE * secant(dose.before.ph, dose.grams, dose.after.ph, target.ph or 7.0)
        if now.doses[-1].tube in (ACID, BASE) and now.doses[-1].tube != tube:
            grams = min(grams, dose.grams / 2)
        return Wanted(tube, bounded(grams))
    return Wanted(tube, bounded(secant(dose.before.ec, dose.grams, dose.after.ec, target.ec or 0.0)))


def experienced(target: Target, now: Checkpoint, advice: Retrieved) -> Wanted | None:
    """Dose by curves and conductivities of earlier trials where there are any, and like `cold` where there are none."""
    last = now.last
    if last is None or target.ph is None:
        return None
    tube = due(target, last)
    if tube is None:
        return None
    if target.ec is not None:
        joint = _joint(target, now, advice)
        if joint is not None:
            return joint
    if tube in (ACID, BASE):
        return _by_curve(target.ph, tube, now, advice) or cold(target, now)
    return _by_ec(target.ec or 0.0, tube, now, advice) or cold(target, now)


def due(target: Target, last: Reading) -> str | None:
    """Return the tube that moves a value towards its range: for pH first, then for EC; None where both are within."""
    side = target.side(last.ph)
    if side == "above":
        return ACID if ACID in target.tubes else None
    if side == "below":
        return BASE if BASE in target.tubes else None
    ec = target.ec_side(last.ec)
    return {"above": WATER, "below": SALT}.get(ec)


def _by_curve(wanted: float, tube: str, now: Checkpoint, advice: Retrieved) -> Wanted | None:
    """Return the dose to a pH: the rest of a curve scaled by this trial, or a cautious share of its whole."""
    first, last = now.readings[0], now.readings[-1]
    known = curves(advice, tube)
    doses = _since(now, tube)
    if not doses:
        guesses = []
        for name, curve, _ in known:
            ahead, behind = curve.share(wanted), curve.share(last.ph)
            if ahead is not None and behind is not None and ahead > behind:
                guesses.append(((ahead - behind) * curve.whole(first.grams, first.ec), name))
        if not guesses:
            return None
        grams = min(guesses)[0]
        return Wanted(tube, bounded(CAUTION * grams), tuple(name for _, name in sorted(guesses)[:1]))
    begun, added = doses[0].before, sum(dose.grams for dose in doses)
    moved = _moved(begun.ec, last.ec)
    found: list[tuple[float, float, str]] = []
    for name, curve, ec_change in known:
        shares = [share for ph in (begun.ph, last.ph, wanted) if (share := curve.share(ph)) is not None]
        if len(shares) < 3 or (moved and moved != ec_change):
            continue
        begins, here, ends = shares
        if here - begins < LEAST_SHARE or ends <= here:
            continue
        strength = added / (here - begins)
        misfit = abs(math.log(strength / curve.whole(begun.grams, begun.ec)))
        if misfit <= MISFIT:
            found.append((misfit, strength * (ends - here), name))
    if not found:
        return None
    _, grams, name = min(found) if moved else min(found, key=lambda each: each[1])
    return Wanted(tube, bounded(grams), (name,), wanted)


def _moved(before: float, after: float) -> str:
    """Return how EC moved; "" where the meter cannot tell, and then the smallest of several doses is the one to add."""
    if abs(after - before) <= TELLS * before:
        return ""
    return "rises" if after > before else "falls"


def _since(now: Checkpoint, tube: str) -> tuple[Dose, ...]:
    """Return the last unbroken row of doses from one tube; water and salt do not break it."""
    row: list[Dose] = []
    for dose in reversed(now.doses):
        if dose.tube in (ACID, BASE) and dose.tube != tube:
            break
        if dose.tube == tube and dose.after is not None:
            row.append(dose)
    return tuple(reversed(row))


def _by_ec(wanted: float, tube: str, now: Checkpoint, advice: Retrieved) -> Wanted | None:
    """Return the dose to a conductivity, by what this stock did in this trial, or in earlier ones."""
    last = now.readings[-1]
    own = [value for dose in now.of(tube) if dose.grams >= 0.5 and (value := apparent_ec(dose)) is not None]
    follows: tuple[str, ...] = ()
    if own:
        stock = own[-1]
    else:
        known = number(advice, "apparent conductivity", "apparent_ec", tube=tube)
        if known is None:
            return None
        follows, stock = (known[0],), known[1]
    grams = to_reach_ec(last.grams, last.ec, wanted, stock)
    return None if grams is None else Wanted(tube, bounded(grams, 30.0), follows)


def _joint(target: Target, now: Checkpoint, advice: Retrieved) -> Wanted | None:
    """Return the dose of water or salt that leaves EC right once pH is, where experience tells what pH will take."""
    last = now.readings[-1]
    assert target.ph is not None and target.ec is not None
    tube = due(target, last)
    if tube not in (ACID, BASE):
        return None
    dosed = _by_curve(target.ph, tube, now, advice)
    effect = _stock(now, tube, advice)
    if dosed is None or effect is None:
        return None
    whole = dosed.grams / (CAUTION if not _since(now, tube) else 1.0)
    mass = last.grams + whole
    after = (last.ec * last.grams + effect[1] * whole) / mass
    side = target.ec_side(after)
    other = {"above": WATER, "below": SALT}.get(side)
    now_side = target.ec_side(last.ec)
    if other is None or now_side != side:
        return dosed
    stock = _stock(now, other, advice)
    if stock is None:
        return dosed
    grams = to_reach_ec(mass, after, target.ec, stock[1])
    if grams is None or grams < 1.0:
        return dosed
    return Wanted(other, bounded(grams, 30.0), tuple(name for name in (effect[0], stock[0]) if name))


def _stock(now: Checkpoint, tube: str, advice: Retrieved) -> tuple[str, float] | None:
    """Return what is known of the apparent conductivity of a tube: from this trial, or an entry and its number."""
    own = [value for dose in now.of(tube) if dose.grams >= 0.5 and (value := apparent_ec(dose)) is not None]
    return ("", own[-1]) if own else number(advice, "apparent conductivity", "apparent_ec", tube=tube)
