"""Rotor, rack and stand with tubes in them: what friction holds, what falls, and what moves along."""

import hashlib
import itertools
import math
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from labference.motion.kinematics import Arm, top_down
from labference.motion.path import straight
from labference.truth.measurement import (
    ENVIRONMENT,
    FIRST_SURFACE,
    ITEM,
    LEFT,
    RIGHT,
    SPEED,
    Block,
    Carry,
    Pose,
    Rearrangement,
    Setup,
)
from labference.wire.panda import HOME
from labference.wire.tubes import (
    CAP_COLOURS,
    CLEARANCE,
    GRIP_HEIGHT,
    HOLE_DEPTH,
    PITCH,
    RACK_MOUTH,
    ROTOR_MOUTH,
    ROTOR_RADIUS,
    SLOT_DEPTH,
    STAND_FLOOR,
    TUBE_HEIGHT,
    hole_position,
    slot_position,
    stand_position,
)
from labference.world.parts.hood import WAITING, Hood, covering
from labference.world.parts.rack import Rack
from labference.world.parts.rotor import Rotor
from labference.world.parts.stand import Stand
from labference.world.parts.table import TUBE_VIEWS, Table
from labference.world.parts.tube import Tube
from labference.world.world import World

TUBES = ("t0", "t1", "t2", "t3")
PARTS = (Table(views=TUBE_VIEWS), Rotor(), Rack(), Stand(), Hood(), *(Tube(name) for name in TUBES))
ROTOR, RACK = Pose(0.50, 0.16, 0.0, 0.4), Pose(0.50, -0.16, 0.0, 0.3)
FIXTURES = {"rotor": ROTOR, "rack": RACK, "stand": Pose(0.50, 0.42, 0.0, 1.57), "hood": WAITING}
OPEN, CLOSED = np.array([*HOME, 0.08]), np.array([*HOME, 0.0])
SECOND = 500
IN_ROTOR = [("rotor", slot) for slot in (0, 1, 6, 11)]
IN_RACK = [("rack", hole) for hole in ("A1", "A2", "B1", "B2")]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    laboratory = World(PARTS)
    yield laboratory
    laboratory.close()


def beside(frame: Pose, xy: tuple[float, float], z: float, yaw: float = 0.0) -> Pose:
    c, s = math.cos(frame.yaw), math.sin(frame.yaw)
    return Pose(frame.x + c * xy[0] - s * xy[1], frame.y + s * xy[0] + c * xy[1], z, frame.yaw + yaw)


def into(socket: tuple[str, int | str], share: float, aside: tuple[float, float] = (0.0, 0.0)) -> Pose:
    """Return the pose of a tube that is in a slot or hole to a `share` of its depth, 0.2 mm above the floor at most."""
    fixture, name = socket
    if fixture == "rotor":
        frame, xy, mouth, depth = ROTOR, slot_position(int(name)), ROTOR_MOUTH, SLOT_DEPTH
    else:
        frame, xy, mouth, depth = RACK, hole_position(str(name)), RACK_MOUTH, HOLE_DEPTH
    return beside(frame, (xy[0] + aside[0], xy[1] + aside[1]), mouth - share * depth + 0.0002)


def on_the_bench(index: int) -> Pose:
    return Pose(0.34, -0.30 + 0.05 * index, 0.0, 0.5 * index)


def setup(*poses: Pose, held: tuple[str, float] | None = None) -> Setup:
    """Put tubes at `poses`, and the others on the bench."""
    items = dict(zip(TUBES, (*poses, *map(on_the_bench, range(len(poses), 4))), strict=True))
    return Setup(items, FIXTURES, {}, held=held)


def positions(block: Block, row: int = -1) -> np.ndarray:
    """Return where the tubes are, (n, 3) [m]."""
    return np.asarray(block.pose[row, :-1, :3] * 1e-6)


def touches(world: World, mask: int) -> set[str]:
    names = ["left", "right", "hand", "item", *world.channels.surfaces]
    return {name for bit, name in enumerate(names) if mask >> bit & 1}


@pytest.mark.parametrize("sockets", [IN_ROTOR, IN_RACK])
def test_seated_tubes_stay_at_rest_without_touching_each_other(
    world: World, sockets: list[tuple[str, int | str]]
) -> None:
    poses = [into(socket, 1.0) for socket in sockets]
    prepared = world.prepare(setup(*poses))
    block, _ = world.step(OPEN, 5 * SECOND)
    there = np.array([(pose.x, pose.y, pose.z) for pose in poses])
    assert np.abs(positions(block) - there).max() < CLEARANCE
    assert np.abs(positions(block) - positions(prepared)).max() < 3e-4
    assert (block.speed * SPEED <= (0.002, 0.05)).all()
    assert [touches(world, mask) for mask in block.touch[-1, :4]] == [{sockets[0][0]}] * 4
    assert not (block.touch[:, :4] >> ITEM & 1).any()


