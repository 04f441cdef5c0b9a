"""Hood, twins and hand-made motion in the laboratory: what is shown, what is recognised, what the audit finds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lab_policies
from conftest import Attempt
from labference.bench import episode as loop
from labference.bench import laboratory as room
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bench.reference import Reference
from labference.bench.transition import MOVED, check, schedule
from labference.motion.kinematics import top_down
from labference.motion.path import straight
from labference.records import folder
from labference.records.measurements import MeasurementWriter
from labference.records.reader import read_run
from labference.score.audit import audit
from labference.tasks import recall
from labference.truth import events as ev
from labference.truth.draw import draw, lay_out
from labference.truth.geometry import Socket
from labference.truth.identity import Seeds
from labference.truth.measurement import ENVIRONMENT, HANDOFF, POLICY, Block, Pose, Rearrangement
from labference.truth.referee import Referee
from labference.wire import Act, Capabilities, Observation, Stop, Wait, codec
from labference.wire.tubes import CAP_HEIGHT, GRIP_HEIGHT
from labference.world.faults import SimulationFault

SLOTS = "slots"
CAMERAS = ("front", "wrist")


@pytest.fixture(scope="module")
def rotor() -> Iterator[Laboratory]:
    found = Laboratory("centrifuge-extended")
    yield found
    found.world.close()


@pytest.fixture(scope="module")
def rack() -> Iterator[Laboratory]:
    found = Laboratory("recall-extended")
    yield found
    found.world.close()


def run(
    lab: Laboratory, policy: str, out: Path, *, index: int = 0, budget: int | None = 40, instances: str = ""
) -> Attempt:
    plan = Plan(lab.contract.name, policy, 10, budget=budget, instances=instances)
    result = lab.attempt(plan, index, out)
    return Attempt(result, read_run(result.path))


class Seeing(Reference):
    """The reference executor with eyes: keeps every delivery, and stops once it was shown what the hood did."""

    seen: list[Observation]

    def open(self) -> Capabilities:
        return Capabilities("expert", "1", actions=("joint",), cameras=CAMERAS, depth=True, readings=True)

    def act(self, observation: Observation) -> Act:
        state = self._scene.state()
        type(self).seen.append(observation)
        shown = getattr(state, "acted", False) or getattr(state, "revealed", False)
        return Stop() if shown else super().act(observation)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[Observation]]:
    """Run an instance and return all that was delivered up to the first sight of what the hood changed."""

    def look(lab: Laboratory, instance: Any, number: int) -> list[Observation]:
        monkeypatch.setattr(room, "Reference", Seeing)
        monkeypatch.setattr(room, "draw", lambda *_: (instance, Seeds(1, 11, 1, 5, 6)))
        monkeypatch.setattr(Seeing, "seen", [], raising=False)
        ended = run(lab, "expert", tmp_path / str(number), budget=None)
        assert ended.result.reason == "stopped", ended.result.sentence
        assert len(ended.named("Revealed")) == 1
        return Seeing.seen

    return look


def test_rotors_that_will_differ_look_alike_until_the_hood_has_gone(
    rotor: Laboratory, watch: Callable[..., list[Observation]]
) -> None:
    twins = rotor.contract.twins(np.random.default_rng(3))
    one, other = ([codec.encode(entry) for entry in watch(rotor, twin, n)] for n, twin in enumerate(twins))
    assert len(one) == len(other) > 10
    assert one[:-1] == other[:-1], "byte for byte, frames and depth included"
    assert one[-1] != other[-1]


def test_racks_that_differed_look_alike_once_the_hood_has_gone(
    rack: Laboratory, watch: Callable[..., list[Observation]]
) -> None:
    """Same caps in the same holes: nothing in a frame says which of them the sample is."""
    twins = rack.contract.twins(np.random.default_rng(3))
    (one, first), (other, second) = (watch(rack, twin, n) for n, twin in enumerate(twins))
    assert one.senses.frames[0].rgb.tobytes() != other.senses.frames[0].rgb.tobytes(), "shown once, before"
    for mine, its in zip(first.senses.frames, second.senses.frames, strict=True):
        assert np.array_equal(mine.rgb, its.rgb), mine.camera
        assert np.abs(mine.depth - its.depth).max() < 1e-4, mine.camera  # type: ignore[operator]
    assert codec.encode(replace(first.senses, frames=())) == codec.encode(replace(second.senses, frames=()))
    legal = [rack.contract.legal(rack.contract.scored(twin)) for twin in twins]
    assert not legal[0] & legal[1]


# --- the hood in the loop


def test_the_hood_costs_no_control_steps_and_is_recorded_with_its_mask(rack: Laboratory, tmp_path: Path) -> None:
    ended = run(rack, "still", tmp_path, instances=SLOTS)
    assert ended.result.reason == "budget" and ended.scores["steps"] == 40
    masks = [block.control for block in ended.run.blocks() if block.tick >= 0]
    assert masks[0] == ENVIRONMENT and masks[-41] == HANDOFF and set(masks[-40:]) == {POLICY}
    assert set(masks[:-41]) == {ENVIRONMENT}
    assert ended.scores["simulated_s"] == pytest.approx(0.05 * len(masks))
    assert [entry["tick"] for entry in ended.observations[:2]] == [0, 25 * (len(masks) - 40)]
    generations = [block.generation for block in ended.run.blocks()]
    assert sorted(set(generations)) == [0, 1] and generations == sorted(generations)
    assert [event["generation"] for event in ended.named("Rebuilt")] == [1]
    hidden, revealed = ended.named("Hidden")[0]["tick"], ended.named("Revealed")[0]["tick"]
    assert hidden == 0 and revealed == ended.observations[1]["tick"]
    assert ended.verdict["coverage"] == [0, 1] and not ended.verdict["valid"]
    assert audit(ended.result.path).difference is None


@pytest.mark.parametrize(("budget", "hidden"), [(0, 0), (1, 1)])
def test_a_budget_ends_before_the_hood_or_after_it_but_never_below_it(
    rack: Laboratory, tmp_path: Path, budget: int, hidden: int
) -> None:
    ended = run(rack, "still", tmp_path, budget=budget, instances=SLOTS)
    assert (ended.result.reason, ended.scores["steps"]) == ("budget", budget)
    assert len(ended.named("Hidden")) == len(ended.named("Revealed")) == hidden
    assert audit(ended.result.path).difference is None


def test_whoever_stops_at_once_sees_no_hood(rack: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_policies.Answers, "says", (Stop(),))
    ended = run(rack, "lab_policies:Answers", tmp_path, instances=SLOTS)
    assert ended.result.reason == "stopped" and not ended.named("Hidden")
    assert ended.verdict["categories"]["early_termination"] == 1
    assert audit(ended.result.path).difference is None


def test_nonsense_right_after_the_hood_is_an_interface_failure_and_replays(
    rack: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_policies.Answers, "says", (Wait(1.0), None))
    monkeypatch.setattr(lab_policies, "SAW", [])
    ended = run(rack, "lab_policies:Answers", tmp_path, instances=SLOTS)
    assert (ended.result.status, ended.result.reason) == ("scored", "interface_failure")
    assert ended.scores["steps"] == 0 and ended.scores["queries"] == 2
    assert ended.verdict["coverage"] == [0, 1]
    assert audit(ended.result.path).difference is None


def test_a_scene_that_is_not_as_meant_below_the_hood_is_nobodys_failure_and_comes_again(
    rack: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise SimulationFault("After the environment transition 'tube' is 3.00 mm from where it belongs.")

    with monkeypatch.context() as patch:
        patch.setattr(loop, "check", refuse)
        failed = run(rack, "still", tmp_path, instances=SLOTS)
    assert (failed.result.status, failed.result.reason) == ("unresolved", "invalid")
    assert failed.run.scores is None and not failed.named("Revealed")
    assert failed.named("Invalidated")[0]["cause"] == "SimulationFault"
    assert len(failed.observations) == 1, "nothing of it was shown"
    assert audit(failed.result.path).difference is None
    again = run(rack, "still", tmp_path, instances=SLOTS)
    assert again.result.status == "scored" and again.result.path.parent == failed.result.path.parent
    assert again.run.run["key"] == failed.run.run["key"]


def block_with(lab: Laboratory, item: str, pose: Pose) -> Block:
    """Return one tick in which `item` stands at `pose`."""
    now = lab.world.now()
    row = now.pose.copy()
    half = pose.yaw / 2
    row[-1, lab.world.channels.items.index(item)] = np.rint(
        np.array((pose.x / 1e-6, pose.y / 1e-6, pose.z / 1e-6, np.cos(half) / 1e-5, 0, 0, np.sin(half) / 1e-5))
    )
    return replace(now, pose=row)


def test_a_tube_that_did_not_stay_in_its_place_below_the_hood_is_noticed(rack: Laboratory) -> None:
    instance, seeds = draw(rack.contract, 0, 0, instances=SLOTS)
    prepared = rack.prepare(instance, seeds, lay_out(rack.contract, instance, seeds))
    change = rack.contract.transition(prepared.referee.state, prepared.setup).change
    rack.world.rearrange(change)
    before, after = prepared.block, rack.world.now()
    check(change, before, after, rack.world.channels)
    (carry,) = change.carried
    brought, pose = next(iter(change.items.items()))
    kept = after.pose[-1, rack.world.channels.items.index(carry.item)]
    at = Pose(*(float(value) * 1e-6 for value in kept[:3]))
    off = MOVED + 1e-4
    for item, there in ((brought, replace(pose, x=pose.x + off)), (carry.item, replace(at, z=at.z + off))):
        with pytest.raises(SimulationFault, match=item):
            check(change, before, block_with(rack, item, there), rack.world.channels)
    elsewhere = Rearrangement({"rack": replace(prepared.setup.after["rack"], x=0.9)})
    with pytest.raises(SimulationFault, match="rack"):
        check(elsewhere, before, after, rack.world.channels)


# --- the audit


@pytest.fixture(scope="module")
def finished(rack: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(rack, "still", tmp_path_factory.mktemp("audit"), budget=60, instances=SLOTS).result.path


@pytest.fixture
def spoil(finished: Path, tmp_path: Path) -> Callable[..., str | None]:
    """Return a function that changes the measured blocks of a finished run and returns what the audit says."""

    def change(how: Callable[[int, Block], Block]) -> str | None:
        path = Path(shutil.copytree(finished, tmp_path / "attempt-1"))
        blocks = list(read_run(finished).blocks())
        first = next(number for number, block in enumerate(blocks) if block.tick >= 0)
        writer = MeasurementWriter(path / folder.MEASUREMENTS)
        for number, block in enumerate(blocks):
            writer.write(how(number - first, block))
        writer.close()
        return audit(path).difference

    return change


FIXTURES = ("rack", "stand", "region", "hood")


def moved(name: str, by: float) -> Callable[[int, Block], Block]:
    def shift(number: int, block: Block) -> Block:
        rows = block.fixtures.copy()
        rows[FIXTURES.index(name), 0] += round(by / 1e-6)
        return replace(block, fixtures=rows) if number >= 0 else block

    return shift


TAMPERED: dict[str, Callable[[int, Block], Block]] = {
    "the environment leaves early": lambda n, b: replace(b, control=POLICY) if n >= 10 and b.control else b,
    "one period is given back": lambda n, b: replace(b, control=POLICY) if n == 10 else b,
    "it never acted": lambda n, b: replace(b, control=POLICY),
    "it never handed over": lambda n, b: replace(b, control=ENVIRONMENT) if b.control == HANDOFF else b,
    "it hands over twice": lambda n, b: replace(b, control=HANDOFF) if n == 20 else b,
    "it acts once more": lambda n, b: replace(b, control=ENVIRONMENT) if n == 70 else b,
    "it acts later": lambda n, b: replace(b, control=POLICY) if n < 3 else b,
    "nothing was rebuilt": lambda n, b: replace(b, generation=0),
    "rebuilt twice": lambda n, b: replace(b, generation=b.generation + (n > 70)),
    "rebuilt at another time": lambda n, b: replace(b, generation=int(n >= 5)),
    "the rack stood elsewhere": moved("rack", 0.02),
}


@pytest.mark.parametrize("how", TAMPERED.values(), ids=TAMPERED.keys())
def test_a_changed_control_mask_generation_or_rack_is_found(
    spoil: Callable[..., str | None], how: Callable[[int, Block], Block]
) -> None:
    assert spoil(how) is not None


def test_measurements_that_were_written_again_unchanged_are_the_same(spoil: Callable[..., str | None]) -> None:
    assert spoil(lambda number, block: block) is None


@pytest.mark.parametrize("name", ["rack", "stand", "region"])
@pytest.mark.parametrize("by", [0.001, 0.02])
def test_a_fixture_that_was_measured_elsewhere_than_it_was_put_is_found(
    spoil: Callable[..., str | None], name: str, by: float
) -> None:
    assert spoil(moved(name, by)) is not None


# --- hands


@dataclass
class Hand:
    """Move the hand of a laboratory along straight lines while a referee watches."""

    lab: Laboratory
    instances: str
    turn: float = 0.4

    def __post_init__(self) -> None:
        instance, seeds = draw(self.lab.contract, 0, 0, instances=self.instances)
        self.prepared = self.lab.prepare(instance, seeds, lay_out(self.lab.contract, instance, seeds))
        self.referee: Referee = self.prepared.referee
        self.referee.deliver(1, 0)
        if self.referee.due:
            transition = self.lab.contract.transition(self.referee.state, self.prepared.setup)
            for stage in schedule(transition, 0.05):
                if stage.change is not None:
                    self.lab.world.rearrange(stage.change)
                self._step(self.lab.world.command, stage.control)

    @property
    def mouths(self) -> dict[str, Any]:
        fixtures = self.prepared.setup.fixtures | {
            name: pose for name, pose in self.prepared.setup.after.items() if name in self.prepared.setup.fixtures
        }
        places = self.lab.contract.regions(fixtures).items()
        return {name: np.array(place.mouth) for name, place in places if isinstance(place, Socket)}

    def _step(self, command: np.ndarray, control: int = POLICY) -> None:
        block, readouts = self.lab.world.step(command, 25, control)
        self.referee.observe(block, readouts)
        if self.referee.pending:
            self.referee.deliver(2, block.end)

    def go(self, to: np.ndarray, opening: float, speed: float = 0.15) -> Hand:
        world = self.lab.world
        for command in straight(self.lab.arm, world.command, to, top_down(self.turn), opening, speed):
            self._step(command)
        return self

    def wait(self, seconds: float) -> Hand:
        for _ in range(round(seconds / 0.05)):
            self._step(self.lab.world.command)
        return self

    def recognised(self) -> list[str]:
        kinds = ev.Entered | ev.Approached
        return [event.place for event in self.referee.history if isinstance(event, kinds)]

    def choices(self) -> list[tuple[str, bool]]:
        found = [event for event in self.referee.history if isinstance(event, ev.Chosen)]
        return [(event.operation.place, event.correct) for event in found]


def carrying(rotor: Laboratory) -> Callable[..., Hand]:
    """Return a hand that holds the second tube 30 mm over a slot of the rotor; heights are those of its lower end."""
    hand = Hand(rotor, "destination")
    start = hand.mouths["slot 6"] + (0, 0, 0.13 + GRIP_HEIGHT)
    return lambda: hand.go(start, 0.0, 0.5)


def tip(hand: Hand, slot: float, height: float) -> np.ndarray:
    """Return where the tool has to be for the tube to end `height` over the mouth of `slot`, or between two."""
    low, high = int(slot) % 12, (int(slot) + 1) % 12
    share = slot - int(slot)
    mouth = (1 - share) * hand.mouths[f"slot {low}"] + share * hand.mouths[f"slot {high}"]
    at: np.ndarray = mouth + np.array((0, 0, height + GRIP_HEIGHT))
    return at


def test_a_tube_that_hovers_travels_or_stands_on_a_rim_enters_nothing(rotor: Laboratory) -> None:
    hand = carrying(rotor)()
    hand.go(tip(hand, 6, 0.010), 0.0).wait(1.0)
    for slot in (7, 8, 9):
        hand.go(tip(hand, slot, 0.010), 0.0)
    hand.go(tip(hand, 9, 0.03), 0.0).go(tip(hand, 9.5, 0.03), 0.0).go(tip(hand, 9.5, 0.0035), 0.0, 0.05).wait(0.5)
    assert hand.recognised() == [] and hand.choices() == []


def test_a_descent_that_is_given_up_8_mm_over_a_mouth_is_not_the_choice(rotor: Laboratory) -> None:
    hand = carrying(rotor)()
    hand.go(tip(hand, 7, 0.03), 0.0).go(tip(hand, 7, 0.008), 0.0).go(tip(hand, 7, 0.03), 0.0)
    hand.go(tip(hand, 6, 0.03), 0.0).go(tip(hand, 6, -0.06), 0.0, 0.05)
    assert hand.choices() == [("slot 6", True)]
    hand.go(tip(hand, 6, -0.06), 0.0).wait(1.0)
    assert rotor.contract.legal(hand.referee.state) and not hand.referee.completed
    assert not any(isinstance(event, ev.Settled) and event.tick > 0 for event in hand.referee.history), "still held"
    opened = np.append(rotor.world.command[:7], 0.042)
    for _ in range(20):
        hand._step(opened)
    (settled,) = [event for event in hand.referee.history if isinstance(event, ev.Settled) and event.tick > 0]
    assert settled.place == "slot 6"
    closed = np.append(rotor.world.command[:7], 0.0)
    for _ in range(10):
        hand._step(closed)
    hand.go(tip(hand, 6, 0.02), 0.0, 0.05).wait(0.3)
    assert hand.recognised() == ["slot 6"], "taking it out again is no entry"


def test_a_tube_released_half_way_is_not_seated_and_comes_first(rotor: Laboratory) -> None:
    hand = carrying(rotor)()
    hand.go(tip(hand, 6, 0.01), 0.0).go(tip(hand, 6, -0.028), 0.0, 0.05)
    for _ in range(20):
        hand._step(np.append(rotor.world.command[:7], 0.042))
    state = hand.referee.state
    assert hand.choices() == [("slot 6", True)]
    assert rotor.contract.located(state)[hand.prepared.instance.second] == "unseated 6"
    assert {str(operation.item) for operation in rotor.contract.legal(state)} == {hand.prepared.instance.second}


def above(hand: Hand, hole: str, height: float = 0.0) -> np.ndarray:
    """Return where the tool is `height` over the caps of seated tubes at `hole`."""
    at: np.ndarray = hand.mouths[hole] * (1, 1, 0) + (0, 0, recall.CAP_TOPS + height)
    return at


@pytest.mark.parametrize("degrees", [0, 15, 30, 40])
def test_a_hand_that_comes_down_obliquely_is_recognised_by_where_it_points(rack: Laboratory, degrees: int) -> None:
    hand = Hand(rack, "slots:B2")
    end, lean = above(hand, "B2", 0.006 - CAP_HEIGHT / 2), np.radians(degrees)
    away = -np.sign(end[1]) if abs(end[1]) > 0.03 else 1.0
    start = end + 0.12 * np.array((0.0, away * np.sin(lean), np.cos(lean)))
    hand.go(start + np.array((0, 0, 0.1)), 0.05, 0.5).go(start, 0.05).wait(0.3).go(end, 0.05, 0.12)
    assert hand.choices()[-1:] == [("B2", True)]
    assert not any(isinstance(event, ev.Grasped) and event.tick > 0 for event in hand.referee.history)


def test_a_hand_that_scans_or_hovers_over_caps_chooses_nothing(rack: Laboratory) -> None:
    hand = Hand(rack, "slots:B2")
    hand.go(above(hand, "A1", 0.2), 0.05, 0.5).go(above(hand, "A1", 0.06), 0.05)
    for hole in ("A4", "B4", "B1", "C1", "C4", "B2"):
        hand.go(above(hand, hole, 0.06), 0.05)
    hand.wait(1.0)
    assert hand.choices() == []
    hand.go(above(hand, "B2", 0.006), 0.05, 0.12)
    assert hand.choices() == [("B2", True)]
