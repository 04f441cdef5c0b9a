"""From declared parts to a compiled laboratory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..wire.glassware import label_letters
from ..wire.labware import LABEL_LETTERS
from . import draw
from .built import STREAM, TCP_POSITION, Built, Camera, Cell, Display, Tip, Vessel, resolve
from .engine import mujoco
from .parts import Part
from .parts.balance import GRAVITY, LoadCellReadout
from .parts.contact import Contact
from .robot import PREFIX, load_robot

Look = str | tuple[float, float, float, float] | None
Vector = tuple[float, float, float]
Axes = tuple[float, ...] | None
Solid = bool | Contact
SHAPE = mujoco.mjtGeom

ROLLING = [0.6, 0.003, 0.0005]
"""Sliding friction, and torsional and rolling friction [m], of an item on its side: pushed at 10 cm/s, it stops within
2 cm instead of leaving the bench."""
FOOT = 0.001
"""Radius of the balls that an item stands on [m]."""
FOOT_GAP = 0.0004
"""Gap between the bottom of an item's cylinder and the surface it stands on [m]; contacts give way by a tenth of it."""
EMPTY = (0.62, 0.80, 0.93, 0.0)
"""Colour of liquid that is not there."""
LARGEST = (960, 720)
"""Largest frame, width and height in pixels; rendering is supersampled by two."""
NO_SLIP = 4
"""Extra solver iterations over friction alone; without them, what only friction holds sinks by 1.4 mm/s."""


def build(parts: tuple[Part, ...], timestep: float) -> Built:
    """Let every part draw itself on an empty bench, add the robot, and compile."""
    bench = Bench(timestep)
    for part in parts:
        part.add(bench)
    bench.spec.attach(load_robot(), prefix=PREFIX, frame=bench.spec.worldbody.add_frame())
    bench.cameras.append(Camera(f"{PREFIX}wrist", "wrist", (224, 224)))
    bench.add_motion_sensors()
    return resolve(bench.spec.compile(), bench)


