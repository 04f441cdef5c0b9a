"""The laboratory without an arm: the same liquids, chemistry, instruments and records, and no physics engine.

Things jump between the places where operations put them; while liquid flows or a tool stirs, time passes in ticks, and
otherwise in stretches. Every row of a block is measured before the tick that it belongs to, as with the simulated arm.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..truth.contract import port_readings, ports_of, read_ports
from ..truth.filling import WetSetup
from ..truth.measurement import (
    FIRST_SURFACE,
    LEFT,
    LENGTH,
    MASS,
    OK,
    POLICY,
    RIGHT,
    SPEED,
    STATUSES,
    TURN,
    Block,
    Dipped,
    Pose,
    Readout,
    Rearrangement,
    Setup,
)
from ..wire import Operation
from ..wire.action import STROKE
from ..wire.observation import Reading, RobotState, Senses
from ..wire.panda import HOME
from .fast_hands import UPRIGHT, FastHands, Where
from .faults import SetupError
from .inventory import channels_of, take_stock
from .parts import Part
from .parts.balance import CAPACITY, FLOOR, GRAVITY, QUANTUM, TAU, CellState
from .wet.chance import Stream, frozen, thawed
from .wet.dosing import holds, needed
from .wet.plumbing import Placed, Plumbing, PlumbingState
from .wet.port import PortState
from .wet.pour import LONGEST_STEP
from .wet.timing import TIMINGS

TIMESTEP = 0.05
"""Length of a tick [s]: one control period at 20 Hz."""
STRIDE, LONGEST = 20, 200
"""Most ticks of a block while a tested system waits, who is told of news at its end, and while hands work."""
MIXING, UNMIXED = 20, 0.01
"""Most ticks of a block while more than this share of a liquid is not mixed: a meter reads one sample per block."""
ZEROING, SETTLING = 4, 60
"""Ticks over which empty load cells are averaged, and after which a bench counts as prepared."""
PARKED = (0.35, 0.0, 0.45)
"""Position of an empty hand that is not told where to go [m]."""
HANDS = 5
"""Keeps the draws of times and failures apart from those of the liquids."""
DOWN = (0.0, 1.0, 0.0, 0.0)
"""Orientation of a hand that points down, wxyz."""
GAIN = 1.0 - math.exp(-TIMESTEP / TAU)
"""Share of a change that the filter of a balance follows in one tick."""
_SUBSTEPS = round(TIMESTEP / LONGEST_STEP)
_HELD = 1 << LEFT | 1 << RIGHT


class Activity(Protocol):
    """Something that goes on from tick to tick."""

    def tick(self, world: FastWorld, shown: float | None) -> bool:
        """Do what is due after a tick at whose end the balance showed `shown` [g]; return whether it goes on."""
        ...


@dataclass(frozen=True, slots=True)
class FastCheckpoint:
    """Everything that decides how a fast laboratory continues between two operations."""

    model_digest: str
    setup: Setup
    tick: int
    where: tuple[Where, ...]
    touch: tuple[int, ...]
    tool: tuple[float, float, float]
    opening: tuple[float, float]
    plumbing: PlumbingState
    cells: tuple[CellState, ...]
    readouts: tuple[Readout, ...]
    ports: tuple[PortState, ...]
    dipped: tuple[Dipped, ...]
    pressed: int
    zero: tuple[tuple[str, float], ...]
    stream: Stream


class FastWorld:
    """A laboratory of `parts` without an arm, advanced `TIMESTEP` at a time."""

    moves = False
    stride = STRIDE
    longest = LONGEST
    physics = f"fast, {TIMESTEP:g} s"
    cameras: tuple[str, ...] = ()
    generation = 0

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self._parts = parts
        self.stock = take_stock(parts)
        self.channels = channels_of(self.stock, TIMESTEP)
        self.model_digest = hashlib.sha256(repr((parts, self.channels, sorted(TIMINGS.items()))).encode()).hexdigest()
        self._tips = [item for item, meter in self.stock.tips if meter]
        self._stirrers = [item for item, meter in self.stock.tips if not meter]
        self.plumbing = Plumbing(tuple(self.stock.cups), len(self._tips))
        self._pans = [self._surface_of(body) for _, body, _ in self.stock.cells]
        self._setup: Setup = WetSetup({}, {}, {})
        self.activity: Activity | None = None
        self.then: dict[str, Where] | None = None
        self.zero: dict[str, float] = {}
        self.tick = 0
        self.dipped: tuple[Dipped, ...] = ()
        self.tool: tuple[float, float, float] = PARKED
        self.opening: tuple[float, float] = (STROKE, STROKE)
        self._readouts: tuple[Readout, ...] = ()
        self._pressed = 0

    @property
    def time(self) -> float:
        """Return the simulated time since handoff [s]."""
        return self.tick * TIMESTEP

    @property
    def command(self) -> np.ndarray:
        """Return joint targets [rad], which nothing follows, and the gripper opening [m] in force, (8,)."""
        return np.array([*HOME, self.opening[1]])

    @property
    def setup(self) -> Setup:
        """Return the instance on the bench."""
        return self._setup

    def prepare(self, setup: Setup) -> Block:
        """Set up an instance and let it come to rest; return all ticks since zeroing, the last one being -1.

        Load cells are zeroed with empty vessels, and without the items `setup.on_cell`.
        """
        self._check(setup)
        self._setup = replace(setup, faults=())
        self._lay_out(setup)
        self.plumbing.fill(WetSetup({}, {}, {}))
        aside = {item: self.touch[index] for index, item in enumerate(self.channels.items) if item in setup.on_cell}
        for item in aside:
            self.touch[self.channels.items.index(item)] = 0
        empty = np.full((ZEROING, len(self._cells)), self._forces(), np.float32)
        for index, (name, cell) in enumerate(zip(self.channels.cells, self._cells, strict=True)):
            self.zero[name] = cell.zero(empty[:, index])
        for item, touch in aside.items():
            self.touch[self.channels.items.index(item)] = touch
        self._fill(setup)
        self.tick = -SETTLING
        block, _ = self.step(self.command, SETTLING)
        self.tick = 0
        self._setup = setup
        return block

    def step(self, command: np.ndarray, steps: int, control: int = POLICY) -> tuple[Block, tuple[Readout, ...]]:
        """Let `steps` ticks pass, or fewer where something that goes on ends before; nothing follows `command`.

        Returns what was so at each tick, and what each instrument made of it.
        """
        del command
        if steps < 1:
            raise ValueError(f"A step takes at least 1 tick, not {steps!r}.")
        first, pressed = self.tick, self._pressed
        placed = self._placed()
        calm = self.activity is None and self.plumbing.calm(placed)
        if calm and self.plumbing.unmixed > UNMIXED:
            steps = min(steps, MIXING)
        rows = _Rows(self)
        force = np.empty((steps, len(self._cells)), np.float32)
        done = steps if calm else self._busy(rows, force, steps)
        if calm:
            force[:] = self._forces()
            self._flow(steps * TIMESTEP, placed)
        force = force[:done]
        self._silence(first, force)
        block = rows.block(done, force, control, self._liquid(), self.plumbing.samples(), pressed)
        self._pressed = 0
        self.tick = first + done
        self._readouts = tuple(cell.update(force[:, index]) for index, cell in enumerate(self._cells))
        self.dipped = read_ports(self._ports, block)
        return block, self._readouts

    def perform(self, operation: Operation, parameters: Mapping[str, float]) -> Iterator[int]:
        """Carry out an operation; yield after how many ticks it wants to go on."""
        return self._hands.perform(operation, parameters)

    def needed(self, source: str, vessel: str, aim: Mapping[str, float]) -> float:
        """Return how many grams of `source` bring `vessel` to `aim`, with true compositions; see `wet.dosing`."""
        return needed(self.plumbing, source, vessel, aim)

    def holds(self, vessel: str, quantity: str) -> float:
        """Return the "grams", "ph" or "ec" of what a vessel holds, everything mixed; see `wet.dosing`."""
        return holds(self.plumbing, vessel, quantity)

    def tare(self, cell: str) -> bool:
        """Let a balance show what it carries as 0.0 g from now on; return whether it did, as only a stable one does."""
        if cell not in self.channels.cells:
            raise KeyError(f"No balance {cell!r} in this laboratory. Balances: {', '.join(self.channels.cells)}.")
        index = self.channels.cells.index(cell)
        self._pressed |= 1 << index
        return self._cells[index].tare()

    def rearrange(self, change: Rearrangement) -> None:
        """Refuse: no environment acts here."""
        raise SetupError(f"Nothing moves {', '.join(change.fixtures)} in the fast laboratory; physics does.")

    def now(self) -> Block:
        """Return what is so at this instant, one row."""
        force = np.full((1, len(self._cells)), self._forces(), np.float32)
        self._silence(self.tick, force)
        return _Rows(self).block(1, force, POLICY, self._liquid(), self.plumbing.samples(), 0)

    def sense(self, cameras: tuple[str, ...] = (), depth: bool = False, readings: bool = False) -> Senses:
        """Return where the hand is and what the instruments' data ports show at this instant; there is no camera."""
        del depth
        if cameras:
            raise KeyError(f"No camera {cameras[0]!r} in the fast laboratory; it has none.")
        tool = _grid(self.tool, DOWN)[0]
        shown = np.concatenate((tool[:3] / round(1 / LENGTH), tool[3:] / round(1 / TURN)))
        opening = round(self.opening[0] / LENGTH) / round(1 / LENGTH)
        robot = RobotState(np.array(HOME), np.zeros(7), opening, shown, self.command)
        return Senses(self.time, robot, readings=self._readings() if readings else ())

    def save(self) -> FastCheckpoint:
        """Return everything that decides how the laboratory continues; only between two operations."""
        if self.activity is not None:
            raise RuntimeError("An operation is under way; save between two operations.")
        return FastCheckpoint(
            self.model_digest,
            self._setup,
            self.tick,
            tuple(self.where[item] for item in self.channels.items),
            tuple(self.touch),
            self.tool,
            self.opening,
            self.plumbing.state(),
            tuple(cell.state() for cell in self._cells),
            self._readouts,
            tuple(port.state() for port in self._ports),
            self.dipped,
            self._pressed,
            tuple(self.zero.items()),
            frozen(self.rng),
        )

    def load(self, checkpoint: FastCheckpoint) -> None:
        """Continue from `checkpoint`, which a laboratory of the same parts saved, bit for bit."""
        if checkpoint.model_digest != self.model_digest:
            raise ValueError(
                f"This checkpoint belongs to model {checkpoint.model_digest!r}, not {self.model_digest!r}."
            )
        self._lay_out(checkpoint.setup)
        self._fill(checkpoint.setup)
        self._setup, self.tick = checkpoint.setup, checkpoint.tick
        self.where = dict(zip(self.channels.items, checkpoint.where, strict=True))
        self.touch, self.tool, self.opening = list(checkpoint.touch), checkpoint.tool, checkpoint.opening
        self.plumbing.load(checkpoint.plumbing)
        for cell, state in zip(self._cells, checkpoint.cells, strict=True):
            cell.load(state)
        for port, known in zip(self._ports, checkpoint.ports, strict=True):
            port.load(known)
        self._readouts, self.dipped = checkpoint.readouts, checkpoint.dipped
        self._pressed, self.zero, self.rng = checkpoint.pressed, dict(checkpoint.zero), thawed(checkpoint.stream)

    def close(self) -> None:
        """Release nothing."""

    # --- for the hands

    def stable(self) -> bool:
        """Return whether every balance shows a stable value."""
        return all(bool(readout.stable[-1]) for readout in self._readouts)

    def calm(self) -> bool:
        """Return whether no liquid moves by itself."""
        return self.plumbing.calm(self._placed())

    def held(self) -> str:
        """Return the item in the hand, "" for none."""
        return next((item for item, touch in zip(self.channels.items, self.touch, strict=False) if touch & _HELD), "")

    def fixture(self, name: str) -> Pose:
        """Return where a fixture stands."""
        return self._setup.fixtures[name]

    def bit(self, surface: str) -> int:
        """Return the touch mask of a surface."""
        return 1 << (FIRST_SURFACE + self.channels.surfaces.index(surface))

    def grip(self, item: str, height: float) -> None:
        """Close the fingers on an item at `height` [m] of its axis, where it stands."""
        self.touch[self.channels.items.index(item)] |= _HELD
        x, y, z = self.where[item].at
        self.tool = (x, y, z + height)
        self.opening = (2 * self.stock.grips[item], 0.0)

    def lift(self, item: str, where: Where, height: float) -> None:
        """Carry a held item to `where`; the hand is at `height` [m] of its axis."""
        self.touch[self.channels.items.index(item)] = _HELD
        self.move(item, where, height)

    def move(self, item: str, where: Where, height: float) -> None:
        """Put a held item elsewhere."""
        self.where[item] = where
        (x, y, z), (ax, ay, az) = where.at, where.axis
        self.tool = (x + height * ax, y + height * ay, z + height * az)

    def lower(self, item: str, where: Where, surface: str, height: float) -> None:
        """Stand a held item on a surface; the fingers still hold it."""
        self.move(item, where, height)
        self.touch[self.channels.items.index(item)] = _HELD | self.bit(surface)

    def release(self, item: str) -> None:
        """Open the fingers around an item that stands, and go away."""
        self.touch[self.channels.items.index(item)] &= ~_HELD
        self.opening = (STROKE, STROKE)
        self.tool = PARKED

    # --- inside

    def _check(self, setup: Setup) -> None:
        channels = self.channels
        if missing := (set(channels.items) - setup.items.keys()) | (set(channels.fixtures) - setup.fixtures.keys()):
            raise SetupError(f"No pose for {', '.join(sorted(missing))}.")
        about_items = {*setup.items, *setup.masses, *setup.on_cell} - set(channels.items)
        about_cells = {fault.cell for fault in setup.faults} - set(channels.cells)
        if unknown := about_items | about_cells | (setup.fixtures.keys() - set(channels.fixtures)):
            raise SetupError(f"Not in this laboratory: {', '.join(sorted(unknown))}.")
        if setup.held is not None or setup.after:
            raise SetupError("The fast laboratory starts with an empty hand, and no environment acts in it.")

    def _lay_out(self, setup: Setup) -> None:
        """Stand everything where it starts, with fresh instruments."""
        self.activity = self.then = None
        self.where = {name: Where((pose.x, pose.y, pose.z), UPRIGHT, pose.yaw) for name, pose in setup.items.items()}
        self._fixtures = np.array([_grid((p.x, p.y, p.z), _turn(p.yaw))[0] for p in self._fixed(setup)], np.int32)
        self._fixtures = self._fixtures.reshape(-1, 7)
        self._stands = {
            name: (pose.x, pose.y, pose.z)
            for name, pose in zip(self.channels.fixtures, self._fixed(setup), strict=True)
        }
        self.touch = [self.bit(self._below(item, setup)) for item in self.channels.items] + [0]
        self.tool, self.opening = PARKED, (STROKE, STROKE)
        self._masses = [setup.masses.get(item, self.stock.bodies[item].mass) for item in self.channels.items]
        self._cells = tuple(electronics(TIMESTEP) for _, _, electronics in self.stock.cells)
        self._ports: Any = ports_of(self._parts, TIMESTEP, setup)
        self._pressed = 0
        self.rng = np.random.default_rng([setup.seed if isinstance(setup, WetSetup) else 0, HANDS])
        self._hands = FastHands(self)

    def _fill(self, setup: Setup) -> None:
        try:
            self.plumbing.fill(setup if isinstance(setup, WetSetup) else WetSetup({}, {}, {}))
        except ValueError as error:
            raise SetupError(str(error)) from error

    def _fixed(self, setup: Setup) -> list[Pose]:
        return [setup.fixtures[name] for name in self.channels.fixtures]

    def _surface_of(self, body: str) -> str:
        return next(name for name, bodies in self.stock.surfaces.items() if body in bodies)

    def _below(self, item: str, setup: Setup) -> str:
        """Return the surface that an item stands on: that of the nearest fixture, the pan where it has one."""
        at = setup.items[item]
        nearest = min(
            self.channels.fixtures,
            key=lambda name: math.hypot(setup.fixtures[name].x - at.x, setup.fixtures[name].y - at.y),
        )
        pans = [body for _, body, _ in self.stock.cells if self.stock.mounted.get(body) == nearest]
        return self._surface_of(pans[0] if pans else nearest)

    def _placed(self) -> list[Placed]:
        """Return where every vessel is."""
        where, stands = self.where, self._stands
        return [
            Placed(where[name].at, where[name].axis) if name in where else Placed(stands[name], UPRIGHT)
            for name in self.channels.vessels
        ]

    def _flow(self, seconds: float, placed: list[Placed], substeps: int = 1) -> None:
        where = self.where
        tips = tuple(where[item].at for item in self._tips)
        stirrers = tuple(where[item].at for item in self._stirrers)
        self.plumbing.step(seconds, placed, tips, stirrers, substeps)

    def _busy(self, rows: _Rows, force: np.ndarray, steps: int) -> int:
        """Let time pass tick by tick while something goes on; return how many ticks passed."""
        glimpse = _Glimpse(self._cells[0].state()) if self._cells else None
        loads = self._loads()
        for index in range(steps):
            rows.keep(self)
            force[index] = self._forces(loads)
            placed = self._placed()
            self._flow(TIMESTEP, placed, 1 if self.plumbing.calm(placed) else _SUBSTEPS)
            self.tick += 1
            self.then = None
            if self.activity is None:
                continue
            blind = bool(self._setup.faults) and bool(np.isnan(self._silenced(self.tick - 1, force[index])))
            shown = None if glimpse is None or blind else glimpse.look(float(force[index, 0]))
            self.then = dict(self.where)
            if not self.activity.tick(self, shown):
                self.activity = self.then = None
                return index + 1
        return steps

    def _silenced(self, tick: int, row: np.ndarray) -> float:
        copy = row[None].copy()
        self._silence(tick, copy)
        return float(copy[0, 0])

    def _forces(self, loads: list[_Load] | None = None) -> list[float]:
        """Return the upward force on each load cell [N]: what rests on its pan, and the push of a stream."""
        plumbing = self.plumbing
        return [
            GRAVITY * (load.still + sum(plumbing.held(v) + plumbing.pushes.get(v, 0.0) for v in load.vessels))
            for load in (loads or self._loads())
        ]

    def _loads(self) -> list[_Load]:
        """Return what rests on each pan."""
        names, found = self.channels.vessels, []
        for (_, body, _), surface in zip(self.stock.cells, self._pans, strict=True):
            bit = self.bit(surface)
            on = [i for i, touch in enumerate(self.touch[:-1]) if touch & bit and not touch & _HELD]
            still = self.stock.bodies[body].mass + sum(self._masses[i] for i in on)
            items = (self.channels.items[i] for i in on)
            found.append(_Load(still, tuple(names.index(item) for item in items if item in names)))
        return found

    def _silence(self, first: int, force: np.ndarray) -> None:
        """Let failed load cells return NaN."""
        for fault in self._setup.faults:
            times = np.arange(first, first + len(force)) * TIMESTEP
            covered = (times >= fault.start) & (times < fault.stop)
            force[covered, self.channels.cells.index(fault.cell)] = np.nan

    def _liquid(self) -> np.ndarray:
        return np.rint(self.plumbing.grams() / MASS).astype(np.int64)

    def _readings(self) -> tuple[Reading, ...]:
        cells = tuple(
            Reading(
                name,
                float(readout.shown[-1]) if readout.status[-1] == OK else None,
                cell.unit,
                bool(readout.stable[-1]),
                STATUSES[readout.status[-1]],
                (self.tick - 1) * TIMESTEP,
            )
            for name, cell, readout in zip(self.channels.cells, self._cells, self._readouts, strict=True)
        )
        return cells + port_readings(self.channels.meters, self.dipped, TIMESTEP)