@pytest.mark.parametrize(
    ("sockets", "share"),
    [*((IN_ROTOR, share) for share in (0.20, 0.35, 0.50)), *((IN_RACK, share) for share in (0.25, 0.35, 0.50))],
)
def test_a_tube_that_was_left_half_way_does_not_drop_home(
    world: World, sockets: list[tuple[str, int | str]], share: float
) -> None:
    prepared = world.prepare(setup(*(into(socket, share) for socket in sockets)))
    left = np.array([into(socket, share).z for socket in sockets])
    # Until the collar has passed the rounded bottom, a tube slides a little.
    assert np.abs(positions(prepared)[:, 2] - left).max() < 2e-3
    block, _ = world.step(OPEN, 5 * SECOND)
    assert np.abs(positions(block) - positions(prepared)).max() < 3e-4


def test_tubes_stand_by_themselves_on_the_bench_and_in_the_stand(world: World) -> None:
    stand = FIXTURES["stand"]
    poses = [on_the_bench(0), on_the_bench(1), *(beside(stand, stand_position(i), STAND_FLOOR) for i in (0, 1))]
    world.prepare(setup(*poses))
    block, _ = world.step(OPEN, 3 * SECOND)
    there = np.array([(pose.x, pose.y, pose.z) for pose in poses])
    assert np.abs(positions(block) - there).max() < 2e-4
    surfaces = [{"table"}, {"table"}, {"stand"}, {"stand"}]
    assert [touches(world, mask) for mask in block.touch[-1, :4]] == surfaces


def test_a_tube_that_is_tipped_over_comes_to_rest_on_the_bench(world: World) -> None:
    world.prepare(setup(Pose(0.40, 0.0, 0.0)))
    world._data.qvel[world._built.item_qvel[0]] = 0.3, 0.05, 0.0, 0.0, 6.0, 0.0
    block, _ = world.step(OPEN, 4 * SECOND)
    upright = 1 - 2 * ((block.pose[-1, 0, 4:6] * 1e-5) ** 2).sum()
    assert abs(upright) < 0.1
    assert touches(world, block.touch[-1, 0]) == {"table"}
    assert (block.speed[-1, 0] * SPEED < (0.005, 0.05)).all()
    world._data.qvel[world._built.item_qvel[0][:2]] = 0.0, 0.1
    pushed, _ = world.step(OPEN, 4 * SECOND)
    rolled = np.linalg.norm((positions(pushed) - positions(block))[0])
    assert 0.002 < rolled < 0.05
    assert (pushed.speed[-1, 0] * SPEED < (0.005, 0.05)).all()


def test_a_held_tube_stays_in_the_hand(world: World) -> None:
    prepared = world.prepare(setup(held=("t0", GRIP_HEIGHT)))
    assert world.command.tolist() == [*HOME, 0.0]
    assert prepared.opening[-1, 1] == 0
    tool = prepared.pose[-1, -1, :3] * 1e-6
    np.testing.assert_allclose(positions(prepared)[0], tool - (0, 0, GRIP_HEIGHT), atol=2e-4)
    moving, _ = world.step(CLOSED + np.array([0.5, 0.3, 0, -0.2, 0, 0.3, 0.4, 0]), SECOND)
    back, _ = world.step(CLOSED, 2 * SECOND)
    assert set(back.touch[:, 0]) == set(moving.touch[:, 0]) == {1 << LEFT | 1 << RIGHT}
    tool = back.pose[-1, -1, :3] * 1e-6
    np.testing.assert_allclose(positions(back)[0], tool - (0, 0, GRIP_HEIGHT), atol=2e-3)
    open_hand, _ = world.step(OPEN, SECOND)
    assert touches(world, open_hand.touch[-1, 0]) == {"table"}


BETWEEN = {
    "rotor": beside(ROTOR, (ROTOR_RADIUS * math.cos(math.pi / 12), ROTOR_RADIUS * math.sin(math.pi / 12)), 0.09),
    "along a row": beside(RACK, (hole_position("B2")[0] + PITCH / 2, 0.0), 0.076),
    "along a column": beside(RACK, (hole_position("B2")[0], PITCH / 2), 0.076),
    "amid four": beside(RACK, (hole_position("B2")[0] + PITCH / 2, PITCH / 2), 0.076),
}


@pytest.mark.parametrize("where", BETWEEN)
def test_a_tube_dropped_between_two_holes_enters_neither(world: World, where: str) -> None:
    world.prepare(setup(Pose(0.40, 0.0, 0.0)))
    world.rearrange(Rearrangement({}, items={"t0": BETWEEN[where]}))
    block, _ = world.step(OPEN, 2 * SECOND)
    mouth, surface = (ROTOR_MOUTH, "rotor") if where == "rotor" else (RACK_MOUTH, "rack")
    assert block.pose[:, 0, 2].min() * 1e-6 > mouth
    assert touches(world, block.touch[-1, 0]) == {surface}


