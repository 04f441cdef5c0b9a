"""What hands of the fast laboratory do from tick to tick: pour under control of a reading, and stir."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from ..wire.glassware import (
    DRAINED_S,
    LIP_UPSTREAM,
    TILT_BACK,
    TILT_FORWARD,
    TILT_MOST,
    TILT_START,
    TUBE_GRIP,
    TUBE_LENGTH,
    TUBE_RADIUS,
    TUBE_WALL,
    lip_height,
)
from .fast_rows import Where

if TYPE_CHECKING:
    from .fast_things import Things

PERIOD = 0.05
"""Control period [s]."""
CIRCLE, TURNS_HZ = 0.008, 1.2
"""Radius of the circle that a stirring tip makes [m], and turns per second."""
OLD, NEW = 0.6, 0.4
"""Weights of the old and of the newest slope of the reading in its filter."""
EMPTY_S, LATE_S = 5.0, 90.0
"""Time at the largest tilt without a change after which a tube counts as empty, and longest pour [s]."""


class Activity(Protocol):
    """What a hand does with an `item`, which it holds at `height` [m] of its axis, tick by tick until it is `over`."""

    item: str
    height: float
    over: bool

    def blind(self) -> int:
        """Return for how many ticks it will go on whatever happens meanwhile; at least 1."""
        ...

    def tick(self, things: Things, shown: float | None, ticks: int = 1) -> list[Where]:
        """Do what is due after `ticks` at whose end the balance showed `shown` [g]; return where the item was after
        each of them but the last.
        """
        ...


class Pouring:
    """Tilt a held tube under control of the reading, tilt it back, and let the last drops fall: a state machine."""

    height = TUBE_GRIP

    def __init__(self, item: str, rim: tuple[float, float, float], given: Mapping[str, float]) -> None:
        self.item = item
        self._amount, self._pre_stop, self._kp, self._kd = (given[k] for k in ("amount_g", "pre_stop", "kp", "kd"))
        self._limit = given.get("limit", TILT_MOST)
        x, y, self._rim = rim
        away = math.hypot(x, y)
        self._left_x, self._left_y = (-y / away, x / away) if away else (0.0, 1.0)
        self._lip_x, self._lip_y = x - LIP_UPSTREAM * self._left_x, y - LIP_UPSTREAM * self._left_y
        self._tilt, self._slope, self._passed, self._still = TILT_START, 0.0, 0, 0
        self._base: float | None = None
        self._last = 0.0
        self._phase, self.over = "control", False
        self._draining = round(DRAINED_S / PERIOD)

    def blind(self) -> int:
        """Return for how many ticks it goes on whatever is shown: it looks at the balance at each."""
        return 1

    def tick(self, things: Things, shown: float | None, ticks: int = 1) -> list[Where]:
        """Go on with what the balance shows, for one tick."""
        assert ticks == 1, ticks  # it is not blind
        before = self._tilt
        match self._phase:
            case "control":
                self._control(shown)
            case "back":
                self._tilt = max(TILT_START, self._tilt - TILT_BACK * PERIOD)
                self._phase = "back" if self._tilt > TILT_START else "drain"
            case _:
                self._draining -= 1
        if self._tilt != before:
            things.move(self.item, self.where(self._tilt), TUBE_GRIP)
        self.over = self._draining <= 0
        return []

    def where(self, tilt: float) -> Where:
        """Return where the tube is when it leans by `tilt` [deg] with its lip over the vessel."""
        lean = math.radians(tilt)
        c, s, left_x, left_y = math.cos(lean), math.sin(lean), self._left_x, self._left_y
        radius = TUBE_RADIUS - TUBE_WALL
        # From the lip to the middle of the rim, and down the axis.
        base = (
            self._lip_x - radius * (c * left_x) - TUBE_LENGTH * (s * left_x),
            self._lip_y - radius * (c * left_y) - TUBE_LENGTH * (s * left_y),
            self._rim + lip_height(lean) + radius * s - TUBE_LENGTH * c,
        )
        return Where(base, (s * left_x, s * left_y, c))

    def _control(self, shown: float | None) -> None:
        self._passed += 1
        if self._base is None:
            self._base = self._last = shown if shown is not None else 0.0
        value = self._last if shown is None else shown
        self._still = 0 if value != self._last else self._still + 1
        self._slope = OLD * self._slope + NEW * (value - self._last) / PERIOD
        self._last = value
        missing = self._amount - (value - self._base)
        empty = self._tilt >= self._limit and self._still * PERIOD > EMPTY_S
        if missing <= self._pre_stop + 1e-6 or empty or self._passed * PERIOD >= LATE_S:
            self._phase = "back"
            return
        speed = min(TILT_FORWARD, max(-TILT_FORWARD, self._kp * missing - self._kd * self._slope))
        self._tilt = min(self._limit, max(TILT_START, self._tilt + speed * PERIOD))


class Stirring:
    """Lead the lower end of a held tool, which is held at `height` [m] of its axis, around in a vessel."""

    def __init__(self, item: str, height: float, at: tuple[float, float, float], ticks: int) -> None:
        self.item, self.height, self._at, self._left = item, height, at, ticks
        self._passed, self.over = 0, False

    def blind(self) -> int:
        """Return for how many ticks it goes on whatever is shown: all, once the tool has been there for a tick."""
        return self._left - self._passed if self._passed > 1 else 1

    def tick(self, things: Things, shown: float | None, ticks: int = 1) -> list[Where]:
        """Go on for `ticks`; return where the tool was after each of them but the last."""
        del shown
        first, self._passed = self._passed + 1, self._passed + ticks
        things.move(self.item, self._where(self._passed), self.height)
        self.over = self._passed >= self._left
        return [self._where(passed) for passed in range(first, self._passed)]

    def _where(self, passed: int) -> Where:
        angle = 2 * math.pi * TURNS_HZ * passed * PERIOD
        x, y, z = self._at
        return Where((x + CIRCLE * math.cos(angle), y + CIRCLE * math.sin(angle), z))