class Bench:
    """What parts draw themselves with.

    Positions and half-lengths are in metres in the frame of the given body. A `look` is a material name, an RGBA
    colour, or None for a shape that only collides. Shapes with `solid=False` only show; a `Contact` says how a solid
    one touches others. `axes` are the x and y axes of a turned shape.
    """

    def __init__(self, timestep: float) -> None:
        self.spec = _empty_room(timestep)
        self.items: list[str] = []
        self.fixtures: list[str] = []
        self.surfaces: dict[str, list[str]] = {}
        self.cells: list[Cell] = []
        self.cameras: list[Camera] = []
        self.displays: list[Display] = []
        self.vessels: list[Vessel] = []
        self.tips: list[Tip] = []
        self.grips: dict[str, float] = {}
        self.colours: dict[str, list[tuple[str, float]]] = {}
        self._meshes: set[str] = set()

    def hold_by_friction(self) -> None:
        """Let friction alone hold things for long, at some cost per step."""
        self.spec.option.noslip_iterations = NO_SLIP

    def gripped(self, item: str, radius: float) -> None:
        """Let an instance start with `item` in the hand, between fingers that are `radius` [m] from its axis."""
        self.grips[item] = radius

    def coloured(self, item: str, shape: str, shade: float = 1.0) -> None:
        """Let an instance colour `shape`, with its colour times `shade`; the shape must have a colour as its look."""
        self.colours.setdefault(item, []).append((shape, shade))

    def item(self, name: str) -> Any:
        """Return a new free body: something that the robot may carry."""
        body = self.spec.worldbody.add_body(name=name)
        body.add_freejoint(name=name)
        self.items.append(name)
        return body

    def fixture(self, name: str) -> Any:
        """Return a new body that an instance may put anywhere and that stays there."""
        self.fixtures.append(name)
        return self.spec.worldbody.add_body(name=name, mocap=True)

    def attached(self, name: str, parent: Any, position: Vector = (0, 0, 0), axes: Axes = None) -> Any:
        """Return a new body fixed to `parent`, or to the world if None; `axes` are its x and y axes."""
        body = (parent or self.spec.worldbody).add_body(name=name, pos=list(position))
        if axes is not None:
            _orient(body, axes)
        return body

    def box(
        self,
        body: Any,
        half: Vector,
        position: Vector = (0, 0, 0),
        *,
        look: Look,
        mass: float = 0.0,
        solid: Solid = True,
        name: str = "",
        axes: Axes = None,
    ) -> Any:
        """Add a box of half-lengths `half`."""
        box = self._geom(body, SHAPE.mjGEOM_BOX, half, position, look, mass, solid, name)
        if axes is not None:
            _orient(box, axes)
        return box

    def ball(
        self, body: Any, radius: float, centre: Vector, *, look: Look, mass: float = 0.0, solid: Solid = True
    ) -> Any:
        """Add a sphere."""
        return self._geom(body, SHAPE.mjGEOM_SPHERE, (radius, 0, 0), centre, look, mass, solid, "")

    def capsule(
        self, body: Any, radius: float, low: float, high: float, *, look: Look, mass: float = 0.0, solid: Solid = True
    ) -> Any:
        """Add an upright cylinder with round ends, whose axis goes from height `low` to `high`."""
        size, centre = (radius, (high - low) / 2, 0), (0, 0, (low + high) / 2)
        return self._geom(body, SHAPE.mjGEOM_CAPSULE, size, centre, look, mass, solid, "")

    def cylinder(
        self,
        body: Any,
        radius: float,
        height: float,
        centre: Vector = (0, 0, 0),
        *,
        look: Look,
        mass: float = 0.0,
        solid: Solid = True,
        name: str = "",
    ) -> Any:
        """Add an upright cylinder."""
        return self._geom(body, SHAPE.mjGEOM_CYLINDER, (radius, height / 2, 0), centre, look, mass, solid, name)

    def standing(self, body: Any, radius: float, height: float, *, mass: float) -> None:
        """Add a cylinder to collide with, which stands on four small balls around its rim; the origin is below.

        A ball on a flat surface is a closed formula, the rim of a cylinder an iterative search: a step of the weighing
        scene takes 50 instead of 60 us. A fallen item meets the bench with its cylinder all the same.
        """
        self.round(body, radius, height - FOOT_GAP, (height + FOOT_GAP) / 2, mass=mass)
        ring = radius - FOOT
        for angle in np.radians((45, 135, 225, 315)):
            at = (ring * float(np.cos(angle)), ring * float(np.sin(angle)), FOOT)
            self._geom(body, SHAPE.mjGEOM_SPHERE, (FOOT, 0, 0), at, None, 0.0, True, "")

    def round(self, body: Any, radius: float, height: float, middle: float, *, mass: float) -> None:
        """Add a cylinder that rolls to a stop when it has fallen over, centred at height `middle`."""
        geom = self.cylinder(body, radius, height, (0, 0, middle), look=None, mass=mass)
        geom.friction, geom.condim = ROLLING, 6

    def lathe(
        self,
        body: Any,
        name: str,
        profile: list[tuple[float, float]],
        *,
        look: Look,
        mesh: str = "",
        position: Vector = (0, 0, 0),
    ) -> Any:
        """Add a surface of revolution that only shows; `profile` lists (radius, height) from bottom to top.

        Shapes with the same `mesh` share it.
        """
        mesh = mesh or name
        if mesh not in self._meshes:
            draw.add_lathe(self.spec, mesh, profile)
        return self._shown(body, name, mesh, look, position)

    def holed_disc(
        self, body: Any, name: str, radius: float, height: float, *, ring: float, holes: int, bore: float, look: Look
    ) -> None:
        """Add a disc facing up at `height` with `holes` holes of radius `bore` on a circle of radius `ring`."""
        draw.add_holed_disc(self.spec, name, radius, height, ring, holes, bore)
        self._shown(body, name, name, look)

    def wall(self, body: Any, name: str, profile: list[tuple[float, float]], *, look: Look) -> None:
        """Add a surface of revolution without ends, as `lathe` does."""
        draw.add_lathe(self.spec, name, profile, sides=64, ends=False)
        self._shown(body, name, name, look)

    def print_plate(
        self, body: Any, name: str, half: tuple[float, float], centre: Vector, text: str, letters: int = 108
    ) -> None:
        """Print `text` on a rectangle facing up, which reads along +x with its top towards +y.

        `letters` is their height in 128ths of that of the rectangle.
        """
        pixels = (round(128 * half[0] / half[1]), 128)
        draw.add_print(self.spec, name, text, pixels, letters=letters)
        draw.add_plate(self.spec, name, *half)
        self._shown(body, name, name, name, centre)

    def print_disc(self, body: Any, name: str, radius: float, centre: Vector, text: str) -> None:
        """Print `text` on a disc facing up, which reads with its top towards the origin of the body."""
        draw.add_print(
            self.spec, name, text, (128, 128), letters=LABEL_LETTERS[len(text)], underline=text in ("6", "9")
        )
        draw.add_plate(
            self.spec, name, radius, radius, sides=24, turn=float(np.arctan2(centre[1], centre[0])) + np.pi / 2
        )
        self._shown(body, name, name, name, centre)

    def hatched(self, body: Any, name: str, half: float, border: float, height: float) -> None:
        """Add a square film facing up at `height`, hatched inside a `border`."""
        draw.add_hatch(self.spec, name, border / half / 2)
        draw.add_plate(self.spec, name, half, half)
        self._shown(body, name, name, name, (0, 0, height))

    def label_disc(self, body: Any, name: str, radius: float, height: float, text: str) -> None:
        """Print `text` on a disc facing up at `height`; unturned, it reads upright from +x, facing the robot."""
        draw.add_print(self.spec, name, text, (128, 128), letters=LABEL_LETTERS[len(text)], turn=90)
        self.cylinder(body, radius, 0.0004, (0, 0, height), look=name, solid=False)

    def label_wrap(self, body: Any, name: str, radius: float, low: float, high: float, text: str) -> None:
        """Print `text` twice around a body between heights `low` and `high`, facing +x and -x, with blank between."""
        draw.add_band(self.spec, name, radius, low, high, repeat=2)
        draw.add_print(self.spec, name, text, (224, 112), letters=label_letters(text))
        self._shown(body, name, name, name)

    def surface(self, name: str, body: Any) -> None:
        """Let the solid shapes of `body` count as surface `name`."""
        self.surfaces.setdefault(name, []).append(body.name)

    def force_cell(self, name: str, body: Any, electronics: Callable[[float], LoadCellReadout]) -> None:
        """Measure the force with which its parent carries `body`, and hand it to `electronics`."""
        site = body.add_site(name=f"{name}_cell", size=[0.002] * 3, rgba=[0, 0, 0, 0])
        self._sensor(f"{name}_cell", mujoco.mjtSensor.mjSENS_FORCE, site.name)
        self.cells.append(Cell(name, site.name, electronics))

    def vessel(self, name: str, body: Any, *, radius: float, length: float, floor: float) -> None:
        """Let `body` hold liquid in a cylinder of `radius` and `length` that begins at height `floor` of its frame.

        A shape without mass or contacts shows how full it is.
        """
        if not self.vessels:
            self.cylinder(self.spec.worldbody, 0.0013, 0.01, look=EMPTY, solid=False, name=STREAM)
        shape = f"{name}_liquid"
        self.cylinder(body, radius, length, (0.0, 0.0, floor + length / 2), look=EMPTY, solid=False, name=shape)
        self.vessels.append(Vessel(name, body.name, radius, length, floor, shape))

    def tip(self, item: str, meter: str = "") -> None:
        """Let the origin of `item` stir the liquid that it is dipped into, and be where `meter` measures."""
        self.tips.append(Tip(meter, item))

    def display(self, instrument: str, elements: dict[str, Any]) -> None:
        """Let `instrument` light the geoms `elements`, named as in `parts.display`."""
        self.displays.append(Display(instrument, {element: geom.name for element, geom in elements.items()}))

    def camera(
        self, name: str, position: Vector, target: Vector, *, fovy: float, size: tuple[int, int], body: Any = None
    ) -> None:
        """Watch `target` from `position`; `fovy` [degrees], `size` width and height in pixels."""
        camera = (body or self.spec.worldbody).add_camera(name=name, pos=list(position), fovy=fovy)
        back = np.subtract(position, target)
        right = np.cross((0, 0, 1), back)
        _orient(camera, (*right, *np.cross(back, right)))
        self.cameras.append(Camera(name, name, size))

    def add_motion_sensors(self) -> None:
        """Measure every item, the tool centre point and the fingers, in an order that a `Meter` reads without copying.

        Poses of the items, pose of the tool centre point, velocities of the items, positions of the fingers.
        """
        sensor, what = mujoco.mjtSensor, mujoco.mjtObj
        for name in self.items:
            self._sensor(f"{name} position", sensor.mjSENS_FRAMEPOS, name, what.mjOBJ_XBODY)
            self._sensor(f"{name} orientation", sensor.mjSENS_FRAMEQUAT, name, what.mjOBJ_XBODY)
        self._sensor(TCP_POSITION, sensor.mjSENS_FRAMEPOS, f"{PREFIX}tcp")
        self._sensor("tcp orientation", sensor.mjSENS_FRAMEQUAT, f"{PREFIX}tcp")
        for name in self.items:
            self._sensor(f"{name} velocity", sensor.mjSENS_FRAMELINVEL, name, what.mjOBJ_XBODY)
            self._sensor(f"{name} rotation", sensor.mjSENS_FRAMEANGVEL, name, what.mjOBJ_XBODY)
        for side in (1, 2):
            finger = f"{PREFIX}finger_joint{side}"
            self._sensor(f"finger {side}", sensor.mjSENS_JOINTPOS, finger, what.mjOBJ_JOINT)

    def _sensor(self, name: str, kind: Any, of: str, what: Any = mujoco.mjtObj.mjOBJ_SITE) -> None:
        self.spec.add_sensor(name=name, type=kind, objtype=what, objname=of)

    def _shown(self, body: Any, name: str, mesh: str, look: Look, position: Vector = (0, 0, 0)) -> Any:
        """Add a mesh that only shows."""
        self._meshes.add(mesh)
        geom = self._geom(body, SHAPE.mjGEOM_MESH, (0, 0, 0), position, look, 0.0, False, name)
        geom.meshname = mesh
        return geom

    def _geom(
        self, body: Any, shape: Any, size: Vector, position: Vector, look: Look, mass: float, solid: Solid, name: str
    ) -> Any:
        geom = body.add_geom(type=shape, pos=list(position), mass=mass, name=name)
        if shape != SHAPE.mjGEOM_MESH:
            geom.size = list(size)
        match look:
            case None:
                geom.group = 3
            case str():
                geom.material, geom.group = look, 2
            case _:
                geom.rgba, geom.group = list(look), 2
        if solid:
            contact = solid if isinstance(solid, Contact) else Contact()
            geom.friction, geom.condim, geom.priority = list(contact.friction), contact.condim, contact.priority
            geom.solref, geom.solimp = list(contact.solref), list(contact.solimp)
        else:
            geom.contype = geom.conaffinity = 0
        return geom


