"""Cameras: frames of a copy of the scene, so that looking never touches physics."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Sequence
from typing import Any, Literal

import cv2
import numpy as np

from ..wire.observation import DEPTH_UNIT, Frame
from .built import STREAM, Built
from .engine import mujoco
from .faults import RenderingFault
from .parts.display import lit
from .prepare import set_colours

Point = tuple[float, float, float]
Profile = Literal["fast", "quality"]
SUPERSAMPLE = 2
"""Samples per pixel and axis."""
VISIBLE = np.array([1e-5] * 3 + [1e-4] * 4)
"""Smallest change of an item's position [m] and quaternion that a camera sees. Without it, the micrometre by which a
heavier jar sinks in could change a pixel and tell its mass."""
LEVEL, WIDTH = 5e-4, 2.5e-4
"""Steps in which the length and the radius of what a vessel holds are shown [m], for the same reason."""
SHOWN, STEEPEST, FLAT = 0.62, 8.0, 0.03
"""Opacity of liquids, the tangent of the tilt beyond which a vessel is drawn as if it leaned no more, and the sine of
that up to which it is drawn upright."""
FARTHEST = 6.5
"""Range of the depth camera [m]."""


class Studio:
    """Render frames of a laboratory with one graphics context, made when the first frame is asked for.

    `fast` has no shadows; `quality` adds them. Both draw at twice the size and average, which beats multisampling in
    looks and in cost.
    """

    def __init__(self, built: Built, profile: Profile) -> None:
        self._window: Any = None
        self._context: Any = None
        self._built = built
        # Displays light up by changing materials, so the studio has a model of its own.
        self._model = copy.copy(built.model)
        self._data = mujoco.MjData(self._model)
        self._scene = mujoco.MjvScene(self._model, maxgeom=2000)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = profile == "quality"
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        self._option = mujoco.MjvOption()
        self._display = {
            display.instrument: {element: self._model.geom(geom).id for element, geom in display.elements.items()}
            for display in built.displays
        }
        self._on, self._off = self._model.material("lcd_on").id, self._model.material("lcd_off").id

    def show(self, data: Any, texts: dict[str, tuple[str, bool]]) -> None:
        """Take over the state of `data`, and what each instrument displays: its text and its stability lamp."""
        self._data.qpos[:] = data.qpos
        items = self._built.item_qpos
        self._data.qpos[items] = np.rint(data.qpos[items] / VISIBLE) * VISIBLE
        self._data.mocap_pos[:] = data.mocap_pos
        self._data.mocap_quat[:] = data.mocap_quat
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        for instrument, geoms in self._display.items():
            text, stable = texts[instrument]
            bright = lit(text) | ({"lamp"} if stable else set())
            for element, geom in geoms.items():
                self._model.geom_matid[geom] = self._on if element in bright else self._off

    def fill(self, volumes: list[float], falling: Sequence[tuple[Point, Point]]) -> None:
        """Show what the vessels hold [m3], in their order, and streams between two points [m]; after `show`.

        The surface of a tilted vessel is level. It is drawn as a rod that lies along the lower wall, as long as the
        wall is wet.
        """
        model = self._model
        for vessel, volume in zip(self._built.vessels, volumes, strict=True):
            geom = model.geom(vessel.shape).id
            down = -self._data.xmat[model.geom_bodyid[geom]].reshape(3, 3)[2]
            aside = float(np.hypot(down[0], down[1]))
            slope = min(STEEPEST, aside / max(1e-6, -down[2]))
            section = np.pi * vessel.radius**2
            length = min(vessel.length, volume / section + slope * vessel.radius)
            length = LEVEL * round(length / LEVEL)
            radius = min(vessel.radius, np.sqrt(volume / (np.pi * length))) if length else 0.0
            radius = WIDTH * round(radius / WIDTH) if aside > FLAT else vessel.radius
            shift = (vessel.radius - radius) / max(aside, 1e-9) if aside > FLAT else 0.0
            model.geom_rgba[geom, 3] = SHOWN if length and radius else 0.0
            model.geom_size[geom, :2] = max(0.97 * radius, 1e-5), max(length / 2, 1e-5)
            model.geom_pos[geom] = shift * down[0], shift * down[1], vessel.floor + length / 2
        self._draw_stream(falling)
        mujoco.mj_kinematics(model, self._data)

    def _draw_stream(self, falling: Sequence[tuple[Point, Point]]) -> None:
        geom = self._model.geom(STREAM).id
        self._model.geom_rgba[geom, 3] = SHOWN if falling else 0.0
        for start, end in falling[:1]:
            way = np.subtract(end, start)
            length = float(np.linalg.norm(way))
            self._model.geom_pos[geom] = np.rint(np.add(start, way / 2) / LEVEL) * LEVEL
            self._model.geom_size[geom, 1] = LEVEL * round(length / 2 / LEVEL)
            mujoco.mju_quatZ2Vec(self._model.geom_quat[geom], way / max(length, 1e-9))

    def colour(self, colours: dict[str, tuple[float, float, float]]) -> None:
        """Show items in `colours`, red, green and blue from 0 to 1."""
        set_colours(self._built, self._model, colours)

    def lit_elements(self, instrument: str) -> frozenset[str]:
        """Return the elements of a display that are drawn lit."""
        geoms = self._display[instrument]
        return frozenset(name for name, geom in geoms.items() if self._model.geom_matid[geom] == self._on)

    def frame(self, name: str, time: float, depth: bool, size: tuple[int, int] | None = None) -> Frame:
        """Render camera `name` at `time` [s]; `size` is width and height in pixels."""
        camera = self._built.cameras.get(name)
        if camera is None:
            raise KeyError(f"No camera {name!r} in this laboratory. Cameras: {', '.join(self._built.cameras)}.")
        width, height = size or camera.size
        index = self._model.camera(camera.model_name).id
        rgb, far = self._render(index, width, height, depth)
        return Frame(
            camera=name,
            rgb=rgb,
            depth=far,
            intrinsics=_intrinsics(float(self._model.cam_fovy[index]), width, height),
            pose=_pose(self._data.cam_xpos[index], self._data.cam_xmat[index]),
            acquired=time,
            delivered=time,
        )

    def close(self) -> None:
        """Release the graphics context."""
        if self._context is not None:
            self._window.make_current()
            self._context.free()
            self._window.free()
            self._window = self._context = None

    def __del__(self) -> None:
        # Freed by the garbage collector, a context would take down buffers of the same number in whichever is current.
        if self._context is not None:
            _abandoned.append((self._window, self._context))

    def _render(self, camera: int, width: int, height: int, depth: bool) -> tuple[np.ndarray, np.ndarray | None]:
        self._make_current()
        view = mujoco.MjvCamera()
        view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, camera
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(self._model, self._data, self._option, None, view, everything, self._scene)
        large = mujoco.MjrRect(0, 0, SUPERSAMPLE * width, SUPERSAMPLE * height)
        colour = np.empty((large.height, large.width, 3), np.uint8)
        buffer = np.empty((large.height, large.width), np.float32) if depth else None
        if buffer is not None:
            buffer[0, 0] = np.nan
        mujoco.mjr_render(large, self._scene, self._context)
        mujoco.mjr_readPixels(colour, buffer, large, self._context)
        if buffer is not None and np.isnan(buffer[0, 0]):
            raise RenderingFault("OpenGL returned no depth; `labference doctor` says more.")
        rgb = cv2.resize(cv2.flip(colour, 0), (width, height), interpolation=cv2.INTER_AREA)
        return rgb, None if buffer is None else self._metric(buffer)

    def _metric(self, buffer: np.ndarray) -> np.ndarray:
        """Return the nearest of each group of samples along the optical axis, in `DEPTH_UNIT`."""
        # The buffer runs from 1 at the near plane to 0 at the far plane, bottom row first.
        rows = np.maximum(buffer[1::2], buffer[0::2])[::-1]
        closest = np.maximum(rows[:, 0::2], rows[:, 1::2]).astype(np.float64)
        extent = self._model.stat.extent
        near, far = self._model.vis.map.znear * extent, self._model.vis.map.zfar * extent
        distance = near * far / (near + closest * (far - near))
        return np.where(distance <= FARTHEST, np.rint(distance / DEPTH_UNIT), 0).astype(np.uint16)

    def _make_current(self) -> None:
        _free_abandoned()
        if self._context is not None:
            self._window.make_current()
            return
        size = self._model.vis.global_
        self._window = _window(size.offwidth, size.offheight)
        self._window.make_current()
        try:
            self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
        except mujoco.FatalError as error:
            raise RenderingFault(f"No OpenGL context ({error}); `labference doctor` says what to install.") from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR


_abandoned: list[tuple[Any, Any]] = []
"""Windows and contexts of laboratories that were dropped without `close`."""


def _free_abandoned() -> None:
    """Free, each in its own context, what was dropped without `close`."""
    while _abandoned:
        window, context = _abandoned.pop()
        window.make_current()
        context.free()
        window.free()


def _window(width: int, height: int) -> Any:
    """Return an offscreen window of the kind that MUJOCO_GL names, whoever imported MuJoCo first."""
    kind = os.environ.get("MUJOCO_GL", "")
    if kind == "disable":
        raise RenderingFault("No OpenGL was found for the cameras; `labference doctor` says what to install.")
    try:
        if sys.platform == "linux" and kind == "osmesa":
            from mujoco.osmesa import GLContext
        elif sys.platform == "linux" and kind == "egl":
            from mujoco.egl import GLContext
        else:
            from mujoco.rendering.classic.gl_context import GLContext
        return GLContext(width, height)
    except (AttributeError, ImportError, RuntimeError) as error:
        raise RenderingFault(f"MUJOCO_GL={kind} does not render ({error}); `labference doctor` says more.") from error


def _intrinsics(fovy: float, width: int, height: int) -> np.ndarray:
    """Return the pinhole matrix; whole-numbered pixel coordinates are pixel centres."""
    focal = height / 2 / np.tan(np.radians(fovy) / 2)
    return np.array([[focal, 0.0, (width - 1) / 2], [0.0, focal, (height - 1) / 2], [0.0, 0.0, 1.0]])


def _pose(position: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the camera-to-base transform with y down and z forward; MuJoCo has y up and z backward."""
    pose = np.eye(4)
    pose[:3, :3] = matrix.reshape(3, 3) * (1.0, -1.0, -1.0)
    pose[:3, 3] = position
    return pose
