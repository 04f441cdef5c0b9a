"""Serve an object with OpenPI's `infer(obs, noise=None)`, with resets, seeds and receipts for labference.

    python examples/openpi_policy.py
    labference run weighing-basic --policy openpi://127.0.0.1:8001 --profile droid-position --episodes 1 --budget 100

Put your own policy in place of `Holds`: with OpenPI, what `create_trained_policy` returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from labference.policies.remote.profile_file import find_profile
from labference.serving.hosted import Wrapped
from labference.serving.openpi import listen


class Holds:
    """Keep the arm where it is, and open the hand: eight numbers an action, as on DROID."""

    def infer(self, obs: dict[str, Any], noise: np.ndarray | None = None) -> dict[str, Any]:
        """Return actions (15, 8): joint positions [rad], and the gripper, 0 open and 1 closed."""
        del noise  # a diffusion policy would start from it
        return {"actions": np.tile(np.append(obs["observation/joint_position"], 0.0), (15, 1))}


if __name__ == "__main__":
    policy, profile = Holds(), find_profile("droid-position")
    with listen(lambda: Wrapped(policy, profile, "holds", "1", noise=(15, 8)), port=8001) as server:
        print(f"openpi://{server.host}:{server.port}", flush=True)
        server.wait()
