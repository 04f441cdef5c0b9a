"""The reference executor: carries out legal operations with true poses. Privileged, and recorded as such."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labference.motion.grasp import Grasp, Outline, grasp_standing, release_opening
from labference.motion.insert import insert
from labference.motion.kinematics import Arm, Unreachable, top_down
from labference.motion.pick import pick
from labference.motion.place import Placement, place
from labference.motion.player import Player
from labference.motion.skill import grip, home
from labference.motion.spot import Disc, Rectangle, free_spot
from labference.motion.tubes import grasp_tube, tube_insertion, tube_placement
from labference.truth.contract import TaskContract
from labference.truth.geometry import Rectangular, Region, Round, Shape, Socket
from labference.truth.measurement import LEFT, LENGTH, RIGHT, TURN, Block, Channels, Pose
from labference.truth.sockets import pose_of
from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Operation, Script, Wait
from labference.wire.action import STROKE

from .wet_hands import WetHands

PATIENCE_S = 0.25
"""How long the executor waits before it looks at the state again [s]."""
UPRIGHT = 0.9
"""Cosine of the tilt up to which an item counts as standing."""
LIFTED = 0.03
"""How far an item must have risen for the pick to count as done [m]."""
TOUCHDOWN = 0.0015
"""Height above the support at which an item is released [m]."""
_BOTH = 1 << LEFT | 1 << RIGHT


@dataclass(frozen=True, slots=True)
class Scene:
    """What the executor may know: the true state of the bench and the reference geometry of the task."""

    channels: Channels
    shapes: Mapping[str, Shape]
    places: Callable[[Mapping[str, Pose]], dict[str, Region]]
    measure: Callable[[], Block]
    state: Callable[[], Any]
    tare: Callable[[str], bool] = lambda cell: False
    dripping: Callable[[], bool] = lambda: False

    @property
    def regions(self) -> dict[str, Region]:
        """Return where an item may be put, by place, as the fixtures stand now."""
        rows = self.measure().fixtures
        return self.places({name: pose_of(row) for name, row in zip(self.channels.fixtures, rows, strict=True)})

    def pose(self, item: str) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3,) [m] and rotation (3, 3) of `item` in the robot base frame."""
        return self._pose(self.channels.items.index(item))

    def tcp(self) -> tuple[np.ndarray, np.ndarray]:
        """Return position and rotation of the tool centre point."""
        return self._pose(-1)

    def outlines(self, held: str) -> list[Outline]:
        """Return every item but `held` from above; a fallen one is as wide as it is long."""
        outlines = []
        for item in self.channels.items:
            position, rotation = self.pose(item)
            shape = self.shapes[item]
            if item == held or position[2] < -0.1:
                continue
            if rotation[2, 2] > UPRIGHT:
                outlines.append((float(position[0]), float(position[1]), max(shape.radius, shape.cap)))
            else:
                centre = position + rotation[:, 2] * shape.height / 2
                outlines.append((float(centre[0]), float(centre[1]), shape.height / 2))
        return outlines

    def holds(self, item: str) -> bool:
        """Return whether both fingers touch `item`."""
        touch = int(self.measure().touch[-1, self.channels.items.index(item)])
        return touch & _BOTH == _BOTH

    def _pose(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        row = self.measure().pose[-1, column]
        from scipy.spatial.transform import Rotation  # here, as in `kinematics`

        turn = Rotation.from_quat(row[3:] * TURN, scalar_first=True)
        return row[:3] * LENGTH, np.asarray(turn.as_matrix())


class NoRoom(Exception):
    """Every place that an operation names is taken."""


class Reference:
    """Follow the contract's legal set; removals first, so that the pan has room.

    Among operations that differ in their place alone, `seed` decides.
    """

    def __init__(self, contract: TaskContract[Any, Any], scene: Scene, arm: Arm, seed: int = 0) -> None:
        self._seed = seed
        self._chance = np.random.default_rng(seed)
        self._contract = contract
        self._scene = scene
        self._arm = arm
        self._player = Player(self._work)

    def open(self) -> Capabilities:
        """Declare no sensors: the executor reads the truth."""
        return Capabilities("expert", "1", actions=("joint",))

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Start over."""
        self._chance = np.random.default_rng(self._seed)
        self._player.restart()

    def act(self, observation: Observation) -> Act:
        """Return the next act of the script."""
        return self._player.act(observation)

    def close(self) -> None:
        """Release nothing."""

    def perform(
        self, observation: Observation, operation: Operation, parameters: Mapping[str, float]
    ) -> Script[Observation]:
        """Carry out one operation of the wet bench, with `parameters` by name; see `wet_hands.KINDS`."""
        hands = WetHands(self._scene, self._arm, self._scene.tare)
        return (yield from hands.perform(observation, operation, parameters))

    def _work(self, observation: Observation) -> Script[None]:
        while True:
            legal = self._preferred(self._contract.legal(self._scene.state()))
            work = [operation for operation in legal if operation.item]
            if work:
                observation = yield from self._first_feasible(observation, work)
            elif legal and legal[0].kind == "stop":
                observation = yield from home(self._arm, observation)
                observation = yield Wait(1.0)
            else:
                observation = yield Wait(PATIENCE_S)

    def _preferred(self, legal: frozenset[Operation]) -> list[Operation]:
        ordered = sorted(legal)
        drawn = dict(zip(ordered, self._chance.permutation(len(ordered)).tolist(), strict=True))
        return sorted(ordered, key=lambda op: (op.kind != "remove", op.kind, op.item, drawn[op]))

    def _first_feasible(self, observation: Observation, work: list[Operation]) -> Script[Observation]:
        for operation in work:
            try:
                return (yield from self.carry_out(observation, operation))
            except (Unreachable, NoRoom):
                continue
        return (yield Wait(PATIENCE_S))

    def carry_out(self, observation: Observation, operation: Operation) -> Script[Observation]:
        """Take the item of `operation`, unless the hand holds it, and put it down where the operation wants it.

        Raises `Unreachable` where the arm cannot go and `NoRoom` where the place is taken.
        """
        scene, item = self._scene, operation.item
        destination = self._contract.destination(operation)
        others = scene.outlines(item)
        before, _ = scene.pose(item)
        if not scene.holds(item):
            picked = yield from pick(self._arm, observation, self._grasp(item, others))
            observation = picked.observation
            risen = scene.pose(item)[0][2] - before[2]
            if not picked.holding or risen < LIFTED:
                return (yield from grip(self._arm, observation, STROKE, 0.2))
        if not destination:
            return observation
        region = scene.regions[destination]
        if isinstance(region, Socket):
            return (yield from self._insert(observation, item, region, others))
        base, rotation = scene.pose(item)
        at = self._placement(item, region, others, base, rotation)
        if at is None:
            at = self._placement(item, _surface_below(scene, before), others, base, rotation)
        if at is None:
            raise NoRoom(f"No free place for {item!r} on {destination!r}.")
        return (yield from place(self._arm, observation, at))

    def _grasp(self, item: str, others: list[Outline]) -> Grasp:
        """Take a standing item by its body, a fallen one across its axis."""
        base, rotation = self._scene.pose(item)
        shape = self._scene.shapes[item]
        axis = rotation[:, 2]
        if axis[2] > UPRIGHT and shape.cap:
            return grasp_tube(base.tolist(), others)
        if axis[2] > UPRIGHT:
            return grasp_standing(base.tolist(), shape.radius, shape.body, shape.height, others)
        middle = base + axis * shape.body / 2
        yaw = float(np.arctan2(axis[1], axis[0]))
        yaw = (yaw + np.pi / 2) % np.pi - np.pi / 2
        height = max(float(middle[2]), 0.0115)
        return Grasp((float(middle[0]), float(middle[1]), height), yaw, min(STROKE, 2 * (shape.radius + 0.012)))

    def _insert(
        self, observation: Observation, item: str, socket: Socket, others: list[Outline]
    ) -> Script[Observation]:
        """Push the held item into `socket`, hanging as it really hangs."""
        base, _ = self._scene.pose(item)
        tcp, turn = self._scene.tcp()
        at = tube_insertion(socket.mouth, socket.depth, others, held=float(tcp[2] - base[2]))
        aside = (top_down(at.yaw) @ turn.T @ (base - tcp))[:2]
        x, y, z = at.position
        return (yield from insert(self._arm, observation, replace(at, position=(x - aside[0], y - aside[1], z))))

    def _placement(
        self, item: str, region: Round | Rectangular, others: list[Outline], base: np.ndarray, rotation: np.ndarray
    ) -> Placement | None:
        """Return where to open the hand so that the held item's lowest point touches down at a free spot."""
        shape = self._scene.shapes[item]
        area = Disc(region.centre, region.radius) if isinstance(region, Round) else Rectangle(region.low, region.high)
        spot = free_spot(area, others, shape.radius, roomy=0.03 if isinstance(region, Round) else 0.05)
        if spot is None:
            return None
        tcp, turn = self._scene.tcp()
        if shape.cap:
            x, y = spot.position
            at = tube_placement((x, y, region.height), others, held=float(tcp[2] - base[2]))
            aside = (top_down(at.yaw) @ turn.T @ (base - tcp))[:2]
            return replace(at, position=(x - float(aside[0]), y - float(aside[1]), at.position[2]))
        held = top_down(spot.yaw) @ turn.T @ (base - tcp)
        upright = rotation[2, 2] > UPRIGHT
        low = held[2] if upright else held[2] - shape.radius
        x, y = np.array(spot.position) - held[:2]
        return Placement(
            (float(x), float(y), float(region.height - low + TOUCHDOWN)), spot.yaw, release_opening(shape.radius)
        )


def _surface_below(scene: Scene, position: np.ndarray) -> Round | Rectangular:
    """Return the flat region nearest in height to where an item stood."""
    flat = [region for region in scene.regions.values() if not isinstance(region, Socket)]
    return min(flat, key=lambda region: abs(region.height - position[2]))
