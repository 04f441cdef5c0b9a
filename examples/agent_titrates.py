"""Bring a water to a pH through the tools of the agent bridge, by rules: no language model is asked.

    python examples/agent_titrates.py runs/titrates 3
    labference score runs/titrates

It measures, adds what moves the pH towards the wanted range, stirs, and measures again. A step beyond the range makes
the next dose of the other tube smaller. Everything that it knows comes from replies of tools; over HTTP or MCP the same
calls would do (`labference bridge ph --fidelity fast`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from labference.bench.campaign import register, remaining
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.bridge import Bridge, Terms

TASK = "ph"
NAME = "titrates-by-rules"
CLOSE = 0.15
"""How near to the asked pH it stops; 0.2 is allowed."""
FIRST_G, LEAST_G, MOST_G = 2.0, 0.6, 8.0
"""First, smallest and largest dose [g]."""
DOSES = 20
"""Additions after which it gives up."""

Call = Callable[..., dict[str, Any]]
"""Carry out one tool by name with named arguments, and return the reply."""


def titrate(call: Call) -> str:
    """Add and measure until the pH is in its range, finish, and return what was done."""
    instruction = call("goal")["result"]["instruction"]
    target = float(re.search(r"pH ([\d.]+)", instruction)[1])  # type: ignore[index]  # the goal states a target
    value, done, grams, last = measured(call), [], FIRST_G, ""
    while abs(value - target) > CLOSE and len(done) < DOSES:
        tube = "acid" if value > target else "base"
        before = value
        if last and tube != last:
            grams = max(LEAST_G, grams / 3)
        add(call, tube, grams)
        value = measured(call)
        done.append(f"{grams:.1f} g {tube}: pH {value:.2f}")
        left, moved = target - value, value - before
        if left * moved > 0:  # on the same side still
            grams = min(MOST_G, max(LEAST_G, grams * min(2.0, 0.7 * left / moved)))
        last = tube
    call("finish", summary="; ".join(done))
    return "; ".join(done) or f"pH {value:.2f} at once"


def measured(call: Call) -> float:
    """Measure the beaker, rinse the probe, put it back; return the pH that the meter showed."""
    perform(call, "take_probe", "probe", "probe_holder")
    readings = perform(call, "measure", "probe", "beaker", seconds=150.0)["readings"]
    perform(call, "rinse_probe", "probe", "rinse")
    perform(call, "return_probe", "probe", "probe_holder")
    shown = next(reading["value"] for reading in readings if reading["instrument"] == "meter pH")
    if shown is None:
        raise SystemExit("The meter shows no pH.")
    return float(shown)


def add(call: Call, tube: str, grams: float) -> None:
    """Pour from a tube, put it back, and stir."""
    perform(call, "pick", tube, "rack")
    gain = min(2.0, max(0.36, 4.0 / grams))  # small doses are tilted faster for each missing gram
    perform(call, "pour", tube, "beaker", amount_g=grams, kp=gain, kd=1.5 * gain, pre_stop=0.1)
    perform(call, "place", tube, "rack")
    perform(call, "stir", "rod", "beaker")


def perform(call: Call, kind: str, item: str, place: str, **parameters: float) -> dict[str, Any]:
    """Let the bench carry out an operation, and return what it says."""
    reply = call("perform", kind=kind, item=item, place=place, parameters=parameters)
    if "result" not in reply:
        raise SystemExit(reply.get("error") or reply["ended"])
    found: dict[str, Any] = reply["result"]
    return found


def main(out: Path, episodes: int) -> None:
    """Run what remains of `episodes` episodes in the fast laboratory."""
    plan = Plan(TASK, NAME, episodes, fidelity="fast")
    register(plan, out, driven=True)
    laboratory = Laboratory(TASK, fidelity="fast")
    for index in remaining(plan, out):
        with Bridge(laboratory, plan, index, out, Terms(NAME)) as bridge:
            print(f"Episode {index}: {titrate(lambda name, b=bridge, **given: b.call(name, given))}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
