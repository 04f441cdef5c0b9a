"""A policy behind a profile, one episode at a time: what servers of robot policies have in common.

`Hosted` drives a local system with what a request carries; `Wrapped` adds resets, seeds and receipts to an object that
has OpenPI's `infer(obs, noise=None)`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from labference.policies.remote.convert import check_rate, from_request, missing, to_actions, to_commands
from labference.policies.remote.digests import digests
from labference.policies.remote.profile import Profile
from labference.wire import (
    Act,
    ActionSpec,
    Capabilities,
    Execute,
    GeometryReport,
    Move,
    Observation,
    Policy,
    Refusal,
    Report,
    RobotState,
    ServiceFault,
    StateReport,
    Stop,
    Wait,
)
from labference.wire.call import raised

STATEMENTS = 16
"""Most statements in a row about one request: they take no time, and this wire has no place for them."""

Request = dict[str, Any]


class Service(Protocol):
    """What a server hosts, for one connection."""

    def describe(self) -> dict[str, Any]:
        """Return what is declared when a connection opens."""
        ...

    def reset(self, seed: int, session: str) -> None:
        """Forget the last episode."""
        ...

    def infer(self, fields: Request, images: Request) -> dict[str, Any]:
        """Return the answer to a request."""
        ...

    def probe(self, fields: Request, images: Request, actions: object) -> dict[str, Any]:
        """Return what `actions` mean here, and which keys are read; the policy does not notice."""
        ...

    def close(self) -> None:
        """Release what the episode took."""
        ...


class Hosted:
    """A local system that sees what the profile maps and speaks at our rate; `capabilities` are what it declares."""

    def __init__(
        self, make: Callable[[int], Policy], capabilities: Capabilities, profile: Profile, prompt_key: str
    ) -> None:
        self._make, self._capabilities = make, capabilities
        self._profile, self._prompt_key = profile, prompt_key
        self._policy: Policy | None = None
        self._seed, self._session = 0, "served"
        self._count, self._stopped = 0, False

    def describe(self) -> dict[str, Any]:
        """Return the name of the system and the conventions of the profile."""
        found = self._capabilities
        return description(self._profile, found.name, found.version)

    def reset(self, seed: int, session: str) -> None:
        """Forget the last episode; the next request begins one."""
        self.close()
        self._seed, self._session = seed, session

    def infer(self, fields: Request, images: Request) -> dict[str, Any]:
        """Return actions for a request, with what the profile lets an answer say beside them."""
        self._count += 1
        try:
            observation = from_request(self._profile, fields, images, self._prompt_key, self._count)
            answer = self._answer(observation)
        except Refusal as refusal:
            return {"labference": {"refused": [refusal.kind, str(refusal)]}}
        except ServiceFault:
            raise
        except Exception as error:  # noqa: BLE001  # whatever the system raises is its own answer
            return {"labference": {"refused": ["exception", str(raised(self._capabilities.name, error))]}}
        answer["labference"] = {"receipt": {"level": "received", "sha256": dict(digests(fields | images))}}
        return answer

    def probe(self, fields: Request, images: Request, actions: object) -> dict[str, Any]:
        """Return what `actions` mean by the profile of this server, and the keys that it reads."""
        return probed(self._profile, fields, images, actions, self._prompt_key)

    def close(self) -> None:
        """Close the system of the last episode."""
        policy, self._policy = self._policy, None
        self._count, self._stopped = 0, False
        if policy is not None:
            policy.close()

    def _answer(self, observation: Observation) -> dict[str, Any]:
        if self._stopped:
            return self._written(Stop(), observation)
        policy = self._ready(observation)
        for _ in range(STATEMENTS):
            act = policy.act(observation)
            if not isinstance(act, Report | StateReport | GeometryReport | Execute):
                return self._written(act, observation)
            self._count += 1
            observation = replace(observation, id=self._count)
        raise Refusal("too_many", f"More than {STATEMENTS} statements in a row; this wire carries actions.")

    def _ready(self, observation: Observation) -> Policy:
        if self._policy is None:
            self._policy = self._make(self._seed)
            self._policy.open()
            self._policy.reset(observation.goal, self._profile.action.spec, self._session)
        return self._policy

    def _written(self, act: Act, observation: Observation) -> dict[str, Any]:
        """Return an act as actions: a wait, or a stop, holds the command in force."""
        profile, robot = self._profile, observation.senses.robot
        says = profile.says
        answer: dict[str, Any] = {}
        match act:
            case Move():
                commands = act.commands
                if says.operation and act.commits is not None:
                    answer[says.operation] = [act.commits.kind, act.commits.item, act.commits.place]
            case Wait():
                rows = max(1, round(act.seconds * profile.action.spec.rate_hz))
                commands = np.repeat(_held(profile.action.spec, robot)[None], min(rows, profile.chunk.execute), axis=0)
            case Stop():
                self._stopped = True
                commands = _held(profile.action.spec, robot)[None]
                if says.stop:
                    answer[says.stop] = True
            case _:
                raise Refusal("unknown_act", f"An answer of type {type(act).__name__} has no actions.")
        if says.look:
            answer[says.look] = act.look if isinstance(act, Move | Wait) else True
        answer[profile.action.key] = to_actions(profile, commands, robot)
        return answer


def hosts(make: Callable[[int], Policy], profile: Profile, prompt_key: str) -> Callable[[], Hosted]:
    """Return what makes a host of a local system for each connection; `make` builds the system with a policy seed.

    Raises `Refusal` where the profile does not carry what the system declares to need.
    """
    capabilities = declared(make, profile)
    return lambda: Hosted(make, capabilities, profile, prompt_key)


class Wrapped:
    """An object with OpenPI's `infer(obs, noise=None)`, with resets, seeds and receipts added.

    policy     answers a map of numpy arrays with a map that has `actions`
    transform  what the model sees of a request, key by key, if it can be told; receipts are of that
    tokens     number of tokens of a prompt
    noise      shape of the noise that `infer` takes; with it, results depend on session seed and step alone
    """

    def __init__(
        self,
        policy: Any,
        profile: Profile,
        name: str,
        version: str,
        *,
        transform: Callable[[Request], Request] | None = None,
        tokens: Callable[[str], int] | None = None,
        noise: tuple[int, ...] | None = None,
    ) -> None:
        self._policy, self._profile = policy, profile
        self._name, self._version = name, version
        self._transform, self._tokens, self._noise = transform, tokens, noise
        self._seed, self._step = 0, 0
        self._lock = threading.Lock()  # one model, however many connections

    def describe(self) -> dict[str, Any]:
        """Return the name of the policy and the conventions of the profile."""
        return description(self._profile, self._name, self._version)

    def reset(self, seed: int, session: str) -> None:
        """Begin to count steps, and reset the policy where it has `reset()`."""
        del session  # nothing is kept by session
        self._seed, self._step = seed, 0
        again = getattr(self._policy, "reset", None)
        if callable(again):
            with self._lock:
                again()

    def infer(self, fields: Request, images: Request) -> dict[str, Any]:
        """Return what the policy answers, with a receipt of what reached it."""
        request = fields | images
        options = {} if self._noise is None else {"noise": self._drawn()}
        self._step += 1
        with self._lock:
            answer = dict(self._policy.infer(request, **options))
        answer["labference"] = {"receipt": self._receipt(request)}
        return answer

    def probe(self, fields: Request, images: Request, actions: object) -> dict[str, Any]:
        """Return what `actions` mean by the profile of this server, and the keys that it reads."""
        found = probed(self._profile, fields, images, actions, "prompt")
        if self._transform is not None and not found["missing"]:
            found["read"] = sorted(key for key in fields | images if self._depends(fields | images, key))
        return found

    def close(self) -> None:
        """Release nothing: the policy is the server's."""

    def _drawn(self) -> np.ndarray:
        """Return the noise of this step (shape as declared), standard normal."""
        chance = np.random.default_rng([self._seed, self._step])
        return chance.standard_normal(self._noise).astype(np.float32)

    def _receipt(self, request: Request) -> dict[str, Any]:
        seen = request if self._transform is None else self._transform(dict(request))
        found: dict[str, Any] = {
            "level": "received" if self._transform is None else "transformed",
            "sha256": dict(digests({str(key): value for key, value in seen.items()})),
        }
        prompt = self._profile.prompt
        if self._tokens is not None:
            found["n_prompt_tokens"] = self._tokens(str(request.get(prompt.key or "prompt", "")))
            if prompt.max_tokens is not None:
                found["truncated"] = found["n_prompt_tokens"] > prompt.max_tokens - prompt.reserved_tokens
        return found

    def _depends(self, request: Request, key: str) -> bool:
        """Return whether what the model sees changes when the image `key` does; other keys count as read."""
        value = request[key]
        if not isinstance(value, np.ndarray) or value.dtype != np.uint8:
            return True
        assert self._transform is not None  # asked only then
        changed = {**request, key: 255 - value}
        return digests(_texts(self._transform(dict(request)))) != digests(_texts(self._transform(changed)))


