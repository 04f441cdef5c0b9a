"""Build what a tested system is given. No argument has a type from which truth could be copied."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from labference.wire import Goal, Observation, Senses, codec


@dataclass(frozen=True, slots=True)
class Delivery:
    """An observation as it leaves the policy boundary, and the digest of the message that carried it."""

    observation: Observation
    sha256: str


def deliver(number: int, goal: Goal, senses: Senses) -> Delivery:
    """Return observation `number` as a decoded copy: the receiver never shares memory with the bench."""
    message = codec.encode(Observation(number, goal, senses))
    return Delivery(codec.decode(message), hashlib.sha256(message).hexdigest())
