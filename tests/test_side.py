"""Hands that take things from the side: where they can, and that they stay level, straight and within the joints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.motion.dip import STIR_RADIUS, Dip, dip, stir
from labference.motion.kinematics import HIGH, LOW, matrix
from labference.motion.pour import Pouring, _pose, pour
from labference.motion.side import READY, TRANSIT, approach_yaw, level, pick_side, place_side
from labference.motion.wetware import PROBE, ROD, TUBE, put_back, take
from labference.wire import Observation, Reading, RobotState, Senses
from labference.wire.glassware import (
    BEAKER_HEIGHT,
    HOLDER_FLOOR,
    RACK_FLOOR,
    RACK_PLACES,
    RINSE_FLOOR,
    TILT_MOST,
    TILT_START,
    TUBE_LENGTH,
    TUBE_RADIUS,
    TUBE_WALL,
)
from labference.wire.labware import PAN_HEIGHT
from labference.world.parts.reagent_tube import tube_in_rack
from labference.world.parts.wet_bench import BALANCE, BEAKER, PROBE_HOLDER, RACK, RINSE, ROD_HOLDER, wet_layout
from test_motion import ARM, GOAL, Bench, distance, path_of

quick = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 10_000)
yaws = st.floats(-np.pi, np.pi)
tilts = st.floats(-np.pi, np.pi)
LEAST = 0.10
"""How far every joint stays from the ends of its range [rad]."""


@given(yaws, tilts)
def test_a_level_hand_is_a_rotation_whose_approach_is_horizontal(yaw, tilt):
    turn = level(yaw, tilt)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    np.testing.assert_allclose(turn[:, 2], (np.cos(yaw), np.sin(yaw), 0.0), atol=1e-12)
    if tilt == 0.0:
        assert abs(turn[2, 1]) < 1e-12  # the fingers close horizontally


@given(yaws, st.floats(0.0, np.pi / 2))
def test_what_is_held_leans_to_the_left_of_the_approach(yaw, tilt):
    axis = level(yaw, tilt) @ level(yaw).T @ np.array((0.0, 0.0, 1.0))
    left = np.array((-np.sin(yaw), np.cos(yaw), 0.0))
    np.testing.assert_allclose(axis, np.cos(tilt) * np.array((0, 0, 1)) + np.sin(tilt) * left, atol=1e-12)


def reachable(position, rotation) -> bool:
    start = READY.copy()
    start[0] += np.arctan2(position[1], position[0])
    joints = ARM.inverse(np.asarray(position), rotation, start)
    return bool(np.min(np.minimum(joints - LOW, HIGH - joints)) > LEAST)


@quick
@given(seeds)
def test_every_holder_vessel_and_tilt_of_a_layout_is_within_reach(seed):
    items, fixtures = wet_layout(("a",), np.random.default_rng(seed))
    for place in range(RACK_PLACES):
        tube = tube_in_rack(fixtures[RACK], place)
        for height in (RACK_FLOOR + TUBE.grip, TUBE.transit):
            assert reachable((tube.x, tube.y, height), level(fixtures[RACK].yaw))
    for holder, kind in ((PROBE_HOLDER, PROBE), (ROD_HOLDER, ROD)):
        x, y = fixtures[holder].x, fixtures[holder].y
        for height in (HOLDER_FLOOR + kind.grip, kind.transit):
            assert reachable((x, y, height), level(approach_yaw(x, y)))
    for vessel, low in ((items[BEAKER], PAN_HEIGHT), (fixtures[RINSE], RINSE_FLOOR)):
        for height in (low + PROBE.grip, PROBE.transit):
            assert reachable((vessel.x, vessel.y, height), level(approach_yaw(vessel.x, vessel.y)))
    x, y = items[BEAKER].x, items[BEAKER].y
    at = Pouring((x, y, PAN_HEIGHT + BEAKER_HEIGHT), approach_yaw(x, y), 10.0)
    for tilt in np.linspace(0.0, TILT_MOST, 6):
        assert reachable(*_pose(at, float(tilt)))


@quick
@given(seeds)
def test_nothing_in_a_layout_stands_in_another_thing(seed):
    _, fixtures = wet_layout((), np.random.default_rng(seed))
    apart = {(RACK, BALANCE): 0.30, (BALANCE, ROD_HOLDER): 0.17, (ROD_HOLDER, PROBE_HOLDER): 0.14}
    apart |= {(PROBE_HOLDER, RINSE): 0.09}
    for (one, two), least in apart.items():
        assert np.hypot(fixtures[one].x - fixtures[two].x, fixtures[one].y - fixtures[two].y) > least


@pytest.mark.parametrize("kind", [TUBE, PROBE, ROD])
def test_a_pick_from_the_side_comes_down_straight_and_lifts_straight(kind):
    bench = Bench(width=2 * kind.radius)
    base = (0.42, -0.30, 0.03)
    yaw = approach_yaw(*base[:2])
    picked = bench.run(lambda seen: pick_side(ARM, seen, take(kind, base, yaw)))
    assert picked.holding and bench.moves_within_limits()
    path = path_of(bench.rows)
    lowest = int(np.argmin(path[:, 2]))
    np.testing.assert_allclose(path[lowest], (*base[:2], base[2] + kind.grip), atol=1e-4)
    below = path[:, 2] < kind.transit - 0.04
    assert np.all(np.hypot(*(path[below] - (*base[:2], 0))[:, :2].T) < 1e-3)
    drawn = path[lowest:][path[lowest:, 2] < base[2] + kind.grip + kind.depth]
    assert np.max(np.diff(drawn[:, 2])) < 0.2 * 0.05
    np.testing.assert_allclose(path[-1], (*base[:2], kind.transit), atol=1e-4)


def test_a_pick_that_closes_on_nothing_says_so():
    bench = Bench(width=0.0)
    assert not bench.run(lambda seen: pick_side(ARM, seen, take(TUBE, (0.42, -0.3, 0.03), 0.2))).holding


def test_what_is_held_goes_back_where_it_hangs():
    bench = Bench(width=2 * TUBE.radius)
    floor, yaw = (0.42, -0.30, 0.03), 0.2
    at = put_back(TUBE, floor, yaw, held=(0.002, -0.001, -0.093))
    np.testing.assert_allclose(at.position, (0.418, -0.299, 0.124))
    bench.run(lambda seen: pick_side(ARM, seen, take(TUBE, floor, yaw)))
    carried = len(bench.rows)
    bench.run(lambda seen: place_side(ARM, seen, at))
    rows = bench.rows[carried:]
    opened = next(index for index, row in enumerate(rows) if row[7] > 0)
    assert distance(rows[opened][:7], at.position) < 1e-4
    assert distance(rows[-1][:7], (*at.position[:2], TRANSIT)) < 1e-4
    assert bench.moves_within_limits()


def test_a_stirring_tip_goes_around_and_stays_off_the_wall():
    at = Dip((0.55, 0.13, 0.21), approach_yaw(0.55, 0.13), 0.06, transit=0.34)
    bench = Bench(width=0.016)
    bench.run(lambda seen: stir(ARM, seen, at, 3.0))
    path = path_of(bench.rows)
    low = path[np.abs(path[:, 2] - 0.21) < 1e-3]
    away = np.hypot(low[:, 0] - 0.55, low[:, 1] - 0.13)
    assert away.max() < STIR_RADIUS + 1e-3 and np.mean(away > 0.9 * STIR_RADIUS) > 0.4
    turned = np.unwrap(np.arctan2(low[:, 1] - 0.13, low[:, 0] - 0.55)[away > 1e-3])
    assert abs(turned[-1] - turned[0]) > 3 * np.pi
    assert bench.moves_within_limits()


def test_a_dipped_tip_stays_down_for_as_long_as_asked():
    at = Dip((0.55, 0.13, 0.21), approach_yaw(0.55, 0.13), 0.06, transit=0.38)
    times = []
    bench = Bench(width=0.022)
    observe = bench.observe
    bench.observe = lambda: (times.append((bench.time, distance(bench.command[:7], at.position))), observe())[1]
    bench.run(lambda seen: dip(ARM, seen, at, 7.0))
    down = [time for time, away in times if away < 1e-3]
    assert down[-1] - down[0] == pytest.approx(7.0, abs=0.1)
    assert distance(bench.command[:7], (0.55, 0.13, 0.38)) < 1e-4


class Scale(Bench):
    """A bench whose balance gains `gain` [g/s] per degree of tilt beyond `lip` [deg]; None shows nothing."""

    def __init__(self, lip: float = 60.0, gain: float | None = 0.4, most: float = 40.0) -> None:
        super().__init__(width=0.025)
        self.lip, self.gain, self.most, self.grams, self.tilts = lip, gain, most, 0.0, [0.0]

    def observe(self) -> Observation:
        tcp = ARM.forward(self.command[:7])
        self.count += 1
        turn = level(YAW).T @ matrix(tcp[3:])
        beside = turn[2, 2] > 0.9
        self.tilts.append(float(np.degrees(np.arctan2(turn[1, 0], turn[0, 0]))) if beside else 0.0)
        if self.gain is not None:
            self.grams += max(0.0, abs(self.tilts[-1]) - self.lip) * self.gain * 0.05
            self.grams = min(self.grams, self.most)
        shown = None if self.gain is None else round(self.grams, 1)
        status = "fault" if shown is None else "ok"
        readings = (Reading("balance", shown, "g", True, status, self.time),)
        robot = RobotState(self.command[:7].copy(), np.zeros(7), 0.025, tcp, self.command.copy())
        return Observation(self.count, GOAL, Senses(self.time, robot, (), readings))


YAW = approach_yaw(0.55, 0.13)
POURING = Pouring((0.55, 0.13, 0.148), YAW, 10.0, kp=0.6, kd=0.5, pre_stop=0.3, longest=40.0)


def test_a_pour_stops_at_the_pre_stop_and_tilts_back():
    bench = Scale()
    poured = bench.run(lambda seen: pour(ARM, seen, POURING))
    assert poured.ended == "reached" and poured.shown == pytest.approx(10.0, abs=0.8)
    most = max(abs(tilt) for tilt in bench.tilts)
    assert bench.lip < most < TILT_MOST
    speeds = np.diff(np.abs(bench.tilts))
    assert speeds.max() <= TILT_START + 0.1 and abs(bench.tilts[-1]) < 0.1
    assert bench.moves_within_limits()


def test_a_pour_from_an_empty_tube_ends():
    poured = Scale(most=4.0).run(lambda seen: pour(ARM, seen, POURING))
    assert poured.ended == "empty" and poured.shown == pytest.approx(4.0)


def test_a_pour_without_a_reading_ends_and_says_nothing_of_grams():
    poured = Scale(gain=None).run(lambda seen: pour(ARM, seen, POURING))
    assert poured.ended in ("empty", "late") and poured.shown is None


@pytest.mark.parametrize("tilt", [40.0, 60.0, 80.0, 100.0])
def test_the_lip_stays_over_the_vessel_while_the_tube_turns(tilt):
    position, turn = _pose(POURING, tilt)
    axis = turn @ level(YAW).T @ np.array((0.0, 0.0, 1.0))
    mouth = position + (TUBE_LENGTH - POURING.grip) * axis
    down = np.array((0.0, 0.0, -1.0))
    downhill = down - (down @ axis) * axis
    lip = mouth + (TUBE_RADIUS - TUBE_WALL) * downhill / np.linalg.norm(downhill)
    assert np.hypot(*(lip[:2] - POURING.rim[:2])) == pytest.approx(0.012, abs=1e-6)
    assert lip[2] >= POURING.rim[2] + 0.044
    bottom = mouth - TUBE_LENGTH * axis
    assert bottom[2] > PAN_HEIGHT + 0.02
