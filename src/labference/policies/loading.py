"""How the built-in systems load a centrifuge: by what they see before each operation, or by their first plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from labference.motion import Arm
from labference.sight import TubesView, see_tubes
from labference.wire import Fact, Goal, Observation, Operation, Script, Target
from labference.wire.tubes import SLOT_DEPTH, SLOTS, opposite

from .modular import Seen
from .tube_hands import holding, look, seat, take, withdraw

FULL = 0.60
"""Share of the depth from which a tube counts as seated, from the goal text."""
TUBES = 2
ASSURANCE_S = 6.0
"""How long the rotor must look right before the task counts as finished [s]: twice the terminal window."""
DOWN = (0.0, 0.0, -1.0)
WAIT, STOP = Operation("wait"), Operation("stop")


class LoadingBySight:
    """Eyes, mind and hands of the reader at a centrifuge."""

    def __init__(self, arm: Arm, goal: Goal, chance: np.random.Generator) -> None:
        self._arm, self._goal, self._chance = arm, goal, chance
        self._hood_to_come = "hood" in goal.instruction
        self._agreed: float | None = None
        self._first = True

    def look(self, observation: Observation) -> Script[Seen]:
        """Park with whatever the hand holds, and look."""
        last = yield from look(self._arm, observation)
        return Seen(last.observation, last.view, facts_of(last.view, holding(last.observation), self._goal.items))

    def decide(self, facts: tuple[Fact, ...], now: float) -> Operation:
        """Return what the rotor calls for; stop when it has looked right for long."""
        where = {fact.name: str(fact.value) for fact in facts}
        held = next((item for item in where if where[item] == "hand"), None)
        full = {item: int(place[5:]) for item, place in where.items() if place.startswith("slot ")}
        if held is not None:
            self._agreed = None
            return Operation("insert", held, f"slot {self._slot(where, full)}")
        tube = self._next(where, full)
        if tube is not None:
            self._agreed = None
            return Operation("pick", tube)
        if len(full) < TUBES:
            return WAIT
        self._agreed = now if self._agreed is None else self._agreed
        return STOP if now - self._agreed >= ASSURANCE_S else WAIT

    def locate(self, seen: Seen, operation: Operation) -> tuple[Target, ...]:
        """Return where the tube of a pick stands, or the mouth of the slot of an insertion."""
        view: TubesView = seen.view
        if operation.kind == "insert":
            rotor = view.rotor
            return () if rotor is None else (Target(operation.place, rotor.slot(int(operation.place[5:])), DOWN),)
        colour = operation.item.split()[0]
        found = [tube for tube in view.tubes if tube.cap.colour == colour]
        return tuple(Target(operation.item, tube.cap.base, DOWN) for tube in found[:1])

    def carry_out(self, seen: Seen, operation: Operation, targets: tuple[Target, ...]) -> Script[Observation]:
        """Take a tube, or seat the one in the hand; after the first, let the hood come."""
        observation, view = seen.observation, seen.view
        name = operation.item if operation.kind == "pick" else operation.place
        at = next((target.position for target in targets if target.name == name), None)
        if at is None:
            return observation
        if operation.kind == "pick":
            return (yield from take(self._arm, observation, at, clear_of(view, at)))
        observation = yield from seat(self._arm, observation, at, SLOT_DEPTH, clear_of(view, at))
        if self._hood_to_come and self._first:
            observation = yield from withdraw(self._arm, observation)
        return observation

    def done(self, operation: Operation) -> None:
        """Remember that the first insertion is over."""
        self._first &= operation.kind != "insert"

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Remember whether the first insertion is over; the rotor says the rest."""
        if operation is not None:
            self.done(operation)

    def _slot(self, where: dict[str, str], full: dict[str, int]) -> int:
        """Return the slot opposite the one seated tube, or any free one whose opposite is free."""
        if len(full) == 1:
            return opposite(next(iter(full.values())))
        stuck = {int(place.split()[1]) for place in where.values() if place.startswith("unseated ")}
        free = [slot for slot in range(SLOTS) if not {slot, opposite(slot)} & (stuck | set(full.values()))]
        return int(free[self._chance.integers(len(free))])

    def _next(self, where: dict[str, str], full: dict[str, int]) -> str | None:
        """Return the tube to take: one that is stuck, one outside, or one of two that are not opposite."""
        stuck = [item for item, place in where.items() if place.startswith("unseated ")]
        outside = [item for item in where if item not in full]
        if stuck or outside:
            return (stuck or outside)[0]
        slots = list(full.values())
        return next(iter(full)) if len(slots) == TUBES and slots[1] != opposite(slots[0]) else None


class LoadingByPlan(LoadingBySight):
    """Decide every operation at the first look, and never again."""

    def __init__(self, arm: Arm, goal: Goal, chance: np.random.Generator) -> None:
        super().__init__(arm, goal, chance)
        self._plan: list[Operation] | None = None

    def decide(self, facts: tuple[Fact, ...], now: float) -> Operation:
        """Return the next operation of the plan."""
        if self._plan is None:
            self._plan = self._planned({fact.name: str(fact.value) for fact in facts})
        return self._plan[0] if self._plan else STOP

    def done(self, operation: Operation) -> None:
        """Go on, whatever came of it."""
        super().done(operation)
        if self._plan:
            self._plan.pop(0)

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Plan at the first sight of the bench, and go on in the plan with every operation that was carried out."""
        if self._plan is None and observation.senses.frames:
            view = see_tubes(observation.senses)
            facts = facts_of(view, holding(observation), self._goal.items)
            self._plan = self._planned({fact.name: str(fact.value) for fact in facts})
        if operation is None or not self._plan:
            return
        if operation.kind == "pick" and operation.item != self._plan[0].item:
            # The tubes are alike: whichever was taken first is the first of the plan.
            one, two = self._goal.items
            self._plan = [replace(step, item=two if step.item == one else one) for step in self._plan]
        self.done(operation)

    def _planned(self, where: dict[str, str]) -> list[Operation]:
        full = {item: int(place[5:]) for item, place in where.items() if place.startswith("slot ")}
        first = next(iter(full.values())) if full else int(self._chance.integers(SLOTS))
        slots = [opposite(first)] if full else [first, opposite(first)]
        waiting = sorted((item for item in where if item not in full), key=lambda item: where[item] != "hand")
        plan = []
        for item, slot in zip(waiting, slots, strict=False):
            picks = [] if where[item] == "hand" else [Operation("pick", item)]
            plan += [*picks, Operation("insert", item, f"slot {slot}")]
        return plan


def facts_of(view: TubesView, held: bool, items: tuple[str, ...]) -> tuple[Fact, ...]:
    """Return where each tube is, in the words of the state interface; a tube not seen is the one in the hand."""
    where: dict[str, str] = {}
    for tube in view.tubes:
        item = next((name for name in items if name.startswith(tube.cap.colour)), None)
        if item is not None and tube.place != "elsewhere":
            slot = tube.place.startswith("slot ")
            stuck = slot and tube.depth is not None and tube.depth < FULL
            where[item] = tube.place.replace("slot", "unseated") if stuck else tube.place
    missing = [item for item in items if item not in where]
    if held and len(missing) == 1:
        where[missing[0]] = "hand"
    return tuple(Fact(item, where[item]) for item in items if item in where)


def clear_of(view: TubesView, at: tuple[float, float, float]) -> list[tuple[float, float, float]]:
    """Return the caps of all tubes but one that stands at `at` [m]."""
    return [entry for entry in view.outlines() if np.hypot(entry[0] - at[0], entry[1] - at[1]) > 0.02]
