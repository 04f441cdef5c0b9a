"""What is checked before the first episode: declared conventions, a command there and back, a plausible first answer.

A wrong gripper sign, rate, frame or camera is refused here, each with its own sentence. What a server leaves no way to
check is listed by `RemoteRobot.unverified` and recorded as such, never as checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from labference.motion import Arm
from labference.wire import ActionSpec, Frame, Goal, Observation, Refusal, RobotState, Senses
from labference.wire.action import STROKE
from labference.wire.panda import HOME

from .convert import Converted, to_commands, to_request, written
from .digests import told
from .openpi import EXTENSION, OpenPi
from .profile import OURS, Profile
from .profile_file import built_in
from .robot import RemoteRobot, check_refused, reply_of
from .vla_eval import VlaEval

SESSION = "preflight"
GREY = 128
BLANK = (640, 480)
"""Width and height of a blank frame where the profile keeps the size of the camera [px]."""


def check_openpi(robot: OpenPi, spec: ActionSpec, goal: Goal, *, given: bool) -> None:
    """Refuse what does not fit about an OpenPI server; `given` says whether the user named a profile."""
    profile = robot.profile
    check_profile(robot, spec, goal, given)
    if robot.extension:
        compare(profile, robot.extension.get("conventions"))
    if robot.extension.get("probe") is True:
        _round_trip(robot, goal)
    elif not robot.extension:
        _plausible(robot, goal)


def check_vla_eval(robot: VlaEval, spec: ActionSpec, goal: Goal, *, given: bool) -> None:
    """Refuse what does not fit about a model server of vla-eval."""
    profile = robot.profile
    check_profile(robot, spec, goal, given)
    if robot.extension:
        compare(profile, robot.extension.get("conventions"))
        return
    compare_specs(profile, robot.metadata.get("action_spec"), robot.metadata.get("observation_spec"))
    _plausible(robot, goal)


def check_profile(robot: RemoteRobot, spec: ActionSpec, goal: Goal, given: bool) -> None:
    """Refuse what the profile alone rules out."""
    profile = robot.profile
    if not given and not robot.extension:
        raise Refusal(
            "unsupported",
            "The server does not say how its actions are meant; --profile with a file would, or one of "
            f"{', '.join(built_in())}.",
        )
    if profile.action.spec != spec:
        needed = profile.action.spec.name
        raise Refusal("unsupported", f"Profile {profile.name!r} drives {needed!r}; --action {needed} would work.")
    if sentence := profile.prompt.too_long(goal.instruction):
        raise Refusal("unsupported", sentence)
    if profile.chunk.owner == "server" and profile.chunk.stale == "refuse":
        raise Refusal(
            "unsupported",
            "A server that owns the chunk goes on with old commands after new evidence, and the wire has no way to "
            'drop them; a server that hands out whole chunks would work, or chunk.stale = "accept", which is recorded.',
        )


def compare(profile: Profile, theirs: object) -> None:
    """Refuse conventions that differ from those of the profile."""
    ours = profile.conventions()
    if not isinstance(theirs, dict):
        raise Refusal("unsupported", f"The server declares no conventions, but {told(theirs)!r}.")
    _compare_grippers(profile, theirs.get("gripper_open"), theirs.get("gripper_closed"))
    for name, words in (
        ("rate_hz", "gives actions at {} Hz, the profile has {} Hz"),
        ("frame", "has its arm commands in the frame {!r}, the profile in {!r}"),
        ("meaning", "means {!r} by the arm entries, the profile {!r}"),
        ("width", "has {} entries an action, the profile {}"),
        ("scale", "scales arm entries by {}, the profile by {}"),
    ):
        if theirs.get(name) != ours[name]:
            raise Refusal("unsupported", f"The server {words.format(told(theirs.get(name)), ours[name])}.")
    _compare_cameras(ours, theirs)
    if theirs.get("state") != ours["state"]:
        raise Refusal(
            "unsupported", f"The server reads the state {told(theirs.get('state'))}, the profile sends {ours['state']}."
        )


def _compare_grippers(profile: Profile, opened: object, closed: object) -> None:
    gripper = profile.gripper
    if (opened, closed) != (gripper.open, gripper.closed):
        raise Refusal(
            "unsupported",
            f"The server's gripper is open at {told(opened)} and closed at {told(closed)}, the profile's open at "
            f"{gripper.open:g} and closed at {gripper.closed:g}.",
        )


def _compare_cameras(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    needed, read = set(_list(theirs, "cameras")), {*_list(theirs, "cameras"), *_list(theirs, "optional_cameras")}
    sent = {*ours["cameras"], *ours["optional_cameras"]}
    if lacking := sorted(needed - sent):
        raise Refusal("unsupported", f"The server needs camera {lacking[0]!r}, which the profile does not send.")
    if unread := sorted(set(ours["cameras"]) - read):
        raise Refusal("unsupported", f"The profile sends camera {unread[0]!r}, which the server does not read.")


def _list(table: dict[str, Any], name: str) -> list[str]:
    found = table.get(name)
    return [str(told(entry)) for entry in found] if isinstance(found, list) else []


# A command there and back.


def known_commands(spec: ActionSpec) -> np.ndarray:
    """Return three commands (3, size) whose entries all differ, and which open the gripper less and less."""
    steps = np.arange(1, spec.size) * 0.001
    base = np.array(HOME) if spec.space == "joint" else np.zeros(spec.size - 1)
    arm = base + np.outer((1, 2, 3), steps)
    return np.column_stack([arm, (STROKE, 0.6 * STROKE, 0.0)])


def _round_trip(robot: OpenPi, goal: Goal) -> None:
    """Let the server say what a known command means to it, and what it reads of a request."""
    profile = robot.profile
    here = home(profile, goal)
    actions = written(profile, known_commands(profile.action.spec), here.senses.robot.joints)
    ours = to_commands(profile, actions, here.senses.robot)
    fields, images = to_request(profile, here, robot.prompt_key)
    found = robot.ask(fields | images | {EXTENSION: {"op": "probe", "actions": actions}})
    check_refused(found)
    answer = reply_of(found)
    if lacking := _list(answer, "missing"):
        raise Refusal("unsupported", f"The server reads {lacking[0]!r}, which the profile does not send.")
    read = _list(answer, "read")
    if unread := sorted({key for key in images if key not in read}):
        raise Refusal("unsupported", f"The profile sends camera {unread[0]!r}, which the server does not read.")
    compare_commands(ours, answer.get("commands"))


def compare_commands(ours: Converted, theirs: object) -> None:
    """Refuse another reading of the same actions."""
    if not isinstance(theirs, np.ndarray) or theirs.dtype.kind != "f":
        raise Refusal("unsupported", f"The server did not say what a known command means, but {told(theirs)!r}.")
    if theirs.shape != ours.commands.shape:
        raise Refusal(
            "unsupported",
            f"The same actions are {ours.commands.shape} commands here and {theirs.shape} there: the rates or widths "
            "differ.",
        )
    if not np.allclose(ours.commands[:, -1], theirs[:, -1], atol=1e-6):
        raise Refusal(
            "unsupported",
            f"The same actions open the gripper to {_millimetres(ours.commands[:, -1])} here and "
            f"{_millimetres(theirs[:, -1])} there: the gripper conventions differ.",
        )
    if not np.allclose(ours.commands, theirs, atol=1e-6):
        far = float(np.abs(ours.commands - theirs).max())
        raise Refusal(
            "unsupported", f"The same actions differ by up to {far:.3g} rad or m here and there: the frames differ."
        )


def _millimetres(openings: np.ndarray) -> str:
    return f"{', '.join(str(round(1000 * opening)) for opening in openings)} mm"


# A plausible first answer.


def _plausible(robot: RemoteRobot, goal: Goal) -> None:
    """Ask once, at home and with an open hand, and refuse an answer that no working policy would give there."""
    profile = robot.profile
    here = home(profile, goal)
    robot.begin(goal, SESSION)
    fields, images = to_request(profile, here, robot.prompt_key)
    answer = robot.infer(fields, images, here.id)
    if profile.action.key not in answer:
        raise Refusal("unsupported", f"An answer has no key {profile.action.key!r}, but {told(list(answer))}.")
    plausible_start(profile, to_commands(profile, answer[profile.action.key], here.senses.robot).commands)


def plausible_start(profile: Profile, commands: np.ndarray) -> None:
    """Refuse commands that begin far from home, or with a closing hand, where the hand is open and at home."""
    first = commands[0]
    if profile.action.spec.space == "joint":
        far = float(np.abs(first[:-1] - HOME).max())
        if far > profile.start_rad:
            raise Refusal(
                "unsupported",
                f"The first action turns a joint by {far:.2f} rad at once; up to {profile.start_rad:g} rad is "
                f"plausible, so {profile.action.meaning!r} or its units may be wrong (start_rad allows more).",
            )
    else:
        far = float(np.linalg.norm(first[:3]))
        if far > profile.start_m:
            raise Refusal(
                "unsupported",
                f"The first action moves the hand by {1000 * far:.0f} mm at once; up to {1000 * profile.start_m:g} mm "
                "is plausible, so its scale or units may be wrong (start_m allows more).",
            )
    if first[-1] < STROKE / 2 and not profile.gripper.starts_closed:
        raise Refusal(
            "unsupported",
            f"The first action closes the open gripper to {1000 * first[-1]:.0f} mm with nothing between the fingers; "
            "gripper.open and gripper.closed may be swapped (gripper.starts_closed = true accepts it).",
        )


def home(profile: Profile, goal: Goal) -> Observation:
    """Return an observation at the registered home pose, the hand open and every frame grey."""
    joints = np.array(HOME)
    robot = RobotState(joints, np.zeros(7), STROKE, Arm().forward(joints), np.append(joints, STROKE))
    frames = []
    for view in profile.views:
        width, height = view.size or BLANK
        frames.append(
            Frame(
                view.camera,
                np.full((height, width, 3), GREY, np.uint8),
                np.zeros((height, width), np.uint16) if view.depth else None,
                np.eye(3),
                np.eye(4),
                0.0,
                0.0,
            )
        )
    return Observation(1, goal, Senses(0.0, robot, tuple(frames)))


# What vla-eval's specs say.

GRIPPERS = {
    "binary_close_positive": (-1.0, 1.0),
    "binary_close_negative": (1.0, -1.0),
    "binary_close_01": (0.0, 1.0),
}
"""Format of a gripper -> its values open and closed."""
ARMS = {
    "joint_positions": "joint_position",
    "joint_pos_abs": "joint_position",
    "joint_velocity": "joint_velocity",
    "delta_xyz": "end_effector_delta",
    "axis_angle": "end_effector_delta",
}
"""Format of an arm part -> what it means, as a profile says it."""


def compare_specs(profile: Profile, action: object, observation: object) -> None:
    """Refuse what vla-eval's specs of a server say otherwise than the profile; what they leave open is not checked."""
    parts = [entry for entry in action.values() if isinstance(entry, dict)] if isinstance(action, dict) else []
    for part in parts:
        _compare_part(profile, str(part.get("name")), str(part.get("format")))
    sizes = [part.get("dims") for part in parts]
    if parts and all(type(size) is int and size > 0 for size in sizes) and sum(sizes) != profile.action.width:  # type: ignore[arg-type]
        raise Refusal(
            "unsupported",
            f"The server gives actions of {sum(sizes)} entries, the profile {profile.action.width}.",  # type: ignore[arg-type]
        )
    wants = (
        [entry for entry in observation.values() if isinstance(entry, dict)] if isinstance(observation, dict) else []
    )
    if any(str(want.get("format")) == "rgb_hwc_uint8" for want in wants) and not profile.views:
        raise Refusal("unsupported", "The server needs camera images, and the profile sends none.")


def _compare_part(profile: Profile, name: str, form: str) -> None:
    if name.endswith("gripper") and form in GRIPPERS:
        _compare_grippers(profile, *GRIPPERS[form])
    elif form in ARMS and ARMS[form] != profile.action.meaning:
        raise Refusal("unsupported", f"The server means {form!r} by {name!r}, the profile {profile.action.meaning!r}.")
    elif form.startswith(("absolute_", "euler_", "quaternion_", "rot6d", "joint_delta")):
        ours = ", ".join(OURS)
        raise Refusal("unsupported", f"The server means {form!r} by {name!r}, which no profile can say; {ours} can.")
