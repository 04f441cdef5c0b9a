"""Answer geometry queries from delivered frames alone: the public eyes, or one pixel and its depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labference.sight import (
    CAMERAS,
    TUBE_CAMERAS,
    TubesView,
    WeighingView,
    points,
    see_tubes,
    see_weighing,
)
from labference.wire import Frame, Goal, Senses
from labference.wire.tubes import HOLES, SLOTS

from .tools import ToolError

DOWN = (0.0, 0.0, -1.0)
MICRO = 6
"""Decimals of the numbers in a reply: micrometres and microradians."""


def query(senses: Senses | None, goal: Goal, arguments: dict[str, Any]) -> dict[str, Any]:
    """Answer one geometry query from the last `senses` that came with frames; `ToolError` where it cannot be."""
    if senses is None:
        raise ToolError("No frame has been delivered yet; call observe first.", bad=False)
    if "camera" in arguments or "pixel" in arguments:
        if "name" in arguments or not {"camera", "pixel"} <= arguments.keys():
            raise ToolError("geometry takes camera and pixel, or name, or nothing at all.")
        return behind(frame_of(senses, arguments["camera"]), arguments["pixel"])
    found = see(senses, goal)
    name = arguments.get("name")
    if name is not None:
        if name not in (*goal.items, *goal.places):
            raise ToolError(f"geometry: {name!r} is neither an item nor a place of the goal; those would work.")
        found = [target for target in found if target["name"] == name]
        if not found:
            raise ToolError(f"{name!r} is not seen in the last frames; look again, or choose a pixel.", bad=False)
    return {"targets": found, "acquired": _acquired(senses)}


def frame_of(senses: Senses, camera: str) -> Frame:
    """Return the last frame of a camera."""
    for frame in senses.frames:
        if frame.camera == camera:
            return frame
    known = ", ".join(frame.camera for frame in senses.frames)
    raise ToolError(f"There is no frame of camera {camera!r}; {known or 'none'} would work.")


def behind(frame: Frame, pixel: list[float]) -> dict[str, Any]:
    """Return the point in the robot base frame [m] that a pixel (column, row) shows."""
    if frame.depth is None:
        raise ToolError(f"Camera {frame.camera!r} is delivered without depth, so no pixel has a place.")
    (column, row), (height, width) = (round(entry) for entry in pixel), frame.depth.shape
    if not (0 <= column < width and 0 <= row < height):
        raise ToolError(
            f"geometry: pixel is [{column}, {row}]; columns 0 to {width - 1} and rows 0 to {height - 1} would work."
        )
    if frame.depth[row, column] == 0:
        raise ToolError(f"Camera {frame.camera!r} sees nothing at [{column}, {row}].", bad=False)
    place = points(frame)[row, column]
    return {"point": rounded(place), "acquired": round(frame.acquired, MICRO)}


def see(senses: Senses, goal: Goal) -> list[dict[str, Any]]:
    """Return what the eyes make out, in the words of the goal where it has words for it."""
    delivered = {frame.camera for frame in senses.frames if frame.depth is not None}
    for cameras, eyes in _EYES:
        if delivered.issuperset(cameras):
            return eyes(senses, goal)
    needed = " or ".join("+".join(cameras) for cameras, _ in _EYES)
    raise ToolError(f"The eyes need frames with depth of {needed}; ask for a pixel instead.", bad=False)


def rounded(values: Any) -> list[float]:
    """Return numbers as a list of floats with six decimals."""
    return [round(float(value), MICRO) for value in values]


def _weighing(senses: Senses, goal: Goal) -> list[dict[str, Any]]:
    view: WeighingView = see_weighing(senses)
    names = {id(seen): f"{grams} g" for grams, seen in view.standards().items()}
    found = []
    for seen in view.seen:
        item = seen.item
        entry = _target(names.get(id(seen), ""), (*item.position, item.base), seen.place)
        size = {
            "standing": bool(item.standing),
            "radius": round(item.radius, MICRO),
            "height": round(item.height, MICRO),
        }
        found.append(entry | size | ({} if item.standing else {"yaw": round(item.yaw, MICRO)}))
    if view.pan is not None:
        found.append(_target("pan", (*view.pan.centre, view.pan.height)) | _sizes(radius=view.pan.radius))
    return found


def _tubes(senses: Senses, goal: Goal) -> list[dict[str, Any]]:
    view: TubesView = see_tubes(senses)
    found = [
        _target(_named(tube.cap.colour, goal), tube.base, tube.place) | {"cap": tube.cap.colour} for tube in view.tubes
    ]
    if view.rotor is not None:
        found += [_target(f"slot {index}", view.rotor.slot(index)) for index in range(SLOTS)]
    if view.rack is not None:
        found += [_target(hole, view.rack.hole(hole)) for hole in HOLES]
    if view.region is not None:
        found.append(_target("region", (*view.region.centre, 0.0)))
    return found


def _named(colour: str, goal: Goal) -> str:
    """Return the item of the goal that a cap colour singles out, if it does."""
    fitting = [item for item in goal.items if item.startswith(colour)]
    return fitting[0] if len(fitting) == 1 else ""


def _target(name: str, position: tuple[float, ...], place: str = "") -> dict[str, Any]:
    """Return an entry: an item's lower end or a place's middle [m], and how a hand approaches it."""
    entry = {"name": name, "position": rounded(position), "axis": list(DOWN)}
    return entry | ({"place": place} if place else {})


def _sizes(**values: float) -> dict[str, Any]:
    return {name: round(float(value), MICRO) for name, value in values.items()}


def _acquired(senses: Senses) -> float:
    return round(max(frame.acquired for frame in senses.frames), MICRO)


_EYES: tuple[tuple[tuple[str, ...], Callable[[Senses, Goal], list[dict[str, Any]]]], ...] = (
    (CAMERAS, _weighing),
    (TUBE_CAMERAS, _tubes),
)