@pytest.mark.parametrize("socket", [("rotor", 3), ("rack", "B2")])
@pytest.mark.parametrize("aside", [(0.004, 0.0), (0.0, -0.004), (-0.0028, 0.0028)])
def test_a_funnel_leads_a_tube_into_its_own_hole(
    world: World, socket: tuple[str, int | str], aside: tuple[float, float]
) -> None:
    world.prepare(setup(Pose(0.40, 0.0, 0.0)))
    above = into(socket, -0.2, aside)
    world.rearrange(Rearrangement({}, items={"t0": above}))
    block, _ = world.step(OPEN, SECOND)
    centre = into(socket, 0.0)
    x, y, z = positions(block)[0]
    assert math.hypot(x - centre.x, y - centre.y) < 2 * CLEARANCE
    assert z < centre.z - 0.003


@pytest.mark.parametrize("socket", [("rotor", 4), ("rack", "B2")])
def test_a_hand_seats_a_tube_three_millimetres_off_and_pulls_it_out_again(
    world: World, socket: tuple[str, int | str]
) -> None:
    world.prepare(setup(held=("t0", GRIP_HEIGHT)))
    depth = SLOT_DEPTH if socket[0] == "rotor" else HOLE_DEPTH
    mouth = into(socket, 0.0, aside=(0.0021, -0.0021))
    arm = Arm()

    def go(height: float, opening: float, speed: float) -> None:
        goal = np.array((mouth.x, mouth.y, mouth.z + GRIP_HEIGHT + height))
        for command in straight(arm, world.command, goal, top_down(RACK.yaw + 0.785), opening, speed):
            world.step(command, 25)

    go(0.09, 0.0, 0.4)
    go(0.01, 0.0, 0.2)
    go(0.003 - depth, 0.0, 0.05)
    world.step(np.array([*world.command[:7], 0.042]), 200)
    assert touches(world, world.now().touch[0, 0]) == {socket[0]}
    go(0.03, 0.042, 0.3)
    seated = positions(world.now(), 0)[0]
    assert (mouth.z - seated[2]) / depth > 0.9
    go(seated[2] - mouth.z, 0.042, 0.3)
    world.step(np.array([*world.command[:7], 0.0]), 200)
    go(0.03, 0.0, 0.05)
    now = world.now()
    assert now.touch[0, 0] == 1 << LEFT | 1 << RIGHT
    assert positions(now, 0)[0, 2] > mouth.z + 0.02


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_a_rack_takes_its_tubes_along(world: World, share: float) -> None:
    before = world.prepare(setup(*(into(socket, share) for socket in IN_RACK)))
    there = Pose(RACK.x - 0.04, RACK.y + 0.03, 0.0, RACK.yaw + math.pi)
    carried = tuple(Carry(name, RACK, there) for name in TUBES)
    world._data.qvel[:] = 0.1
    world.rearrange(Rearrangement({"rack": there}, carried))
    now = world.now()
    assert (now.speed == 0).all()
    assert (world._data.qacc_warmstart == 0).all()
    np.testing.assert_allclose(headings(now), -headings(before), atol=0.01)
    block, _ = world.step(OPEN, SECOND, ENVIRONMENT)
    assert (block.control, block.generation) == (ENVIRONMENT, 1)
    relative = [local(positions(part), frame) for part, frame in ((before, RACK), (block, there))]
    assert np.abs(relative[1] - relative[0]).max() < 3e-4
    assert (block.speed[:, :, 0] * SPEED < 0.01).all()
    assert [touches(world, mask) for mask in block.touch[-1, :4]] == [{"rack"}] * 4


def headings(block: Block) -> np.ndarray:
    """Return where the x axes of the tubes point, (n, 2)."""
    w, x, y, z = np.moveaxis(block.pose[-1, :-1, 3:] * 1e-5, -1, 0)
    return np.column_stack((1 - 2 * (y * y + z * z), 2 * (x * y + w * z)))


def local(points: np.ndarray, frame: Pose) -> np.ndarray:
    c, s = math.cos(frame.yaw), math.sin(frame.yaw)
    return np.asarray((points - (frame.x, frame.y, frame.z)) @ np.array([(c, -s, 0), (s, c, 0), (0, 0, 1)]))


