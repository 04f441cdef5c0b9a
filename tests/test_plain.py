"""Public nouns as plain values: they come back bit for bit through JSON and msgpack, and nothing else does."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labference.policies.remote.formats import FORMATS, JSON, MSGPACK, Format, by_media
from labference.truth.identity import Seeds
from labference.truth.measurement import Pose
from labference.wire import JOINT, Capabilities, Move, Operation, Reading, Refusal, Report, Stop, Wait, plain
from labference.wire.codec import DTYPES
from labference.wire.refusal import KINDS
from test_codec import arrays, nouns, quick, same

forms = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
WIDE = 2**63


def through(value: Any, form: Format) -> Any:
    """Return what a receiver makes of `value`."""
    return plain.from_plain(form.read(form.write(plain.to_plain(value, binary=form.binary))))


def small(tree: Any) -> bool:
    """Return whether all integers of plain values fit msgpack."""
    if isinstance(tree, dict):
        return all(map(small, tree.values()))
    return all(map(small, tree)) if isinstance(tree, list) else type(tree) is not int or -WIDE <= tree < WIDE


@forms
@quick
@given(noun=nouns)
@example(noun=Reading("balance", float("nan"), "g", False, "fault", float("-inf")))
@example(noun=Wait(-0.0))
@example(noun=Move(np.empty((0, 8))))
@example(noun=Move(np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf8\x7f" * 8).reshape(1, 8)))
def test_every_public_noun_comes_back_as_it_was(form: Format, noun: Any) -> None:
    if form is MSGPACK and not small(plain.to_plain(noun)):
        with pytest.raises(Refusal, match="msgpack"):
            through(noun, form)
    else:
        assert same(through(noun, form), noun)


@forms
@quick
@given(array=arrays)
def test_every_array_comes_back_with_kind_shape_and_every_bit(form: Format, array: np.ndarray) -> None:
    back = through(array, form)
    assert same(back, array)
    assert back.flags.writeable and back.flags.c_contiguous


@quick
@given(noun=nouns)
def test_json_is_strict(noun: Any) -> None:
    def no_constant(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    json.loads(JSON.write(plain.to_plain(noun)), parse_constant=no_constant)


def test_arrays_of_the_other_byte_order_and_strides_cross() -> None:
    array = np.arange(24, dtype=">f8").reshape(4, 6)[::2, ::-3]
    assert through(array, JSON).tolist() == array.tolist() == through(array, MSGPACK).tolist()


@forms
def test_numbers_in_nested_lists_are_commands(form: Format) -> None:
    rows = [[0, 0.5, -1, 2, 0, 1, 0, 0.08]] * 3
    found = plain.from_plain(form.read(form.write({"noun": "Move", "commands": rows})))
    assert same(found, Move(np.array(rows, np.float64)))


def test_fields_that_have_a_default_may_be_left_out() -> None:
    assert plain.from_plain({"noun": "Wait", "seconds": 1.5}) == Wait(1.5)
    assert plain.from_plain({"noun": "Stop"}) == Stop()
    found = plain.from_plain({"noun": "Capabilities", "name": "mine", "version": "1", "actions": ["joint"]})
    assert found == Capabilities("mine", "1", actions=("joint",))
    assert plain.from_plain({"noun": "Report", "operation": {"noun": "Operation", "kind": "stop"}}) == Report(
        Operation("stop")
    )


@forms
@pytest.mark.parametrize(
    "value",
    [{"mass": 0.1}, {1, 2}, b"bytes", 1j, object(), Seeds(1, 2, 3), Pose(0.0, 0.0, 0.0)],
    ids=lambda value: type(value).__name__,
)
def test_whatever_is_not_a_public_noun_is_not_sent(form: Format, value: object) -> None:
    for wrapped in (value, Wait(value), [1, value], Report(value)):  # type: ignore[arg-type]
        with pytest.raises(Refusal):
            plain.to_plain(wrapped, binary=form.binary)


def array(**changes: Any) -> dict[str, Any]:
    return {"__ndarray__": "AAAAAAAA8D8=", "dtype": "float64", "shape": [1]} | changes


MALFORMED: dict[str, tuple[Any, str]] = {
    "unknown noun": ({"noun": "Setup", "items": {}}, "nouns: ActionSpec"),
    "no noun": ({"seconds": 1}, "noun None"),
    "noun that is no word": ({"noun": ["Wait"], "seconds": 1}, "nouns: ActionSpec"),
    "unknown field": ({"noun": "Wait", "seconds": 1, "mass": 3}, "fields: seconds, look"),
    "missing field": ({"noun": "Wait"}, "lacks its field 'seconds'"),
    "field that is no word": ({"noun": "Wait", 1: 2, "seconds": 1}, "fields: seconds, look"),
    "ragged lists": ({"noun": "Move", "commands": [[1, 2], [3]]}, "rows of one length"),
    "text for a number": ({"noun": "Move", "commands": [["1"]]}, "lists of numbers"),
    "nothing for a number": ({"noun": "Move", "commands": [[None]]}, "lists of numbers"),
    "truth for a number": ({"noun": "Move", "commands": [[True]]}, "lists of numbers"),
    "lists without end": ({"noun": "Move", "commands": [[[[[1]]]]]}, "lists of numbers"),
    "number without end": ({"noun": "Move", "commands": [[10**400]]}, "malformed"),
    "data that are no base64": (array(__ndarray__="!!!!"), "base64"),
    "data that are no ASCII": (array(__ndarray__="é"), "base64"),
    "data that are a number": (array(__ndarray__=8), "base64"),
    "too few data": (array(shape=[2]), "8 bytes, not 16"),
    "too many data": (array(shape=[]) | {"__ndarray__": "AAAAAAAA8D8AAAAAAADwPw=="}, "16 bytes, not 8"),
    "array of objects": (array(dtype="object"), "use uint8"),
    "array of nothing known": (array(dtype=["f8"]), "use uint8"),
    "array of negative length": (array(shape=[-1]), "list of lengths"),
    "array whose length is no number": (array(shape=["1"]), "list of lengths"),
    "array too long to exist": (array(shape=[10**30]), "8 bytes, not 8"),
    "array with more axes than there are": (array(shape=[1] * 100), "malformed"),
    "array with something else": (array(note="hello"), "dtype and shape work"),
    "array without dtype": ({"__ndarray__": "", "shape": [0]}, "dtype and shape work"),
    "number that is none": ({"__float__": "one"}, "nan, inf and -inf"),
    "number with something else": ({"__float__": "nan", "note": 1}, "nan, inf and -inf"),
    "bytes": (b"\x00", "holds a bytes"),
}


@pytest.mark.parametrize(("broken", "said"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_answer_is_refused_in_one_sentence(broken: Any, said: str) -> None:
    for tree in (broken, [broken], {"noun": "Report", "operation": broken}):
        with pytest.raises(Refusal) as refused:
            plain.from_plain(tree)
        assert refused.value.kind in KINDS
        assert said in str(refused.value) and "\n" not in str(refused.value)
        assert str(refused.value).endswith(".") and len(str(refused.value)) < 500


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_does_not_have_is_refused_as_not_finite(word: str) -> None:
    with pytest.raises(Refusal, match=word) as refused:
        JSON.read(f'{{"noun":"Move","commands":[[{word}]]}}'.encode())
    assert refused.value.kind == "nonfinite"


NOISE = {
    "nothing": b"",
    "half an object": b'{"noun"',
    "not UTF-8": b'"\xff\xfe"',
    "nested beyond reason": b"[" * 100_000 + b"]" * 100_000,
    "two values": b"1 2",
    "a pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07labware\x94.",
}


@pytest.mark.parametrize("body", NOISE.values(), ids=NOISE.keys())
def test_a_body_that_is_no_json_is_refused_in_one_sentence(body: bytes) -> None:
    with pytest.raises(Refusal) as refused:
        JSON.read(body)
    assert refused.value.kind == "malformed" and "\n" not in str(refused.value)


MSGPACK_NOISE = {
    "nothing": b"",
    "half a list": b"\x92\x01",
    "nested beyond reason": b"\x91" * 100_000 + b"\x01",
    "two values": b"\x01\x02",
    "an extension": b"\xd4\x05\x00",
    "a time stamp": b"\xd6\xff\x00\x00\x00\x00",
    "a number as key": b"\x81\x01\x02",
    "text that is none": b"\xa2\xff\xfe",
    "an endless list": b"\xdd\xff\xff\xff\xff",
    "a code that is none": b"\xc1",
}


@pytest.mark.parametrize("body", MSGPACK_NOISE.values(), ids=MSGPACK_NOISE.keys())
def test_a_body_that_is_no_msgpack_is_refused_in_one_sentence(body: bytes) -> None:
    with pytest.raises(Refusal) as refused:
        plain.from_plain(MSGPACK.read(body))
    assert refused.value.kind == "malformed" and "\n" not in str(refused.value)


@forms
@quick
@given(noise=st.binary(max_size=60))
def test_noise_is_refused_or_is_a_value_that_may_be_sent(form: Format, noise: bytes) -> None:
    try:
        value = plain.from_plain(form.read(noise))
    except Refusal:
        return
    plain.to_plain(value)


@quick
@given(noun=nouns, data=st.data())
def test_a_changed_byte_never_breaks_the_receiver(noun: Any, data: st.DataObject) -> None:
    body = bytearray(JSON.write(plain.to_plain(noun)))
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        plain.from_plain(JSON.read(bytes(body)))
    except Refusal as refusal:
        assert "\n" not in str(refusal)


def test_a_form_is_named_by_its_media_type_whatever_follows() -> None:
    assert by_media("Application/JSON; charset=utf-8") is JSON
    assert by_media("application/msgpack") is MSGPACK
    assert by_media("text/html") is None is by_media("")


def test_the_documented_shapes_are_those_that_are_sent() -> None:
    found = plain.to_plain(Move(np.array([[1.0, 2.0]]), Operation("add", "10 g", "pan")))
    assert found == {
        "noun": "Move",
        "commands": {"__ndarray__": "AAAAAAAA8D8AAAAAAAAAQA==", "dtype": "float64", "shape": [1, 2]},
        "commits": {"noun": "Operation", "kind": "add", "item": "10 g", "place": "pan"},
        "look": True,
    }
    assert plain.to_plain(np.array([1.0]), binary=True)["__ndarray__"] == b"\x00\x00\x00\x00\x00\x00\xf0?"
    assert plain.to_plain(JOINT)["rate_hz"] == 20.0
    assert set(DTYPES) == {"uint8", "uint16", "int32", "int64", "float32", "float64", "bool"}
