"""The Supervisor: compresses progress into checkpoints, and refreshes retrieval there (paper, 3.1 and 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .belief import Belief
from .experience import State
from .retrieve import Retrieved
from .skills.atomic import BEAKER, Action
from .skills.tools import Dose, Reading

Recall = Callable[[State], Retrieved]
NOTHING = Retrieved((), 0, 0.0)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What has been achieved so far: readings and additions, without the actions that led to them."""

    number: int = 0
    time: float = 0.0
    readings: tuple[Reading, ...] = ()
    doses: tuple[Dose, ...] = ()

    @property
    def last(self) -> Reading | None:
        """Return the last reading."""
        return self.readings[-1] if self.readings else None

    def of(self, tube: str) -> tuple[Dose, ...]:
        """Return the additions from one tube whose effect was read."""
        return tuple(dose for dose in self.doses if dose.tube == tube and dose.after is not None)

    def lines(self) -> list[str]:
        """Return the checkpoint for a reader or a language model."""
        told = [f"checkpoint {self.number} at {self.time:.0f} s, {len(self.doses)} additions"]
        if self.readings:
            first = self.readings[0]
            told.append(f"first reading: pH {first.ph:.2f}, EC {first.ec:.0f} uS/cm, {first.grams:.1f} g")
        for number, dose in enumerate(self.doses, 1):
            after = dose.after
            did = "not read yet" if after is None else f"pH {after.ph:.2f}, EC {after.ec:.0f} uS/cm"
            told.append(
                f"addition {number}: {dose.grams:.1f} g of {dose.tube}: pH {dose.before.ph:.2f}, "
                f"EC {dose.before.ec:.0f} uS/cm became {did}"
            )
        return told


class Supervisor:
    """Follows one trial; `recall` asks the memory for what fits a situation."""

    def __init__(self, recall: Recall, describe: Callable[[Belief], State]) -> None:
        self._recall, self._describe = recall, describe
        self.checkpoint = Checkpoint()
        self.advice: Retrieved = NOTHING
        self.refreshed = 0

    def begin(self, belief: Belief) -> None:
        """Retrieve for the goal and the first state."""
        self._refresh(belief)

    def follow(self, belief: Belief, done: Action) -> bool:
        """Take in what an action led to; return whether there is a new checkpoint."""
        now = self.checkpoint
        if done.kind == "pour":
            added = belief.known(BEAKER, "last_g").value
            if belief.known(BEAKER, "last_g").time == belief.time and now.last is not None:
                grams = float(added) if isinstance(added, (int, float)) else done.numbers["amount_g"]
                self.checkpoint = replace(now, doses=(*now.doses, Dose(done.item, grams, now.last)))
            return False
        reading = _reading(belief) if done.kind == "measure" else None
        if reading is None:
            return False
        doses = now.doses
        if doses and (doses[-1].after is None or not doses[-1].after.settled):
            doses = (*doses[:-1], replace(doses[-1], after=reading))
        kept = now.readings[:-1] if now.readings and not now.readings[-1].settled else now.readings
        self.checkpoint = Checkpoint(now.number + 1, belief.time, (*kept, reading), doses)
        if reading.settled:
            self._refresh(belief)
        return True

    def _refresh(self, belief: Belief) -> None:
        self.advice = self._recall(self._describe(belief))
        self.refreshed += 1


def _reading(belief: Belief) -> Reading | None:
    """Return what the meter said of the beaker, settled or not."""
    ph, ec, grams = (belief.known(BEAKER, name) for name in ("ph", "ec", "grams"))
    values = [float(each.value) for each in (ph, ec, grams) if isinstance(each.value, (int, float))]
    if len(values) < 3:
        return None
    return Reading(values[0], values[1], values[2], belief.time, ph.valid and ec.valid)