class _Load(NamedTuple):
    """What rests on a pan: mass that does not change [kg], and indices of vessels."""

    still: float
    vessels: tuple[int, ...]


class _Rows:
    """Collect the rows of a block: one that repeats, or one per tick while something moves."""

    def __init__(self, world: FastWorld) -> None:
        self._world, self._tick = world, world.tick
        self._still = _poses(world)
        self._moving: list[np.ndarray] = []
        self._speeds: list[np.ndarray] = []
        self._touch = np.array(world.touch, np.uint16)
        self._opening = np.array([round(value / LENGTH) for value in world.opening], np.int32)
        # A copy: hands write into `where`, and what is compared with itself has never moved.
        self._before = dict(world.where if world.then is None else world.then)

    def keep(self, world: FastWorld) -> None:
        """Take down where things are at the beginning of a tick, and how fast they got there."""
        pose, speed = self._still, np.zeros((len(world.channels.items), 2), np.int32)
        moved = [item for item in world.where if world.where[item] is not self._before[item]]
        if moved:
            pose = (self._moving[-1] if self._moving else self._still).copy()
            for item in moved:
                index, now, then = world.channels.items.index(item), world.where[item], self._before[item]
                pose[index] = _row(now)
                speed[index] = _speed(then, now)
            pose[-1] = _grid(world.tool, DOWN)[0]
            self._before = dict(world.where)
        elif self._moving:
            pose = self._moving[-1]
        self._moving.append(pose)
        self._speeds.append(speed)

    def block(
        self, ticks: int, force: np.ndarray, control: int, liquid: np.ndarray, sample: np.ndarray, pressed: int
    ) -> Block:
        """Return the block."""
        n = len(self._world.channels.items)
        pose = np.array(self._moving) if self._moving else np.broadcast_to(self._still, (ticks, n + 1, 7))
        speed = np.array(self._speeds) if self._speeds else np.broadcast_to(_STILL[:n], (ticks, n, 2))
        return Block(
            tick=self._tick,
            pose=pose,
            speed=speed,
            touch=np.broadcast_to(self._touch, (ticks, n + 1)),
            opening=np.broadcast_to(self._opening, (ticks, 2)),
            force=force,
            fixtures=self._world._fixtures,
            control=control,
            liquid=liquid,
            sample=sample[: len(self._world.channels.meters)],
            pressed=pressed,
        )


