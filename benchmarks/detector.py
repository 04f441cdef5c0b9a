"""Let the Observer's RGB-D detector look at random wet benches; print what it found, named and located, against truth.

    python benchmarks/detector.py                   60 layouts
    python benchmarks/detector.py --layouts 6 --first 100
    python benchmarks/detector.py --layouts 1 --picture seen.png    what was segmented in the first layout, and where

A layout is an instance of `ph-ec` as the task draws it: four tubes in any order, probe, rod, beaker, and the fixtures.
It is looked at once as rendered and once with the noise of a depth camera: standard deviation 3.1 mm at 1 m, growing
with the square of the distance, independent from pixel to pixel; 2 % of all pixels, and half of those at edges, have no
return. In every third layout one loose thing is then taken away: finding it all the same is a false positive. Ctrl-C
prints what there is so far.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from rich.console import Console
from rich.table import Table

from labevolver.observe.depth import DepthDetector
from labevolver.observe.detector import Seen, kind_of
from labference.tasks import find_task
from labference.truth.draw import draw, lay_out
from labference.truth.measurement import LENGTH, Pose, Rearrangement
from labference.wire import Frame
from labference.wire.observation import DEPTH_UNIT
from labference.world.world import World

TASK = "ph-ec"
LOOSE = ("acid", "base", "salt", "water", "probe", "rod", "beaker")
NOISE, NO_RETURN, AT_EDGES, JUMP, FARTHEST = 0.0031, 0.02, 0.5, 0.02, 6.5
"""Standard deviation at 1 m [m]; shares of pixels without return, everywhere and where depth jumps by more than [m];
range of the camera [m]."""
AWAY = Pose(-3.0, 0.0, -2.0)
"""Where no camera looks."""
COLOURS = ((80, 175, 76), (54, 67, 244), (7, 193, 255), (243, 150, 33), (176, 39, 156), (136, 150, 0), (99, 30, 233))
"""Blue, green and red of what is drawn into a picture."""
RIGHT = 0.020
"""Distance from truth up to which something counts as found [m]."""


@dataclass
class Tally:
    there: int = 0
    found: int = 0
    wrong: int = 0
    aside: list[float] = field(default_factory=list)
    height: list[float] = field(default_factory=list)
    away: int = 0
    invented: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="index of the first instance")
    parser.add_argument("--picture", default="", help="file for a picture of the first layout")
    options = parser.parse_args()
    tallies: dict[str, dict[str, Tally]] = {name: defaultdict(Tally) for name in ("as rendered", "with noise")}
    seconds: list[float] = []
    done = 0
    try:
        for index in range(options.first, options.first + options.layouts):
            look(index, tallies, seconds, "" if done else options.picture)
            done += 1
    except KeyboardInterrupt:
        pass
    console = Console(width=120)
    for name, by_kind in tallies.items():
        console.print(table(f"{done} layouts, {name}", by_kind))
    console.print(f"CPU per look at three cameras: median {np.median(seconds):.2f} s, n = {len(seconds)}")


def look(index: int, tallies: dict[str, dict[str, Tally]], seconds: list[float], picture: str) -> None:
    """Count one layout, and draw what is seen of it as rendered where a file for a picture is named."""
    contract, world, detector = find_task(TASK), laboratory(), DepthDetector()
    instance, seeds = draw(contract, 0, index)
    setup = lay_out(contract, instance, seeds)
    world.prepare(setup)
    rng = np.random.default_rng(index)
    goal = contract.goal(instance)
    wanted = tuple(dict.fromkeys((*goal.items, *goal.places)))
    truth = {name: np.array((pose.x, pose.y, pose.z)) for name, pose in setup.fixtures.items()}
    now = world.now().pose[-1]
    truth |= {name: now[world.channels.items.index(name), :3] * LENGTH for name in LOOSE}
    frames = world.sense(detector.cameras, depth=True).frames
    for name, by_kind in tallies.items():
        given = frames if name == "as rendered" else [noisy(frame, rng) for frame in frames]
        started = time.process_time()
        seen = detector.detect(given, wanted)
        seconds.append(time.process_time() - started)
        count(seen, wanted, truth, by_kind)
        if picture and given is frames:
            cv2.imwrite(picture, drawn(seen, frames))
    if index % 3 == 0:
        gone = LOOSE[(index // 3) % len(LOOSE)]
        world.rearrange(Rearrangement({}, (), {gone: AWAY}))
        frames = world.sense(detector.cameras, depth=True).frames
        seen = detector.detect([noisy(frame, rng) for frame in frames], wanted)
        tally = tallies["with noise"][kind_of(gone)]
        tally.away += 1
        tally.invented += seen.named(gone) is not None


_worlds: list[World] = []


def laboratory() -> World:
    """Return the bench, made once."""
    if not _worlds:
        _worlds.append(World(find_task(TASK).parts()))
    return _worlds[0]


def count(seen: Seen, wanted: Sequence[str], truth: dict[str, np.ndarray], by_kind: dict[str, Tally]) -> None:
    """Compare what was seen with the truth."""
    for name in wanted:
        tally, found = by_kind[kind_of(name)], seen.named(name)
        tally.there += 1
        if found is None or found.pose is None:
            continue
        x, y, z = np.array(found.pose.position) - truth[name]
        if np.hypot(x, y) > RIGHT or not found.pose.upright:
            tally.wrong += 1
            continue
        tally.found += 1
        tally.aside.append(float(np.hypot(x, y)))
        tally.height.append(abs(float(z)))


def noisy(frame: Frame, rng: np.random.Generator) -> Frame:
    """Return a frame as a depth camera would deliver it."""
    assert frame.depth is not None
    depth = (frame.depth * DEPTH_UNIT).astype(np.float32)
    around = np.ones((3, 3), np.uint8)
    edge = cv2.dilate(depth, around) - cv2.erode(depth, around) > JUMP
    lost = (depth == 0) | (rng.random(depth.shape) < NO_RETURN) | (edge & (rng.random(depth.shape) < AT_EDGES))
    shaken = depth + NOISE * depth**2 * rng.standard_normal(depth.shape)
    counts = np.rint(np.clip(shaken, 0.0, FARTHEST) / DEPTH_UNIT).astype(np.uint16)
    return replace(frame, depth=np.where(lost, np.uint16(0), counts))


def drawn(seen: Seen, frames: Sequence[Frame]) -> np.ndarray:
    """Return the images side by side, with what was segmented tinted, boxed and named."""
    panels, tall = [], max(frame.rgb.shape[0] for frame in frames)
    for frame in frames:
        panel = cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2BGR)
        for number, each in enumerate(seen.detections):
            colour = COLOURS[number % len(COLOURS)]
            if each.box.camera != frame.camera or each.mask is None:
                continue
            panel[each.mask] = (0.45 * panel[each.mask] + 0.55 * np.array(colour)).astype(np.uint8)
            cv2.rectangle(panel, (each.box.left, each.box.top), (each.box.right, each.box.bottom), colour, 1)
        scale = tall / panel.shape[0]
        panel = cv2.resize(panel, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
        for each in (each for each in seen.detections if each.box.camera == frame.camera):
            down = each.box.bottom * scale + 14 if each.name not in LOOSE else each.box.top * scale - 5
            at = (max(4, round(each.box.left * scale) - 2), round(min(tall - 6, max(14, down))))
            for thickness, ink in ((3, (20, 20, 20)), (1, (255, 255, 255))):
                cv2.putText(panel, each.name, at, cv2.FONT_HERSHEY_SIMPLEX, 0.42, ink, thickness, cv2.LINE_AA)
        panels.append(panel)
    return np.hstack(panels)


def table(title: str, by_kind: dict[str, Tally]) -> Table:
    """Return a table with a row per class; errors in mm."""
    made = Table(title=title)
    for heading in ("class", "found and named", "wrong", "xy median", "xy p95", "z median", "z p95", "invented"):
        made.add_column(heading, no_wrap=True)
    for kind, tally in by_kind.items():
        spans = [
            f"{1000 * value:.1f} mm"
            for errors in (tally.aside, tally.height)
            for value in (np.median(errors or [np.nan]), np.percentile(errors or [np.nan], 95))
        ]
        invented = f"{tally.invented} of {tally.away}" if tally.away else ""
        made.add_row(kind, f"{tally.found} of {tally.there}", str(tally.wrong), *spans, invented)
    return made


if __name__ == "__main__":
    main()
