"""The laboratory at work. `World.step` and the preparation of an instance are the only code that lets time pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..truth.measurement import OK, STATUSES, Block, Pose, Readout, SensorFault, Setup
from ..wire.action import STROKE
from ..wire.observation import Frame, Reading, RobotState, Senses
from ..wire.panda import HOME
from .build import build
from .cameras import Profile, Studio
from .engine import mujoco
from .faults import SetupError, SimulationFault
from .measure import Meter, Rows, join
from .parts import Part
from .parts.balance import CellState
from .robot import FULL_SCALE

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
UPRIGHT = 0.9995
"""Smallest cosine between a load cell's axis and the vertical."""
ZEROING = 0.2
"""Time over which empty load cells are averaged [s]."""
LONGEST_SETTLING = 6.0
"""Time within which a prepared scene must be at rest [s]."""
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


class World:
    """A laboratory of `parts` with a robot, advanced `timestep` [s] at a time."""

    def __init__(self, parts: tuple[Part, ...], *, timestep: float = 0.002, render: Profile = "fast") -> None:
        self._built = build(parts, timestep)
        self._model = self._built.model
        self._data = mujoco.MjData(self._model)
        self._scratch = mujoco.MjData(self._model)
        self._nominal = self._model.body_mass.copy(), self._model.body_inertia.copy()
        self._meter = Meter(self._built)
        self._rows: dict[int, Rows] = {}
        self._studio = Studio(self._built, render)
        self._cells = tuple(cell.readout(timestep) for cell in self._built.cells)
        self._readouts: tuple[Readout, ...] = ()
        self._setup = Setup({}, {}, {})
        self._command = np.array([*HOME, STROKE])
        self.channels = self._built.channels
        self.model_digest = self._built.digest
        self.cameras = tuple(self._built.cameras)
        self.zero: dict[str, float] = {}
        self.tick = 0

    @property
    def time(self) -> float:
        """Return the simulated time since handoff [s]."""
        return self.tick * self.channels.timestep

    def prepare(self, setup: Setup) -> Block:
        """Set up an instance and let it come to rest; return all ticks since zeroing, the last one being -1.

        Load cells are zeroed without the items `setup.on_cell`. Afterwards the tick is 0 and the robot holds its home
        position with an open gripper. Sensor faults begin to count at tick 0.
        """
        _check_names(setup, self._built.item_body, self._built.fixtures, self.channels.cells)
        self._setup = replace(setup, faults=())
        self._set_masses(setup.masses)
        self._place(setup, aside=setup.on_cell)
        self._zero_cells()
        self._place(setup)
        blocks = self._settle()
        self.tick = 0
        self._setup = setup
        return join(blocks, -sum(block.ticks for block in blocks))

    def step(self, command: np.ndarray, steps: int) -> tuple[Block, tuple[Readout, ...]]:
        """Advance `steps` physics steps towards `command` (8,): seven joint targets [rad] and a gripper opening [m].

        Arm targets ramp linearly from the command in force and arrive at the last step; the gripper is told at once.
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
        block = self._advance(controls)
        self._readouts = tuple(cell.update(block.force[:, i]) for i, cell in enumerate(self._cells))
        return block, self._readouts

    def now(self) -> Block:
        """Return what is so at this instant as one row: the first row of the next block, whatever its command."""
        _copy_state(self._model, self._data, self._scratch)
        mujoco.mj_forward(self._model, self._scratch)
        rows = Rows(self._model, 1)
        rows.qpos[0], rows.qvel[0] = self._data.qpos, self._data.qvel
        rows.sensors[0] = self._scratch.sensordata
        rows.contacts[0] = self._scratch.contact.geom.tobytes()
        return self._with_faults(self._meter.block(self.tick, rows, float(self._command[7])))

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

    def fault_source(self, cell: str, tick: int) -> str | None:
        """Return what made load cell `cell` return nothing at `tick`, if something did."""
        for fault in self._setup.faults:
            if fault.cell == cell and _covers(fault, tick * self.channels.timestep):
                return fault.source
        return None

    def save(self) -> Checkpoint:
        """Return everything that decides how the laboratory continues."""
        state = np.empty(mujoco.mj_stateSize(self._model, STATE))
        mujoco.mj_getState(self._model, self._data, state, STATE)
        cells = tuple(cell.state() for cell in self._cells)
        return Checkpoint(self.model_digest, self._setup, state, self.tick, self._command.copy(), cells, self._readouts)

    def load(self, checkpoint: Checkpoint) -> None:
        """Continue from `checkpoint`, which a laboratory of the same parts saved, bit for bit."""
        if checkpoint.model_digest != self.model_digest:
            raise ValueError(
                f"This checkpoint belongs to model {checkpoint.model_digest!r}, not {self.model_digest!r}."
            )
        self._setup = checkpoint.setup
        self._set_masses(checkpoint.setup.masses)
        mujoco.mj_resetData(self._model, self._data)
        mujoco.mj_setState(self._model, self._data, checkpoint.state, STATE)
        self.tick = checkpoint.tick
        self._command = checkpoint.command.copy()
        for cell, state in zip(self._cells, checkpoint.cells, strict=True):
            cell.load(state)
        self._readouts = checkpoint.readouts
        self.zero = {name: cell.zero for name, cell in zip(self.channels.cells, checkpoint.cells, strict=True)}

    def close(self) -> None:
        """Release the graphics context."""
        self._studio.close()

    def _advance(self, controls: np.ndarray) -> Block:
        """Advance one physics step per row of `controls`: nothing else calls mj_step."""
        model, data = self._model, self._data
        if len(controls) not in self._rows:
            self._rows[len(controls)] = Rows(model, len(controls))
        rows = self._rows[len(controls)]
        qpos, qvel, ctrl, sensors = data.qpos, data.qvel, data.ctrl, data.sensordata
        for i, control in enumerate(controls):
            rows.qpos[i] = qpos
            rows.qvel[i] = qvel
            ctrl[:] = control
            mujoco.mj_step(model, data)
            rows.sensors[i] = sensors
            rows.contacts[i] = data.contact.geom.tobytes()
        if data.warning.number.any() or not np.isfinite(qpos).all():
            raise SimulationFault(
                f"The simulation diverged before {self.time + len(controls) * model.opt.timestep:.3f} s."
            )
        block = self._with_faults(self._meter.block(self.tick, rows, float(self._command[7])))
        self.tick += len(controls)
        return block

    def _with_faults(self, block: Block) -> Block:
        """Let failed load cells return NaN."""
        for fault in self._setup.faults:
            times = np.arange(block.tick, block.end) * self.channels.timestep
            block.force[_covers(fault, times), self.channels.cells.index(fault.cell)] = np.nan
        return block

    def _set_masses(self, masses: dict[str, float]) -> None:
        """Give items their masses [kg] and the model the constants that follow from them, from nominal values."""
        model = self._model
        model.body_mass[:], model.body_inertia[:] = self._nominal
        for name, mass in masses.items():
            body = self._built.item_body[name]
            model.body_inertia[body] *= mass / model.body_mass[body]
            model.body_mass[body] = mass
        mujoco.mj_resetData(model, self._scratch)
        mujoco.mj_setConst(model, self._scratch)

    def _place(self, setup: Setup, aside: tuple[str, ...] = ()) -> None:
        """Put everything where it starts, at rest; items `aside` hang behind the robot, where nothing is below."""
        built, data = self._built, self._data
        mujoco.mj_resetData(self._model, data)
        for name, pose in setup.fixtures.items():
            index = built.fixtures[name]
            data.mocap_pos[index], data.mocap_quat[index] = (pose.x, pose.y, pose.z), _turn(pose.yaw)
        for index, (name, where) in enumerate(zip(self.channels.items, built.item_qpos, strict=True)):
            pose = Pose(-2.0 - index, 0.0, 2.0) if name in aside else setup.items[name]
            data.qpos[where] = pose.x, pose.y, pose.z, *_turn(pose.yaw)
        data.qpos[built.arm_qpos] = HOME
        data.qpos[built.finger_qpos] = STROKE / 2
        self._command = np.array([*HOME, STROKE])
        self.tick = 0

    def _zero_cells(self) -> None:
        block = self._advance(self._hold(round(ZEROING / self.channels.timestep)))
        for i, (cell, site, name) in enumerate(
            zip(self._cells, self._built.cell_site, self.channels.cells, strict=True)
        ):
            self.zero[name] = cell.zero(block.force[:, i])
            # The last row of a site's rotation matrix is the vertical in its own frame.
            upright = float(self._data.site_xmat[site][8])
            if upright < UPRIGHT or self.zero[name] <= 0:
                raise SetupError(
                    f"Load cell {name!r} is mounted wrongly: axis {upright:.5f} upright (at least {UPRIGHT} is needed), "
                    f"empty force {self.zero[name]:.4f} N (must be upward)."
                )

    def _settle(self) -> list[Block]:
        """Hold still until every instrument is stable and every item rests."""
        blocks: list[Block] = []
        chunk = self._hold(max(1, round(0.1 / self.channels.timestep)))
        for _ in range(round(LONGEST_SETTLING / 0.1)):
            blocks.append(self._advance(chunk))
            self._readouts = tuple(cell.update(blocks[-1].force[:, i]) for i, cell in enumerate(self._cells))
            resting = bool((blocks[-1].speed <= AT_REST).all())
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
        tcp = np.empty(7)
        tcp[:3] = scratch.site_xpos[built.tcp_site]
        mujoco.mju_mat2Quat(tcp[3:], scratch.site_xmat[built.tcp_site])
        return RobotState(
            joints=data.qpos[built.arm_qpos],
            velocities=data.qvel[built.arm_qvel],
            opening=float(data.qpos[built.finger_qpos].sum()),
            tcp=tcp,
            command=self._command.copy(),
        )

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
        return tuple(readings)

    def _show(self) -> None:
        texts = {
            name: (cell.display(readout), bool(readout.stable[-1]))
            for name, cell, readout in zip(self.channels.cells, self._cells, self._readouts, strict=True)
        }
        self._studio.show(self._data, texts)


def _check_names(setup: Setup, items: dict[str, int], fixtures: dict[str, int], cells: tuple[str, ...]) -> None:
    """Refuse a setup that leaves an item without a pose or names something that is not here."""
    if missing := items.keys() - setup.items.keys():
        raise SetupError(f"No pose for {', '.join(sorted(missing))}.")
    named = [*setup.items, *setup.fixtures, *setup.masses, *setup.on_cell, *(fault.cell for fault in setup.faults)]
    if unknown := set(named) - items.keys() - fixtures.keys() - set(cells):
        raise SetupError(f"Not in this laboratory: {', '.join(sorted(unknown))}.")


def _covers(fault: SensorFault, time: Any) -> Any:
    return (time >= fault.start) & (time < fault.stop)


def _turn(yaw: float) -> tuple[float, float, float, float]:
    """Return the wxyz quaternion of a turn about the vertical [rad]."""
    return float(np.cos(yaw / 2)), 0.0, 0.0, float(np.sin(yaw / 2))


def _copy_state(model: Any, source: Any, target: Any) -> None:
    state = np.empty(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, source, state, STATE)
    mujoco.mj_setState(model, target, state, STATE)
