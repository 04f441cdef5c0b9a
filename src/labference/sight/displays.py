"""Read a seven-segment display from a close-up: number, status and stability lamp, or nothing rather than a guess."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from ..wire import Frame
from ..wire.labware import (
    BAR_HALF,
    BARS,
    DIGITS,
    DOT_AFTER,
    LAMP,
    LAMP_RADIUS,
    LCD,
    SEGMENTS,
    bar_centre,
    bar_half,
    dot_centre,
)

SCALE = 4000
"""Pixels per metre of a straightened display."""
LIT, UNLIT = 0.45, 0.75
"""Brightness over that of the face around it, below which an element is lit and above which it is not."""
TINT = 8
"""How much greener than red and blue the face is, of 255."""
DULLEST = 90
"""Green value below which a pixel is not the face, of 255."""
STRAIGHT = 0.94
"""Smallest share of its four-cornered outline that the face fills."""
ASPECT = 0.15
"""Relative deviation from the catalogue shape of the face that is accepted; more of it is hidden then."""
HIDDEN = 0.003
"""Largest share of the face between its elements that may look like something else."""

STATUSES: dict[str, Literal["overload", "underload", "fault"]] = {"OL": "overload", "UL": "underload", "Err": "fault"}
NUMBER = re.compile(r"-?(0|[1-9]\d*)\.\d")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a display shows; `value`, in the unit of the instrument, is None unless `status` is "ok"."""

    value: float | None
    status: Literal["ok", "overload", "underload", "fault"]
    stable: bool


def read_display(frame: Frame) -> Shown | None:
    """Return what the display in `frame` shows, or None where it cannot be read with certainty."""
    face = straightened(frame.rgb)
    if face is None or _hidden(face) > HIDDEN:
        return None
    states = {name: _state(face, centre, half) for name, (centre, half) in _elements().items()}
    if None in states.values():
        return None
    lit = {name for name, state in states.items() if state}
    text = _text(lit)
    return None if text is None else _shown(text, "lamp" in lit)


def straightened(rgb: np.ndarray) -> np.ndarray | None:
    """Return the lit face of the display as (SCALE * height, SCALE * width, 3) uint8, or None where it is not whole."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(_tinted(rgb).astype(np.uint8))
    if count < 2:
        return None
    largest = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    rows, columns = np.nonzero(labels == largest)
    outline = cv2.convexHull(np.stack((columns, rows), axis=1).astype(np.float32))[:, 0]
    along, across = outline.sum(axis=1), outline[:, 0] - outline[:, 1]
    corners = outline[[int(np.argmin(along)), int(np.argmax(across)), int(np.argmax(along)), int(np.argmin(across))]]
    if not _looks_whole(outline, corners):
        return None
    width, height = round(SCALE * LCD[0]), round(SCALE * LCD[1])
    square = np.array(((0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)), np.float32)
    return np.asarray(cv2.warpPerspective(rgb, cv2.getPerspectiveTransform(corners, square), (width, height)))


def _looks_whole(outline: np.ndarray, corners: np.ndarray) -> bool:
    """Tell whether `corners` (4, 2), clockwise from the upper left, enclose the outline in the shape of the face."""
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    if sides.min() < 8:
        return False
    aspect = (sides[0] + sides[2]) / (sides[1] + sides[3]) / (LCD[0] / LCD[1])
    share = cv2.contourArea(corners) / max(cv2.contourArea(outline), 1.0)
    return bool(abs(aspect - 1) < ASPECT and share > STRAIGHT)


def _tinted(rgb: np.ndarray) -> np.ndarray:
    """Return which pixels (h, w) have the green of the face."""
    red, green, blue = (rgb[..., i].astype(int) for i in range(3))
    return np.asarray((green > DULLEST) & (green - red > TINT) & (green - blue > TINT))


def _elements() -> dict[str, tuple[tuple[float, float], tuple[float, float]]]:
    """Return middle and half-lengths [m] of every element by name."""
    bars = {f"{place}{bar}": (bar_centre(place, bar), bar_half(bar)) for place in range(DIGITS) for bar in BARS}
    inside = 0.7 * LAMP_RADIUS
    return bars | {"dot": (dot_centre(), (BAR_HALF, BAR_HALF)), "lamp": (LAMP, (inside, inside))}


def _box(centre: tuple[float, float], half: tuple[float, float]) -> tuple[slice, slice]:
    """Return rows and columns of a rectangle on the straightened face."""
    left, right = (round(SCALE * (LCD[0] / 2 + centre[0] + sign * half[0])) for sign in (-1, 1))
    top, bottom = (round(SCALE * (LCD[1] / 2 - centre[1] + sign * half[1])) for sign in (-1, 1))
    return slice(max(top, 0), bottom), slice(max(left, 0), right)


def _state(face: np.ndarray, centre: tuple[float, float], half: tuple[float, float]) -> bool | None:
    """Return whether an element is lit, or None where that is not clear."""
    around = face[_box(centre, (half[0] + 0.004, half[1] + 0.004))][..., 1]
    inner = face[_box(centre, (0.6 * half[0], 0.6 * half[1]))][..., 1]
    share = float(inner.mean()) / max(float(np.percentile(around, 90)), 1.0)
    return True if share < LIT else False if share > UNLIT else None


def _hidden(face: np.ndarray) -> float:
    """Return the share of the face between its elements that does not have its colour."""
    between = np.ones(face.shape[:2], bool)
    edge = round(SCALE * 0.002)
    between[:edge] = between[-edge:] = between[:, :edge] = between[:, -edge:] = False
    for centre, half in _elements().values():
        between[_box(centre, (half[0] + 0.0015, half[1] + 0.0015))] = False
    return float(1.0 - _tinted(face)[between].mean())


def _text(lit: set[str]) -> str | None:
    """Return the characters that the lit elements spell, or None where a digit is no character."""
    characters = {"".join(sorted(bars)): character for character, bars in reversed(SEGMENTS.items())}
    spelled = []
    for place in range(DIGITS):
        bars = "".join(bar for bar in "abcdefg" if f"{place}{bar}" in lit)
        if bars not in characters:
            return None
        spelled.append(characters[bars] + ("." if place == DOT_AFTER and "dot" in lit else ""))
    return "".join(spelled)


def _shown(text: str, stable: bool) -> Shown | None:
    """Return the meaning of a text; O and 0 look the same."""
    words = text.strip()
    for word, status in STATUSES.items():
        if words == word.replace("O", "0"):
            return Shown(None, status, stable)
    if NUMBER.fullmatch(words) is None or text != text.rstrip():
        return None
    return Shown(float(words), "ok", stable)
