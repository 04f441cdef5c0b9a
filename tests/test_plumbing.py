"""Liquids on a bench without physics: every gram is somewhere, and nothing but the past decides what happens."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.truth.filling import Filling, WetSetup
from labference.world.wet.plumbing import BRIM, FILM, Cup, Placed, Plumbing
from labference.world.wet.vessel import BEAKER_100, TEST_TUBE

DT = 0.01
ACID = (("HCl", 0.024),)
CUPS = (Cup("beaker", BEAKER_100, 0.0013), Cup("tube", TEST_TUBE, 0.010), Cup("rinse", BEAKER_100, 0.0013))
BEAKER, TUBE, RINSE = range(3)
AIR = (0.0, 0.0, 0.5)

quick = settings(max_examples=25, deadline=None)


def setup(noise: float = 1.0, seed: int = 3, **grams: float) -> WetSetup:
    given = {"beaker": 30.0, "tube": 45.0, "rinse": 60.0} | grams
    liquids = {name: Filling(mass, amounts=ACID if name == "tube" else ()) for name, mass in given.items() if mass}
    return WetSetup({}, {}, {}, liquids=liquids, seed=seed, noise=noise)


def filled(tips: int = 1, **options: float) -> Plumbing:
    plumbing = Plumbing(CUPS, tips)
    plumbing.fill(setup(**options))
    return plumbing


def placed(tilt: float = 0.0, off: float = -0.010, above: float = 0.04) -> list[Placed]:
    """Place the lip of the tube, leaning by `tilt` towards +x, `off` beside the middle of the beaker."""
    c, s = math.cos(tilt), math.sin(tilt)
    length, radius = 0.150, TEST_TUBE.radius
    x, z = off - length * s - radius * c, 0.07 + above - length * c + radius * s
    return [
        Placed((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        Placed((x, 0.0, z), (s, 0.0, c)),
        Placed((0.0, 0.3, 0.0), (0.0, 0.0, 1.0)),
    ]


def run(plumbing: Plumbing, seconds: float, where: list[Placed], tip: tuple[float, float, float] = AIR) -> None:
    for _ in range(round(seconds / DT)):
        plumbing.step(DT, where, (tip,))


def grams(plumbing: Plumbing) -> dict[str, float]:
    return dict(zip(("beaker", "tube", "rinse", "spilled"), plumbing.grams().tolist(), strict=True))


def tilted(plumbing: Plumbing, degrees: float, seconds: float, **where: float) -> None:
    run(plumbing, seconds, placed(math.radians(degrees), **where))


events = st.lists(
    st.tuples(
        st.floats(-20.0, 170.0),
        st.floats(-0.05, 0.05),
        st.sampled_from((AIR, (0.0, 0.0, 0.008), (0.005, 0.3, 0.01), (0.0, 0.0, 0.068))),
        st.integers(1, 60),
    ),
    min_size=1,
    max_size=8,
)


@quick
@given(events, st.floats(0.0, 1.3), st.integers(0, 50))
def test_no_gram_is_lost_or_made(steps, noise, seed):
    plumbing = filled(noise=noise, seed=seed)
    before = plumbing.total
    for degrees, off, tip, count in steps:
        for _ in range(count):
            plumbing.step(DT, placed(math.radians(degrees), off), (tip,))
    assert abs(plumbing.total - before) < 1e-12  # 1e-9 g
    assert min(plumbing.masses) >= 0.0 and plumbing.spilled >= 0.0


@quick
@given(events, events)
def test_a_saved_state_continues_bit_for_bit(first, then):
    one, two = filled(), Plumbing(CUPS, 1)
    for degrees, off, tip, count in first:
        for _ in range(count):
            one.step(DT, placed(math.radians(degrees), off), (tip,))
    two.fill(setup())
    two.load(one.state())
    for degrees, off, tip, count in then:
        for _ in range(count):
            assert one.step(DT, placed(math.radians(degrees), off), (tip,)) == two.step(
                DT, placed(math.radians(degrees), off), (tip,)
            )
    assert one.state() == two.state()
    assert one.grams().tobytes() == two.grams().tobytes()


def test_an_upright_bench_stays_as_it_is():
    plumbing = filled()
    before = plumbing.state()
    run(plumbing, 1.0, placed(0.0))
    after = plumbing.state()
    assert (after.pours, after.mixtures, after.tips, after.stream) == (
        before.pours,
        before.mixtures,
        before.tips,
        before.stream,
    )


def test_a_stream_over_the_beaker_lands_in_it_and_one_beside_it_is_spilled():
    inside, beside = filled(noise=0.0), filled(noise=0.0)
    tilted(inside, 75, 4.0)
    tilted(beside, 75, 4.0, off=0.030)
    for plumbing in (inside, beside):
        run(plumbing, 2.0, placed(0.0))
    assert grams(inside)["beaker"] > 33.0 and grams(inside)["spilled"] == 0.0
    assert grams(beside)["beaker"] == 30.0 and grams(beside)["spilled"] > 3.0


def test_a_stream_near_the_wall_splashes_over():
    near, beyond = (BEAKER_100.radius - BRIM - 1e-4, BEAKER_100.radius - BRIM + 1e-4)
    drips = []
    for aim in (near, beyond):
        plumbing = filled(noise=0.0)
        # A lip that is hardly over the rim throws nothing sideways.
        tilted(plumbing, 75, 3.0, off=aim, above=1e-7)
        drips.append(grams(plumbing)["spilled"])
    assert drips[0] == 0.0 < drips[1]


def test_a_lip_below_the_rim_pours_nothing_into_the_beaker():
    plumbing = filled(noise=0.0)
    tilted(plumbing, 75, 3.0, above=-0.01)
    assert grams(plumbing)["beaker"] == 30.0


def test_a_full_beaker_runs_over():
    plumbing = filled(noise=0.0, beaker=120.0)
    room = 1000.0 * BEAKER_100.capacity * 998.0 - 120.0
    tilted(plumbing, 89, 20.0)
    run(plumbing, 2.0, placed(0.0))
    found = grams(plumbing)
    assert found["beaker"] <= 120.0 + room + 1e-9 and found["spilled"] > 20.0


def test_what_is_poured_brings_what_is_dissolved_in_it():
    plumbing = filled(noise=0.0)
    tilted(plumbing, 75, 4.0)
    run(plumbing, 2.0, placed(0.0))
    poured = grams(plumbing)["beaker"] - 30.0
    stock = plumbing.contents(TUBE)
    expected = poured / 1000.0 * stock.amount("HCl") / stock.mass
    assert plumbing.contents(BEAKER).amount("HCl") == pytest.approx(expected, rel=1e-9)
    assert plumbing.contents(BEAKER).mass == pytest.approx((30.0 + poured) / 1000.0, rel=1e-12)


def test_a_landing_stream_presses_on_the_beaker_by_what_is_in_the_air():
    plumbing = filled(noise=0.0)
    tilted(plumbing, 72, 2.0)
    air = plumbing.total - sum(plumbing.masses) - plumbing.spilled
    assert plumbing.pushes[BEAKER] == pytest.approx(air, rel=0.25)
    assert len(plumbing.falling) == 1 and plumbing.falling[0].lip[2] > plumbing.falling[0].landing[2]
    run(plumbing, 3.0, placed(0.0))
    assert plumbing.pushes == {} and plumbing.falling == ()


def test_a_tip_carries_a_film_from_one_liquid_to_the_next():
    plumbing = filled(noise=0.0)
    run(plumbing, 0.1, placed(), tip=(0.0, 0.0, 0.008))
    assert plumbing.inside == (BEAKER,)
    run(plumbing, 0.1, placed())
    film = 30.0 - grams(plumbing)["beaker"]
    assert plumbing.inside == (-1,) and 1000 * FILM[0] <= film <= 1000 * FILM[1]
    run(plumbing, 0.1, placed(), tip=(0.0, 0.3, 0.008))
    assert plumbing.inside == (RINSE,) and grams(plumbing)["rinse"] == pytest.approx(60.0 + film)


@pytest.mark.parametrize(
    ("tip", "inside"),
    [((0.0, 0.0, 0.016), -1), ((0.0, 0.0, 0.010), BEAKER), ((0.030, 0.0, 0.010), -1), ((0.0, 0.0, 0.0005), -1)],
)
def test_a_tip_is_in_a_liquid_where_that_covers_it(tip, inside):
    plumbing = filled(noise=0.0)  # 30 g stand 17 mm high
    plumbing.step(DT, placed(), (tip,))
    assert plumbing.inside == (inside,)


HARD = (("CO2", 65e-6), ("Ca(HCO3)2", 0.6e-3), ("NaHCO3", 0.8e-3))
DOWN = (0.0, 0.0, 0.008)


def dosed() -> Plumbing:
    """Return plumbing whose beaker has just got some acid."""
    plumbing = filled(noise=0.0)
    tilted(plumbing, 75, 3.0)
    return plumbing


def gap(plumbing: Plumbing) -> float:
    """Return how much less acid the tip is in than the beaker holds, as a share."""
    whole = plumbing.contents(BEAKER)
    found = plumbing._mixtures[BEAKER].sensed
    return 1.0 - found.molality("HCl") / whole.molality("HCl")


def test_a_probe_sees_what_was_added_with_a_lag_that_stirring_shortens():
    left, stirred = dosed(), dosed()
    first = gap(left)
    assert 0.01 < first < 1.0
    run(left, 10.0, placed(), DOWN)
    for turn in range(1000):
        angle = 0.075 * turn  # 8 mm around at 6 cm/s
        tip = (0.008 * math.cos(angle), 0.008 * math.sin(angle), 0.008)
        stirred.step(DT, placed(), (AIR,), (tip,))
    assert gap(left) == pytest.approx(first * math.exp(-10 / 20), rel=0.1)
    assert gap(stirred) == pytest.approx(first * math.exp(-10 / 5), rel=0.1)
    run(left, 700.0, placed(), DOWN)
    assert gap(left) == pytest.approx(0.0, abs=1e-9)


def test_a_sample_has_the_ph_of_the_vessel_and_none_in_the_air():
    plumbing = filled()
    assert np.isnan(plumbing.samples()[0, :3]).all() and plumbing.samples()[0, 3] == -1
    plumbing.step(DT, placed(), (DOWN,))
    ph, conductivity, temperature, vessel = plumbing.samples()[0]
    assert ph == pytest.approx(7.0, abs=0.05) and conductivity < 1.0 and (temperature, vessel) == (25.0, BEAKER)


def test_an_acid_water_loses_carbon_dioxide():
    plumbing = Plumbing(CUPS, 1)
    soured = Filling(40.0, amounts=(*HARD, ("HCl", 1.9e-3)))
    plumbing.fill(WetSetup({}, {}, {}, liquids={"beaker": soured, "tube": soured}, noise=0.0))
    run(plumbing, 1.0, placed(), DOWN)
    before, mass = plumbing.samples()[0, 0], plumbing.total
    run(plumbing, 120.0, placed(), DOWN)
    assert 0.02 < plumbing.samples()[0, 0] - before < 0.3
    assert plumbing.contents(TUBE).carbon == pytest.approx(0.04 * 2.065e-3, rel=1e-3)  # too narrow to breathe
    assert plumbing.total == mass


def test_noise_makes_every_pour_its_own_and_a_seed_repeats_it():
    caught = []
    for seed in (1, 1, 2):
        plumbing = filled(seed=seed)
        tilted(plumbing, 74, 4.0)
        caught.append(grams(plumbing)["beaker"])
    assert caught[0] == caught[1] != caught[2]


@pytest.mark.parametrize(
    ("liquids", "sentence"),
    [
        ({"flask": Filling(1.0)}, "no vessel 'flask' to fill; there is beaker, tube, rinse"),
        ({"tube": Filling(1.0, "mercury")}, "no liquid 'mercury'; there is water"),
        ({"tube": Filling(80.0)}, "80.000 g of water do not fit"),
    ],
)
def test_a_filling_that_cannot_be_is_refused(liquids, sentence):
    with pytest.raises(ValueError, match=sentence):
        Plumbing(CUPS).fill(WetSetup({}, {}, {}, liquids=liquids))


def test_grams_are_in_the_order_of_the_vessels_and_end_with_the_spilled():
    np.testing.assert_allclose(filled(noise=0.0).grams(), (30.0, 45.0, 60.0, 0.0))
