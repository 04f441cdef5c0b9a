"""The eyes on a bench with tubes: caps, rotor, rack, stand and region against what is so, and hands led by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from labference.motion import (
    Arm,
    Disc,
    free_spot,
    go,
    grasp_tube,
    home,
    insert,
    pick,
    place,
    top_down,
    tube_insertion,
    tube_placement,
)
from labference.motion.skill import PARKED
from labference.sight import TUBE_CAMERAS, TubesView, see_tubes
from labference.sight.caps import nearest_colour
from labference.sight.cloud import pixels
from labference.sight.planar import fit, rectangle, to_base, to_local
from labference.sight.stand import RegionView
from labference.truth.measurement import LENGTH, Pose, Setup
from labference.wire import Goal, Move, Observation, Script, Senses
from labference.wire.action import STROKE
from labference.wire.panda import HOME
from labference.wire.tubes import (
    CAP_COLOURS,
    CAP_RADIUS,
    HOLE_DEPTH,
    HOLES,
    RACK_MOUTH,
    REGION_HALF,
    ROTOR_MOUTH,
    SLOT_DEPTH,
    SLOTS,
    STAND_FLOOR,
    STAND_PLACES,
    TUBE_HEIGHT,
    hole_position,
    slot_position,
    stand_position,
)
from labference.world.parts.hood import WAITING, Hood, covering
from labference.world.parts.rack import Rack
from labference.world.parts.region import Region
from labference.world.parts.rotor import Rotor
from labference.world.parts.stand import Stand
from labference.world.parts.table import TUBE_VIEWS, Table
from labference.world.parts.tube import Tube
from labference.world.world import World

ARM = Arm()
TUBES = ("one", "two", "three", "four")
FULL = 0.96
"""How deep a tube stands that a hand has seated, as a share of the depth."""
SCENES = range(5)
EMPTY_HANDED = Goal("", (), (), ())


class Lab:
    """A laboratory that scripts move, and a look at it with the arm parked."""

    def __init__(self, *parts: Any) -> None:
        self.world = World((Table(views=TUBE_VIEWS), Stand(), Hood(), *parts, *map(Tube, TUBES)))
        self.parked = np.array((*ARM.inverse(np.array(PARKED), top_down(0.0), np.array(HOME)), STROKE))
        self.count = 0

    def observe(self, cameras: tuple[str, ...] = ()) -> Observation:
        self.count += 1
        return Observation(self.count, EMPTY_HANDED, self.world.sense(cameras, depth=True))

    def run(self, skill: Callable[[Observation], Script[Any]]) -> Any:
        """Run `skill(observation)` to its end; return what it returns."""
        script = skill(self.observe())
        try:
            act = next(script)
            while True:
                assert isinstance(act, Move)
                for command in act.commands:
                    self.world.step(command, round(ARM.period / self.world.channels.timestep))
                act = script.send(self.observe())
        except StopIteration as end:
            return end.value

    def senses(self, setup: Setup) -> Senses:
        self.world.prepare(setup)
        for _ in range(2):
            self.world.step(self.parked, 200)
        return self.observe(TUBE_CAMERAS).senses

    def look(self) -> Senses:
        self.run(lambda seen: home(ARM, seen))
        return self.observe(TUBE_CAMERAS).senses

    def bottom(self, tube: str) -> np.ndarray:
        return self.world.now().pose[-1, self.world.channels.items.index(tube), :3] * LENGTH


@pytest.fixture(scope="module")
def centrifuge() -> Iterator[Lab]:
    lab = Lab(Rotor())
    yield lab
    lab.world.close()


@pytest.fixture(scope="module")
def recall() -> Iterator[Lab]:
    lab = Lab(Rack(), Region())
    yield lab
    lab.world.close()


def at(fixture: Pose, local: tuple[float, float]) -> tuple[float, float]:
    x, y = to_base(np.array(local), np.array((fixture.x, fixture.y, fixture.yaw)))
    return float(x), float(y)


def with_rotor(seats: dict[int, float], rotor: Pose, stand: Pose, colours: tuple[str, ...] = ()) -> Setup:
    """Let as many tubes stand in slots, at shares of the depth, and the others in the stand."""
    items = [Pose(*at(rotor, slot_position(slot)), ROTOR_MOUTH - share * SLOT_DEPTH) for slot, share in seats.items()]
    return _setup(items, {"rotor": rotor}, stand, colours)


def with_rack(seats: dict[str, float], rack: Pose, stand: Pose, colours: tuple[str, ...] = ()) -> Setup:
    items = [Pose(*at(rack, hole_position(hole)), RACK_MOUTH - share * HOLE_DEPTH) for hole, share in seats.items()]
    return _setup(items, {"rack": rack, "region": Pose(0.47, 0.20, 0.0)}, stand, colours)


def _setup(items: list[Pose], fixtures: dict[str, Pose], stand: Pose, colours: tuple[str, ...]) -> Setup:
    items += [Pose(*at(stand, stand_position(hole)), STAND_FLOOR) for hole in range(len(items), STAND_PLACES)]
    named = {tube: CAP_COLOURS[colour] for tube, colour in zip(TUBES, colours, strict=False)}
    return Setup(dict(zip(TUBES, items, strict=True)), fixtures | {"stand": stand, "hood": WAITING}, {}, colours=named)


def random_rotor(seed: int) -> tuple[dict[int, float], Setup]:
    rng = np.random.default_rng(seed)
    slots = rng.permutation(SLOTS)[: rng.integers(0, 4)]
    seats = {int(slot): float(rng.choice((FULL, rng.uniform(0.3, 0.9)))) for slot in slots}
    rotor = Pose(rng.uniform(0.47, 0.53), rng.uniform(0.13, 0.19), 0.0, rng.uniform(-np.pi, np.pi))
    stand = Pose(rng.uniform(0.44, 0.48), rng.uniform(-0.18, -0.14), 0.0, rng.uniform(-0.17, 0.17))
    return seats, with_rotor(seats, rotor, stand, tuple(rng.choice(list(CAP_COLOURS), 4)))


def random_rack(seed: int) -> tuple[dict[str, float], Setup]:
    rng = np.random.default_rng(seed)
    holes = rng.permutation(HOLES)[: rng.integers(0, 5)]
    seats = {str(hole): float(rng.choice((FULL, rng.uniform(0.3, 0.9)))) for hole in holes}
    rack = Pose(rng.uniform(0.44, 0.56), rng.uniform(-0.22, -0.10), 0.0, rng.uniform(-np.pi, np.pi))
    stand = Pose(0.47, 0.36, 0.0, np.pi / 2 + rng.uniform(-0.17, 0.17))
    colours = rng.permutation(list(CAP_COLOURS)) if seed % 2 else [rng.choice(list(CAP_COLOURS))] * 4
    return seats, with_rack(seats, rack, stand, tuple(colours))


def check_pose(centre: tuple[float, float], yaw: float, fixture: Pose) -> None:
    assert np.hypot(centre[0] - fixture.x, centre[1] - fixture.y) < 0.001
    assert abs(np.angle(np.exp(1j * (yaw - fixture.yaw)))) < np.radians(0.5)


def check_tubes(lab: Lab, view: TubesView, setup: Setup, places: dict[str, tuple[str, float | None]]) -> None:
    """Check position, colour, place and depth of every tube; `places` holds those that are not in the stand."""
    assert len(view.tubes) == len(TUBES)
    assert not view.fallen
    for tube in TUBES:
        x, y, z = lab.bottom(tube)
        seen = min(view.tubes, key=lambda seen: float(np.hypot(*(np.array(seen.cap.position) - (x, y)))))
        place, share = places.get(tube, ("stand", None))
        assert np.hypot(*(np.array(seen.cap.position) - (x, y))) < 0.0007
        assert seen.cap.top == pytest.approx(z + TUBE_HEIGHT, abs=0.0003)
        assert CAP_COLOURS[seen.cap.colour] == setup.colours.get(tube, CAP_COLOURS["white"])
        assert seen.place == place
        assert seen.depth == (None if share is None else pytest.approx(share, abs=0.01))


@pytest.mark.parametrize("seed", SCENES)
def test_rotor_and_tubes_are_seen_where_they_are(centrifuge: Lab, seed: int) -> None:
    seats, setup = random_rotor(seed)
    view = see_tubes(centrifuge.senses(setup))
    assert view.rotor is not None and view.stand is not None
    check_pose(view.rotor.centre, view.rotor.yaw, setup.fixtures["rotor"])
    check_pose(view.stand.centre, view.stand.yaw, setup.fixtures["stand"])
    places = {tube: (f"slot {slot}", share) for tube, (slot, share) in zip(TUBES, seats.items(), strict=False)}
    check_tubes(centrifuge, view, setup, places)
    assert view.rotor.seats.keys() == seats.keys()
    assert view.rotor.empty == set(range(SLOTS)) - seats.keys()
    assert view.rack is None and view.region is None


@pytest.mark.parametrize("seed", SCENES)
def test_rack_and_tubes_are_seen_where_they_are_at_any_angle(recall: Lab, seed: int) -> None:
    seats, setup = random_rack(seed)
    view = see_tubes(recall.senses(setup))
    assert view.rack is not None and view.stand is not None and view.region is not None
    check_pose(view.rack.centre, view.rack.yaw, setup.fixtures["rack"])
    check_pose(view.region.centre, view.region.yaw, setup.fixtures["region"])
    stand = setup.fixtures["stand"]
    assert np.hypot(view.stand.centre[0] - stand.x, view.stand.centre[1] - stand.y) < 0.001
    places = {tube: place for tube, place in zip(TUBES, seats.items(), strict=False)}
    check_tubes(recall, view, setup, places)
    assert view.rack.seats.keys() == seats.keys()
    assert not view.rack.empty & seats.keys()
    assert len(view.rack.empty) >= len(HOLES) - len(seats) - 1
    assert view.rotor is None


@pytest.mark.parametrize("quarter", range(4))
def test_four_tubes_around_a_corner_do_not_turn_the_rack(recall: Lab, quarter: int) -> None:
    rack = Pose(0.50, -0.15, 0.0, quarter * np.pi / 2 + 0.2)
    seats = {"A1": 0.3, "A2": FULL, "B1": 0.6, "C1": FULL}
    view = see_tubes(recall.senses(with_rack(seats, rack, Pose(0.47, 0.36, 0.0, np.pi / 2))))
    assert view.rack is not None
    check_pose(view.rack.centre, view.rack.yaw, rack)
    assert {hole: seat.depth for hole, seat in view.rack.seats.items()} == pytest.approx(seats, abs=0.01)


def test_a_tube_that_is_not_in_deep_enough_is_seen_as_such(centrifuge: Lab) -> None:
    rotor = Pose(0.5, 0.16, 0.0, 0.4)
    view = see_tubes(centrifuge.senses(with_rotor({3: FULL, 4: 0.5, 9: 0.25}, rotor, Pose(0.46, -0.16, 0.0))))
    assert view.rotor is not None
    deep = {slot for slot, seat in view.rotor.seats.items() if seat.depth >= 0.6}
    assert deep == {3} and view.rotor.seats.keys() == {3, 4, 9}


@pytest.mark.parametrize("share", [0.55, 0.65])
def test_depth_is_told_to_a_hundredth(recall: Lab, share: float) -> None:
    rack = Pose(0.46, -0.20, 0.0, -2.0)
    view = see_tubes(recall.senses(with_rack({"B3": share}, rack, Pose(0.47, 0.36, 0.0, np.pi / 2))))
    (tube,) = view.at("B3")
    assert tube.depth == pytest.approx(share, abs=0.01)


def test_what_the_hood_covers_is_not_guessed(centrifuge: Lab, recall: Lab) -> None:
    _, rotor = random_rotor(2)
    at_rotor, stand = rotor.fixtures["rotor"], rotor.fixtures["stand"]
    setup = with_rotor({0: FULL, 5: FULL}, at_rotor, stand)
    view = see_tubes(centrifuge.senses(hooded(setup, at_rotor)))
    assert view.rotor is None and [tube.place for tube in view.tubes] == ["stand", "stand"]
    rack = Pose(0.5, -0.16, 0.0, 0.6)
    setup = with_rack({"B2": FULL, "C4": FULL}, rack, Pose(0.47, 0.36, 0.0, np.pi / 2))
    view = see_tubes(recall.senses(hooded(setup, rack)))
    assert view.rack is None and [tube.place for tube in view.tubes] == ["stand", "stand"]
    assert view.region is not None


def hooded(setup: Setup, fixture: Pose) -> Setup:
    return replace(setup, fixtures=setup.fixtures | {"hood": covering(fixture.x, fixture.y)})


def test_region_table_and_what_stands_on_something_are_told_apart(recall: Lab) -> None:
    setup = with_rack({}, Pose(0.5, -0.16, 0.0, 0.6), Pose(0.47, 0.36, 0.0, np.pi / 2))
    stood = {"one": Pose(0.49, 0.17, 0.0), "two": Pose(0.36, 0.02, 0.0), "three": Pose(0.47, 0.36, 0.0335)}
    view = see_tubes(recall.senses(replace(setup, items=setup.items | stood)))
    assert sorted(tube.place for tube in view.tubes) == ["elsewhere", "region", "stand", "table"]


def test_a_fallen_tube_is_seen_lying(recall: Lab) -> None:
    setup = with_rack({}, Pose(0.5, -0.16, 0.0, 0.6), Pose(0.47, 0.36, 0.0, np.pi / 2))
    recall.world.prepare(replace(setup, items=setup.items | {"one": Pose(0.38, 0.06, 0.0)}))

    def topple(seen: Observation) -> Script[Observation]:
        seen = yield from go(ARM, seen, np.array((0.38, 0.01, 0.11)), 0.0, 0.0)
        return (yield from go(ARM, seen, np.array((0.38, 0.09, 0.11)), 0.0, 0.0, speed=0.2, settle=0.5))

    recall.run(topple)
    view = see_tubes(recall.look())
    assert [tube.place for tube in view.tubes] == ["stand"] * 3
    (lying,) = view.fallen
    assert np.hypot(*(recall.bottom("one")[:2] - lying.position)) == pytest.approx(TUBE_HEIGHT / 2, abs=0.004)


def test_a_partly_hidden_cap_is_found_where_it_is(recall: Lab) -> None:
    setup = with_rack({"B2": FULL}, Pose(0.5, -0.16, 0.0, 0.6), Pose(0.47, 0.36, 0.0, np.pi / 2), ("red",))
    senses = recall.senses(setup)
    frame = senses.frame(TUBE_CAMERAS[0])
    x, y, z = recall.bottom("one")
    column, row = pixels(frame, np.array((x, y, z + TUBE_HEIGHT)))
    assert frame.depth is not None
    for side in (-1, 1):
        rgb, depth = frame.rgb.copy(), frame.depth.copy()
        hidden = (
            slice(round(column) + 3, round(column) + 60) if side > 0 else slice(round(column) - 60, round(column) - 2)
        )
        rgb[round(row) - 40 : round(row) + 40, hidden] = 128
        depth[round(row) - 40 : round(row) + 40, hidden] = 6000
        view = see_tubes(replace(senses, frames=(replace(frame, rgb=rgb, depth=depth),)))
        (tube,) = [tube for tube in view.tubes if tube.cap.colour == "red"]
        assert 0.35 < tube.cap.seen < 0.8
        assert np.hypot(*(np.array(tube.cap.position) - (x, y))) < 0.0015
        assert tube.place == "B2"


def test_nothing_is_said_about_a_slot_whose_tube_would_be_hidden(centrifuge: Lab) -> None:
    rotor = Pose(0.5, 0.16, 0.0, 0.4)
    senses = centrifuge.senses(with_rotor({3: FULL}, rotor, Pose(0.46, -0.16, 0.0)))
    frame = senses.frame(TUBE_CAMERAS[0])
    assert frame.depth is not None
    depth = frame.depth.copy()
    for slot in (3, 8):
        x, y = at(rotor, slot_position(slot))
        column, row = np.rint(pixels(frame, np.array((x, y, 0.125)))).astype(int)
        depth[row - 14 : row + 14, column - 14 : column + 14] = 7000
    view = see_tubes(replace(senses, frames=(replace(frame, depth=depth),)))
    assert view.rotor is not None
    assert view.rotor.empty == set(range(SLOTS)) - {3, 8} and not view.rotor.seats


def test_an_empty_bench_shows_nothing(centrifuge: Lab) -> None:
    senses = centrifuge.senses(random_rotor(0)[1])
    frame = senses.frame(TUBE_CAMERAS[0])
    blank = replace(frame, depth=np.zeros_like(frame.depth), rgb=np.full_like(frame.rgb, 128))
    view = see_tubes(replace(senses, frames=(blank,)))
    assert view == TubesView((), (), None, None, None, None)


def test_colours_are_named_in_any_light() -> None:
    for name, colour in CAP_COLOURS.items():
        assert all(nearest_colour(np.array(colour) * light) == name for light in (60.0, 180.0, 255.0))


def test_a_pattern_is_found_where_it_is() -> None:
    def template(places: np.ndarray, width: float) -> np.ndarray:
        return rectangle(places, (-0.03, -0.02), (0.05, 0.02), width)[:, None]

    pose = np.array((0.41, -0.13, 0.7))
    axis = np.arange(-0.08, 0.08, 0.0011)
    places = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2) + pose[:2]
    seen = (template(to_local(places, pose), 1e-6) > 0.5).astype(float)
    found = fit(places, seen, template, pose + np.array((0.004, -0.003, 0.08)))
    assert np.hypot(*(found - pose)[:2]) < 1e-4
    assert abs(found[2] - pose[2]) < 0.003


def test_a_region_knows_how_far_inside_a_place_is() -> None:
    region = RegionView((0.47, 0.20), 0.0)
    assert region.inside((0.47, 0.20)) == pytest.approx(REGION_HALF)
    assert region.inside((0.47 + REGION_HALF - 0.01, 0.21)) == pytest.approx(0.01)
    assert region.inside((0.56, 0.20)) == pytest.approx(-0.03)


@pytest.mark.parametrize("seed", range(2))
def test_hands_seat_what_the_eyes_found_beside_a_neighbour(centrifuge: Lab, seed: int) -> None:
    rotor = Pose(0.5, 0.16, 0.0, 1.0 + 2.2 * seed)
    view = see_tubes(centrifuge.senses(with_rotor({6: FULL, 8: FULL}, rotor, Pose(0.46, -0.16, 0.0, 0.1))))
    tube = view.at("stand")[0]
    assert view.rotor is not None and 7 in view.rotor.empty
    others = view.outlines(tube)
    picked = centrifuge.run(lambda seen: pick(ARM, seen, grasp_tube(tube.base, others)))
    assert picked.holding
    target = tube_insertion(view.rotor.slot(7), SLOT_DEPTH, others)
    centrifuge.run(lambda seen: insert(ARM, seen, target))
    after = see_tubes(centrifuge.look())
    assert after.rotor is not None
    assert {slot: seat.depth > 0.9 for slot, seat in after.rotor.seats.items()} == {6: True, 7: True, 8: True}


def test_hands_fetch_a_tube_from_among_others_to_the_region(recall: Lab) -> None:
    rack = Pose(0.52, -0.14, 0.0, 2.6)
    holes = {"B2": FULL, "A2": FULL, "B1": FULL, "B3": FULL}
    view = see_tubes(recall.senses(with_rack(holes, rack, Pose(0.47, 0.36, 0.0, np.pi / 2))))
    (tube,) = view.at("B2")
    assert view.region is not None
    spot = free_spot(Disc(view.region.centre, REGION_HALF), view.outlines(tube), CAP_RADIUS)
    assert spot is not None
    picked = recall.run(lambda seen: pick(ARM, seen, grasp_tube(tube.base, view.outlines(tube))))
    assert picked.holding
    recall.run(lambda seen: place(ARM, seen, tube_placement((*spot.position, 0.0))))
    after = see_tubes(recall.look())
    assert after.rack is not None
    assert after.rack.seats.keys() == {"A2", "B1", "B3"}
    assert len(after.at("region")) == 1
