"""Uninterrupted time: a condition counts only while it has held at every tick."""

from __future__ import annotations

import numpy as np


class Dwell:
    """Count consecutive ticks for which a condition has held, across blocks, for `width` conditions side by side."""

    def __init__(self, width: int) -> None:
        self.held = np.zeros(width, dtype=np.int64)

    def update(self, condition: np.ndarray) -> np.ndarray:
        """Return for `condition` (k, width) how many ticks up to and including each it has held, (k, width) int64.

        Example: condition [1, 1, 0, 1] after 5 held ticks -> [6, 7, 0, 1]
        """
        run: np.ndarray
        if condition.all():
            run = self.held + _steps(len(condition))
        elif not condition.any():
            run = np.zeros(condition.shape, dtype=np.int64)
        else:
            steps = _steps(len(condition))
            broken = np.maximum.accumulate(np.where(condition, 0, steps), axis=0)
            run = steps - broken
            run += np.where(broken == 0, self.held, 0)
        self.held = run[-1].copy()
        return run

    def stay(self, condition: np.ndarray, ticks: int) -> np.ndarray:
        """Let `condition` (width,) be the same for `ticks` ticks; return at which row each would have begun to hold.

        What holds at row r has then held for r + 1 - begin ticks. Where it does not hold, that is a row to come.

        Example: condition [1, 0] for 3 ticks after 5 held ticks each -> [-5, 3]
        """
        begins = np.where(condition, -self.held, ticks)
        self.held = ticks - begins
        return begins


def _steps(length: int) -> np.ndarray:
    return np.arange(1, length + 1, dtype=np.int64).reshape(-1, 1)
