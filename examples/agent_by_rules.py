"""Weigh through the tools of the agent bridge, by rules: no language model is asked.

    python examples/agent_by_rules.py runs/rules 3
    labference score runs/rules

Everything that it knows comes from replies of tools and delivered frames.
"""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

from labference.bench.campaign import register, remaining
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bridge import Bridge, Terms
from labference.motion import PARKED, Disc, Rectangle, free_spot, grasp_standing, release_opening
from labference.sight import DISPLAY_CAMERA, read_display
from labference.wire.labware import PAN_RADIUS, WEIGHT_REGION, WEIGHTS

TASK = "weighing-basic"
TERMS = Terms("by-rules", "1", cameras=("labels", "pan", "display"))
TOUCHDOWN = 0.0015
"""Height over the support at which a weight is released [m]."""
CHANGES = 8
"""Most weights that are moved before the agent gives up."""


def weigh(bridge: Bridge) -> str:
    """Move standards until display and labels agree with the goal, finish, and return what was done."""
    instruction = bridge.goal()["result"]["instruction"]
    target = float(re.search(r"to ([\d.]+) g", instruction)[1])  # type: ignore[index]  # the goal states a target
    done: list[str] = []
    while not bridge.ended and len(done) < CHANGES:
        shown = steady_reading(bridge)
        things = {thing["name"]: thing for thing in bridge.geometry()["result"]["targets"]}
        on_pan = {grams for grams in WEIGHTS if things.get(f"{grams} g", {}).get("place") == "pan"}
        move = correction(target - (shown - sum(on_pan)), on_pan)
        if move is None:
            break
        kind, place = ("remove", "table") if move in on_pan else ("add", "pan")
        bridge.report_choice(kind, f"{move} g", place)
        bridge.commit(kind, f"{move} g", place)
        carry(bridge, things, move, place)
        done.append(f"{kind} {move} g")
    bridge.finish(", ".join(done))
    return ", ".join(done)


def steady_reading(bridge: Bridge) -> float:
    """Clear the view, and return what the display shows once it is steady [g]."""
    while not bridge.ended:
        if bridge.observation.senses.robot.tcp[2] < 0.3:
            bridge.move(position=PARKED, on_evidence="continue")
        bridge.observe(cameras=[DISPLAY_CAMERA])
        shown = read_display(bridge.observation.senses.frame(DISPLAY_CAMERA))
        if shown is not None and shown.stable and shown.value is not None:
            return shown.value
        bridge.wait(0.5)
    return 0.0


def correction(wanted: float, on_pan: set[int]) -> int | None:
    """Return the standard to move next so that those on the pan sum to `wanted` [g], or None where they do."""
    subsets = (set(some) for size in range(5) for some in itertools.combinations(WEIGHTS, size))
    best = min(subsets, key=lambda subset: abs(wanted - sum(subset)))
    return max(on_pan - best or best - on_pan, default=None)


def carry(bridge: Bridge, things: dict[str, dict], grams: int, place: str) -> None:
    """Take a standard to a free spot of the pan or the table."""
    item = things[f"{grams} g"]
    others = [(*thing["position"][:2], thing["radius"]) for thing in things.values() if "standing" in thing]
    others.remove((*item["position"][:2], item["radius"]))
    size = WEIGHTS[grams]
    grasp = grasp_standing(item["position"], size.radius, size.body, size.height, others)
    found = bridge.pick(position=grasp.position, yaw=grasp.yaw, opening=grasp.opening, on_evidence="continue")
    pan, (x, y) = things["pan"], WEIGHT_REGION
    on_pan = place == "pan"
    region = Disc(pan["position"][:2], PAN_RADIUS) if on_pan else Rectangle((x[0], y[0]), (x[1], y[1]))
    spot = free_spot(region, others, size.radius)
    if spot is None or not found.get("result", {}).get("holding"):
        bridge.move(opening=0.08)
        return
    height = (pan["position"][2] if on_pan else 0.0) + grasp.position[2] - item["position"][2] + TOUCHDOWN
    bridge.place(
        position=(*spot.position, height), yaw=spot.yaw, opening=release_opening(size.radius), on_evidence="continue"
    )


def main(out: Path, episodes: int) -> None:
    """Run what `out` lacks of a campaign."""
    plan = Plan(TASK, TERMS.name, episodes)
    register(plan, out, driven=True)
    laboratory = Laboratory(TASK)
    for index in remaining(plan, out):
        with Bridge(laboratory, plan, index, out, TERMS) as bridge:
            print(f"Episode {index}: {weigh(bridge)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs/rules"), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
