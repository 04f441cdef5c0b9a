"""Random streams as plain numbers, so that a saved instrument goes on with the draws it would have made."""

from __future__ import annotations

import math

import numpy as np

Stream = tuple[int, int, int, int]
"""State and increment of a PCG64 generator, whether it holds half a word, and that half word."""


def frozen(rng: np.random.Generator) -> Stream:
    """Return where `rng` stands; it must run on PCG64, as `numpy.random.default_rng` gives."""
    state = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise ValueError(f"A generator on {state['bit_generator']} cannot be saved; use numpy.random.default_rng.")
    inner = state["state"]
    return int(inner["state"]), int(inner["inc"]), int(state["has_uint32"]), int(state["uinteger"])


def thawed(stream: Stream) -> np.random.Generator:
    """Return a generator that goes on from `stream`."""
    state, increment, half, word = stream
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": increment},
        "has_uint32": half,
        "uinteger": word,
    }
    return np.random.Generator(bits)


def branch(rng: np.random.Generator) -> np.random.Generator:
    """Return a new generator seeded from `rng`, which moves on, so that no two instruments share their noise."""
    return np.random.default_rng(rng.integers(0, 2**63, 2).tolist())


def about_one(rng: np.random.Generator, deviation: float) -> float:
    """Return a log-normal factor of mean 1 whose logarithm has the standard deviation `deviation`."""
    return math.exp(deviation * rng.standard_normal() - 0.5 * deviation**2)
