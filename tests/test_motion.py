"""The hands: kinematics and placing as mathematics, skills against an arm that obeys at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from labference.motion import (
    TUBE_TRANSIT,
    Arm,
    Disc,
    Grasp,
    Insertion,
    Placement,
    Rectangle,
    Unreachable,
    clear_yaw,
    free_spot,
    go,
    grasp_standing,
    grasp_tube,
    grip,
    home,
    insert,
    pick,
    place,
    release_opening,
    top_down,
    tube_insertion,
    tube_placement,
)
from labference.motion.grasp import finger_clearances
from labference.motion.insert import ENTRY, HOVER
from labference.motion.kinematics import HIGH, JOINT_SPEEDS, LOW
from labference.motion.path import minimum_jerk, paced, straight
from labference.motion.skill import PARKED, carried_out
from labference.wire import END_EFFECTOR, JOINT, Goal, Move, Observation, RobotState, Senses, Wait
from labference.wire.panda import HOME
from labference.wire.tubes import (
    CAP_RADIUS,
    GRIP_HEIGHT,
    HOLE_DEPTH,
    HOLES,
    RACK_MOUTH,
    ROTOR_MOUTH,
    SLOT_DEPTH,
    SLOTS,
    hole_position,
    slot_position,
)

ARM = Arm()
PERIOD = 0.05
GOAL = Goal("", (), (), ())
START = np.array((*HOME, 0.08))

quick = settings(max_examples=40, deadline=None)
places = st.tuples(st.floats(0.32, 0.60), st.floats(-0.33, 0.33), st.floats(0.01, 0.40)).map(np.array)
yaws = st.floats(-1.3, 1.3)
angles = st.floats(-np.pi, np.pi)
small = st.lists(st.floats(-0.01, 0.01), min_size=6, max_size=6).map(np.array)
outlines = st.lists(st.tuples(st.floats(0.3, 0.6), st.floats(-0.3, 0.0), st.floats(0.008, 0.02)), max_size=5)


class Bench:
    """An arm that obeys at once, holding something `width` wide when it closes, whose loop drops queues at `drops`."""

    def __init__(self, width: float = 0.0, drops: tuple[int, ...] = (), thinking: int = 0) -> None:
        self.thinking = thinking
        self.command, self.time, self.count, self.width, self.drops = START.copy(), 0.0, 0, width, list(drops)
        self.rows = [self.command]

    def observe(self) -> Observation:
        self.count += 1
        opening = max(self.width, float(self.command[7]))
        tcp = ARM.forward(self.command[:7])
        robot = RobotState(self.command[:7].copy(), np.zeros(7), opening, tcp, self.command.copy())
        return Observation(self.count, GOAL, Senses(self.time, robot))

    def obey(self, act) -> Observation:
        match act:
            case Move(commands):
                assert 0 < len(commands) <= JOINT.longest_chunk
                assert np.all((commands >= JOINT.low) & (commands <= JOINT.high))
                kept = commands[: self.drops.pop(0)] if self.drops else commands
                self.rows += list(kept)
                self.command, self.time = self.rows[-1].copy(), self.time + PERIOD * (len(kept) + self.thinking)
            case Wait(seconds):
                self.time += seconds
        return self.observe()

    def run(self, skill):
        """Run `skill(observation)` to its end; return what it returns."""
        script = skill(self.observe())
        try:
            act = next(script)
            while True:
                act = script.send(self.obey(act))
        except StopIteration as end:
            return end.value

    def moves_within_limits(self) -> bool:
        turns = np.abs(np.diff(np.array(self.rows)[:, :7], axis=0))
        return bool(np.all(turns <= JOINT_SPEEDS * PERIOD))


def distance(joints, position) -> float:
    return float(np.linalg.norm(ARM.forward(joints)[:3] - position))


@quick
@given(places, yaws)
def test_forward_undoes_inverse(position, yaw):
    joints = ARM.inverse(position, top_down(yaw), np.array(HOME))
    assert distance(joints, position) < 1e-4
    turned = Rotation.from_quat(ARM.forward(joints)[3:], scalar_first=True).as_matrix()
    np.testing.assert_allclose(turned, top_down(yaw), atol=1e-3)
    assert np.all((joints >= LOW) & (joints <= HIGH))


def test_inverse_accepts_a_quaternion():
    pose = ARM.forward(np.array(HOME))
    assert distance(ARM.inverse(pose[:3], pose[3:], np.array(HOME) + 0.1), pose[:3]) < 1e-4


@given(angles)
def test_top_down_is_a_rotation_that_points_down(yaw):
    turn = top_down(yaw)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    np.testing.assert_allclose(turn @ (0, 0, 1), (0, 0, -1), atol=1e-12)


def test_the_fingers_close_along_y_at_yaw_zero():
    np.testing.assert_allclose(np.abs(top_down(0.0) @ (0, 1, 0)), (0, 1, 0), atol=1e-12)


@pytest.mark.parametrize("position", [(1.2, 0.0, 0.2), (0.0, 0.0, 2.0), (0.82, 0.0, 0.01)])
def test_a_place_out_of_reach_is_named(position):
    with pytest.raises(Unreachable, match=rf"short of position \({position[0]:.3f}, .* m from the shoulder"):
        ARM.inverse(position, top_down(0.0), np.array(HOME))


@quick
@given(small, small)
def test_increments_compose(first, second):
    first, second = first * (1, 1, 1, 0, 0, 0), second * (1, 1, 1, 0, 0, 0)
    home_joints = np.array(HOME)
    apart = ARM.increment(ARM.increment(home_joints, first), second)
    target = ARM.forward(home_joints)[:3] + first[:3] + second[:3]
    assert distance(apart, target) < 1e-4


@quick
@given(small)
def test_an_increment_turns_about_the_axes_of_the_base(delta):
    before = Rotation.from_quat(ARM.forward(np.array(HOME))[3:], scalar_first=True)
    after = Rotation.from_quat(ARM.forward(ARM.increment(np.array(HOME), delta))[3:], scalar_first=True)
    np.testing.assert_allclose((after * before.inv()).as_rotvec(), delta[3:], atol=2e-4)


def test_no_increment_moves_nothing():
    np.testing.assert_array_equal(ARM.increment(np.array(HOME), np.zeros(6)), HOME)


@quick
@given(
    st.tuples(*(st.floats(low, high) for low, high in zip(LOW, HIGH, strict=True))).map(np.array),
    st.tuples(*(st.floats(low, high) for low, high in zip(END_EFFECTOR.low[:6], END_EFFECTOR.high[:6], strict=True))),
)
def test_any_legal_increment_stays_finite_slow_and_within_joint_limits(joints, delta):
    after = ARM.increment(joints, np.array(delta))
    assert np.all((after >= LOW) & (after <= HIGH))
    assert np.all(np.abs(after - joints) <= JOINT_SPEEDS * PERIOD)


def test_increments_against_the_end_of_the_reach_come_to_rest():
    joints = np.array(HOME)
    for _ in range(80):
        joints = ARM.increment(joints, np.array((0.05, 0.0, 0.0, 0.0, 0.0, 0.0)))
    assert np.all(np.isfinite(joints)) and np.all((joints >= LOW) & (joints <= HIGH))
    assert ARM.forward(joints)[0] > 0.7


def test_minimum_jerk_starts_and_ends_at_rest():
    phase = np.linspace(0, 1, 1001)
    progress = minimum_jerk(phase)
    assert progress[0] == 0 and progress[-1] == 1 and np.all(np.diff(progress) >= 0)
    assert progress[1] < 1e-8 and 1 - progress[-2] < 1e-8


@quick
@given(places, yaws, st.floats(0.1, 3.0))
def test_a_path_starts_at_the_command_ends_where_asked_and_obeys_the_joint_speeds(position, yaw, speed):
    rows = straight(ARM, START, position, top_down(yaw), 0.03, speed)
    steps = np.abs(np.diff(np.vstack((START, rows))[:, :7], axis=0))
    assert np.all(steps <= JOINT_SPEEDS * PERIOD)
    assert distance(rows[-1, :7], position) < 2e-5
    assert np.all(rows[:, 7] == 0.03)


@quick
@given(places, places, yaws)
def test_a_path_is_straight(start, end, yaw):
    command = np.array((*ARM.inverse(start, top_down(0.0), np.array(HOME)), 0.0))
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    for row in straight(ARM, command, end, top_down(yaw), 0.0, 0.3):
        offset = ARM.forward(row[:7])[:3] - start
        assert np.linalg.norm(offset - (offset @ along) * along) < 1e-3


def test_a_path_to_where_the_arm_is_sets_only_the_gripper():
    pose = ARM.forward(START[:7])
    assert straight(ARM, START, pose[:3], pose[3:], 0.08, 0.5).shape == (0, 8)
    np.testing.assert_array_equal(straight(ARM, START, pose[:3], pose[3:], 0.02, 0.5), [(*HOME, 0.02)])


def test_pacing_slows_only_what_is_too_fast():
    joints = np.cumsum(np.array((0, 0.01, 0.01, 0.5, 0.01))[:, None] * np.ones(7), axis=0)
    slowed = paced(joints, PERIOD)
    assert np.all(np.abs(np.diff(np.vstack((joints[0], slowed)), axis=0)) <= JOINT_SPEEDS * PERIOD)
    np.testing.assert_array_equal(slowed[:2], joints[1:3])
    np.testing.assert_array_equal(slowed[-1], joints[-1])
    assert len(slowed) == 8


def test_an_undisturbed_move_ends_at_its_pose_and_holds():
    bench = Bench()
    bench.run(lambda seen: go(ARM, seen, np.array((0.5, 0.2, 0.2)), 0.4, 0.05, settle=0.2))
    assert distance(bench.command[:7], (0.5, 0.2, 0.2)) < 1e-4
    assert len({tuple(row) for row in bench.rows[-5:]}) == 1
    assert bench.moves_within_limits()


@quick
@given(st.lists(st.integers(0, 12), max_size=6), places, yaws)
def test_a_dropped_queue_goes_on_without_a_jump(drops, position, yaw):
    calm, disturbed = Bench(), Bench(drops=tuple(drops))
    for bench in (calm, disturbed):
        bench.run(lambda seen: go(ARM, seen, position, yaw, 0.05, settle=0.15))
    assert disturbed.moves_within_limits()
    assert distance(disturbed.command[:7], position) < 1e-4
    if 0 not in drops:
        np.testing.assert_array_equal(disturbed.rows, calm.rows)


def test_an_arm_found_off_its_path_plans_from_the_command_in_force():
    bench = Bench()
    script = go(ARM, bench.observe(), np.array((0.5, 0.2, 0.2)), 0.0, 0.05)
    bench.obey(Move(next(script).commands[:6]))
    bench.command = bench.command + 0.01
    again = script.send(bench.observe()).commands
    assert np.all(np.abs(again[0, :7] - bench.command[:7]) <= JOINT_SPEEDS * PERIOD)
    assert distance(again[-1, :7], (0.5, 0.2, 0.2)) < 1e-4


def test_a_hold_that_is_dropped_is_held_for_the_rest_of_its_time():
    bench = Bench(drops=(3,))
    bench.run(lambda seen: grip(ARM, seen, 0.0, 0.4))
    assert bench.time == pytest.approx(0.4)
    assert carried_out(np.zeros((4, 8)), np.zeros(8), 3) == 3
    assert carried_out(np.zeros((4, 8)), np.ones(8), 3) is None


@pytest.mark.parametrize("thinking", [0, 6])
def test_a_hold_is_held_for_its_time_whatever_answers_cost(thinking):
    """The clock's charge passes under the old command; it is no time of the hold."""
    arm, bench = Arm(), Bench(thinking=thinking)
    for x in (0.45, 0.40):
        bench.run(lambda seen, x=x: go(arm, seen, np.array((x, 0.1, 0.3)), 0.0, 0.08))
    moved = len(bench.rows)
    bench.drops = [3]
    bench.run(lambda seen: grip(arm, seen, 0.0, 0.4))
    assert len(bench.rows) - moved == 8
    assert arm.delay == thinking
    bench.thinking = 40 + thinking  # the environment acts, once
    bench.run(lambda seen: go(arm, seen, np.array((0.45, 0.1, 0.3)), 0.0, 0.0))
    assert arm.delay == thinking