def description(profile: Profile, name: str, version: str) -> dict[str, Any]:
    """Return what a server of ours declares."""
    return {
        "name": name,
        "version": version,
        "profile": profile.name,
        "reset": True,
        "receipts": True,
        "probe": True,
        "conventions": profile.conventions(),
    }


def probed(profile: Profile, fields: Request, images: Request, actions: object, prompt_key: str) -> dict[str, Any]:
    """Return commands of ours that `actions` mean by `profile`, keys that are read, and keys that are missing.

    What cannot be read is passed on as a refusal.
    """
    used = {view.key for view in profile.views} | {key for key, _ in profile.state}
    lacking = missing(profile, fields, images, prompt_key)
    found: dict[str, Any] = {"read": sorted(used), "missing": lacking}
    if not lacking:
        try:
            robot = from_request(profile, fields, images, prompt_key, 0).senses.robot
            found["commands"] = to_commands(profile, actions, robot).commands
        except Refusal as refusal:
            found["refused"] = [refusal.kind, str(refusal)]
    return found


def _texts(found: Request) -> Request:
    return {str(key): value for key, value in found.items()}


def declared(make: Callable[[int], Policy], profile: Profile) -> Capabilities:
    """Return what a local system declares; raises `Refusal` where the profile does not carry what it needs."""
    policy = make(0)
    try:
        found = policy.open()
    finally:
        policy.close()
    if profile.action.spec.name not in found.actions:
        offered = ", ".join(found.actions)
        raise Refusal("unsupported", f"{found.name!r} offers {offered}, not {profile.action.spec.name!r}.")
    check_rate(profile)
    views = {view.camera: view for view in profile.views}
    for camera in found.cameras:
        if camera not in views:
            raise Refusal("unsupported", f"{found.name!r} needs camera {camera!r}, which the profile does not send.")
        if found.depth and not views[camera].depth:
            raise Refusal(
                "unsupported", f"{found.name!r} needs depth of {camera!r}; cameras.{camera}.depth carries it."
            )
    return found


def _held(spec: ActionSpec, robot: RobotState) -> np.ndarray:
    """Return the command that keeps the targets in force."""
    if spec.space == "joint":
        return np.asarray(robot.command, float)
    return np.append(np.zeros(spec.size - 1), robot.command[-1])
