"""Solutions, their chemistry, the air above them and the bottles on the bench."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.world.faults import SimulationFault
from labference.world.wet import references as measured
from labference.world.wet.carbon import BEAKER, Surface, aerate
from labference.world.wet.chemistry import (
    ACIDITIES,
    RICHEST,
    STRONGEST,
    TEMPERATURES,
    ChemistryFault,
    Engine,
    OutOfRange,
    equilibrium,
    volume,
)
from labference.world.wet.reagents import (
    ACETIC_ACID,
    CITRIC_ACID,
    HYDROCHLORIC_ACID,
    REAGENTS,
    SODIUM_CHLORIDE,
    SODIUM_HYDROXIDE,
    TAP_ALKALINITIES,
    TAP_PHS,
    Stock,
    pure_water,
    tap_water,
)
from labference.world.wet.solution import EMPTY, Solution
from labference.world.wet.species import ENGINE_NAMES, MOLAR_MASS, elements
from labference.world.wet.validate import table

PAGE = Path(__file__).parents[1] / "docs" / "chemistry.md"
NANOGRAM = 1e-12
"""[kg]"""
masses = st.floats(1e-4, 0.2)
temperatures = st.floats(*TEMPERATURES)
alkalinities = st.sampled_from([0.8e-3, 1.2e-3, 2e-3, 3e-3])


@st.composite
def liquids(draw: st.DrawFn) -> Solution:
    """Return a liquid as it comes out of a bottle or a tap."""
    temperature = draw(temperatures)
    kind = draw(st.sampled_from([*REAGENTS, "tap", "pure"]))
    if kind == "tap":
        return tap_water(draw(masses), draw(alkalinities)).at(temperature)
    if kind == "pure":
        return pure_water(draw(masses), temperature)
    return REAGENTS[kind].portion(draw(masses), temperature)


# Solutions are values


@given(st.lists(st.tuples(liquids(), st.floats(0.0, 1.0)), min_size=1, max_size=12))
def test_mass_is_conserved_by_any_mixing_and_dividing(steps: list[tuple[Solution, float]]) -> None:
    beaker, waste, poured = EMPTY, EMPTY, 0.0
    for liquid, share in steps:
        poured += liquid.mass
        taken, beaker = (beaker + liquid).split(share * (beaker + liquid).mass)
        waste += taken
    assert abs(beaker.mass + waste.mass - poured) < NANOGRAM
    total = beaker + waste
    for formula in MOLAR_MASS:
        went_in = math.fsum(liquid.amount(formula) for liquid, _ in steps)
        assert total.amount(formula) == pytest.approx(went_in, rel=1e-12, abs=1e-18)


def test_mass_is_conserved_by_ten_thousand_small_pours() -> None:
    bottle, beaker = HYDROCHLORIC_ACID.portion(0.2), tap_water(0.1, 2e-3)
    before = bottle.mass + beaker.mass
    for _ in range(10_000):
        drop, bottle = bottle.split(1.3e-5)
        beaker += drop
    assert abs(bottle.mass + beaker.mass - before) < NANOGRAM
    assert beaker.mass == pytest.approx(0.1 + 0.13, abs=NANOGRAM)


@given(liquids(), liquids())
def test_mixing_is_commutative_to_the_last_bit(one: Solution, other: Solution) -> None:
    assert one + other == other + one
    low, high = sorted((one.temperature, other.temperature))
    assert low - 1e-9 <= (one + other).temperature <= high + 1e-9


@given(liquids(), liquids(), st.floats(0.0, 1.0))
def test_a_solution_survives_json_and_hashing_to_the_last_bit(one: Solution, other: Solution, share: float) -> None:
    mixed = (one + other).split(share * (one + other).mass)[0]
    stored = json.loads(json.dumps(mixed.to_json()))
    assert Solution.from_json(stored) == mixed
    assert hash(Solution.from_json(stored)) == hash(mixed)


@given(liquids())
def test_nothing_is_the_neutral_element_and_all_can_be_taken(liquid: Solution) -> None:
    assert liquid + EMPTY == EMPTY + liquid == liquid
    assert liquid.split(liquid.mass)[0] == liquid
    assert liquid.split(liquid.mass)[1].mass == 0.0
    assert liquid.split(0.0)[1] == liquid


def test_a_solution_of_one_temperature_keeps_exactly_that_temperature() -> None:
    mixed = sum((Stock("NaCl", 0.05).portion(m * 1e-3, 22.3) for m in range(1, 9)), EMPTY)
    assert mixed.temperature == 22.3


def test_a_formula_is_read_with_its_groups() -> None:
    assert list(elements("Ca(HCO3)2")) == [("Ca", 1), ("H", 2), ("C", 2), ("O", 6)]
    assert MOLAR_MASS["NaCl"] == pytest.approx(58.44e-3)
    assert MOLAR_MASS["C6H8O7"] == pytest.approx(192.123e-3)
    assert set(MOLAR_MASS) == set(ENGINE_NAMES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Solution.of({"HBr": 1e-3}, water=1.0), r"'HBr' is not a formula .* HCl, NaOH"),
        (lambda: Solution.of({"HCl": -1e-3}, water=1.0), r"-0.001 mol of HCl: .* at least 0 mol"),
        (lambda: Solution.of({"HCl": math.nan}, water=1.0), "nan mol of HCl"),
        (lambda: Solution(-0.1), r"-0.1 kg of water"),
        (lambda: Solution(0.1, (), math.inf), "inf °C"),
        (lambda: Solution(0.1, (("NaCl", 1.0), ("HCl", 1.0))), "'HCl' follows 'NaCl'"),
        (lambda: pure_water(0.1).split(0.2), r"take 200 g out of 100 g: take 0 g up to all"),
        (lambda: pure_water(0.1).split(math.nan), "take nan g"),
        (lambda: aerate(pure_water(0.1), -1.0), r"-1.0 s: give a finite time"),
        (lambda: Surface(0.0), "0.0 s and"),
        (lambda: Stock("beer", 0.1), "'beer' is not a formula"),
        (lambda: Stock("NaCl", 0.0), r"0.0 mol/kg cannot be made"),
        (lambda: tap_water(0.1, 0.5), r"0.5 mol/kg of alkalinity: give 0.0001 to 0.01 mol/kg"),
        (lambda: tap_water(0.1, 2e-3, ph=9.0), r"pH 9.0: give pH 6.0 to 8.2"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_value_and_what_would_work(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


# Chemistry


@pytest.mark.parametrize("row", measured.references(), ids=lambda row: f"{row.quantity} {row.what}")
def test_well_known_solutions_show_what_was_measured(row: measured.Reference) -> None:
    assert abs(row.error()) <= row.tolerance


def test_the_range_that_is_accepted_is_the_range_that_was_compared() -> None:
    found = [equilibrium(row.solution) for row in measured.references()]
    warmth = [row.solution.temperature for row in measured.references()]
    richness = [sum(n for _, n in row.solution.moles) / row.solution.water for row in measured.references()]
    assert (min(warmth), max(warmth)) == TEMPERATURES
    assert ACIDITIES[0] > min(state.ph for state in found) - 0.15
    assert ACIDITIES[1] < max(state.ph for state in found) + 0.15
    assert max(state.ionic_strength for state in found) * 1.25 > STRONGEST
    assert max(richness) * 1.25 > RICHEST


def test_the_table_has_a_line_for_every_reference_and_numbers_its_sources() -> None:
    lines = list(table())
    assert sum(line.startswith("| ") for line in lines) == len(measured.references()) + 1
    assert sum(line[:1].isdigit() for line in lines) == len({row.source for row in measured.references()})


@settings(max_examples=150)
@given(st.lists(liquids(), min_size=1, max_size=6))
def test_whatever_is_poured_together_on_this_bench_has_an_equilibrium(poured: list[Solution]) -> None:
    found = equilibrium(sum(poured, EMPTY))
    assert 1.6 < found.ph < 12.9
    assert 0.02 < found.conductivity < 12_000


@given(liquids(), masses)
def test_a_portion_is_like_the_whole(liquid: Solution, mass: float) -> None:
    whole, part = equilibrium(liquid), equilibrium(liquid.split(min(mass, liquid.mass))[0])
    assert part.ph == pytest.approx(whole.ph, abs=1e-6)
    assert part.conductivity == pytest.approx(whole.conductivity, rel=1e-6)


@given(liquids())
def test_volume_and_density_make_the_mass(liquid: Solution) -> None:
    assert volume(liquid) * equilibrium(liquid).density == pytest.approx(liquid.mass, rel=1e-12)
    assert 990 < equilibrium(liquid).density < 1005


def a_mixed_day() -> list[Solution]:
    """Return solutions of all kinds, many of them far from their predecessor."""
    chance = random.Random(4)
    bottles = [stock.portion(0.2) for stock in REAGENTS.values()]
    waters = [tap_water(0.1, a) for a in (1.2e-3, 2e-3, 3e-3)] + [pure_water(0.1, 31.0)]
    return [
        chance.choice(waters) + chance.choice(bottles).split(chance.uniform(0, 0.05))[0].at(chance.uniform(15, 35))
        for _ in range(120)
    ]


def digest(found: list[object]) -> str:
    return hashlib.sha256(repr(found).encode()).hexdigest()


def test_results_do_not_depend_on_what_was_solved_before() -> None:
    day = a_mixed_day()
    once = [Engine().solve(solution) for solution in day[:6]]
    engine = Engine()
    forward = [engine.solve(solution) for solution in day]
    backward = [engine.solve(solution) for solution in reversed(day)][::-1]
    assert forward == backward == [equilibrium(solution) for solution in day]
    assert forward[:6] == once


def test_results_are_the_same_bits_in_another_process() -> None:
    day = a_mixed_day()
    here = digest([equilibrium(solution) for solution in day])
    program = (
        "import sys, json, hashlib\n"
        "from labference.world.wet.chemistry import equilibrium\n"
        "from labference.world.wet.solution import Solution\n"
        "day = [Solution.from_json(stored) for stored in json.load(sys.stdin)]\n"
        "print(hashlib.sha256(repr([equilibrium(solution) for solution in day]).encode()).hexdigest())\n"
        "assert 'mujoco' not in sys.modules\n"
    )
    stored = json.dumps([solution.to_json() for solution in day])
    done = subprocess.run([sys.executable, "-c", program], input=stored, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == here


def test_results_are_the_same_bits_in_another_thread() -> None:
    day = a_mixed_day()
    equilibrium.cache_clear()
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.extend(equilibrium(solution) for solution in day))
    thread.start()
    thread.join()
    equilibrium.cache_clear()
    assert found == [equilibrium(solution) for solution in day]


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        (Solution(0.1, (), 4.0), r"temperature of 4 °C was not validated: 10.0 to 40.0 °C was"),
        (Solution(0.1, (), 80.0), r"temperature of 80 °C"),
        (Solution.of({"NaCl": 1.0}, water=1.0), r"total concentration of 1 mol/kg of water was not validated: 0.0 to"),
        (Solution.of({"CaCl2": 0.1}, water=1.0), r"ionic strength of 0\.\d+ mol/kg was not validated: 0.0 to 0.12"),
        (Solution.of({"NaOH": 0.11}, water=1.0, temperature=10.0), r"pH of 13\.\d+ was not validated: 1.0 to 13.0 was"),
        (Solution.of({"NaHCO3": 1e-3, "CO2": -2e-3}, water=1.0), r"-0.001 mol of inorganic carbon cannot be"),
        (EMPTY, r"0 g of water has no pH: it needs more than 0 g"),
    ],
)
def test_a_state_outside_the_validated_range_raises_with_the_value_and_the_range(
    solution: Solution, message: str
) -> None:
    with pytest.raises(OutOfRange, match=message) as caught:
        equilibrium(solution)
    assert isinstance(caught.value, SimulationFault)
    assert str(caught.value).endswith(".")
    assert ". " not in str(caught.value), "more than one sentence"


def test_an_engine_that_fails_is_reported_in_its_own_words_and_goes_on() -> None:
    engine = Engine()
    with pytest.raises(ChemistryFault, match=r"PHREEQC reported 1 error\(s\), the first: ERROR: .*[Nn]egative"):
        engine._run("USE solution 1\nREACTION 1\n NaHCO3 1e-3\n CO2 -2e-3\n 1 moles\n")
    solution = tap_water(0.1, 2e-3)
    assert engine.solve(solution) == equilibrium(solution)


def test_a_missing_engine_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phreeqc", None)
    with pytest.raises(ChemistryFault, match=r"pip install 'labference\[wetlab\]'"):
        Engine()


# Air


@settings(max_examples=40, deadline=None)
@given(liquids(), liquids(), st.lists(st.floats(0.5, 1500.0), min_size=1, max_size=6))
def test_standing_does_not_depend_on_how_time_is_cut(one: Solution, other: Solution, pieces: list[float]) -> None:
    start = (one + other).at(25.0)
    cut = start
    for piece in pieces:
        cut = aerate(cut, piece)
    whole = aerate(start, math.fsum(pieces))
    assert equilibrium(cut).ph == pytest.approx(equilibrium(whole).ph, abs=1e-4)
    assert cut.carbon / cut.water == pytest.approx(whole.carbon / whole.water, rel=1e-4, abs=1e-9)


def test_in_acid_the_excess_decays_exponentially() -> None:
    start = tap_water(0.1, 2e-3) + HYDROCHLORIC_ACID.portion(0.010)
    saturated = aerate(start, 3600.0, Surface(60.0)).carbon
    for seconds in (60.0, 600.0, 3400.0, 10_000.0):
        share = (aerate(start, seconds).carbon - saturated) / (start.carbon - saturated)
        assert share == pytest.approx(math.exp(-seconds / BEAKER.time_constant), abs=1e-3)


def test_what_a_standing_solution_loses_in_mass_is_its_carbon() -> None:
    start = tap_water(0.1, 2e-3) + HYDROCHLORIC_ACID.portion(0.008)
    later = aerate(start, 600.0)
    assert start.mass - later.mass == pytest.approx((start.carbon - later.carbon) * MOLAR_MASS["CO2"], abs=1e-15)
    assert 1e-7 < start.mass - later.mass < 3e-6
    assert (later.water, later.temperature) == (start.water, start.temperature)


@given(liquids())
@settings(max_examples=30, deadline=None)
def test_everything_ends_in_balance_with_the_air_and_then_stays(liquid: Solution) -> None:
    air = Surface(60.0)
    done = aerate(liquid, 1200.0, air)
    moved = abs(done.carbon - liquid.carbon)
    later = aerate(done, 1200.0, air)
    assert abs(later.carbon - done.carbon) <= moved + 1e-12
    if equilibrium(liquid).ph < 6.5:
        held = air.pressure * equilibrium(done).solubility
        assert equilibrium(done).carbon_dioxide == pytest.approx(held, rel=1e-3)


def test_pure_water_under_air_becomes_what_distilled_water_is() -> None:
    water = equilibrium(aerate(pure_water(0.1), 100_000.0))
    assert water.ph == pytest.approx(5.60, abs=0.01)
    assert water.conductivity == pytest.approx(0.99, abs=0.02)


def test_at_ph_5_waiting_one_cycle_of_240_s_shows_in_the_second_decimal_and_at_ph_9_it_does_not() -> None:
    water = tap_water(0.1, 2e-3)
    acid, base = water + HYDROCHLORIC_ACID.portion(7.99e-3), water + SODIUM_HYDROXIDE.portion(1.02e-3)
    assert equilibrium(aerate(acid, 240.0)).ph - equilibrium(acid).ph == pytest.approx(0.027, abs=0.005)
    assert abs(equilibrium(aerate(base, 240.0)).ph - equilibrium(base).ph) < 0.005


# Bottles and titrations


@pytest.mark.parametrize(("alkalinity", "conductivity"), [(1e-3, 142), (1.2e-3, 170), (2e-3, 278), (3e-3, 410)])
def test_tap_water_has_its_ph_and_conducts_in_proportion_to_its_alkalinity(
    alkalinity: float, conductivity: float
) -> None:
    water = tap_water(0.1, alkalinity)
    assert water.mass == pytest.approx(0.1, abs=NANOGRAM)
    assert equilibrium(water).ph == pytest.approx(7.74, abs=1e-6)
    assert equilibrium(water).conductivity == pytest.approx(conductivity, abs=1)


@given(st.floats(*TAP_ALKALINITIES), st.floats(*TAP_PHS), temperatures)
@settings(max_examples=30, deadline=None)
def test_any_tap_water_gets_the_ph_that_was_asked_for(alkalinity: float, ph: float, temperature: float) -> None:
    water = tap_water(0.1, alkalinity, ph, temperature)
    assert equilibrium(water).ph == pytest.approx(ph, abs=1e-6)


def titrate(stock: Stock, grams: float, alkalinity: float = 2e-3) -> tuple[float, float]:
    found = equilibrium(tap_water(0.1, alkalinity) + stock.portion(grams * 1e-3))
    return found.ph, found.conductivity


@pytest.mark.parametrize(
    ("stock", "curve"),
    [
        (HYDROCHLORIC_ACID, {2: (6.77, 286), 4: (6.33, 294), 6: (5.90, 302), 7: (5.59, 306), 8: (4.99, 312)}),
        (HYDROCHLORIC_ACID, {9: (3.84, 356), 10: (3.47, 421)}),
        (ACETIC_ACID, {2: (6.54, 270), 4: (5.96, 263), 6: (5.38, 258), 8: (5.01, 254), 10: (4.79, 252)}),
        (CITRIC_ACID, {2: (6.54, 231), 4: (5.97, 197), 6: (5.38, 191), 8: (4.90, 204), 10: (4.58, 217)}),
        (SODIUM_HYDROXIDE, {2: (9.42, 308), 4: (9.89, 344), 6: (10.23, 386), 8: (10.51, 436), 10: (10.74, 492)}),
    ],
)
def test_titration_curves_run_through_the_values_that_the_tasks_were_designed_with(
    stock: Stock, curve: dict[int, tuple[float, float]]
) -> None:
    for grams, (ph, conductivity) in curve.items():
        found = titrate(stock, grams)
        assert found[0] == pytest.approx(ph, abs=0.015)
        assert found[1] == pytest.approx(conductivity, abs=1.5)


def dose(stock: Stock, ph: float, alkalinity: float = 2e-3) -> float:
    """Return the grams that bring 100 g of tap water to a pH, by bisection over 20 g."""
    low, high = 0.0, 20.0
    rising = stock is SODIUM_HYDROXIDE
    for _ in range(40):
        middle = (low + high) / 2
        if (titrate(stock, middle, alkalinity)[0] < ph) == rising:
            low = middle
        else:
            high = middle
    return low


@pytest.mark.parametrize(
    ("stock", "ph", "grams", "margin", "window"),
    [
        (HYDROCHLORIC_ACID, 5.0, 7.99, 0.1, 0.19),
        (HYDROCHLORIC_ACID, 5.0, 7.99, 0.2, 0.40),
        (HYDROCHLORIC_ACID, 6.0, 5.57, 0.2, 1.72),
        (ACETIC_ACID, 5.0, 8.05, 0.1, 1.50),
        (ACETIC_ACID, 5.0, 8.05, 0.2, 3.07),
        (CITRIC_ACID, 5.0, 7.51, 0.1, 0.94),
        (CITRIC_ACID, 5.0, 7.51, 0.2, 1.90),
        (SODIUM_HYDROXIDE, 9.0, 1.02, 0.2, 0.66),
    ],
)
def test_doses_and_their_windows_are_as_wide_as_the_tasks_assume(
    stock: Stock, ph: float, grams: float, margin: float, window: float
) -> None:
    assert dose(stock, ph) == pytest.approx(grams, abs=0.03)
    assert abs(dose(stock, ph + margin) - dose(stock, ph - margin)) == pytest.approx(window, rel=0.05)


def test_hydrochloric_acid_falls_off_a_cliff_behind_the_equivalence_point() -> None:
    assert titrate(HYDROCHLORIC_ACID, 8.5)[0] - titrate(HYDROCHLORIC_ACID, 8.0)[0] < -0.65


@pytest.mark.parametrize("alkalinity", [1.2e-3, 2e-3, 3e-3])
def test_the_standard_titration_to_ph_4_5_finds_the_alkalinity(alkalinity: float) -> None:
    found = dose(HYDROCHLORIC_ACID, 4.5, alkalinity) * 1e-3 * HYDROCHLORIC_ACID.strength
    assert found / tap_water(0.1, alkalinity).water == pytest.approx(alkalinity, rel=0.04)


def at_ph_6(acid: Stock, alkalinity: float) -> list[float]:
    """Return the conductivities that tap water has on its way through pH 6.0 ± 0.2, a dose of 0.1 g after the other."""
    states = [titrate(acid, grams / 10, alkalinity) for grams in range(250)]
    return [conductivity for ph, conductivity in states if abs(ph - 6.0) <= 0.2]


@pytest.mark.parametrize(
    ("alkalinity", "acid"),
    [
        (1.2e-3, HYDROCHLORIC_ACID),
        (1.2e-3, ACETIC_ACID),
        (1.2e-3, CITRIC_ACID),
        (3e-3, HYDROCHLORIC_ACID),
        (3e-3, ACETIC_ACID),
    ],
)
def test_ph_6_with_300_microsiemens_is_out_of_reach_of_acid_alone(alkalinity: float, acid: Stock) -> None:
    on_the_way = at_ph_6(acid, alkalinity)
    assert len(on_the_way) > 5
    assert all(abs(conductivity - 300.0) > 10.0 for conductivity in on_the_way)


def test_citric_acid_alone_reaches_it_in_hard_water_because_it_binds_calcium() -> None:
    assert any(abs(conductivity - 300.0) <= 10.0 for conductivity in at_ph_6(CITRIC_ACID, 3e-3))


def test_citrate_adds_less_conductivity_where_it_finds_calcium() -> None:
    hard, soft = Solution.of({"CaCl2": 1e-4}, water=0.1), Solution.of({"NaCl": 2e-4}, water=0.1)
    citrate = Solution.of({"C6H8O7": 1e-4, "NaOH": 3e-4}, water=0.0)
    gained = [equilibrium(water + citrate).conductivity - equilibrium(water).conductivity for water in (hard, soft)]
    assert gained[0] < gained[1] - 100


@pytest.mark.parametrize(("alkalinity", "second"), [(3e-3, "water"), (1.2e-3, "salt")])
def test_ph_6_with_300_microsiemens_is_within_reach_of_acid_and_a_second_liquid(alkalinity: float, second: str) -> None:
    acid = HYDROCHLORIC_ACID.portion(dose(HYDROCHLORIC_ACID, 6.0, alkalinity) * 1e-3)
    beaker = tap_water(0.1, alkalinity) + acid
    more = pure_water(0.001) if second == "water" else SODIUM_CHLORIDE.portion(0.0005)
    added = 0
    while abs(equilibrium(beaker).conductivity - 300.0) > 4.0 and added < 100:
        beaker, added = beaker + more, added + 1
    found = equilibrium(beaker)
    assert found.conductivity == pytest.approx(300.0, abs=4.0)
    assert found.ph == pytest.approx(6.0, abs=0.1)
    assert beaker.mass < 0.2


@pytest.mark.parametrize(
    ("temperature", "ph", "conductivity"),
    [(15.0, 7.816, 218), (20.0, 7.775, 248), (25.0, 7.740, 278), (30.0, 7.710, 309), (35.0, 7.685, 342)],
)
def test_warm_water_conducts_better_and_is_less_alkaline(temperature: float, ph: float, conductivity: float) -> None:
    found = equilibrium(tap_water(0.1, 2e-3).at(temperature))
    assert found.ph == pytest.approx(ph, abs=0.002)
    assert found.conductivity == pytest.approx(conductivity, abs=1)


# The page


def test_the_page_shows_the_table_that_the_command_prints() -> None:
    assert "\n".join(table()) in PAGE.read_text(encoding="utf-8")


def test_the_example_on_the_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert printed == "pH 5.00, 312 µS/cm"
    assert f"# {printed}" in example
