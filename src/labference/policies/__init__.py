"""Tested systems: built-in baselines, a third party's `module:Class`, and servers by their address."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labference.wire import ActionSpec, Goal, Policy

    from .remote import Client

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
    "fixed_pd": "labference.policies.pouring_pd:FixedPD",
    "adaptive_pd": "labference.policies.pouring_pd:AdaptivePD",
    "best_pd": "labference.policies.pouring_pd:BestPD",
    "act": "labference.policies.dosing:Act",
    "secant": "labference.policies.titrating:Secant",
    "untared": "labference.policies.damaged_wet:Untared",
    "straight": "labference.policies.damaged_wet:Straight",
    "heavy_hand": "labference.policies.damaged_wet:HeavyHand",
    "misreads_ph": "labference.policies.damaged_wet:MisreaderPH",
    "acid_first": "labference.policies.damaged_wet:AcidFirst",
    "hasty": "labference.policies.damaged_wet:Hasty",
}
"""Unprivileged systems; `expert` is made by the bench, because it reads the truth."""
CLIENTS = {
    "http": "labference.policies.remote.http",
    "https": "labference.policies.remote.http",
    "openpi": "labference.policies.remote.openpi",
    "vla-eval": "labference.policies.remote.vla_eval",
}
"""Modules that speak to servers, by the scheme of an address; imported when one is named."""
ADDRESSES = ", ".join(f"{scheme}://HOST:PORT" for scheme in CLIENTS)
DEADLINE_S = 600.0
"""Longest wall time of one answer, unless another is given [s]."""


class UnknownPolicy(Exception):
    """No tested system of that name."""


def make_policy(
    name: str, seed: int, profile: str = "", *, isolated: bool = False, deadline_s: float = DEADLINE_S
) -> Policy:
    """Return the system called `name`, built with the policy seed.

    `name` is built in, `module:Class`, or an address like `http://127.0.0.1:8000`; `profile` is the path of a profile
    file for a server, or ''. `isolated` puts a local system into a child process. A system in another process is given
    up after `deadline_s` of wall time per answer [s]; one in this process is the caller's to interrupt.
    """
    if is_remote(name):
        return _client(name).connect(name, seed, profile, deadline_s)
    if isolated:
        from .remote import process  # here, so that the names of policies are known without numpy

        return process.connect(_checked(name), seed, deadline_s)
    return find_policy(name)(seed=seed)


def preflight(
    name: str,
    spec: ActionSpec,
    goal: Goal,
    profile: str = "",
    *,
    isolated: bool = False,
    deadline_s: float = DEADLINE_S,
) -> None:
    """Contact the system called `name` once, before anything is run with `spec` and goals like `goal`.

    Raises `UnknownPolicy` where there is none, `Refusal` where it does not fit, `ServiceFault` where it is not there.
    """
    if is_remote(name):
        _client(name).preflight(name, profile, spec, goal, deadline_s)
    elif isolated:
        from .remote import process

        sentence = process.missing(_checked(name), deadline_s)
        if sentence:
            raise UnknownPolicy(sentence)
    else:
        find_policy(name)


def is_remote(name: str) -> bool:
    """Return whether `name` is an address."""
    return "://" in name


def find_policy(name: str) -> Callable[..., Policy]:
    """Return the class of the local system called `name` or `module:Class`."""
    module, _, attribute = BUILT_IN.get(_checked(name), name).partition(":")
    try:
        kind: Callable[..., Policy] = vars(importlib.import_module(module))[attribute]
    except KeyError:
        raise UnknownPolicy(f"Module {module!r} has no class {attribute!r}.") from None
    except (Exception, SystemExit) as error:
        words = str(error).rstrip(".") or type(error).__name__
        raise UnknownPolicy(f"Cannot import the policy module {module!r}: {words}.") from error
    if not isinstance(kind, type):
        raise UnknownPolicy(f"{name!r} is a {type(kind).__name__}; give a class.")
    return kind


def _checked(name: str) -> str:
    """Return the name of a local system, unless it can be none; nothing is imported."""
    if is_remote(name):
        raise UnknownPolicy(f"{name!r} is a server; a local policy would work, built in or module:Class.")
    if name not in BUILT_IN and ":" not in name:
        names = ["expert", *BUILT_IN]
        if name in names:
            raise UnknownPolicy(f"{name!r} reads the truth and is run by the bench alone; {names[1]!r} would work.")
        close = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownPolicy(f"No policy {name!r}.{hint} Policies: {', '.join(names)}, {ADDRESSES}, or module:Class.")
    return name


def _client(name: str) -> Client:
    """Return the module that speaks to the server called `name`."""
    scheme = name.partition("://")[0]
    if scheme not in CLIENTS:
        raise UnknownPolicy(f"No way to reach {name!r}; {ADDRESSES} would work.")
    try:
        module: Client = importlib.import_module(CLIENTS[scheme])
    except ImportError as error:
        raise UnknownPolicy(
            f"{scheme}:// needs the extra 'remote' ({error}): pip install 'labference[remote]' would work."
        ) from error
    return module
