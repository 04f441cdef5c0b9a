"""How long the operations of the bench take in the fast laboratory, and how often they fail: as the simulated arm does.

The numbers are in timing.json, as `python benchmarks/wet_skills.py --out src/labference/world/wet/timing.json` measures
them on random layouts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

NOTHING_S = 0.25
"""How long an operation takes that cannot be carried out as the bench is [s]; the same as with the simulated arm."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Time that an operation takes without what its parameters say [s], and the share of attempts that fail.

    mean, spread  mean and standard deviation of that time [s]
    fails         share of the measured trials in which the operation ended without its effect
    """

    mean: float
    spread: float
    fails: float = 0.0


def _read() -> tuple[str, dict[str, Timing]]:
    stored = json.loads(files(__package__).joinpath("timing.json").read_text(encoding="utf-8"))
    return stored["commit"], {
        kind: Timing(entry["seconds"], entry["deviation"], 1.0 - entry["done"] / entry["tried"])
        for kind, entry in stored["operations"].items()
    }


MEASURED_AT, TIMINGS = _read()
"""The commit whose arm was measured, and what each kind of operation took."""
