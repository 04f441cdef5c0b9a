"""The profile of a remote robot policy: what it is sent, what its numbers mean, and who owns its chunks.

Everything that differs between two robot policies and that no wire says is declared here, so that nothing has to be
guessed. `profile_file` reads it from TOML; `docs/openpi.md` explains the fields.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from labference.wire import PROFILES, ActionSpec

from .images import Resize, Turn

Meaning = Literal["joint_position", "joint_velocity", "end_effector_delta"]
Resample = Literal["refuse", "linear"]
OutOfRange = Literal["refuse", "clip"]
Owner = Literal["client", "server"]
Stale = Literal["refuse", "accept"]
Number = Literal["float32", "float64"]

OURS: dict[Meaning, str] = {"joint_position": "joint", "joint_velocity": "joint", "end_effector_delta": "end_effector"}
"""Meaning of their arm entries -> the action profile of ours that they are turned into."""
FRAMES = {name: spec.frame for name, spec in PROFILES.items()}
SOURCES = {
    "joints": 7,
    "velocities": 7,
    "gripper": 1,
    "opening": 1,
    "fingers": 2,
    "position": 3,
    "quaternion_wxyz": 4,
    "quaternion_xyzw": 4,
    "axis_angle": 3,
    "command": 8,
    "time": 1,
}
"""What a state key can be made of -> its length. `joints` [rad], `velocities` [rad/s], `gripper` in the convention of
the profile, `opening` [m], `fingers` plus and minus half the opening [m]; pose of the tool centre point in the robot
base frame: `position` [m], a quaternion, or `axis_angle` [rad]; `command` in force [rad, m], simulated `time` [s]."""
CHARACTERS_PER_TOKEN = 3.0
"""Characters that a tokeniser may spend a token on; English text has about four, numbers and units fewer."""


@dataclass(frozen=True, slots=True)
class View:
    """One camera: under which key it goes, at which size (width, height) in pixels or its own, and turned how.

    `depth` (h, w) uint16, `intrinsics` (3, 3) and `pose` (4, 4) go under keys of their own where these are given, as
    delivered. An `optional` camera is sent where the laboratory has it.
    """

    camera: str
    key: str
    size: tuple[int, int] | None = None
    resize: Resize = "pad"
    turn: Turn = "none"
    optional: bool = False
    depth: str = ""
    intrinsics: str = ""
    pose: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """The instruction: its key ("" is what the wire calls it), and how much of it a model takes in.

    Of `max_tokens`, `reserved_tokens` go to what else shares them, such as a template and a state in words. `text`,
    where given, is sent in place of the instruction of the goal.
    """

    key: str = ""
    text: str = ""
    max_tokens: int | None = None
    reserved_tokens: int = 0
    characters_per_token: float = CHARACTERS_PER_TOKEN

    def too_long(self, instruction: str) -> str:
        """Return a sentence where a model might cut off the end of `instruction`, and "" where it cannot."""
        if self.max_tokens is None:
            return ""
        room = self.max_tokens - self.reserved_tokens
        length = len(self.text or instruction)
        tokens = math.ceil(length / self.characters_per_token)
        if tokens <= room:
            return ""
        return (
            f"The instruction has {length} characters, up to {tokens} tokens at {self.characters_per_token:g} a token, "
            f"and the model keeps {room}; a prompt.text of {int(room * self.characters_per_token)} characters "
            "would work."
        )


@dataclass(frozen=True, slots=True)
class Action:
    """What the arm entries of an action mean.

    scale         rad/s per unit of a joint velocity; m and rad per unit of an end-effector delta
    rate_hz       their actions per second
    resample      "refuse" another rate than ours; "linear" interpolates joint targets at our rate
    limit         largest magnitude of an arm entry in their units, None where our own ranges decide
    out_of_range  "refuse" beyond the limit or the gripper's range, or "clip", counted in the receipt
    """

    key: str = "actions"
    meaning: Meaning = "joint_position"
    scale: tuple[float, ...] = (1.0,)
    rate_hz: float = 20.0
    resample: Resample = "refuse"
    limit: float | None = None
    out_of_range: OutOfRange = "refuse"

    @property
    def width(self) -> int:
        """Entries of one action, the gripper included."""
        return self.spec.size

    @property
    def spec(self) -> ActionSpec:
        """The action profile of ours that these actions are turned into."""
        return PROFILES[OURS[self.meaning]]


@dataclass(frozen=True, slots=True)
class Gripper:
    """Values of the gripper entry that mean open and closed; a binary one is whichever is nearer.

    `starts_closed` says that a chunk may begin with a closed gripper where the hand is open.
    """

    open: float = 0.08
    closed: float = 0.0
    binary: bool = False
    starts_closed: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Who keeps commands that are not carried out yet.

    The client executes the first `execute` actions of an answer, and new evidence drops the rest. A server that keeps a
    buffer of its own answers with old commands after new evidence; `stale` says whether that is acceptable.
    """

    owner: Owner = "client"
    execute: int = 50
    stale: Stale = "refuse"


@dataclass(frozen=True, slots=True)
class Says:
    """Keys of an answer beside its actions; "" is none.

    operation  names the operation that the actions serve, [kind, item, place]: the report track
    look       false where the next observation need not carry frames
    stop       true where the policy declares the task finished
    """

    operation: str = ""
    look: str = ""
    stop: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything declared about a remote policy; `sha256` is of the file it came from.

    state, number         key -> what it is made of, and the type of its numbers
    vocabulary            key under which the words of the goal go, {kinds, items, places}; "" is none
    deadline_s            longest wall time of one answer [s]
    start_m, start_rad    farthest that the first target of a chunk may be from where the arm is
    """

    name: str
    version: str
    sha256: str
    views: tuple[View, ...]
    state: tuple[tuple[str, tuple[str, ...]], ...]
    number: Number
    vocabulary: str
    prompt: Prompt
    action: Action
    gripper: Gripper
    chunk: Chunk
    says: Says
    deadline_s: float
    start_m: float
    start_rad: float

    @property
    def short(self) -> str:
        """Version and the first 12 hex digits of the hash: how the identity of a run names this profile."""
        stale = " server-buffered" if self.chunk.owner == "server" else ""
        return f"profile {self.name} {self.version} {self.sha256[:12]}{stale}"

    def conventions(self) -> dict[str, Any]:
        """Return what two sides of a wire must agree on, as plain values."""
        action, gripper = self.action, self.gripper
        return {
            "meaning": action.meaning,
            "width": action.width,
            "frame": FRAMES[OURS[action.meaning]],
            "scale": list(action.scale),
            "rate_hz": action.rate_hz,
            "gripper_open": gripper.open,
            "gripper_closed": gripper.closed,
            "cameras": sorted(view.key for view in self.views if not view.optional),
            "optional_cameras": sorted(view.key for view in self.views if view.optional),
            "state": {key: list(sources) for key, sources in self.state},
        }
