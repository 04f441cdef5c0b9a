"""What the Observer sees of a wet bench: found, named and located, or said to be missing; and what a model names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from labevolver.agent import METHODS, Agent
from labevolver.cli import app
from labevolver.experiments.crew import Crew
from labevolver.model.budget import Budget
from labevolver.model.port import Ask, ModelError, Reply
from labevolver.observe.depth import DepthDetector
from labevolver.observe.detector import Box, Seen
from labevolver.observe.observer import Observer
from labevolver.observe.stages import visible
from labevolver.observe.vision import Named, VisionDetector
from labevolver.operate.symbolic import SymbolicMind
from labevolver.skills.atomic import action
from labference.sight import solids, wetware
from labference.sight.cloud import pixels
from labference.sight.solids import Block, Cylinder, fit, rendered, upright
from labference.tasks import find_task
from labference.truth.draw import draw, lay_out
from labference.truth.measurement import LENGTH, Pose, Rearrangement
from labference.wire import Frame, Goal, Observation, Refusal, Senses, ServiceFault, Stop
from labference.wire.action import JOINT
from labference.wire.glassware import (
    HOLDER_HALF,
    HOLDER_HEIGHT,
    LABEL_BAND,
    LABEL_RADIUS,
    PROBE_HANDLE,
    RACK_FLOOR,
    TUBE_LENGTH,
    TUBE_RADIUS,
)
from labference.wire.observation import DEPTH_UNIT
from labference.world.world import World

TUBES = ("acid", "base", "salt", "water")
LOOSE = (*TUBES, "probe", "rod", "beaker")
AWAY = Pose(-3.0, 0.0, -2.0)
ASIDE, UP = 0.006, 0.005
"""Largest errors across and along the vertical [m]: several times those that `benchmarks/detector.py` measures."""
EYES = DepthDetector()


class Bench:
    """A wet bench with an instance, in which things can be put elsewhere between two looks."""

    def __init__(self) -> None:
        self.contract = find_task("ph-ec")
        self.world = World(self.contract.parts())
        instance, seeds = draw(self.contract, 0, 3)
        setup = lay_out(self.contract, instance, seeds)
        self.world.prepare(setup)
        self.goal: Goal = self.contract.goal(instance)
        self.wanted = tuple(dict.fromkeys((*self.goal.items, *self.goal.places)))
        now = self.world.now().pose[-1]
        self.truth = {name: np.array((pose.x, pose.y, pose.z)) for name, pose in setup.fixtures.items()}
        self.truth |= {name: now[self.world.channels.items.index(name), :3] * LENGTH for name in LOOSE}
        self.home = {name: setup.items[name] for name in LOOSE}
        self.still: Senses | None = None

    def look(self, **moved: Pose) -> Senses:
        """Return what is sensed with things elsewhere, all others where they began."""
        if not moved and self.still is not None:
            return self.still
        self.world.rearrange(Rearrangement({}, (), {**self.home, **moved}))
        senses = self.world.sense(EYES.cameras, depth=True, readings=True)
        self.still = self.still if moved else senses
        return senses

    def see(self, wanted: Sequence[str] = (), /, **moved: Pose) -> Seen:
        frames = [noisy(frame, number) for number, frame in enumerate(self.look(**moved).frames)]
        return EYES.detect(frames, wanted or self.wanted)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.world.close()


def noisy(frame: Frame, seed: int) -> Frame:
    """Add the noise of a depth camera, and pixels without return."""
    rng = np.random.default_rng(seed)
    assert frame.depth is not None
    depth = frame.depth * DEPTH_UNIT
    depth = depth + 0.0031 * depth**2 * rng.standard_normal(depth.shape)
    depth[rng.random(depth.shape) < 0.02] = 0.0
    return replace(frame, depth=np.rint(np.clip(depth, 0, 6.5) / DEPTH_UNIT).astype(np.uint16))


def lying(x: float, y: float, yaw: float) -> Pose:
    """Return the pose of a tube that lies with its mouth towards `yaw` [rad], its lower end at (x, y) [m]."""
    return Pose(x, y, TUBE_RADIUS, 0.0, (-np.pi / 2 * np.sin(yaw), np.pi / 2 * np.cos(yaw)))


# --- the detector without a download


def test_everything_that_a_goal_names_is_found_named_and_located_in_noisy_depth(bench: Bench) -> None:
    seen = bench.see()
    assert not seen.remarks
    assert [each.name for each in seen.detections] == list(bench.wanted)
    for each in seen.detections:
        x, y, z = np.array(each.pose.position) - bench.truth[each.name]  # type: ignore[union-attr]
        assert np.hypot(x, y) < ASIDE and abs(z) < UP, each
        assert each.pose is not None and each.pose.upright and each.score > 0.6
        assert each.mask is not None
        rows, columns = np.nonzero(each.mask)
        assert (each.box.left, each.box.right) == (columns.min(), columns.max())
        assert (each.box.top, each.box.bottom) == (rows.min(), rows.max())
    by = {each.name: (each.named_by, each.within) for each in seen.detections}
    assert all(by[tube] == ("label", "rack") for tube in TUBES)
    assert by["probe"] == ("class", "probe_holder") and by["beaker"] == ("class", "balance")
    assert by["rod_holder"][0] == "its tool"


def test_what_was_taken_away_is_said_and_not_invented(bench: Bench) -> None:
    seen = bench.see(("acid", "base", "beaker", "rod", "rod_holder"), acid=AWAY, beaker=AWAY, rod=AWAY)
    missing = {remark for remark in seen.remarks if remark.startswith("No ")}
    assert missing == {f"No {name!r} is seen." for name in ("acid", "beaker", "rod")}
    assert seen.named("rod_holder").named_by == "elimination"  # type: ignore[union-attr]
    assert {each.name for each in seen.detections} == {"base", "rod_holder"}


def test_an_empty_bench_shows_its_fixtures_and_nothing_else(bench: Bench) -> None:
    seen = bench.see(**dict.fromkeys(LOOSE, AWAY))
    assert {each.name for each in seen.detections} == {"rack", "rinse", "balance"}
    assert len(seen.remarks) == len(LOOSE) + 2  # which holder is whose, only a tool would tell


def test_a_fallen_tube_is_named_by_elimination_and_does_not_stand(bench: Bench) -> None:
    seen = bench.see(TUBES, acid=lying(0.45, -0.05, 0.5)).named("acid")
    assert seen is not None and seen.named_by == "elimination" and seen.within == ""
    assert seen.pose is not None and not seen.pose.upright and not seen.pose.ends
    label = np.array(seen.pose.position) + sum(LABEL_BAND) / 2 * np.array(seen.pose.axis)
    truth = np.array((0.45, -0.05)) + sum(LABEL_BAND) / 2 * np.array((np.cos(0.5), np.sin(0.5)))
    assert np.hypot(*(label[:2] - truth)) < 0.010
    assert abs(np.dot(seen.pose.axis, (np.cos(0.5), np.sin(0.5), 0.0))) > np.cos(0.25)


def test_print_on_a_fallen_tube_tells_its_mouth_from_its_lower_end(bench: Bench) -> None:
    seen = bench.see(TUBES, acid=lying(0.30, -0.15, 2.5)).named("acid")
    assert seen is not None and seen.named_by == "label" and seen.pose is not None and seen.pose.ends
    assert np.dot(seen.pose.axis, (np.cos(2.5), np.sin(2.5), 0.0)) > np.cos(0.25)
    assert np.hypot(seen.pose.position[0] - 0.30, seen.pose.position[1] + 0.15) < 0.015


def test_a_tube_with_another_print_gets_no_name_that_is_left(bench: Bench) -> None:
    seen = bench.see(("acid", "base", "salt", "vinegar"))
    assert [each.name for each in seen.detections] == ["acid", "base", "salt"]
    x, y, _ = bench.truth["water"]
    assert seen.remarks[0] == "No 'vinegar' is seen."
    assert seen.remarks[1].startswith("The label of a tube at x = ") and seen.remarks[1].endswith("cannot be read.")
    assert float(seen.remarks[1].split()[8]) == pytest.approx(x, abs=ASIDE)
    assert float(seen.remarks[1].split()[12]) == pytest.approx(y, abs=ASIDE)


def test_frames_that_do_not_do_are_named_in_one_sentence(bench: Bench) -> None:
    frames = bench.look().frames
    with pytest.raises(ValueError, match="needs a frame of camera 'labels'; delivered cameras: front"):
        EYES.detect(frames[:1], TUBES)
    with pytest.raises(ValueError, match="'front' has no depth; the detector needs Capabilities"):
        EYES.detect([replace(frame, depth=None) for frame in frames], TUBES)
    with pytest.raises(ValueError, match="delivered cameras: none"):
        EYES.detect((), TUBES)
    with pytest.raises(ValueError, match="from left to right"):
        Box("front", 5, 0, 4, 3)


# --- shapes


def blank(camera: Frame, depth: np.ndarray) -> Frame:
    return replace(camera, depth=np.rint(depth / DEPTH_UNIT).astype(np.uint16))


@pytest.mark.parametrize("seed", range(3))
def test_a_shape_is_located_by_its_depth_alone(bench: Bench, seed: int) -> None:
    rng = np.random.default_rng(seed)
    camera = bench.look().frame("front")
    x, y, yaw = rng.uniform(0.25, 0.55), rng.uniform(-0.3, 0.3), rng.uniform(-0.7, 0.7)
    block = (Block((HOLDER_HALF, HOLDER_HALF), 0.0, HOLDER_HEIGHT),)
    floor = (Block((3.0, 3.0), -0.01, 0.0),)
    depth = np.minimum(rendered(camera, block, upright(x, y, 0.0, yaw)), rendered(camera, floor, upright(0.0, 0.0)))
    frame = noisy(blank(camera, np.where(np.isfinite(depth), depth, 0.0)), seed)
    mask = np.isfinite(rendered(camera, block, upright(x, y, 0.0, yaw)))
    start = np.array((x, y, yaw)) + rng.uniform(-1, 1, 3) * (0.008, 0.008, 0.15)
    steps = np.array((0.008, 0.008, 0.08))
    found = fit(frame, mask, block, start, steps, lambda a, b, c: upright(a, b, 0.0, c))
    assert np.hypot(*(found.placed.origin[:2] - (x, y))) < 0.003
    assert found.agreement > 0.9 and found.covered > 0.9 and found.seen > 0.9


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0.3, -0.9, 0.2), (0, 0, -1)])
def test_a_place_along_an_axis_is_a_rotation(axis: tuple[float, float, float]) -> None:
    turn = solids.along(np.zeros(3), np.array(axis)).turn
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    np.testing.assert_allclose(turn[:, 2], np.array(axis) / np.linalg.norm(axis), atol=1e-12)


def test_a_label_that_is_turned_end_for_end_stays_where_it_is() -> None:
    placed = solids.along(np.array((0.4, 0.1, 0.0125)), np.array((1.0, 0.5, 0.0)))
    other = wetware.turned("tube", placed)
    middle = sum(LABEL_BAND) / 2
    np.testing.assert_allclose(
        placed.origin + middle * placed.turn[:, 2], other.origin + middle * other.turn[:, 2], atol=1e-12
    )
    np.testing.assert_allclose(placed.turn[:, 2], -other.turn[:, 2], atol=1e-12)


def test_only_what_nothing_hides_is_segmented(bench: Bench) -> None:
    seen = wetware.view(bench.look().frame("front"))
    behind = (Cylinder(PROBE_HANDLE, 0.0, 0.02),)
    x, y, _ = bench.truth["balance"]
    assert not visible(seen, behind, upright(x, y)).any()  # inside the balance


# --- belief, gate and agent


def test_a_belief_tells_where_things_are_by_which_eyes_and_when(bench: Bench) -> None:
    observer = Observer(EYES)
    belief = observer.initial(Observation(1, bench.goal, bench.look(salt=AWAY)))
    acid = belief.things["acid"].at
    assert acid is not None and (acid.source, acid.time, acid.stale) == ("rgb-d", bench.world.time, "")
    assert np.hypot(*(np.array(acid.position) - bench.truth["acid"])[:2]) < ASIDE
    assert acid.position[2] == pytest.approx(RACK_FLOOR, abs=UP)
    assert belief.known("acid", "upright").value is True and belief.known("acid", "within").value == "rack"
    assert belief.known("acid", "named_by").value == "label" and belief.known("acid", "seen").source == "rgb-d"
    assert belief.known("salt", "seen").value is False and belief.things["salt"].at is None
    assert belief.things["rack"].kind == "rack" and belief.things["rack"].at is not None
    assert observer.seen.remarks == ("No 'salt' is seen.",)
    assert any(line.startswith("acid at: 0.") and " m (rgb-d, " in line for line in belief.lines())
    senses = bench.world.sense(readings=True)
    held = replace(senses, robot=replace(senses.robot, opening=0.025))
    taken = observer.update(belief, action("pick", "acid"), Observation(2, bench.goal, held)).things["acid"].at
    assert taken is not None and taken.stale == "it was taken" and taken.position == acid.position


class Told:
    """A detector that says what it was given."""

    name, cameras = "told", ("front",)

    def __init__(self, said: Seen | Exception) -> None:
        self.said = said

    def detect(self, frames: Sequence[Frame], wanted: Sequence[str]) -> Seen:
        del frames, wanted
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def begun(bench: Bench, detector: Any) -> Agent:
    agent = Agent(SymbolicMind(METHODS["inner-only"]), "inner-only", detector=detector)
    agent.open()
    agent.reset(bench.goal, JOINT, "s")
    return agent


def test_an_agent_asks_for_the_cameras_of_its_detector_and_for_none_without_one() -> None:
    eyed = Agent(SymbolicMind(METHODS["inner-only"]), "inner-only", detector=EYES).open()
    assert eyed.cameras == ("front", "labels", "pan") and eyed.depth and eyed.name.endswith(", rgb-d")
    assert Agent(SymbolicMind(METHODS["inner-only"]), "inner-only").open().cameras == ()


def test_an_agent_gives_up_where_what_it_has_to_take_is_not_seen(bench: Bench) -> None:
    agent = begun(bench, EYES)
    senses = bench.look(probe=AWAY)
    act = agent.act(Observation(1, bench.goal, senses))
    assert act == Stop() and agent.trial is not None and not agent.trial.claimed
    rules = [each.exception.rule for each in agent.gate.intercepts if each.exception is not None]
    assert rules[-1] == "seen_on_the_bench"
    assert agent.gate.intercepts[-1].exception.source == "RGB-D detection before the first action"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ModelError("timeout", "no reply"), ServiceFault),
        (ModelError("invalid", "nonsense"), Refusal),
        (ValueError("No frame."), Refusal),
    ],
)
def test_eyes_that_fail_end_a_trial_as_what_they_are(
    bench: Bench, raised: Exception, expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        begun(bench, Told(raised)).act(Observation(1, bench.goal, bench.world.sense(readings=True)))


# --- a vision-language model


class Says:
    """A mind that answers with boxes."""

    name = "scripted"

    def __init__(self, *things: Named) -> None:
        self.things, self.asked = things, list[Ask]()

    def ask(self, ask: Ask, answer: type[Any], budget: Budget) -> Reply[Any]:
        self.asked.append(ask)
        budget.sent()
        return Reply(answer(self.things), (), ask.prompt.identity)


def boxed(bench: Bench, name: str, image: int, low: float, high: float, radius: float, called: str = "") -> Named:
    """Return the box in thousandths around a thing between two heights over its origin [m]."""
    frame = bench.look().frame(EYES.cameras[image - 1])
    x, y, z = bench.truth[name]
    ring = [(x + i * radius, y + j * radius, z + height) for i in (-1, 1) for j in (-1, 1) for height in (low, high)]
    at = pixels(frame, np.array(ring)) / (np.array(frame.rgb.shape[1::-1]) - 1) * 1000
    (left, top), (right, bottom) = np.clip(at.min(axis=0), 0, 999), np.clip(at.max(axis=0), 1, 1000)
    return Named(called or name, image, float(left), float(top), float(right), float(bottom))


def test_what_a_model_names_is_segmented_and_located_and_a_legible_label_decides(bench: Bench) -> None:
    mind = Says(
        boxed(bench, "acid", 2, 0.0, TUBE_LENGTH, LABEL_RADIUS, called="base"),
        boxed(bench, "base", 2, 0.0, TUBE_LENGTH, LABEL_RADIUS, called="acid"),
        boxed(bench, "probe", 1, 0.02, 0.18, 0.015),
        boxed(bench, "beaker", 3, 0.0, 0.07, 0.03),
        Named("rod", 1, 400, 900, 450, 990),
        Named("unicorn", 1, 1, 1, 9, 9),
        Named("salt", 4, 1, 1, 9, 9),
    )
    eyes = VisionDetector(mind)
    wanted = ("acid", "base", "salt", "probe", "rod", "beaker")
    seen = eyes.detect(bench.look().frames, wanted)
    assert [each.name for each in seen.detections] == ["acid", "base", "probe", "rod", "beaker"]
    for each in seen.detections:
        if each.name == "rod":
            assert each.pose is None and each.mask is None and each.score == 0.0  # named, and not there
            continue
        x, y, z = np.array(each.pose.position) - bench.truth[each.name]  # type: ignore[union-attr]
        assert np.hypot(x, y) < ASIDE and abs(z) < UP
    assert [each.named_by for each in seen.detections] == ["label", "label", "model", "model", "model"]
    assert seen.remarks == (
        "No 'salt' is seen.",
        "The model named 'unicorn', which was not asked for.",
        "The model saw 'salt' in image 4; there are 1 to 3.",
    )
    (ask,) = mind.asked
    assert len(ask.images) == 3 and all(image.data.startswith(b"\x89PNG") for image in ask.images)
    assert "- acid: a test tube" in ask.prompt.text and ask.prompt.identity.startswith("detector@1:")
    assert eyes.name == f"rgb-d with scripted {ask.prompt.identity}" and eyes.budget.requests == 1


@pytest.mark.parametrize("box", [(5, 5, 5, 9), (0, 9, 9, 3), (-1, 0, 4, 4), (0, 0, 4, 1001)])
def test_a_model_is_told_which_box_is_none(box: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="left < right and top < bottom, 0 to 1000"):
        Named("acid", 1, *box)


def test_a_model_over_the_wire_is_sent_three_pictures_and_asked_again_after_a_box_that_is_none(bench: Bench) -> None:
    pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")
    import json

    from fake_model import Said, provider
    from labevolver.model.backbone import parse
    from labevolver.model.mind import LanguageModel

    good = boxed(bench, "beaker", 3, 0.0, 0.07, 0.03)
    fields = {name: getattr(good, name) for name in ("name", "image", "left", "top", "right", "bottom")}
    bad = {**fields, "left": fields["right"]}
    replies = [Said(json.dumps({"things": [each]})) for each in (bad, fields)]
    frames = bench.look().frames
    with provider(*replies) as server, LanguageModel(parse(f"openai-compatible:local@{server.url}"), key="k") as mind:
        seen = VisionDetector(mind).detect(frames, ("beaker",))
    assert [each.name for each in seen.detections] == ["beaker"] and seen.detections[0].within == "balance"
    assert len(server.asked) == 2 and "left < right" in json.dumps(server.asked[1]["messages"])
    pictures = [part for part in server.asked[0]["messages"][-1]["content"] if part["type"] == "image_url"]
    assert len(pictures) == 3 and all(part["image_url"]["url"].startswith("data:image/png") for part in pictures)


def test_a_model_that_fails_raises_its_own_error(bench: Bench) -> None:
    class Fails:
        name = "fails"

        def ask(self, ask: Ask, answer: type[Any], budget: Budget) -> Reply[Any]:
            raise ModelError("unavailable", "busy")

    with pytest.raises(ModelError, match="busy"):
        VisionDetector(Fails()).detect(bench.look().frames, ("acid",))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--eyes", "rgb-d"], "--eyes rgb-d needs cameras; with --fidelity physics"),
        (["--eyes", "model", "--fidelity", "physics"], "--eyes model needs a model; with --model NAME"),
        (["--eyes", "keen", "--fidelity", "physics"], "--eyes 'keen' is not known; none, rgb-d or model"),
    ],
)
def test_eyes_that_cannot_look_are_refused_in_a_sentence(options: list[str], said: str, tmp_path: Path) -> None:
    out = CliRunner().invoke(app, ["run", "ph", "--out", str(tmp_path / "run"), *options])
    assert out.exit_code == 2 and said in " ".join(out.output.split())


def test_eyes_of_a_crew_are_made_for_each_trial() -> None:
    crew = Crew(fidelity="physics", eyes="rgb-d")
    made = crew.detector()
    assert made is not None and made() is not made() and Crew().detector() is None
    assert crew.names()["eyes"] == "rgb-d" and "eyes" not in Crew().names()
