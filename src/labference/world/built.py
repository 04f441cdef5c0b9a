"""A compiled laboratory with every id that the running code needs, looked up once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..truth.measurement import FIRST_SURFACE, HAND, ITEM, LEFT, RIGHT, Channels
from .engine import mujoco
from .parts.balance import LoadCellReadout
from .robot import FINGERS, PREFIX

if TYPE_CHECKING:
    from .build import Bench

STREAM = "stream"
"""Name of the shape of falling liquid."""
TCP_POSITION = "tcp position"
"""Sensor behind those of the items' poses."""


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera: its name in the model, its public name, and the (width, height) of its frames in pixels."""

    model_name: str
    name: str
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """A load cell: its public name, the site that carries its sensor, and its electronics."""

    name: str
    site: str
    electronics: Callable[[float], LoadCellReadout]


@dataclass(frozen=True, slots=True)
class Display:
    """The geoms that an instrument lights, by element name."""

    instrument: str
    elements: dict[str, str]


@dataclass(frozen=True, slots=True)
class Vessel:
    """A body that holds liquid, in a cylinder of `radius` and `length` that begins at height `floor` of its frame [m].

    `shape` is the geom that shows how full it is, a stream of `STREAM` what leaves it.
    """

    name: str
    body: str
    radius: float
    length: float
    floor: float
    shape: str


@dataclass(frozen=True, slots=True)
class Tip:
    """The item whose origin is where a meter measures; without a meter, it only stirs."""

    meter: str
    item: str


@dataclass(frozen=True, slots=True)
class Built:
    """A compiled laboratory.

    arm_qpos, arm_qvel   (7,) addresses of the arm joints; finger_qpos (2,) of the fingers
    item_qpos            (n, 7) addresses of each item's position and quaternion
    item_body            body id per item; item_qvel (n, 6) addresses of each item's velocities
    fixtures             mocap id per fixture
    grips                distance [m] between axis and fingers, per item that an instance may put into the hand
    colours              geom id and shade of what an instance may colour, per item
    nominal_mass         (nbody,) [kg] and nominal_inertia (nbody, 3) [kg m2], before an instance changes any
    cell_force           (c,) addresses of the vertical force in sensordata; cell_site (c,) site ids
    poses                where in sensordata the poses of items and tool centre point lie, 7 (n + 1) numbers
    velocities           where the velocities of items lie, 6 n numbers; fingers, the two finger positions
    tcp_site             site id of the tool centre point
    touch_row, touch_bit per geom: the row it fills (n for the robot, n + 1 for none) and the bit it sets in others
    vessels, tips        what holds liquid, and what measures in it
    digest               sha256 over the arrays of the model as compiled
    """

    model: Any
    channels: Channels
    digest: str
    arm_qpos: np.ndarray
    arm_qvel: np.ndarray
    finger_qpos: np.ndarray
    item_qpos: np.ndarray
    item_qvel: np.ndarray
    item_body: dict[str, int]
    fixtures: dict[str, int]
    grips: dict[str, float]
    colours: dict[str, tuple[tuple[int, float], ...]]
    nominal_mass: np.ndarray
    nominal_inertia: np.ndarray
    cells: tuple[Cell, ...]
    cell_force: np.ndarray
    cell_site: np.ndarray
    poses: slice
    velocities: slice
    fingers: slice
    tcp_site: int
    touch_row: np.ndarray
    touch_bit: np.ndarray
    cameras: dict[str, Camera]
    displays: tuple[Display, ...]
    vessels: tuple[Vessel, ...]
    tips: tuple[Tip, ...]


def resolve(model: Any, bench: Bench) -> Built:
    """Look up every id of the compiled `model` of `bench`."""
    channels = Channels(
        items=tuple(bench.items),
        surfaces=tuple(bench.surfaces),
        cells=tuple(cell.name for cell in bench.cells),
        fixtures=tuple(bench.fixtures),
        timestep=float(model.opt.timestep),
        vessels=tuple(vessel.name for vessel in bench.vessels),
        meters=tuple(tip.meter for tip in bench.tips if tip.meter),
    )
    if len(channels.surfaces) + FIRST_SURFACE > 16:
        raise ValueError(f"A touch mask has room for {16 - FIRST_SURFACE} surfaces, not {len(channels.surfaces)}.")
    arm = [model.joint(f"{PREFIX}joint{i}") for i in range(1, 8)]
    joints = [model.joint(name) for name in channels.items]
    row, bit = _touch_tables(model, channels, bench.surfaces)
    count = len(channels.items)
    first = int(model.sensor(TCP_POSITION).adr[0]) - 7 * count
    return Built(
        model=model,
        channels=channels,
        digest=_digest(model),
        arm_qpos=np.array([joint.qposadr[0] for joint in arm]),
        arm_qvel=np.array([joint.dofadr[0] for joint in arm]),
        finger_qpos=np.array([model.joint(f"{PREFIX}finger_joint{i}").qposadr[0] for i in (1, 2)]),
        item_qpos=np.array([joint.qposadr[0] + np.arange(7) for joint in joints], int).reshape(-1, 7),
        item_qvel=np.array([joint.dofadr[0] + np.arange(6) for joint in joints], int).reshape(-1, 6),
        item_body={name: int(model.body(name).id) for name in channels.items},
        fixtures={name: int(model.body(name).mocapid[0]) for name in bench.fixtures},
        grips=dict(bench.grips),
        colours={
            item: tuple((int(model.geom(shape).id), shade) for shape, shade in shapes)
            for item, shapes in bench.colours.items()
        },
        nominal_mass=model.body_mass.copy(),
        nominal_inertia=model.body_inertia.copy(),
        cells=tuple(bench.cells),
        cell_force=np.array([model.sensor(cell.site).adr[0] + 2 for cell in bench.cells], int),
        cell_site=np.array([model.site(cell.site).id for cell in bench.cells], int),
        poses=slice(first, first + 7 * (count + 1)),
        velocities=slice(first + 7 * (count + 1), first + 13 * count + 7),
        fingers=slice(first + 13 * count + 7, first + 13 * count + 9),
        tcp_site=int(model.site(f"{PREFIX}tcp").id),
        touch_row=row,
        touch_bit=bit,
        cameras={camera.name: camera for camera in bench.cameras},
        displays=tuple(bench.displays),
        vessels=tuple(bench.vessels),
        tips=tuple(bench.tips),
    )


def _touch_tables(model: Any, channels: Channels, surfaces: dict[str, list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Return per geom the row it fills and the bit it sets."""
    n = len(channels.items)
    row_of_body = np.full(model.nbody, n + 1)
    bit_of_body = np.zeros(model.nbody, np.uint16)
    for name, bodies in surfaces.items():
        for body in bodies:
            bit_of_body[model.body(body).id] = channels.bit(name)
    for index, name in enumerate(channels.items):
        row_of_body[model.body(name).id], bit_of_body[model.body(name).id] = index, 1 << ITEM
    finger = {f"{PREFIX}{name}": bit for name, bit in zip(FINGERS, (LEFT, RIGHT), strict=True)}
    for index in range(model.nbody):
        name = model.body(index).name
        if name.startswith(PREFIX):
            row_of_body[index], bit_of_body[index] = n, 1 << finger.get(name, HAND)
    return row_of_body[model.geom_bodyid], bit_of_body[model.geom_bodyid]


def _digest(model: Any) -> str:
    """Return the sha256 of all numeric arrays of `model` and its options."""
    digest = hashlib.sha256()
    for name in sorted(dir(model)):
        value = getattr(model, name) if not name.startswith("_") else None
        if isinstance(value, np.ndarray):
            digest.update(f"{name}{value.shape}{value.dtype}".encode() + value.tobytes())
    option = model.opt
    numbers = [option.timestep, option.impratio, *option.gravity, option.integrator, option.cone, option.jacobian]
    numbers += [option.disableflags, option.enableflags, option.iterations, option.ls_iterations, option.tolerance]
    numbers += [option.noslip_iterations] if option.noslip_iterations else []
    digest.update(repr([float(number) for number in numbers]).encode() + mujoco.__version__.encode())
    return digest.hexdigest()
