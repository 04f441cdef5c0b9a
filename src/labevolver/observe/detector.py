"""How objects are found in frames: a protocol, so that depth segmentation or a vision-language model can take part.

The fast laboratory delivers no frames. `NoDetector` says so, and everything is then tracked from names and feedback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from labference.wire import Frame


@dataclass(frozen=True, slots=True)
class Detection:
    """An object that was identified, localised and segmented: `position` of its lower end in the robot base frame [m],
    `error` the standard deviation of it [m] as far as the detector knows, attributes such as a colour or a label.
    """

    name: str
    kind: str
    position: tuple[float, float, float]
    error: float
    attributes: tuple[tuple[str, str], ...] = ()


class Detector(Protocol):
    """Whoever finds objects in frames."""

    @property
    def name(self) -> str:
        """Return what becomes the source of a field."""
        ...

    @property
    def cameras(self) -> tuple[str, ...]:
        """Return the cameras that it needs."""
        ...

    def detect(self, frames: Sequence[Frame], wanted: Sequence[str]) -> tuple[Detection, ...]:
        """Return those of the `wanted` objects that are seen."""
        ...


class NoDetector:
    """Sees nothing: for laboratories without cameras."""

    name = "none"
    cameras: tuple[str, ...] = ()

    def detect(self, frames: Sequence[Frame], wanted: Sequence[str]) -> tuple[Detection, ...]:
        """Return nothing."""
        del frames, wanted
        return ()
