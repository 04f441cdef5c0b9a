"""How long the operations of the bench take in the fast laboratory, and how often they fail.

PROVISIONAL: these numbers are placeholders until `benchmarks/wet_skills.py` has measured the simulated arm. Nothing
here is a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass

PROVISIONAL = True
"""Whether the table below still waits for its measurement."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Time that an operation takes without what its parameters say [s], and the share of attempts that fail.

    mean, spread  mean and standard deviation of that time [s]
    fails         probability that the operation ends without its effect
    """

    mean: float
    spread: float
    fails: float = 0.0


TIMINGS = {
    "pick": Timing(7.0, 0.8, 0.01),
    "place": Timing(7.0, 0.8),
    "pour": Timing(9.0, 1.0),
    "stir": Timing(24.0, 2.0),
    "take_probe": Timing(8.0, 0.8, 0.01),
    "measure": Timing(9.0, 0.8),
    "rinse_probe": Timing(9.0, 0.8),
    "return_probe": Timing(8.0, 0.8),
}
"""By kind; to be measured."""
NOTHING_S = 0.25
"""How long an operation takes that cannot be carried out as the bench is [s]; the same as with the simulated arm."""
