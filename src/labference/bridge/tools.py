"""The tool catalogue, as data: every door offers these tools, and checks what comes in against the same schemas."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labference.wire.wetlab import SETTINGS, TUBE, USES

Schema = dict[str, Any]
"""The subset of JSON Schema that `check` keeps: type, enum, minimum, maximum, minLength, maxLength, items, minItems,
maxItems, properties, required, additionalProperties.
"""


class ToolError(Exception):
    """A tool cannot do what was asked; the sentence goes to the agent. `bad` says that the arguments were bad."""

    def __init__(self, sentence: str, *, bad: bool = True) -> None:
        super().__init__(sentence)
        self.bad = bad


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what it is called, what it says of itself, what it takes; a `free` one is not counted as a call."""

    name: str
    description: str
    parameters: dict[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    free: bool = False

    def schema(self) -> Schema:
        """Return the JSON schema of the arguments."""
        properties = self.parameters if self.free else {**self.parameters, "tokens": TOKENS}
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(description: str, longest: int = 64) -> Schema:
    return {"type": "string", "maxLength": longest, "description": description}


def _number(description: str, low: float, high: float) -> Schema:
    return {"type": "number", "minimum": low, "maximum": high, "description": description}


def _numbers(description: str, count: int, low: float | None = None, high: float | None = None) -> Schema:
    bounds = {} if low is None or high is None else {"minimum": low, "maximum": high}
    return {
        "type": "array",
        "items": {"type": "number", **bounds},
        "minItems": count,
        "maxItems": count,
        "description": description,
    }


TOKENS: Schema = {"type": "integer", "minimum": 0, "description": "Tokens that your model used since the last call."}
ON_EVIDENCE: Schema = {
    "type": "string",
    "enum": ["stop", "continue"],
    "description": "What to do when new evidence drops the commands under way: stop (default), or plan anew and go on.",
}
OPERATION = {
    "kind": _text("What to do, one of the goal's kinds."),
    "item": _text("With which item, one of the goal's items; empty for wait and stop."),
    "place": _text("Where to, one of the goal's places, or empty."),
}
FARTHEST = 2.0
"""Bound of a position that a motion is made to [m]; no arm of this kind reaches half as far."""
POSITION = _numbers(
    "Tool centre point x, y, z in the robot base frame [m]; the bench is at z = 0.", 3, -FARTHEST, FARTHEST
)
YAW = _number("Turn of the downward hand about the vertical [rad]; at 0 the fingers close along y.", -3.2, 3.2)
OPENING = _number("Distance between the finger pads [m], 0 closed.", 0.0, 0.08)
TRANSIT = _number("Height of the tool centre point while travelling [m], above everything on the way.", 0.02, 0.6)


def _used(kind: str) -> str:
    """Return how an operation of the wet bench is named, what the bench does, and the numbers that it takes."""
    use = USES[kind]
    item = "a tube" if use.item == TUBE else use.item
    numbers = ", ".join(f"{entry.name} [{entry.unit}]" for entry in SETTINGS if entry.kind == kind)
    return f"{kind} ({item}, {use.place}): {use.does}{f'; {numbers}' if numbers else ''}."


_TOOLS = (
    Tool(
        "goal",
        "Read the instruction, the words that operations are made of, the cameras, and the limits of the episode.",
    ),
    Tool(
        "observe",
        "Look: proprioception, and the images of cameras with their calibration. Takes one control period (0.05 s) "
        "unless the last reply came with fresh frames.",
        {
            "cameras": {
                "type": "array",
                "items": {"type": "string", "maxLength": 64},
                "maxItems": 16,
                "description": "Cameras to show (all).",
            },
            "depth": {"type": "boolean", "description": "Whether to send depth images as well (false)."},
        },
    ),
    Tool(
        "report_state",
        "State what you see, as names with values, such as where an item is or what a display says. Takes no time.",
        {
            "facts": {
                "type": "object",
                "additionalProperties": {"type": ["number", "string", "boolean"]},
                "description": 'For example {"50 g": "table", "display": 130.1, "steady": true}.',
            }
        },
        ("facts",),
    ),
    Tool(
        "report_choice",
        "State the operation that should come next. Takes no time.",
        OPERATION,
        ("kind",),
    ),
    Tool(
        "report_geometry",
        "State where the item and the place of an operation are. Takes no time.",
        {
            **OPERATION,
            "targets": {
                "type": "array",
                "maxItems": 64,
                "items": {
                    "type": "object",
                    "properties": {
                        "name": _text("An item or a place."),
                        "position": _numbers("An item's lower end or a place's middle, robot base frame [m].", 3),
                        "axis": _numbers("Unit vector along which a hand approaches it.", 3),
                    },
                    "required": ["name", "position", "axis"],
                    "additionalProperties": False,
                },
                "description": "What is where.",
            },
        },
        ("kind", "targets"),
    ),
    Tool(
        "commit",
        "Say which operation your next motion serves; it is stated when that motion begins.",
        OPERATION,
        ("kind",),
    ),
    Tool(
        "geometry",
        "Where things are in the robot base frame, from the last frames delivered: the point behind a pixel of a "
        "camera, or what the eyes of the bench make out, all of it or one name. Takes no time.",
        {
            "camera": _text("A camera that was delivered with depth; needs pixel."),
            "pixel": _numbers("Column and row, counted from the upper left.", 2),
            "name": _text("An item or a place of the goal, instead of camera and pixel."),
        },
    ),
    Tool(
        "vla",
        "Let the vision-language-action policy behind the bench act on an instruction, chunk by chunk.",
        {
            "instruction": _text("What the policy is told.", 500),
            "max_chunks": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Most answers to take."},
            "on_evidence": ON_EVIDENCE,
        },
        ("instruction",),
    ),
    Tool(
        "perform",
        "Let the bench carry out an operation with its own hands, to its end; says what the instruments show then. "
        + " ".join(_used(kind) for kind in USES if kind != "stop"),
        {
            **OPERATION,
            "parameters": {
                "type": "object",
                "additionalProperties": {"type": "number"},
                "description": "Numbers by name; the goal has their ranges, and the defaults of those left out.",
            },
        },
        ("kind",),
    ),
    Tool(
        "move",
        "Move to a position with the hand pointing down (yaw) or turned freely (rotation), or to joint angles, or "
        "only open or close the gripper.",
        {
            "position": POSITION,
            "yaw": YAW,
            "rotation": _numbers("Orientation of the hand as a quaternion w, x, y, z, instead of yaw.", 4),
            "joints": _numbers("Seven joint angles [rad], instead of a position.", 7),
            "opening": OPENING,
            "speed": _number("Of the hand on its way to a position [m/s].", 0.01, 0.7),
            "on_evidence": ON_EVIDENCE,
        },
    ),
    Tool(
        "pick",
        "Take something from above: travel, descend, close the fingers at the position, lift. Says whether they "
        "stopped on something.",
        {
            "position": POSITION,
            "yaw": YAW,
            "opening": OPENING,
            "transit": TRANSIT,
            "thinnest": _number("Opening above which the closed fingers hold something [m].", 0.0, 0.08),
            "draw": _number("Height over which it is first drawn straight up slowly [m].", 0.0, 0.2),
            "on_evidence": ON_EVIDENCE,
        },
        ("position",),
    ),
    Tool(
        "place",
        "Put down what the hand holds: travel, descend, open the fingers at the position, retreat straight up.",
        {
            "position": POSITION,
            "yaw": YAW,
            "opening": OPENING,
            "transit": TRANSIT,
            "on_evidence": ON_EVIDENCE,
        },
        ("position",),
    ),
    Tool(
        "insert",
        "Push what the hand holds straight down into a slot or hole, open the fingers at the position, withdraw.",
        {
            "position": POSITION,
            "entry": _number("Height of the tool centre point when the lower end is at the mouth [m].", 0.0, 0.6),
            "yaw": YAW,
            "opening": OPENING,
            "transit": TRANSIT,
            "withdraw": _number("Height to which the open hand withdraws [m] (transit).", 0.02, 0.6),
            "on_evidence": ON_EVIDENCE,
        },
        ("position", "entry"),
    ),
    Tool(
        "wait",
        "Hold still while simulated time passes; ends early with new evidence.",
        {"seconds": _number("Simulated time [s].", 0.05, 60.0)},
        ("seconds",),
    ),
    Tool(
        "finish",
        "Declare the task finished and end the episode.",
        {"summary": _text("What you did, for the record.", 2000)},
    ),
    Tool(
        "tell",
        "For the program around the model: count tokens against the budget.",
        {"tokens": TOKENS},
        ("tokens",),
        free=True,
    ),
)
CATALOGUE = {tool.name: tool for tool in _TOOLS}
"""Every tool by name, in the order in which they are offered."""
LENT = ("perform",)
"""Tools of a bench that lends its hands."""
ARM = ("commit", "report_geometry", "vla", "move", "pick", "place", "insert")
"""Tools of a bench that does not: the arm is the agent's."""
EYES = ("geometry",)
"""Tools that need cameras."""
RESET = Tool("reset", "Begin the next episode; refused while one is under way.", free=True)
"""What a server offers beside the tools of an episode."""


def check(tool: Tool, arguments: object) -> dict[str, Any]:
    """Return the arguments of a call, or raise `ToolError` with one sentence that names what would work."""
    if not isinstance(arguments, dict):
        raise ToolError(f"{tool.name} takes named arguments, not a {type(arguments).__name__}.")
    given = {name: _listed(value) for name, value in arguments.items()}
    _object(tool.name, given, tool.schema(), "argument")
    return given


def shallow(arguments: object) -> object:
    """Return arguments, or a text in place of those that are nested deeper than any tool takes."""
    level = [arguments]
    for _ in range(DEEPEST):
        level = [
            entry
            for value in level
            if isinstance(value, dict | list | tuple)
            for entry in (value.values() if isinstance(value, dict) else value)
        ]
    return f"(nested deeper than {DEEPEST} levels)" if level else arguments


def _listed(value: object) -> object:
    """Return arrays of callers in Python as lists."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _object(where: str, value: dict[Any, Any], schema: Schema, what: str) -> None:
    properties: dict[str, Schema] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            raise ToolError(f"{where} needs the {what} {name!r}: {_wanted(properties[name])}.")
    for name, entry in value.items():
        if name in properties:
            _value(f"{where}: {name}", entry, properties[name])
        elif isinstance(extra := schema.get("additionalProperties"), dict) and isinstance(name, str):
            _value(f"{where}: {_short(name)}", entry, extra)
        else:
            known = ", ".join(properties) or "none"
            raise ToolError(f"{where} has no {what} {_short(name)}; it takes: {known}.")


def _value(where: str, value: object, schema: Schema) -> None:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = next((kind for kind in kinds if _KINDS[kind](value)), None)
    if kind is None:
        raise ToolError(f"{where} is {_short(value)}; {_wanted(schema)} would work.")
    if kind == "object" and isinstance(value, dict):
        _object(where, value, schema, "entry")
    elif kind == "array" and isinstance(value, list | tuple):
        _array(where, value, schema)
    elif not _inside(value, schema):
        raise ToolError(f"{where} is {_short(value)}; {_wanted(schema)} would work.")


def _array(where: str, value: list[object] | tuple[object, ...], schema: Schema) -> None:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
        raise ToolError(f"{where} has {len(value)} entries; {_wanted(schema)} would work.")
    for index, entry in enumerate(value):
        _value(f"{where}[{index}]", entry, schema["items"])


def _inside(value: object, schema: Schema) -> bool:
    """Tell whether a number or a text keeps its bounds."""
    if isinstance(value, str):
        known = schema.get("enum")
        return len(value) <= schema.get("maxLength", 64) and (known is None or value in known)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return bool(schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf))


def _finite(value: object) -> bool:
    """Tell whether a value is a number that a motion can be made of."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < LARGEST


DEEPEST = 8
"""Levels of lists and objects that arguments may have."""
LARGEST = 1e9
"""Numbers from here on, and those that are not finite, are no arguments."""
_KINDS: dict[str, Callable[[object], bool]] = {
    "number": _finite,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, dict),
}


def _wanted(schema: Schema) -> str:
    """Return in words what a schema asks for."""
    if "enum" in schema:
        return " or ".join(map(repr, schema["enum"]))
    if isinstance(schema["type"], list):
        return " or ".join(schema["type"])
    if schema["type"] == "array":
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        count = f"{low}" if low == high else f"at most {high}"
        return f"a list of {count} {schema['items']['type']}s"
    if "minimum" in schema:
        low, high = schema["minimum"], schema.get("maximum")
        words = "an integer" if schema["type"] == "integer" else "a number"
        return f"{words} from {low:g}" + ("" if high is None else f" to {high:g}")
    if schema["type"] == "string":
        return f"a text of at most {schema.get('maxLength', 64)} characters"
    return f"{'an' if schema['type'][0] in 'aio' else 'a'} {schema['type']}"


def _short(value: object) -> str:
    """Return a value as it can stand in a sentence."""
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        text = "too long to show"
    return text if len(text) <= 60 else f"{text[:57]}..."
