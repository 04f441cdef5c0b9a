"""Write one attempt as it happens, append and flush: a kill loses at most the last second of measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from labference.truth.events import Event
from labference.truth.measurement import Block
from labference.wire import Observation, Operation

from . import folder, strict
from .measurements import MeasurementWriter

if TYPE_CHECKING:
    from .video import VideoWriter


@dataclass(frozen=True, slots=True)
class ActRecord:
    """One answer of the tested system: what it asked for and what was done with it.

    `tick` is when the answer was admitted, `observation` the delivery it answers. `requested` (n, size) are commands of
    the profile, `applied` (m, 8) the joint targets and gripper openings that reached the robot. `dropped` counts the
    requested commands that new evidence discarded, `clipped` those changed to fit the range, `seconds` is the wall
    time the answer took, `charge` the simulated time that passed for it; a `late` answer came after the response
    deadline, or after new evidence, and nothing of it was carried out.
    """

    act: str
    tick: int
    observation: int
    operation: Operation | None
    requested: np.ndarray
    applied: np.ndarray
    dropped: int
    clipped: int
    seconds: float
    content: object = None
    charge: float = 0.0
    late: bool = False


class Recorder:
    """Own the files of one attempt folder."""

    def __init__(self, path: Path, run: dict[str, Any], *, video_rate_hz: float = 10.0) -> None:
        path.mkdir(parents=True)
        self.path = path
        self._video_rate_hz = video_rate_hz
        strict.write_atomically(path / folder.RUN, run, durable=False)
        self._events = _Lines(path / folder.EVENTS)
        self._observations = _Lines(path / folder.OBSERVATIONS)
        self._actions = _Lines(path / folder.ACTIONS)
        self._online = _Lines(path / folder.ONLINE)
        self._interfaces: _Lines | None = None
        self._requests: _Lines | None = None
        self._measurements = MeasurementWriter(path / folder.MEASUREMENTS)
        self._videos: dict[str, VideoWriter] = {}

    def block(self, block: Block) -> None:
        """Record what was measured."""
        self._measurements.write(block)

    def events(self, events: Iterable[Event]) -> None:
        """Record what was concluded."""
        self._events.write(*map(strict.named, events))

    def observation(self, observation: Observation, tick: int, evidence: int, received: str) -> None:
        """Record what was delivered: the receipt, not the pixels; `received` is the digest of the message."""
        senses, robot = observation.senses, observation.senses.robot
        frames = [
            {
                "camera": frame.camera,
                "acquired": frame.acquired,
                "delivered": frame.delivered,
                "shape": list(frame.rgb.shape),
                "depth": frame.depth is not None,
            }
            for frame in senses.frames
        ]
        self._observations.write(
            strict.encoded(
                {
                    "observation": observation.id,
                    "tick": tick,
                    "time": senses.time,
                    "evidence": evidence,
                    "sha256": received,
                    "robot": {
                        "joints": robot.joints.tolist(),
                        "velocities": robot.velocities.tolist(),
                        "opening": robot.opening,
                        "tcp": robot.tcp.tolist(),
                        "command": robot.command.tolist(),
                    },
                    "readings": strict.plain(senses.readings),
                    "frames": frames,
                }
            )
        )

    def act(self, record: ActRecord) -> None:
        """Record an answer once its commands are applied or dropped."""
        self._actions.write(
            strict.encoded(
                {
                    "act": record.act,
                    "tick": record.tick,
                    "observation": record.observation,
                    "operation": strict.plain(record.operation),
                    "requested": record.requested.tolist(),
                    "applied": record.applied.tolist(),
                    "dropped": record.dropped,
                    "clipped": record.clipped,
                    "seconds": record.seconds,
                    "content": strict.plain(record.content),
                    "charge": record.charge,
                    "late": record.late,
                }
            )
        )

    def adopt(self, prefix: Path) -> None:
        """Begin with the lines that the records in `prefix` hold: this attempt continues them."""
        for name, lines in (
            (folder.EVENTS, self._events),
            (folder.OBSERVATIONS, self._observations),
            (folder.ACTIONS, self._actions),
            (folder.ONLINE, self._online),
        ):
            for line in (prefix / name).read_text(encoding="utf-8").splitlines():
                lines.write(line)

    def interface(self, receipt: object) -> None:
        """Record what was said at an interface, and what was given; the file exists only where something was."""
        if self._interfaces is None:
            self._interfaces = _Lines(self.path / folder.INTERFACES)
        self._interfaces.write(strict.line(receipt))

    def request(self, receipt: object) -> None:
        """Record how an observation reached a remote system; the file exists only where there is one."""
        if self._requests is None:
            self._requests = _Lines(self.path / folder.REQUESTS)
        self._requests.write(strict.line(receipt))

    def online(self, snapshot: object) -> None:
        """Record a live snapshot of the scores."""
        self._online.write(strict.line(snapshot))

    def video(self, camera: str, rgb: np.ndarray) -> None:
        """Append a frame to the video of `camera`."""
        if camera not in self._videos:
            from .video import VideoWriter  # it loads encoders

            self._videos[camera] = VideoWriter(self.path / f"{camera}.mp4", rgb.shape[:2], self._video_rate_hz)
        self._videos[camera].write(rgb)

    def commit(self, scores: dict[str, Any]) -> None:
        """Make the attempt final: everything else reaches the disk first, then `scores.json` appears whole."""
        self._measurements.flush()
        names = [folder.RUN, folder.MEASUREMENTS, *(lines.name for lines in self._files())]
        strict.sync([self.path / name for name in names])
        strict.write_atomically(self.path / folder.SCORES, scores)

    def close(self) -> dict[str, str]:
        """Close every file; return the shutdown status of each video encoder."""
        statuses = {camera: video.close() for camera, video in self._videos.items()}
        self._measurements.close()
        for lines in self._files():
            lines.close()
        return statuses

    def _files(self) -> list[_Lines]:
        some = (self._interfaces, self._requests)
        return [self._events, self._observations, self._actions, self._online, *filter(None, some)]


class _Lines:
    """Append whole lines and flush them."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._file: TextIO = path.open("a", encoding="utf-8")

    def write(self, *lines: str) -> None:
        self._file.write("".join(f"{text}\n" for text in lines))
        self._file.flush()

    def close(self) -> None:
        self._file.close()
