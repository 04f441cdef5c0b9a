"""Limits that hold for every wire."""

from __future__ import annotations

LARGEST_FRAME = 64 * 1024 * 1024
"""Largest message accepted from a tested system [bytes]; what is sent to it is not limited."""
LONGEST_WORDS = 200
"""Most characters of a server's own words that are quoted in a sentence."""


def quoted(words: str) -> str:
    """Return the last line of what a server said, printable and short: of a traceback, what was raised."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    last = " ".join(lines[-1].split()) if lines else ""
    short = last if len(last) <= LONGEST_WORDS else f"{last[:LONGEST_WORDS]}..."
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in short)
