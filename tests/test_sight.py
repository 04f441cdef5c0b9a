"""The eyes, on frames of the real laboratory: positions, labels and displays, checked against what is so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from labference.sight import CAMERAS, Item, Label, Shown, WeighingView, find_items, points, read_display, see_weighing
from labference.sight.weights import judge
from labference.tasks import find_task
from labference.tasks.weighing import BALANCE, SAMPLE, STANDARDS, item
from labference.truth.identity import Seeds
from labference.truth.measurement import LENGTH, Pose, SensorFault, Setup
from labference.wire import Frame, Senses
from labference.wire.labware import SAMPLE_HEIGHT, SAMPLE_RADIUS, WEIGHTS
from labference.world.faults import SetupError
from labference.world.parts.balance import CAPACITY
from labference.world.world import World

CONTRACT = find_task("weighing-extended")
LAYOUTS = range(4)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World(CONTRACT.parts())
    yield world
    world.close()


def setup_of(layout: int, start: tuple[int, ...], sample: float = 90.0) -> Setup:
    instance = CONTRACT.sample(CONTRACT.strata()[0], np.random.default_rng(layout))
    return CONTRACT.setup(replace(instance, start=start, sample=sample), Seeds(layout, layout, 0))


def turned(setup: Setup, layout: int) -> Setup:
    """Give every item an arbitrary yaw: after a few transfers labels face anywhere."""
    rng = np.random.default_rng([layout, 1])
    return replace(setup, items={name: replace(pose, yaw=rng.uniform(0, 6.28)) for name, pose in setup.items.items()})


def see(world: World, setup: Setup) -> tuple[WeighingView, Senses]:
    world.prepare(setup)
    senses = world.sense(CAMERAS, depth=True)
    return see_weighing(senses), senses


def truth(world: World, name: str) -> np.ndarray:
    return world.now().pose[-1, world.channels.items.index(name), :3] * LENGTH


@pytest.fixture(scope="module")
def close_up(world: World) -> Frame:
    world.prepare(setup_of(0, (), 123.4))
    return world.frame("display")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_label_is_read_and_every_weight_found_within_a_millimetre(world: World, layout: int) -> None:
    on_pan = tuple(grams for grams in STANDARDS if np.random.default_rng(layout).integers(2) or grams == 20)
    view, _ = see(world, turned(setup_of(layout, on_pan), layout))
    standards = view.standards()
    assert view.on_pan() == set(on_pan)
    assert standards.keys() == set(STANDARDS)
    for grams, seen in standards.items():
        where = truth(world, item(grams))
        assert seen.naming.evidence == "label"
        assert np.hypot(*(where[:2] - seen.item.position)) < 0.001
        assert seen.item.base == pytest.approx(where[2], abs=0.001)
        assert seen.item.height == pytest.approx(WEIGHTS[grams].height, abs=0.001)
        assert seen.item.radius == pytest.approx(WEIGHTS[grams].radius, abs=0.001)


def test_the_sample_is_seen_and_taken_for_no_standard(world: World) -> None:
    view, _ = see(world, setup_of(1, (50,)))
    (sample,) = [seen for seen in view.seen if seen.naming.grams is None]
    assert sample.place == "pan"
    assert np.hypot(*(truth(world, SAMPLE)[:2] - sample.item.position)) < 0.001
    assert (sample.item.radius, sample.item.height) == pytest.approx((SAMPLE_RADIUS, SAMPLE_HEIGHT), abs=0.001)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_pan_is_found_wherever_the_layout_puts_the_balance(world: World, layout: int) -> None:
    setup = setup_of(layout, STANDARDS)
    view, _ = see(world, setup)
    at = setup.fixtures[BALANCE]
    assert view.pan is not None
    assert view.pan.centre == pytest.approx((at.x, at.y), abs=0.001)


@pytest.mark.parametrize(
    ("offset", "height", "place"), [((-0.07, 0.07), 0.062, "housing"), ((0.02, -0.12), 0.0, "table")]
)
def test_a_weight_that_missed_the_pan_is_seen_where_it_is(
    world: World, offset: tuple[float, float], height: float, place: str
) -> None:
    setup = setup_of(4, ())
    at = setup.fixtures[BALANCE]
    missed = Pose(at.x + offset[0], at.y + offset[1], height)
    view, _ = see(world, replace(setup, items=setup.items | {item(20): missed}))
    seen = view.standards()[20]
    assert (seen.place, view.on_pan()) == (place, frozenset())
    assert seen.item.position == pytest.approx((missed.x, missed.y), abs=0.001)


def test_without_depth_there_are_no_points(close_up: Frame) -> None:
    with pytest.raises(ValueError, match="has no depth"):
        points(replace(close_up, depth=None))


def test_an_empty_table_has_no_items() -> None:
    flat = np.zeros((4, 4, 3))
    assert find_items(flat, 0.0, np.ones((4, 4), bool)) == ()


@pytest.mark.parametrize("sample", [0.7, 10.0, 47.6, 123.4, 180.0, 999.9])
def test_a_weighed_sample_is_read_off_the_display(world: World, sample: float) -> None:
    world.prepare(setup_of(2, (), sample))
    assert read_display(world.frame("display")) == Shown(sample, "ok", stable=True)


def test_a_failed_load_cell_is_read_as_a_fault(world: World) -> None:
    faults = (SensorFault(BALANCE, 0.0, 10.0, "test"),)
    world.prepare(replace(setup_of(2, (), 50.0), faults=faults))
    world.step(world.sense().robot.command, 100)
    assert read_display(world.frame("display")) == Shown(None, "fault", stable=False)


def test_a_load_beyond_the_capacity_is_read_as_an_overload(world: World) -> None:
    with pytest.raises(SetupError, match="Not at rest"):
        world.prepare(setup_of(2, (), 1.2 * CAPACITY))
    assert read_display(world.frame("display")) == Shown(None, "overload", stable=False)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tenths=st.integers(-9999, 99999), stable=st.booleans())
@example(tenths=0, stable=True)
@example(tenths=-5, stable=False)
@example(tenths=88888, stable=True)
def test_any_number_survives_the_trip_over_the_display(world: World, tenths: int, stable: bool) -> None:
    assert read_display(shown(world, f"{tenths / 10:6.1f}", stable)) == Shown(tenths / 10, "ok", stable)


@pytest.mark.parametrize(("text", "status"), [("  OL ", "overload"), ("  UL ", "underload"), ("Err  ", "fault")])
def test_any_status_survives_the_trip_over_the_display(world: World, text: str, status: str) -> None:
    read = read_display(shown(world, text, stable=False))
    assert read is not None
    assert (read.status, read.value) == (status, None)


@pytest.mark.parametrize("text", ["     ", "12345", "- 1.0", "E1L.0", "00.5", "1.2 "])
def test_what_is_no_number_is_not_read(world: World, text: str) -> None:
    assert read_display(shown(world, text, stable=True)) is None


def test_a_display_behind_a_weight_is_not_read(world: World) -> None:
    setup = setup_of(3, (), 123.4)
    at = setup.fixtures[BALANCE]
    world.prepare(replace(setup, items=setup.items | {item(100): Pose(at.x + 0.145, at.y + 0.02, 0.0)}))
    assert read_display(world.frame("display")) is None


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    corner=st.tuples(st.integers(0, 200), st.integers(0, 200)),
    size=st.tuples(st.integers(12, 120), st.integers(12, 120)),
    grey=st.integers(0, 255),
)
def test_a_partly_hidden_display_is_never_misread(
    close_up: Frame, corner: tuple[int, int], size: tuple[int, int], grey: int
) -> None:
    rgb = close_up.rgb.copy()
    rgb[corner[0] : corner[0] + size[0], corner[1] : corner[1] + size[1]] = grey
    read = read_display(replace(close_up, rgb=rgb))
    assert read is None or read == Shown(123.4, "ok", stable=True)


def test_a_frame_without_a_display_is_not_read(close_up: Frame) -> None:
    assert read_display(replace(close_up, rgb=np.full_like(close_up.rgb, 128))) is None


def test_a_legible_label_outweighs_the_size_and_lowers_the_confidence() -> None:
    size = WEIGHTS[50]
    fifty = Item((0.4, 0.0), 0.0, size.radius, size.height, 0.95 * size.knob, True, 0.0, 2 * size.radius)
    clear = Label("20", 0.9, legible=True, scores=(0.1, 0.9, 0.2, 0.1))
    assert judge(fifty, clear).grams == 20
    assert judge(fifty, clear).confidence < 0.9
    assert judge(fifty, replace(clear, legible=False)).grams == 50
    assert judge(fifty, None).evidence == "size"


@pytest.mark.parametrize("grams", STANDARDS)
def test_a_lying_weight_is_known_by_its_size(grams: int) -> None:
    size = WEIGHTS[grams]
    lying = Item((0.4, 0.0), 0.0, size.radius, 2 * size.radius, 0.01, False, 0.3, size.height)
    assert judge(lying, None).grams == grams


def shown(world: World, text: str, stable: bool) -> Frame:
    """Return the close-up of the display with `text` on it."""
    studio = world._studio
    studio.show(world._data, {BALANCE: (text, stable)})
    return studio.frame("display", 0.0, depth=False)
