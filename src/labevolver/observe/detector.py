"""How objects are found in frames, in the four stages of the paper: identify, localise, segment, estimate the pose.

A detector is a protocol, so that depth segmentation or a vision-language model can take part. The fast laboratory
delivers no frames: without a detector, everything is tracked from names and feedback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from labference.wire import Frame

TUBE, PROBE, ROD, BEAKER = "tube", "probe", "rod", "beaker"
RACK, HOLDER, RINSE, BALANCE = "rack", "holder", "rinse", "balance"
KINDS = (TUBE, PROBE, ROD, BEAKER, RACK, HOLDER, RINSE, BALANCE)
"""Classes of the wet bench; what a goal calls otherwise is a tube."""
HOLDERS = {PROBE: "probe_holder", ROD: "rod_holder"}
"""Which holder belongs to which tool."""
LEAN_COSINE = 0.985
"""Cosine of the lean up to which something stands: 10 degrees."""


@dataclass(frozen=True, slots=True)
class Box:
    """Where something is in the image of a camera [pixels]: the first and last column and row that it touches."""

    camera: str
    left: int
    top: int
    right: int
    bottom: int

    def __post_init__(self) -> None:
        if self.left > self.right or self.top > self.bottom or min(self.left, self.top) < 0:
            raise ValueError(f"A box goes from left to right and from top to bottom, from 0 on; see {self}.")


@dataclass(frozen=True, slots=True)
class Pose:
    """Where something is, robot base frame: its origin, the lower end of what stands, and its axis (unit vector).

    `ends` is False for what lies where nothing tells its ends apart: position and axis may be those of the other end.
    """

    position: tuple[float, float, float]
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    ends: bool = True

    @property
    def upright(self) -> bool:
        """Return whether it stands, leaning by 10 degrees at most."""
        return self.axis[2] >= LEAN_COSINE


@dataclass(frozen=True, slots=True)
class Detection:
    """A thing that was found.

    name        of the goal, `kind` its class, as in `Thing`
    box         where it was localised
    mask        (h, w) the pixels that were segmented in that camera's image; None where none could be
    pose        None where it was identified and could not be located
    score       0..1: how much of what is seen agrees with a thing of this kind at this pose
    named_by    "class" where there is one of the kind, "label", "elimination", "its tool", or "model"
    within      the place of the goal that it is in or on; "" where it is in none
    """

    name: str
    kind: str
    box: Box
    mask: np.ndarray | None = field(compare=False, repr=False)
    pose: Pose | None
    score: float
    named_by: str = "class"
    within: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a detector makes of one observation; `remarks` say what it could not do, a sentence each."""

    detections: tuple[Detection, ...] = ()
    remarks: tuple[str, ...] = ()

    def named(self, name: str) -> Detection | None:
        """Return what was found under a name."""
        return next((each for each in self.detections if each.name == name), None)


def kind_of(name: str) -> str:
    """Return the class of a name of a goal."""
    if name in HOLDERS.values():
        return HOLDER
    return name if name in KINDS and name not in (TUBE, HOLDER) else TUBE


class Detector(Protocol):
    """Whoever finds objects in frames."""

    @property
    def name(self) -> str:
        """Return what becomes the source of a field."""
        ...

    @property
    def cameras(self) -> tuple[str, ...]:
        """Return the cameras that it needs, with depth; none where it does not look."""
        ...

    def detect(self, frames: Sequence[Frame], wanted: Sequence[str]) -> Seen:
        """Return those of the `wanted` names that are seen; raises `ValueError` for frames that it cannot use."""
        ...


class NoDetector:
    """Sees nothing: for laboratories without cameras."""

    name = "none"
    cameras: tuple[str, ...] = ()

    def detect(self, frames: Sequence[Frame], wanted: Sequence[str]) -> Seen:
        """Return nothing."""
        del frames, wanted
        return Seen()
