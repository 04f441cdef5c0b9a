"""Soft forgetting after Ebbinghaus, in trials (paper, section 3.2).

An entry's strength is its score above the threshold at which it is forgotten, `score + threshold`. Over n trials
without reuse it is retained by exp(-n / S), with S = strength * (1 + ln(1 + reuses)) trials; an entry whose score falls
below zero is forgotten. Charging n trials at once or one by one is the same.
"""

from __future__ import annotations

import math

from .experience import Experience


def stability(reuses: int, strength: float) -> float:
    """Return after how many trials [trials] a memory is down to exp(-1); it grows with each successful reuse."""
    return strength * (1 + math.log1p(reuses))


def retained(score: float, trials: int, reuses: int, strength: float, threshold: float) -> float:
    """Return a score after some trials without reuse; a score at or below -threshold stays."""
    return (score + threshold) * math.exp(-trials / stability(reuses, strength)) - threshold


def lifetime(score: float, reuses: int, strength: float, threshold: float) -> float:
    """Return after how many trials [trials] without reuse a score falls below zero."""
    return stability(reuses, strength) * math.log((score + threshold) / threshold)


def decayed(entry: Experience, trial: int, strength: float, threshold: float) -> float:
    """Return an entry's score at the end of a trial; trials up to its last charge or reuse are not charged again."""
    passed = trial - max(entry.born, entry.reused, entry.settled)
    return entry.score if passed <= 0 else retained(entry.score, passed, entry.successes, strength, threshold)
