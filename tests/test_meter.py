"""The water-quality meter: what a probe shows, when it is right, and what it carries from one liquid to the next."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.world.wet.meter import (
    CELL,
    CELL_RANGE,
    FAST,
    FAST_SHARE,
    FILM_LEAST,
    FILM_MOST,
    NERNST,
    POTENTIAL_NOISE,
    RINSE_LEAVES,
    SAMPLE,
    THERMOMETER,
    WINDOW,
    Calibration,
    Meter,
    MeterState,
    Portion,
    calibrated,
    slow_response,
)
from labference.world.wet.meter import Sample as Water

TAP = Water(7.74, 278.0, 25.0)
ACID = Water(5.0, 312.0, 25.0)
SALT = Water(5.0, 1413.0, 25.0)
PURE = Water(5.6, 1.0, 25.0)


def meter(calibration: Calibration | None = None, noise: float = 0.0, seed: int = 0) -> Meter:
    return Meter(calibration or Calibration(), np.random.default_rng(seed), noise)


def dipped(sample: Water, seconds: float, made: Meter | None = None) -> Meter:
    probe = made or meter()
    probe.dip("beaker")
    probe.step(seconds, sample)
    return probe


def test_a_settled_meter_shows_the_water_it_stands_in() -> None:
    probe = dipped(Water(6.86, 1413.0, 25.0), 600.0)
    assert probe.ph == (6.86, "pH", True, "ok")
    assert probe.conductivity == (1413.0, "uS/cm", True, "ok")
    assert probe.temperature == (25.0, "°C", True, "ok")


@pytest.mark.parametrize("sample", [ACID, SALT, PURE], ids=["acid", "salt", "pure"])
@pytest.mark.parametrize("seconds", [1.0, 7.5, 30.0, 120.0])
def test_an_early_reading_is_wrong_by_two_exponentials(sample: Water, seconds: float) -> None:
    probe = dipped(sample, seconds)
    left = FAST_SHARE * math.exp(-seconds / FAST) + (1 - FAST_SHARE) * math.exp(
        -seconds / slow_response(sample.conductivity)
    )
    assert probe.ph.value == pytest.approx(sample.ph + (7.0 - sample.ph) * left, abs=0.0051)
    cell = sample.conductivity * (1 - math.exp(-seconds / CELL))
    assert probe.conductivity.value == pytest.approx(cell, abs=0.51)


def test_an_electrode_is_slower_in_pure_water() -> None:
    assert slow_response(1.0) == slow_response(200.0) == 90.0
    assert slow_response(500.0) == slow_response(5000.0) == 30.0
    assert slow_response(350.0) == pytest.approx(60.0)
    pure, salt = dipped(Water(5.0, 50.0, 25.0), 45.0), dipped(Water(5.0, 5000.0, 25.0), 45.0)
    assert pure.ph.value is not None
    assert salt.ph.value is not None
    assert pure.ph.value > salt.ph.value + 0.05


@pytest.mark.parametrize(("sample", "bound"), [(ACID, 0.11), (SALT, 0.05), (PURE, 0.11)], ids=["acid", "salt", "pure"])
def test_the_lamp_stays_dark_while_a_reading_creeps_and_bounds_the_error_once_lit(sample: Water, bound: float) -> None:
    for seed in range(20):
        probe = meter(noise=1.0, seed=seed)
        probe.dip("beaker")
        errors = []
        while not probe.ph.stable:
            probe.step(SAMPLE, sample)
            errors.append(abs((probe.ph.value or 0.0) - sample.ph))
        assert len(errors) >= 20.0 / SAMPLE
        assert errors[-1] < bound
        assert max(errors[: round(10.0 / SAMPLE)]) > 0.3


def test_the_lamp_goes_out_when_something_is_added() -> None:
    probe = dipped(TAP, 300.0)
    assert probe.ph.stable
    assert probe.conductivity.stable
    probe.step(6.0, ACID)
    assert not probe.ph.stable
    assert not probe.conductivity.stable


ACTIONS = st.one_of(
    st.just("dip"),
    st.just("lift"),
    st.just("rinse"),
    st.tuples(
        st.one_of(
            st.none(), st.builds(Water, st.floats(-1, 15), st.floats(0, 12000), st.floats(0, 60))
        ),
        st.lists(st.floats(0.001, 40.0), min_size=1, max_size=4),
    ),
)  # fmt: skip


def perform(probe: Meter, action: object, whole: bool, count: int) -> None:
    match action:
        case "dip" if probe.inside is None:
            probe.dip(f"vessel {count}")
        case "lift" if probe.inside is not None:
            probe.lift()
        case "rinse" if probe.inside is None:
            probe.rinse()
        case (sample, cuts):
            cuts = [round(cut, 6) for cut in cuts]
            for dt in [sum(cuts)] if whole else cuts:
                probe.step(dt, None if probe.inside is None else sample)


@settings(max_examples=80, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=12), seed=st.integers(0, 2**32))
def test_what_is_shown_does_not_depend_on_how_time_is_cut(actions: list[object], seed: int) -> None:
    wrong = calibrated(np.random.default_rng(seed))
    whole, pieces = meter(wrong, 1.0, seed), meter(wrong, 1.0, seed)
    for count, action in enumerate(actions):
        perform(whole, action, True, count)
        perform(pieces, action, False, count)
    first, second = whole.state(), pieces.state()
    assert (first.ticks, first.inside, first.film, first.stream) == (
        second.ticks,
        second.inside,
        second.film,
        second.stream,
    )
    assert len(first.values) == len(second.values)
    for got, expected in zip(first.values, second.values, strict=True):
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)
    for name in ("fast", "slow", "cell", "sleeve"):
        assert asdict(first)[name] == pytest.approx(asdict(second)[name], rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    sample=st.builds(Water, st.floats(-1, 15), st.floats(0, 12000), st.floats(0, 61)),
    before=st.integers(0, 30),
    count=st.integers(1, 50),
    seed=st.integers(0, 2**32),
)
def test_many_shown_values_at_once_are_those_of_one_after_the_other(
    sample: Water, before: int, count: int, seed: int
) -> None:
    wrong = calibrated(np.random.default_rng(seed))
    once, one_by_one = meter(wrong, 1.0, seed), meter(wrong, 1.0, seed)
    for probe in (once, one_by_one):
        probe.dip("beaker")
        for _ in range(before):
            probe.step(SAMPLE, TAP)
    told = once.watch(count, sample)
    for shown in told:
        one_by_one.step(SAMPLE, sample)
        for mine, theirs in zip(shown, one_by_one.display(), strict=True):
            assert (mine.unit, mine.stable, mine.status) == (theirs.unit, theirs.stable, theirs.status)
            assert mine.value == pytest.approx(theirs.value, abs=1.001 if mine.unit == "uS/cm" else 0.1001)
    first, second = once.state(), one_by_one.state()
    assert (first.ticks, first.stream) == (second.ticks, second.stream)
    for name in ("time", "fast", "slow", "cell", "sleeve"):
        assert asdict(first)[name] == pytest.approx(asdict(second)[name], rel=1e-9, abs=1e-9)
    assert np.array(first.values) == pytest.approx(np.array(second.values), rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=12), cut=st.integers(0, 12), seed=st.integers(0, 2**32))
def test_a_saved_meter_goes_on_bit_for_bit(actions: list[object], cut: int, seed: int) -> None:
    wrong = calibrated(np.random.default_rng(seed))
    whole, part = meter(wrong, 1.0, seed), meter(wrong, 1.0, seed)
    for count, action in enumerate(actions):
        if count == cut:
            saved = MeterState(**json.loads(json.dumps(asdict(part.state()))))
            part = meter(wrong, 1.0, seed + 1)
            part.load(saved)
        perform(whole, action, False, count)
        perform(part, action, False, count)
    assert part.state() == whole.state()
    assert (part.ph, part.conductivity, part.temperature) == (whole.ph, whole.conductivity, whole.temperature)


@settings(max_examples=60, deadline=None)
@given(actions=st.lists(st.sampled_from(("dip", "lift", "rinse")), max_size=30), seed=st.integers(0, 2**32))
def test_a_film_that_changes_place_is_neither_made_nor_lost(actions: list[str], seed: int) -> None:
    probe = meter(seed=seed)
    taken: dict[str, float] = {}
    for count, action in enumerate(actions):
        if action == "dip" and probe.inside is None:
            for liquid, mass in probe.dip(f"vessel {count}"):
                taken[liquid] -= mass
        elif action == "lift" and probe.inside is not None:
            liquid, mass = probe.lift()
            assert FILM_LEAST <= mass <= FILM_MOST
            taken[liquid] = taken.get(liquid, 0.0) + mass
        elif action == "rinse" and probe.inside is None:
            before = dict(probe.film)
            for liquid, mass in probe.rinse():
                taken[liquid] -= mass
                assert mass == pytest.approx((1 - RINSE_LEAVES) * before[liquid])
            water = dict(probe.film)["water"]
            fresh = water - RINSE_LEAVES * before.get("water", 0.0)
            assert FILM_LEAST <= fresh <= FILM_MOST * (1 + 1e-12)
            taken["water"] = taken.get("water", 0.0) + fresh
    hanging = dict(probe.film)
    for liquid, mass in taken.items():
        assert mass == pytest.approx(hanging.get(liquid, 0.0), abs=1e-15)


def test_an_unrinsed_probe_brings_the_last_liquid_and_a_rinsed_one_mostly_water() -> None:
    probe = meter()
    assert probe.dip("acid") == ()
    taken = probe.lift()
    assert taken.liquid == "acid"
    assert probe.film == (taken,)
    assert probe.dip("sample") == (taken,)
    probe.lift()
    probe.rinse()
    probe.rinse()
    brought = dict(probe.dip("next"))
    assert set(brought) == {"sample", "water"}
    assert brought["sample"] <= RINSE_LEAVES**2 * FILM_MOST
    assert brought["water"] >= FILM_LEAST
    assert isinstance(taken, Portion)


def test_a_dry_probe_shows_a_status_and_no_number() -> None:
    probe = meter()
    for shown in (probe.ph, probe.conductivity, probe.temperature):
        assert (shown.value, shown.stable, shown.status) == (None, False, "dry")
    dipped(TAP, 60.0, probe)
    assert probe.ph.status == "ok"
    probe.step(1.0, None)
    assert probe.ph.status == "dry"
    probe.step(1.0, TAP)
    assert probe.ph.status == "ok"
    assert not probe.ph.stable
    probe.lift()
    assert probe.ph.status == "dry"


@pytest.mark.parametrize(
    ("sample", "statuses"),
    [
        (Water(-0.5, 1413.0, 25.0), ("out of range", "ok", "ok")),
        (Water(14.6, 1413.0, 25.0), ("out of range", "ok", "ok")),
        (Water(7.0, CELL_RANGE[1] + 1000.0, 25.0), ("ok", "out of range", "ok")),
        (Water(7.0, 1413.0, 80.0), ("out of range", "out of range", "out of range")),
    ],
)
def test_a_value_outside_the_range_of_the_display_is_no_number(sample: Water, statuses: tuple[str, ...]) -> None:
    probe = dipped(sample, 600.0)
    shown = (probe.ph, probe.conductivity, probe.temperature)
    assert tuple(one.status for one in shown) == statuses
    for one in shown:
        assert (one.value is None) == (one.status != "ok")
        assert one.status == "ok" or not one.stable


def test_calibration_leaves_what_it_says() -> None:
    chance = np.random.default_rng(3)
    drawn = [calibrated(chance) for _ in range(4000)]
    for name, deviation in (("offset", 0.02), ("slope", 0.005), ("drift", 0.02), ("gain", 0.01), ("heat", 0.2)):
        assert np.std([asdict(one)[name] for one in drawn]) == pytest.approx(deviation, rel=0.05)
    assert calibrated(chance, 0.0) == Calibration()


@pytest.mark.parametrize("temperature", [15.0, 25.0, 35.0])
def test_offset_slope_gain_and_drift_shift_what_is_shown(temperature: float) -> None:
    wrong = Calibration(offset=0.04, slope=0.98, gain=1.02)
    probe = dipped(Water(4.0, 1413.0, temperature), 1200.0, meter(wrong))
    assert probe.ph.value == pytest.approx(7.04 - 0.98 * 3.0, abs=0.0051)
    assert probe.conductivity.value == pytest.approx(1.02 * 1413.0 / (1 + 0.019 * (temperature - 25.0)), abs=0.51)
    later = dipped(Water(7.0, 1413.0, temperature), 3600.0, meter(replace(wrong, offset=0.0, drift=0.5)))
    assert later.ph.value == pytest.approx(7.5, abs=0.0051)


def test_the_electrode_is_compensated_with_the_temperature_that_the_meter_believes() -> None:
    cold = Water(4.0, 1413.0, 15.0)
    probe = meter()
    probe.dip("beaker")
    probe.step(60.0, cold)
    early = Meter(Calibration(), np.random.default_rng(0), 0.0, temperature=25.0)
    early.dip("beaker")
    early.step(0.5, cold)
    believed = 15.0 + 10.0 * math.exp(-0.5 / THERMOMETER)
    assert early.temperature.value == pytest.approx(believed, abs=0.051)
    lag = 0.9 * math.exp(-0.5 / FAST) + 0.1 * math.exp(-0.5 / 30.0)
    electrode = (4.0 + 3.0 * lag - 7.0) * NERNST * 288.15
    assert early.state().values[-1][0] == pytest.approx(7.0 + electrode / (NERNST * (believed + 273.15)), abs=1e-9)
    wrong = dipped(cold, 1200.0, meter(Calibration(heat=10.0)))
    assert wrong.ph.value == pytest.approx(7.0 - 3.0 * 288.15 / 298.15, abs=0.0051)


def test_the_slope_of_an_ideal_electrode_is_the_one_in_tables() -> None:
    # mV per pH at 0, 20, 25 and 50 °C
    for celsius, slope in ((0, 54.20), (20, 58.17), (25, 59.16), (50, 64.12)):
        assert NERNST * (celsius + 273.15) == pytest.approx(slope, abs=0.006)


def test_the_noise_of_the_electrode_is_what_it_says() -> None:
    probe = dipped(Water(7.0, 1413.0, 25.0), 600.0, meter(noise=1.0))
    values: list[float] = []
    for _ in range(200):
        probe.step(SAMPLE * WINDOW, Water(7.0, 1413.0, 25.0))
        values += [ph for ph, _, _ in probe.state().values]
    assert np.std(values) == pytest.approx(POTENTIAL_NOISE / 59.16, rel=0.05)


def test_an_electrode_in_air_remembers_the_last_sample() -> None:
    probe = dipped(Water(4.0, 1413.0, 25.0), 600.0)
    probe.lift()
    probe.step(30.0, None)
    probe.dip("beaker")
    probe.step(0.5, Water(7.0, 1413.0, 25.0))
    assert probe.ph.value == pytest.approx(4.0, abs=0.3)
    assert probe.conductivity.value == pytest.approx(1413.0 * (1 - math.exp(-0.5 / CELL)), abs=1.0)


def test_what_a_hand_cannot_do_is_refused_and_changes_nothing() -> None:
    probe = meter()
    with pytest.raises(ValueError, match="not dipped into anything"):
        probe.lift()
    with pytest.raises(ValueError, match="in air has no sample"):
        probe.step(1.0, TAP)
    probe.dip("beaker")
    before = probe.state()
    with pytest.raises(ValueError, match="lift it out of 'beaker' first"):
        probe.dip("tube")
    with pytest.raises(ValueError, match="lift it out of 'beaker' first"):
        probe.rinse()
    assert probe.state() == before


@pytest.mark.parametrize(
    ("dt", "sample", "said"),
    [
        (0.0, TAP, "cannot step by 0.0 s"),
        (math.nan, None, "cannot step by nan s"),
        (math.inf, TAP, "cannot step by inf s"),
        (1.0, TAP._replace(ph=math.nan), "is no water"),
        (1.0, TAP._replace(conductivity=-1.0), "is no water"),
        (1.0, TAP._replace(conductivity=math.inf), "is no water"),
        (1.0, TAP._replace(temperature=-300.0), "is no water"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(dt: float, sample: Water | None, said: str) -> None:
    probe = meter()
    probe.dip("beaker")
    before = probe.state()
    with pytest.raises(ValueError, match=said):
        probe.step(dt, sample)
    assert probe.state() == before


def test_saving_does_not_disturb_what_is_saved() -> None:
    watched, left = meter(noise=1.0), meter(noise=1.0)
    for probe in (watched, left):
        probe.dip("beaker")
    for _ in range(200):
        watched.state()
        assert watched.ph == left.ph
        watched.step(0.05, ACID)
        left.step(0.05, ACID)
    assert watched.state() == left.state()
