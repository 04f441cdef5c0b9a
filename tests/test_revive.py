"""What records keep comes back bit for bit, and what is damaged is named."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labference.records.revive import revived
from labference.records.strict import DamagedError, plain


class Pair(NamedTuple):
    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Kept:
    count: int
    value: float
    word: str | None
    pairs: tuple[Pair, ...]
    point: tuple[float, float, int]
    on: bool


numbers = st.floats(allow_nan=False)
kept = st.builds(
    Kept,
    st.integers(-(2**130), 2**130),
    numbers,
    st.none() | st.text(),
    st.lists(st.builds(Pair, st.text(), numbers)).map(tuple),
    st.tuples(numbers, numbers, st.integers()),
    st.booleans(),
)


@given(kept)
def test_a_value_comes_back_from_json(value):
    there = json.loads(json.dumps(plain(value), allow_nan=False))
    back = revived(Kept, there)
    assert back == value and type(back.pairs) is tuple and all(type(pair) is Pair for pair in back.pairs)
    assert math.copysign(1.0, back.value) == math.copysign(1.0, value.value)


def test_not_a_number_comes_back():
    assert math.isnan(revived(float, plain(math.nan)))


GOOD = plain(Kept(1, 2.0, None, (Pair("a", 1.0),), (0.0, 0.0, 0), True))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"count": "1"}, "'1' is no int"),
        ({"count": True}, "True is no int"),
        ({"value": None}, "None is no number"),
        ({"point": [0.0, 0.0]}, "2 entries are not the 3"),
        ({"pairs": {}}, "{} is no list"),
        ({"more": 1}, "are not the fields of a Kept"),
    ],
)
def test_what_is_damaged_is_named(change, sentence):
    with pytest.raises(DamagedError, match=sentence):
        revived(Kept, GOOD | change)


def test_what_is_never_kept_is_refused():
    with pytest.raises(TypeError, match="complex"):
        revived(complex, 1)
