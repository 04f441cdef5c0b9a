"""Carry out every operation of the wet bench on random layouts; print how often it worked and what it took.

    python benchmarks/wet_skills.py                    60 layouts
    python benchmarks/wet_skills.py --trials 10 --out timing.json

A trial is one bench: a tube is picked, poured from and put back, the beaker is stirred, the probe measures, is rinsed
and goes back. Each operation counts where the one before it worked. Seconds "besides" are those that its parameters do
not ask for: a measurement without its waiting, a pour without the time in which the tube leans. `--out` leaves them,
the counts and the commit that was measured; the fast laboratory reads such a file (world/wet/timing.json).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

from labference.bench.reference import Scene
from labference.bench.wet_hands import KINDS, WetHands
from labference.motion.kinematics import Arm
from labference.score.rate import Rate
from labference.truth.filling import Filling, WetSetup
from labference.truth.measurement import FIRST_SURFACE, ITEM, LEFT, LENGTH, MASS, RIGHT, TURN, Block
from labference.wire import Goal, Move, Observation, Operation, Script, Wait
from labference.wire.glassware import TILT_START
from labference.world.parts.wet_bench import BALANCE, BEAKER, PROBE, RINSE, ROD, wet_layout, wet_parts
from labference.world.world import World

T = TypeVar("T")
TUBES = ("acid", "base", "salt", "water")
STEPS = 25
"""Physics steps per command: 20 Hz."""
GOAL = Goal("", (), (), ())
FILL_G, START_G, RINSE_G = 45.0, 40.0, 70.0
POUR = {"amount_g": 10.0, "kp": 0.35, "kd": 0.52, "pre_stop": 0.3}
MEASURE_S, STIR_S, RINSE_S = 6.0, 4.0, 3.0
STILL = 1.0e-3
"""How far anything that an operation is not about may move [m]."""
OFF_TARGET_G, SPILT_G = 0.5, 1e-4


@dataclass
class Tally:
    done: int = 0
    tried: int = 0
    seconds: list[float] = field(default_factory=list)
    besides: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def summary(self) -> tuple[float, float, float, float]:
        """Return mean simulated seconds, mean and standard deviation of those besides parameters, mean wall seconds."""
        seconds, besides, wall = (np.array(values or [0.0]) for values in (self.seconds, self.besides, self.wall))
        return float(seconds.mean()), float(besides.mean()), float(besides.std()), float(wall.mean())

    def stored(self) -> dict[str, object]:
        _, mean, deviation, _ = self.summary()
        return {"done": self.done, "tried": self.tried, "seconds": round(mean, 3), "deviation": round(deviation, 3)}


class Bench:
    """A world, and hands that work on it; `blocks` are those of the current operation."""

    def __init__(self) -> None:
        self.world = World(wet_parts(TUBES))
        self.blocks: list[Block] = []
        self._count = 0
        scene = Scene(self.world.channels, {}, lambda fixtures: {}, self.world.now, lambda: None)
        self.scene, self.arm = scene, Arm()
        self.hands = WetHands(scene, self.arm, self.world.tare)

    def prepare(self, seed: int, tube: str) -> None:
        rng = np.random.default_rng(seed)
        items, fixtures = wet_layout(TUBES, rng)
        liquids = {tube: Filling(FILL_G), BEAKER: Filling(START_G), RINSE: Filling(RINSE_G)}
        self.world.prepare(WetSetup(items, fixtures, {}, on_cell=(BEAKER,), liquids=liquids, seed=seed))

    def perform(self, operation: Operation, parameters: dict[str, float]) -> Observation:
        self.blocks = []
        return self.run(self.hands.perform(self.observe(), operation, parameters))

    def touched(self, item: str, surface: str = "") -> bool:
        """Return whether `item` touched another item, or `surface`, in the current operation."""
        channels = self.world.channels
        bit = ITEM if not surface else FIRST_SURFACE + channels.surfaces.index(surface)
        column = channels.items.index(item)
        return any((block.touch[:, column] & np.uint16(1 << bit)).any() for block in self.blocks)

    def immersed(self, vessel: str) -> float:
        """Return how long the probe was in `vessel` in the current operation [s]."""
        index = self.world.channels.vessels.index(vessel)
        ticks = sum(block.ticks for block in self.blocks if block.sample[0, 3] == index)
        return ticks * self.world.channels.timestep

    def leaning(self, item: str) -> float:
        """Return how long `item` leaned like a tube that is poured from, in the current operation [s]."""
        column = self.world.channels.items.index(item)
        x, y = (np.concatenate([block.pose[:, column, 4 + axis] for block in self.blocks]) * TURN for axis in (0, 1))
        upright = 1.0 - 2.0 * (x**2 + y**2)
        return float(np.sum(upright < np.cos(np.radians(TILT_START - 1)))) * self.world.channels.timestep

    def positions(self) -> np.ndarray:
        return self.world.now().pose[0, :-1, :3] * LENGTH

    def grams(self, vessel: str) -> float:
        liquid = self.world.now().liquid * MASS
        return float(liquid[-1] if vessel == "spilled" else liquid[self.world.channels.vessels.index(vessel)])

    def standing(self, item: str) -> bool:
        """Return whether `item` stands upright and free of the hand."""
        touch = int(self.world.now().touch[0, self.world.channels.items.index(item)])
        return self.upright(item) > 0.997 and not touch & (1 << LEFT | 1 << RIGHT)

    def upright(self, item: str) -> float:
        return float(self.scene.pose(item)[1][2, 2])

    def observe(self) -> Observation:
        self._count += 1
        return Observation(self._count, GOAL, self.world.sense(readings=True))

    def run(self, script: Script[T]) -> T:
        """Let the hands work, and return what they found out."""
        try:
            act = next(script)
            while True:
                match act:
                    case Move(commands):
                        rows = list(commands)
                    case Wait(seconds):
                        rows = [self.world.command] * max(1, round(seconds / self.world.channels.timestep / STEPS))
                    case _:
                        raise TypeError(f"The hands do not {act!r}.")
                self.blocks += [self.world.step(row, STEPS)[0] for row in rows]
                act = script.send(self.observe())
        except StopIteration as end:
            return end.value


Check = Callable[[Bench, Observation], str]


def held(item: str) -> Check:
    def check(bench: Bench, seen: Observation) -> str:
        if not bench.scene.holds(item):
            return "not held"
        low = float(bench.scene.pose(item)[0][2])
        return "" if bench.upright(item) > 0.995 and low > 0.12 else f"low {low:.3f} m, {bench.upright(item):.4f}"

    return check


def stands(item: str, start: np.ndarray) -> Check:
    def check(bench: Bench, seen: Observation) -> str:
        height = float(bench.scene.pose(item)[0][2] - start[2])
        return "" if bench.standing(item) and abs(height) < 0.003 else f"{height:+.4f} m, {bench.upright(item):.4f}"

    return check


def poured(before: float) -> Check:
    def check(bench: Bench, seen: Observation) -> str:
        off, spilt = bench.grams(BEAKER) - before - POUR["amount_g"], bench.grams("spilled")
        return "" if abs(off) <= OFF_TARGET_G and spilt <= SPILT_G else f"{off:+.3f} g, spilt {spilt:.4f} g"

    return check


def dipped(vessel: str, seconds: float) -> Check:
    def check(bench: Bench, seen: Observation) -> str:
        if bench.touched(PROBE) or bench.touched(PROBE, RINSE):
            return "touched the wall"
        inside = bench.immersed(vessel)
        return "" if inside >= seconds and bench.world.now().sample[0, 3] < 0 else f"{inside:.2f} s inside"

    return check


def stirred(bench: Bench, seen: Observation) -> str:
    return "touched the wall" if bench.touched(ROD) else "" if bench.standing(ROD) else "rod not returned"


def weighed(bench: Bench, seen: Observation) -> str:
    reading = seen.senses.readings[0]
    true = 55.0 + bench.grams(BEAKER)
    right = reading.stable and reading.value is not None and abs(reading.value - true) <= 0.15
    return "" if right else f"{reading.value} g, true {true:.2f} g"


def tared(bench: Bench, seen: Observation) -> str:
    return "" if seen.senses.readings[0].value == 0.0 else f"shows {seen.senses.readings[0].value} g"


def trial(bench: Bench, seed: int, tallies: dict[str, Tally]) -> None:
    """Carry out all operations on one bench; stop where one fails."""
    tube = TUBES[seed % len(TUBES)]
    bench.prepare(seed, tube)
    start = {item: bench.scene.pose(item)[0] for item in bench.world.channels.items}
    before = bench.grams(BEAKER)
    pan = Operation("pour", tube, BEAKER)
    plan: list[tuple[Operation, dict[str, float], Check, str]] = [
        (Operation("weigh", BEAKER, BALANCE), {}, weighed, ""),
        (Operation("tare", BALANCE), {}, tared, ""),
        (Operation("pick", tube), {}, held(tube), tube),
        (pan, POUR, poured(before), tube),
        (Operation("place", tube, "rack"), {}, stands(tube, start[tube]), tube),
        (Operation("stir", ROD, BEAKER), {"seconds": STIR_S}, stirred, ROD),
        (Operation("take_probe", PROBE), {}, held(PROBE), PROBE),
        (Operation("measure", PROBE, BEAKER), {"seconds": MEASURE_S}, dipped(BEAKER, MEASURE_S), PROBE),
        (Operation("rinse_probe", PROBE, RINSE), {"seconds": RINSE_S}, dipped(RINSE, RINSE_S), PROBE),
        (Operation("return_probe", PROBE), {}, stands(PROBE, start[PROBE]), PROBE),
        (Operation("finish"), {}, lambda bench, seen: "", ""),
    ]
    for operation, parameters, check, about in plan:
        tally = tallies[operation.kind]
        where, began, clock = bench.positions(), bench.world.time, time.perf_counter()
        seen = bench.perform(operation, parameters)
        trouble = check(bench, seen) or disturbed(bench, where, about)
        tally.tried += 1
        seconds = bench.world.time - began
        tally.seconds.append(seconds)
        asked = bench.leaning(tube) if operation.kind == "pour" else parameters.get("seconds", 0.0)
        tally.besides.append(seconds - asked)
        tally.wall.append(time.perf_counter() - clock)
        if trouble:
            tally.failures.append(f"layout {seed}: {trouble}")
            return
        tally.done += 1


def disturbed(bench: Bench, before: np.ndarray, about: str) -> str:
    moved = np.linalg.norm(bench.positions() - before, axis=1)
    names = [
        f"{name} moved {1000 * way:.1f} mm"
        for name, way in zip(bench.world.channels.items, moved, strict=True)
        if way > STILL and name != about
    ]
    return ", ".join(names)


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="number of the first layout")
    parser.add_argument("--out", help="JSON file for the counts and times")
    options = parser.parse_args()
    measured = commit()
    bench, tallies = Bench(), {kind: Tally() for kind in KINDS}
    for seed in range(options.first, options.first + options.trials):
        trial(bench, seed, tallies)
    bench.world.close()
    table = Table(title=f"{options.trials} layouts, commit {measured}: mean seconds")
    for heading in ("operation", "worked", "95 %", "simulated", "besides", "SD", "wall"):
        table.add_column(heading, no_wrap=True)
    for kind, tally in tallies.items():
        worked = Rate(tally.done, tally.tried)
        table.add_row(
            kind,
            f"{tally.done} of {tally.tried}",
            "" if (span := worked.interval) is None else f"{span.low:.3f} to {span.high:.3f}",
            *(f"{value:.2f} s" if tally.tried else "" for value in tally.summary()),
        )
    console = Console(width=120)
    console.print(table)
    for kind, tally in tallies.items():
        for failure in tally.failures:
            console.print(f"{kind}: {failure}")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            stored = {kind: tally.stored() for kind, tally in tallies.items()}
            json.dump({"commit": measured, "operations": stored}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