@pytest.mark.parametrize(("width", "holding"), [(0.0, False), (0.018, True)])
def test_a_pick_tells_whether_the_fingers_stopped_on_something(width, holding):
    bench = Bench(width=width)
    at = Grasp((0.45, -0.2, 0.015), yaw=0.3, opening=0.04)
    picked = bench.run(lambda seen: pick(ARM, seen, at))
    assert picked.holding is holding
    assert distance(picked.observation.senses.robot.command[:7], (0.45, -0.2, 0.17)) < 1e-4
    lowest = min(bench.rows, key=lambda row: ARM.forward(row[:7])[2])
    assert distance(lowest[:7], at.position) < 1e-4
    assert bench.moves_within_limits()


def test_a_place_keeps_closed_until_it_is_down_and_leaves_upwards():
    bench = Bench(width=0.018)
    bench.run(lambda seen: pick(ARM, seen, Grasp((0.45, -0.2, 0.015))))
    carried = len(bench.rows)
    bench.run(lambda seen: place(ARM, seen, Placement((0.5, 0.22, 0.09), 0.0, 0.032)))
    rows = bench.rows[carried:]
    opened = next(index for index, row in enumerate(rows) if row[7] > 0)
    assert distance(rows[opened][:7], (0.5, 0.22, 0.09)) < 1e-4
    assert distance(rows[-1][:7], (0.5, 0.22, 0.19)) < 1e-4
    assert bench.moves_within_limits()


