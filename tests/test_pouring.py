"""Vessels, pours and the pouring bench's balance: volumes, masses, times and digits."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import asdict, replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from labference.truth.measurement import OK, OVERLOAD
from labference.world.wet.chance import frozen
from labference.world.wet.liquids import LIQUIDS, OLIVE_OIL, SUCROSE, WATER, Liquid
from labference.world.wet.pour import LONGEST_STEP, Pour, PourState, Trial, drawn, nominal
from labference.world.wet.scale import JITTER, LATENCY, NOISE, SAMPLE, TAU, Scale, ScaleState
from labference.world.wet.vessel import BEAKER_100, BEAKER_250, TEST_TUBE, Cylinder

FALL = 0.12
STEP = 0.01
KILOGRAM = 1e-12
"""One billionth of a gram [kg]."""

cylinders = st.builds(Cylinder, st.floats(0.004, 0.05), st.floats(0.02, 0.2))
tilts = st.floats(math.radians(0.5), math.radians(89.5))


def below_level(cylinder: Cylinder, tilt: float, level: float) -> float:
    """Integrate the volume [m3] below a surface `level` [m] above the lip, slice by slice along the axis."""

    def area(along: float) -> float:
        deep = (level + (cylinder.length - along) * math.cos(tilt)) / math.sin(tilt)
        deep = min(max(deep, 0.0), 2 * cylinder.radius)
        middle = cylinder.radius - deep
        return cylinder.radius**2 * math.acos(middle / cylinder.radius) - middle * math.sqrt(
            max(deep * (2 * cylinder.radius - deep), 0.0)
        )

    edges = [cylinder.length + (level - edge * math.sin(tilt)) / math.cos(tilt) for edge in (0.0, 2 * cylinder.radius)]
    inside = sorted({0.0, cylinder.length, *(edge for edge in edges if 0.0 < edge < cylinder.length)})
    return sum(quad(area, a, b, epsrel=1e-10)[0] for a, b in pairwise(inside))


@settings(max_examples=100, deadline=None)
@given(cylinder=cylinders, tilt=tilts)
def test_a_tilted_cylinder_holds_what_integration_says_in_both_regimes(cylinder: Cylinder, tilt: float) -> None:
    assert cylinder.retained(tilt) == pytest.approx(
        below_level(cylinder, tilt, 0.0), rel=1e-6, abs=1e-8 * cylinder.capacity
    )


@settings(max_examples=60, deadline=None)
@given(cylinder=cylinders)
def test_the_two_regimes_meet_where_the_bottom_begins_to_show(cylinder: Cylinder) -> None:
    meet = math.atan2(cylinder.length, 2 * cylinder.radius)
    assert cylinder.retained(meet) == pytest.approx(0.5 * cylinder.capacity, rel=1e-9)
    assert cylinder.retained(meet - 1e-7) == pytest.approx(cylinder.retained(meet + 1e-7), rel=1e-4)


@settings(max_examples=100, deadline=None)
@given(cylinder=cylinders, first=st.floats(0, math.pi), second=st.floats(0, math.pi))
def test_a_vessel_never_holds_more_when_it_is_tilted_further(cylinder: Cylinder, first: float, second: float) -> None:
    less, more = sorted((first, second))
    assert cylinder.retained(more) <= cylinder.retained(less) * (1 + 1e-9)
    assert 0.0 <= cylinder.retained(more) <= cylinder.capacity * (1 + 1e-12)


@settings(max_examples=150, deadline=None)
@given(cylinder=cylinders, tilt=tilts, share=st.floats(0.001, 0.999), guess=st.floats(-3, 3))
def test_the_level_encloses_the_volume_wherever_the_search_starts(
    cylinder: Cylinder, tilt: float, share: float, guess: float
) -> None:
    volume = share * cylinder.capacity
    head = cylinder.head(volume, tilt, guess)
    assert below_level(cylinder, tilt, head) == pytest.approx(volume, rel=1e-5, abs=1e-6 * cylinder.capacity)
    assert cylinder.head(volume, tilt) == pytest.approx(head, abs=1e-5 * cylinder.radius)


@settings(max_examples=60, deadline=None)
@given(cylinder=cylinders, tilt=tilts)
def test_what_stays_stands_at_the_lip(cylinder: Cylinder, tilt: float) -> None:
    kept = cylinder.retained(tilt)
    assume(kept > 1e-3 * cylinder.capacity)
    assert cylinder.head(kept, tilt) == pytest.approx(0.0, abs=1e-5 * cylinder.radius)


@pytest.mark.parametrize(
    ("degrees", "millilitres"), [(20, 54.0), (60, 47.9), (75, 39.0), (80.9, 27.7), (85, 13.2), (88, 3.6), (90, 0.0)]
)
def test_a_test_tube_holds_this_much(degrees: float, millilitres: float) -> None:
    assert 1e6 * TEST_TUBE.retained(math.radians(degrees)) == pytest.approx(millilitres, abs=0.06)


def test_beakers_hold_their_name_and_some_more() -> None:
    assert 100 < 1e6 * BEAKER_100.capacity < 130
    assert 250 < 1e6 * BEAKER_250.capacity < 350
    assert BEAKER_100.depth(BEAKER_100.capacity) == pytest.approx(BEAKER_100.length)
    assert BEAKER_100.head(0.5 * BEAKER_100.capacity, 0.0) == pytest.approx(-0.5 * BEAKER_100.length)


@pytest.mark.parametrize(("radius", "length"), [(0.0, 0.1), (0.01, -0.1), (math.nan, 0.1), (0.01, math.inf)])
def test_a_cylinder_that_holds_nothing_is_refused(radius: float, length: float) -> None:
    with pytest.raises(ValueError, match="holds nothing"):
        Cylinder(radius, length)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def filled(liquid: Liquid = WATER, mass: float = 0.045, seed: int = 0, trial: Trial | None = None) -> Pour:
    return Pour(TEST_TUBE, liquid, mass, trial or nominal(liquid), rng(seed))


def run(pour: Pour, degrees: float, seconds: float, hits: bool = True, dt: float = STEP) -> float:
    """Hold one tilt and return what was caught meanwhile [kg]."""
    return sum(pour.step(dt, math.radians(degrees), FALL, hits) for _ in range(round(seconds / dt)))


def imbalance(pour: Pour) -> float:
    return pour.supplied - (pour.held + pour.airborne + pour.caught + pour.spilled)


profiles = st.lists(
    st.tuples(
        st.floats(-30, 200),
        st.integers(1, 120),
        st.floats(-0.1, 0.6),
        st.booleans(),
        st.sampled_from((0.01, 0.005, 0.002, 0.0037)),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=80, deadline=None)
@given(
    liquid=st.sampled_from(sorted(LIQUIDS)),
    share=st.sampled_from((0.0, 1e-6, 0.1, 0.8, 1.0)),
    profile=profiles,
    noise=st.floats(0, 2),
    seed=st.integers(0, 2**32),
    vessel=st.sampled_from((TEST_TUBE, BEAKER_100)),
)
def test_no_mass_appears_or_vanishes_whatever_the_hand_does(
    liquid: str,
    share: float,
    profile: list[tuple[float, int, float, bool, float]],
    noise: float,
    seed: int,
    vessel: Cylinder,
) -> None:
    poured = LIQUIDS[liquid]
    chance = rng(seed)
    pour = Pour(vessel, poured, share * vessel.capacity * poured.density, drawn(poured, chance, noise), chance)
    landed = 0.0
    for degrees, count, height, hits, dt in profile:
        for _ in range(count):
            landed += pour.step(dt, math.radians(degrees), height, hits)
            parts = (pour.bulk, pour.film, pour.pendant, pour.airborne, pour.caught, pour.spilled, pour.flow, pour.push)
            assert min(parts) >= 0.0
        landings = [parcel.lands for parcel in pour.state().air]
        assert landings == sorted(landings)
    assert abs(imbalance(pour)) < KILOGRAM
    assert landed == pytest.approx(pour.caught, abs=KILOGRAM)


@settings(max_examples=30, deadline=None)
@given(profile=profiles, cut=st.integers(0, 300), seed=st.integers(0, 2**32))
def test_a_saved_pour_goes_on_bit_for_bit(
    profile: list[tuple[float, int, float, bool, float]], cut: int, seed: int
) -> None:
    trial = drawn(WATER, rng(seed))
    whole, part = filled(seed=seed, trial=trial), filled(seed=seed, trial=trial)
    steps = [(d, math.radians(a), h, hit) for a, count, h, hit, d in profile for _ in range(count)]
    for index, step in enumerate(steps):
        whole.step(*step)
        if index == min(cut, len(steps) - 1):
            saved = PourState(**json.loads(json.dumps(asdict(part.state()))))
            part = filled(mass=0.001, seed=seed + 1, trial=trial)
            part.load(saved)
        part.step(*step)
    assert part.state() == whole.state()


def test_saving_does_not_disturb_what_is_saved() -> None:
    watched, left = filled(trial=drawn(WATER, rng(1))), filled(trial=drawn(WATER, rng(1)))
    for _ in range(500):
        watched.state()
        run(watched, 78, STEP)
        run(left, 78, STEP)
    assert watched.state() == left.state()


def test_instruments_seeded_from_one_generator_do_not_share_their_noise() -> None:
    chance = rng(3)
    first = Pour(TEST_TUBE, WATER, 0.04, nominal(WATER), chance)
    second = Pour(TEST_TUBE, WATER, 0.04, nominal(WATER), chance)
    assert first.state().stream != second.state().stream


def test_nothing_runs_until_the_liquid_stands_over_a_dry_lip_and_it_runs_on_below() -> None:
    pour = filled()
    lip = next(d for d in np.arange(40.0, 89.0, 0.1) if 1e6 * TEST_TUBE.retained(math.radians(d)) < 45.0 / 0.998)
    assert run(pour, lip + 0.2, 5.0) == 0.0
    assert pour.bulk == 0.045
    started = next(d for d in np.arange(lip, 89.0, 0.1) if run(pour, d, 1.0) > 0.0)
    assert pour.running
    assert pour.vessel.head(0.045 / WATER.density, math.radians(started)) >= WATER.wets
    run(pour, started, 60.0)
    assert not pour.running
    assert pour.level == pytest.approx(WATER.dries, rel=0.05)


def test_thicker_liquids_run_slower_under_the_same_head() -> None:
    volume, flows = 45e-6, []
    for viscosity in (1e-3, 1e-2, 1e-1, 1.0):
        trial = replace(nominal(WATER), viscosity=viscosity)
        pour = filled(mass=volume * WATER.density, trial=trial)
        run(pour, 76.0, 0.5)
        flows.append(pour.flow)
    assert flows == sorted(flows, reverse=True)
    assert flows[3] < 0.2 * flows[0]


def test_the_lip_runs_as_the_formula_of_the_documentation_says() -> None:
    pour = filled()
    run(pour, 78.0, 0.5)
    before = pour.bulk
    pour.step(STEP, math.radians(78.0), FALL, True)
    head = min(pour.level, pour.vessel.head(before / WATER.density, math.radians(78.0)) + 2e-3) - 0.8 * WATER.dries
    sheet, film = 0.6 * math.sqrt(2 * 9.81 * head), WATER.density * 9.81 * head**2 / (3 * WATER.viscosity)
    width = 0.62 * math.pi / 2 * math.sqrt(9.81 * TEST_TUBE.radius / math.sin(math.radians(78.0)))
    assert pour.flow == pytest.approx(WATER.density * width * head**2 / (1 + sheet / film), rel=1e-9)


@pytest.mark.parametrize("height", [0.05, 0.12, 0.30])
def test_the_stream_lands_as_late_as_a_stone(height: float) -> None:
    pour = filled()
    left = landed = None
    while landed is None:
        caught = pour.step(0.002, math.radians(80.0), height, True)
        if left is None and pour.flow > 0.0:
            left = pour.time
        if caught > 0.0:
            landed = pour.time
    assert left is not None
    assert landed - left == pytest.approx(math.sqrt(2 * height / 9.81), abs=0.0021)


def test_the_push_of_a_steady_stream_weighs_what_is_in_the_air() -> None:
    pour = filled(mass=0.050)
    run(pour, 75.0, 2.0)
    pushes, airborne = [], []
    for _ in range(100):
        run(pour, 75.0, STEP)
        pushes.append(pour.push)
        airborne.append(pour.airborne)
    assert sum(pushes) == pytest.approx(sum(airborne), rel=0.06)
    assert pour.felt == pour.caught + pour.push


def test_a_stream_that_misses_is_spilled_and_what_was_on_its_way_is_still_caught() -> None:
    pour = filled()
    run(pour, 80.0, 2.0)
    caught, airborne = pour.caught, pour.airborne
    run(pour, 80.0, 2.0, hits=False)
    assert pour.caught == pytest.approx(caught + airborne, rel=1e-12)
    assert pour.spilled > 1e-3
    missed = filled()
    assert run(missed, 85.0, 5.0, hits=False) == 0.0
    assert missed.felt == 0.0


@pytest.mark.parametrize("liquid", LIQUIDS.values(), ids=sorted(LIQUIDS, key=list(LIQUIDS).index))
def test_after_the_stream_stops_drops_fall_and_the_rest_hangs_or_runs_back(liquid: Liquid) -> None:
    pour = filled(liquid)
    run(pour, 80.0, 1.5)
    while pour.running:
        pour.step(STEP, math.radians(70.0), FALL, True)
    run(pour, 70.0, 1.0, dt=0.005)
    gains = [mass for mass in (run(pour, 70.0, STEP) for _ in range(3000)) if mass > 0.0]
    assert all(liquid.drop <= mass < 1.2 * liquid.drop for mass in gains)
    assert pour.pendant < liquid.drop
    assert pour.quiet


def test_a_quiet_vessel_drips_no_more() -> None:
    for seed in range(40):
        liquid = list(LIQUIDS.values())[seed % 3]
        pour = filled(liquid, trial=drawn(liquid, rng(seed)))
        run(pour, 80.0, 1.0 + 0.05 * seed)
        while not pour.quiet:
            run(pour, 65.0, STEP)
        caught = pour.caught
        run(pour, 65.0 if seed % 2 else 0.0, 20.0)
        assert pour.caught == caught


def test_an_upright_vessel_keeps_more_of_its_film_than_a_steep_one() -> None:
    upright, steep = filled(OLIVE_OIL), filled(OLIVE_OIL)
    caught = []
    for pour, degrees in ((upright, 40.0), (steep, 60.0)):
        run(pour, 80.0, 3.0)
        while pour.running:
            pour.step(STEP, math.radians(degrees), FALL, True)
        caught.append(run(pour, degrees, 30.0))
    assert caught[1] > caught[0] + 2 * OLIVE_OIL.drop


@pytest.mark.parametrize("degrees", [92, 110, 150, 180])
def test_a_vessel_tilted_beyond_horizontal_runs_empty(degrees: float) -> None:
    pour = filled()
    caught = run(pour, degrees, 20.0)
    assert pour.bulk < 1e-9
    assert caught == pytest.approx(0.045, abs=WATER.film + WATER.drop)
    assert run(pour, degrees, 5.0) < WATER.film


@pytest.mark.parametrize("degrees", [10.0, 78.0, 120.0])
def test_a_tilt_is_the_same_to_either_side_and_past_half_a_turn(degrees: float) -> None:
    one, *others = (filled() for _ in range(3))
    run(one, degrees, 4.0)
    for pour, same in zip(others, (-degrees, 360.0 - degrees), strict=True):
        run(pour, same, 4.0)
        assert pour.caught == pytest.approx(one.caught, abs=1e-9)


def test_an_empty_vessel_pours_nothing() -> None:
    pour = filled(mass=0.0)
    assert run(pour, 120.0, 3.0) == 0.0
    assert pour.quiet
    pour.add(0.020)
    assert run(pour, 120.0, 10.0) > 0.019
    assert abs(imbalance(pour)) < KILOGRAM


@pytest.mark.parametrize("liquid", LIQUIDS.values(), ids=sorted(LIQUIDS, key=list(LIQUIDS).index))
@pytest.mark.parametrize("peak", [74.0, 78.0, 82.0])
def test_a_hundredth_of_a_second_is_a_fine_enough_step(liquid: Liquid, peak: float) -> None:
    delivered = []
    for dt in (0.01, 0.005, 0.001):
        pour = filled(liquid, mass=48e-6 * liquid.density, trial=drawn(liquid, rng(5)))
        for tick in range(round(16.0 / dt)):
            degrees = min(40.0 + 12.0 * tick * dt, peak, 40.0 + 45.0 * max(0.0, 12.0 - tick * dt))
            pour.step(dt, math.radians(degrees), FALL, True)
        delivered.append(pour.caught + pour.pendant)
    assert np.ptp(delivered) < 0.03e-3


def test_trials_spread_as_they_say() -> None:
    chance = rng(8)
    trials = [drawn(SUCROSE, chance, 1.0) for _ in range(4000)]
    assert np.mean([t.discharge for t in trials]) == pytest.approx(0.62, rel=0.005)
    assert np.std([t.discharge for t in trials]) == pytest.approx(0.05 * 0.62, rel=0.05)
    assert np.std([math.log(t.wets) for t in trials]) == pytest.approx(0.20, rel=0.05)
    assert np.std([math.log(t.dries) for t in trials]) == pytest.approx(0.15, rel=0.05)
    assert np.std([math.log(t.film) for t in trials]) == pytest.approx(0.50, rel=0.05)
    assert np.std([math.log(t.drop) for t in trials]) == pytest.approx(0.15, rel=0.05)
    assert np.std([math.degrees(t.tilt) for t in trials]) == pytest.approx(0.7, rel=0.05)
    assert np.std([1000 * t.fill for t in trials]) == pytest.approx(0.3, rel=0.05)
    assert all(t.dries < t.wets for t in trials)
    assert drawn(SUCROSE, chance, 0.0) == nominal(SUCROSE)
    assert drawn(SUCROSE, rng(4)) == drawn(SUCROSE, rng(4))


def test_the_stream_flutters_alike_at_every_step_length() -> None:
    trial = replace(nominal(WATER), flutter=0.06)
    fine, coarse = filled(trial=trial), filled(trial=trial)
    values = []
    for _ in range(3000):
        run(fine, 45.0, 0.01, dt=0.002)
        run(coarse, 45.0, 0.01)
        assert fine.flutter == coarse.flutter
        values.append(coarse.flutter)
    assert np.std(values) == pytest.approx(0.06, rel=0.15)


@pytest.mark.parametrize(
    ("dt", "tilt", "height", "said"),
    [
        (0.0, 0.1, FALL, "steps lie above 0 s"),
        (2 * LONGEST_STEP, 0.1, FALL, r"cannot step by 0\.02 s"),
        (math.nan, 0.1, FALL, "cannot step by nan s"),
        (STEP, math.nan, FALL, "tilt of nan rad"),
        (STEP, 7.0, FALL, r"tilt of 7\.0 rad"),
        (STEP, 0.1, math.inf, "inf m above the catch"),
        (STEP, 0.1, math.nan, "nan m above the catch"),
    ],
)
def test_numbers_that_mean_nothing_are_refused_and_change_nothing(
    dt: float, tilt: float, height: float, said: str
) -> None:
    pour = filled()
    before = pour.state()
    with pytest.raises(ValueError, match=said):
        pour.step(dt, tilt, height, True)
    assert pour.state() == before
    pour.step(STEP, 0.1, FALL, True)


@pytest.mark.parametrize("mass", [-0.001, 0.060, math.nan])
def test_a_vessel_takes_only_what_fits(mass: float) -> None:
    with pytest.raises(ValueError, match=r"this vessel holds 0 to 55\.6 g"):
        filled(mass=mass)
    with pytest.raises(ValueError, match="do not fit"):
        filled().add(mass - 0.045 if mass < 0 else mass)


@settings(max_examples=200, deadline=None)
@given(cylinder=cylinders, share=st.floats(0, 1))
def test_a_vessel_can_be_filled_to_the_rim_and_emptied(cylinder: Cylinder, share: float) -> None:
    most = cylinder.capacity * WATER.density
    pour = Pour(cylinder, WATER, share * most, nominal(WATER), rng())
    pour.add(most - pour.bulk)
    pour.step(STEP, 0.0, FALL, True)
    assert pour.flow == 0.0
    pour.add(-pour.bulk)
    assert pour.held == 0.0


def test_only_generators_that_can_be_saved_are_taken() -> None:
    with pytest.raises(ValueError, match="MT19937 cannot be saved"):
        frozen(np.random.Generator(np.random.MT19937(0)))


def test_the_wet_laboratory_needs_no_physics_engine() -> None:
    parts = "liquids, meter, pour, scale, vessel"
    code = f"import sys; from labference.world.wet import {parts}; assert 'mujoco' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def watch(scale: Scale, load: float, seconds: float, dt: float = STEP) -> list[float]:
    """Keep `load` [kg] on the pan and return what was shown after every step [g]."""
    shown = []
    for _ in range(round(seconds / dt)):
        scale.step(dt, load)
        shown.append(scale.shown)
    return shown


def test_a_scale_shows_tenths_of_a_gram_and_settles_on_the_load() -> None:
    scale = Scale(rng(), noise=1.0)
    shown = watch(scale, 0.0734, 30.0)
    assert all(round(10 * value) / 10 == value for value in shown)
    assert np.mean(shown[1000:]) == pytest.approx(73.4, abs=0.02)
    assert scale.display() == " 73.4"[-5:].rjust(6)


def test_a_scale_is_late_and_then_follows_with_its_time_constant() -> None:
    scale = Scale(rng(), noise=0.0)
    shown = np.array(watch(scale, 0.100, 4.0))
    times = STEP * np.arange(1, 401)
    assert not shown[times < LATENCY - 1e-9].any()
    young, old = times - LATENCY, times - LATENCY - JITTER - SAMPLE
    assert np.all(shown <= 100 * (1 - np.exp(-np.maximum(young, 0) / TAU)) + 0.051)
    assert np.all(shown >= 100 * (1 - np.exp(-np.maximum(old, 0) / TAU)) - 0.051)
    assert shown[-1] == 100.0


def test_values_of_a_scale_are_of_every_age_between_the_youngest_and_the_oldest() -> None:
    scale, rate = Scale(rng(5), noise=0.0), 2.0
    ages = []
    for tick in range(10_000):
        scale.step(STEP, 0.001 * rate * STEP * (tick + 1))
        if tick > 1000 and tick % 5 == 4:
            state = scale.state()
            ages.append((state.filtered - state.values[-1]) / rate)
    assert LATENCY - 1e-9 <= min(ages) <= max(ages) <= LATENCY + JITTER + 1e-9
    assert np.mean(ages) == pytest.approx(LATENCY + 0.5 * JITTER, abs=0.0035)


def test_the_noise_of_a_scale_is_what_it_says() -> None:
    scale = Scale(rng(2), load=0.050)
    values: list[float] = []
    for _ in range(2000):
        watch(scale, 0.050, SAMPLE)
        values.append(scale.state().values[-1])
    assert np.std(values) == pytest.approx(NOISE, rel=0.06)


def test_a_scale_is_unstable_while_the_load_changes_and_stable_when_settled() -> None:
    scale = Scale(rng(1))
    assert not scale.stable
    watch(scale, 0.0, 1.5)
    assert scale.stable
    watch(scale, 0.050, 0.6)
    assert not scale.stable
    watch(scale, 0.050, 4.0)
    stable = []
    for _ in range(2000):
        watch(scale, 0.050, SAMPLE)
        stable.append(scale.stable)
    assert np.mean(stable) > 0.99


def test_tare_waits_for_a_stable_reading_and_then_shows_zero() -> None:
    scale = Scale(rng(1), noise=0.0)
    watch(scale, 0.0553, 0.5)
    assert not scale.tare()
    watch(scale, 0.0553, 5.0)
    assert scale.tare()
    assert scale.shown == 0.0
    assert math.copysign(1.0, scale.shown) == 1.0
    watch(scale, 0.0553 + 0.020, 5.0)
    assert scale.shown == 20.0
    watch(scale, 0.0, 5.0)
    assert scale.shown == -55.3


def test_tare_uses_up_capacity() -> None:
    scale = Scale(rng(1), load=1.5, noise=0.0)
    watch(scale, 1.5, 2.0)
    assert scale.tare()
    watch(scale, 1.9, 6.0)
    assert (scale.status, scale.shown) == (OK, 400.0)
    watch(scale, 2.1, 6.0)
    assert scale.status == OVERLOAD
    assert not scale.stable
    assert not scale.tare()
    assert scale.display().strip() == "OL"


@settings(max_examples=60, deadline=None)
@given(
    loads=st.lists(st.tuples(st.floats(0, 0.2), st.lists(st.floats(0.0005, 0.3), min_size=1, max_size=5)), max_size=6)
)
def test_readings_do_not_depend_on_how_a_constant_load_is_cut(loads: list[tuple[float, list[float]]]) -> None:
    whole, pieces = Scale(rng(6)), Scale(rng(6))
    for load, cuts in loads:
        # Whole microseconds keep the cuts off the points of the grid by rounding only.
        cuts = [round(cut, 6) for cut in cuts]
        whole.step(sum(cuts), load)
        for cut in cuts:
            pieces.step(cut, load)
    first, second = whole.state(), pieces.state()
    assert (first.ticks, first.stream) == (second.ticks, second.stream)
    assert first.filtered == pytest.approx(second.filtered, abs=1e-9)
    assert first.past == pytest.approx(second.past, abs=1e-9)
    assert first.values == pytest.approx(second.values, abs=1e-9)


def test_a_saved_scale_goes_on_bit_for_bit() -> None:
    whole, part = Scale(rng(9)), Scale(rng(9))
    loads = [0.001 * abs(math.sin(0.01 * tick)) * tick**0.5 for tick in range(700)]
    for tick, load in enumerate(loads):
        whole.step(STEP, load)
        if tick == 333:
            saved = ScaleState(**json.loads(json.dumps(asdict(part.state()))))
            part = Scale(rng(1), load=0.5)
            part.load(saved)
        part.step(STEP, load)
        assert (part.shown, part.stable) == (whole.shown, whole.stable)
    assert part.state() == whole.state()


@pytest.mark.parametrize(("dt", "load"), [(0.0, 0.1), (math.nan, 0.1), (0.01, math.nan), (0.01, math.inf)])
def test_a_scale_refuses_numbers_that_mean_nothing(dt: float, load: float) -> None:
    with pytest.raises(ValueError, match="cannot step"):
        Scale(rng()).step(dt, load)
    with pytest.raises(ValueError, match="cannot start"):
        Scale(rng(), load=math.nan)


@pytest.mark.parametrize(("pre", "bias", "spread"), [(0.0, 0.54, 0.066), (0.8, 0.02, 0.078)])
def test_a_pd_law_pours_as_the_benchmark_reports(pre: float, bias: float, spread: float) -> None:
    path = Path(__file__).parents[1] / "benchmarks" / "pouring.py"
    spec = spec_from_file_location("benchmark_of_pouring", path)
    assert spec is not None
    assert spec.loader is not None
    benchmark = module_from_spec(spec)
    sys.modules[spec.name] = benchmark
    spec.loader.exec_module(benchmark)
    outcomes = [benchmark.pour(benchmark.Gains(pre=pre), seed, 1.0) for seed in range(80)]
    errors = [outcome.error for outcome in outcomes]
    # Four standard errors of 80 pours.
    assert np.mean(errors) == pytest.approx(bias, abs=0.04)
    assert np.std(errors) == pytest.approx(spread, rel=0.35)
    assert np.mean([outcome.duration for outcome in outcomes]) == pytest.approx(21.5, abs=1.0)
