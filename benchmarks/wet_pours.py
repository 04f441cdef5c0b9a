"""Pour 20 g of water with the arm, in physics, with four settings of the controller; print them beside two sources.

    python benchmarks/wet_pours.py                  30 pours per setting
    python benchmarks/wet_pours.py --pours 100

Settings are those of benchmarks/pouring.py, which pours without an arm and reads a slower, noisier scale. Here the
bench's own balance is read, from the force on its pan: 0.25 s filter, 0.1 g steps, no noise.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from labference.motion.pour import Poured, Pouring, pour
from labference.motion.side import approach_yaw
from labference.truth.filling import Filling, WetSetup
from labference.wire import Operation
from labference.wire.glassware import BEAKER_HEIGHT
from labference.world.parts.wet_bench import wet_layout
from wet_skills import BEAKER, TUBES, Bench, commit

TARGET_G, FILL_G = 20.0, 45.0
WITHIN_G = 0.2
SETTINGS = {
    "fixed, pre 0.0 g": (0.16, 0.18, 0.0),
    "hand-tuned, pre 0.6 g": (0.16, 0.18, 0.6),
    "same gains, pre 0.3 g": (0.16, 0.18, 0.3),
    "fast, pre 0.25 g": (0.35, 0.52, 0.25),
}
"""kp [deg/s/g], kd [deg/g] and pre-stop [g]."""
SOURCES = {
    "fixed, pre 0.0 g": ("0.524 / 0.065 / 21.9", "0.500 / 0.100 / 21.0"),
    "hand-tuned, pre 0.6 g": ("0.134 / 0.072 / 21.3", "0.133 / 0.153 / 20.4"),
}
"""MAE [g] / SD [g] / time [s] of the exploratory model at noise 1.0, and of real pours (labevolver, Table 1, n = 3)."""


def once(bench: Bench, seed: int, gains: tuple[float, float, float], noise: float) -> tuple[float, float, Poured]:
    """Return the error of the mass in the beaker [g], what was spilled [g], and how the pour went."""
    tube = TUBES[seed % len(TUBES)]
    items, fixtures = wet_layout(TUBES, np.random.default_rng(seed))
    liquids = {tube: Filling(FILL_G)}
    bench.world.prepare(WetSetup(items, fixtures, {}, on_cell=(BEAKER,), liquids=liquids, seed=seed, noise=noise))
    bench.perform(Operation("pick", tube), {})
    (x, y, z), _ = bench.scene.pose(BEAKER)
    (base, _), (tcp, _) = bench.scene.pose(tube), bench.scene.tcp()
    at = Pouring(
        (x, y, z + BEAKER_HEIGHT), approach_yaw(x, y), TARGET_G, *gains, grip=float(np.linalg.norm(tcp - base))
    )
    poured = bench.run(pour(bench.arm, bench.observe(), at))
    return bench.grams(BEAKER) - TARGET_G, bench.grams("spilled"), poured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pours", type=int, default=30)
    parser.add_argument("--noise", type=float, default=1.0)
    options = parser.parse_args()
    bench = Bench()
    table = Table(
        title=f"20 g of water, {options.pours} physical pours per row, noise {options.noise}, commit {commit()}: "
        "MAE ± 95 % / SD / time"
    )
    for heading in ("controller", "here", f"within {WITHIN_G} g", "spilled", "model [g, g, s]", "labevolver, n = 3"):
        table.add_column(heading, no_wrap=True)
    for name, gains in SETTINGS.items():
        rows = [once(bench, seed, gains, options.noise) for seed in range(options.pours)]
        errors = np.array([error for error, _, _ in rows])
        half = 1.96 * np.abs(errors).std(ddof=1) / np.sqrt(len(errors))
        seconds = np.mean([poured.seconds for _, _, poured in rows])
        table.add_row(
            name,
            f"{np.abs(errors).mean():.3f} ± {half:.3f} g / {errors.std(ddof=1):.3f} g / {seconds:.1f} s",
            f"{np.mean(np.abs(errors) <= WITHIN_G):.0%}",
            f"{sum(spilt > 1e-4 for _, spilt, _ in rows)} of {len(rows)}",
            *SOURCES.get(name, ("", "")),
        )
    bench.world.close()
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
