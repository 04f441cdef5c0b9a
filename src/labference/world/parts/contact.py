"""How a solid shape touches others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contact:
    """Contact parameters in MuJoCo's terms.

    friction  sliding friction, then torsional and rolling friction [m]
    condim    3 sliding only, 4 and torsional, 6 and rolling friction
    priority  of two shapes in contact, the one with more decides; among equals, the larger numbers count
    solref    time constant [s] and damping ratio, or negative stiffness and damping; solimp as MuJoCo names it
    """

    friction: tuple[float, float, float] = (0.6, 0.003, 0.0001)
    condim: int = 3
    priority: int = 0
    solref: tuple[float, float] = (0.004, 1.0)
    solimp: tuple[float, float, float, float, float] = (0.95, 0.99, 0.0005, 0.5, 2.0)


GRIP = Contact(friction=(1.0, 0.01, 0.0005), condim=4, priority=2, solimp=(0.99, 0.999, 0.0005, 0.5, 2.0))
"""What fingers hold for minutes; with the softness of their pads, a probe sinks by 22 um/s."""
