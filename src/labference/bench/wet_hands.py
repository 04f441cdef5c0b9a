"""The hands that the wet bench lends: carry out one named operation with true poses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from labference.motion.dip import Dip, dip, stir, wait
from labference.motion.kinematics import Arm, Unreachable
from labference.motion.pour import Pouring, pour
from labference.motion.side import SideGrasp, approach_yaw, level, pick_side, place_side
from labference.motion.skill import grip
from labference.motion.wetware import PROBE as PROBE_KIND
from labference.motion.wetware import ROD as ROD_KIND
from labference.motion.wetware import TUBE, Handled, put_back, take
from labference.truth.measurement import Block, Channels, Pose
from labference.truth.sockets import pose_of
from labference.truth.wet_watch import WEIGH_S as READ_S
from labference.wire import Observation, Operation, Script
from labference.wire.action import STROKE
from labference.wire.glassware import (
    BEAKER_HEIGHT,
    BEAKER_WALL,
    HOLDER_FLOOR,
    RACK_FLOOR,
    RACK_PLACES,
    RINSE_FLOOR,
    tube_place,
)
from labference.world.parts.wet_bench import BALANCE, BEAKER, PROBE, PROBE_HOLDER, RACK, RINSE, ROD, ROD_HOLDER

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
    "finish",
)
"""Operations that these hands carry out."""
NOTHING_S = 0.25
"""How long an operation takes that cannot be carried out as the bench is [s]."""
RINSE_S, MEASURE_S, STIR_S, WEIGH_S = 4.0, 60.0, 5.0, 4.0
"""How long operations go on unless told otherwise [s]."""
AT_REST_S = 0.6
"""Pause after something was put back, in which it comes to rest [s]."""
TIP_OVER_FLOOR = 0.006
"""Height of a dipped tip over the inner floor of a vessel [m]."""
FREE = 0.015
"""A hole with no tube nearer than this is free [m]."""
UPRIGHT = 0.95
"""Cosine of the tilt up to which something stands so that a hand can take it from the side."""


class Seen(Protocol):
    """What the hands may know: the true state of the bench."""

    @property
    def channels(self) -> Channels:
        """Return what is on the bench."""

    @property
    def measure(self) -> Callable[[], Block]:
        """Return what measures the present."""

    @property
    def dripping(self) -> Callable[[], bool]:
        """Return what tells whether drops fall, or may still fall."""

    def pose(self, item: str) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3,) [m] and rotation (3, 3) of an item."""

    def tcp(self) -> tuple[np.ndarray, np.ndarray]:
        """Return position and rotation of the tool centre point."""

    def holds(self, item: str) -> bool:
        """Return whether both fingers touch an item."""