def test_a_transfer_takes_about_five_seconds():
    bench = Bench(width=0.018)
    bench.run(lambda seen: pick(ARM, seen, Grasp((0.47, -0.16, 0.015))))
    bench.run(lambda seen: place(ARM, seen, Placement((0.5, 0.22, 0.09), 0.0, 0.032)))
    assert 3.5 < bench.time < 5.5


def test_a_low_arm_rises_before_it_travels():
    bench = Bench()
    bench.run(lambda seen: go(ARM, seen, np.array((0.4, -0.2, 0.03)), 0.0, 0.08))
    low = len(bench.rows)
    bench.run(lambda seen: pick(ARM, seen, Grasp((0.5, -0.05, 0.015))))
    path = np.array([ARM.forward(row[:7])[:3] for row in bench.rows[low:]])
    high = int(np.argmax(path[:, 2] > 0.16))
    assert np.all(np.hypot(*(path[:high, :2] - (0.4, -0.2)).T) < 2e-3)


def test_home_parks_the_arm():
    bench = Bench()
    bench.run(lambda seen: home(ARM, seen))
    assert distance(bench.command[:7], PARKED) < 1e-4
    assert bench.time < 1.0


def test_skills_refuse_a_profile_that_takes_increments():
    with pytest.raises(ValueError, match="'end_effector'; 'joint' would work"):
        Arm(END_EFFECTOR)


