"""The codec: public nouns cross as copies, and nothing else crosses."""

from __future__ import annotations

import json
import struct
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labference.tasks import all_tasks
from labference.truth.events import Grasped
from labference.truth.identity import Seeds
from labference.truth.measurement import Pose, Setup
from labference.wire import (
    END_EFFECTOR,
    JOINT,
    ActionSpec,
    Assist,
    Capabilities,
    Execute,
    Fact,
    Frame,
    GeometryReport,
    Goal,
    Move,
    Observation,
    Operation,
    Parameter,
    Perform,
    Reading,
    Refusal,
    Report,
    RobotState,
    Senses,
    Setting,
    StateReport,
    Stop,
    Target,
    Wait,
    codec,
)
from labference.wire.support import MODES, SCOPES

quick = settings(max_examples=60, deadline=None)
text = st.text(max_size=12)
words = st.lists(text, max_size=4).map(tuple)
numbers = st.floats(allow_nan=True, allow_infinity=True)
operations = st.builds(Operation, text, text, text)


def vectors(length: int) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(np.float64, length, elements=numbers)


arrays = st.one_of(
    *(
        hnp.arrays(name, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
        for name in ("uint8", "uint16", "int32", "int64", "float32", "float64", "bool")
    )
)
robots = st.builds(RobotState, vectors(7), vectors(7), numbers, vectors(7), vectors(8))
frames = st.builds(
    Frame,
    camera=text,
    rgb=hnp.arrays(np.uint8, (3, 4, 3)),
    depth=st.none() | hnp.arrays(np.uint16, (3, 4)),
    intrinsics=hnp.arrays(np.float64, (3, 3), elements=numbers),
    pose=hnp.arrays(np.float64, (4, 4), elements=numbers),
    acquired=numbers,
    delivered=numbers,
)
readings = st.builds(Reading, text, st.none() | numbers, text, st.booleans(), text, numbers)
senses = st.builds(
    Senses, numbers, robots, st.lists(frames, max_size=2).map(tuple), st.lists(readings, max_size=2).map(tuple)
)
numerals = st.builds(Setting, text, text, text, numbers, numbers, numbers)
goals = st.builds(Goal, text, words, words, words, st.lists(numerals, max_size=2).map(tuple))
parameters = st.builds(Parameter, text, numbers)
facts = st.builds(Fact, text, numbers | text | st.booleans())
points = st.tuples(numbers, numbers, numbers)
targets = st.builds(Target, text, points, points)
said, located = st.lists(facts, max_size=3).map(tuple), st.lists(targets, max_size=3).map(tuple)
assists = st.builds(Assist, st.sampled_from(SCOPES), st.sampled_from(MODES), said, st.none() | operations, located)
given_ = st.lists(assists, max_size=2).map(tuple)
nouns = st.one_of(
    st.sampled_from((JOINT, END_EFFECTOR)),
    st.builds(
        Capabilities,
        *(text, text, words, words, st.booleans(), st.booleans(), st.booleans()),
        *(words, words, words, st.booleans(), st.booleans()),
    ),
    assists,
    st.builds(Execute, operations),
    facts,
    frames,
    st.builds(GeometryReport, operations, located),
    goals,
    st.builds(Move, hnp.arrays(np.float64, st.tuples(st.integers(0, 3), st.just(8))), st.none() | operations),
    st.builds(Observation, st.integers(), goals, senses, given_),
    operations,
    parameters,
    st.builds(Perform, operations, st.lists(parameters, max_size=3).map(tuple)),
    readings,
    st.builds(Report, operations),
    robots,
    senses,
    numerals,
    st.builds(StateReport, said),
    st.just(Stop()),
    targets,
    st.builds(Wait, numbers),
)


def same(one: Any, two: Any) -> bool:
    """Return whether two values agree bit for bit, NaN included, types included."""
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(two, field.name)) for field in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, float):
        return repr(one) == repr(two)
    return bool(one == two)


def arrays_in(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    parts = [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else value
    return [array for part in parts for array in arrays_in(part)] if isinstance(parts, list | tuple) else []


@quick
@given(nouns)
@example(Reading("balance", float("nan"), "g", False, "fault", float("inf")))
@example(Move(np.empty((0, 8))))
def test_every_public_noun_comes_out_as_it_went_in(noun: Any) -> None:
    assert same(codec.copy(noun), noun)


@quick
@given(nouns)
def test_the_same_value_always_becomes_the_same_bytes(noun: Any) -> None:
    assert codec.encode(noun) == codec.encode(codec.copy(noun))


@quick
@given(arrays)
def test_arrays_of_numbers_keep_kind_shape_and_every_bit(array: np.ndarray) -> None:
    assert same(codec.copy(array), array)


@quick
@given(nouns)
def test_a_copy_shares_no_memory_with_the_original_nor_with_the_message(noun: Any) -> None:
    message = codec.encode(noun)
    whole = np.frombuffer(message, np.uint8)
    for ours, theirs in zip(arrays_in(noun), arrays_in(codec.decode(message)), strict=True):
        assert not np.shares_memory(ours, theirs)
        assert not np.shares_memory(whole, theirs)
        assert theirs.flags.writeable and theirs.flags.c_contiguous


def test_every_public_noun_has_a_round_trip_above() -> None:
    tried = {ActionSpec, Assist, Capabilities, Execute, Fact, Frame, GeometryReport, Goal, Move, Observation, Operation}
    tried |= {Parameter, Perform, Reading, Report, RobotState, Senses, Setting, StateReport, Stop, Target, Wait}
    assert set(codec.PUBLIC) == tried


def test_strided_and_read_only_arrays_cross() -> None:
    array = np.arange(24.0).reshape(4, 6)[::2, ::-3]
    array.setflags(write=False)
    assert codec.copy(array).tolist() == array.tolist()


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">u2"])
def test_arrays_of_the_other_byte_order_are_refused_or_keep_their_values(dtype: str) -> None:
    array = np.array([[1, 2, 3]], dtype=dtype)
    try:
        back = codec.copy(array)
    except Refusal as refusal:
        assert refusal.kind == "dtype" and dtype in str(refusal)
        return
    assert back.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("value", [np.float64("nan"), np.float64("-inf"), np.float32("nan")])
