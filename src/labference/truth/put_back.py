"""Recognise that something is put back: the choice of an own hand that returns a thing to where such things stand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .events import Entered, Recognised
from .measurement import LENGTH, Block, Channels
from .recognise import ENTRY_RADIAL, FINGERS, OUT
from .sockets import Sockets


class PutBack:
    """First entry of a held thing into a socket of its holder, from above; `homes` are the sockets by item.

    A thing that is taken out has not entered. What is told is the name of the socket.
    """

    def __init__(self, homes: Mapping[str, Sockets], channels: Channels) -> None:
        self._channels = channels
        self._homes = [(channels.items.index(item), item, sockets) for item, sockets in homes.items()]
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self._outside = [False] * len(self._homes)
        self._last = b""

    def update(self, block: Block) -> list[Recognised]:
        """Return the entries that `block` shows; rows like the one before tell nothing."""
        block = block.thinned()
        last = b"".join((block.touch[-1].tobytes(), block.pose[-1].tobytes(), block.fixtures.tobytes()))
        if block.ticks == 1 and last == self._last:
            return []
        held = (block.touch[:, :-1] & FINGERS) == FINGERS
        if not held.any():
            self.reset()
            return []
        self._last = last
        events: list[Recognised] = []
        for number, (column, item, sockets) in enumerate(self._homes):
            within = held[:, column]
            if not within.any():
                self._outside[number] = False
                continue
            place = sockets.local(block.pose[:, column, :3] * LENGTH, block, self._channels)
            above = place[:, 2] - sockets.height
            if within.all() and (above > OUT).all():
                self._outside[number] = True
                continue
            apart = np.hypot(*(place[:, None, :2] - np.array(sockets.mouths)).transpose(2, 0, 1))
            inside = (above < 0.0) & (apart.min(axis=1) <= ENTRY_RADIAL)
            # 0 not held, 1 outside, 2 inside, 3 in between: a row that is like the one before it tells nothing.
            phase = np.where(within, np.where(above > OUT, 1, np.where(inside, 2, 3)), 0)
            for row in np.flatnonzero(np.diff(phase, prepend=-1)).tolist():
                if phase[row] < 2:
                    self._outside[number] = bool(phase[row])
                elif phase[row] == 2 and self._outside[number]:
                    self._outside[number] = False
                    events.append(Entered(block.tick + row, item, sockets.names[int(apart[row].argmin())]))
        return events
