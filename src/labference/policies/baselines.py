"""Baselines with good eyes and hands that choose without looking at the display."""

from __future__ import annotations

import numpy as np

from labference.motion import Arm
from labference.motion.player import Player
from labference.sight import CAMERAS
from labference.wire import Act, ActionSpec, Capabilities, Goal, Observation, Script, Stop
from labference.wire.labware import WEIGHTS

from .bench_hands import look, transfer

TRIES = 3
"""Transfers of the chosen standard that are tried until it is seen to have changed places."""


class Favourite:
    """Move the same standard in every episode, from table to pan or the other way, then declare the task finished."""

    grams = 50
    """The favourite [g]: any standard is right in a quarter of the basic instances; a mid-sized one is easy to hold."""

    def __init__(self, seed: int = 0) -> None:
        del seed  # nothing is drawn
        self._mover = Mover()

    def open(self) -> Capabilities:
        """Declare the same interface as the reader."""
        return _capabilities("favourite")

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Start over."""
        self._mover.start(spec, self.grams)

    def act(self, observation: Observation) -> Act:
        """Return the next act."""
        return self._mover.act(observation)

    def close(self) -> None:
        """Release nothing."""


class Random:
    """Move one standard drawn at random, from table to pan or the other way, then declare the task finished."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.grams = 0
        self._mover = Mover()

    def open(self) -> Capabilities:
        """Declare the same interface as the reader."""
        return _capabilities("random")

    def reset(self, goal: Goal, spec: ActionSpec, session: str) -> None:
        """Start over, with the same draw."""
        self.grams = int(np.random.default_rng(self._seed).choice(tuple(WEIGHTS)))
        self._mover.start(spec, self.grams)

    def act(self, observation: Observation) -> Act:
        """Return the next act."""
        return self._mover.act(observation)

    def close(self) -> None:
        """Release nothing."""


class Mover:
    """Move one given standard, then stop."""

    def __init__(self) -> None:
        self._arm = Arm()
        self._grams = 0
        self._player = Player(self._work)

    def start(self, spec: ActionSpec, grams: int) -> None:
        """Forget the last episode; `grams` is the standard to move."""
        self._arm = self._arm if spec == self._arm.spec else Arm(spec)
        self._grams = grams
        self._player.restart()

    def act(self, observation: Observation) -> Act:
        """Return the next act of the script."""
        return self._player.act(observation)

    def _work(self, observation: Observation) -> Script[None]:
        last = yield from look(self._arm, observation)
        before = last.view.on_pan()
        for _ in range(TRIES):
            observation = yield from transfer(self._arm, last, self._grams)
            last = yield from look(self._arm, observation)
            if self._grams in last.view.on_pan() ^ before:
                break
        while True:
            yield Stop()


def _capabilities(name: str) -> Capabilities:
    return Capabilities(name, "1", actions=("joint",), cameras=CAMERAS, depth=True)
