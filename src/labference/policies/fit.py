"""Which built-in systems take up a goal: they say so themselves, when an episode begins."""

from __future__ import annotations

from labference.wire import ActionSpec, Goal, Refusal

from . import BUILT_IN, find_policy

SESSION = "fit"


def unfit(name: str, goal: Goal, spec: ActionSpec, cameras: tuple[str, ...] | None = None) -> str:
    """Return in one sentence why the built-in system `name` cannot take up `goal`, or ''; it is begun and closed here.

    `cameras` are those of the laboratory, None where they are not known.
    """
    policy = find_policy(name)(seed=0)
    try:
        wanted = policy.open().cameras
        missing = [camera for camera in wanted if cameras is not None and camera not in cameras]
        if missing:
            return f"{name!r} needs a camera {missing[0]!r}; here is {', '.join(cameras or ()) or 'none'}."
        policy.reset(goal, spec, SESSION)
    except Refusal as refusal:
        return str(refusal)
    finally:
        policy.close()
    return ""


def fitting(goal: Goal, spec: ActionSpec, cameras: tuple[str, ...] | None = None) -> list[str]:
    """Return the built-in systems that can take up `goal`; one that holds still does so with every goal."""
    return [name for name in BUILT_IN if name != "still" and not unfit(name, goal, spec, cameras)]
