"""Build what a tested system is given. No argument has a type from which truth could be copied."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from labference.wire import Assist, Goal, Observation, Senses, codec


@dataclass(frozen=True, slots=True)
class Delivery:
    """An observation as it leaves the policy boundary, and the digest of the messages that carry it."""

    observation: Observation
    sha256: str


class Courier:
    """Deliver the observations of one episode as decoded copies: the receiver never shares memory with the bench.

    The goal does not change within an episode and crosses once; what a receiver does to its copy stays with it.
    """

    def __init__(self, goal: Goal) -> None:
        message = codec.encode(goal)
        self._goal: Goal = codec.decode(message)
        self._digest = hashlib.sha256(message)
        self.delivered = 0

    def deliver(self, senses: Senses, assists: tuple[Assist, ...] = ()) -> Delivery:
        """Return the next observation, counted from 1."""
        self.delivered += 1
        message = codec.encode(senses)
        digest = self._digest.copy()
        digest.update(b"%d" % self.delivered)
        digest.update(message)
        given: tuple[Assist, ...] = ()
        if assists:
            support = codec.encode(assists)
            digest.update(support)
            given = codec.decode(support)
        return Delivery(Observation(self.delivered, self._goal, codec.decode(message), given), digest.hexdigest())
