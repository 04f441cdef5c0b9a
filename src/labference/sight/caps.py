"""Find tubes by the round tops of their caps, also where a part of a top is hidden; sizes from the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..wire import Frame
from ..wire.tubes import CAP_COLOURS, TUBE_HEIGHT
from .cloud import crossings
from .items import patches

LOWEST, HIGHEST = 0.093, 0.200
"""Heights between which points may belong to the cap of a standing tube [m]: above rotor and rack, below a tube in the
hand and the top of a hood."""
FACE = 0.0004
"""Distance from the plane of a top within which points belong to it [m]."""
FLAT = 0.0101
"""Radius of what lies within that distance [m]: a cap is bevelled by a tenth of its radius."""
AROUND = 0.018
"""Radius of the neighbourhood of a cap that is looked at [m]; the next cap begins at 0.033 m."""
FEWEST = 40
"""Fewest pixels of a top; less is the rim of something hidden."""
STEEPEST = np.radians(30)
"""Lean beyond which a tube does not stand."""
OUTSIDE = 0.06
"""Largest share of the points of a top that may lie outside the circle of a cap, and of points inside it that may be
lower: more, and the thing is no cap."""
BEYOND = 0.0015
"""How far a point may lie outside or inside the rim before it speaks against a cap [m]; a pixel is about as wide."""
SEEN = 0.35
"""Smallest share of a top that has to be seen."""
SUNK = 0.005
"""How far the lower end of a tube may seem to be under the bench [m]; knobs and the like are lower than caps."""
CORE = 0.75
"""Share of the radius within which the colour of a cap is taken."""


@dataclass(frozen=True, slots=True)
class Cap:
    """The cap of a standing or leaning tube, robot base frame.

    position  (x, y) of the middle of its top [m]
    top       height of the middle of its top [m]
    axis      (3,) unit vector along the tube, upwards
    rgb       mean red, green and blue of the top (0..255)
    colour    the most similar of `CAP_COLOURS`
    seen      share of the top that nothing hides
    """

    position: tuple[float, float]
    top: float
    axis: tuple[float, float, float]
    rgb: tuple[float, float, float]
    colour: str
    seen: float

    @property
    def lean(self) -> float:
        """Return the angle between tube and vertical [rad]."""
        return float(np.arccos(min(1.0, self.axis[2])))

    @property
    def base(self) -> tuple[float, float, float]:
        """Return where the lower end of the tube is [m]."""
        x, y, z = np.array((*self.position, self.top)) - TUBE_HEIGHT * np.array(self.axis)
        return float(x), float(y), float(z)


def find_caps(frame: Frame, cloud: np.ndarray) -> tuple[Cap, ...]:
    """Return the caps in `frame`, whose points in the robot base frame are `cloud` (h, w, 3) [m]."""
    with np.errstate(invalid="ignore"):
        rows, columns = np.nonzero((cloud[..., 2] > LOWEST) & (cloud[..., 2] < HIGHEST))
    if len(rows) == 0:
        return ()
    found = cloud[rows, columns]
    labels = patches(found[:, :2])
    caps = []
    for label in np.unique(labels):
        mine = labels == label
        if mine.sum() >= FEWEST:
            cap = _describe(frame, cloud, found[mine], _window(rows[mine], columns[mine], cloud.shape))
            caps += [cap] if cap is not None else []
    return tuple(caps)


def nearest_colour(rgb: np.ndarray) -> str:
    """Return the name in `CAP_COLOURS` of the colour that is most like `rgb` (3,), whatever the brightness."""
    named = {name: np.array(colour) / np.linalg.norm(colour) for name, colour in CAP_COLOURS.items()}
    return max(named, key=lambda name: float(named[name] @ rgb))


def _describe(frame: Frame, cloud: np.ndarray, group: np.ndarray, window: tuple[slice, slice]) -> Cap | None:
    """Measure the patch of points `group` (n, 3) [m], which lies inside `window`; None where it is no cap."""
    middle, normal = _plane(group)
    if normal[2] < np.cos(STEEPEST):
        return None
    seen = cloud[window]
    with np.errstate(invalid="ignore"):
        rise = (seen - middle) @ normal
    # Every pixel looks at one point of the plane of the top: it shows the top there, something lower, or what hides it.
    face, lower = np.abs(rise) < FACE, rise <= -FACE
    at = np.where(face[..., None], seen, crossings(frame, middle, normal, window)) - middle
    right = np.cross((0.0, 1.0, 0.0), normal)
    right /= np.linalg.norm(right)
    flat = np.stack((at @ right, at @ np.cross(normal, right)), axis=-1)
    centre = _disc(flat, face, ~(face | lower))
    away = np.hypot(*np.moveaxis(flat - centre, -1, 0))
    inside = away < FLAT - BEYOND
    face &= away < AROUND
    share = float(face[inside].mean()) if inside.any() else 0.0
    outside = float((away[face] > FLAT + BEYOND).mean()) if face.any() else 1.0
    if share < SEEN or outside > OUTSIDE or float(lower[inside].mean()) > OUTSIDE:
        return None
    top = middle + centre[0] * right + centre[1] * np.cross(normal, right)
    if top[2] - TUBE_HEIGHT * normal[2] < -SUNK:
        return None
    core = face & (away < CORE * FLAT)
    rgb = frame.rgb[window][core if core.any() else face].mean(axis=0)
    return Cap(
        position=(float(top[0]), float(top[1])),
        top=float(top[2]),
        axis=(float(normal[0]), float(normal[1]), float(normal[2])),
        rgb=(float(rgb[0]), float(rgb[1]), float(rgb[2])),
        colour=nearest_colour(rgb),
        seen=share,
    )


def _plane(group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a point (3,) and the upward normal (3,) of the topmost plane through points (n, 3) [m]."""
    kept = group[group[:, 2] > np.percentile(group[:, 2], 90) - 0.003]
    for _ in range(4):
        middle = kept.mean(axis=0)
        normal = np.linalg.svd(kept - middle, full_matrices=False)[2][2]
        normal = normal * np.sign(normal[2] or 1.0)
        away = (group - middle) @ normal
        closer = group[np.abs(away) < FACE]
        if len(closer) < FEWEST // 2:
            break
        kept = closer
    return middle, normal


def _disc(flat: np.ndarray, face: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Return the centre (2,) [m] of the disc of the size of a cap that explains a top.

    `flat` (h, w, 2) [m] are places on its plane, `face` and `hidden` (h, w) whether the top, or something in front of
    it, is seen there. Hidden places count as a part of the top where the disc found so far has them.
    """
    near = face & (np.hypot(flat[..., 0], flat[..., 1]) < AROUND)
    centre = flat[near].mean(axis=0) if near.any() else np.zeros(2)
    for _ in range(60):
        away = np.hypot(*np.moveaxis(flat - centre, -1, 0))
        own = (face & (away < AROUND)) | (hidden & (away < FLAT))
        if not own.any():
            break
        moved = flat[own].mean(axis=0)
        still = float(np.hypot(*(moved - centre))) < 1e-6
        centre = moved
        if still:
            break
    return np.asarray(centre)


def _window(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Return the part of an image of `shape` around pixels, with a margin."""
    margin = 8
    return (
        slice(max(0, int(rows.min()) - margin), min(shape[0], int(rows.max()) + margin + 1)),
        slice(max(0, int(columns.min()) - margin), min(shape[1], int(columns.max()) + margin + 1)),
    )
