"""The laboratory at work. `World.step` and the preparation of an instance are the only code that lets time pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..truth.contract import DippedInstrument, port_readings, read_ports
from ..truth.measurement import (
    LENGTH,
    OK,
    POLICY,
    QUANTITIES,
    SPEED,
    STATUSES,
    TURN,
    Block,
    Dipped,
    Readout,
    Rearrangement,
    SensorFault,
    Setup,
    Shown,
)
from ..wire.action import STROKE
from ..wire.observation import Frame, Reading, RobotState, Senses
from ..wire.panda import HOME
from .build import build
from .built import Built
from .cameras import Profile, Studio
from .engine import mujoco
from .faults import SetupError, SimulationFault
from .measure import Meter, Rows, join, repeated
from .parts import Part
from .parts.balance import CellState
from .prepare import check_cell, check_setup, place, rearrange, set_colours, set_masses
from .robot import FULL_SCALE
from .stillness import Instant, Stillness

if TYPE_CHECKING:
    from .wet.port import PortState
    from .wetting import Wetting, WettingState

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
ZEROING = 0.2
"""Time over which empty load cells are averaged [s]."""
STANDING = 0.5
"""Time that vessels on load cells are given to come to rest before those are zeroed [s]."""
SETTLING, MORE_SETTLING, LONGEST_SETTLING = 3.0, 0.5, 6.0
"""Time that a prepared scene is given to come to rest: at first, again and again, and in all [s]."""
LONGEST, MIXING = 20, 10
"""Most control periods that pass at once where nothing moves or flows, and where something mixes around a probe: a
meter, which has a new value every 0.5 s, reads one sample per block."""
AWHILE = 50
"""Ticks over which an item must have rested."""
ENCODER = 1e-6
"""Resolution of the joint encoders [rad]."""
AT_REST = (100, 1000)
"""Linear and angular speed below which an item counts as resting, on the grid of a `Block`: 1 cm/s and 0.1 rad/s."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything that decides how a laboratory continues: `state` of the simulator and what surrounds it."""

    model_digest: str
    setup: Setup
    state: np.ndarray
    tick: int
    command: np.ndarray
    cells: tuple[CellState, ...]
    readouts: tuple[Readout, ...]
    generation: int = 0
    wet: WettingState | None = None
    pressed: int = 0
    ports: tuple[PortState, ...] = ()
    dipped: tuple[Dipped, ...] = ()


_PER_SHOWN = np.rint(1 / np.repeat((ENCODER, SPEED, LENGTH, TURN, LENGTH), (7, 7, 3, 4, 1)))
"""Steps per unit of what proprioception shows: joints, velocities, position and orientation of the tool, opening.

Dividing by a whole number gives the decimal that is nearest, which is short in a record.
"""