def _orient(thing: Any, axes: tuple[float, ...]) -> None:
    thing.alt.type = mujoco.mjtOrientation.mjORIENTATION_XYAXES
    thing.alt.xyaxes = list(axes)


def _empty_room(timestep: float) -> Any:
    """Return a spec with solver settings, light, a floor to look at, and the shared materials."""
    spec = mujoco.MjSpec()
    spec.modelname = "laboratory"
    option = spec.option
    option.timestep = timestep
    option.gravity = [0, 0, -GRAVITY]
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio = 10
    # MuJoCo 4.0.0 has a wrong sparse Hessian, which it would choose by itself from 60 degrees of freedom.
    option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    # A diverged simulation must be noticed, not silently put back to its start.
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    _light(spec)
    _materials(spec)
    return spec


def _light(spec: Any) -> None:
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight = 2 * LARGEST[0], 2 * LARGEST[1]
    visual.quality.shadowsize, visual.quality.offsamples = 1024, 0
    visual.headlight.ambient = [0.32, 0.32, 0.32]
    visual.headlight.diffuse = [0.22, 0.22, 0.22]
    visual.headlight.specular = [0.1, 0.1, 0.1]
    visual.map.znear, visual.map.zfar = 0.02, 8
    spec.stat.center, spec.stat.extent = [0.45, 0.05, 0.1], 1.0
    room = spec.worldbody
    room.add_light(pos=[0.3, -0.4, 2.0], dir=[0.1, 0.2, -1], diffuse=[0.38] * 3, castshadow=True)
    room.add_light(pos=[0.8, 0.9, 1.6], dir=[-0.3, -0.5, -1], diffuse=[0.15] * 3, castshadow=False)
    room.add_geom(
        type=SHAPE.mjGEOM_PLANE, size=[3, 3, 0.05], pos=[0, 0, -0.75], material="floor", contype=0, conaffinity=0
    )