def test_numbers_of_numpy_cross_as_python_numbers_even_if_not_finite(value: Any) -> None:
    back = codec.copy(Wait(value)).seconds
    assert type(back) is float
    assert repr(back) == repr(float(value))


@pytest.mark.parametrize(
    "value",
    [
        {"mass": 0.1},
        {1, 2},
        b"bytes",
        1j,
        object(),
        Exception("x"),
        int,
        lambda: None,
        Seeds(1, 2, 3),
        Pose(0.0, 0.0, 0.0),
        Setup({}, {}, {}),
        Grasped(1, "10 g", "table", 1),
        next(iter(all_tasks().values())),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_is_not_a_public_noun_is_refused(value: object) -> None:
    for wrapped in (value, Wait(value), [1, value], Report(value)):  # type: ignore[arg-type]
        with pytest.raises(Refusal):
            codec.encode(wrapped)


@pytest.mark.parametrize("dtype", [object, "complex128", "U3", "S3", "datetime64[s]", [("a", "i4")], "float128"])
def test_arrays_of_anything_but_plain_numbers_are_refused_by_name(dtype: Any) -> None:
    array = np.zeros(2, dtype)
    with pytest.raises(Refusal, match="uint8") as refusal:
        codec.encode(Move(array))
    assert refusal.value.kind == "dtype"
    assert array.dtype.name in str(refusal.value) or array.dtype.str in str(refusal.value)


def test_a_number_wider_than_a_float_is_refused_and_not_followed_for_ever() -> None:
    with pytest.raises(Refusal):
        codec.encode(Wait(np.longdouble(1)))  # type: ignore[arg-type]


def test_a_subclass_cannot_carry_more_across() -> None:
    class Loaded(Wait):
        pass

    with pytest.raises(Refusal, match="Loaded"):
        codec.encode(Loaded(1.0))


def message(head: object, tail: bytes = b"") -> bytes:
    body = json.dumps(head).encode()
    return struct.pack("<I", len(body)) + body + tail


MALFORMED = {
    "empty": b"",
    "too short for a length": b"\x01\x00",
    "no head": struct.pack("<I", 10),
    "not JSON": struct.pack("<I", 3) + b"{]}",
    "not UTF-8": struct.pack("<I", 2) + b"\xff\xfe",
    "unknown noun": message({"noun": "Setup", "items": {}}),
    "noun without its fields": message({"noun": "Wait"}),
    "noun of the wrong kind": message({"noun": ["Wait"], "seconds": 1}),
    "object without a noun": message({"seconds": 1}),
    "array without data": message({"array": "float64", "shape": [2]}),
    "array of objects": message({"array": "object", "shape": [1]}, b"\0" * 8),
    "array without shape": message({"array": "uint8"}, b"\0"),
    "array with a shape that is a number": message({"array": "uint8", "shape": 1}, b"\0"),
    "array with a shape that is text": message({"array": "uint8", "shape": "12"}, b"\0\0"),
    "array of negative length": message([{"array": "uint8", "shape": [-1]}, {"array": "uint8", "shape": [3]}], b"ab"),
    "array too long to exist": message({"array": "uint8", "shape": [10**30]}),
    "array of endless length": message({"array": "uint8", "shape": [float("inf")]}),
    "array with more axes than numpy has": message({"array": "uint8", "shape": [1] * 100}, b"\0"),
    "left-over bytes": codec.encode(Wait(1.0)) + b"\0",
    "a number that is none": message({"float": "one"}),
    "nested beyond reason": struct.pack("<I", 200_000) + b"[" * 100_000 + b"]" * 100_000,
}


@pytest.mark.parametrize("broken", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_message_is_refused_in_one_sentence(broken: bytes) -> None:
    with pytest.raises(Refusal) as refusal:
        codec.decode(broken)
    assert refusal.value.kind == "malformed"
    assert "\n" not in str(refusal.value)


@settings(max_examples=30, deadline=None)
@given(nouns, st.data())
def test_a_truncated_message_is_refused(noun: Any, data: st.DataObject) -> None:
    whole = codec.encode(noun)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(Refusal):
        codec.decode(whole[:cut])


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_noise_is_refused_or_is_a_plain_value(noise: bytes) -> None:
    try:
        value = codec.decode(noise)
    except Refusal:
        return
    codec.encode(value)


@settings(max_examples=150, deadline=None)
@given(nouns, st.data())
def test_a_flipped_byte_never_crashes_the_receiver(noun: Any, data: st.DataObject) -> None:
    whole = bytearray(codec.encode(noun))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        codec.decode(bytes(whole))
    except Refusal as refusal:
        assert "\n" not in str(refusal)
