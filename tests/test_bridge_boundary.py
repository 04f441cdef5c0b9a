"""No reply of the agent bridge holds anything of the evaluator's, for every family of tasks and its hardest level.

Twins cannot be told apart by it. (That deliveries hold nothing of the evaluator's is tested for every task.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator import laboratories, secrets
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bridge import Bridge, Terms
from labference.bridge.ledger import digested
from labference.bridge.plain import as_ndarray, dressed
from labference.records.reader import Run, read_run
from labference.truth.identity import PHYSICS
from labference.truth.measurement import SensorFault
from labference.truth.wetware import Wetware

ENVELOPE = {"sim_time", "evidence_version", "opportunity_id", "budget", "result", "error", "late", "ended"}
BUDGET = {"steps", "calls", "tokens", "wall_s", "simulated_s"}
GOAL = {
    "instruction",
    "kinds",
    "items",
    "places",
    "parameters",
    "cameras",
    "depth",
    "control_rate_hz",
    "tools",
    "limits",
}
SETTING = {"kind", "name", "unit", "low", "high", "default", "errors"}
LOOK = {"robot", "joints", "velocities", "tcp", "opening", "command", "images", "rgb", "intrinsics", "pose", "acquired"}
IMAGE = {"__ndarray__", "dtype", "shape"}
THING = {"targets", "name", "position", "axis", "place", "standing", "radius", "height", "yaw", "cap", "point"}
MOTION = {"finished", "interrupted", "sent", "applied", "holding", "waited_s", "commits"}
LENT = {"carried_out", "operation", "item", "parameters", "took_s", "new_evidence"}
PORT = {"readings", "instrument", "value", "unit", "stable", "status", "time"}
"""What a bench that lends its hands says of an operation, and what the data ports do."""
PUBLIC = ENVELOPE | BUDGET | GOAL | SETTING | LOOK | IMAGE | THING | MOTION | LENT | PORT
TIMES = {"sim_time", "acquired", "waited_s", "budget", "limits", "parameters", "control_rate_hz"}
"""Keys below which numbers are the clock's and the terms', which may equal a mass by chance."""


SIMULATED = [name for name, fidelity in laboratories() if fidelity == PHYSICS]
HARDEST = [name for name in SIMULATED if not name.endswith("-basic") or f"{name[:-6]}-extended" not in SIMULATED]
"""Tasks with a harder level are left out: it is offered the same tools, and more items."""


@pytest.fixture(scope="module", params=HARDEST)
def bench(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    found = Laboratory(request.param)
    yield found
    found.world.close()


def script(bridge: Bridge) -> list[dict[str, Any]]:
    """Call every tool once at least, well and badly, and return the replies."""
    goal = bridge.goal()
    kind, item, place = (goal["result"][word][0] for word in ("kinds", "items", "places"))
    operation = {"kind": kind, "item": item, "place": place}
    cameras = goal["result"]["cameras"]
    looks = [bridge.observe(cameras=cameras[:1]), bridge.geometry(), bridge.geometry(name="moon")]
    looks.append(bridge.geometry(camera=cameras[0], pixel=[100, 100]))
    things = looks[1].get("result", {}).get("targets", [])
    x, y, z = next((thing["position"] for thing in things if thing["name"] == item), (0.45, 0.0, 0.05))
    return [
        goal,
        *looks,
        bridge.report_state(facts={item: place, "steady": True}),
        bridge.report_choice(**operation),
        bridge.report_geometry(**operation, targets=[{"name": item, "position": [x, y, z], "axis": [0, 0, -1]}]),
        bridge.commit(**operation),
        bridge.pick(position=[x, y, z + 0.03], on_evidence="continue"),
        bridge.move(position=[0.45, 0.0, 0.4], yaw=0.2),
        bridge.wait(1.0),
        bridge.place(position=[0.4, 0.0, z + 0.05], on_evidence="continue"),
        bridge.insert(position=[2.0, 0.0, 0.1], entry=0.15),
        bridge.perform(**operation),
        bridge.observe(cameras=["roof"]),
        bridge.call("score", {}),
        bridge.tell(tokens=10),
        bridge.wait(4.0),
        bridge.observe(),
        bridge.finish("done"),
        bridge.observe(),
    ]


@pytest.fixture(scope="module")
def told(bench: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, list[Any]]:
    """Return the record of an episode, and its replies as they leave the doors."""
    plan = Plan(bench.contract.name, "agent", 1, seed=5)
    with Bridge(bench, plan, 0, tmp_path_factory.mktemp("told"), Terms()) as bridge:
        replies = [dressed(reply, as_ndarray) for reply in script(bridge)]
        assert bridge.result is not None and bridge.result.status == "scored"
        return read_run(bridge.result.path), replies


def test_replies_hold_public_keys_and_nothing_else(told: tuple[Run, list[Any]]) -> None:
    found = set().union(*(keys(reply) for reply in told[1]))
    cameras, joints = set(told[1][0]["result"]["cameras"]), {"front", "wrist"}
    assert found - cameras - joints <= PUBLIC


def test_no_reply_holds_a_number_of_the_evaluator(told: tuple[Run, list[Any]]) -> None:
    run, replies = told
    hidden = set(run.run["identity"]["seeds"].values()) | {run.run["identity"]["campaign"]} - {5}
    hidden |= {value for value in numbers(run.run["zero"]) if value}
    instance = {**run.run["instance"]}
    instance.pop("target", None)  # the goal states it
    hidden |= {value for value in numbers(instance) if isinstance(value, float) and value}
    hidden |= {value / 1000 for value in hidden if isinstance(value, float)}
    for reply in replies:
        assert not hidden & set(numbers(reply))


def test_no_reply_holds_a_word_of_the_evaluator(told: tuple[Run, list[Any]]) -> None:
    run, replies = told
    text = json.dumps([{**reply, "images": None} for reply in map(without_images, replies)])
    words = [*secrets(run.path)[0], run.run["identity"]["contract"], run.path.parent.name, "episode-", ".json"]
    words += ["legal", "correct", "success", "scored", "verdict", "stratum", "violation", "completed", "twins"]
    assert [word for word in words if word in text] == []
    assert "Traceback" not in text


def test_twins_are_told_the_same_until_evidence_shows_the_difference(bench: Laboratory, tmp_path: Path) -> None:
    """As in the test of deliveries: where an item tells, no cameras; where a display does, its cell is unplugged."""
    cells = tuple(SensorFault(cell, 0.0, 1e9, "unplugged") for cell in bench.world.channels.cells)
    watching = () if bench.contract.telling else ("front", *bench.world.cameras[-2:])
    dry = bench.contract.wetware() == Wetware()
    for cameras, faults in {(watching, cells), ((), () if dry else cells)}:  # wet benches have data ports
        said = []
        for index in (0, 1):
            plan = Plan(bench.contract.name, "agent", 2, seed=3, instances="twins", faults=faults)
            with Bridge(
                bench, plan, index, tmp_path / f"{len(cameras)}-{len(faults)}-{index}", Terms(cameras=cameras)
            ) as bridge:
                replies = [bridge.goal(), bridge.wait(0.5), bridge.observe(depth=True), bridge.geometry()]
                replies += [bridge.report_choice("wait"), bridge.move(position=[0.45, 0.0, 0.45]), bridge.observe()]
                replies += [bridge.wait(3.0), bridge.call("score"), bridge.finish()]
                said.append([digested(reply) for reply in replies])
        assert said[0] == said[1]


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for entry in value.values() for key in keys(entry)}
    return {key for entry in value for key in keys(entry)} if isinstance(value, list) else set()


def numbers(value: Any) -> Iterator[float]:
    """Yield every number of a reply that is not a time."""
    if isinstance(value, dict):
        for name, entry in value.items():
            if name not in TIMES:
                yield from numbers(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from numbers(entry)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def without_images(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_images(entry) for name, entry in value.items() if name != "__ndarray__"}
    return [without_images(entry) for entry in value] if isinstance(value, list) else value
