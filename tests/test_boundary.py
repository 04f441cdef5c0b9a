"""What crosses to a tested system, on every wire: checked on the serialized request against the evaluator (5.1).

A whole episode is delivered, and everything in it must be a public word, a camera's pixels, or a number that nobody but
the robot's own sensors could know.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator import laboratories
from labference.bench import deliver
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.policies.remote import arrays, convert, profile_file
from labference.policies.remote.vla_eval import framed
from labference.records.reader import read_run
from labference.truth.draw import TWINS, draw
from labference.truth.measurement import QUANTITIES, SensorFault
from labference.wire import JOINT, Goal, Observation, Refusal, codec
from labference.wire.plain import to_json, to_plain

STEPS = 900
"""Control steps of the watched episode: some transfers, and what they make visible."""
WIRES = ("codec", "json", "msgpack", "openpi", "vla-eval")
PROFILES = ("labference", "droid", "libero")
WORDS = {"ok", "overload", "underload", "fault", "g", "uint8", "uint16", "float64", "nan"} | {
    "dry",
    "out of range",
    "pH",
    "uS/cm",
    "°C",
}
"""Words of the wires that are neither field, noun nor part of a goal."""


@dataclass
class Watched:
    """One episode: all that was delivered, and what only the evaluator knows."""

    bench: Laboratory
    delivered: list[Observation] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def goal(self) -> Goal:
        return self.delivered[0].goal


@pytest.fixture(scope="module", params=laboratories(), ids="-".join)
def watched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Run the reference executor, which wants no camera, and keep every delivery of one with all cameras."""
    name, fidelity = request.param
    bench = Laboratory(name, fidelity=fidelity)
    found = Watched(bench)
    with pytest.MonkeyPatch.context() as patch:
        make = deliver.Courier.deliver

        def kept(courier: deliver.Courier, senses: Any, assists: Any = ()) -> deliver.Delivery:
            made = make(courier, senses, assists)
            found.delivered.append(codec.copy(made.observation))
            return made

        patch.setattr(deliver.Courier, "deliver", kept)
        plan = Plan(name, "expert", 1, seed=3, budget=STEPS if bench.world.moves else None, fidelity=fidelity)
        result = bench.attempt(plan, 0, tmp_path_factory.mktemp("watched"))
    run = read_run(result.path)
    assert run.scores is not None
    found.run, found.scores, found.events = run.run, run.scores, run.lines("events.jsonl")
    found.delivered.append(_seen(bench, len(found.delivered) + 1))
    yield found
    bench.world.close()


def _seen(bench: Laboratory, number: int) -> Observation:
    instance, _ = draw(bench.contract, 3, 0)
    readings = not bench.world.moves  # what a weighing balance shows may be a hidden mass, and is meant to be seen
    senses = bench.world.sense(bench.world.cameras, depth=True, readings=readings)
    return Observation(number, bench.contract.goal(instance), senses)


def request_of(wire: str, observation: Observation, name: str = "labference") -> bytes:
    """Return what a server is sent."""
    if wire == "codec":
        return codec.encode(("act", observation))
    if wire == "json":
        return to_json({"session": "s", "request": 1, "observation": to_plain(observation)})
    if wire == "msgpack":
        return arrays.pack_openpi(to_plain(observation, binary=True))
    described = profile_file.find_profile(name)
    there = {frame.camera for frame in observation.senses.frames}
    kept = tuple(view for view in described.views if view.camera in there)
    sent, images = convert.to_request(replace(described, views=kept), observation, "prompt")
    return (
        arrays.pack_openpi(sent | images) if wire == "openpi" else framed("observation", {"images": images, **sent}, 1)
    )


def tree_of(wire: str, message: bytes) -> Any:
    """Return what a receiver decodes, as dictionaries, lists, arrays and scalars."""
    match wire:
        case "codec":
            return codec.decode(message)
        case "json":
            return json.loads(message)
        case "vla-eval":
            return arrays.unpack_vla_eval(message)
        case _:
            return arrays.unpack_openpi(message)


