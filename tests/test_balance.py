"""The electronics of the balance: numbers in, readings out, no physics."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.truth.measurement import FAULT, OK, OVERLOAD, UNDERLOAD, Readout
from labference.world.parts.balance import CAPACITY, GRAVITY, RANGE, LoadCellReadout
from labference.world.parts.display import SEGMENTS, lit

STEP = 0.002
EMPTY = 0.4905


def newtons(grams: np.ndarray | list[float]) -> np.ndarray:
    return (EMPTY + np.asarray(grams) * GRAVITY / 1000).astype(np.float32)


@pytest.fixture
def readout() -> LoadCellReadout:
    device = LoadCellReadout(STEP)
    device.zero(np.full(100, EMPTY, np.float32))
    return device


def joined(parts: list[Readout]) -> bytes:
    return b"".join(np.concatenate(column).tobytes() for column in zip(*parts, strict=True))


def test_declarations_load_without_a_physics_engine() -> None:
    parts = "balance, display, sample, table, weight"
    code = f"import sys; from labference.world.parts import {parts}; assert 'mujoco' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@settings(max_examples=15, deadline=None)
@given(loads=st.lists(st.tuples(st.floats(-5, 2500), st.integers(1, 900)), min_size=1, max_size=4))
def test_a_load_that_rests_is_read_at_once_as_sample_by_sample(loads: list[tuple[float, int]]) -> None:
    devices = [LoadCellReadout(STEP), LoadCellReadout(STEP)]
    found: list[list[Readout]] = [[], []]
    for load, count in loads:
        force = newtons(np.full(count, load))
        found[0].append(devices[0].update(force))
        found[1] += [devices[1].update(force[row : row + 1]) for row in range(count)]
    assert joined(found[0]) == joined(found[1])


@settings(max_examples=60, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 1600), max_size=12),
    holes=st.lists(st.tuples(st.integers(0, 1500), st.integers(1, 200)), max_size=3),
    load=st.floats(-5, 1500),
)
def test_readings_do_not_depend_on_how_samples_are_split_into_blocks(
    cuts: list[int], holes: list[tuple[int, int]], load: float
) -> None:
    noise = np.random.default_rng(7).standard_normal(1600)
    force = newtons(np.where(np.arange(1600) > 300, load, 0.0) + 0.3 * noise)
    for start, length in holes:
        force[start : start + length] = np.nan
    whole, pieces = LoadCellReadout(STEP), LoadCellReadout(STEP)
    bounds = [0, *sorted(cuts), 1600]
    split = [pieces.update(force[a:b]) for a, b in pairwise(bounds)]
    assert joined(split) == joined([whole.update(force)])


def test_the_filter_is_the_papers_equation_nine(readout: LoadCellReadout) -> None:
    got = readout.update(newtons([100.0] * 500)).filtered
    n = np.arange(1, 501)
    np.testing.assert_allclose(got, 100 * (1 - np.exp(-n * STEP / 0.25)), atol=1e-4)


def test_a_reading_is_stable_after_a_full_second_within_range(readout: LoadCellReadout) -> None:
    got = readout.update(newtons([200.0] * 3000))
    first = int(np.flatnonzero(got.stable)[0])
    window = got.filtered[first - 499 : first + 1]
    assert np.ptp(window) <= RANGE < np.ptp(got.filtered[first - 500 : first])
    assert got.stable[first:].all()
    assert got.shown[-1] == 200.0


def test_the_stability_window_must_first_be_full(readout: LoadCellReadout) -> None:
    stable = readout.update(newtons([0.0] * 600)).stable
    assert not stable[:499].any()
    assert stable[499:].all()


def test_a_failed_sample_holds_the_value_and_restarts_the_window(readout: LoadCellReadout) -> None:
    force = newtons([0.0] * 1500)
    force[700:710] = np.nan
    got = readout.update(force)
    assert set(got.status[700:710]) == {FAULT}
    assert np.isnan(got.raw[700:710]).all()
    assert (got.filtered[700:710] == got.filtered[699]).all()
    assert got.stable[699]
    assert not got.stable[700:1209].any()
    assert got.stable[1209:].all()


def test_overload_is_judged_on_the_filtered_value(readout: LoadCellReadout) -> None:
    spike = readout.update(newtons([0.0, 20_000.0, *[0.0] * 600]))
    assert set(spike.status) == {OK}
    press = readout.update(newtons([2 * CAPACITY] * 1500))
    assert press.status[-1] == OVERLOAD
    assert not press.stable.any()
    assert LoadCellReadout.display(press) == "  OL "


def test_something_lifting_the_pan_is_underload(readout: LoadCellReadout) -> None:
    lifted = readout.update(newtons([-3.0] * 1500))
    assert lifted.status[-1] == UNDERLOAD
    assert not lifted.stable[-1]
    assert LoadCellReadout.display(lifted) == "  UL "


def test_a_saved_state_continues_bit_for_bit(readout: LoadCellReadout) -> None:
    force = newtons(np.linspace(0, 150, 1300))
    readout.update(force[:700])
    other = LoadCellReadout(STEP)
    other.load(readout.state())
    assert joined([other.update(force[700:])]) == joined([readout.update(force[700:])])


def test_a_state_is_not_changed_by_what_follows(readout: LoadCellReadout) -> None:
    state = readout.state()
    readout.update(newtons([50.0] * 800))
    assert state.filtered == 0.0
    assert not state.history.any()


def spelled(elements: frozenset[str]) -> str:
    """Read a display as a person does: by the shape of each digit."""
    shapes = {"".join(sorted(shape)): character for character, shape in reversed(SEGMENTS.items())}
    digits = ["".join(sorted(e[1] for e in elements if e[0] == str(place))) for place in range(5)]
    text = "".join(shapes[digit] for digit in digits)
    return f"{text[:4]}.{text[4:]}" if "dot" in elements else text


@given(tenths=st.integers(-9, 10_000))
def test_every_number_can_be_read_back_from_the_segments(tenths: int) -> None:
    value = np.array([tenths / 10])
    text = LoadCellReadout.display(Readout(value, value, value, np.array([True]), np.array([OK], np.uint8)))
    assert float(spelled(lit(text))) == tenths / 10


def test_zero_is_shown_without_a_sign(readout: LoadCellReadout) -> None:
    got = readout.update(newtons([-0.01] * 50))
    assert LoadCellReadout.display(got) == "   0.0"


def test_a_fault_is_shown_as_an_error_without_a_point(readout: LoadCellReadout) -> None:
    got = readout.update(np.full(3, np.nan, np.float32))
    assert spelled(lit(LoadCellReadout.display(got))) == "Err  "
