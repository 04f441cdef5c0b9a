"""Time a policy step of robosuite's Lift with a Panda, in an environment of its own: prints one JSON line.

robosuite 1.5.2 does not run on MuJoCo 4, so `benchmarks/run.py` starts this file with another interpreter.
"""

from __future__ import annotations

import json
import logging
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import robosuite  # noqa: E402  # after silencing it

STEPS, ROUNDS = 200, 5


def main() -> None:
    env = robosuite.make(
        "Lift", robots="Panda", has_renderer=False, has_offscreen_renderer=False, use_camera_obs=False, control_freq=20
    )
    env.reset()
    action = np.zeros(env.action_dim)
    costs = []
    for _ in range(ROUNDS):
        env.reset()
        started = time.process_time()
        for _ in range(STEPS):
            env.step(action)
        costs.append((time.process_time() - started) / STEPS)
    print(json.dumps({"policy_step_s": min(costs), "physics_steps": round(env.control_timestep / env.model_timestep)}))


if __name__ == "__main__":
    main()