def _materials(spec: Any) -> None:
    texture, builtin = mujoco.mjtTexture, mujoco.mjtBuiltin
    sky = {"rgb1": [0.85, 0.9, 0.95], "rgb2": [0.6, 0.66, 0.72], "width": 64, "height": 64}
    spec.add_texture(name="sky", type=texture.mjTEXTURE_SKYBOX, builtin=builtin.mjBUILTIN_GRADIENT, **sky)
    tiles = {"rgb1": [0.62, 0.64, 0.66], "rgb2": [0.56, 0.58, 0.60], "width": 128, "height": 128}
    spec.add_texture(name="floor", type=texture.mjTEXTURE_2D, builtin=builtin.mjBUILTIN_CHECKER, **tiles)
    floor = spec.add_material(name="floor", texrepeat=[3, 3], texuniform=True, reflectance=0)
    floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    spec.add_material(name="steel", rgba=[0.78, 0.77, 0.74, 1], specular=0.9, shininess=0.7)
    spec.add_material(name="lcd", rgba=[0.69, 0.77, 0.63, 1], emission=0.45, specular=0.1)
    spec.add_material(name="lcd_on", rgba=[0.05, 0.07, 0.05, 1], emission=0, specular=0)
    spec.add_material(name="lcd_off", rgba=[0.64, 0.72, 0.58, 1], emission=0.45, specular=0)