def test_the_hand_turns_away_from_a_neighbour():
    blocked = [(0.5, -0.165, 0.012)]
    assert clear_yaw((0.5, -0.2), [], 0.05).yaw == 0.0
    turn = clear_yaw((0.5, -0.2), blocked, 0.05)
    assert abs(turn.yaw) >= np.radians(45) and turn.clearance > 0


@quick
@given(outlines, st.floats(0.008, 0.016))
def test_a_free_spot_never_overlaps(others, radius):
    region = Rectangle((0.34, -0.30), (0.60, -0.02))
    spot = free_spot(region, others, radius, roomy=0.05)
    if spot is None:
        return
    x, y = spot.position
    assert all(np.hypot(x - ox, y - oy) >= radius + r for ox, oy, r in others)
    assert 0.34 + radius <= x <= 0.60 - radius and -0.30 + radius <= y <= -0.02 - radius


def test_a_pan_fills_up_and_is_then_full():
    pan, items = Disc((0.5, 0.22), 0.055), []
    while (spot := free_spot(pan, items, 0.015)) is not None:
        assert np.hypot(spot.position[0] - 0.5, spot.position[1] - 0.22) + 0.015 < 0.055
        items.append((*spot.position, 0.015))
    assert 4 <= len(items) <= 7


def test_a_free_spot_is_the_same_each_time_and_a_stream_can_vary_it():
    table, others = Rectangle((0.34, -0.30), (0.60, -0.02)), [(0.45, -0.15, 0.02)]
    assert free_spot(table, others, 0.01) == free_spot(table, others, 0.01)
    drawn = {free_spot(table, others, 0.01, rng=np.random.default_rng(seed)).position for seed in range(8)}
    assert len(drawn) > 4


def test_a_standing_item_is_taken_by_its_body():
    at = grasp_standing((0.45, -0.2, 0.0), 0.009, 0.016, 0.0285)
    assert at.position == (0.45, -0.2, 0.0115) and at.opening == pytest.approx(0.042)
    assert release_opening(0.009) == pytest.approx(0.032)
    assert release_opening(0.05) == 0.08


def test_a_crowded_item_is_taken_with_a_narrower_opening():
    around = 2 * np.pi * np.arange(5) / 5
    crowd = [(0.45 + 0.042 * np.cos(turn), -0.2 + 0.042 * np.sin(turn), 0.008) for turn in around]
    wide = grasp_standing((0.45, -0.2, 0.0), 0.009, 0.016, 0.0285)
    narrow = grasp_standing((0.45, -0.2, 0.0), 0.009, 0.016, 0.0285, crowd)
    assert release_opening(0.009) <= narrow.opening < wide.opening


def path_of(rows) -> np.ndarray:
    return np.array([ARM.forward(row[:7])[:3] for row in rows])


