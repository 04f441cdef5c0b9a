"""The contracts of the two tube tasks on hand-made measurements: every outcome, and what it makes legal and wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labference.tasks import centrifuge, recall
from labference.truth import events as ev
from labference.truth.identity import Seeds
from labference.truth.measurement import (
    ENVIRONMENT,
    HANDOFF,
    LEFT,
    LENGTH,
    POLICY,
    RIGHT,
    TURN,
    Block,
    Channels,
    Pose,
    Setup,
)
from labference.truth.referee import Referee
from labference.truth.verdict import Verdict, judge
from labference.wire import Operation
from labference.wire.tubes import CAP_HEIGHT, GRIP_HEIGHT, HOLES, opposite

BASIC, EXTENDED = centrifuge.TASKS
RECALL, RECALL_EXTENDED = recall.TASKS
GRIP = 1 << LEFT | 1 << RIGHT
RED, BLUE = centrifuge.ITEMS
TUBE, ONE, TWO, THREE = (recall.TUBE, *recall.DISTRACTORS)
SEEDS = Seeds(1, 2, 3, 4, 5)
WAIT, STOP = Operation("wait"), Operation("stop")
HIGH = 0.30


def pick(item: str) -> Operation:
    return Operation("pick", item)


def insert(item: str, slot: object) -> Operation:
    return Operation("insert", item, f"slot {slot}" if isinstance(slot, int) else str(slot))


def retrieve(place: str) -> Operation:
    return Operation("retrieve", TUBE, place)


@dataclass
class Film:
    """Compose what a robot, a fixture and tubes do, in control periods of 25 ticks."""

    contract: Any
    instance: Any
    setup: Setup = field(init=False)
    channels: Channels = field(init=False)
    fixtures: dict[str, Pose] = field(init=False)
    poses: dict[str, Pose] = field(init=False)
    touch: dict[str, int] = field(init=False)
    hand: tuple[float, float, float] = (0.3, 0.0, HIGH)
    opening: tuple[float, float] = (0.08, 0.08)
    tick: int = -1000
    generation: int = 0
    blocks: list[Block] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.setup = self.contract.setup(self.instance, SEEDS)
        surfaces = ("table", "stand", self.fixture)
        self.channels = Channels(tuple(self.contract.shapes()), surfaces, (), tuple(self.setup.fixtures), 0.002)
        self.fixtures, self.poses = dict(self.setup.fixtures), dict(self.setup.items)
        self.touch = {}
        for item, place in self.contract.located(self.contract.start(self.instance)).items():
            self.touch[item] = 0 if place == "elsewhere" else self._bit(place)
        if self.setup.held is not None:
            self.touch[self.setup.held[0]], self.opening = GRIP, (0.022, 0.0)
            self.poses[self.setup.held[0]] = Pose(0.3, 0.0, HIGH - GRIP_HEIGHT)
        self.play(2.0)

    @property
    def fixture(self) -> str:
        return "rack" if "rack" in self.setup.fixtures else "rotor"

    @property
    def sockets(self) -> Any:
        return recall.SOCKETS if self.fixture == "rack" else centrifuge.SOCKETS

    def _bit(self, place: str) -> int:
        surface = place if place in ("table", "stand") else "table" if place == "region" else self.fixture
        return self.channels.bit(surface)

    def play(self, seconds: float, *, control: int = POLICY, moving: str = "") -> Film:
        """Append `seconds` in which nothing changes."""
        ticks = round(seconds / 0.002)
        return self._append({}, np.tile(self.hand, (ticks, 1)), control, moving)

    def _append(self, paths: dict[str, np.ndarray], hand: np.ndarray, control: int = POLICY, moving: str = "") -> Film:
        ticks, items = len(hand), self.channels.items
        pose = np.zeros((ticks, len(items) + 1, 7))
        for column, item in enumerate(items):
            at = self.poses[item]
            pose[:, column] = (at.x, at.y, at.z, *_turn(at))
            if item in paths:
                pose[:, column, :3] = paths[item]
        pose[:, -1, :3], pose[:, -1, 4] = hand, 1.0
        fixtures = np.array([(f.x, f.y, f.z, *_turn(f)) for f in self.fixtures.values()])
        grid = np.array([LENGTH] * 3 + [TURN] * 4)
        pose, fixtures = (np.rint(rows / grid).astype(np.int32) for rows in (pose, fixtures))
        speed = np.zeros((ticks, len(items), 2), np.int32)
        if moving:
            speed[:, items.index(moving), 0] = 1000
        touch = np.tile(np.array([*(self.touch[item] for item in items), 0], np.uint16), (ticks, 1))
        width = np.tile(np.rint(np.array(self.opening) / LENGTH).astype(np.int32), (ticks, 1))
        for first in range(0, ticks, 25):
            rows = slice(first, min(first + 25, ticks))
            size = rows.stop - first
            self.blocks.append(
                Block(
                    self.tick,
                    pose[rows],
                    speed[rows],
                    touch[rows],
                    width[rows],
                    np.zeros((size, 0), np.float32),
                    fixtures,
                    control,
                    self.generation,
                )
            )
            self.tick += size
        return self

    def grasp(self, item: str, seconds: float = 0.2) -> Film:
        """Close on `item` where it is."""
        at = self.poses[item]
        self.hand, self.opening = (at.x, at.y, at.z + GRIP_HEIGHT), (0.022, 0.0)
        self.touch[item] |= GRIP
        return self.play(seconds)

    def lift(self, item: str) -> Film:
        """Raise `item`, which is in the hand, above everything."""
        at = self.poses[item]
        self.touch[item] = GRIP
        self.poses[item] = replace(at, z=HIGH - GRIP_HEIGHT)
        self.hand = (at.x, at.y, HIGH)
        return self.play(0.3)

    def take(self, item: str) -> Film:
        return self.grasp(item).lift(item)

    def enter(self, item: str, place: str, share: float = 0.9) -> Film:
        """Bring the held `item` over `place` and push it in as far as `share` of the depth."""
        end = self.sockets.seat(place, self.fixtures[self.fixture], share, 0.0)
        start = self.sockets.seat(place, self.fixtures[self.fixture], -0.6, 0.0)
        self.poses[item], self.touch[item] = start, GRIP
        self.hand = (start.x, start.y, start.z + GRIP_HEIGHT)
        self.play(0.2)
        path = np.linspace((start.x, start.y, start.z), (end.x, end.y, end.z), round((start.z - end.z) / 0.05 / 0.002))
        self._append({item: path}, path + np.array((0.0, 0.0, GRIP_HEIGHT)))
        self.poses[item], self.hand = end, (end.x, end.y, end.z + GRIP_HEIGHT)
        self.touch[item] = GRIP | (self._bit(place) if share > 0.1 else 0)
        return self.play(0.1)

    def out(self, item: str) -> Film:
        """Draw the held `item` 20 mm over the mouths again."""
        self.poses[item] = replace(self.poses[item], z=self.sockets.height + 0.02)
        self.touch[item] = GRIP
        return self.play(0.2)

    def release(self, item: str, place: str, share: float = 0.9, rest: float = 0.8) -> Film:
        """Open the hand; `item` comes to rest at `place`."""
        self.touch[item], self.opening = self._bit(place), (0.042, 0.042)
        self.poses[item] = self._at(item, place, share)
        return self.play(0.1, moving=item).play(rest)

    def _at(self, item: str, place: str, share: float) -> Pose:
        if place in self.sockets.names:
            return self.sockets.seat(place, self.fixtures[self.fixture], share, 0.0)  # type: ignore[no-any-return]
        if place == "region":
            return replace(self.fixtures["region"], z=0.0003)
        if place == "stand":
            return self.setup.items[item]
        return Pose(0.35, 0.05 * self.channels.items.index(item), 0.0)

    def put(self, item: str, place: str, share: float = 0.9) -> Film:
        """Insert the held `item`, let go, and withdraw to just below the height that counts."""
        self.enter(item, place, share).release(item, place, share)
        self.hand = (*self.hand[:2], 0.24)
        return self.play(0.1)

    def withdraw(self) -> Film:
        """Rise, and stay until that counts as withdrawn."""
        self.hand = (*self.hand[:2], HIGH)
        return self.play(0.2)

    def hood(self, **places: str) -> Film:
        """Let the environment act: `places` says where it puts tubes."""
        self.play(0.6, control=ENVIRONMENT)
        if "rack" in self.setup.after:
            self.fixtures["rack"] = self.setup.after["rack"]
        self.generation += 1
        for item, place in places.items():
            name, _, share = place.partition("@")
            self.poses[item.replace("_", " ")] = self._at(item, name, float(share or 0.9))
            self.touch[item.replace("_", " ")] = self._bit(name)
        self.play(1.6, control=ENVIRONMENT)
        return self.play(0.05, control=HANDOFF)

    def approach(self, hole: str) -> Film:
        """Come down with the open hand on the cap of a seated tube, and stop above it."""
        x, y, _ = self.sockets.regions(self.fixtures["rack"])[hole].mouth
        top = recall.CAP_TOPS
        down = np.linspace((x, y, top + 0.10), (x, y, top + 0.005), round(0.095 / 0.1 / 0.002))
        self.opening = (0.05, 0.05)
        self.hand = (x, y, top + 0.10)
        self.play(0.3)
        self._append({}, down)
        self.hand = (x, y, top - CAP_HEIGHT / 2)
        return self


def _turn(pose: Pose) -> tuple[float, float, float, float]:
    return math.cos(pose.yaw / 2), 0.0, 0.0, math.sin(pose.yaw / 2)


@dataclass
class Found:
    referee: Referee
    usurped: int | None
    delivered: list[int]

    @property
    def state(self) -> Any:
        return self.referee.state

    @property
    def legal(self) -> set[Operation]:
        return set(self.referee.contract.legal(self.referee.state))

    @property
    def verdict(self) -> Verdict:
        return judge(self.referee.history)

    def named(self, kind: type) -> list[Any]:
        return [event for event in self.referee.history if isinstance(event, kind)]

    @property
    def notes(self) -> list[str]:
        return [event.category for event in self.named(ev.Noted)]

    @property
    def choices(self) -> list[tuple[Operation, bool]]:
        return [(event.operation, event.correct) for event in self.named(ev.Chosen)]


def judged(film: Film, *, reports: bool = False) -> Found:
    """Deliver an observation whenever evidence waits, and note whether the environment acts exactly when due."""
    referee = Referee(film.contract, film.instance, film.channels, reports=reports)
    found = Found(referee, None, [])
    for block in film.blocks:
        environment = referee.hidden or referee.due
        if block.tick >= 0 and found.usurped is None and environment != (block.control != POLICY):
            found.usurped = block.tick
        referee.observe(block, ())
        if block.end >= 0 and referee.pending:
            found.delivered.append(block.end)
            referee.deliver(len(found.delivered), block.end)
    return found


def loading(slot: int = 3, first: str = "seated", *, held: bool = False) -> Film:
    return Film(BASIC, centrifuge.Instance(centrifuge.Kind(first, slot, held), RED, (0.0, 0.0, 0.0)))


def extended(change: str = "kept") -> Film:
    return Film(EXTENDED, centrifuge.Instance(centrifuge.Kind(change=change), RED, (0.0, 0.0, 0.0)))


def remembering(hole: str = "") -> Film:
    return Film(RECALL, recall.Instance(recall.Kind("red", hole=hole), ()))


def among_others(hole: str = "", move: str = "half turn") -> Film:
    kind = recall.Kind("red", "same", move, hole)
    return Film(RECALL_EXTENDED, recall.Instance(kind, ("A2", "B1", "C4")))


# --- centrifuge: what is legal


@pytest.mark.parametrize("slot", range(12))
def test_the_second_tube_goes_opposite_the_first(slot: int) -> None:
    film = loading(slot)
    assert judged(film).legal == {pick(BLUE)}
    found = judged(film.take(BLUE))
    assert found.legal == {insert(BLUE, opposite(slot))}
    found = judged(film.put(BLUE, f"slot {opposite(slot)}").withdraw().play(3.0))
    assert found.legal == {STOP}
    assert found.verdict.clean and found.verdict.valid and not found.verdict.recovered
    assert found.choices == [(pick(BLUE), True), (insert(BLUE, opposite(slot)), True)]
    assert (found.verdict.correct_attempts, found.verdict.correct_confirmed) == (2, 2)
    assert found.verdict.coverage == (2, 2)


def test_a_grasp_that_has_not_lifted_yet_is_no_state_to_act_in() -> None:
    film = loading().grasp(BLUE)
    found = judged(film)
    assert found.legal == {WAIT} and BASIC.evidence(found.state) is None
    film.touch[BLUE], film.opening = film._bit("stand"), (0.08, 0.08)
    found = judged(film.play(0.8))
    assert found.legal == {pick(BLUE)}
    assert found.notes == ["operation_failure"] and not found.named(ev.Deviated)
    assert found.verdict.decisions[0].correct and len(found.verdict.decisions) == 2


def test_any_slot_is_right_for_the_first_of_two_tubes() -> None:
    film = extended()
    assert judged(film).legal == {pick(RED), pick(BLUE)}
    found = judged(film.take(BLUE))
    assert found.legal == {insert(BLUE, slot) for slot in range(12)}


def test_the_slot_that_a_tube_ends_in_decides_and_not_the_one_it_entered() -> None:
    film = extended().take(RED).enter(RED, "slot 1").release(RED, "slot 2")
    found = judged(film)
    (deviated,) = found.named(ev.Deviated)
    assert (deviated.item, deviated.intended, deviated.place) == (RED, "slot 1", "slot 2")
    assert found.notes == ["operation_failure"]
    assert found.legal == {WAIT}, "the hood is to come"
    found = judged(film.withdraw().hood().take(BLUE))
    assert found.usurped is None
    assert found.legal == {insert(BLUE, 8)}
    found = judged(film.put(BLUE, "slot 8").play(3.2))
    assert found.verdict.valid and not found.verdict.clean
    assert found.verdict.deviations == ((deviated.tick, RED, "slot 1", "slot 2"),)


@pytest.mark.parametrize("share", [0.25, 0.4, 0.55])
def test_a_shallow_tube_comes_first_and_nothing_else_is_legal(share: float) -> None:
    film = extended().take(RED).put(RED, "slot 4", share).withdraw()
    found = judged(film)
    assert found.usurped is None and not found.referee.due, "no hood over an unfinished placement"
    assert found.legal == {pick(RED)}
    assert found.notes == ["operation_failure"]
    (deviated,) = found.named(ev.Deviated)
    assert (deviated.intended, deviated.place) == ("slot 4", "unseated 4")
    found = judged(film.take(BLUE))
    assert found.choices[-1] == (pick(BLUE), False)


def test_a_shallow_tube_that_is_seated_after_all_is_recovered() -> None:
    film = loading(3).take(BLUE).put(BLUE, "slot 9", 0.4).take(BLUE).put(BLUE, "slot 9").play(3.2)
    verdict = judged(film).verdict
    assert verdict.valid and verdict.recovered and not verdict.clean
    assert all(decision.correct for decision in verdict.decisions if decision.physical)
    assert verdict.correct_attempts == 4 and verdict.correct_confirmed == 3


def test_a_tube_stuck_at_the_start_is_taken_before_the_other() -> None:
    found = judged(loading(5, "raised"))
    assert found.legal == {pick(RED)}
    assert judged(loading(5, "raised").take(BLUE)).choices == [(pick(BLUE), False)]


@pytest.mark.parametrize("wrong", [3, 4, 7, 10])
def test_the_second_tube_in_a_wrong_slot_is_a_wrong_choice_and_either_may_move(wrong: int) -> None:
    film = loading(2).take(BLUE).put(BLUE, f"slot {wrong}").withdraw().play(4.0)
    found = judged(film)
    assert found.choices[-1] == (insert(BLUE, wrong), False)
    assert not found.referee.completed and found.legal == {pick(RED), pick(BLUE)}
    film.take(BLUE).put(BLUE, "slot 8").play(3.2)
    verdict = judged(film).verdict
    assert verdict.valid and verdict.recovered and not verdict.clean


def test_a_held_second_tube_leaves_only_the_insertion_to_choose() -> None:
    film = loading(7, held=True)
    found = judged(film)
    assert found.legal == {insert(BLUE, 1)} and not found.choices
    found = judged(film.put(BLUE, "slot 1").play(3.2))
    assert found.choices == [(insert(BLUE, 1), True)]
    assert found.verdict.valid and found.verdict.clean and found.verdict.attempts == 0
    assert judged(loading(7, held=True).put(BLUE, "slot 2")).choices == [(insert(BLUE, 2), False)]


def test_a_tube_dropped_on_the_way_fails_its_pick_and_must_be_taken_again() -> None:
    film = loading(3).take(BLUE)
    film.opening = (0.0, 0.0)
    film.touch[BLUE], film.poses[BLUE] = 0, Pose(0.4, 0.0, 0.1)
    film.play(0.1, moving=BLUE)
    assert judged(film).legal == {WAIT}
    film.touch[BLUE], film.poses[BLUE] = film._bit("table"), Pose(0.4, 0.0, 0.0)
    found = judged(film.play(1.0))
    assert found.named(ev.Dropped) and found.legal == {pick(BLUE)}
    assert found.notes == ["operation_failure"]
    verdict = judged(film.take(BLUE).put(BLUE, "slot 9").play(3.2)).verdict
    assert verdict.valid and verdict.recovered and not verdict.clean


def test_a_tube_that_slips_and_is_caught_in_the_air_is_no_new_choice() -> None:
    film = loading(3).take(BLUE)
    film.touch[BLUE] = 0
    film.play(0.05, moving=BLUE)
    film.touch[BLUE] = GRIP
    film.play(0.3).put(BLUE, "slot 9").play(3.2)
    found = judged(film)
    assert len(found.named(ev.Grasped)) == 2
    assert found.choices == [(pick(BLUE), True), (insert(BLUE, 9), True)]
    assert found.notes == ["operation_failure", "recovery"]
    assert found.verdict.valid and found.verdict.recovered and not found.verdict.clean


def test_a_grasp_that_slips_before_it_lifts_and_closes_again_is_one_choice() -> None:
    film = loading(3).grasp(BLUE)
    film.touch[BLUE] = film._bit("stand")
    found = judged(film.play(0.06).take(BLUE).put(BLUE, "slot 9").play(3.2))
    assert found.choices == [(pick(BLUE), True), (insert(BLUE, 9), True)]
    assert found.notes == ["operation_failure", "recovery"] and not found.named(ev.Revised)


def test_the_first_slot_entered_is_frozen_and_the_next_is_a_revision() -> None:
    film = loading(3).take(BLUE).enter(BLUE, "slot 5", 0.3).out(BLUE).put(BLUE, "slot 9").play(3.2)
    found = judged(film)
    decision = found.verdict.decisions[1]
    assert decision.choice == insert(BLUE, 5) and decision.correct is False
    assert [operation for _, _, operation in decision.revisions] == [insert(BLUE, 9)]
    assert found.verdict.valid and not found.verdict.clean
    assert (found.verdict.correct_attempts, found.verdict.correct_confirmed) == (1, 1)


def test_a_right_entry_that_is_drawn_out_and_made_again_confirms_its_own_choice() -> None:
    film = loading(3).take(BLUE).enter(BLUE, "slot 9", 0.3).out(BLUE).put(BLUE, "slot 9").play(3.2)
    found = judged(film)
    assert found.verdict.clean and found.verdict.correct_confirmed == 2
    assert not found.named(ev.Revised)


def test_a_seated_tube_that_leaves_its_slot_again_reopens_the_task() -> None:
    film = loading(3).take(BLUE).put(BLUE, "slot 9").play(1.0)
    assert judged(film).legal == {STOP}
    film.poses[BLUE] = film._at(BLUE, "slot 9", 0.4)
    found = judged(film.play(0.1, moving=BLUE).play(0.8))
    assert found.legal == {pick(BLUE)} and found.named(ev.DwellBroken)
    assert not found.referee.completed


# --- the terminal window


def test_balance_must_last_three_uninterrupted_seconds() -> None:
    film = loading(3).take(BLUE).put(BLUE, "slot 9")
    settled = judged(film).named(ev.Settled)[-1].tick
    film.play((settled + 1450 - film.tick) * 0.002)
    film.play(0.01, moving=RED).play(2.9)
    found = judged(film)
    assert not found.referee.completed
    (broken,) = found.named(ev.DwellBroken)
    assert 0.85 * 1500 < broken.held < 1500
    found = judged(film.play(0.2))
    (completed,) = found.named(ev.Completed)
    assert completed.tick == broken.tick + 5 + 1500 - 1


@pytest.mark.parametrize("held", [GRIP, 1 << LEFT])
def test_a_tube_that_is_still_touched_never_completes(held: int) -> None:
    film = loading(3).take(BLUE).enter(BLUE, "slot 9").play(8.0)
    assert not judged(film).referee.completed
    film = loading(3).take(BLUE).put(BLUE, "slot 9")
    film.touch[BLUE] |= held
    assert not judged(film.play(8.0)).referee.completed


def test_a_fallen_tube_spoils_the_episode_for_good() -> None:
    film = loading(3).take(BLUE)
    film.touch[BLUE], film.poses[BLUE], film.opening = 0, Pose(1.5, 0.0, -0.5), (0.08, 0.08)
    found = judged(film.play(0.5, moving=BLUE))
    assert found.verdict.violations == ("item_off_bench",)


# --- centrifuge: the hood


@pytest.mark.parametrize(
    ("change", "place", "legal"),
    [
        ("kept", "slot 1", {insert(BLUE, 7)}),
        ("ahead", "slot 2", {insert(BLUE, 8)}),
        ("behind", "slot 0", {insert(BLUE, 6)}),
        ("raised", "slot 1@0.35", {pick(RED)}),
    ],
)
def test_what_the_rotor_shows_after_the_hood_decides(change: str, place: str, legal: set[Operation]) -> None:
    film = extended(change).take(RED).put(RED, "slot 1").withdraw()
    assert judged(film).referee.due
    film.hood(**{RED: place})
    found = judged(film)
    assert found.usurped is None
    assert len(found.named(ev.Hidden)) == len(found.named(ev.Revealed)) == 1
    assert [event.generation for event in found.named(ev.Rebuilt)] == [1]
    (hidden,), (revealed,) = found.named(ev.Hidden), found.named(ev.Revealed)
    opened = [event for event in found.named(ev.Opened) if event.tick >= hidden.tick]
    assert [event.tick for event in opened] == [revealed.tick], "nothing opens under the hood"
    assert found.legal == ({pick(BLUE)} if change != "raised" else {pick(RED)})
    if change != "raised":
        assert judged(film.take(BLUE)).legal == legal
        film.put(BLUE, next(iter(legal)).place).play(3.2)
    else:
        film.take(RED).put(RED, "slot 1")
        assert not judged(film.withdraw()).referee.due, "the hood comes once"
        film.take(BLUE).put(BLUE, "slot 7").play(3.2)
    found = judged(film)
    assert found.usurped is None and found.verdict.valid and found.verdict.clean, found.verdict
    assert all(correct for _, correct in found.choices)


@pytest.mark.parametrize("change", centrifuge.CHANGES)
def test_the_moment_of_the_hood_and_of_every_delivery_before_it_tells_nothing_of_the_change(change: str) -> None:
    film = extended(change).take(RED).put(RED, "slot 1").withdraw()
    found = judged(film)
    reference = judged(extended("kept").take(RED).put(RED, "slot 1").withdraw())
    assert found.delivered == reference.delivered and found.referee.due
    assert found.referee.snapshot() == reference.referee.snapshot()


def test_a_hand_that_never_withdraws_is_never_hidden_from_and_nothing_breaks() -> None:
    film = extended().take(RED).put(RED, "slot 1").play(10.0)
    found = judged(film)
    assert found.usurped is None and not found.named(ev.Hidden) and found.legal == {WAIT}
    assert not found.referee.completed


def test_taking_the_second_tube_before_withdrawing_is_a_wrong_choice_and_the_hood_stays_away() -> None:
    film = extended("ahead").take(RED).put(RED, "slot 1").grasp(BLUE)
    found = judged(film)
    assert found.choices[-1] == (pick(BLUE), False)
    found = judged(film.lift(BLUE))
    assert found.legal == {insert(BLUE, 7)} and not found.referee.due
    found = judged(film.put(BLUE, "slot 7").withdraw().play(3.2))
    assert found.usurped is None and not found.named(ev.Hidden)
    assert found.verdict.valid and not found.verdict.clean


def test_stopping_before_the_hood_is_early_and_brings_no_hood() -> None:
    film = extended().take(RED).put(RED, "slot 1").withdraw()
    found = judged(film)
    assert found.referee.due
    found.referee.stop(film.tick)
    assert not found.referee.due
    assert found.notes == ["early_termination"]


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_no_hood_while_the_other_tube_hangs_on_the_rotor(share: float) -> None:
    """What is carried one slot on below the hood must find that slot empty."""
    film = extended("ahead").take(RED).put(RED, "slot 1", share).take(BLUE).put(BLUE, "slot 0").withdraw()
    found = judged(film)
    assert found.legal == {pick(RED)} and not found.referee.due


def test_nothing_is_recognised_or_completed_while_the_environment_acts() -> None:
    film = extended().take(RED).put(RED, "slot 1").withdraw()
    before = len(judged(film).referee.history)
    film.play(0.6, control=ENVIRONMENT)
    film.hand = (*film.hand[:2], 0.1)
    film.play(1.0, control=ENVIRONMENT)
    late = judged(film).referee.history[before:]
    assert [type(event) for event in late] == [ev.Hidden]


# --- recall


def placed(film: Film, hole: str = "B3") -> Film:
    return film.take(TUBE).put(TUBE, hole).withdraw()


def test_any_empty_hole_is_right_and_the_place_where_the_tube_rests_is_bound() -> None:
    film = remembering()
    assert judged(film).legal == {pick(TUBE)}
    found = judged(film.take(TUBE))
    assert found.legal == {insert(TUBE, hole) for hole in HOLES}
    found = judged(film.enter(TUBE, "B3").release(TUBE, "B2").withdraw())
    assert [(event.intended, event.place) for event in found.named(ev.Deviated)] == [("B3", "B2")]
    assert found.referee.due and found.legal == {WAIT}
    found = judged(film.hood())
    assert found.usurped is None and found.legal == {retrieve("B2")} and found.state.bound == "B2"
    assert len(found.verdict.decisions) == 4


def test_a_taken_hole_is_no_choice() -> None:
    found = judged(among_others().take(TUBE))
    assert found.legal == {insert(TUBE, hole) for hole in HOLES if hole not in ("A2", "B1", "C4")}


@pytest.mark.parametrize("move", recall.MOVES)
def test_the_local_hole_is_what_counts_after_the_rack_has_moved(move: str) -> None:
    film = placed(among_others(move=move))
    film.hood(tube="B3", distractor_1="A2", distractor_2="B1", distractor_3="C4")
    film.approach("B3").grasp(TUBE).lift(TUBE).release(TUBE, "region", rest=3.8)
    found = judged(film)
    assert found.usurped is None and found.choices[-1] == (retrieve("B3"), True)
    assert not found.named(ev.Revised)
    assert found.verdict.valid and found.verdict.clean, found.verdict
    assert found.verdict.correct_confirmed == found.verdict.correct_attempts == 3


def test_a_tube_that_is_in_the_rack_from_the_start_is_shown_once_and_then_asked_for() -> None:
    film = among_others("C2")
    found = judged(film)
    assert found.delivered == [0] and found.legal == {WAIT} and found.referee.due
    assert not found.verdict.decisions[0].physical
    film.hood(tube="C2", distractor_1="A2", distractor_2="B1", distractor_3="C4")
    found = judged(film)
    assert found.usurped is None and found.legal == {retrieve("C2")}
    assert found.verdict.coverage == (0, 1)


def test_the_first_hole_approached_is_frozen_whatever_is_grasped_later() -> None:
    film = placed(remembering()).hood(tube="B3").approach("A1").withdraw()
    found = judged(film)
    assert found.choices[-1] == (retrieve("A1"), False)
    film.approach("B3").grasp(TUBE).lift(TUBE).release(TUBE, "region", rest=3.8)
    found = judged(film)
    decision = found.verdict.decisions[-2]
    assert decision.choice == retrieve("A1") and decision.correct is False
    assert [operation for _, _, operation in decision.revisions] == [retrieve("B3")]
    assert found.verdict.valid and found.verdict.recovered and not found.verdict.clean
    assert found.verdict.correct_confirmed == found.verdict.correct_attempts == 2


def test_a_right_approach_keeps_its_credit_when_the_grasp_fails() -> None:
    film = placed(remembering()).hood(tube="B3").approach("B3").withdraw().play(3.0)
    found = judged(film)
    assert found.choices[-1] == (retrieve("B3"), True)
    assert not found.verdict.physical and found.verdict.correct_confirmed == 2
    assert found.verdict.coverage == (3, 3)


def test_a_grasp_without_a_recognised_approach_is_the_choice() -> None:
    found = judged(placed(remembering()).hood(tube="B3").take(TUBE))
    assert found.choices[-1] == (retrieve("B3"), True) and found.legal == {WAIT}


@pytest.mark.parametrize("revealed", [False, True])
def test_taking_out_a_distractor_breaks_the_rules_for_good(revealed: bool) -> None:
    film = among_others()
    if revealed:
        film = placed(film).hood(tube="B3", distractor_1="A2", distractor_2="B1", distractor_3="C4")
    found = judged(film.grasp(ONE))
    assert not found.verdict.violations, "touching is none"
    assert found.choices[-1] == ((retrieve("A2") if revealed else pick(ONE)), False)
    found = judged(film.lift(ONE))
    assert found.verdict.violations == ("distractor_moved",)
    found = judged(film.release(ONE, "region", rest=4.0))
    assert not found.referee.completed


def test_whoever_holds_a_distractor_has_not_finished() -> None:
    found = judged(among_others().take(TUBE).put(TUBE, "B3").take(ONE))
    assert STOP not in found.legal
    found.referee.stop(found.referee.history[-1].tick)
    assert found.notes[-1] == "early_termination"


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_the_rack_takes_along_what_it_carries_seated_or_not(share: float) -> None:
    film = among_others().take(TUBE).put(TUBE, "B3")
    film.poses[ONE] = film._at(ONE, "A2", share)
    film.play(0.1, moving=ONE).play(0.8).withdraw()
    found = judged(film)
    if found.referee.due:
        carried = RECALL_EXTENDED.transition(found.state, film.setup).change.carried
        assert {carry.item for carry in carried} == {TUBE, ONE, TWO, THREE}


def test_a_dropped_sample_is_fetched_from_where_it_lies() -> None:
    film = placed(remembering()).hood(tube="B3").take(TUBE)
    film.touch[TUBE], film.poses[TUBE] = film._bit("table"), Pose(0.40, 0.02, 0.0)
    found = judged(film.play(1.0))
    assert found.legal == {retrieve("table")}
    assert [(event.intended, event.place) for event in found.named(ev.Deviated)] == [("region", "table")]
    found = judged(film.take(TUBE).release(TUBE, "region", rest=3.8))
    assert found.choices[-1] == (retrieve("table"), True)
    assert found.verdict.valid and found.verdict.recovered and not found.verdict.clean


def test_the_sample_beside_the_marked_square_is_not_there_yet() -> None:
    for aside, counts in ((0.059, True), (0.061, False)):
        film = placed(remembering()).hood(tube="B3").take(TUBE).release(TUBE, "region")
        at = film.fixtures["region"]
        film.poses[TUBE] = Pose(at.x + aside, at.y, 0.0003)
        film.play(0.1, moving=TUBE).play(4.0)
        assert judged(film).referee.completed is counts


def test_a_distractor_that_is_not_at_home_holds_up_completion() -> None:
    film = placed(among_others()).hood(tube="B3", distractor_1="A2", distractor_2="B1", distractor_3="C4")
    film.take(TUBE).release(TUBE, "region")
    film.poses[TWO] = film._at(TWO, "B1", 0.3)
    assert not judged(film.play(5.0)).referee.completed


def test_opportunities_open_at_the_same_moments_whichever_tube_is_taken() -> None:
    """Before the hood a grasp of the sample and one of a distractor look the same to whoever counts deliveries."""
    moments = []
    for item, hole in ((TUBE, "B3"), (ONE, "A2")):
        film = placed(among_others()).hood(tube="B3", distractor_1="A2", distractor_2="B1", distractor_3="C4")
        start = film.tick
        film.approach(hole).take(item).release(item, "region", rest=2.0)
        moments.append([tick - start for tick in judged(film).delivered if tick > start])
    assert moments[0] == moments[1]


# --- what deliveries tell, and how time is cut


def wander(film: Film, seed: int, held: str) -> Film:
    """Take tubes, put them here and there, approach and withdraw, without regard to what is asked."""
    rng = np.random.default_rng(seed)
    names = film.sockets.names
    for _ in range(6):
        taken = {film.poses[item] for item in film.poses}
        match int(rng.integers(4)):
            case 0 if film.fixture == "rack":
                film.approach(str(rng.choice(names)))
            case 1:
                film.withdraw()
            case 2:
                film.grasp(held).release(held, "table", rest=float(rng.choice([0.1, 0.8])))
            case _:
                place, share = str(rng.choice([*names, "table"])), float(rng.choice([0.3, 0.9]))
                if film.take(held)._at(held, place, share) in taken:
                    place = "table"
                if place == "table":
                    film.release(held, place)
                else:
                    film.enter(held, place, share).release(held, place, share, rest=float(rng.choice([0.2, 0.8])))
    return film.play(1.0)


@pytest.mark.parametrize("seed", range(12))
def test_deliveries_after_the_hood_do_not_depend_on_which_tube_the_sample_is(seed: int) -> None:
    """Whatever is done with the tube from B3, it makes no difference to the moments at which evidence is delivered."""
    moments = []
    for hole, other in (("B3", "A2"), ("A2", "B3")):
        kind = recall.Kind("red", "same", "turn", hole)
        film = Film(RECALL_EXTENDED, recall.Instance(kind, (other, "B1", "C4")))
        film.hood(tube=hole, distractor_1=other, distractor_2="B1", distractor_3="C4")
        found = judged(wander(film, seed, TUBE if hole == "B3" else ONE))
        assert found.usurped is None and found.verdict.attempts >= 0
        moments.append(found.delivered)
    assert moments[0] == moments[1]


@pytest.mark.parametrize("right", range(3))
def test_deliveries_do_not_tell_whether_a_tube_is_in_the_right_slot(right: int) -> None:
    moments = []
    for slot in (9, 5, 2):
        film = loading((9, 5, 2)[right] - 6 if (9, 5, 2)[right] >= 6 else (9, 5, 2)[right] + 6)
        moments.append(judged(film.take(BLUE).put(BLUE, f"slot {slot}").withdraw().play(2.0)).delivered)
    assert moments[0] == moments[1] == moments[2]


def recut(blocks: list[Block], cuts: list[int]) -> Iterator[Block]:
    """Yield the same ticks in blocks of other lengths; a block never spans a change of control or of a fixture."""
    lengths = itertools.cycle(cuts)
    alike = itertools.groupby(blocks, lambda b: (b.control, b.generation, b.fixtures.tobytes(), b.tick >= 0))
    for (control, *_), group in alike:
        run = list(group)
        if control == HANDOFF:
            yield from run
            continue
        columns = ("pose", "speed", "touch", "opening", "force")
        whole = {name: np.concatenate([getattr(block, name) for block in run]) for name in columns}
        start = 0
        while start < len(whole["pose"]):
            rows = slice(start, start + next(lengths))
            pieces = {name: values[rows] for name, values in whole.items()}
            yield replace(run[0], tick=run[0].tick + start, **pieces)
            start = rows.stop


FILMS: dict[str, Callable[[int], Any]] = {
    "loading": lambda seed: wander(loading(3), seed, BLUE),
    "recall": lambda seed: wander(remembering("B3").hood(tube="B3"), seed, TUBE),
    "hood": lambda _: extended("ahead").take(RED).put(RED, "slot 1").withdraw().hood(**{RED: "slot 2"}).take(BLUE),
}


@pytest.mark.parametrize("film_of", FILMS.values(), ids=FILMS)
@example(0, [1, 60, 1])
@settings(max_examples=3, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 199).map(lambda less: 200 - less), min_size=1, max_size=20))
def test_physical_events_do_not_depend_on_how_time_is_cut(
    film_of: Callable[[int], Any], seed: int, cuts: list[int]
) -> None:
    film, found = film_of(seed), []
    for blocks in (film.blocks, recut(film.blocks, cuts)):
        referee = Referee(film.contract, film.instance, film.channels)
        for block in blocks:
            referee.observe(block, ())
        kinds = ev.Physical | ev.Completed | ev.DwellBroken
        found.append(sorted((e for e in referee.history if isinstance(e, kinds)), key=lambda e: (e.tick, repr(e))))
        assert referee.contract.legal(referee.state)
    assert found[0] == found[1]


# --- places


def test_places_of_tubes_are_told_apart() -> None:
    film = loading(3)
    for place, share, expected in (
        ("slot 5", 0.9, "slot 5"),
        ("slot 5", 0.4, "unseated 5"),
        ("table", 0.0, "table"),
        ("stand", 0.0, "stand"),
    ):
        film.poses[BLUE], film.touch[BLUE] = film._at(BLUE, place, share), film._bit(place)
        film.play(0.05)
        place_ = BASIC.place(film.blocks[-1], film.channels)[0, film.channels.items.index(BLUE)]
        assert BASIC.places[place_] == expected
    film.touch[BLUE] = GRIP
    film.play(0.05)
    assert BASIC.place(film.blocks[-1], film.channels)[0, film.channels.items.index(BLUE)] == -1


@pytest.mark.parametrize("contract", [BASIC, EXTENDED, RECALL, RECALL_EXTENDED], ids=lambda task: task.name)
def test_legal_operations_of_any_state_are_words_that_a_report_may_use(contract: Any) -> None:
    """Wherever a tube may have come to rest, whoever reports can say what is legal then."""
    kinds = contract.strata()
    instance = contract.sample(kinds[0], np.random.default_rng(0))
    goal, start = contract.goal(instance), contract.start(instance)
    states = [start]
    if isinstance(start, recall.State):
        states.append(replace(start, revealed=True))
    unspeakable = set()
    for state, place in itertools.product(states, contract.places):
        item = next(iter(contract.located(state)))
        moved = contract.update(state, ev.Settled(1, item, place, "x", 1))
        for operation in contract.legal(moved):
            if operation.place not in ("", *goal.places) or operation.item not in ("", *goal.items):
                unspeakable.add(operation)
    assert not unspeakable