class _Glimpse:
    """What a balance shows from tick to tick, one number at a time: the same arithmetic as its electronics."""

    def __init__(self, state: CellState) -> None:
        self._zero, self._filtered, self._tare = state.zero, state.filtered, state.tare

    def look(self, force: float) -> float | None:
        """Return what is shown after a tick under `force` [N], None out of range."""
        raw = (1000.0 / GRAVITY) * (force - self._zero)
        self._filtered += GAIN * (raw - self._filtered)
        if not FLOOR <= self._filtered <= CAPACITY:
            return None
        return round((self._filtered - self._tare) / QUANTUM) / round(1 / QUANTUM)


_STILL = np.zeros((64, 2), np.int32)


def _poses(world: FastWorld) -> np.ndarray:
    rows = [_row(world.where[item]) for item in world.channels.items]
    return np.array([*rows, _grid(world.tool, DOWN)[0]], np.int32)


def _row(where: Where) -> np.ndarray:
    return _grid(where.at, _turn(where.yaw) if where.axis == UPRIGHT else _lean(where.axis))[0]


def _turn(yaw: float) -> tuple[float, float, float, float]:
    """Return the wxyz quaternion of a turn about the vertical, w >= 0."""
    w, z = math.cos(yaw / 2), math.sin(yaw / 2)
    return (w, 0.0, 0.0, z) if w >= 0 else (-w, 0.0, 0.0, -z)


def _lean(axis: tuple[float, float, float]) -> tuple[float, float, float, float]:
    """Return the quaternion of the shortest turn that brings the vertical to `axis`."""
    x, y, z = axis
    w = math.sqrt(max(0.0, (1.0 + z) / 2))
    if w < 1e-9:
        return 0.0, 1.0, 0.0, 0.0
    return w, -y / (2 * w), x / (2 * w), 0.0


def _grid(at: tuple[float, float, float], turn: tuple[float, float, float, float]) -> np.ndarray:
    numbers = [round(value / LENGTH) for value in at] + [round(value / TURN) for value in turn]
    return np.array([numbers], np.int32)


def _speed(then: Where, now: Where) -> tuple[int, int]:
    """Return linear and angular speed between two ticks on their grid."""
    cosine = sum(a * b for a, b in zip(then.axis, now.axis, strict=True))
    turned = math.acos(max(-1.0, min(1.0, cosine)))
    return round(math.dist(then.at, now.at) / TIMESTEP / SPEED), round(turned / TIMESTEP / SPEED)
