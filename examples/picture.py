"""Render what the four fixed cameras and the wrist see at the start of an episode, on one sheet.

python examples/picture.py docs/images/bench.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

from labference.tasks import find_task
from labference.truth.draw import draw
from labference.world.world import World

EPISODE = 5
"""Campaign 0 has some weights on the pan and some on the table here."""


def main(path: Path) -> None:
    contract = find_task("weighing-extended")
    instance, seeds = draw(contract, 0, EPISODE)
    world = World(contract.parts(), render="fast")
    world.prepare(contract.setup(instance, np.random.default_rng(seeds.layout)))
    big = world.frame("front", size=(640, 640)).rgb
    small = [world.frame(camera, size=(320, 320)).rgb for camera in ("display", "wrist")]
    wide = [world.frame(camera, size=(427, 320)).rgb for camera in ("labels", "pan")]
    right = np.vstack([np.hstack([one, other]) for one, other in zip(wide, small, strict=True)])
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.hstack([big, right])).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "bench.png"))
