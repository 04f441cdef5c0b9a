"""The wet bench as a whole: which parts stand on it, and where, drawn from a layout's random stream."""

from __future__ import annotations

import math

import numpy as np

from ...truth.measurement import Pose
from ...wire.glassware import APPROACH_TURN, PROBE_RADIUS, RACK_PLACES, ROD_RADIUS
from ...wire.labware import PAN_HEIGHT
from . import Part
from .balance import Balance
from .beaker import Beaker, RinseStation
from .meter_console import MeterConsole
from .reagent_tube import ReagentTube, TubeRack, tube_in_rack
from .table import Table, View
from .tools import Holder, Probe, Rod, tool_in_holder

BALANCE, PAN, BEAKER, RINSE, RACK = "balance", "pan", "beaker", "rinse", "rack"
PROBE, PROBE_HOLDER, ROD, ROD_HOLDER, METER = "probe", "probe_holder", "rod", "rod_holder", "meter"
CONSOLE = "meter_console"
WET_VIEWS = (
    View("front", (1.30, 0.03, 0.80), (0.40, 0.05, 0.10), 46.0, (640, 480)),
    View("labels", (0.95, -0.12, 0.34), (0.42, -0.30, 0.10), 34.0, (640, 480)),
)
"""The whole bench from in front and above, and the rack from near by."""
PLACES = {
    BALANCE: (0.55, 0.13, 0.020, 0.030),
    RACK: (0.42, -0.30, 0.020, 0.030),
    ROD_HOLDER: (0.40, 0.36, 0.012, 0.012),
    PROBE_HOLDER: (0.228, 0.467, 0.012, 0.012),
    RINSE: (0.090, 0.470, 0.015, 0.015),
    CONSOLE: (0.640, 0.400, 0.010, 0.010),
}
"""Where each fixture stands, x and y, and how far it may be moved from there along either axis [m]: places that a hand
reaches from the side with room for its palm, which is 0.2 m wide, behind them."""
RACK_TURN, BALANCE_TURN = 0.10, 0.15
"""Largest turns of the rack from the direction of its best approach, and of the balance [rad]."""
OFF_CENTRE = 0.010
"""Largest distance of the beaker from the middle of the pan along x and y [m]."""
DROP = 0.0003
"""Height over its support at which something starts [m]."""


def wet_parts(tubes: tuple[str, ...], texts: tuple[str, ...] = ()) -> tuple[Part, ...]:
    """Return the parts of a bench with reagent `tubes`, labelled `texts` or else with their names.

    Raises `ValueError` for more tubes than the rack has holes.
    """
    if len(tubes) > RACK_PLACES:
        raise ValueError(f"The rack has {RACK_PLACES} holes and no room for {len(tubes)} tubes.")
    return (
        Table(views=WET_VIEWS),
        Balance(BALANCE, PAN),
        Beaker(BEAKER),
        TubeRack(RACK),
        *(ReagentTube(name, text) for name, text in zip(tubes, texts or tubes, strict=True)),
        Holder(PROBE_HOLDER, PROBE_RADIUS),
        Probe(PROBE, METER),
        MeterConsole(CONSOLE, METER),
        RinseStation(RINSE),
        Holder(ROD_HOLDER, ROD_RADIUS),
        Rod(ROD),
    )


def wet_layout(tubes: tuple[str, ...], rng: np.random.Generator) -> tuple[dict[str, Pose], dict[str, Pose]]:
    """Draw where everything starts; return poses of items and of fixtures. Tubes stand in holes in any order."""
    fixtures = {name: _near(name, rng) for name in PLACES}
    balance = fixtures[BALANCE]
    x, y = balance.x + rng.uniform(-OFF_CENTRE, OFF_CENTRE), balance.y + rng.uniform(-OFF_CENTRE, OFF_CENTRE)
    items = {BEAKER: Pose(x, y, PAN_HEIGHT + DROP, float(rng.uniform(-math.pi, math.pi)))}
    order = rng.permutation(RACK_PLACES)
    items |= {name: tube_in_rack(fixtures[RACK], int(place)) for name, place in zip(tubes, order, strict=False)}
    items[PROBE] = tool_in_holder(fixtures[PROBE_HOLDER])
    items[ROD] = tool_in_holder(fixtures[ROD_HOLDER])
    return items, fixtures


def _near(name: str, rng: np.random.Generator) -> Pose:
    x, y, dx, dy = PLACES[name]
    x, y = x + float(rng.uniform(-dx, dx)), y + float(rng.uniform(-dy, dy))
    best = math.atan2(y, x) + APPROACH_TURN
    match name:
        case "balance" | "meter_console":
            yaw = float(rng.uniform(-BALANCE_TURN, BALANCE_TURN))
        case "rack":
            yaw = best + float(rng.uniform(-RACK_TURN, RACK_TURN))
        case _:
            yaw = best
    return Pose(x, y, 0.0, yaw)