def test_a_rearrangement_that_moves_no_body_is_none_of_their_business(world: World) -> None:
    world.prepare(setup(*(into(socket, 1.0) for socket in IN_RACK)))
    checkpoint = world.save()
    expected = digest(world.step(OPEN, 50)[0])
    world.load(checkpoint)
    world.rearrange(Rearrangement({"hood": covering(RACK.x, RACK.y)}))
    block, _ = world.step(OPEN, 50)
    assert digest(block) == expected
    assert block.generation == 0
    assert block.fixtures[world.channels.fixtures.index("hood")].tolist() == [500_000, -160_000, 0, 100_000, 0, 0, 0]


def digest(*blocks: Block) -> str:
    sha = hashlib.sha256()
    for block in blocks:
        for array in (block.pose, block.speed, block.touch, block.opening):
            sha.update(array.tobytes())
    return sha.hexdigest()


def go_on(world: World) -> str:
    blocks = [world.step(command, 100)[0] for command in (CLOSED, OPEN + 0.02 * np.r_[np.ones(7), 0.0], OPEN)]
    return digest(*blocks) + str([block.generation for block in blocks])


def rearranged(world: World) -> None:
    world.prepare(setup(*(into(socket, 0.7) for socket in IN_RACK)))
    there = Pose(RACK.x, RACK.y, 0.0, RACK.yaw + math.pi)
    carried = tuple(Carry(name, RACK, there) for name in TUBES[:3])
    world.rearrange(Rearrangement({"rack": there, "hood": covering(0.5, 0.0)}, carried, {"t3": on_the_bench(3)}))


@pytest.mark.parametrize("steps", [0, 120])
def test_a_checkpoint_after_a_rearrangement_continues_bit_for_bit_in_a_fresh_process(
    world: World, steps: int, tmp_path: Path
) -> None:
    rearranged(world)
    for _ in range(steps // 40):
        world.step(OPEN, 40)
    (tmp_path / "checkpoint").write_bytes(pickle.dumps(world.save()))
    fixtures = world.now().fixtures.tolist()
    expected = go_on(world)
    assert expected.endswith("[1, 1, 1]")
    code = (
        "import pickle, sys; from pathlib import Path; from test_sockets import *\n"
        "world = World(PARTS); world.load(pickle.loads(Path(sys.argv[1]).read_bytes()))\n"
        "print(world.now().fixtures.tolist()); print(go_on(world))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "checkpoint")],
        cwd=Path(__file__).parent,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [str(fixtures), expected]


def test_preparing_again_forgets_a_rearrangement(world: World) -> None:
    there = setup(*(into(socket, 1.0) for socket in IN_RACK))
    first = digest(world.prepare(there)) + go_on(world)
    rearranged(world)
    again = world.prepare(there)
    assert again.generation == 0
    assert digest(again) + go_on(world) == first


def test_caps_show_the_colours_of_an_instance_also_after_a_checkpoint(world: World) -> None:
    standing = setup(*(Pose(0.45, -0.05 + 0.1 * index, 0.0) for index in range(4)))
    world.prepare(replace(standing, colours={"t0": CAP_COLOURS["red"], "t1": CAP_COLOURS["blue"]}))
    checkpoint = world.save()
    coloured = caps(world)
    world.prepare(standing)
    plain = caps(world)
    world.load(checkpoint)
    assert caps(world) == coloured
    assert [main(colour) for colour in coloured] == ["red", "blue", "none", "none"]
    assert [main(colour) for colour in plain] == ["none"] * 4
    assert (world._model.geom_rgba == world._studio._model.geom_rgba).all()


def caps(world: World) -> list[tuple[int, ...]]:
    """Return the colours at which the camera "above" sees the tops of the caps."""
    frame = world.frame("above")
    colours = []
    for x, y, z in positions(world.now(), 0):
        at = np.linalg.inv(frame.pose) @ [x, y, z + TUBE_HEIGHT, 1]
        u, v, _ = frame.intrinsics @ at[:3] / at[2]
        colours.append(tuple(int(value) for value in frame.rgb[round(v), round(u)]))
    return colours


def main(colour: tuple[int, ...]) -> str:
    names = ("red", "green", "blue")
    return names[int(np.argmax(colour))] if max(colour) - min(colour) > 80 else "none"


def test_the_surfaces_of_tubes_fit_into_a_touch_mask(world: World) -> None:
    assert world.channels.surfaces == ("table", "rotor", "rack", "stand")
    assert world.channels.bit("stand") == 1 << FIRST_SURFACE + 3
    assert world.channels.fixtures == ("rotor", "rack", "stand", "hood")


def test_slots_and_holes_are_too_far_apart_for_caps_to_meet() -> None:
    slots = [slot_position(index) for index in range(12)]
    holes = [hole_position(name) for name in ("A1", "A2", "B1", "B2")]
    for places in (slots, holes):
        assert min(math.dist(a, b) for a, b in itertools.combinations(places, 2)) > 0.040
