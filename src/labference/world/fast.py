"""The laboratory without an arm: the same liquids, chemistry, instruments and records, and no physics engine.

Things jump between the places where operations put them; while liquid flows or a tool stirs, time passes in ticks, and
otherwise in stretches. Every row of a block is measured before the tick that it belongs to, as with the simulated arm.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..truth.contract import port_readings, ports_of, read_ports
from ..truth.filling import WetSetup
from ..truth.measurement import (
    LENGTH,
    MASS,
    OK,
    POLICY,
    STATUSES,
    TURN,
    Block,
    Dipped,
    Readout,
    Rearrangement,
    Setup,
)
from ..wire import Operation
from ..wire.observation import Reading, RobotState, Senses
from ..wire.panda import HOME
from .fast_activities import Activity
from .fast_hands import FastHands
from .fast_rows import DOWN, Where, grid, moved
from .fast_things import Load, Things
from .faults import SetupError
from .inventory import channels_of, take_stock
from .parts import Part
from .parts.balance import GRAVITY, CellState, Glimpse
from .wet.chance import Stream, frozen, thawed
from .wet.dosing import holds, needed
from .wet.plumbing import Plumbing, PlumbingState
from .wet.port import PortState
from .wet.pour import LONGEST_STEP
from .wet.timing import TIMINGS

TIMESTEP = 0.05
"""Length of a tick [s]: one control period at 20 Hz."""
STRIDE, LONGEST = 20, 600
"""Most ticks of a block while a tested system waits, who is told of news at its end, and while hands work."""
MIXING = 20
"""Ticks of a block while what surrounds a dipped probe changes: its meter reads one sample per block."""
ZEROING, SETTLING = 4, 60
"""Ticks over which empty load cells are averaged, and after which a bench counts as prepared."""
HANDS = 5
"""Keeps the draws of times and failures apart from those of the liquids."""
_SUBSTEPS = round(TIMESTEP / LONGEST_STEP)
_RESTING = np.zeros((64, 2), np.int32)


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


class _Passed(NamedTuple):
    """What came of ticks in which something went on.

    forces  on the load cells, one row per tick [N]
    trail   where the item was that moved, one per tick; empty where none did
    still   ticks at the end through which no liquid moved
    """

    forces: list[list[float]]
    trail: list[Where]
    still: int


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
        self.things = Things(self.stock, self.channels)
        self._tips = [item for item, meter in self.stock.tips if meter]
        self._stirrers = [item for item, meter in self.stock.tips if not meter]
        self.plumbing = Plumbing(tuple(self.stock.cups), len(self._tips))
        self._setup: Setup = WetSetup({}, {}, {})
        self.activity: Activity | None = None
        self._before: Where | None = None
        self.zero: dict[str, float] = {}
        self.tick = 0
        self.dipped: tuple[Dipped, ...] = ()
        self._readouts: tuple[Readout, ...] = ()
        self._pressed = 0

    @property
    def time(self) -> float:
        """Return the simulated time since handoff [s]."""
        return self.tick * TIMESTEP

    @property
    def command(self) -> np.ndarray:
        """Return joint targets [rad], which nothing follows, and the gripper opening [m] in force, (8,)."""
        return np.array([*HOME, self.things.opening[1]])

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
        touch = self.things.touch
        aside = {self.things.column(item): touch[self.things.column(item)] for item in setup.on_cell}
        for column in aside:
            touch[column] = 0
        empty = np.full((ZEROING, len(self._cells)), self._forces(self.things.loads()), np.float32)
        for index, (name, cell) in enumerate(zip(self.channels.cells, self._cells, strict=True)):
            self.zero[name] = cell.zero(empty[:, index])
        for column, before in aside.items():
            touch[column] = before
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
        first, things = self.tick, self.things
        calm = self.activity is None and self.calm()
        steps = min(steps, self._even()) if calm else steps
        still, pose, touch, opening = steps, things.poses(), np.array(things.touch, np.uint16), things.openings()
        n = len(self.channels.items)
        speed = _RESTING[:n]
        if calm:
            force = np.full((steps, len(self._cells)), self._forces(things.loads()), np.float32)
            still -= self._flow(steps)
        else:
            before, activity = self._before, self.activity
            passed = self._busy(steps)
            steps, still = len(passed.forces), passed.still
            force = np.array(passed.forces, np.float32)
            if activity is not None:
                pose, speed = moved(pose, passed.trail, before, things.column(activity.item), activity.height, TIMESTEP)
        self._silence(first, force)
        block = Block(
            tick=first,
            pose=np.broadcast_to(pose, (steps, n + 1, 7)),
            speed=np.broadcast_to(speed, (steps, n, 2)),
            touch=np.broadcast_to(touch, (steps, n + 1)),
            opening=np.broadcast_to(opening, (steps, 2)),
            force=force,
            fixtures=things.fixtures,
            control=control,
            liquid=self._liquid(),
            sample=self._sample(),
            pressed=self._pressed,
            still=still,
        )
        self._pressed = 0
        self.tick = first + steps
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
        things, n = self.things, len(self.channels.items)
        force = np.array([self._forces(things.loads())], np.float32)
        self._silence(self.tick, force)
        return Block(
            tick=self.tick,
            pose=things.poses()[None],
            speed=_RESTING[:n][None],
            touch=np.array([things.touch], np.uint16),
            opening=things.openings()[None],
            force=force,
            fixtures=things.fixtures,
            liquid=self._liquid(),
            sample=self._sample(),
        )

    def sense(self, cameras: tuple[str, ...] = (), depth: bool = False, readings: bool = False) -> Senses:
        """Return where the hand is and what the instruments' data ports show at this instant; there is no camera."""
        del depth
        if cameras:
            raise KeyError(f"No camera {cameras[0]!r} in the fast laboratory; it has none.")
        tool = grid(self.things.tool, DOWN)
        shown = np.array([*(n / round(1 / LENGTH) for n in tool[:3]), *(n / round(1 / TURN) for n in tool[3:])])
        opening = round(self.things.opening[0] / LENGTH) / round(1 / LENGTH)
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
            tuple(self.things.where[item] for item in self.channels.items),
            tuple(self.things.touch),
            self.things.tool,
            self.things.opening,
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
        things = self.things
        things.put(dict(zip(self.channels.items, checkpoint.where, strict=True)))
        things.touch, things.tool, things.opening = list(checkpoint.touch), checkpoint.tool, checkpoint.opening
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
        return self.plumbing.calm(self.things.placed)

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
        self.activity = self._before = None
        self.things.lay_out(setup)
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

    def _even(self) -> int:
        """Return for how many ticks a meter may read one sample: its tip stays in a liquid that hardly changes."""
        where = self.things.where
        steady = self.plumbing.even(self.things.placed, [where[item].at for item in self._tips])
        if steady is None:
            return self.longest
        spread, aired = steady
        # A liquid that takes up CO2 during a tick is another one from that tick on.
        due = math.ceil(aired / TIMESTEP - 1e-6) - 1
        return min(self.longest, max(MIXING, int(min(spread, 1e3) / TIMESTEP)), due if due > 0 else self.longest)

    def _flow(self, ticks: int, substeps: int = 1, *, stirs: bool = False) -> bool:
        """Let liquids go on for `ticks`; return whether a mass changed."""
        where = self.things.where
        tips = tuple([where[item].at for item in self._tips])
        stirrers = tuple([where[item].at for item in self._stirrers])
        return self.plumbing.step(ticks * TIMESTEP, self.things.placed, tips, stirrers, substeps, stirs=stirs)

    def _busy(self, steps: int) -> _Passed:
        """Let time pass while something goes on, up to its end: tick by tick where that depends on each."""
        plumbing, where, placed, activity = self.plumbing, self.things.where, self.things.placed, self.activity
        glimpse = Glimpse(self._cells[0].state(), TIMESTEP) if self._cells else None
        loads, forces = self.things.loads(), list[list[float]]()
        trail, last = list[Where](), 0
        while len(forces) < steps:
            calm, left = plumbing.calm(placed), steps - len(forces)
            ticks = 1 if not calm else left if activity is None else self._blind(activity, left)
            row = self._forces(loads)
            if activity is not None:
                trail.append(where[activity.item])
            if self._flow(ticks, 1 if calm else _SUBSTEPS, stirs=ticks > 1 and activity is not None):
                last = len(forces) + 1
            forces += [row] * ticks
            if activity is None:
                continue
            shown = None if ticks > 1 else self._shown(glimpse, self.tick + len(forces) - 1, row)
            trail += activity.tick(self.things, shown, ticks)
            if activity.over:
                self.activity = activity = None
                break
        self._before = None if activity is None else trail[-1]
        return _Passed(forces, trail, len(forces) - last)

    def _blind(self, activity: Activity, left: int) -> int:
        """Return how many ticks of at most `left` an activity may pass at once; liquids exchange CO2 at the last."""
        due = max(1, math.ceil(self.plumbing.airs / TIMESTEP - 1e-6))
        return min(left, due, activity.blind())

    def _shown(self, glimpse: Glimpse | None, tick: int, row: list[float]) -> float | None:
        """Return what the first balance shows [g] after a tick under the forces of `row`, None where nothing."""
        if glimpse is None:
            return None
        if self._setup.faults:
            force = np.array([row], np.float32)
            self._silence(tick, force)
            if np.isnan(force[0, 0]):
                return None
        return glimpse.look(float(np.float32(row[0])))

    def _forces(self, loads: list[Load]) -> list[float]:
        """Return the upward force on each load cell [N]: what rests on its pan, and the push of a stream."""
        held, pushes, found = self.plumbing.held, self.plumbing.pushes, []
        for still, vessels in loads:
            poured = 0.0
            for vessel in vessels:
                poured += held(vessel) + pushes.get(vessel, 0.0)
            found.append(GRAVITY * (still + poured))
        return found

    def _silence(self, first: int, force: np.ndarray) -> None:
        """Let failed load cells return NaN."""
        for fault in self._setup.faults:
            times = np.arange(first, first + len(force)) * TIMESTEP
            covered = (times >= fault.start) & (times < fault.stop)
            force[covered, self.channels.cells.index(fault.cell)] = np.nan

    def _liquid(self) -> np.ndarray:
        return np.rint(self.plumbing.grams() / MASS).astype(np.int64)

    def _sample(self) -> np.ndarray:
        return self.plumbing.samples()[: len(self.channels.meters)]

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
