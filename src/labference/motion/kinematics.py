"""The Panda arm as geometry: joints to poses, poses to joints. It knows no scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..wire import JOINT, ActionSpec
from ..wire.panda import HOME, TCP_IN_HAND, panda_xml

if TYPE_CHECKING:
    import mujoco

# Solver and rotations are imported by the arm that needs them: a laboratory without an arm starts a second sooner.
LOW = np.array(JOINT.low[:7])
HIGH = np.array(JOINT.high[:7])
JOINT_SPEEDS = np.array((2.175,) * 4 + (2.61,) * 3)
"""Joint velocity limits [rad/s], from the manufacturer's interface specification."""
MARGIN = 0.95
"""Fraction of `JOINT_SPEEDS` that a planned step may use."""
SHOULDER = np.array((0.0, 0.0, 0.333))
"""Where the axes of joints 1 and 2 cross, robot base frame [m]."""
REACH = 0.855
"""Largest distance from the shoulder to the flange [m], from the manufacturer's data sheet."""

EXACT = (1e-5, 1e-4)
ALONG = (1e-4, 1e-3)
"""Position [m] and rotation [rad] errors accepted at the end of a path, and at a waypoint."""

_STEP = 1.0  # mink divides and multiplies by the step; with 1 s a velocity is a displacement


class Unreachable(ValueError):
    """The arm cannot take a pose; the sentence names the position and the reach."""

    def __init__(self, position: np.ndarray, short: np.ndarray) -> None:
        x, y, z = (float(value) for value in position)
        away = float(np.linalg.norm(position - SHOULDER))
        super().__init__(
            f"The arm stopped {1000 * short[0]:.1f} mm and {short[1]:.2f} rad short of position ({x:.3f}, {y:.3f}, "
            f"{z:.3f}) m, which is {away:.2f} m from the shoulder; its flange reaches up to {REACH} m."
        )


def top_down(yaw: float) -> np.ndarray:
    """Return the (3, 3) rotation of a gripper pointing down, its closing axis turned by `yaw` [rad] about the vertical.

    At yaw 0 the fingers close along the y axis of the robot base.
    """
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array(((c, s, 0.0), (s, -c, 0.0), (0.0, 0.0, -1.0)))


def matrix(rotation: np.ndarray) -> np.ndarray:
    """Return the (3, 3) matrix of a rotation given as a matrix or as a wxyz quaternion."""
    given = np.asarray(rotation, float)
    if given.shape == (3, 3):
        return given
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_quat(given, scalar_first=True).as_matrix())


