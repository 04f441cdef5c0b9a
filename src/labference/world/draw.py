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


def add_lathe(spec: Any, name: str, profile: list[tuple[float, float]], sides: int = 32) -> None:
    """Add a closed surface of revolution through `profile`, (radius, height) pairs from bottom to top [m]."""
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    rows = [np.column_stack((radius * ring, np.full(sides, height))) for radius, height in profile]
    ends = [[(0.0, 0.0, profile[0][1])], [(0.0, 0.0, profile[-1][1])]]
    i = np.arange(sides)
    j = (i + 1) % sides
    faces = []
    for row in range(len(profile) - 1):
        low, high = row * sides, (row + 1) * sides
        faces += [np.column_stack((low + i, low + j, high + j)), np.column_stack((low + i, high + j, high + i))]
    bottom, top = len(profile) * sides, len(profile) * sides + 1
    last = (len(profile) - 1) * sides
    faces += [
        np.column_stack((np.full(sides, bottom), j, i)),
        np.column_stack((np.full(sides, top), last + i, last + j)),
    ]
    spec.add_mesh(name=name, uservert=np.concatenate(rows + ends).ravel(), userface=np.concatenate(faces).ravel())


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


def add_print(spec: Any, name: str, text: str, size: tuple[int, int], letters: int, turn: int = 0) -> None:
    """Add a material that shows `text` in the middle of (width, height) pixels of paper, `letters` pixels high.

    `turn` rotates the print counter-clockwise [degrees].
    """
    width, height = size
    image = Image.new("RGB", size, PAPER)
    ImageDraw.Draw(image).text((width / 2, height / 2), text, font=_font(letters), fill=INK, anchor="mm")
    image = image.rotate(turn).transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    texture = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3)
    texture.data = np.asarray(image).tobytes()
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
