"""What a hand dips into beakers, and where it stands: the probe of the water-quality meter, and a stirring rod."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...truth.filling import WetSetup
from ...truth.measurement import Pose, Setup
from ...wire.glassware import (
    HOLDER_FLOOR,
    HOLDER_HALF,
    HOLDER_HEIGHT,
    PROBE_COLLAR,
    PROBE_HANDLE,
    PROBE_LENGTH,
    PROBE_MASS,
    PROBE_RADIUS,
    ROD_COLLAR,
    ROD_HANDLE,
    ROD_LENGTH,
    ROD_MASS,
    ROD_RADIUS,
)
from .contact import GRIP, Contact
from .sockets import WALL, grid

if TYPE_CHECKING:
    from ..build import Bench
    from ..wet.port import Port

HELD = Contact(friction=(0.8, 0.005, 0.0005), condim=6, solimp=(0.95, 0.99, 0.001, 0.5, 2.0))
LOOSE = 0.0018
"""Gap between a shaft and the wall of its holder [m]."""
HANDLE_SHARE = 0.4
"""Share of the mass in the handle; the rest is low, so that a tool stands and hangs upright."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The combined pH, conductivity and temperature probe of `meter`; its origin is its tip."""

    name: str = "probe"
    meter: str = "meter"

    def add(self, bench: Bench) -> None:
        """Draw shaft, bulb and handle, and register the tip as that of the meter."""
        probe = bench.item(self.name)
        bench.gripped(self.name, PROBE_HANDLE)
        _tool(bench, probe, PROBE_RADIUS, PROBE_COLLAR, PROBE_HANDLE, PROBE_LENGTH, PROBE_MASS)
        r, top = PROBE_RADIUS, PROBE_LENGTH
        bulb = [(0.2 * r, 0.0), (0.75 * r, 0.0015), (0.95 * r, 0.0045), (0.9 * r, 0.008)]
        bench.lathe(probe, f"{self.name}_bulb", bulb, look=(0.75, 0.86, 0.93, 0.7))
        shaft = [(r, 0.008), (r, 0.030), (0.93 * r, 0.031), (0.93 * r, PROBE_COLLAR)]
        bench.lathe(probe, f"{self.name}_shaft", shaft, look=(0.16, 0.17, 0.20, 1.0))
        h, low = PROBE_HANDLE, PROBE_COLLAR
        grip = [(0.6 * h, low - 0.004), (h, low), (h, top - 0.006), (0.75 * h, top), (0.35 * h, top + 0.004)]
        bench.lathe(probe, f"{self.name}_handle", grip, look=(0.16, 0.42, 0.68, 1.0))
        ring = [(1.03 * h, top - 0.014), (1.03 * h, top - 0.010)]
        bench.lathe(probe, f"{self.name}_ring", ring, look=(0.90, 0.78, 0.20, 1.0))
        bench.tip(self.name, self.meter)

    def port(self, timestep: float, setup: Setup) -> Port:
        """Return electronics of the meter, calibrated as `setup` draws it, for physics steps of `timestep` [s]."""
        from ..wet.port import Port

        if not isinstance(setup, WetSetup):
            return Port(timestep, 0)
        return Port(timestep, setup.seed, setup.noise, setup.temperature)


@dataclass(frozen=True, slots=True)
class Rod:
    """A glass rod to stir with; its origin is its lower end."""

    name: str = "rod"

    def add(self, bench: Bench) -> None:
        """Draw the glass and a silicone grip."""
        rod = bench.item(self.name)
        bench.gripped(self.name, ROD_HANDLE)
        _tool(bench, rod, ROD_RADIUS, ROD_COLLAR, ROD_HANDLE, ROD_LENGTH, ROD_MASS)
        r, h = ROD_RADIUS, ROD_HANDLE
        glass = [(0.4 * r, 0.0), (r, 0.0015), (r, ROD_COLLAR)]
        bench.lathe(rod, f"{self.name}_glass", glass, look=(0.72, 0.86, 0.90, 0.75))
        grip = [(0.8 * h, ROD_COLLAR), (h, ROD_COLLAR + 0.002), (h, ROD_LENGTH - 0.002), (0.8 * h, ROD_LENGTH)]
        bench.lathe(rod, f"{self.name}_grip", grip, look=(0.85, 0.42, 0.16, 1.0))
        bench.tip(self.name)


@dataclass(frozen=True, slots=True)
class Holder:
    """A socket that a tool with a shaft of `radius` [m] stands in; an instance may place it anywhere."""

    name: str
    radius: float
    look: tuple[float, float, float, float] = (0.62, 0.66, 0.70, 1.0)

    def add(self, bench: Bench) -> None:
        """Draw a block with one square hole, and register it as a surface."""
        holder = bench.fixture(self.name)
        bench.surface(self.name, holder)
        half, low = (HOLDER_HALF, HOLDER_HALF), HOLDER_FLOOR
        bench.box(holder, (*half, low / 2), (0, 0, low / 2), look=(0.24, 0.26, 0.29, 1.0), solid=WALL)
        grid(bench, holder, half, (0.0,), (0.0,), self.radius + LOOSE, low, HOLDER_HEIGHT, self.look)


def tool_in_holder(holder: Pose) -> Pose:
    """Return where a tool starts in a holder at `holder`: 0.3 mm above its floor."""
    return Pose(holder.x, holder.y, HOLDER_FLOOR + 0.0003, holder.yaw)


def _tool(bench: Bench, body: Any, shaft: float, collar: float, handle: float, length: float, mass: float) -> None:
    """Add a round shaft with a thicker handle above `collar`, which only collide; capsules and balls are fast."""
    low = shaft + 0.0004
    bench.capsule(body, shaft, low, collar, look=None, mass=(1 - HANDLE_SHARE) * mass, solid=HELD)
    middle = (0.0, 0.0, (collar + length) / 2)
    bench.cylinder(body, handle, length - collar, middle, look=None, mass=HANDLE_SHARE * mass, solid=GRIP)
    ring = 0.6 * shaft
    for k in range(4):
        angle = math.pi * (k + 0.5) / 2
        at = (ring * math.cos(angle), ring * math.sin(angle), 0.4 * shaft)
        bench.ball(body, 0.4 * shaft, at, look=None, solid=HELD)
