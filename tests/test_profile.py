"""Profiles of remote robot policies: what they refuse, and what their numbers mean there and back."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labference.policies.remote.convert import (
    axis_angle,
    from_request,
    gripper_value,
    missing,
    to_actions,
    to_commands,
    to_request,
    written,
)
from labference.policies.remote.fields import ProfileError
from labference.policies.remote.images import resized, turned
from labference.policies.remote.probe import home
from labference.policies.remote.profile import Profile
from labference.policies.remote.profile_file import built_in, find_profile, parse
from labference.wire import JOINT, Frame, Goal, Refusal, RobotState
from labference.wire.action import STROKE
from labference.wire.panda import HOME

GOAL = Goal("Bring the balance to 200.0 g.", ("add", "stop"), ("10 g",), ("pan",))
PLAIN = """
name = "plain"
[action]
rate_hz = 20
[gripper]
open = 0.08
closed = 0.0
"""
HERE = RobotState(np.array(HOME), np.zeros(7), STROKE, np.r_[0.4, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0], np.r_[HOME, STROKE])
finite = {"allow_nan": False, "allow_infinity": False}


def profile(extra: str = "", text: str = PLAIN) -> Profile:
    return parse((text + extra).encode(), "p.toml")


def tables(count: int, low: float, high: float, width: int = 7) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(np.float64, (count, width), elements=st.floats(low, high, **finite))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", built_in())
def test_every_built_in_profile_reads_and_says_what_it_is(name: str) -> None:
    found = find_profile(name)
    assert found.name == name
    assert found.sha256[:12] in found.short
    assert found.conventions()["width"] == found.action.spec.size


def test_the_built_in_profiles_state_the_conventions_of_their_policies() -> None:
    droid, libero, ours = (find_profile(name) for name in ("droid", "libero", "labference"))
    assert (droid.gripper.open, droid.gripper.closed, droid.action.rate_hz) == (0.0, 1.0, 15.0)
    assert droid.action.scale[0] / droid.action.rate_hz == pytest.approx(0.2)
    assert (libero.gripper.open, libero.gripper.closed) == (-1.0, 1.0)
    assert libero.action.spec.name == "end_effector"
    assert (ours.action.rate_hz, ours.gripper.open) == (JOINT.rate_hz, STROKE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = ", "p.toml is not TOML"),
        (PLAIN.replace('name = "plain"', ""), "p.toml: name is missing; text would work."),
        (PLAIN + "colour = 3\n", "p.toml: gripper.colour is no field of a profile"),
        (PLAIN.replace("closed = 0.0", "closed = 0.08"), "p.toml: gripper.open is 0.08 and so is closed"),
        (PLAIN.replace("open = 0.08", 'open = "wide"'), "p.toml: gripper.open is 'wide'; a number would work."),
        (PLAIN.replace("open = 0.08", "open = nan"), "p.toml: gripper.open is nan; a number would work."),
        (PLAIN.replace("rate_hz = 20", ""), "p.toml: action.rate_hz is missing; a number above 0 would work."),
        (PLAIN.replace("rate_hz = 20", "rate_hz = -1"), "p.toml: action.rate_hz is -1; a number above 0 would work."),
        (PLAIN.replace("rate_hz = 20", 'rate_hz = 20\nmeaning = "torque"'), "joint_position or joint_velocity or end"),
        (PLAIN.replace("rate_hz = 20", "rate_hz = 15"), 'the laboratory takes 20 Hz; action.resample = "linear" would'),
        (
            PLAIN.replace("rate_hz = 20", 'rate_hz = 15\nresample = "linear"') + "[chunk]\nexecute = 8\n",
            "8 actions at 15 Hz are 10.67 commands at 20 Hz; chunk.execute = 6 or 9 would work.",
        ),
        (
            PLAIN.replace("rate_hz = 20", 'rate_hz = 10\nresample = "linear"\nmeaning = "end_effector_delta"'),
            "end-effector deltas at 10 Hz cannot be resampled; 20 Hz would work.",
        ),
        (PLAIN + "[chunk]\nexecute = 51\n", "chunk.execute is 51; 1 to 50 would work."),
        (PLAIN + "[chunk]\nexecute = 0\n", "chunk.execute is 0; a whole number from 1 would work."),
        (PLAIN + '[chunk]\nowner = "server"\nexecute = 5\n', "a server that owns the chunk hands out 1 action."),
        (PLAIN + '[chunk]\nowner = "nobody"\n', "chunk.owner is 'nobody'; client or server would work."),
        (PLAIN + '[state]\nx = ["torques"]\n', "state.x names 'torques'; joints, "),
        (PLAIN + "[state]\nx = []\n", "state.x is []; a list of words would work."),
        (PLAIN + "[cameras.front]\nsize = [224, 224]\n", "cameras.front.key is missing; text would work."),
        (PLAIN + '[cameras.front]\nkey = "a"\nsize = [0, 224]\n', "cameras.front.size is [0, 224]; [width, height] in"),
        (PLAIN + '[cameras.front]\nkey = "a"\n[state]\na = ["joints"]\n', "the key 'a' is used twice"),
        (
            PLAIN + '[cameras.front]\nkey = "a"\nsize = [9, 9]\nintrinsics = "k"\n',
            "the intrinsics of camera 'front' belong to its own size",
        ),
        (PLAIN + "[prompt]\nmax_tokens = 4.5\n", "prompt.max_tokens is 4.5; a whole number from 1 would work."),
        ("deadline_s = 0\n" + PLAIN, "deadline_s is 0; a number above 0 would work."),
    ],
)
def test_each_mistake_in_a_profile_is_one_sentence(text: str, expected: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse(text.encode(), "p.toml")
    assert expected in str(caught.value)
    assert str(caught.value).startswith("p.toml")
    assert str(caught.value).endswith(".")


def test_the_profiles_of_the_documentation_read() -> None:
    docs = Path(__file__).parents[1] / "docs"
    (whole,) = re.findall(r"```toml\n(.*?)```", (docs / "openpi.md").read_text(), re.S)
    assert profile(text=whole).action == replace(find_profile("droid").action)
    (part,) = re.findall(r"```toml\n(.*?)```", (docs / "vla-eval-servers.md").read_text(), re.S)
    assert profile(part).chunk.stale == "refuse"
    assert profile(part.replace("# ", "")).short.endswith(" server-buffered")


def test_an_unknown_profile_names_those_that_are_there() -> None:
    with pytest.raises(ProfileError, match="No profile 'drod'; the path of a TOML file would work, or one of droid"):
        find_profile("drod")


@settings(deadline=None)
@given(tables(5, -2.0, 2.0), hnp.arrays(np.float64, 5, elements=st.floats(0.0, STROKE)))
def test_our_own_convention_changes_no_bit(arm: np.ndarray, opening: np.ndarray) -> None:
    ours = find_profile("labference")
    commands = np.column_stack([arm, opening])
    assert to_actions(ours, commands, HERE).tobytes() == commands.tobytes()
    assert to_commands(ours, to_actions(ours, commands, HERE), HERE).commands.tobytes() == commands.tobytes()


@pytest.mark.parametrize("meaning", ["joint_position", "joint_velocity", "end_effector_delta"])
@settings(deadline=None)
@given(st.data())
def test_commands_survive_the_way_there_and_back(meaning: str, data: st.DataObject) -> None:
    size = 7 if meaning == "end_effector_delta" else 8
    scale = [0.05, 0.5] if size == 7 else 3.0
    text = PLAIN.replace("rate_hz = 20", f'rate_hz = 20\nmeaning = "{meaning}"\nscale = {scale}')
    found = profile(text=text.replace("open = 0.08", "open = 0.0").replace("closed = 0.0", "closed = 1.0"))
    found = replace(found, gripper=replace(found.gripper, open=0.0, closed=1.0))
    arm = data.draw(tables(6, -0.04, 0.04, size - 1))
    opening = data.draw(hnp.arrays(np.float64, 6, elements=st.floats(0.0, STROKE)))
    commands = np.column_stack([arm + (HOME if size == 8 else 0.0), opening])
    back = to_commands(found, to_actions(found, commands, HERE), HERE)
    assert np.allclose(back.commands, commands, atol=1e-12)
    assert (back.used, back.clipped) == (6, 0)


@settings(deadline=None)
@given(st.floats(0.0, STROKE), st.floats(-3.0, 3.0), st.floats(0.5, 3.0))
def test_swapping_the_polarity_twice_changes_nothing_and_once_mirrors(opening: float, low: float, span: float) -> None:
    straight = profile()
    straight = replace(straight, gripper=replace(straight.gripper, open=low + span, closed=low))
    swapped = replace(straight, gripper=replace(straight.gripper, open=low, closed=low + span))
    value = gripper_value(straight, opening)
    assert gripper_value(swapped, opening) == pytest.approx(2 * low + span - value, abs=1e-9)
    row = np.r_[HOME, np.clip(value, low, low + span)][None]
    assert to_commands(straight, row, HERE).commands[0, -1] == pytest.approx(opening, abs=1e-9)
    assert to_commands(swapped, row, HERE).commands[0, -1] == pytest.approx(STROKE - opening, abs=1e-9)


@pytest.mark.parametrize(("value", "opening"), [(0.0, STROKE), (0.49, STROKE), (0.51, 0.0), (1.0, 0.0)])
def test_a_binary_gripper_is_whichever_is_nearer(value: float, opening: float) -> None:
    row = np.r_[np.zeros(7), value][None]
    assert to_commands(find_profile("droid"), row, HERE).commands[0, -1] == opening


@settings(deadline=None)
@given(st.integers(1, 50), st.floats(-1.0, 1.0), st.floats(0.5, 4.0))
def test_a_constant_velocity_turns_a_joint_by_rate_times_time(count: int, velocity: float, scale: float) -> None:
    text = PLAIN.replace("rate_hz = 20", f'rate_hz = 20\nmeaning = "joint_velocity"\nscale = {scale}')
    rows = np.tile(np.r_[velocity, np.zeros(6), STROKE], (count, 1))
    found = to_commands(profile(text=text), rows, HERE).commands
    seconds = np.arange(1, count + 1) / JOINT.rate_hz
    assert np.allclose(found[:, 0], HOME[0] + velocity * scale * seconds, atol=1e-9)
    assert np.allclose(found[:, 1:7], HOME[1:], atol=0)


@settings(deadline=None)
@given(tables(9, -1.0, 1.0))
def test_resampled_velocities_are_where_the_time_says(arm: np.ndarray) -> None:
    droid = find_profile("droid")
    found = to_commands(droid, np.column_stack([arm * 0.2, np.zeros(9)]), HERE).commands
    assert len(found) == 12  # 0.6 s at 20 Hz
    knots = np.vstack([HOME, HOME + np.cumsum(arm * 0.2 * 0.2, axis=0)])
    at = np.arange(1, 13) / 20.0
    low, high = JOINT.low[:-1], JOINT.high[:-1]
    expected = np.column_stack([np.interp(at, np.arange(10) / 15.0, column) for column in np.clip(knots, low, high).T])
    assert np.allclose(found[:, :7], expected, atol=1e-9)


def test_a_resampled_gripper_keeps_the_value_of_its_period() -> None:
    rows = np.column_stack([np.zeros((9, 7)), [0, 0, 0, 1, 1, 1, 0, 0, 0]])
    found = to_commands(find_profile("droid"), rows, HERE).commands
    assert (found[:, -1] == 0.0).tolist() == [False] * 4 + [True] * 4 + [False] * 4


def test_only_the_declared_number_of_actions_is_executed() -> None:
    rows = np.tile(np.r_[HOME, STROKE], (40, 1))
    found = to_commands(profile("[chunk]\nexecute = 7\n"), rows, HERE)
    assert (len(found.commands), found.used) == (7, 7)


@pytest.mark.parametrize(
    ("actions", "kind"),
    [
        (np.full((2, 8), np.nan), "nonfinite"),
        (np.full((2, 8), np.inf), "nonfinite"),
        (np.zeros((2, 3)), "shape"),
        (np.zeros((2, 2, 8)), "shape"),
        (np.zeros(()), "shape"),
        (np.zeros((0, 8)), "empty"),
        (np.zeros((2, 8), bool), "dtype"),
        ([[0.0] * 8], "dtype"),
        ("open", "dtype"),
        (None, "dtype"),
        (np.r_[HOME, 9.0][None], "out_of_range"),
    ],
)
def test_nonsense_is_refused_by_name(actions: Any, kind: str) -> None:
    with pytest.raises(Refusal) as caught:
        to_commands(profile(), actions, HERE)
    assert caught.value.kind == kind
    assert str(caught.value).endswith(".")


def test_velocities_that_overflow_are_left_to_be_refused_on_admission() -> None:
    text = PLAIN.replace("rate_hz = 20", 'rate_hz = 20\nmeaning = "joint_velocity"\nscale = 30.0')
    rows = np.tile(np.r_[np.full(7, 1e308), STROKE], (3, 1))
    assert np.isinf(to_commands(profile(text=text), rows, HERE).commands[1:, 0]).all()


def test_beyond_the_limit_is_refused_or_clipped_as_declared() -> None:
    text = PLAIN.replace("rate_hz = 20", 'rate_hz = 20\nmeaning = "joint_velocity"\nlimit = 1.0')
    row = np.r_[2.0, np.zeros(6), STROKE][None]
    with pytest.raises(Refusal, match="Action 0 has 2 units; -1 to 1 would work"):
        to_commands(profile(text=text), row, HERE)
    found = to_commands(profile(text=text.replace("limit", 'out_of_range = "clip"\nlimit')), row, HERE)
    assert found.clipped == 1
    assert found.commands[0, 0] == pytest.approx(HOME[0] + 1 / 20)


def test_a_local_policy_is_not_served_at_another_rate() -> None:
    with pytest.raises(Refusal, match="speaks at 20 Hz and cannot be served at 15 Hz"):
        to_actions(find_profile("droid"), np.r_[HOME, STROKE][None], HERE)


@pytest.mark.parametrize("name", built_in())
def test_a_request_tells_the_policy_where_the_robot_is(name: str) -> None:
    found = find_profile(name)
    sent = home(found, GOAL)
    fields, images = to_request(found, sent, "prompt")
    assert not missing(found, fields, images, "prompt")
    assert fields["prompt"] == GOAL.instruction
    back = from_request(found, fields, images, "prompt", 1)
    assert back.goal.instruction == GOAL.instruction
    assert back.senses.robot.opening == pytest.approx(sent.senses.robot.opening)
    for name_, there in (("joints", back.senses.robot.joints), ("tcp", back.senses.robot.tcp[:3])):
        here = getattr(sent.senses.robot, name_)[: len(there)]
        assert np.isnan(there).all() or np.allclose(there, here)
    assert [frame.camera for frame in back.senses.frames] == [view.camera for view in found.views]


def test_what_no_key_carries_is_not_a_number() -> None:
    found = profile('[state]\nq = ["joints"]\n')
    fields, images = to_request(found, home(found, GOAL), "prompt")
    robot = from_request(found, fields, images, "prompt", 1).senses.robot
    assert np.isnan(robot.velocities).all() and np.isnan(robot.tcp).all() and np.isnan(robot.opening)
    assert robot.joints.tolist() == list(HOME)


def test_our_own_profile_carries_an_observation_whole() -> None:
    found = find_profile("labference")
    sent = home(found, GOAL)
    back = from_request(found, *to_request(found, sent, "prompt"), "prompt", 1)
    assert back.goal == GOAL
    for there, here in zip(back.senses.frames, sent.senses.frames, strict=True):
        for part in ("rgb", "depth", "intrinsics", "pose"):
            assert np.array_equal(getattr(there, part), getattr(here, part)), part
    for part in ("joints", "velocities", "tcp", "command"):
        assert np.array_equal(getattr(back.senses.robot, part), getattr(sent.senses.robot, part)), part


def test_a_key_of_another_shape_is_refused_by_the_side_that_hosts() -> None:
    found = profile('[state]\nq = ["joints"]\n')
    with pytest.raises(Refusal, match="The state 'q' is no array of 7 numbers"):
        from_request(found, {"q": np.zeros(6), "prompt": ""}, {}, "prompt", 1)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 3.0, np.pi])
def test_an_axis_angle_is_the_rotation_of_its_quaternion(angle: float) -> None:
    axis = np.array((2.0, -1.0, 2.0)) / 3.0
    quaternion = np.r_[np.cos(angle / 2), np.sin(angle / 2) * axis]
    for same in (quaternion, -quaternion):
        if angle < 3.1:
            assert np.allclose(axis_angle(same), angle * axis, atol=1e-9)
        assert np.linalg.norm(axis_angle(same)) == pytest.approx(angle, abs=1e-9)


def test_an_instruction_that_may_be_cut_off_is_named_with_its_lengths() -> None:
    prompt = profile("[prompt]\nmax_tokens = 20\nreserved_tokens = 4\n").prompt
    assert prompt.too_long("x" * 48) == ""
    assert prompt.too_long("x" * 49) == (
        "The instruction has 49 characters, up to 17 tokens at 3 a token, and the model keeps 16; a prompt.text of 48 "
        "characters would work."
    )
    assert profile('[prompt]\nmax_tokens = 3\ntext = "Weigh it."\n').prompt.too_long("x" * 99) == ""
    assert profile().prompt.too_long("x" * 10_000) == ""


@settings(deadline=None)
@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 64), st.integers(1, 64))
def test_padding_keeps_proportions_in_the_middle(rows: int, columns: int, width: int, height: int) -> None:
    white = np.full((rows, columns, 3), 255, np.uint8)
    found = resized(white, (width, height), "pad")
    assert found.shape == (height, width, 3)
    ratio = max(columns / width, rows / height)
    inner = (max(1, int(rows / ratio)), max(1, int(columns / ratio)))
    lit = np.argwhere(found[:, :, 0] == 255)
    assert len(lit) == (inner[0] * inner[1] if (rows, columns) != (height, width) else rows * columns)
    before, after = lit.min(axis=0), np.array((height, width)) - 1 - lit.max(axis=0)
    assert (np.abs(before - after) <= 1).all()


def test_an_image_of_the_right_size_is_not_touched() -> None:
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    assert resized(image, (4, 4), "pad") is image
    assert resized(image, (8, 2), "stretch").shape == (2, 8, 3)


@pytest.mark.parametrize("turn", ["none", "mirror", "half"])
def test_turning_twice_is_not_turning(turn: Any) -> None:
    image = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    assert np.array_equal(turned(turned(image, turn), turn), image)
    assert turn == "none" or not np.array_equal(turned(image, turn), image)


def test_a_turned_camera_is_sent_turned_and_hosted_straight() -> None:
    found = profile('[cameras.front]\nkey = "a"\nturn = "half"\n')
    rgb = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    frame = Frame("front", rgb, None, np.eye(3), np.eye(4), 0.0, 0.0)
    sent = home(found, GOAL)
    fields, images = to_request(found, replace(sent, senses=replace(sent.senses, frames=(frame,))), "prompt")
    assert np.array_equal(images["a"], rgb[::-1, ::-1])
    assert np.array_equal(from_request(found, fields, images, "prompt", 1).senses.frame("front").rgb, rgb)


def test_velocities_are_written_from_where_the_joints_are() -> None:
    commands = np.array([[*np.array(HOME) + 0.03, STROKE]])
    droid = find_profile("droid")
    assert np.allclose(written(droid, commands, HERE.joints)[0, :7], 0.03 * 15 / 3.0)
