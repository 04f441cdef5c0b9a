"""Find out whether this machine can simulate and render, and what to install if not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass

BACKENDS = ("egl", "osmesa")
"""Headless OpenGL backends, preferred first."""
ADVICE = {
    "egl": "install libegl1 and libgl1-mesa-dri (apt-get install libegl1 libgl1-mesa-dri)",
    "osmesa": "install libosmesa6 (apt-get install libosmesa6)",
}
TIMEOUT_S = 120
"""Longest time a backend may take to render one frame of the laboratory [s]; a cold start decimates meshes."""
LEAST_SPREAD = 32
"""A frame whose brightest and darkest values differ by less shows nothing."""
_PROBE = """
from labference.tasks import find_task
from labference.truth.draw import draw, lay_out
from labference.world.world import World
contract = find_task("weighing-basic")
instance, seeds = draw(contract, 0, 0)
world = World(contract.parts())
world.prepare(lay_out(contract, instance, seeds))
rgb = world.frame("front").rgb
print("spread=%d;" % (int(rgb.max()) - int(rgb.min())))
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked, in a sentence."""

    good: bool
    sentence: str


def diagnose() -> list[Finding]:
    """Check packages, the robot model and rendering; the last finding is the overall one."""
    robot, rendering = _robot(), [_renders(backend) for backend in _candidates()]
    return [robot, *rendering, _chemistry(), _overall(robot, rendering)]


def _overall(robot: Finding, rendering: list[Finding]) -> Finding:
    if not robot.good:
        return Finding(False, "Episodes cannot run: the robot model is missing.")
    backend = next((name for name, found in zip(_candidates(), rendering, strict=True) if found.good), None)
    if backend is None:
        return Finding(False, f"Cameras cannot render: {' or '.join(ADVICE.values())}.")
    if not rendering[0].good:
        return Finding(True, f"Simulation and cameras work with MUJOCO_GL={backend}; set it.")
    return Finding(True, "Simulation and cameras work.")


def _chemistry() -> Finding:
    from labference.world.wet.chemistry import missing

    if install := missing():
        return Finding(False, f"The tasks ph and ph-ec need the package phreeqc, the others do not: {install}.")
    return Finding(True, "The chemistry engine of ph and ph-ec is installed.")


def _candidates() -> tuple[str, ...]:
    chosen = os.environ.get("MUJOCO_GL")
    return (chosen,) if chosen else BACKENDS


def _robot() -> Finding:
    from labference.wire.panda import panda_xml

    try:
        path = panda_xml()
    except FileNotFoundError as error:
        return Finding(False, str(error))
    return Finding(True, f"The Panda model is at {path}.")


def _renders(backend: str) -> Finding:
    """Render one frame of the laboratory in a process of its own, because a backend is chosen once per process."""
    environment = {**os.environ, "MUJOCO_GL": backend}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE], env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return Finding(False, f"{backend} rendered nothing within {TIMEOUT_S} s.")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Finding(False, f"{backend} does not render ({last}); {ADVICE.get(backend, 'see the MuJoCo manual')}.")
    spread = re.search(r"spread=(\d+);", done.stdout)
    if spread is None or int(spread[1]) < LEAST_SPREAD:
        return Finding(False, f"{backend} renders a frame of one colour; {ADVICE.get(backend, 'try another backend')}.")
    return Finding(True, f"{backend} renders the laboratory.")