class World:
    """A laboratory of `parts` with a robot, advanced `timestep` [s] at a time."""

    moves = True
    stride = 1

    def __init__(self, parts: tuple[Part, ...], *, timestep: float = 0.002, render: Profile = "fast") -> None:
        self._built = build(parts, timestep)
        self._model = self._built.model
        self._data = mujoco.MjData(self._model)
        self._scratch = mujoco.MjData(self._model)
        self._meter = Meter(self._built)
        self._rows: dict[int, Rows] = {}
        self._studio = Studio(self._built, render)
        self._wet = _wetting(self._built, self._scratch)
        self._stillness = Stillness(self._model, self._scratch)
        self._dippable = tuple(part for part in parts if isinstance(part, DippedInstrument))
        self._ports: tuple[Any, ...] = ()
        self.dipped: tuple[Dipped, ...] = ()
        self._cells = tuple(cell.electronics(timestep) for cell in self._built.cells)
        self._readouts: tuple[Readout, ...] = ()
        self._setup = Setup({}, {}, {})
        self._command = np.array([*HOME, STROKE])
        self.channels = self._built.channels
        self.model_digest = self._built.digest
        self.cameras = tuple(self._built.cameras)
        self.zero: dict[str, float] = {}
        self.tick = 0
        self.generation = 0
        self._pressed = 0

    @property
    def physics(self) -> str:
        """Return the engine and its step, as an identity states them."""
        return f"mujoco {mujoco.__version__}, {self.channels.timestep:g} s"

    @property
    def time(self) -> float:
        """Return the simulated time since handoff [s]."""
        return self.tick * self.channels.timestep

    @property
    def longest(self) -> int:
        """Return how many control periods may pass at once while the command in force is kept and hands wait."""
        wet = self._wet
        instant = None if wet is None else self._stillness.at(self._data, self._hold(1))
        if wet is None or instant is None or not wet.rests(instant):
            return 1
        return MIXING if wet.mixes else LONGEST

    @property
    def command(self) -> np.ndarray:
        """Return the joint targets [rad] and gripper opening [m] in force, (8,)."""
        return self._command.copy()

    def prepare(self, setup: Setup) -> Block:
        """Set up an instance and let it come to rest; return all ticks since zeroing, the last one being -1.

        Load cells are zeroed without the items `setup.on_cell`. Afterwards the tick is 0 and the robot holds its home
        position with an open gripper, or with one that is closed around `setup.held`. Sensor faults begin to count at
        tick 0.
        """
        check_setup(self._built, setup)
        self._setup = replace(setup, faults=())
        self.generation = self._pressed = 0
        self._dress(setup)
        self._command = np.array([*HOME, 0.0 if setup.held else STROKE])
        place(self._built, self._data, setup, aside=setup.on_cell)
        if self._wet is not None:
            # An empty vessel may stand on a pan that is zeroed; it comes to rest before, and stays there.
            self._wet.fill(setup, empty=True)
            self._advance(self._hold(round(STANDING / self.channels.timestep)))
        self._zero_cells()
        if self._wet is not None:
            self._wet.fill(setup)
        if self._wet is None or setup.on_cell:
            place(self._built, self._data, setup)
        self._ports = self._fresh_ports(setup)
        blocks = self._settle()
        self.tick = 0
        self._setup = setup
        return join(blocks, -sum(block.ticks for block in blocks))

    def step(self, command: np.ndarray, steps: int, control: int = POLICY) -> tuple[Block, tuple[Readout, ...]]:
        """Advance `steps` physics steps towards `command` (8,): seven joint targets [rad] and a gripper opening [m].

        Arm targets ramp linearly from the command in force and arrive at the last step; the gripper is told at once.
        `control` says who decides what happens meanwhile.
        Returns what was so at each step, and what each instrument made of it.
        """
        command = np.array(command, np.float64)
        if command.shape != (8,) or not np.isfinite(command).all() or steps < 1:
            raise ValueError(f"A command is 8 finite numbers over at least 1 step, not {command!r} over {steps!r}.")
        share = np.arange(1, steps + 1)[:, None] / steps
        controls = self._command + share * (command - self._command)
        controls[-1] = command
        controls[:, 7] = command[7] * (FULL_SCALE / STROKE)
        self._command = command
        block = self._advance(controls, control)
        self._readouts = self._read(block)
        return block, self._readouts

    def tare(self, cell: str) -> bool:
        """Let a balance show what it carries as 0.0 g from now on; return whether it did, as only a stable one does.

        The next block says that the key was pressed.
        """
        if cell not in self.channels.cells:
            raise KeyError(f"No balance {cell!r} in this laboratory. Balances: {', '.join(self.channels.cells)}.")
        index = self.channels.cells.index(cell)
        self._pressed |= 1 << index
        return self._cells[index].tare()

    def needed(self, source: str, vessel: str, aim: Mapping[str, float]) -> float:
        """Return how many grams of `source` bring `vessel` to `aim`, with true compositions; see `wet.dosing`."""
        if self._wet is None:
            raise ValueError("Nothing holds liquid in this laboratory.")
        from .wet.dosing import needed

        return needed(self._wet.plumbing, source, vessel, aim)

    def holds(self, vessel: str, quantity: str) -> float:
        """Return the "grams", "ph" or "ec" of what a vessel holds, everything mixed; see `wet.dosing`."""
        if self._wet is None:
            raise ValueError("Nothing holds liquid in this laboratory.")
        from .wet.dosing import holds

        return holds(self._wet.plumbing, vessel, quantity)

    def dripping(self) -> bool:
        """Return whether drops fall, or may still fall."""
        return self._wet is not None and self._wet.plumbing.dripping

    def rearrange(self, change: Rearrangement) -> None:
        """Let the environment move fixtures and free bodies at this instant; no time passes.

        Bodies that it moves are at rest afterwards and count as rebuilt: `generation` grows by one. Raises
        `SetupError` for a name that is not in this laboratory, or a body that is to be moved twice.
        """
        self.generation += rearrange(self._built, self._data, change)

    def now(self) -> Block:
        """Return what is so at this instant, one row: the next block begins with it if the command in force stays."""
        _copy_state(self._model, self._data, self._scratch)
        mujoco.mj_forward(self._model, self._scratch)
        rows = Rows(self._model, 1)
        rows.sensors[0] = self._scratch.sensordata
        rows.contacts[0] = self._scratch.contact.geom.tobytes()
        return self._measured(rows, POLICY)

    def sense(self, cameras: tuple[str, ...] = (), depth: bool = False, readings: bool = False) -> Senses:
        """Return what the robot's encoders, `cameras` and the instruments' data ports show at this instant."""
        if cameras:
            self._show()
        return Senses(
            time=self.time,
            robot=self._robot_state(),
            frames=tuple(self._studio.frame(camera, self.time, depth) for camera in cameras),
            readings=self._readings() if readings else (),
        )

    def frame(self, camera: str, depth: bool = False, size: tuple[int, int] | None = None) -> Frame:
        """Render one camera, in its own size or in `size` (width, height) pixels."""
        self._show()
        return self._studio.frame(camera, self.time, depth, size)

    def size(self, camera: str) -> tuple[int, int]:
        """Return width and height of the frames of `camera`, in pixels."""
        if camera not in self._built.cameras:
            raise KeyError(f"No camera {camera!r} in this laboratory. Cameras: {', '.join(self.cameras)}.")
        return self._built.cameras[camera].size

    def save(self) -> Checkpoint:
        """Return everything that decides how the laboratory continues."""
        state = np.empty(mujoco.mj_stateSize(self._model, STATE))
        mujoco.mj_getState(self._model, self._data, state, STATE)
        cells = tuple(cell.state() for cell in self._cells)
        command, tick, generation = self._command.copy(), self.tick, self.generation
        wet = None if self._wet is None else self._wet.state()
        return Checkpoint(
            self.model_digest,
            self._setup,
            state,
            tick,
            command,
            cells,
            self._readouts,
            generation,
            wet=wet,
            pressed=self._pressed,
            ports=tuple(port.state() for port in self._ports),
            dipped=self.dipped,
        )

    def load(self, checkpoint: Checkpoint) -> None:
        """Continue from `checkpoint`, which a laboratory of the same parts saved, bit for bit."""
        if checkpoint.model_digest != self.model_digest:
            raise ValueError(
                f"This checkpoint belongs to model {checkpoint.model_digest!r}, not {self.model_digest!r}."
            )
        self._setup = checkpoint.setup
        self._dress(checkpoint.setup)
        if self._wet is not None:
            if checkpoint.wet is None:
                raise ValueError("This checkpoint says nothing of what the vessels hold.")
            self._wet.load(checkpoint.wet)
        self._ports = self._fresh_ports(checkpoint.setup)
        for port, known in zip(self._ports, checkpoint.ports, strict=True):
            port.load(known)
        self.dipped = checkpoint.dipped
        mujoco.mj_resetData(self._model, self._data)
        mujoco.mj_setState(self._model, self._data, checkpoint.state, STATE)
        self.tick, self.generation = checkpoint.tick, checkpoint.generation
        self._command = checkpoint.command.copy()
        for cell, state in zip(self._cells, checkpoint.cells, strict=True):
            cell.load(state)
        self._readouts, self._pressed = checkpoint.readouts, checkpoint.pressed
        self.zero = {name: cell.zero for name, cell in zip(self.channels.cells, checkpoint.cells, strict=True)}

    def close(self) -> None:
        """Release the graphics context."""
        self._studio.close()

    def _dress(self, setup: Setup) -> None:
        """Give items the masses and colours of an instance."""
        set_masses(self._built, self._scratch, setup.masses)
        set_colours(self._built, self._model, setup.colours)
        self._studio.colour(setup.colours)
        if self._wet is not None:
            self._wet.fill(setup)

    def _advance(self, controls: np.ndarray, control: int = POLICY) -> Block:
        """Advance one physics step per row of `controls`: nothing else calls mj_step."""
        model, data, wet = self._model, self._data, self._wet
        if wet is not None and (instant := self._stillness.at(data, controls)) and wet.rests(instant):
            return self._stand(instant, len(controls), control)
        if len(controls) not in self._rows:
            self._rows[len(controls)] = Rows(model, len(controls))
        rows = self._rows[len(controls)]
        ctrl, sensors, step = data.ctrl, data.sensordata, mujoco.mj_step
        for i, targets in enumerate(controls):
            ctrl[:] = targets
            step(model, data)
            rows.sensors[i] = sensors
            rows.contacts[i] = data.contact.geom.tobytes()
            if wet is not None:
                wet.follow(data)
        if data.warning.number.any() or not np.isfinite(data.qpos).all():
            raise SimulationFault(_diagnosis(data, self.time))
        return self._passed(self._measured(rows, control))

    def _stand(self, instant: Instant, steps: int, control: int) -> Block:
        """Let time pass for liquids and instruments alone: no body moves."""
        assert self._wet is not None  # nothing else goes on in a scene that stands still
        self._data.time += steps * self.channels.timestep
        self._wet.stand(instant, steps)
        return self._passed(repeated(self._measured(instant.rows, control), steps))

    def _passed(self, block: Block) -> Block:
        """Return `block` with the keys that were pressed before it, and count its ticks."""
        if self._pressed:
            block, self._pressed = replace(block, pressed=self._pressed), 0
        self.tick += block.ticks
        return block

    def _measured(self, rows: Rows, control: int) -> Block:
        fixtures = self._meter.fixtures(self._data)
        opening = float(self._command[7])
        block = self._meter.block(self.tick, rows, opening, fixtures, control, self.generation)
        if self._wet is not None:
            block = replace(block, liquid=self._wet.liquid(), sample=self._wet.sample())
        return self._with_faults(block)

    def _read(self, block: Block) -> tuple[Readout, ...]:
        """Let every instrument read its load cell."""
        self.dipped = read_ports(self._ports, block)
        return tuple(cell.update(block.force[:, i]) for i, cell in enumerate(self._cells))

    def _with_faults(self, block: Block) -> Block:
        """Let failed load cells return NaN."""
        for fault in self._setup.faults:
            times = np.arange(block.tick, block.end) * self.channels.timestep
            block.force[_covers(fault, times), self.channels.cells.index(fault.cell)] = np.nan
        return block

    def _fresh_ports(self, setup: Setup) -> tuple[Any, ...]:
        return tuple(part.port(self.channels.timestep, setup) for part in self._dippable)

    def _zero_cells(self) -> None:
        block = self._advance(self._hold(round(ZEROING / self.channels.timestep)))
        for i, (name, cell) in enumerate(zip(self.channels.cells, self._cells, strict=True)):
            self.zero[name] = cell.zero(block.force[:, i])
            check_cell(name, self._data.site_xmat[self._built.cell_site[i]], self.zero[name])

    def _settle(self) -> list[Block]:
        """Hold still until every instrument is stable and every item rests.

        Nearly every instance takes the shortest time, so that two that differ in a mass are as old at handoff.
        """
        blocks: list[Block] = []
        for seconds in (SETTLING, *[MORE_SETTLING] * round((LONGEST_SETTLING - SETTLING) / MORE_SETTLING)):
            blocks.append(self._advance(self._hold(round(seconds / self.channels.timestep))))
            self._readouts = self._read(blocks[-1])
            resting = bool((blocks[-1].speed[-AWHILE:] <= AT_REST).all())
            if resting and all(readout.stable[-1] for readout in self._readouts):
                return blocks
        moving = [
            name
            for name, speed in zip(self.channels.items, blocks[-1].speed[-1], strict=True)
            if (speed > AT_REST).any()
        ]
        raise SetupError(f"Not at rest after {LONGEST_SETTLING} s. Still moving: {', '.join(moving) or 'no item'}.")

    def _hold(self, steps: int) -> np.ndarray:
        return np.tile([*self._command[:7], self._command[7] * (FULL_SCALE / STROKE)], (steps, 1))

    def _robot_state(self) -> RobotState:
        """Return proprioception; the tool centre point comes from forward kinematics of this instant's joints."""
        built, data, scratch = self._built, self._data, self._scratch
        scratch.qpos[:] = data.qpos
        mujoco.mj_kinematics(self._model, scratch)
        turn = np.empty(4)
        mujoco.mju_mat2Quat(turn, scratch.site_xmat[built.tcp_site])
        turn *= -1.0 if turn[1] < 0 else 1.0
        fingers = data.qpos[built.finger_qpos].sum()
        site = scratch.site_xpos[built.tcp_site]
        shown = np.concatenate((data.qpos[built.arm_qpos], data.qvel[built.arm_qvel], site, turn, (fingers,)))
        shown = np.rint(shown * _PER_SHOWN) / _PER_SHOWN
        return RobotState(shown[:7], shown[7:14], float(shown[21]), shown[14:21], self._command.copy())

    def _readings(self) -> tuple[Reading, ...]:
        """Return the newest sample of every instrument; it belongs to the tick before this one."""
        readings = []
        for name, cell, readout in zip(self.channels.cells, self._cells, self._readouts, strict=True):
            status = STATUSES[readout.status[-1]]
            readings.append(
                Reading(
                    instrument=name,
                    value=float(readout.shown[-1]) if status == STATUSES[OK] else None,
                    unit=cell.unit,
                    stable=bool(readout.stable[-1]),
                    status=status,
                    time=(self.tick - 1) * self.channels.timestep,
                )
            )
        return (*readings, *port_readings(self.channels.meters, self.dipped, self.channels.timestep))

    def _show(self) -> None:
        texts = {
            name: (cell.display(readout), bool(readout.stable[-1]))
            for name, cell, readout in zip(self.channels.cells, self._cells, self._readouts, strict=True)
        }
        texts |= {
            f"{meter} {quantity}": (_digits(shown), shown.stable)
            for meter, found in zip(self.channels.meters, self.dipped, strict=False)
            for quantity, shown in zip(QUANTITIES, found.shown, strict=True)
        }
        self._studio.show(self._data, texts)
        if self._wet is not None:
            plumbing = self._wet.plumbing
            self._studio.fill([plumbing.volume(index) for index in range(len(plumbing.cups))], plumbing.falling)


def _digits(shown: Shown) -> str:
    """Return what a display spells for one quantity."""
    if shown.value is None:
        return "----"
    return f"{shown.value:.2f}" if shown.unit == "pH" else f"{shown.value:.0f}"


def _wetting(built: Built, scratch: Any) -> Wetting | None:
    """Return the liquids of a laboratory with vessels; only those need the chemistry engine."""
    if not built.vessels:
        return None
    from .wetting import Wetting

    return Wetting(built, scratch)


def _diagnosis(data: Any, time: float) -> str:
    """Return what MuJoCo complained about in the block that began at `time` [s]."""
    warnings = [mujoco.mjtWarning(int(kind)).name for kind in np.flatnonzero(data.warning.number)]
    return f"The simulation diverged after {time:.3f} s: {', '.join(warnings) or 'a position is not finite'}."


def _covers(fault: SensorFault, time: Any) -> Any:
    return (time >= fault.start) & (time < fault.stop)


def _copy_state(model: Any, source: Any, target: Any) -> None:
    state = np.empty(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, source, state, STATE)
    mujoco.mj_setState(model, target, state, STATE)
