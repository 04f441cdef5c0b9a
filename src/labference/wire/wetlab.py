"""What a user can look up about the operations of the wet bench: their kinds, and the numbers that they take.

`Goal.parameters` of a wet task holds these settings. Standard library only, and nouns of this room.
"""

from __future__ import annotations

from .observation import Setting

KINDS = (
    "pick",
    "place",
    "pour",
    "stir",
    "tare",
    "weigh",
    "take_probe",
    "measure",
    "rinse_probe",
    "return_probe",
    "stop",
)
"""The eleven kinds of operations; "finish" is another word for the last."""
FINISH = "finish"

SETTINGS = (
    Setting("pour", "amount_g", "g", 0.1, 50.0, 5.0),
    Setting("pour", "kp", "deg/s/g", 0.02, 2.0, 0.16),
    Setting("pour", "kd", "deg/g", 0.0, 3.0, 0.18),
    Setting("pour", "pre_stop", "g", 0.0, 3.0, 0.6),
    Setting("pour", "limit", "deg", 60.0, 100.0, 100.0),
    Setting("stir", "seconds", "s", 1.0, 60.0, 15.0),
    Setting("tare", "seconds", "s", 0.5, 30.0, 4.0),
    Setting("weigh", "seconds", "s", 0.5, 30.0, 4.0),
    Setting("measure", "seconds", "s", 1.0, 300.0, 60.0),
    Setting("rinse_probe", "seconds", "s", 1.0, 30.0, 4.0),
)
"""A pour tilts at kp e - kd dm/dt [deg/s], with e the missing mass and dm/dt the filtered slope of the reading, up to
`limit`, and ends once e <= `pre_stop`. Others go on for `seconds`; `tare` and `weigh` end earlier, with a stable
reading."""
