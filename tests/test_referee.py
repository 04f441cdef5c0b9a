"""The referee on hand-made measurements: no physics, every tick chosen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.tasks.weighing import ITEMS, PAN, SAMPLE, TABLE, TASKS, Instance
from labference.truth import events as ev
from labference.truth.contract import replay
from labference.truth.measurement import HAND, LEFT, LENGTH, OK, RIGHT, Block, Channels, Readout
from labference.truth.referee import Referee
from labference.truth.verdict import judge
from labference.truth.window import Dwell
from labference.wire import Operation

BASIC, EXTENDED = TASKS
CHANNELS = Channels((*ITEMS, SAMPLE), ("table", "pan", "balance"), ("balance",), ("balance",), 0.002)
STANDS = np.zeros((1, 7), np.int32)
INSTANCE = Instance(target=180.0, sample=130.0, start=(), goal=(50,))
GRIP = 1 << LEFT | 1 << RIGHT
ADD_50, ADD_10, REMOVE_10 = (
    Operation("add", "50 g", "pan"),
    Operation("add", "10 g", "pan"),
    Operation("remove", "10 g", "table"),
)


@dataclass
class Film:
    """Compose measured blocks second by second."""

    where: dict[str, str] = field(default_factory=lambda: {name: "table" for name in ITEMS} | {SAMPLE: "pan"})
    tick: int = -1000
    blocks: list[tuple[Block, tuple[Readout, ...]]] = field(default_factory=list)

    def play(
        self,
        seconds: float,
        *,
        touch: dict[str, int] | None = None,
        lifted: str = "",
        hand_on: str = "",
        moving: str = "",
        opening: tuple[float, float] = (0.08, 0.08),
        reads: float | None = None,
        status: int = OK,
    ) -> None:
        """Append `seconds` of unchanging measurements; `reads` None means an unstable display."""
        ticks = round(seconds / CHANNELS.timestep)
        masks = [
            (0 if name == lifted else CHANNELS.bit(self.where[name])) | (touch or {}).get(name, 0)
            for name in CHANNELS.items
        ]
        speed = np.zeros((ticks, len(CHANNELS.items), 2), np.int32)
        if moving:
            speed[:, CHANNELS.items.index(moving), 0] = 1000
        pose = np.zeros((ticks, len(CHANNELS.items) + 1, 7), np.int32)
        widths = np.round(np.array(opening) / LENGTH).astype(np.int32)
        block = Block(
            self.tick,
            pose,
            speed,
            np.tile(np.array([*masks, CHANNELS.bit(hand_on) if hand_on else 0], np.uint16), (ticks, 1)),
            np.tile(widths, (ticks, 1)),
            np.zeros((ticks, 1), np.float32),
            STANDS,
        )
        value = np.full(ticks, 0.0 if reads is None else reads)
        readout = Readout(value, value, value, np.full(ticks, reads is not None), np.full(ticks, status, np.uint8))
        self.blocks.append((block, (readout,)))
        self.tick += ticks

    def settle(self, reads: float) -> None:
        """Append the preparation."""
        self.play(2.0, reads=reads)
        assert self.tick == 0

    def transfer(self, item: str, place: str, reads: float) -> None:
        """Grasp, carry and release `item` on `place`, then rest until the display is stable."""
        self.grasp(item)
        self.release(item, place, reads)

    def grasp(self, item: str, reads: float = 130.0) -> None:
        self.play(0.2, touch={item: GRIP}, opening=(0.025, 0.0), reads=reads)
        self.play(0.5, touch={item: GRIP}, lifted=item, opening=(0.025, 0.0), reads=reads)

    def release(self, item: str, place: str, reads: float) -> None:
        self.where[item] = place
        self.play(0.1, opening=(0.04, 0.04))
        self.play(1.5)
        self.play(0.5, reads=reads)


def judged(film: Film, instance: Instance = INSTANCE, contract=BASIC, *, reports: bool = False) -> Referee:
    """Feed a film to a referee, delivering an observation whenever new evidence waits."""
    referee = Referee(contract, instance, CHANNELS, reports=reports)
    number = 0
    for block, readouts in film.blocks:
        referee.observe(block, readouts)
        if block.end >= 0 and (referee.pending or number == 0):
            number += 1
            referee.deliver(number, block.end)
    return referee


def kinds(referee: Referee, *wanted: type) -> list[ev.Event]:
    return [event for event in referee.history if isinstance(event, wanted)]


def notes(referee: Referee) -> list[str]:
    return [event.category for event in kinds(referee, ev.Noted)]


@pytest.fixture
def film() -> Film:
    film = Film()
    film.settle(130.0)
    return film


def test_a_correct_transfer_is_chosen_confirmed_and_completed_clean(film):
    film.transfer("50 g", "pan", 180.0)
    film.play(3.1, reads=180.0)
    verdict = judge(judged(film).history)
    assert verdict.decisions[0].choice == ADD_50
    assert verdict.decisions[0].correct
    assert verdict.physical and verdict.valid and verdict.clean and not verdict.recovered
    assert (verdict.correct_attempts, verdict.correct_confirmed) == (1, 1)


def test_a_right_reading_with_the_wrong_subset_never_completes(film):
    film.transfer("10 g", "pan", 180.0)
    film.play(6.0, reads=180.0)
    assert not judged(film).completed


def test_dwell_counts_three_uninterrupted_seconds(film):
    film.transfer("50 g", "pan", 180.0)
    film.play(2.0, reads=180.0)
    film.play(0.01, reads=182.0)
    film.play(2.99, reads=180.0)
    referee = judged(film)
    assert not referee.completed
    assert kinds(referee, ev.DwellBroken)


def test_dwell_completes_at_the_exact_tick(film):
    film.transfer("50 g", "pan", 180.0)
    film.play(4.0, reads=180.0)
    referee = judged(film)
    settled = kinds(referee, ev.Settled)[-1].tick
    stable = kinds(referee, ev.Steadied)[-1].tick
    # The reading is right when it is stable; the supported set was confirmed before that.
    assert settled < stable
    assert kinds(referee, ev.Completed)[0].tick == stable + round(3.0 / CHANNELS.timestep) - 1


@pytest.mark.parametrize(
    "spoil",
    [
        {"hand_on": "pan"},
        {"touch": {"50 g": 1 << HAND}},
        {"touch": {SAMPLE: 1 << LEFT}},
        {"moving": "50 g"},
        {"reads": 181.1},
        {"reads": 178.9},
        {"reads": 180.0, "status": 1},
        {"reads": 180.0, "status": 3},
    ],
    ids=[
        "hand presses the pan",
        "hand touches the load",
        "finger on the sample",
        "still moving",
        "heavy",
        "light",
        "overload",
        "fault",
    ],
)
def test_the_terminal_predicate_fails_while(film, spoil):
    film.transfer("50 g", "pan", 180.0)
    film.play(6.0, **({"reads": 180.0} | spoil))
    assert not judged(film).completed


@pytest.mark.parametrize("reading", [179.0, 181.0])
def test_one_gram_off_is_within_tolerance(film, reading):
    film.transfer("50 g", "pan", reading)
    film.play(3.2, reads=reading)
    assert judged(film).completed


def test_a_held_weight_at_the_target_reading_never_counts(film):
    film.grasp("50 g")
    film.where["50 g"] = "pan"
    film.play(8.0, touch={"50 g": GRIP}, opening=(0.025, 0.0), reads=180.0)
    verdict = judge(judged(film).history)
    assert not verdict.physical
    assert verdict.decisions[0].correct  # the choice was right all the same


def test_a_missed_placement_leaves_its_obligation_open_and_asks_again(film):
    film.transfer("50 g", "table", 130.0)
    referee = judged(film)
    assert BASIC.legal(referee.state) == {ADD_50}
    assert len(kinds(referee, ev.Opened)) == 2
    assert notes(referee) == ["operation_failure"]


def test_a_failed_attempt_that_is_put_right_is_a_recovery_and_not_clean(film):
    film.transfer("50 g", "table", 130.0)
    film.transfer("50 g", "pan", 180.0)
    film.play(3.2, reads=180.0)
    verdict = judge(judged(film).history)
    assert verdict.valid and verdict.recovered and not verdict.clean
    assert [decision.correct for decision in verdict.decisions if decision.physical] == [True, True]
    assert (verdict.correct_attempts, verdict.correct_confirmed) == (2, 1)


def test_a_wrong_weight_keeps_its_choice_record_and_must_be_removed(film):
    film.transfer("10 g", "pan", 140.0)
    referee = judged(film)
    assert BASIC.legal(referee.state) == {ADD_50, REMOVE_10}
    film.transfer("10 g", "table", 130.0)
    film.transfer("50 g", "pan", 180.0)
    film.play(3.2, reads=180.0)
    verdict = judge(judged(film).history)
    assert [decision.correct for decision in verdict.decisions if decision.physical] == [False, True, True]
    assert verdict.valid and verdict.recovered and not verdict.clean


def test_the_first_choice_is_frozen_and_later_ones_are_revisions(film):
    film.play(0.2, touch={"10 g": GRIP}, opening=(0.018, 0.0), reads=130.0)
    film.play(0.1, reads=130.0)
    film.grasp("50 g")
    film.release("50 g", "pan", 180.0)
    verdict = judge(judged(film).history)
    first = verdict.decisions[0]
    assert first.choice == ADD_10 and first.correct is False
    assert [operation for _, _, operation in first.revisions] == [ADD_50]


def test_repeated_contact_with_one_item_is_one_choice_and_no_revision(film):
    for _ in range(3):
        film.play(0.2, touch={"50 g": GRIP}, opening=(0.025, 0.0), reads=130.0)
        film.play(0.06, reads=130.0)
    verdict = judge(judged(film).history)
    assert verdict.attempts == 3
    assert verdict.decisions[0].choice == ADD_50 and not verdict.decisions[0].revisions


@pytest.mark.parametrize(
    "contact",
    [
        {"touch": {"50 g": 1 << LEFT}, "opening": (0.025, 0.0)},
        {"touch": {"50 g": 1 << HAND}, "opening": (0.025, 0.0)},
        {"touch": {"50 g": GRIP}, "opening": (0.025, 0.025)},
    ],
    ids=["one finger", "the palm", "no closing effort"],
)
def test_it_is_no_choice_when_the_contact_is(film, contact):
    film.play(1.0, reads=130.0, **contact)
    assert not kinds(judged(film), ev.Grasped)


def test_a_bilateral_contact_shorter_than_the_threshold_is_no_choice(film):
    film.play(0.098, touch={"50 g": GRIP}, opening=(0.025, 0.0), reads=130.0)
    film.play(0.1, reads=130.0)
    assert not kinds(judged(film), ev.Grasped)


def test_unchanged_evidence_keeps_one_opportunity(film):
    for _ in range(40):
        film.play(0.05, reads=130.0)
    referee = Referee(BASIC, INSTANCE, CHANNELS)
    for number, (block, readouts) in enumerate(film.blocks):
        referee.observe(block, readouts)
        referee.deliver(number + 1, block.end)
    assert len(kinds(referee, ev.Opened)) == 1


def test_a_choice_after_the_response_window_is_late_and_the_opportunity_stays_unanswered(film):
    film.play(BASIC.response_s + 0.1, reads=130.0)
    film.transfer("50 g", "pan", 180.0)
    referee = judged(film)
    decision = judge(referee.history).decisions[0]
    assert decision.choice is None and decision.because == "response window"
    assert "late_choice" in notes(referee)


def test_the_next_grasp_before_the_new_reading_is_premature_and_not_scored(film):
    film.grasp("10 g")
    film.where["10 g"] = "pan"
    film.play(0.1, opening=(0.04, 0.04))
    film.play(0.6)  # settled, display still unsteady
    film.grasp("50 g")
    film.release("50 g", "pan", 190.0)
    referee = judged(film)
    assert "premature_advancement" in notes(referee)
    assert [decision.choice for decision in judge(referee.history).decisions[:1]] == [ADD_10]


def test_repeating_a_confirmed_operation_is_needless(film):
    film.transfer("50 g", "pan", 180.0)
    film.transfer("50 g", "table", 130.0)
    assert "needless_repetition" not in notes(judged(film))
    film.transfer("50 g", "pan", 180.0)
    film.transfer("50 g", "table", 130.0)
    assert notes(judged(film)).count("needless_repetition") == 1  # the second removal; adding it again was wanted


def test_stopping_with_an_open_obligation_is_early(film):
    referee = judged(film)
    referee.stop(10)
    assert notes(referee) == ["early_termination"]


def test_dropping_from_a_closed_gripper_is_told_apart_from_releasing(film):
    film.grasp("50 g")
    film.play(0.1, opening=(0.0, 0.0), lifted="50 g")
    film.play(1.0, opening=(0.0, 0.0), reads=130.0)
    referee = judged(film)
    assert kinds(referee, ev.Dropped) and not kinds(referee, ev.Released)


def test_a_fallen_weight_invalidates_completion_for_good(film):
    film.transfer("50 g", "pan", 180.0)
    film.play(0.5, moving="10 g", lifted="10 g", reads=180.0)
    block, readouts = film.blocks[-1]
    fallen = block.pose.copy()
    fallen[:, 0, 2] = round(-0.2 / LENGTH)
    film.blocks[-1] = (replace(block, pose=fallen), readouts)
    film.play(4.0, reads=180.0)
    verdict = judge(judged(film).history)
    assert verdict.physical and not verdict.valid and not verdict.clean
    assert verdict.violations == ("item_off_bench",)


def test_grasping_the_sample_breaks_the_protocol_for_good(film):
    film.play(0.3, touch={SAMPLE: GRIP}, opening=(0.03, 0.0), reads=130.0)
    film.transfer("50 g", "pan", 180.0)
    film.play(4.0, reads=180.0)
    verdict = judge(judged(film).history)
    assert verdict.physical and not verdict.valid


def test_a_sensor_fault_closes_the_evidence_until_the_window_is_valid_again(film):
    film.play(0.5, reads=None, status=3)
    referee = judged(film)
    assert kinds(referee, ev.Faulted)[0].source == "load cell of balance returned no force"
    assert BASIC.legal(referee.state) == {Operation("wait")}


def test_wait_is_scored_on_the_report_track_only_and_leaves_the_behavioural_decisions_alone(film):
    film.transfer("10 g", "pan", 140.0)
    film.transfer("10 g", "table", 130.0)
    film.transfer("50 g", "pan", 180.0)
    film.play(3.2, reads=180.0)
    verdicts = []
    for reports in (False, True):
        referee = Referee(BASIC, INSTANCE, CHANNELS, reports=reports)
        for number, (block, readouts) in enumerate(film.blocks):
            referee.observe(block, readouts)
            referee.deliver(number + 1, block.end)
        verdicts.append(judge(referee.history))
    silent, speaking = verdicts
    answers = [
        [(entry.legal, entry.choice, entry.correct) for entry in verdict.decisions if entry.physical]
        for verdict in verdicts
    ]
    assert answers[0] == answers[1]
    assert silent.recovered == speaking.recovered
    assert not any(entry.legal == (Operation("wait"),) for entry in silent.decisions)
    assert any(entry.legal == (Operation("wait"),) for entry in speaking.decisions)


@pytest.mark.parametrize("item", ["50 g", "10 g"])
def test_the_moment_of_a_delivery_does_not_tell_whether_a_placement_was_right(film, item):
    film.transfer(item, "pan", 180.0)
    referee = Referee(BASIC, INSTANCE, CHANNELS)
    waited = []
    for block, readouts in film.blocks:
        referee.observe(block, readouts)
        waited.append(referee.pending)
        referee.deliver(len(waited), block.end)
    assert waited == [True] + [False] * (len(waited) - 2) + [True]


def test_a_wrong_weight_that_is_put_back_is_recovered_from(film):
    film.transfer("10 g", "table", 130.0)
    film.transfer("50 g", "pan", 180.0)
    film.play(3.2, reads=180.0)
    verdict = judge(judged(film).history)
    assert verdict.valid and verdict.recovered and not verdict.clean


def test_a_report_after_the_response_window_is_late(film):
    film.play(BASIC.response_s + 0.1, reads=130.0)
    referee = judged(film, reports=True)
    referee.report(ADD_50, film.tick)
    assert "late_report" in notes(referee)
    assert judge(referee.history).decisions[0].report is None


def test_a_robot_that_touches_any_item_holds_up_completion(film):
    film.transfer("50 g", "pan", 180.0)
    film.play(6.0, reads=180.0, touch={"100 g": 1 << HAND})
    assert not judged(film).completed


def test_the_first_report_is_frozen_and_does_not_touch_the_behavioural_choice(film):
    referee = judged(film, reports=True)
    referee.report(ADD_10, 5)
    referee.report(ADD_50, 6)
    decision = judge(referee.history).decisions[0]
    assert decision.report == ADD_10 and decision.report_correct is False and decision.choice is None
    assert [operation for _, track, operation in decision.revisions if track == "report"] == [ADD_50]


def test_extended_removals_and_additions_are_legal_in_any_order():
    instance = Instance(target=220.0, sample=100.0, start=(50,), goal=(20, 100))
    state = EXTENDED.start(instance)
    legal = {Operation("remove", "50 g", "table"), Operation("add", "20 g", "pan"), Operation("add", "100 g", "pan")}
    assert EXTENDED.legal(state) == legal
    moves = [
        ev.Settled(1, "100 g", PAN, TABLE, 1),
        ev.Settled(2, "50 g", TABLE, PAN, 2),
        ev.Settled(3, "20 g", PAN, TABLE, 3),
    ]
    for order in (moves, moves[::-1]):
        assert EXTENDED.legal(replay(EXTENDED, state, order)) == {Operation("stop")}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=30))
def test_judgement_does_not_depend_on_how_time_is_cut(cuts):
    film = Film()
    film.settle(130.0)
    film.transfer("10 g", "pan", 140.0)
    film.transfer("10 g", "table", 130.0)
    film.transfer("50 g", "pan", 180.0)
    film.where["50 g"] = "table"
    film.grasp("50 g")
    film.where["50 g"] = "pan"
    film.play(5.5, reads=180.0)  # the reading is right before the placement is confirmed

    def physical(pieces):
        referee = Referee(BASIC, INSTANCE, CHANNELS)
        for block, readouts in pieces:
            referee.observe(block, readouts)
        found = [event for event in referee.history if isinstance(event, ev.Physical | ev.Completed | ev.DwellBroken)]
        return sorted(found, key=lambda event: event.tick)

    assert physical(list(recut(film, cuts))) == physical(film.blocks)


def recut(film: Film, cuts: list[int]):
    """Yield the same ticks in blocks of other lengths."""
    fields = ("pose", "speed", "touch", "opening", "force")
    whole = {name: np.concatenate([getattr(block, name) for block, _ in film.blocks]) for name in fields}
    series = [np.concatenate([getattr(readouts[0], name) for _, readouts in film.blocks]) for name in Readout._fields]
    start, turn = 0, 0
    while start < len(whole["pose"]):
        rows = slice(start, start + cuts[turn % len(cuts)])
        yield (
            Block(start - 1000, *(whole[name][rows] for name in fields), STANDS),
            (Readout(*(values[rows] for values in series)),),
        )
        start, turn = rows.stop, turn + 1


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 59))
def test_dwell_equals_a_plain_counter_whatever_the_split(condition, cut):
    values = np.array(condition)[:, None]
    dwell = Dwell(1)
    pieces = [piece for piece in (values[:cut], values[cut:]) if len(piece)]
    counted = np.concatenate([dwell.update(piece) for piece in pieces])[:, 0]
    plain, held = [], 0
    for value in condition:
        held = held + 1 if value else 0
        plain.append(held)
    assert counted.tolist() == plain


def test_a_wrong_weight_while_only_stopping_was_legal_is_not_clean(film):
    film.transfer("50 g", "pan", 180.0)
    film.transfer("10 g", "pan", 190.0)
    film.transfer("10 g", "table", 180.0)
    film.play(3.2, reads=180.0)
    verdict = judge(judged(film).history)
    assert verdict.valid and verdict.recovered and not verdict.clean


def test_knocking_a_confirmed_weight_off_ends_the_decision_it_was_made_for(film):
    film.transfer("50 g", "pan", 180.0)
    film.where["50 g"] = "table"
    film.play(0.3, moving="50 g")
    film.play(0.8)
    film.grasp("50 g")
    film.release("50 g", "pan", 180.0)
    found = judged(film)
    assert "needless_repetition" not in notes(found)
    assert "premature_advancement" in notes(found)


def test_a_motion_that_says_what_it_serves_is_not_an_answer_to_waiting(film):
    referee = Referee(BASIC, INSTANCE, CHANNELS, reports=True)
    film.transfer("50 g", "pan", 180.0)
    for number, (block, readouts) in enumerate(film.blocks):
        referee.observe(block, readouts)
        referee.deliver(number + 1, block.end)
        referee.commit(ADD_50, block.end)
    reports = [entry for entry in judge(referee.history).decisions if entry.report is not None]
    assert [entry.report_correct for entry in reports if entry.physical] == [True]
    assert all(entry.report is None for entry in reports if entry.legal == (Operation("wait"),))