def test_an_insertion_enters_straight_and_slowly_opens_at_depth_and_withdraws_straight_up():
    bench = Bench(width=0.022)
    bench.run(lambda seen: pick(ARM, seen, grasp_tube((0.38, -0.25, 0.003), draw=0.03)))
    carried = len(bench.rows)
    at = tube_insertion((0.50, 0.22, ROTOR_MOUTH), SLOT_DEPTH)
    seen = bench.run(lambda seen: insert(ARM, seen, at))
    rows = bench.rows[carried:]
    path, opening = path_of(rows), np.array([row[7] for row in rows])
    opened = int(np.flatnonzero(opening > 0)[0])
    np.testing.assert_allclose(path[opened], at.position, atol=1e-4)
    assert path[opened, 2] - GRIP_HEIGHT == pytest.approx(ROTOR_MOUTH - SLOT_DEPTH + 0.003, abs=1e-4)
    entered = int(np.flatnonzero(path[:, 2] < at.entry + HOVER + 1e-3)[0])
    assert np.all(np.hypot(*(path[entered:, :2] - (0.50, 0.22)).T) < 1e-3)
    assert np.max(-np.diff(path[entered + 1 : opened, 2])) < 1.25 * ENTRY * PERIOD
    assert path[:entered, 2].min() > at.entry + HOVER
    assert seen.senses.robot.command[7] == at.opening == release_opening(CAP_RADIUS)
    np.testing.assert_allclose(path[-1], (0.50, 0.22, TUBE_TRANSIT), atol=1e-4)
    assert bench.moves_within_limits()


def test_a_held_tube_travels_above_everything_that_stands_on_the_bench():
    bench = Bench(width=0.022)
    bench.run(lambda seen: pick(ARM, seen, grasp_tube((0.38, -0.25, 0.003))))
    bench.run(lambda seen: insert(ARM, seen, tube_insertion((0.50, 0.22, RACK_MOUTH), HOLE_DEPTH)))
    path = path_of(bench.rows)
    travelling = (
        np.minimum(np.hypot(*(path[:, :2] - (0.38, -0.25)).T), np.hypot(*(path[:, :2] - (0.50, 0.22)).T)) > 2e-3
    )
    grasped = int(np.argmin(path[:, 2]))
    assert path[grasped:][travelling[grasped:], 2].min() - GRIP_HEIGHT > 0.18


def test_a_tube_is_drawn_out_slowly_and_a_weight_is_not():
    def climb(at: Grasp) -> np.ndarray:
        bench = Bench(width=0.018)
        bench.run(lambda seen: pick(ARM, seen, at))
        path = path_of(bench.rows)
        heights = path[int(np.argmin(path[:, 2])) :, 2]
        return np.diff(heights)[heights[:-1] < at.position[2] + SLOT_DEPTH - 2e-3]

    assert climb(grasp_tube((0.45, -0.2, 0.01))).max() < 0.1 * PERIOD
    assert climb(Grasp((0.45, -0.2, 0.015))).max() > 0.2 * PERIOD


@pytest.mark.parametrize("turn", np.radians((0, 13, 40, 77, 120, 171, 260)))
def test_a_full_rotor_and_a_full_rack_leave_room_for_the_fingers_at_any_turn(turn):
    places = ([slot_position(slot) for slot in range(SLOTS)], [hole_position(hole) for hole in HOLES])
    c, s = np.cos(turn), np.sin(turn)
    for local in places:
        caps = [(0.5 + c * x - s * y, s * x + c * y, CAP_RADIUS) for x, y in local]
        for index, (x, y, _) in enumerate(caps):
            others = caps[:index] + caps[index + 1 :]
            for at in (grasp_tube((x, y, 0.01), others), tube_insertion((x, y, 0.08), 0.07, others)):
                gap = finger_clearances(np.array([(x, y)]), np.array([at.yaw]), others, at.opening)[0, 0]
                assert gap > 0.0


def test_a_tube_released_on_the_bench_hangs_just_above_it():
    at = tube_placement((0.47, 0.20, 0.0))
    assert 0 < at.position[2] - GRIP_HEIGHT < 0.002
    assert at.transit == TUBE_TRANSIT


def test_an_insertion_that_is_dropped_on_the_way_goes_on():
    at = Insertion((0.5, 0.2, 0.12), 0.18, 0.0, 0.036, 0.3)
    calm, disturbed = Bench(width=0.022), Bench(width=0.022, drops=(7, 3, 11))
    for bench in (calm, disturbed):
        bench.run(lambda seen: insert(ARM, seen, at))
    np.testing.assert_array_equal(disturbed.rows, calm.rows)
