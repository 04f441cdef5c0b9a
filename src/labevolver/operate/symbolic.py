"""The symbolic mind: a deterministic program in the place of a language model, and named as what it is.

It wants the nearest thing that its goal needs and proposes it as directly as it can; what has to come before it learns
from the gate, and keeps for the trial where its method lets it, or finds in the memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..experience import Draft
from ..gate.gate import ABANDON
from ..labs.wetlab import Target, reached
from ..skills.atomic import BEAKER, Action, action, within
from ..skills.tools import Reading, bounded, gentle
from .advice import number, numbers, of_kind, workflow
from .context import Context, Proposal
from .dosing import Wanted, cold, experienced
from .precautions import first_due, grounded, lesson

MEASURE_S = 60.0
"""How long it measures until it knows better [s]: the default of the catalogue."""
ROUNDS = 25
"""Additions after which it gives up."""
DEEP = 8
"""Most precautions that one proposal may put before itself, and most refusals in a row."""
UNDOES = {"return_probe": "take_probe", "place": "pick"}
"""Actions that would only take back the one before: then the gate is asked about what is wanted itself."""
TEXTBOOK_G = 5.0
"""What a one-shot plan adds, whatever the water [g]."""
GUARD_PH, GUARD_EC = 0.03, 2.0
"""How near the edge of its range a reading is taken again [pH, uS/cm]: the bench counts the value at which the lamp
lit."""
LEAST_POUR_G = 0.3
"""Missing mass below which it does not pour again [g]."""


@dataclass(frozen=True, slots=True)
class Habits:
    """What a method lets the mind do.

    one_shot   plan once, and do not look again
    state      take readings from the belief, where they may be stale, instead of as they were last shown
    notes      keep the gate's logs for the rest of the trial
    memory     what it may use of the memory: "none", "workflow" (whole recorded procedures) or "experience"
    """

    one_shot: bool = False
    state: bool = True
    notes: bool = True
    memory: str = "none"


@dataclass(slots=True)
class SymbolicMind:
    """An Operator by rule; `gains` are the numbers of every pour of a mass, where somebody explores them."""

    habits: Habits = field(default_factory=Habits)
    gains: tuple[tuple[str, float], ...] = ()
    name: str = "symbolic@1"
    promised: list[tuple[int, str, float]] = field(default_factory=list)
    """For doses by experience: their number, the entry, and the pH that it promised."""
    rechecked: list[int] = field(default_factory=list)
    """Numbers of additions after which a reading at the edge was taken again."""

    def begin(self) -> None:
        """Forget the last trial."""
        self.promised, self.rechecked = [], []

    def propose(self, context: Context) -> Proposal:
        """Return the remedy of what was just refused, or what is wanted with what experience puts before it."""
        if context.exceptions:
            return self._replan(context)
        intent, wanted, follows = self._want(context)
        due, used = self._foresee(context, wanted, wanted)
        if context.recent and UNDOES.get(due.kind) == context.recent[-1].kind:
            return Proposal(f"{intent}, and hear why not", wanted, follows)
        return Proposal(intent, due, (*follows, *used))

    def _replan(self, context: Context) -> Proposal:
        """Answer the last refusal."""
        log = context.exceptions[-1]
        intent = f"make {context.exceptions[0].action.kind} allowed"
        if not log.remedy or len(context.exceptions) > DEEP:
            return Proposal("give up: nothing is allowed that would help", Action(ABANDON))
        wanted = next((each.action for each in context.exceptions if each.action.kind == "pour"), log.action)
        due, used = self._foresee(context, self._ground(context, log.remedy, wanted), wanted)
        return Proposal(intent, due, used)

    def _foresee(self, context: Context, due: Action, wanted: Action) -> tuple[Action, tuple[str, ...]]:
        """Return what is due first by the precautions that are known, and the entries that say so."""
        known = self._precautions(context)
        used = list[str]()
        for _ in range(DEEP):
            found = first_due(known, context.see(due))
            if found is None:
                break
            entry, kind = found
            used += [entry] if entry else []
            due = self._ground(context, kind, wanted)
        return due, tuple(used)

    def _precautions(self, context: Context) -> list[tuple[str, Draft]]:
        kept = [("", lesson(log)) for log in context.noted] if self.habits.notes else []
        if self.habits.memory != "experience":
            return kept
        return kept + [
            (hit.entry.id, hit.entry.lesson) for hit in context.advice.hits if hit.entry.lesson.kind == "safety"
        ]

    def _ground(self, context: Context, kind: str, wanted: Action) -> Action:
        return grounded(kind, wanted, context.belief.hand, seconds=self._seconds(context)[0])

    def _want(self, context: Context) -> tuple[str, Action, tuple[str, ...]]:
        if context.target.objective == "mass":
            return self._want_mass(context)
        last, asked = self._last(context), context.target
        context = replace(context, target=_narrowed(asked))
        if last is None:
            seconds, used = self._seconds(context)
            return "read the beaker", action("measure", seconds=seconds), used
        if self.habits.one_shot:
            return self._once(context, last)
        close = self._reached(replace(context, target=asked), last)
        if close and not self._reached(context, last) and len(context.checkpoint.doses) not in self.rechecked:
            self.rechecked.append(len(context.checkpoint.doses))
            return "read again what is at the edge of the range", action("measure", seconds=MEASURE_S), ()
        if close:
            return "finish: the values are reached", action("stop"), ()
        dose = self._dose(context)
        if dose is None or len(context.checkpoint.doses) >= ROUNDS:
            return "give up: nothing helps", Action(ABANDON), ()
        room = context.target.capacity_g - last.grams
        if room < LEAST_POUR_G:
            return "give up: the beaker is full", Action(ABANDON), ()
        if dose.expected_ph is not None:
            self.promised = [each for each in self.promised if each[0] != len(context.checkpoint.doses)]
            self.promised += [(len(context.checkpoint.doses), name, dose.expected_ph) for name in dose.follows]
        grams = min(dose.grams, room)
        return f"add {grams:.1f} g of {dose.tube}", action("pour", dose.tube, **gentle(grams)), dose.follows

    def _dose(self, context: Context) -> Wanted | None:
        now = context.checkpoint
        if self.habits.memory == "experience":
            return experienced(context.target, now, context.advice)
        usual = cold(context.target, now)
        if self.habits.memory == "workflow" and usual is not None:
            found = workflow(of_kind(context.advice, "workflow"))
            if found is not None and len(now.doses) < len(found[1]):
                tube, grams = found[1][len(now.doses)]
                if tube == usual.tube:
                    return Wanted(tube, bounded(grams), (found[0],))
        return usual

    def _once(self, context: Context, last: Reading) -> tuple[str, Action, tuple[str, ...]]:
        """Add what a textbook would, once, and claim to have finished."""
        if context.checkpoint.doses or context.belief.known(BEAKER, "additions").value:
            refused = any(log.action.kind == "stop" for log in context.noted)
            return "finish as planned", Action(ABANDON) if refused else action("stop"), ()
        side = context.target.side(last.ph)
        tube = "acid" if side == "above" else "base"
        return f"add {TEXTBOOK_G:g} g of {tube}", action("pour", tube, **gentle(TEXTBOOK_G)), ()

    def _last(self, context: Context) -> Reading | None:
        """Return the reading that counts, or with a method without state the last one shown since the last addition."""
        now = context.checkpoint
        if not self.habits.state:
            unread = now.doses and now.doses[-1].after is None
            return None if unread else now.last
        valid = context.belief.number(BEAKER, "ph") is not None and context.belief.number(BEAKER, "ec") is not None
        return now.last if valid else None

    def _reached(self, context: Context, last: Reading) -> bool:
        if self.habits.state:
            return reached(context.target, context.belief)
        target = context.target
        return target.side(last.ph) == "within" and target.ec_side(last.ec) == "within"

    def _seconds(self, context: Context) -> tuple[float, tuple[str, ...]]:
        """Return how long to measure: what earlier trials needed, or the default."""
        if self.habits.memory != "experience":
            return MEASURE_S, ()
        if context.recent and context.recent[-1].kind == "measure":
            return MEASURE_S, ()
        found = number(context.advice, "measuring time", "seconds")
        if found is None:
            return MEASURE_S, ()
        return within(context.goal, "measure", "seconds", found[1]), (found[0],)

    # --- pouring a mass

    def _want_mass(self, context: Context) -> tuple[str, Action, tuple[str, ...]]:
        target, tube = context.target, context.target.tubes[0]
        shown = context.belief.number(BEAKER, "shown_g")
        assert target.grams is not None
        if shown is None:
            return "read the balance", action("weigh"), ()
        additions = context.belief.known(BEAKER, "additions").value
        missing = round(target.grams - shown, 1) if additions else target.grams
        if additions and reached(target, context.belief):
            return "finish: the mass is reached", action("stop"), ()
        if missing < LEAST_POUR_G or (additions and self.habits.one_shot):
            return "give up: too much was poured", Action(ABANDON), ()
        gains, used = self._gains(context, missing)
        return f"pour {missing:.1f} g", action("pour", tube, amount_g=missing, **gains), used

    def _gains(self, context: Context, grams: float) -> tuple[dict[str, float], tuple[str, ...]]:
        first = not context.belief.known(BEAKER, "additions").value
        if first and self.gains:
            return dict(self.gains), ()
        if first and self.habits.memory == "experience":
            for entry, draft in of_kind(context.advice, "gains", liquid=context.target.liquid):
                found = numbers(draft)
                if {"kp", "kd", "pre_stop"} <= found.keys():
                    return {
                        name: within(context.goal, "pour", name, found[name]) for name in ("kp", "kd", "pre_stop")
                    }, (entry,)
        if first:
            return {"pre_stop": min(0.6, grams / 2)}, ()
        rest = gentle(grams)
        del rest["amount_g"]
        return rest, ()


def _narrowed(target: Target) -> Target:
    """Return a target with the guard taken from its tolerances."""
    return replace(
        target, ph_tolerance=target.ph_tolerance - GUARD_PH, ec_tolerance=max(0.0, target.ec_tolerance - GUARD_EC)
    )
