"""What a user can look up about the operations of the wet bench: their kinds, what they are for, and their numbers.

`Goal.parameters` of a wet task holds these settings. Standard library only, and nouns of this room.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Use:
    """How an operation is named, and what the bench does; `item` is `TUBE` where it is any tube of the task."""

    item: str
    place: str
    does: str


TUBE = "TUBE"
"""Stands for any tube of a task in a `Use`."""
USES = {
    "pick": Use(TUBE, "rack", "takes a tube out of the rack"),
    "place": Use(TUBE, "rack", "puts it back into the rack"),
    "pour": Use(TUBE, "beaker", "tilts the held tube over the beaker until the balance shows the mass, and back"),
    "stir": Use("rod", "beaker", "takes the rod, stirs, puts it back"),
    "tare": Use("beaker", "balance", "waits for a stable reading and makes it 0"),
    "weigh": Use("beaker", "balance", "waits for a stable reading"),
    "take_probe": Use("probe", "probe_holder", "takes the probe of the meter"),
    "measure": Use("probe", "beaker", "dips the held probe for so long"),
    "rinse_probe": Use("probe", "rinse", "moves the held probe in the rinse beaker"),
    "return_probe": Use("probe", "probe_holder", "puts the probe back"),
    "stop": Use("", "", "declares the task finished; 'finish' is another word for it"),
}
"""Item and place that go with each kind, in these words."""
BROKEN = {
    "acid_below_range": ("measure", "acid is added although the last reading that counts is below the wanted pH"),
    "base_above_range": ("measure", "base is added although it is above"),
    "unrinsed_probe": ("measure", "the probe goes into a liquid that has changed, and was not rinsed"),
    "overfilled": ("measure", "something is added to a beaker that shows 105 g"),
    "spilt": ("pour", "more than 0.1 g lands beside the vessels"),
    "poured_into_tube": ("pour", "something is poured into a tube"),
    "item_off_bench": ("pour", "something falls off the bench"),
}
"""Rules that no later operation mends: name, the kind of operation without which a task has no such rule, meaning."""