class Arm:
    """Solve the kinematics of the Panda, and carry the action profile its commands are written for.

    Poses are those of the tool centre point in the robot base frame: position [m], and wxyz quaternion or (3, 3)
    matrix. Joints are (7,) [rad].
    """

    def __init__(self, spec: ActionSpec = JOINT) -> None:
        if spec.space != "joint":
            raise ValueError(f"Skills write joint commands and cannot drive profile {spec.name!r}; 'joint' would work.")
        import mink

        self.spec = spec
        self._costs = (0, 0)
        model = _model()
        self._configuration = mink.Configuration(model, np.array(HOME))
        self._frame = mink.FrameTask("tcp", "site", position_cost=1.0, orientation_cost=0.3, lm_damping=1e-4)
        self._posture = mink.PostureTask(model, cost=1e-3)
        self._posture.set_target(np.array(HOME))
        self._still = mink.DampingTask(model, cost=1e-3)
        self._limits = [mink.ConfigurationLimit(model)]

    @property
    def period(self) -> float:
        """Time between two commands [s]."""
        return 1.0 / self.spec.rate_hz

    @property
    def delay(self) -> int:
        """Control periods that answers are seen to cost: a skill counts what was carried out without them."""
        return min(self._costs)

    def learn(self, delay: int) -> None:
        """Take in what an answer cost; the smaller of the last two counts, as an environment may act meanwhile once."""
        self._costs = (self._costs[1], max(0, delay))

    def forward(self, joints: np.ndarray) -> np.ndarray:
        """Return the pose (7,) at `joints`: position [m] and wxyz quaternion."""
        from scipy.spatial.transform import Rotation

        self._configuration.update(np.asarray(joints, float))
        x, y, z, w = Rotation.from_matrix(self._rotation()).as_quat(canonical=True)
        return np.array((*self._position(), w, x, y, z))

    def inverse(self, position: np.ndarray, rotation: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return joints that take a pose to within 0.01 mm, searched from `start` first."""
        place, turn = np.asarray(position, float), matrix(rotation)
        facing = np.array(HOME)
        facing[0] = np.clip(np.arctan2(place[1], place[0]), LOW[0], HIGH[0])
        shortfalls = []
        for guess in (np.asarray(start, float), np.array(HOME), facing):
            joints, short = self._reach(place, turn, guess, EXACT, iterations=100)
            if _within(short, EXACT):
                return joints
            shortfalls.append(short)
        raise Unreachable(place, min(shortfalls, key=lambda short: float(short[0])))

    def follow(self, start: np.ndarray, positions: np.ndarray, rotations: np.ndarray) -> np.ndarray:
        """Return joints (n, 7) along a dense path of poses, (n, 3) [m] and (n, 3, 3), that begins next to `start`.

        Waypoints are met to 0.1 mm, the last one to 0.01 mm.
        """
        path, joints = [], np.asarray(start, float)
        for index, (position, rotation) in enumerate(zip(positions, rotations, strict=True)):
            last = index == len(positions) - 1
            tolerance = EXACT if last else ALONG
            joints, short = self._reach(position, rotation, joints, tolerance, iterations=60 if last else 20)
            if not _within(short, tolerance):
                raise Unreachable(position, short)
            path.append(joints)
        return np.array(path).reshape(-1, 7)

    def increment(self, joints: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """Return joints after an increment (6,) of the pose: translation [m], then rotation vector [rad], base frame.

        Always answers: a pose out of reach gives the nearest joints found, a step faster than the joints may turn in
        one period is shortened, and joint limits hold.
        """
        here = np.clip(np.asarray(joints, float), LOW, HIGH)
        step = np.asarray(delta, float)
        self._configuration.update(here)
        position = self._position() + step[:3]
        from scipy.spatial.transform import Rotation

        rotation = Rotation.from_rotvec(step[3:]).as_matrix() @ self._rotation()
        there, _ = self._reach(position, rotation, here, EXACT, iterations=10, posture=False)
        share = float(np.max(np.abs(there - here) / (MARGIN * JOINT_SPEEDS * self.period)))
        return np.clip(here + (there - here) / max(1.0, share), LOW, HIGH)

    def _reach(
        self,
        position: np.ndarray,
        rotation: np.ndarray,
        start: np.ndarray,
        tolerance: tuple[float, float],
        iterations: int,
        posture: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Iterate towards a pose; return the joints found, and the position [m] and rotation [rad] they are short."""
        import mink

        self._frame.set_target(mink.SE3.from_rotation_and_translation(mink.SO3.from_matrix(rotation), position))
        exact = [self._frame, self._still]
        self._configuration.update(np.clip(start, LOW, HIGH))
        for count in range(iterations):
            if _within(self._short(), tolerance):
                break
            # The posture pulls a stretched arm short of its target, so the later iterations do without.
            tasks = [*exact, self._posture] if posture and count < iterations // 2 else exact
            try:
                turn = mink.solve_ik(self._configuration, tasks, _STEP, "daqp", damping=1e-9, limits=self._limits)
            except mink.NoSolutionFound:
                break
            self._configuration.update(np.clip(self._configuration.q + turn * _STEP, LOW, HIGH))
        return self._configuration.q.copy(), self._short()

    def _short(self) -> np.ndarray:
        error = self._frame.compute_error(self._configuration)
        return np.array((np.linalg.norm(error[:3]), np.linalg.norm(error[3:])))

    def _position(self) -> np.ndarray:
        return np.array(self._configuration.data.site("tcp").xpos)

    def _rotation(self) -> np.ndarray:
        return np.array(self._configuration.data.site("tcp").xmat).reshape(3, 3)


def _within(short: np.ndarray, tolerance: tuple[float, float]) -> bool:
    return bool(short[0] <= tolerance[0] and short[1] <= tolerance[1])


def _model() -> mujoco.MjModel:
    """Compile the seven joints of the Panda with a tool centre point, and nothing else."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(panda_xml()))
    unused = (spec.keys, spec.lights, spec.geoms, spec.meshes, spec.actuators, spec.tendons, spec.equalities)
    for element in [element for group in (*unused, spec.excludes) for element in group]:
        spec.delete(element)
    for finger in ("left_finger", "right_finger"):
        spec.delete(spec.body(finger))
    spec.body("hand").add_site(name="tcp", pos=[0.0, 0.0, TCP_IN_HAND])
    return spec.compile()
