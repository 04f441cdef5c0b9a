"""Who ran what: the fields that must agree before two runs are added or compared (paper section 7.4)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

import numpy as np

from labference.wire import Capabilities

POLICY_STREAM, COLOUR_STREAM, MOTION_STREAM = 1, 2, 3
"""Keep streams apart that are drawn from the same number."""

EXPERT = "expert"
"""The privileged reference executor."""
PHYSICS, FAST = "physics", "fast"
"""Which laboratory: with the simulated arm, or without."""
OWN_HANDS, BENCH_HANDS = "own", "bench"
"""Whose hands: the tested system commands the robot, or lets the bench carry out its operations."""
IN_PROCESS, PROCESS = "in-process", "process"
"""How a policy on this machine is reached: as a Python object, or in a child process."""

SHARED = (
    "task",
    "version",
    "contract",
    "assets",
    "policy",
    "transport",
    "sensors",
    "action",
    "reports",
    "history",
    "intervention",
    "budget",
    "physics",
    "fidelity",
    "hands",
    "faults",
    "rendering",
    "evaluation",
    "instances",
    "clock",
    "campaign",
)
"""Identity fields that every episode of a campaign agrees on."""


class PlanError(Exception):
    """A plan cannot be run, or its folder holds another experiment; the sentence is for the user."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """One seed per stream of chance, drawn separately so that no stream shifts another.

    `motion` decides how the environment moves things during an episode.
    """

    task_state: int
    layout: int
    policy: int
    colour: int = 0
    motion: int = 0

    @classmethod
    def of(cls, campaign: int, index: int, policy: int) -> Seeds:
        """Derive the seeds of episode `index`.

        The policy stream has a root of its own: what a tested system is handed says nothing of the campaign seed.
        """
        task_state, layout = np.random.SeedSequence([campaign, index]).generate_state(2, np.uint32)
        own = _stream(policy, index, POLICY_STREAM)
        colour, motion = (_stream(campaign, index, stream) for stream in (COLOUR_STREAM, MOTION_STREAM))
        return cls(int(task_state), int(layout), own, colour, motion)


def _stream(root: int, index: int, stream: int) -> int:
    return int(np.random.SeedSequence([root, index], spawn_key=(stream,)).generate_state(1, np.uint32)[0])


@dataclass(frozen=True, slots=True)
class RunId:
    """The registered condition of an episode; everything but `index`, `instance`, `layout` and `seeds` is shared by a
    campaign.
    """

    task: str
    version: str
    contract: str
    assets: str
    policy: str
    transport: str
    sensors: str
    action: str
    reports: bool
    history: str
    intervention: str
    budget: int
    physics: str
    fidelity: str
    hands: str
    faults: str
    rendering: str
    evaluation: str
    instances: str
    clock: str
    campaign: int
    index: int
    instance: str
    layout: str
    seeds: Seeds

    def key(self) -> str:
        """Return the run key: equal keys are the same experiment and may be resumed, not repeated."""
        return digest(asdict(self))


def transport_of(policy: str, asked: str = IN_PROCESS) -> str:
    """Return how `policy` is reached: a server by its scheme, the executor in process, any other as `asked`."""
    scheme, remote, _ = policy.partition("://")
    if remote:
        return "http" if scheme == "https" else scheme
    return IN_PROCESS if policy == EXPERT else asked


def system_name(policy: str) -> str:
    """Return the name of a policy without where it is served: a server may come back on another port."""
    return transport_of(policy) if "://" in policy else policy


def policy_identity(policy: str, capabilities: Capabilities) -> str:
    """Return which system is tested, as an identity states it: never the address of a server."""
    return f"{system_name(policy)}: {capabilities.name} {capabilities.version}"


def layout_digest(poses: object, fixtures: object) -> str:
    """Return the hash of a realised layout: item poses on their grid at the handoff, and where instruments stand."""
    return digest({"pose": poses, "fixtures": fixtures})


def observation_condition(capabilities: Capabilities) -> str:
    """Return which sensors a system is given, in words."""
    frames = "+".join(capabilities.cameras) or "no cameras"
    return f"{frames}{' rgb-d' if capabilities.depth else ' rgb'}{' +readings' if capabilities.readings else ''}"


def digest(value: object) -> str:
    """Return the sha256 of the canonical JSON of `value`."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
