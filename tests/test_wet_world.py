"""The simulated wet bench: liquids follow bodies, bodies weigh what they hold, and a checkpoint keeps all of it."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from labference.bench.checkpoint import Handoff
from labference.bench.checkpoint import load as restore
from labference.bench.checkpoint import save as store
from labference.bench.reference import Scene
from labference.bench.wet_hands import WetHands
from labference.motion.kinematics import Arm
from labference.truth.filling import Filling, WetSetup
from labference.truth.identity import Seeds
from labference.truth.measurement import LENGTH, MASS
from labference.wire import Goal, Move, Observation, Operation, Wait
from labference.world.faults import SetupError
from labference.world.parts.balance import LoadCellReadout
from labference.world.parts.wet_bench import BALANCE, BEAKER, PROBE, RINSE, ROD, wet_layout, wet_parts
from labference.world.world import World

TUBES = ("acid", "water")
GOAL = Goal("", (), (), ())
STEPS = 25
POUR = {"amount_g": 5.0, "kp": 1.0, "kd": 1.0, "pre_stop": 0.4}


class Station:
    """A world, and hands on it."""

    def __init__(self, world: World) -> None:
        self.world, self.count, self.blocks = world, 0, []
        self.scene = Scene(world.channels, {}, lambda fixtures: {}, world.now, lambda: None)
        self.hands = WetHands(self.scene, Arm(), world.tare)

    def observe(self) -> Observation:
        self.count += 1
        return Observation(self.count, GOAL, self.world.sense(readings=True))

    def perform(self, *words: str, until: float = np.inf, **numbers: float) -> Observation:
        """Carry out an operation, or leave it when the beaker holds `until` [g]."""
        script = self.hands.perform(self.observe(), Operation(*words), numbers)
        try:
            act = next(script)
            while self.grams(BEAKER) < until:
                for row in self.rows(act):
                    self.blocks.append(self.world.step(row, STEPS)[0])
                act = script.send(self.observe())
        except StopIteration as end:
            return end.value
        return self.observe()

    def rows(self, act):
        match act:
            case Move(commands):
                return list(commands)
            case Wait(seconds):
                return [self.world.command] * max(1, round(20 * seconds))

    def grams(self, vessel: str) -> float:
        names = (*self.world.channels.vessels, "spilled")
        return float(self.world.now().liquid[names.index(vessel)] * MASS)

    def place(self, item: str) -> np.ndarray:
        return self.world.now().pose[0, self.world.channels.items.index(item), :3] * LENGTH


def wet_setup(seed: int = 0, **liquids: Filling) -> WetSetup:
    items, fixtures = wet_layout(TUBES, np.random.default_rng(seed))
    held = liquids or {"acid": Filling(45.0, amounts=(("HCl", 0.024),)), BEAKER: Filling(30.0), RINSE: Filling(60.0)}
    return WetSetup(items, fixtures, {}, on_cell=(BEAKER,), liquids=held, seed=seed)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    laboratory = World(wet_parts(TUBES))
    yield laboratory
    laboratory.close()


@pytest.fixture(scope="module")
def day(world: World) -> Station:
    """Return a bench on which every operation was carried out once."""
    world.prepare(wet_setup())
    station = Station(world)
    station.start = {item: station.place(item) for item in world.channels.items}
    station.total = world._wet.plumbing.total
    station.said = {
        kind: station.perform(kind, *words, **numbers)
        for kind, words, numbers in (
            ("tare", (BALANCE,), {}),
            ("pick", ("acid",), {}),
            ("pour", ("acid", BEAKER), POUR),
            ("weigh", (BEAKER,), {}),
            ("place", ("acid", "rack"), {}),
            ("stir", (ROD, BEAKER), {"seconds": 1.0}),
            ("take_probe", (PROBE,), {}),
            ("measure", (PROBE, BEAKER), {"seconds": 1.0}),
            ("rinse_probe", (PROBE,), {"seconds": 1.0}),
            ("return_probe", (PROBE,), {}),
            ("finish", (), {}),
        )
    }
    return station


def test_every_operation_leaves_the_bench_as_it_should(day: Station):
    for item in day.world.channels.items:
        away = np.abs(day.place(item) - day.start[item])
        limit = 0.08 if item == "acid" else 0.003  # the tube goes to the nearest free hole
        assert away.max() < limit and away[2] < 0.002, item
        assert day.scene.pose(item)[1][2, 2] > 0.998


def test_a_pour_adds_what_was_asked_and_spills_nothing(day: Station):
    assert day.grams(BEAKER) == pytest.approx(35.0, abs=1.0)
    assert day.grams("spilled") == 0.0
    shown = day.said["weigh"].senses.readings[0]
    assert shown.stable and shown.value == pytest.approx(5.0, abs=1.0)


def test_a_tared_balance_weighs_what_is_added(day: Station):
    assert day.said["tare"].senses.readings[0].value == 0.0
    liquid = [block.liquid[0] * MASS for block in day.blocks]
    assert day.said["weigh"].senses.readings[0].value == pytest.approx(max(liquid) - liquid[0], abs=0.15)


def test_how_far_the_hand_is_open_says_whether_it_holds_something(day: Station):
    opening = {kind: seen.senses.robot.opening for kind, seen in day.said.items()}
    assert all(0.01 < opening[kind] < 0.05 for kind in ("pick", "pour", "take_probe", "measure", "rinse_probe"))
    assert all(opening[kind] > 0.07 for kind in ("tare", "place", "stir", "return_probe", "finish"))


def test_nothing_is_lost_in_a_day(day: Station):
    assert abs(day.world._wet.plumbing.total - day.total) < 1e-12  # 1e-9 g


def test_the_probe_was_in_the_beaker_and_then_in_the_rinse(day: Station):
    inside = [int(block.sample[0, 3]) for block in day.blocks]
    visits = [inside[0], *(now for before, now in itertools.pairwise(inside) if now != before)]
    names = day.world.channels.vessels
    assert visits == [-1, names.index(BEAKER), -1, names.index(RINSE), -1]
    wet = next(block.sample[0] for block in day.blocks if block.sample[0, 3] == names.index(BEAKER))
    # 5 g of 24 mmol/kg acid in 30 g of pure water: 3.4 mmol/kg.
    assert wet[0] == pytest.approx(2.52, abs=0.1) and 1100 < wet[1] < 1800 and wet[2] == 25.0
    assert np.isnan(day.blocks[0].sample[0, :3]).all()


def test_the_meter_shows_what_the_probe_is_in_and_keeps_it(day: Station):
    first = {reading.instrument: reading for reading in day.said["pick"].senses.readings}
    assert [(name, first[name].value, first[name].status) for name in first if name.startswith("meter")] == [
        ("meter pH", None, "dry"),
        ("meter EC", None, "dry"),
        ("meter T", None, "dry"),
    ]
    shown = {reading.instrument: reading for reading in day.said["measure"].senses.readings}
    assert shown["meter pH"].value < 7.0 and not shown["meter pH"].stable  # a second is too short
    assert shown["meter EC"].value > 100 and shown["meter T"].value == pytest.approx(25.0, abs=1.0)
    assert shown["meter pH"].time < day.said["measure"].senses.time - 1.0


def test_a_tare_is_told_by_the_next_block_alone(world: World):
    world.prepare(wet_setup())
    assert world.tare(BALANCE)
    held = world.save()
    pressed = [world.step(world.command, STEPS)[0].pressed for _ in range(2)]
    world.load(held)
    assert pressed == [1, 0] == [world.step(world.command, STEPS)[0].pressed for _ in range(2)]


def test_a_bench_that_cannot_do_it_stays_as_it_is(day: Station):
    before = day.place("water")
    for words in (("pour", "water", BEAKER), ("place", "water"), ("measure", PROBE, BEAKER), ("pick", BEAKER)):
        seen = day.observe().senses.time
        assert day.perform(*words).senses.time - seen < 0.5
    np.testing.assert_allclose(day.place("water"), before, atol=1e-5)


def test_bodies_weigh_what_they_hold_and_derived_constants_follow(world: World):
    world.prepare(wet_setup(acid=Filling(40.0), beaker=Filling(60.0)))
    model, built = world._model, world._built
    held = dict(zip(world.channels.vessels, world._wet.plumbing.masses, strict=True))
    for vessel in ("acid", "water", BEAKER):
        body = built.item_body[vessel]
        assert model.body_mass[body] == pytest.approx(built.nominal_mass[body] + held[vessel])
        assert model.body_subtreemass[body] == pytest.approx(model.body_mass[body])
        share = model.body_mass[body] / built.nominal_mass[body]
        np.testing.assert_allclose(model.body_inertia[body], share * built.nominal_inertia[body])
    reading = world.sense(readings=True).readings[0]
    assert reading.value == pytest.approx(55.0 + 1000 * held[BEAKER], abs=0.06)


@pytest.fixture(scope="module")
def midway(world: World):
    """Return a checkpoint in the middle of a pour, and the next blocks from there."""
    world.prepare(wet_setup())
    station = Station(world)
    station.perform("pick", "acid")
    station.perform("pour", "acid", BEAKER, until=32.0, **(POUR | {"amount_g": 20.0}))
    assert world._wet.plumbing.falling
    checkpoint = world.save()
    return checkpoint, onward(world)


def onward(world: World) -> str:
    """Return the digest of what the next seconds bring: tilt on, then back."""
    digest = hashlib.sha256()
    tilt = world.command
    for turn in (*[-0.02] * 10, *[0.03] * 30):
        tilt[6] += turn
        block, readouts = world.step(tilt, STEPS)
        for array in (block.pose, block.force, block.liquid, block.sample, readouts[0].filtered):
            digest.update(array.tobytes())
        digest.update(repr(world.dipped).encode())
    return digest.hexdigest()


def test_a_checkpoint_within_a_pour_continues_bit_for_bit(world: World, midway):
    checkpoint, expected = midway
    for _ in range(2):
        world.load(checkpoint)
        assert world.save().wet == checkpoint.wet
        assert onward(world) == expected


def test_a_checkpoint_continues_in_another_laboratory(midway):
    checkpoint, expected = midway
    fresh = World(wet_parts(TUBES))
    fresh.prepare(wet_setup(seed=5))
    fresh.load(checkpoint)
    assert onward(fresh) == expected


def test_looking_changes_nothing(world: World, midway):
    checkpoint, expected = midway
    world.load(checkpoint)
    world.now()
    world.sense(readings=True)
    assert onward(world) == expected


def test_frames_show_levels_and_streams_but_no_micrograms(world: World, midway):
    checkpoint, _ = midway
    world.load(checkpoint)
    pouring = world.frame("front").rgb
    world.prepare(wet_setup(acid=Filling(45.0), beaker=Filling(30.0)))
    still = world.frame("front").rgb
    world.prepare(replace(wet_setup(acid=Filling(45.0), beaker=Filling(30.000001)), noise=1.0))
    assert np.array_equal(world.frame("front").rgb, still)
    world.prepare(wet_setup(acid=Filling(45.0), beaker=Filling(60.0)))
    changed = (world.frame("front").rgb != still).any(axis=2)
    assert 20 < changed.sum() < 4000
    assert not np.array_equal(pouring, still)


def test_an_unknown_vessel_is_refused(world: World):
    with pytest.raises(SetupError, match="no vessel 'flask'"):
        world.prepare(replace(wet_setup(), liquids={"flask": Filling(1.0)}))
    with pytest.raises(SetupError, match=r"80\.000 g of water do not fit"):
        world.prepare(replace(wet_setup(), liquids={"acid": Filling(80.0)}))
    with pytest.raises(KeyError, match="No balance 'scale'"):
        world.tare("scale")


def test_a_full_rack_has_no_room_for_a_fifth_tube():
    with pytest.raises(ValueError, match="4 holes and no room for 5 tubes"):
        wet_parts(("a", "b", "c", "d", "e"))


def test_a_bench_without_vessels_needs_no_chemistry():
    code = (
        "import sys; from labference.world.world import World; from labference.world.parts.table import Table; "
        "World((Table(),)); print([name for name in sys.modules if name.startswith('labference.world.wet') "
        "and name != 'labference.world.wet' or name == 'phreeqc'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", done.stdout


@pytest.mark.parametrize("load", [0.0, 12.3, 155.0])
def test_a_tare_shows_zero_changes_nothing_else_and_is_kept(load: float):
    cell, plain = LoadCellReadout(0.002), LoadCellReadout(0.002)
    for one in (cell, plain):
        one.zero(np.array([0.5]))
    force = np.full(2000, 0.5 + load * 9.81e-3, np.float32)
    for one in (cell, plain):
        one.update(force)
    assert cell.tare()
    kept = LoadCellReadout(0.002)
    kept.load(cell.state())
    more = force + np.float32(0.0981)
    first, second, third = cell.update(more), plain.update(more), kept.update(more)
    assert first.filtered.tobytes() == second.filtered.tobytes() == third.filtered.tobytes()
    assert (first.stable == second.stable).all() and (first.status == second.status).all()
    assert first.shown[-1] == third.shown[-1] == pytest.approx(10.0, abs=0.11)
    np.testing.assert_allclose(second.shown - first.shown, load, atol=0.11)


def test_a_moving_balance_is_not_tared():
    cell = LoadCellReadout(0.002)
    cell.zero(np.array([0.5]))
    cell.update(np.linspace(0.5, 3.0, 1000).astype(np.float32))
    assert not cell.tare() and cell.state().tare == 0.0


def test_a_checkpoint_comes_back_from_disk_and_continues_bit_for_bit(world: World, midway, tmp_path: Path):
    checkpoint, expected = midway
    handoff = Handoff(None, Seeds(0, 0, 0, 0, 0), checkpoint.setup, checkpoint, ())
    store(handoff, tmp_path)
    found = restore(tmp_path, None, handoff.seeds, checkpoint.setup, world.channels)
    assert found.world.wet == checkpoint.wet and found.digest == handoff.digest
    world.load(found.world)
    assert onward(world) == expected


def test_a_checkpoint_without_liquids_is_refused(world: World, midway):
    with pytest.raises(ValueError, match="nothing of what the vessels hold"):
        world.load(replace(midway[0], wet=None))


def test_a_balance_can_be_zeroed_under_an_empty_beaker(world: World):
    block = world.prepare(replace(wet_setup(acid=Filling(45.0), beaker=Filling(20.0)), on_cell=(), noise=0.0))
    reading = world.sense(readings=True).readings[0]
    assert reading.value == pytest.approx(20.0, abs=0.05) and reading.stable
    assert world.zero[BALANCE] == pytest.approx(9.81 * (0.050 + 0.055), rel=2e-4)
    assert block.force.min() > 0.9 * world.zero[BALANCE]  # nothing is dropped on the pan again
