"""How the built-in systems place and recall a tube: by the hole they remember, or by a place in the room."""

from __future__ import annotations

from typing import Literal

import numpy as np

from labference.motion import Arm
from labference.sight import RackView, SeenTube, TubesView, see_tubes
from labference.wire import Fact, Observation, Operation, Script, Target
from labference.wire.tubes import HOLE_DEPTH, HOLES

from .loading import clear_of
from .modular import Seen
from .tube_hands import Point, TubeLook, holding, look, look_before_leaving, put_down, seat, take, withdraw

By = Literal["hole", "position", "plan"]
LOW = 0.20
"""Height to which the hand withdraws while the placement is looked at [m]."""
ASSURANCE_S = 6.0
"""How long the tube must be seen on the marked square before the task counts as finished [s]: twice the window."""
SEATED = 0.96
"""Share of the depth to which a hand seats a tube."""
DOWN = (0.0, 0.0, -1.0)
TUBE, REGION, HAND, TAKEN, EMPTY = "tube", "region", "hand", "tube", "empty"
WAIT, STOP = Operation("wait"), Operation("stop")


class Recalling:
    """Eyes, mind, memory and hands in placement recall.

    `by` says what is remembered: the hole of the rack in which the tube was seen, the position in the room where it was
    seen, or the position for which the placement was planned.
    """

    def __init__(self, arm: Arm, chance: np.random.Generator, by: By) -> None:
        self._arm, self._chance, self._by = arm, chance, by
        self._before: frozenset[str] | None = None
        self._hole = ""
        self._at: Point | None = None
        self._rack: RackView | None = None
        self._placed = self._fetching = self._tried = False
        self._agreed: float | None = None

    def look(self, observation: Observation) -> Script[Seen]:
        """Look from above; after the placement look before leaving first, and then let the hood come and go."""
        if self._placed and not self._fetching:
            last = yield from look_before_leaving(self._arm, observation)
            self._remember(last.view)
            last = yield from self._after_hood(last.observation)
        else:
            last = yield from look(self._arm, observation)
        if self._before is None and not self._fetching and last.view.rack is not None:
            self._before = frozenset(last.view.rack.seats)
            if len(self._before) == 1 and len(last.view.at("stand")) != 1:
                self._before, self._placed = frozenset(), True
                self._remember(last.view)
                last = yield from self._after_hood(last.observation)
        held = holding(last.observation)
        return Seen(last.observation, last.view, facts_of(last.view, held))

    def decide(self, facts: tuple[Fact, ...], now: float) -> Operation:
        """Take the tube, insert it in a free hole, and later retrieve it from the remembered one."""
        found = {fact.name: fact.value for fact in facts}
        if HAND not in found:  # nobody can tell whether the hand has let go of what it held
            return WAIT
        if not self._fetching:
            free = [hole for hole in HOLES if found.get(hole) == EMPTY]
            if self._hole not in free:
                self._hole = str(self._chance.permutation(free)[0]) if free else ""
            if found.get(HAND) != TAKEN:
                return Operation("pick", TUBE)
            return Operation("insert", TUBE, self._hole) if self._hole else WAIT
        if found.get(REGION) == TAKEN:
            self._agreed = now if self._agreed is None else self._agreed
            return STOP if now - self._agreed >= ASSURANCE_S else WAIT
        self._agreed = None
        if self._tried and self._by != "hole" and found.get(HAND) != TAKEN:
            return STOP
        return Operation("retrieve", TUBE, self._hole)

    def locate(self, seen: Seen, operation: Operation) -> tuple[Target, ...]:
        """Return where the tube, the hole and the marked square are, or where they are believed to be."""
        view: TubesView = seen.view
        if self._by == "plan" and self._at is None and view.rack is not None and self._hole:
            self._at = view.rack.hole(self._hole)
        if operation.kind == "pick":
            tube = _outside(view)
            return () if tube is None else (Target(TUBE, tube.cap.base, DOWN),)
        if operation.kind == "retrieve" and self._by != "hole":
            hole: tuple[Target, ...] = () if self._at is None else (Target(operation.place, self._at, DOWN),)
        else:
            hole = () if view.rack is None else (Target(operation.place, view.rack.hole(operation.place), DOWN),)
        square = () if view.region is None else (Target(REGION, (*view.region.centre, 0.0), DOWN),)
        return hole + square if operation.kind == "retrieve" else hole

    def carry_out(self, seen: Seen, operation: Operation, targets: tuple[Target, ...]) -> Script[Observation]:
        """Take, insert, or bring the tube."""
        observation, view = seen.observation, seen.view
        at = {target.name: target.position for target in targets}
        if operation.kind == "pick":
            base = at.get(TUBE)
            return (
                observation if base is None else (yield from take(self._arm, observation, base, clear_of(view, base)))
            )
        mouth = at.get(operation.place)
        if operation.kind == "insert":
            if mouth is None:
                return observation
            return (yield from seat(self._arm, observation, mouth, HOLE_DEPTH, clear_of(view, mouth), LOW))
        if not holding(observation):
            if mouth is None:
                return observation
            base = (mouth[0], mouth[1], mouth[2] - SEATED * HOLE_DEPTH)
            observation = yield from take(self._arm, observation, base, clear_of(view, base))
        square = at.get(REGION)
        if not holding(observation) or square is None:
            return observation
        last = yield from look(self._arm, observation)
        return (yield from put_down(self._arm, last.observation, square[:2], last.view.outlines()))

    def done(self, operation: Operation) -> None:
        """Remember how far things are."""
        self._placed |= operation.kind == "insert"
        self._tried |= operation.kind == "retrieve"

    def witness(self, observation: Observation, operation: Operation | None) -> None:
        """Remember from a prefix what it would have remembered acting itself: where the tube came to rest.

        A prefix goes on from a placement to the next choice, so the hood has been there by its end.
        """
        placed = operation is not None and operation.kind == "insert"
        looks = observation.senses.frames and (placed or self._rack is None)
        rack = see_tubes(observation.senses).rack if looks else None
        if rack is not None and self._rack is None:
            self._before, self._rack = frozenset(rack.seats), rack
        if operation is not None and placed:
            self._placed = self._fetching = True
            self._hole = operation.place
            self._at = None if self._rack is None else self._rack.hole(operation.place)
            self._bind(rack)

    def _after_hood(self, observation: Observation) -> Script[TubeLook]:
        self._fetching = True
        observation = yield from withdraw(self._arm, observation)
        return (yield from look(self._arm, observation))

    def _remember(self, view: TubesView) -> None:
        """Bind the tube to the hole that is taken now and was not before; without one, to the hole that was meant."""
        self._bind(view.rack)

    def _bind(self, rack: RackView | None) -> None:
        if rack is None:
            return
        new = set(rack.seats) - (self._before or frozenset())
        if new and (self._by != "plan" or self._at is None):
            self._hole = min(new)
            x, y, z = rack.seats[self._hole].cap.base
            self._at = (x, y, z + SEATED * HOLE_DEPTH)


def facts_of(view: TubesView, held: bool) -> tuple[Fact, ...]:
    """Return which places hold a tube, in the words of the state interface; nothing of what cannot be made out."""
    taken = set(view.rack.seats) if view.rack else set()
    empty = set(view.rack.empty) if view.rack else set()
    holes = tuple(Fact(hole, TAKEN if hole in taken else EMPTY) for hole in HOLES if hole in taken or hole in empty)
    square = () if view.region is None else (Fact(REGION, TAKEN if view.at(REGION) else EMPTY),)
    return (*holes, *square, Fact(HAND, TAKEN if held else EMPTY))


def _outside(view: TubesView) -> SeenTube | None:
    """Return a tube that is not in the rack."""
    outside = [tube for tube in view.tubes if tube.place not in HOLES and tube.place != "elsewhere"]
    return outside[0] if outside else None