class WetHands:
    """Carry out operations of the wet bench, one at a time.

    What cannot be done as the bench is (to pour with an empty hand) leaves the bench as it is, and takes a moment.
    """

    def __init__(self, scene: Seen, arm: Arm, tare: Callable[[str], bool]) -> None:
        self._scene, self._arm, self._tare = scene, arm, tare

    def perform(
        self, observation: Observation, operation: Operation, parameters: Mapping[str, float]
    ) -> Script[Observation]:
        """Carry out `operation`, one of `KINDS`, with `parameters` by name; those not given take their defaults."""
        try:
            match operation.kind:
                case "pick":
                    return (yield from self._pick(observation, operation.item))
                case "take_probe":
                    return (yield from self._pick(observation, PROBE))
                case "place" | "return_probe":
                    return (yield from self._place(observation))
                case "pour":
                    return (yield from self._pour(observation, operation.place or BEAKER, parameters))
                case "stir":
                    return (yield from self._stir(observation, operation.place or BEAKER, parameters))
                case "measure" | "rinse_probe":
                    return (yield from self._dip(observation, operation, parameters))
                case "tare" | "weigh":
                    return (yield from self._weigh(observation, operation.kind, parameters))
                case "finish" | "stop" | "wait":
                    return (yield from wait(observation, NOTHING_S))
                case other:
                    raise ValueError(f"These hands cannot {other!r}; they can {', '.join(KINDS)}.")
        except Unreachable:
            return (yield from wait(observation, NOTHING_S))

    @property
    def held(self) -> str:
        """Return the item between the fingers, "" for none."""
        return next((item for item in self._scene.channels.items if self._scene.holds(item)), "")

    def _pick(self, observation: Observation, item: str) -> Script[Observation]:
        scene = self._scene
        if self.held or item not in scene.channels.items or item == BEAKER:
            return (yield from wait(observation, NOTHING_S))
        base, rotation = scene.pose(item)
        if rotation[2, 2] < UPRIGHT:
            return (yield from wait(observation, NOTHING_S))
        holder = _holder(item)
        yaw = self._fixture(holder).yaw if holder == RACK else approach_yaw(float(base[0]), float(base[1]))
        at: SideGrasp = take(_kind(item), base.tolist(), yaw)
        picked = yield from pick_side(self._arm, observation, at)
        if not picked.holding:
            return (yield from grip(self._arm, picked.observation, STROKE, 0.2))
        return picked.observation

    def _place(self, observation: Observation) -> Script[Observation]:
        """Put back what is held where such things stand, tubes into the nearest free hole of the rack, and open wide:
        how far the fingers are apart says whether they hold something.
        """
        item = self.held
        spot = self._free_hole() if item and _holder(item) == RACK else self._socket(_holder(item)) if item else None
        if spot is None:
            return (yield from wait(observation, NOTHING_S))
        (x, y, z), yaw = spot
        at = put_back(_kind(item), (x, y, z), yaw, self._hangs(item, yaw))
        observation = yield from place_side(self._arm, observation, at)
        return (yield from grip(self._arm, observation, STROKE, AT_REST_S))

    def _pour(self, observation: Observation, vessel: str, given: Mapping[str, float]) -> Script[Observation]:
        item = self.held
        rim = self._rim(vessel)
        if not item or rim is None or item in (PROBE, ROD):
            return (yield from wait(observation, NOTHING_S))
        base, _ = self._scene.pose(item)
        tcp, _ = self._scene.tcp()
        grams = given.get("amount_g", 0.0)
        named = {name: given[name] for name in ("kp", "kd", "pre_stop", "limit") if name in given}
        yaw = approach_yaw(rim[0], rim[1])
        at = Pouring(rim, yaw, grams, grip=float(np.linalg.norm(tcp - base)), **named)
        poured = yield from pour(self._arm, observation, at, BALANCE, self._scene.dripping)
        return poured.observation

    def _stir(self, observation: Observation, vessel: str, given: Mapping[str, float]) -> Script[Observation]:
        """Stir with the rod; an empty hand takes it before and puts it back afterwards."""
        item = self.held
        if item not in ("", ROD):
            return (yield from wait(observation, NOTHING_S))
        if not item:
            observation = yield from self._pick(observation, ROD)
        at = self._above(ROD, vessel) if self.held == ROD else None
        if at is None:
            return (yield from wait(observation, NOTHING_S))
        observation = yield from stir(self._arm, observation, at, given.get("seconds", STIR_S))
        return observation if item else (yield from self._place(observation))

    def _dip(self, observation: Observation, operation: Operation, given: Mapping[str, float]) -> Script[Observation]:
        rinses = operation.kind == "rinse_probe"
        vessel = RINSE if rinses else operation.place or BEAKER
        at = self._above(PROBE, vessel) if self.held == PROBE else None
        if at is None:
            return (yield from wait(observation, NOTHING_S))
        if rinses:
            return (yield from stir(self._arm, observation, at, given.get("seconds", RINSE_S)))
        return (yield from dip(self._arm, observation, at, given.get("seconds", MEASURE_S)))

    def _weigh(self, observation: Observation, kind: str, given: Mapping[str, float]) -> Script[Observation]:
        """Wait for a stable reading, `seconds` at most; `tare` then makes it 0, `weigh` lets it stay and reads it."""
        until = observation.senses.time + given.get("seconds", WEIGH_S)
        while observation.senses.time < until:
            observation = yield from wait(observation, 0.1)
            reading = next((r for r in observation.senses.readings if r.instrument == BALANCE), None)
            if reading is not None and reading.stable:
                break
        if kind == "weigh":
            return (yield from wait(observation, READ_S + 0.1))
        self._tare(BALANCE)
        return (yield from wait(observation, 0.05))

    def _above(self, tool: str, vessel: str) -> Dip | None:
        """Return where the hand is when the tip of the held `tool` is deep in `vessel`; None where that is nowhere."""
        rim = self._rim(vessel)
        if rim is None:
            return None
        x, y, z = rim
        yaw = approach_yaw(x, y)
        dx, dy, dz = self._hangs(tool, yaw)
        depth = BEAKER_HEIGHT - BEAKER_WALL - TIP_OVER_FLOOR
        return Dip((x - dx, y - dy, z - depth - dz), yaw, depth, _kind(tool).transit)

    def _rim(self, vessel: str) -> tuple[float, float, float] | None:
        """Return the middle of the rim of an upright vessel that stands open [m]."""
        if vessel == RINSE and RINSE in self._scene.channels.fixtures:
            at = self._fixture(RINSE)
            return at.x, at.y, at.z + RINSE_FLOOR + BEAKER_HEIGHT
        if vessel != BEAKER:
            return None
        (x, y, z), rotation = self._scene.pose(BEAKER)
        return None if rotation[2, 2] < UPRIGHT else (float(x), float(y), float(z) + BEAKER_HEIGHT)

    def _hangs(self, item: str, yaw: float) -> tuple[float, float, float]:
        """Return where the lower end of the held `item` is from the tool centre point, once the hand is at `yaw`."""
        base, _ = self._scene.pose(item)
        tcp, turn = self._scene.tcp()
        x, y, z = (level(yaw) @ turn.T @ (base - tcp)).tolist()
        return x, y, z

    def _free_hole(self) -> tuple[tuple[float, float, float], float] | None:
        """Return the floor of the free hole of the rack that is nearest to the hand, and the yaw to approach it."""
        rack, scene = self._fixture(RACK), self._scene
        c, s = np.cos(rack.yaw), np.sin(rack.yaw)
        tubes = [scene.pose(item)[0][:2] for item in scene.channels.items if item != self.held]
        hand = scene.tcp()[0][:2]
        free = []
        for place in range(RACK_PLACES):
            lx, ly = tube_place(place)
            at = np.array((rack.x + c * lx - s * ly, rack.y + s * lx + c * ly))
            if all(np.hypot(*(at - tube)) > FREE for tube in tubes):
                free.append((float(np.hypot(*(at - hand))), (float(at[0]), float(at[1]), rack.z + RACK_FLOOR)))
        return (min(free)[1], rack.yaw) if free else None

    def _socket(self, holder: str) -> tuple[tuple[float, float, float], float]:
        at = self._fixture(holder)
        return (at.x, at.y, at.z + HOLDER_FLOOR), approach_yaw(at.x, at.y)

    def _fixture(self, name: str) -> Pose:
        row = self._scene.channels.fixtures.index(name)
        return pose_of(self._scene.measure().fixtures[row])


def _kind(item: str) -> Handled:
    return {PROBE: PROBE_KIND, ROD: ROD_KIND}.get(item, TUBE)


def _holder(item: str) -> str:
    return {PROBE: PROBE_HOLDER, ROD: ROD_HOLDER}.get(item, RACK)
