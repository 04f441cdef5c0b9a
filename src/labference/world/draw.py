"""Shapes and textures that MuJoCo has no primitive for: turned surfaces and printed labels."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .engine import mujoco

PAPER = (245, 240, 210)
INK = (10, 10, 10)


def add_lathe(spec: Any, name: str, profile: list[tuple[float, float]], sides: int = 32, ends: bool = True) -> None:
    """Add a surface of revolution through `profile`, (radius, height) pairs from bottom to top [m].

    It is closed unless `ends` is False.
    """
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    rows = [np.column_stack((radius * ring, np.full(sides, height))) for radius, height in profile]
    poles = [[(0.0, 0.0, profile[0][1])], [(0.0, 0.0, profile[-1][1])]]
    i = np.arange(sides)
    j = (i + 1) % sides
    faces = []
    for row in range(len(profile) - 1):
        low, high = row * sides, (row + 1) * sides
        faces += [np.column_stack((low + i, low + j, high + j)), np.column_stack((low + i, high + j, high + i))]
    if not ends:
        _add_sheet(spec, name, np.concatenate(rows), np.concatenate(faces))
        return
    bottom, top = len(profile) * sides, len(profile) * sides + 1
    last = (len(profile) - 1) * sides
    faces += [
        np.column_stack((np.full(sides, bottom), j, i)),
        np.column_stack((np.full(sides, top), last + i, last + j)),
    ]
    spec.add_mesh(name=name, uservert=np.concatenate(rows + poles).ravel(), userface=np.concatenate(faces).ravel())


def add_band(spec: Any, name: str, radius: float, low: float, high: float, repeat: int, sides: int = 32) -> None:
    """Add an open cylinder wall between heights `low` and `high` [m] that shows its texture `repeat` times around."""
    angle = 2 * np.pi * np.arange(sides + 1) / sides
    wall = np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))
    vertices = [np.column_stack((wall, np.full(sides + 1, height))) for height in (low, high)]
    # Half a repeat of offset puts the middle of a print at angle 0.
    along = repeat * np.arange(sides + 1) / sides + 0.5
    texture = [np.column_stack((along, np.full(sides + 1, end))) for end in (0.0, 1.0)]
    i = np.arange(sides)
    up = i + sides + 1
    faces = [np.column_stack((i, i + 1, up + 1)), np.column_stack((i, up + 1, up))]
    spec.add_mesh(
        name=name,
        uservert=np.concatenate(vertices).ravel(),
        usertexcoord=np.concatenate(texture).ravel(),
        userface=np.concatenate(faces).ravel(),
    )


def add_plate(spec: Any, name: str, x: float, y: float, sides: int = 4, turn: float = 0.0) -> None:
    """Add a flat rectangle of half-lengths `x` and `y` [m], or a polygon of `sides` inside it, that faces up.

    It shows its texture once, turned by `turn` [rad].
    """
    if sides == 4:
        unit = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    else:
        angle = 2 * np.pi * np.arange(sides) / sides
        unit = np.column_stack((np.cos(angle), np.sin(angle)))
    c, s = np.cos(turn), np.sin(turn)
    flat = (unit * (x, y)) @ np.array([(c, s), (-s, c)])
    i = np.arange(1, sides - 1)
    faces = np.column_stack((np.zeros_like(i), i, i + 1))
    _add_sheet(spec, name, np.column_stack((flat, np.zeros(sides))), faces, (unit + 1) / 2)


def add_holed_disc(
    spec: Any, name: str, radius: float, height: float, ring: float, holes: int, bore: float, sides: int = 24
) -> None:
    """Add a disc facing up at `height` with `holes` holes of radius `bore` around a circle of radius `ring` [m].

    Every hole sits in a sector of its own, whose inner edge is straight; a polygon fills the middle.
    """
    share = np.pi / holes
    inner = ring - bore - 0.002
    arc = share * np.linspace(-1, 1, 9)
    straight = inner * np.array([(1.0, np.tan(share)), (1.0, -np.tan(share))])
    outline = np.vstack((radius * np.column_stack((np.cos(arc), np.sin(arc))), straight))
    angles = np.unique(
        np.concatenate((np.arctan2(outline[:, 1], outline[:, 0] - ring), 2 * np.pi * np.arange(sides) / sides - np.pi))
    )
    rays = np.column_stack((np.cos(angles), np.sin(angles)))
    reach = np.array([_reach(ray, outline - (ring, 0.0)) for ray in rays])[:, None]
    sector = np.vstack((bore * rays, reach * rays)) + np.array((ring, 0.0))
    count = len(rays)
    i = np.arange(count)
    j = (i + 1) % count
    band = np.vstack((np.column_stack((i, i + count, j + count)), np.column_stack((i, j + count, j))))
    vertices, faces = [], []
    for k in range(holes):
        c, s = np.cos(2 * share * k), np.sin(2 * share * k)
        vertices.append(sector @ np.array([(c, s), (-s, c)]))
        faces.append(band + 2 * count * k)
    corner = 2 * share * (np.arange(holes) + 0.5)
    first = 2 * count * holes
    vertices += [inner / np.cos(share) * np.column_stack((np.cos(corner), np.sin(corner))), np.zeros((1, 2))]
    i = np.arange(holes)
    faces.append(np.column_stack((first + i, first + (i + 1) % holes, np.full(holes, first + holes))))
    flat = np.concatenate(vertices)
    _add_sheet(spec, name, np.column_stack((flat, np.full(len(flat), height))), np.concatenate(faces))


def _reach(ray: np.ndarray, outline: np.ndarray) -> float:
    """Return how far `ray` from the origin goes to the convex polygon `outline` (n, 2) around it."""
    edges = np.roll(outline, -1, axis=0) - outline
    across = ray[0] * edges[:, 1] - ray[1] * edges[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        along = (outline[:, 0] * edges[:, 1] - outline[:, 1] * edges[:, 0]) / across
    return float(np.min(along[(across > 0) & (along > 0)]))


def _add_sheet(
    spec: Any, name: str, vertices: np.ndarray, faces: np.ndarray, texture: np.ndarray | None = None
) -> None:
    """Add an open surface, which has no volume to take an inertia from."""
    mesh = spec.add_mesh(name=name, uservert=vertices.ravel(), userface=faces.ravel())
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    if texture is not None:
        mesh.usertexcoord = texture.ravel()


def add_hatch(spec: Any, name: str, border: float, pixels: int = 256) -> None:
    """Add a material for a marked area: a dark edge, `border` of its width wide, around light stripes."""
    edge, light, stripe = (20, 105, 95), (214, 232, 226), (128, 188, 176)
    image = Image.new("RGB", (pixels, pixels), light)
    pen = ImageDraw.Draw(image)
    for start in range(-pixels, pixels, pixels // 8):
        pen.line((start, pixels, start + pixels, 0), fill=stripe, width=pixels // 24)
    pen.rectangle((0, 0, pixels - 1, pixels - 1), outline=edge, width=round(border * pixels))
    _add_image(spec, name, image)


def add_print(
    spec: Any, name: str, text: str, size: tuple[int, int], letters: int, turn: int = 0, underline: bool = False
) -> None:
    """Add a material that shows `text` in the middle of (width, height) pixels of paper, `letters` pixels high.

    `turn` rotates the print counter-clockwise [degrees]; `underline` tells a 6 from a 9.
    """
    width, height = size
    image = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(image)
    pen.text((width / 2, height / 2), text, font=_font(letters), fill=INK, anchor="mm")
    if underline:
        half, low = 0.28 * letters, height / 2 + 0.46 * letters
        pen.rectangle((width / 2 - half, low, width / 2 + half, low + 0.1 * letters), fill=INK)
    _add_image(spec, name, image.rotate(turn))


def _add_image(spec: Any, name: str, image: Image.Image) -> None:
    width, height = image.size
    texture = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3)
    texture.data = np.asarray(image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)).tobytes()
    material = spec.add_material(name=name, specular=0.1, reflectance=0.0, emission=0.1)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
    material.texuniform = False
    material.texrepeat = [1, 1]


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont:
    """Load the bold font that Matplotlib ships, so that labels are the same on every machine."""
    found = importlib.util.find_spec("matplotlib")
    folder = Path((found.submodule_search_locations or [""])[0]) if found else Path()
    return ImageFont.truetype(str(folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSans-Bold.ttf"), size)
