"""Recognisers and the seating predicate on hand-made tracks: what counts, what nearly does, and how time is cut."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.tasks import centrifuge, recall
from labference.truth.contract import Recogniser
from labference.truth.events import Approached, Entered, Recognised, Returned, Withdrew
from labference.truth.measurement import HAND, ITEM, LEFT, LENGTH, RIGHT, TURN, Block, Channels, Pose
from labference.truth.recognise import Approach, Entry, Withdrawal
from labference.truth.sockets import Sockets
from labference.wire.tubes import CAP_HEIGHT, CAP_RADIUS, GRIP_HEIGHT, HOLES, PITCH, TUBE_LENGTH, opposite

CHANNELS = Channels(("tube", "other"), ("table", "rotor", "rack"), (), ("rack", "rotor"), 0.002)
GRIP = 1 << LEFT | 1 << RIGHT
ROTOR, RACK = Pose(0.50, 0.16, 0.0, 0.7), Pose(0.50, -0.16, 0.0, -1.9)
WHERE = {"rotor": ROTOR, "rack": RACK}
ALL = (centrifuge.SOCKETS, recall.SOCKETS)
both = pytest.mark.parametrize("sockets", ALL, ids=("rotor", "rack"))
MM = 1e-3


def quaternion(lean: float, about: float) -> tuple[float, float, float, float]:
    """Return the wxyz quaternion of a turn by `lean` about the horizontal axis at angle `about` [degrees]."""
    half, at = math.radians(lean) / 2, math.radians(about)
    return math.cos(half), math.sin(half) * math.cos(at), math.sin(half) * math.sin(at), 0.0


def product(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    w, x, y, z = a
    p, q, r, s = b
    return (
        w * p - x * q - y * r - z * s,
        w * q + x * p + y * s - z * r,
        w * r - x * s + y * p + z * q,
        w * s + x * r - y * q + z * p,
    )


def standing() -> np.ndarray:
    rows = [
        (f.x / LENGTH, f.y / LENGTH, f.z / LENGTH, math.cos(f.yaw / 2) / TURN, 0, 0, math.sin(f.yaw / 2) / TURN)
        for f in (RACK, ROTOR)
    ]
    return np.rint(np.array(rows)).astype(np.int32)


STANDING = standing()
GRID = np.array([LENGTH] * 3 + [TURN] * 4)
REST = np.array(((0.2, 0, 0, 1, 0, 0, 0), (0.1, 0.6, 0, 1, 0, 0, 0), (0, 0, 0.5, 0, 1, 0, 0)), float)


@dataclass
class Track:
    """Move one point through the frame of a fixture: the lower end of a held tube, or an empty hand.

    `at` is its x and y [m] and its height over the mouths, or over the tops of caps for a hand [m].
    """

    sockets: Sockets
    hand: bool = False
    at: np.ndarray = field(default_factory=lambda: np.array((0.0, 0.0, 0.2)))
    pieces: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    @property
    def ticks(self) -> int:
        return sum(len(pose) for pose, _ in self.pieces)

    def over(self, name: str, height: float, aside: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
        x, y = self.sockets.mouths[self.sockets.names.index(name)]
        return np.array((x + aside[0], y + aside[1], height))

    def start(self, at: np.ndarray) -> Track:
        self.at = np.array(at, float)
        return self

    def go(self, to: np.ndarray, speed: float = 0.05, **how: Any) -> Track:
        """Move in a straight line at `speed` [m/s]."""
        ticks = max(1, round(float(np.linalg.norm(to - self.at)) / speed / CHANNELS.timestep))
        share = np.arange(1, ticks + 1)[:, None] / ticks
        self._add(self.at + share * (to - self.at), **how)
        self.at = np.array(to, float)
        return self

    def wait(self, seconds: float, **how: Any) -> Track:
        self._add(np.tile(self.at, (round(seconds / CHANNELS.timestep), 1)), **how)
        return self

    def _add(self, local: np.ndarray, touch: int = 0, held: bool = True, lean: float = 0.0, about: float = 0.0) -> None:
        fixture = WHERE[self.sockets.fixture]
        c, s = math.cos(fixture.yaw), math.sin(fixture.yaw)
        pose = np.tile(REST, (len(local), 1, 1))
        place, turn = local @ np.array(((c, s, 0), (-s, c, 0), (0, 0, 1))), quaternion(lean, about)
        place += (fixture.x, fixture.y, recall.CAP_TOPS if self.hand else self.sockets.height)
        if self.hand:
            pose[:, 2] = (*(0.0,) * 3, *product(turn, (0.0, 1.0, 0.0, 0.0)))
            pose[:, 2, :3] = place
        else:
            pose[:, 0] = (*(0.0,) * 3, *turn)
            pose[:, 0, :3] = place
            pose[:, 2, :3] = place + np.array((0.0, 0.0, GRIP_HEIGHT))
        mask = touch | (GRIP if held and not self.hand else 0)
        masks = np.tile(np.array((mask, CHANNELS.bit("table"), 0), np.uint16), (len(local), 1))
        self.pieces.append((np.rint(pose / GRID).astype(np.int32), masks))

    def blocks(self, cuts: Iterator[int] | None = None, first: int = 0) -> Iterator[Block]:
        """Yield the track in blocks as long as `cuts` say, 25 ticks unless told otherwise."""
        lengths, start = cuts or itertools.repeat(25), 0
        pose, touch = (np.concatenate(columns) for columns in zip(*self.pieces, strict=True))
        while start < len(pose):
            rows = slice(start, min(len(pose), start + next(lengths)))
            size = rows.stop - rows.start
            yield Block(
                first + start,
                pose[rows],
                np.zeros((size, 2, 2), np.int32),
                touch[rows],
                np.tile(np.array((50_000, 50_000) if self.hand else (22_000, 0), np.int32), (size, 1)),
                np.zeros((size, 0), np.float32),
                STANDING,
            )
            start = rows.stop


def seen(recogniser: Recogniser, track: Track) -> list[Recognised]:
    return [event for block in track.blocks() for event in recogniser.update(block)]


def entered(track: Track) -> list[str]:
    """Return the sockets that were entered, in order."""
    found = seen(Entry(track.sockets, CHANNELS), track)
    assert all(isinstance(event, Entered) and event.item == "tube" for event in found)
    return [event.place for event in found]  # type: ignore[union-attr]


def touching(track: Track) -> int:
    return CHANNELS.bit(track.sockets.surface)


def one_and_next(sockets: Sockets) -> tuple[str, str]:
    return sockets.names[4], sockets.names[5]


# --- insertion


@both
def test_every_socket_is_recognised_as_itself_and_once(sockets: Sockets) -> None:
    for name in sockets.names:
        track = Track(sockets)
        track.start(track.over(name, 0.05)).go(track.over(name, -0.05), touch=0).wait(1.0)
        assert entered(track) == [name]


@both
@pytest.mark.parametrize("aside", [(0.0, 0.0), (0.005, 0.0), (0.0, -0.005), (0.009, 0.0), (0.0, 0.009)])
def test_an_entry_that_is_off_by_millimetres_is_recognised_before_it_is_seated(
    sockets: Sockets, aside: tuple[float, float]
) -> None:
    name, _ = one_and_next(sockets)
    track = Track(sockets)
    track.start(track.over(name, 0.03, aside)).go(track.over(name, 0.003, aside))
    track.wait(0.12, touch=touching(track))  # on the funnel
    track.go(track.over(name, -0.02, (aside[0] / 10, aside[1] / 10)), touch=touching(track))
    found = seen(Entry(sockets, CHANNELS), track)
    assert [event.place for event in found] == [name]  # type: ignore[union-attr]
    assert found[0].tick < track.ticks - 1, "before the tube is home"


@both
def test_what_is_not_directed_into_a_socket_is_no_entry(sockets: Sockets) -> None:
    name, neighbour = one_and_next(sockets)
    hover = Track(sockets)
    hover.start(hover.over(name, 0.05)).go(hover.over(name, 0.010)).wait(3.0)
    assert entered(hover) == []

    transit = Track(sockets)
    transit.start(transit.over(sockets.names[0], 0.008))
    for other in (*sockets.names[1:], sockets.names[0]):
        transit.go(transit.over(other, 0.008), 0.1)
    assert entered(transit) == []

    dragging = Track(sockets)  # 4 mm into the funnels, but touching nothing and not sinking
    dragging.start(dragging.over(name, -0.0005)).go(dragging.over(neighbour, -0.0005), 0.2)
    assert entered(dragging) == []

    rim = Track(sockets)
    middle = (rim.over(name, 0.002) + rim.over(neighbour, 0.002)) / 2
    rim.start(middle + np.array((0, 0, 0.05))).go(middle).wait(1.0, touch=touching(rim))
    assert entered(rim) == []

    brushed = Track(sockets)
    brushed.start(brushed.over(name, 0.02)).go(brushed.over(name, 0.003)).wait(0.09, touch=touching(brushed))
    brushed.go(brushed.over(name, 0.05))
    assert entered(brushed) == []

    loose = Track(sockets)
    loose.start(loose.over(name, 0.02)).go(loose.over(name, -0.05), held=False)
    loose.go(loose.over(name, 0.02), touch=1 << LEFT, held=False).go(
        loose.over(name, -0.05), touch=1 << LEFT, held=False
    )
    assert entered(loose) == []


@both
def test_an_aborted_descent_is_no_choice_and_the_next_one_is(sockets: Sockets) -> None:
    name, neighbour = one_and_next(sockets)
    track = Track(sockets)
    track.start(track.over(name, 0.05)).go(track.over(name, 0.008)).go(track.over(name, 0.02))
    track.go(track.over(neighbour, 0.02)).go(track.over(neighbour, -0.04))
    assert entered(track) == [neighbour]


@both
def test_an_entry_that_is_left_again_counts_and_so_does_what_follows(sockets: Sockets) -> None:
    name, neighbour = one_and_next(sockets)
    track = Track(sockets)
    track.start(track.over(name, 0.05)).go(track.over(name, -0.012)).go(track.over(name, 0.012))
    again = len(entered(track.go(track.over(name, -0.012))))
    assert again == 1, "the same socket in the same attempt is one entry"
    track.go(track.over(name, 0.012)).go(track.over(neighbour, 0.012)).go(track.over(neighbour, -0.012))
    assert entered(track) == [name, neighbour]
    track.go(track.over(neighbour, 0.04)).go(track.over(neighbour, -0.012))
    assert entered(track) == [name, neighbour, neighbour], "lifted away, it is another attempt"


@both
@pytest.mark.parametrize("height", [0.012, 0.05])
def test_taking_a_seated_tube_out_again_is_no_entry(sockets: Sockets, height: float) -> None:
    name, _ = one_and_next(sockets)
    track = Track(sockets)
    track.start(track.over(name, -0.058)).wait(0.3, held=False, touch=touching(track))
    track.wait(0.3, touch=touching(track)).go(track.over(name, 0.0045), touch=touching(track))
    track.go(track.over(name, height)).wait(0.5)
    assert entered(track) == []


@both
def test_a_grip_that_slips_in_the_socket_and_closes_again_is_no_entry(sockets: Sockets) -> None:
    name, _ = one_and_next(sockets)
    track = Track(sockets)
    track.start(track.over(name, 0.05)).go(track.over(name, -0.03))
    track.wait(0.1, held=False, touch=touching(track)).go(track.over(name, -0.05), touch=touching(track))
    assert entered(track) == [name]


@both
@pytest.mark.parametrize(("lean", "counts"), [(15.0, True), (24.0, True), (26.0, False), (40.0, False)])
def test_a_tube_that_leans_enters_up_to_25_degrees(sockets: Sockets, lean: float, counts: bool) -> None:
    name, _ = one_and_next(sockets)
    track = Track(sockets)
    track.start(track.over(name, 0.05)).go(track.over(name, -0.03), lean=lean, about=40.0)
    assert entered(track) == [name] * counts


# --- retrieval


def approached(track: Track) -> list[str]:
    found = seen(hand_over_rack(), track)
    assert all(isinstance(event, Approached) for event in found)
    return [event.place for event in found]  # type: ignore[union-attr]


def hand_over_rack() -> Approach:
    return Approach(recall.SOCKETS, CHANNELS, tops=recall.CAP_TOPS, grasp=CAP_HEIGHT / 2, width=2 * CAP_RADIUS)


def over_rack() -> Track:
    return Track(recall.SOCKETS, hand=True)


def oblique(track: Track, name: str, degrees: float, about: float = 0.0, length: float = 0.12) -> Track:
    """Let a hand come down to the cap of `name` along a line that leans by `degrees`."""
    lean, at = math.radians(degrees), math.radians(about)
    along = np.array((math.sin(lean) * math.cos(at), math.sin(lean) * math.sin(at), math.cos(lean)))
    end = track.over(name, -CAP_HEIGHT / 2)
    return track.start(end + length * along).wait(0.2).go(end, 0.08)


@pytest.mark.parametrize("name", HOLES)
def test_a_hand_that_comes_down_on_a_cap_is_recognised_before_it_gets_there(name: str) -> None:
    track = oblique(over_rack(), name, 0.0)
    (event,) = seen(hand_over_rack(), track)
    assert event.place == name  # type: ignore[union-attr]
    assert track.ticks - event.tick > 0.25 / CHANNELS.timestep, "well before any contact"


@pytest.mark.parametrize(("degrees", "about"), list(itertools.product((15.0, 30.0, 40.0), (0.0, 100.0, 215.0))))
def test_an_oblique_hand_is_recognised_by_where_it_points(degrees: float, about: float) -> None:
    for name in ("B2", "A1", "C4"):
        found = approached(oblique(over_rack(), name, degrees, about))
        assert found and found[-1] == name
        assert found == [name] or degrees == 40.0


def test_what_does_not_come_down_on_a_cap_is_no_approach() -> None:
    for height in (0.005, 0.03, 0.1):
        hover = over_rack()
        hover.start(hover.over("B2", height)).wait(3.0)
        assert approached(hover) == []
        scan = over_rack()
        scan.start(scan.over("A1", height))
        for name in (*HOLES[1:], "A1"):
            scan.go(scan.over(name, height), 0.1)
        assert approached(scan) == []
    beside = over_rack()
    corner = beside.over("A1", 0.15) + np.array((-0.04, 0.04, 0.0))
    assert approached(beside.start(corner).go(corner - (0, 0, 0.16))) == []
    assert approached(oblique(over_rack(), "B2", 65.0)) == []
    slow = over_rack()
    assert approached(slow.start(slow.over("B2", 0.05)).go(slow.over("B2", -0.007), 0.015)) == []
    rising = over_rack()
    assert approached(rising.start(rising.over("B2", -0.007)).go(rising.over("B2", 0.15), 0.08)) == []
    nodding = over_rack().start(over_rack().over("B2", 0.03))
    for _ in range(10):
        nodding.go(nodding.over("B2", 0.022), 0.08).go(nodding.over("B2", 0.03), 0.08)
    assert approached(nodding) == []


def test_a_hand_that_touches_a_tube_or_leans_does_not_approach_another() -> None:
    for how in ({"touch": GRIP}, {"touch": 1 << LEFT}, {"lean": 35.0}):
        track = over_rack()
        track.start(track.over("B2", 0.1)).go(track.over("B2", -0.007), 0.08, **how)
        assert approached(track) == [], how
    leaning = over_rack()
    leaning.start(leaning.over("B2", 0.1)).go(leaning.over("B2", -0.007), 0.08, lean=25.0)
    assert approached(leaning) == ["B2"]


@pytest.mark.parametrize(("height", "first"), [(0.08, "B3"), (0.052, "B3"), (0.02, "B2")])
def test_a_hand_that_changes_its_mind_early_chose_the_second_and_late_the_first(height: float, first: str) -> None:
    track = over_rack()
    track.start(track.over("B2", 0.15)).go(track.over("B2", height), 0.08).go(track.over("B3", height), 0.08)
    track.go(track.over("B3", -CAP_HEIGHT / 2), 0.08)
    assert approached(track)[0] == first and approached(track)[-1] == "B3"


def test_two_approaches_to_one_slot_are_told_as_two() -> None:
    track = oblique(over_rack(), "B2", 0.0)
    track.go(track.over("B2", 0.1)).go(track.over("B2", -0.007), 0.08)
    assert approached(track) == ["B2", "B2"]


# --- withdrawal


def heights(*legs: tuple[float, float, int]) -> Track:
    """Return a hand that rests at heights [m] over the bench for times [s], the tube touched as `touch` says."""
    track = over_rack()
    for height, seconds, touch in legs:
        track.start(np.array((0.0, 0.0, height - recall.CAP_TOPS))).wait(seconds, touch=touch)
    return track


def test_an_empty_hand_up_high_has_withdrawn_once_and_returns_once() -> None:
    found = seen(Withdrawal(CHANNELS), heights((0.1, 1.0, 0), (0.26, 1.0, 0), (0.4, 1.0, 0), (0.249, 1.0, 0)))
    assert found == [Withdrew(500 + 99), Returned(1500)]


@pytest.mark.parametrize("leg", [(0.2499, 2.0, 0), (0.3, 2.0, GRIP), (0.3, 2.0, 1 << RIGHT), (0.3, 0.198, 0)])
def test_a_hand_that_is_low_or_full_or_only_passes_has_not_withdrawn(leg: tuple[float, float, int]) -> None:
    assert seen(Withdrawal(CHANNELS), heights((0.1, 0.1, 0), leg, (0.1, 0.5, 0))) == []


def test_a_hand_that_takes_something_up_high_is_no_longer_withdrawn() -> None:
    found = seen(Withdrawal(CHANNELS), heights((0.3, 1.0, 0), (0.3, 0.1, 1 << LEFT), (0.3, 1.0, 0)))
    assert found == [Withdrew(99), Returned(500), Withdrew(550 + 99)]


# --- how time is cut


def random_track(sockets: Sockets, seed: int) -> Track:
    """Return a wild walk over sockets: up, down, held or not, touching or not, as an open hand or with a tube."""
    rng = np.random.default_rng(seed)
    track = Track(sockets, hand=seed % 2 == 0)
    track.start(track.over(sockets.names[0], 0.05))
    for _ in range(8):
        name = sockets.names[rng.integers(4)]
        aside = tuple(rng.normal(0, 0.004, 2))
        target = track.over(name, float(rng.uniform(-0.04, 0.06)), aside)  # type: ignore[arg-type]
        if rng.random() < 0.6:
            target[:2] = track.at[:2] + rng.normal(0, 0.003, 2)
        if track.hand and rng.random() < 0.3:
            target[2] = 0.2
        touch = int(rng.choice([0, 0, 0, 0, 1 << LEFT, CHANNELS.bit(sockets.surface), 1 << HAND, GRIP]))
        how = {"touch": touch, "held": bool(rng.random() < 0.8), "lean": float(rng.choice([0, 0, 0, 20, 35]))}
        if rng.random() < 0.4:
            track.wait(float(rng.choice([0.002, 0.004, 0.06, 0.1, 0.3])), **how)
        track.go(target, float(rng.uniform(0.03, 0.15)), **how)
    return track


def makers(sockets: Sockets) -> tuple[Callable[[], Recogniser], ...]:
    return (
        lambda: Entry(sockets, CHANNELS),
        lambda: Approach(sockets, CHANNELS, tops=recall.CAP_TOPS, grasp=0.007, width=2 * CAP_RADIUS),
        lambda: Withdrawal(CHANNELS),
    )


@both
@settings(max_examples=3, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(1, 90), min_size=1, max_size=20),
    pause=st.integers(0, 500),
)
def test_what_is_recognised_does_not_depend_on_how_time_is_cut(
    sockets: Sockets, seed: int, cuts: list[int], pause: int
) -> None:
    before, after = random_track(sockets, seed), random_track(sockets, seed + 1)
    for make in makers(sockets):
        found = []
        for lengths in (cuts, [25], [7, 1, 1, 200]):
            recogniser = make()
            events = [e for block in before.blocks(itertools.cycle(lengths)) for e in recogniser.update(block)]
            recogniser.reset()
            start = before.ticks + pause
            events += [e for block in after.blocks(itertools.cycle(lengths), start) for e in recogniser.update(block)]
            found.append(events)
        assert found[0] == found[1] == found[2]


def test_the_random_walks_above_are_not_all_empty() -> None:
    kinds = {
        type(event)
        for sockets, seed in itertools.product(ALL, range(8))
        for make in makers(sockets)
        for event in seen(make(), random_track(sockets, seed))
    }
    assert kinds >= {Entered, Approached, Withdrew, Returned}


# --- seating


def tube(
    sockets: Sockets,
    name: str = "",
    share: float = 0.9,
    aside: tuple[float, float] = (0.0, 0.0),
    lean: float = 0.0,
    touch: int | None = None,
    depth: float | None = None,
) -> Block:
    """Return one tick of a tube at rest: carried by the fixture unless `touch` says otherwise."""
    track = Track(sockets)
    height = -(share * sockets.depth if depth is None else depth)
    mask = CHANNELS.bit(sockets.surface) if touch is None else touch
    track.start(track.over(name or sockets.names[4], height, aside)).wait(0.002, held=False, touch=mask, lean=lean)
    return next(track.blocks())


def seat(sockets: Sockets, block: Block) -> str:
    carried = sockets.carries(block, CHANNELS)
    found = int(sockets.seated(sockets.relate(block, CHANNELS), carried)[0, 0])
    return sockets.names[found] if found >= 0 else ""


@both
def test_a_tube_is_seated_in_the_socket_that_it_is_in(sockets: Sockets) -> None:
    for name in sockets.names:
        assert seat(sockets, tube(sockets, name)) == name
        assert seat(sockets, tube(sockets, name, share=1.0)) == name


@both
@pytest.mark.parametrize("share", [0.0, 0.2, 0.35, 0.45, 0.55, 0.599])
def test_a_shallow_tube_is_not_seated(sockets: Sockets, share: float) -> None:
    assert seat(sockets, tube(sockets, share=share)) == ""


@both
def test_sixty_percent_of_the_depth_is_enough_and_a_micrometre_less_is_not(sockets: Sockets) -> None:
    for name in sockets.names:
        assert seat(sockets, tube(sockets, name, share=0.60)) == name
        assert seat(sockets, tube(sockets, name, depth=0.60 * sockets.depth - 2e-6)) == ""


@both
def test_the_axis_may_be_a_clearance_off_and_no_more(sockets: Sockets) -> None:
    tolerance = 1.15 * sockets.clearance + 0.0005
    for about in np.linspace(0, 2 * np.pi, 8, endpoint=False):
        for off, counts in ((tolerance - 2e-5, True), (tolerance + 2e-5, False), (0.010, False)):
            aside = (float(off * np.cos(about)), float(off * np.sin(about)))
            assert bool(seat(sockets, tube(sockets, aside=aside))) is counts


@both
def test_a_tube_that_leans_more_than_ten_degrees_is_not_seated_however_wide_the_socket(sockets: Sockets) -> None:
    wide = replace(sockets, clearance=0.03)
    assert seat(wide, tube(wide, lean=9.9)) and not seat(wide, tube(wide, lean=10.1))
    assert not seat(sockets, tube(sockets, lean=6.0)), "walls allow less, so the axis leaves the socket before"
    assert not seat(wide, tube(wide, lean=180.0)) and not seat(wide, tube(wide, lean=90.0))


@both
@pytest.mark.parametrize(
    "touch",
    [0, GRIP, CHANNELS.bit("table"), CHANNELS.bit("table") | CHANNELS.bit("rotor") | CHANNELS.bit("rack"), 1 << ITEM],
    ids=["nothing", "held in the air", "the bench", "more than the fixture", "another tube"],
)
def test_only_what_the_fixture_alone_carries_is_seated(sockets: Sockets, touch: int) -> None:
    assert seat(sockets, tube(sockets, touch=touch)) == ""


@both
def test_a_tube_that_lies_on_the_fixture_or_stands_on_its_rim_is_not_seated(sockets: Sockets) -> None:
    assert seat(sockets, tube(sockets, depth=-0.01, lean=90.0)) == ""
    assert seat(sockets, tube(sockets, depth=-0.004, aside=(0.011, 0.0))) == ""
    assert seat(sockets, tube(sockets, depth=0.02, aside=(0.004, 0.0), lean=14.0)) == ""


@both
def test_seats_and_regions_move_with_the_fixture(sockets: Sockets) -> None:
    fixture = WHERE[sockets.fixture]
    for name, region in sockets.regions(fixture).items():
        pose = sockets.seat(name, fixture, 0.9)
        assert (pose.x, pose.y) == pytest.approx(region.mouth[:2])
        assert region.mouth[2] - pose.z == pytest.approx(0.9 * sockets.depth - 0.0003)
        assert region.depth == sockets.depth
    spots = np.array([region.mouth[:2] for region in sockets.regions(fixture).values()])
    apart = np.linalg.norm(spots[:, None] - spots[None], axis=-1) + np.eye(len(spots))
    assert apart.min() == pytest.approx(sockets.spacing)
    assert sockets.spacing > 2 * CAP_RADIUS and sockets.depth < TUBE_LENGTH


# --- opposite slots


@pytest.mark.parametrize("slots", range(2, 49, 2))
def test_opposite_slots_are_half_a_turn_apart_and_opposite_to_each_other(slots: int) -> None:
    for index in range(slots):
        other = opposite(index, slots)
        assert 0 <= other < slots and (other - index) % slots == slots // 2
        assert opposite(other, slots) == index


@pytest.mark.parametrize("slots", [-2, 0, 1, 3, 7, 11, 13])
def test_a_rotor_without_opposite_slots_is_refused(slots: int) -> None:
    with pytest.raises(ValueError, match="even"):
        opposite(0, slots)


def test_opposite_slots_of_the_rotor_face_each_other_across_its_axis() -> None:
    mouths = np.array(centrifuge.SOCKETS.mouths)
    for index in range(len(mouths)):
        assert mouths[index] == pytest.approx(-mouths[opposite(index)], abs=1e-12)
    assert recall.SOCKETS.spacing == PITCH
