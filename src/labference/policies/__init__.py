"""Tested systems: built-in baselines, and the door for a third party's `module:Class`."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable

from labference.wire import Policy

BUILT_IN = {
    "reader": "labference.policies.reader:Reader",
    "favourite": "labference.policies.baselines:Favourite",
    "random": "labference.policies.baselines:Random",
    "planned": "labference.policies.planned:Planned",
    "old_position": "labference.policies.planned:OldPosition",
    "misreader": "labference.policies.damaged:Misreader",
    "dropper": "labference.policies.damaged:Dropper",
    "misplacer": "labference.policies.damaged:Misplacer",
    "still": "labference.policies.still:Still",
}
"""Unprivileged systems; `expert` is made by the bench, because it reads the truth."""


class UnknownPolicy(Exception):
    """No tested system of that name."""


def make_policy(name: str, seed: int) -> Policy:
    """Return the system called `name`, or an instance of `module:Class`, built with the policy seed."""
    return find_policy(name)(seed=seed)


def find_policy(name: str) -> Callable[..., Policy]:
    """Return the class of the system called `name` or `module:Class`."""
    path = BUILT_IN.get(name, name)
    module, colon, attribute = path.partition(":")
    if not colon:
        names = ["expert", *BUILT_IN]
        close = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownPolicy(f"No policy {name!r}.{hint} Policies: {', '.join(names)}, or module:Class.")
    try:
        kind: Callable[..., Policy] = vars(importlib.import_module(module))[attribute]
    except KeyError:
        raise UnknownPolicy(f"Module {module!r} has no class {attribute!r}.") from None
    except (Exception, SystemExit) as error:
        raise UnknownPolicy(f"Cannot import the policy module {module!r}: {error}.") from error
    if not isinstance(kind, type):
        raise UnknownPolicy(f"{name!r} is a {type(kind).__name__}; give a class.")
    return kind
