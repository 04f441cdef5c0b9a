"""Where nothing moves, time passes without the physics engine: nobody can tell from what is measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from labference.truth.filling import Filling, WetSetup
from labference.truth.measurement import LENGTH, Block
from labference.world import stillness
from labference.world.engine import mujoco
from labference.world.parts.wet_bench import BEAKER, RINSE, wet_layout, wet_parts
from labference.world.world import LONGEST, World

STEPS = 25
COLUMNS = ("pose", "speed", "touch", "opening", "force", "liquid", "sample")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    laboratory = World(wet_parts(("acid",)))
    items, fixtures = wet_layout(("acid",), np.random.default_rng(2))
    water = Filling(30.0, amounts=(("NaHCO3", 0.002), ("CO2", 0.001)))
    liquids = {"acid": Filling(45.0), BEAKER: water, RINSE: Filling(60.0)}
    laboratory.prepare(WetSetup(items, fixtures, {}, on_cell=(BEAKER,), liquids=liquids, seed=1))
    yield laboratory
    laboratory.close()


@pytest.fixture
def start(world: World) -> Iterator[World]:
    """Return the world as it was prepared, and leave it so."""
    checkpoint = world.save()
    yield world
    world.load(checkpoint)


def held(world: World, periods: int, cut: int = 1) -> list[Block]:
    return [world.step(world.command, cut * STEPS)[0] for _ in range(periods // cut)]


def steps_taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what the engine is asked for from now on."""
    asked, step = [0], mujoco.mj_step

    def counted(model, data):
        asked[0] += 1
        step(model, data)

    monkeypatch.setattr(mujoco, "mj_step", counted)
    return asked


def turned(world: World) -> np.ndarray:
    command = world.command
    command[6] += 0.2
    return command


def test_the_engine_is_asked_while_something_moves_alone(start: World, monkeypatch: pytest.MonkeyPatch):
    asked = steps_taken(monkeypatch)
    held(start, 4)
    assert asked[0] == 0 and start.longest == LONGEST
    start.step(turned(start), STEPS)
    assert asked[0] == STEPS and start.longest == 1
    held(start, 4)
    assert asked[0] == 5 * STEPS  # the wrist swings out
    held(start, 40)
    assert asked[0] < 45 * STEPS and start.longest == LONGEST


def test_what_falls_or_leans_is_no_stillness(start: World):
    body = start._built.item_body["acid"]
    address = start._model.jnt_qposadr[start._model.body_jntadr[body]]
    start._data.qpos[address + 2] += 0.02  # at rest for an instant, in the air
    assert start.longest == 1
    before = held(start, 1)[0].pose[0, 1, 2]
    assert held(start, 1)[0].pose[-1, 1, 2] < before - round(0.001 / LENGTH)


def test_the_engine_would_have_measured_the_same(start: World, monkeypatch: pytest.MonkeyPatch):
    checkpoint = start.save()
    still = held(start, 60)
    start.load(checkpoint)
    monkeypatch.setattr(stillness, "STILL_SPEED", 0.0)
    asked = steps_taken(monkeypatch)
    moved = held(start, 60)
    assert asked[0] == 60 * STEPS
    for one, two in zip(still, moved, strict=True):
        assert np.abs(one.pose - two.pose).max() <= 2  # [um]
        assert (one.touch == two.touch).all() and np.abs(one.force - two.force).max() < 1e-5  # 1 mg
        assert (one.liquid == two.liquid).all()


@pytest.mark.parametrize("cut", [5, 20])
def test_it_does_not_matter_how_still_time_is_cut(start: World, cut: int):
    checkpoint = start.save()
    fine = held(start, 40)
    shown = start.sense(readings=True).readings
    start.load(checkpoint)
    coarse = held(start, 40, cut)
    assert start.sense(readings=True).readings == shown
    for name in ("pose", "speed", "touch", "opening", "force"):
        one, two = (np.concatenate([getattr(block, name) for block in blocks]) for blocks in (fine, coarse))
        assert one.tobytes() == two.tobytes(), name
    assert (fine[-1].liquid == coarse[-1].liquid).all()


def test_a_checkpoint_within_stillness_continues_bit_for_bit(start: World):
    held(start, 3)
    checkpoint = start.save()

    def onward() -> bytes:
        blocks = [*held(start, 4), start.step(turned(start), STEPS)[0], *held(start, 30)]
        return b"".join(np.ascontiguousarray(getattr(block, name)).tobytes() for block in blocks for name in COLUMNS)

    first = onward()
    start.load(checkpoint)
    assert onward() == first


def test_masses_that_change_end_it(start: World):
    held(start, 1)
    start._model.body_mass[start._built.item_body[BEAKER]] += 0.01
    assert start.longest == 1
