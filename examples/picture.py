"""Render a picture of each task family: the bench at the start, or a moment of an episode by the expert.

python examples/picture.py docs/images            all of them
python examples/picture.py docs/images recall     one of them
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.tasks import find_task
from labference.truth.draw import draw, lay_out
from labference.truth.measurement import POLICY, Block, Readout
from labference.world.parts.table import Table, View
from labference.world.world import Checkpoint, World

EPISODE = 5
"""Campaign 0 has some weights on the pan and some on the table here."""


@dataclass(frozen=True)
class Moment:
    """What to show: the `nth` event `event` of an episode, `later` seconds after it, from `view`."""

    task: str
    episode: int
    event: str
    nth: int
    later: float
    view: View


MOMENTS = {
    "centrifuge": Moment(
        "centrifuge-extended",
        1,
        "Entered",
        -1,
        0.4,
        View("portrait", (1.0, 0.2, 0.5), (0.47, 0.08, 0.115), 34.0, (960, 640)),
    ),
    "recall": Moment(
        "recall-extended",
        0,
        "Lifted",
        -1,
        0.5,
        View("portrait", (0.98, 0.25, 0.50), (0.48, -0.01, 0.075), 36.0, (960, 640)),
    ),
}
"""The second tube on its way into a slot; the sample on its way out of a rack among others."""


class Remembering(World):
    """A world that keeps a checkpoint per control period, so that any moment can be looked at afterwards."""

    past: list[Checkpoint]

    def step(self, command: np.ndarray, steps: int, control: int = POLICY) -> tuple[Block, tuple[Readout, ...]]:
        measured = super().step(command, steps, control)
        self.past.append(self.save())
        return measured


def moment(wanted: Moment) -> Image.Image:
    """Let the expert run an episode and return what the bench looked like at the wanted moment."""
    laboratory = Laboratory(wanted.task)
    parts = tuple(
        replace(part, views=(*part.views, wanted.view)) if isinstance(part, Table) else part
        for part in laboratory.contract.parts()
    )
    world = laboratory.world = Remembering(parts, render="fast")
    world.past = []
    with tempfile.TemporaryDirectory() as folder:
        result = laboratory.attempt(Plan(wanted.task, "expert", 1), wanted.episode, Path(folder))
        events = [json.loads(line) for line in (result.path / "events.jsonl").read_text().splitlines()]
    ticks = [event["tick"] for event in events if event["event"] == wanted.event]
    tick = ticks[wanted.nth] + wanted.later / world.channels.timestep
    world.load(next(checkpoint for checkpoint in world.past if checkpoint.tick >= tick))
    return Image.fromarray(world.frame(wanted.view.name).rgb)


def bench() -> Image.Image:
    """Return what the four fixed cameras and the wrist see at the start of a weighing episode, on one sheet."""
    contract = find_task("weighing-extended")
    instance, seeds = draw(contract, 0, EPISODE)
    world = World(contract.parts(), render="fast")
    world.prepare(lay_out(contract, instance, seeds))
    big = world.frame("front", size=(640, 640)).rgb
    small = [world.frame(camera, size=(320, 320)).rgb for camera in ("display", "wrist")]
    wide = [world.frame(camera, size=(427, 320)).rgb for camera in ("labels", "pan")]
    right = np.vstack([np.hstack([one, other]) for one, other in zip(wide, small, strict=True)])
    return Image.fromarray(np.hstack([big, right]))


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or ["bench", *MOMENTS]:
        image = bench() if name == "bench" else moment(MOMENTS[name])
        image.save(folder / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."), sys.argv[2:])
