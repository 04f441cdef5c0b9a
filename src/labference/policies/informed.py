"""What a system makes of facts that it is given beside, or instead of, its own."""

from __future__ import annotations

from labference.wire import Assist, Fact


def informed(own: tuple[Fact, ...], given: Assist | None) -> tuple[Fact, ...]:
    """Return the own facts, those that were given in their place, or both where they only add to the own."""
    if given is None:
        return own
    names = {fact.name for fact in given.facts}
    return given.facts if given.mode == "replace" else (*given.facts, *(fact for fact in own if fact.name not in names))
