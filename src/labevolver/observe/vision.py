"""A detector that asks a vision-language model what is where; what it names is then segmented and located in depth.

The model does stages one and two. Where the label of a tube is legible to the eyes of stage four, it decides over the
name that the model gave: an acid must not be a base because a model said so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2

from labference.sight.wetware import View
from labference.wire import Frame

from .. import prompts
from ..model.budget import Budget, Limits
from ..model.port import Ask, Image, Mind
from .depth import detection, located, stands_in, within_rack
from .detector import BALANCE, BEAKER, HOLDER, HOLDERS, RACK, RINSE, TUBE, Box, Detection, Seen, kind_of
from .stages import CAMERAS, Measured, Sighting, measured, measured_beaker, on_plate, read, views

ROLE = "detector"
WHOLE = 1000
"""Thousandths in which a model gives boxes: providers change the size of images."""
TOLD = {
    TUBE: "a test tube with a printed label, in a rack or elsewhere",
    "probe": "the probe of the meter, with a blue handle",
    "rod": "a glass rod with an orange grip",
    BEAKER: "a glass beaker on the pan of the balance",
    RACK: "the rack for test tubes",
    "probe_holder": "the grey block in which the probe stands",
    "rod_holder": "the grey block in which the rod stands",
    RINSE: "the dark plate with a second beaker, for rinsing",
    BALANCE: "the balance with a round pan and a display",
}
"""What a model is told of a name; every other name is that of a tube."""


@dataclass(frozen=True, slots=True)
class Named:
    """One thing as the model answers it; image counts from 1, box in thousandths."""

    name: str
    image: int
    left: float
    top: float
    right: float
    bottom: float

    def __post_init__(self) -> None:
        inside = all(0 <= value <= WHOLE for value in (self.left, self.top, self.right, self.bottom))
        if not inside or self.left >= self.right or self.top >= self.bottom:
            box = (self.left, self.top, self.right, self.bottom)
            raise ValueError(f"The box {box} of {self.name!r} is none: left < right and top < bottom, 0 to {WHOLE}.")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model answers."""

    things: tuple[Named, ...]


class VisionDetector:
    """Asks `mind` once per look, within `limits`; raises `ModelError` as every mind does."""

    def __init__(self, mind: Mind, limits: Limits | None = None, cameras: tuple[str, ...] = CAMERAS) -> None:
        self._mind, self._limits, self.cameras = mind, limits, cameras
        self.budget = Budget(limits)
        self._prompt = prompts.load(ROLE)

    @property
    def name(self) -> str:
        """Return the mind and the prompt."""
        return f"rgb-d with {self._mind.name} {self._prompt.identity}"

    def detect(self, frames: Sequence[Frame], wanted: Sequence[str]) -> Seen:
        """Return what the model finds of the `wanted` names.

        Raises `ModelError` where the model does not answer, and `ValueError` for frames that cannot be used.
        """
        seen = views(frames, self.cameras)
        self.budget = Budget(self._limits)
        answer = self._mind.ask(self._asked(seen, wanted), Answer, self.budget).value
        sightings, remarks = self._sightings(answer, seen, wanted)
        made = _measured(seen, sightings, tuple(name for name in wanted if kind_of(name) == TUBE))
        there = {each.name for each in made}
        missing = tuple(f"No {name!r} is seen." for name in wanted if name not in there)
        return Seen(tuple(sorted(made, key=lambda each: list(wanted).index(each.name))), missing + remarks)

    def _asked(self, seen: Mapping[str, View], wanted: Sequence[str]) -> Ask:
        prompt = self._prompt.filled(
            count=str(len(self.cameras)),
            images=", ".join(f"{number} is the camera {name!r}" for number, name in enumerate(self.cameras, 1)),
            things="\n".join(f"- {name}: {TOLD.get(name, TOLD[TUBE])}" for name in wanted),
        )
        images = tuple(Image(png(seen[camera].frame)) for camera in self.cameras)
        return Ask(ROLE, prompt, "What is where?", images)

    def _sightings(
        self, answer: Answer, seen: Mapping[str, View], wanted: Sequence[str]
    ) -> tuple[list[Sighting], tuple[str, ...]]:
        """Return what was named, once each, and a sentence for each answer that is left out."""
        kept: dict[str, Sighting] = {}
        left = []
        for each in answer.things:
            if each.name not in wanted or each.name in kept:
                why = "once more" if each.name in kept else "which was not asked for"
                left.append(f"The model named {each.name!r}, {why}.")
            elif not 1 <= each.image <= len(self.cameras):
                left.append(f"The model saw {each.name!r} in image {each.image}; there are 1 to {len(self.cameras)}.")
            else:
                camera = self.cameras[each.image - 1]
                kept[each.name] = Sighting(kind_of(each.name), _box(each, seen[camera].frame), each.name)
        return list(kept.values()), tuple(left)