def leaves(tree: Any) -> Iterator[Any]:
    """Yield every key, string, number and array below `tree`."""
    if is_dataclass(tree) and not isinstance(tree, type):
        for entry in fields(tree):
            yield entry.name
            yield from leaves(getattr(tree, entry.name))
    elif isinstance(tree, dict) and "__ndarray__" in tree:
        data = tree["__ndarray__"]
        yield from (*tree, tree["dtype"])
        yield np.frombuffer(base64.b64decode(data) if isinstance(data, str) else data, tree["dtype"])
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield key
            yield from leaves(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from leaves(value)
    else:
        yield tree


def known(watched: Watched) -> set[str]:
    """Return every word that may cross."""
    public = {entry.name for kind in codec.PUBLIC for entry in fields(kind)} | {kind.__name__ for kind in codec.PUBLIC}
    goal = watched.goal
    public |= {goal.instruction, *goal.kinds, *goal.items, *goal.places, *watched.bench.world.cameras}
    channels = watched.bench.world.channels
    public |= {cell.split()[0] for cell in channels.cells}
    public |= {f"{meter} {quantity}" for meter in channels.meters for quantity in QUANTITIES}
    public |= {word for setting in goal.parameters for word in (setting.kind, setting.name, setting.unit)}
    for name in PROFILES:
        found = profile_file.find_profile(name)
        keys = [key for view in found.views for key in (view.key, view.depth, view.intrinsics, view.pose)]
        public |= {str(key) for key in keys if key} | {key for key, _ in found.state} | {str(found.vocabulary)}
    envelope = {
        "noun",
        "__ndarray__",
        "__float__",
        "dtype",
        "shape",
        "data",
        "session",
        "s",
        "request",
        "observation",
        "act",
    }
    envelope |= {
        "prompt",
        "images",
        "type",
        "payload",
        "seq",
        "timestamp",
        "task_description",
        "__image__",
        "format",
        "png",
    }
    return public | envelope | WORDS | {"__npgeneric__", "<f8", "|u1", "<u2", "<i8", "raw", "kinds", "items", "places"}


def hidden(watched: Watched) -> set[float]:
    """Return the numbers that only the evaluator knows, of this episode."""
    run = watched.run
    setup, identity = run["setup"], run["identity"]
    found = [*setup["masses"].values(), *watched.bench.world.zero.values(), *identity["seeds"].values()]
    found += [value for value in leaves(run["instance"]) if isinstance(value, float)]
    found += [number for pose in setup["items"].values() for number in pose.values() if isinstance(number, float)]
    found += [entry["deadline"] for entry in watched.events if entry["event"] == "Opened"]
    said = {float(word) for word in watched.goal.instruction.replace(",", " ").split() if _number(word)}
    return {float(value) for value in found if value and abs(value) > 1e-9} - said - {1.0}


def _number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


@pytest.mark.parametrize("wire", WIRES)
def test_a_whole_episode_holds_no_word_and_no_number_of_the_evaluator(watched: Watched, wire: str) -> None:
    public, secrets = known(watched), hidden(watched)
    assert len(watched.delivered) > 5 and secrets
    names = PROFILES if wire in ("openpi", "vla-eval") else PROFILES[:1]
    for observation in watched.delivered:
        for name in names:
            for leaf in leaves(tree_of(wire, request_of(wire, observation, name))):
                match leaf:
                    case str():
                        assert leaf in public
                    case bool() | None:
                        pass
                    case np.ndarray() if leaf.dtype.kind == "f":
                        assert secrets.isdisjoint(leaf.ravel().tolist())
                    case int() | float() | np.number():
                        assert float(leaf) not in secrets, leaf
                    case np.ndarray():
                        assert leaf.dtype in (np.uint8, np.uint16), "pixels"
                    case _:
                        raise AssertionError(f"{leaf!r} is not checked")


@pytest.mark.parametrize("wire", WIRES)
def test_the_evaluator_would_be_found(watched: Watched, wire: str) -> None:
    """The test above can fail: put a secret into a delivery, as a number and as a word, and it shows on every wire."""
    secret = min(hidden(watched))
    first = watched.delivered[0]
    robot = replace(first.senses.robot, joints=np.array([secret, *first.senses.robot.joints[1:]]))
    told = replace(first, senses=replace(first.senses, robot=robot))
    found = [leaf.ravel().tolist() if isinstance(leaf, np.ndarray) else [leaf] for leaf in _leaves(wire, told)]
    assert any(secret in values for values in found)
    legal = watched.events[0]["event"]
    named = replace(first, goal=replace(first.goal, instruction=f"{legal} is legal"))
    assert f"{legal} is legal" in [leaf for leaf in _leaves(wire, named) if isinstance(leaf, str)]
    assert f"{legal} is legal" not in known(watched)


def _leaves(wire: str, observation: Observation) -> list[Any]:
    return list(leaves(tree_of(wire, request_of(wire, observation))))


@pytest.fixture(scope="module")
def twins(watched: Watched) -> list[Observation]:
    """Return what either twin shows of itself while its displays are out."""
    bench, seen = watched.bench, []
    cameras = () if bench.contract.telling else bench.world.cameras
    broken = tuple(SensorFault(cell, 0.0, 1e9, "unplugged") for cell in bench.world.channels.cells)
    for index in (0, 1):
        instance, seeds = draw(bench.contract, 5, index, 0, TWINS)
        bench.prepare(instance, seeds, replace(bench.contract.setup(instance, seeds), faults=broken))
        bench.world.step(bench.world.command, 25)  # the display goes out
        observation = Observation(1, bench.contract.goal(instance), bench.world.sense(cameras, depth=True))
        seen.append(codec.copy(observation))  # the world goes on
    return seen


@pytest.mark.parametrize("wire", WIRES)
def test_twins_send_the_same_bytes_on_every_wire(
    twins: list[Observation], wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1.0)  # vla-eval stamps its frames
    one, other = (request_of(wire, observation) for observation in twins)
    assert one == other


@pytest.mark.parametrize("value", [object(), Laboratory, {"a": 1}, {1, 2}, Path("/"), b"bytes", 1j, draw])
def test_what_is_no_public_noun_cannot_cross(value: object) -> None:
    for encode in (codec.encode, to_plain):
        with pytest.raises(Refusal, match="cannot cross"):
            encode(value)


def test_nothing_imports_pickle() -> None:
    """Unpickling executes what the other side wrote."""
    import labference

    package = Path(labference.__file__).parent
    for module in ("pickle", "shelve", "marshal", "dill", "cloudpickle", "joblib"):
        users = [path.name for path in package.rglob("*.py") if f"import {module}" in path.read_text(encoding="utf-8")]
        assert not users, f"{users} import {module}"
    loads = [path.name for path in package.rglob("*.py") if "allow_pickle=True" in path.read_text(encoding="utf-8")]
    assert not loads


def test_what_a_system_is_told_at_reset_names_no_instance(watched: Watched) -> None:
    told = json.dumps(to_plain(watched.goal)) + json.dumps(to_plain(JOINT))
    for word in (watched.run["key"], watched.run["identity"]["instance"], watched.run["identity"]["layout"]):
        assert word not in told and word[:12] not in told
    assert watched.run["session"] not in (watched.run["key"], "")
    assert watched.bench.contract.name not in told