def png(frame: Frame) -> bytes:
    """Return the image of a frame as a file."""
    done, data = cv2.imencode(".png", cv2.cvtColor(frame.rgb, cv2.COLOR_RGB2BGR))
    assert done
    return data.tobytes()


def _box(each: Named, frame: Frame) -> Box:
    height, width = frame.rgb.shape[:2]
    across, down = (width - 1) / WHOLE, (height - 1) / WHOLE
    left, top = round(each.left * across), round(each.top * down)
    return Box(frame.camera, left, top, round(each.right * across), round(each.bottom * down))


def _measured(seen: Mapping[str, View], sightings: Sequence[Sighting], texts: tuple[str, ...]) -> list[Detection]:
    """Return what was named with mask and pose, as far as depth shows them."""
    found = {each.name: _one(seen, each) for each in sightings if each.kind != BEAKER}
    pan = found.get(BALANCE) or next(located(BALANCE, seen), None)
    for each in sightings:
        if each.kind == BEAKER:
            found[each.name] = None if pan is None else measured_beaker(seen[each.box.camera], each, pan.placed)
    rack, made = found.get(RACK), list[Detection]()
    for each in sightings:
        thing = found[each.name]
        if thing is None:
            made.append(Detection(each.name, each.kind, each.box, None, None, 0.0, "model"))
        elif each.kind == TUBE:
            made.append(_tube(seen, each, thing, texts, rack))
        else:
            made.append(detection(each.name, thing, "model", _within(each, thing, found)))
    return _once(made)


def _one(seen: Mapping[str, View], sighting: Sighting) -> Measured | None:
    view = seen[sighting.box.camera]
    thing = measured(view, sighting)
    return on_plate(view, thing) if thing is not None and sighting.kind == RINSE else thing


def _tube(
    seen: Mapping[str, View], sighting: Sighting, tube: Measured, texts: tuple[str, ...], rack: Measured | None
) -> Detection:
    """Return a tube under the name that its label is read to say, else under that of the model."""
    label = read(seen[sighting.box.camera], tube, texts)
    name, by = (label.text, "label") if label.text else (sighting.name, "model")
    return detection(name, label.tube, by, within_rack(label.tube, rack))


def _within(sighting: Sighting, thing: Measured, found: Mapping[str, Measured | None]) -> str:
    """Return the holder that a tool stands in, and the balance for the beaker on its pan."""
    if sighting.kind == BEAKER:
        return BALANCE
    holder = HOLDERS.get(sighting.kind, "")
    block = found.get(holder)
    inside = sighting.kind != HOLDER and block is not None and stands_in(thing, block)
    return holder if inside else ""


def _once(made: Sequence[Detection]) -> list[Detection]:
    """Return one detection a name: of two, one whose label was read, then the better one."""
    best: dict[str, Detection] = {}
    for each in sorted(made, key=lambda each: (each.named_by == "label", each.score)):
        best[each.name] = each
    return list(best.values())
