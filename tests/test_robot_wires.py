"""Robot policies over websockets: the same answers as in process, conventions checked first, receipts kept."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from websockets.sync.server import serve

from conftest import BASIC, Attempt
from lab_policies import HERE
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.policies import make_policy, preflight
from labference.policies.remote import link
from labference.policies.remote.arrays import (
    Malformed,
    pack_openpi,
    pack_vla_eval,
    unpack_openpi,
    unpack_vla_eval,
)
from labference.policies.remote.digests import sha256_of, told
from labference.policies.remote.limits import LONGEST_WORDS, quoted
from labference.policies.remote.link import Link
from labference.policies.remote.openpi import OpenPi
from labference.policies.remote.probe import compare_specs, home
from labference.policies.remote.profile import Profile
from labference.policies.remote.profile_file import find_profile, parse
from labference.records.reader import read_run
from labference.serving import openpi, vla_eval
from labference.serving.hosted import Wrapped
from labference.serving.sockets import Serving
from labference.wire import END_EFFECTOR, JOINT, Act, Goal, Observation, Policy, Refusal, ServiceFault
from labference.wire.action import STROKE
from labference.wire.panda import HOME
from rogue_robots import PROFILE, Rogue, serving
from wire_policies import Broken, Choosy, Plastic, Reactive, Waiting, answer

GOAL = Goal("Bring the balance to 200.0 g.", ("add", "stop"), ("10 g",), ("pan",))
CAMERA = """
[cameras.front]
key = "front"
"""
WIRED = f"""
name = "wired"
[state]
joints = ["joints"]
opening = ["opening"]
command = ["command"]
[action]
rate_hz = 20
[gripper]
open = {STROKE}
closed = 0.0
[says]
operation = "operation"
look = "look"
"""
STEPS = 70


def read(text: str) -> Profile:
    return parse(text.encode(), "p.toml")


@contextmanager
def hosted(wire: str, make: Callable[[int], Policy], profile: Profile) -> Iterator[str]:
    """Serve a local system and yield its address."""
    module = openpi if wire == "openpi" else vla_eval
    with module.hosting(make, profile) as server:
        yield f"{wire}://127.0.0.1:{server.port}"


@pytest.fixture
def drive(laboratory: Laboratory, tmp_path: Path) -> Callable[..., Attempt]:
    """Return a function that runs one attempt of a policy, with a profile given as text."""

    def attempt(policy: str, text: str = "", **options: Any) -> Attempt:
        path = tmp_path / "profile.toml"
        path.write_text(text)
        plan = Plan(BASIC, policy, 10, budget=STEPS, profile=str(path) if text else "", **options)
        result = laboratory.attempt(plan, 0, tmp_path / "out")
        return Attempt(result, read_run(result.path))

    return attempt


# The same policy over every wire.


@pytest.mark.parametrize(
    ("name", "make", "camera"), [("Reactive", Reactive, CAMERA), ("Waiting", Waiting, "")], ids=["reactive", "waiting"]
)
@pytest.mark.parametrize("wire", ["openpi", "vla-eval"])
def test_the_same_policy_gives_the_same_bytes_and_verdict_as_in_process(
    name: str, make: Callable[[int], Policy], camera: str, wire: str, drive: Callable[..., Attempt]
) -> None:
    here = drive(f"wire_policies:{name}")
    with hosted(wire, make, read(WIRED + camera)) as address:
        there = drive(address, WIRED + camera)
    assert len(here.actions) > 2
    for file in ("events.jsonl", "measurements.bin"):
        assert (there.run.path / file).read_bytes() == (here.run.path / file).read_bytes(), file
    assert there.verdict == here.verdict
    assert [action["requested"] for action in there.actions if action["act"] == "Move"] != []
    assert [entry["sha256"] for entry in there.observations] == [entry["sha256"] for entry in here.observations]


def test_the_real_model_server_of_vla_eval_gives_the_same_bytes(drive: Callable[..., Attempt], tmp_path: Path) -> None:
    text = WIRED + CAMERA + '[prompt]\nkey = "task_description"\n'
    here = drive("wire_policies:Reactive")
    with real_model_server() as port:
        check(f"vla-eval://127.0.0.1:{port}", text, tmp_path)
        there = drive(f"vla-eval://127.0.0.1:{port}", text)
    assert (there.run.path / "events.jsonl").read_bytes() == (here.run.path / "events.jsonl").read_bytes()
    assert there.verdict == here.verdict
    assert there.run.run["service"]["server"]["model_server"] == "Model"
    assert len(there.run.run["service"]["not_verified"]) == 4


def test_a_real_model_server_with_a_buffer_is_declared_and_named_in_the_identity(drive: Callable[..., Attempt]) -> None:
    text = WIRED + CAMERA + '[chunk]\nowner = "server"\nstale = "accept"\n'
    with real_model_server(chunk_size=7) as port:
        found = drive(f"vla-eval://127.0.0.1:{port}", text)
    assert found.result.status == "scored"
    assert len(found.observations) == STEPS, "one action an observation"
    assert found.run.run["identity"]["policy"].endswith(" server-buffered")


@contextmanager
def real_model_server(chunk_size: int | None = None) -> Iterator[int]:
    """Serve `answer` with the package that vla-eval's users run."""
    pytest.importorskip("vla_eval", reason="vla-eval is an optional extra")
    import anyio
    from vla_eval.model_servers.predict import PredictModelServer
    from vla_eval.model_servers.serve import serve_async
    from vla_eval.specs import IMAGE_RGB, LANGUAGE, DimSpec

    class Model(PredictModelServer):
        def predict(self, obs: dict[str, Any], ctx: Any) -> dict[str, Any]:
            joints, opening = np.float32(obs["joints"]), float(np.float32(obs["opening"][0]))
            return {"actions": answer(joints, opening, float(obs["images"]["front"].mean()))}

        def get_action_spec(self) -> dict[str, Any]:
            return {"joints": DimSpec("joints", 7, "joint_positions"), "gripper": DimSpec("gripper", 1, "raw")}

        def get_observation_spec(self) -> dict[str, Any]:
            return {"image": IMAGE_RGB, "language": LANGUAGE}

    found: dict[str, Any] = {}
    up = threading.Event()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            found["port"] = await group.start(serve_async, Model(chunk_size=chunk_size), "127.0.0.1", 0)
            found["stop"] = group.cancel_scope
            found["token"] = anyio.lowlevel.current_token()
            up.set()

    thread = threading.Thread(target=lambda: anyio.run(main))
    thread.start()
    assert up.wait(30)
    try:
        yield found["port"]
    finally:
        anyio.from_thread.run_sync(found["stop"].cancel, token=found["token"])
        thread.join()


def test_a_reader_over_openpi_sees_the_display_and_the_labels(drive: Callable[..., Attempt]) -> None:
    from labference.policies.reader import Reader

    with hosted("openpi", lambda seed: Reader(seed=seed), find_profile("labference")) as address:
        found = drive(address)
    assert found.result.status == "scored"
    assert [frame["camera"] for frame in found.observations[0]["frames"]] == ["labels", "pan", "display"]
    assert found.run.run["identity"]["policy"].startswith("openpi: reader ")
    assert not found.run.run["service"]["not_verified"]


@pytest.mark.parametrize("wire", ["openpi", "vla-eval"])
def test_what_a_hosted_policy_raises_is_its_own_failure(wire: str, drive: Callable[..., Attempt]) -> None:
    with hosted(wire, Broken, read(WIRED)) as address:
        found = drive(address, WIRED)
    assert (found.result.status, found.result.reason) == ("scored", "interface_failure")
    assert found.result.sentence == "'scripted' raised RuntimeError: the grip is jammed"


def test_a_policy_is_not_hosted_behind_a_profile_that_leaves_out_what_it_needs() -> None:
    with pytest.raises(Refusal, match="'choosy' needs camera 'wrist', which the profile does not send"):
        openpi.hosting(Choosy, read(WIRED))
    with pytest.raises(Refusal, match="speaks at 20 Hz and cannot be served at 15 Hz"):
        openpi.hosting(Waiting, find_profile("droid"))
    with pytest.raises(Refusal, match="'reactive' offers joint, not 'end_effector'"):
        vla_eval.hosting(Reactive, find_profile("libero"))


# Receipts.


def test_receipts_of_a_server_of_ours_match_what_was_sent(drive: Callable[..., Attempt]) -> None:
    with hosted("openpi", Reactive, read(WIRED + CAMERA)) as address:
        found = drive(address, WIRED + CAMERA)
    receipts = found.run.lines("requests.jsonl")
    assert [receipt["observation"] for receipt in receipts] == [entry["observation"] for entry in found.observations]
    for receipt in receipts:
        assert (receipt["level"], receipt["seen"]) == ("received", receipt["sent"])
        assert {key for key, _ in receipt["sent"]} == {"joints", "opening", "command", "front", "prompt"}


def wrapped(noise: tuple[int, ...] | None = (10, 8), **options: Any) -> Serving:
    profile = read(PROFILE + "[prompt]\nmax_tokens = 4\n")
    return openpi.listen(lambda: Wrapped(Plastic(), profile, "plastic", "2", noise=noise, **options))


def ask(robot: OpenPi, count: int) -> list[bytes]:
    here = home(robot.profile, GOAL)
    return [np.asarray(robot.act(here).commands).tobytes() for _ in range(count)]  # type: ignore[union-attr]


def test_a_wrapped_policy_depends_on_its_seed_and_not_on_earlier_episodes() -> None:
    with wrapped() as server:

        def episode(seed: int, session: str) -> list[bytes]:
            robot = OpenPi(f"ws://127.0.0.1:{server.port}", read(PROFILE), seed, 5.0)
            robot.begin(GOAL, session)
            found = ask(robot, 2)
            robot.begin(GOAL, session)  # and once more on the same connection
            assert ask(robot, 2) == found
            robot.close()
            return found

        first = episode(7, "a")
        assert first[0] != first[1]
        assert episode(8, "b") != first
        assert episode(7, "c") == first


def test_a_wrapped_policy_tells_what_reached_the_model() -> None:
    def transform(request: dict[str, Any]) -> dict[str, Any]:
        return {"state": request["joints"][:3], "text": request["prompt"][:8]}

    with wrapped(transform=transform, tokens=lambda text: len(text.split())) as server:
        robot = OpenPi(f"ws://127.0.0.1:{server.port}", read(PROFILE), 0, 5.0)
        robot.begin(GOAL, "a")
        ask(robot, 1)
        robot.close()
    (receipt,) = robot.receipts()
    assert receipt.level == "transformed"
    assert dict(receipt.seen) == {"state": sha256_of(np.array(HOME)[:3]), "text": sha256_of("Bring th")}
    assert dict(receipt.said) == {"prompt_tokens": 6, "truncated": True}
    assert robot.receipts() == ()


def test_an_answer_about_another_observation_is_never_used() -> None:
    with wrapped() as server:
        robot = OpenPi(f"ws://127.0.0.1:{server.port}", read(PROFILE), 0, 5.0)
        robot.begin(GOAL, "a")
        asked = robot.ask

        def shifted(request: dict[str, Any]) -> dict[str, Any]:
            found = asked(request)
            found["labference"]["observation"] = 41
            return found

        robot.ask = shifted  # type: ignore[method-assign]
        with pytest.raises(ServiceFault, match="answered observation 41 when asked about 1"):
            ask(robot, 1)
        with pytest.raises(ServiceFault, match="is not used again"):
            ask(robot, 1)
        robot.close()


def test_a_stock_client_is_answered_as_by_a_stock_server() -> None:
    with wrapped(noise=None) as server:
        link = Link(f"ws://127.0.0.1:{server.port}", 5.0)
        assert "labference" in unpack_openpi(link.receive())  # type: ignore[arg-type]
        link.send(pack_openpi({"joints": np.array(HOME), "prompt": "go"}))
        found = unpack_openpi(link.receive())  # type: ignore[arg-type]
        assert found["actions"].tolist() == np.tile(HERE, (10, 1)).tolist()
        link.send(pack_openpi({"prompt": "go"}))
        assert "KeyError: 'joints'" in str(link.receive())
        link.close()


# Before the first episode.


SWAPPED = (f"open = {STROKE}\nclosed = 0.0", f"open = 0.0\nclosed = {STROKE}")
ROUND = WIRED + CAMERA
"""What the servers below were made for; the client's profile differs in one thing."""


@pytest.mark.parametrize("wire", ["openpi", "vla-eval"])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (SWAPPED, "gripper is open at 0.08 and closed at 0.0, the"),
        (("rate_hz = 20", 'rate_hz = 10\nresample = "linear"'), "gives actions at 20.0 Hz, the profile has 10.0 Hz"),
        (("rate_hz = 20", 'rate_hz = 20\nmeaning = "joint_velocity"'), "means 'joint_position' by the arm entries"),
        (('key = "front"', 'key = "wrist"'), "The server needs camera 'front', which the profile does not send."),
        ((CAMERA, CAMERA + '[cameras.wrist]\nkey = "wrist"\n'), "camera 'wrist', which the server does not read"),
        (('opening = ["opening"]', 'opening = ["gripper"]'), "The server reads the state"),
    ],
    ids=["gripper", "rate", "meaning", "lacking", "unread", "state"],
)
def test_declared_conventions_that_differ_are_refused(
    wire: str, change: tuple[str, str], sentence: str, tmp_path: Path
) -> None:
    text = ROUND.replace(*change)
    if "rate_hz = 10" in text:
        text += "[chunk]\nexecute = 25\n"
    with hosted(wire, Reactive, read(ROUND)) as address, pytest.raises(Refusal) as caught:
        check(address, text, tmp_path)
    assert sentence in str(caught.value)


def test_a_wrong_frame_is_refused(tmp_path: Path) -> None:
    with hosted("openpi", Waiting, read(WIRED)) as address, pytest.raises(Refusal) as caught:
        text = WIRED.replace("rate_hz = 20", 'rate_hz = 20\nmeaning = "end_effector_delta"')
        check(address, text, tmp_path, spec=END_EFFECTOR)
    assert str(caught.value) == "The server has its arm commands in the frame 'joint', the profile in 'robot base'."


def check(address: str, text: str, tmp_path: Path, spec: Any = JOINT, goal: Goal = GOAL) -> None:
    """Contact a server as a campaign does before it begins."""
    path = tmp_path / "checked.toml"
    path.write_text(text)
    preflight(address, spec, goal, str(path) if text else "", deadline_s=10.0)


class Lying(Wrapped):
    """Declare the client's conventions, and mean others."""

    def __init__(self, means: str) -> None:
        super().__init__(Plastic(), read(means), "liar", "1")

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"conventions": read(ROUND).conventions()}


@pytest.mark.parametrize(
    ("means", "sentence"),
    [
        (ROUND, ""),
        (ROUND.replace(*SWAPPED), "80, 48, 0 mm here and 0, 32, 80 mm there: the gripper conventions differ"),
        (
            ROUND.replace("rate_hz = 20", 'rate_hz = 10\nresample = "linear"') + "[chunk]\nexecute = 25\n",
            "are (3, 8) commands here and (6, 8) there: the rates or widths differ",
        ),
        (ROUND.replace("rate_hz = 20", 'rate_hz = 20\nmeaning = "joint_velocity"'), "the frames differ"),
        (ROUND.replace('key = "front"', 'key = "left"'), "The server reads 'left', which the profile does not send."),
        (ROUND.replace(CAMERA, ""), "The profile sends camera 'front', which the server does not read."),
        (ROUND.replace('opening = ["o', 'width = ["o'), "The server reads 'width', which the profile does not send."),
        (
            ROUND.replace('joints = ["joints"]', 'joints = ["joints", "time"]'),
            "state 'joints' is no array of 8 numbers",
        ),
    ],
    ids=["honest", "gripper", "rate", "frame", "lacking", "unread", "state", "length"],
)
def test_a_known_command_there_and_back_finds_what_declarations_hide(means: str, sentence: str, tmp_path: Path) -> None:
    with openpi.listen(lambda: Lying(means)) as server:
        address = f"openpi://127.0.0.1:{server.port}"
        if not sentence:
            check(address, ROUND, tmp_path)
            return
        with pytest.raises(Refusal) as caught:
            check(address, ROUND, tmp_path)
    assert sentence in str(caught.value)


def test_a_camera_that_the_model_does_not_see_is_found_through_the_transform(tmp_path: Path) -> None:
    def blind(request: dict[str, Any]) -> dict[str, Any]:
        return {"state": request["joints"]}

    profile = read(ROUND)
    with (
        openpi.listen(lambda: Wrapped(Plastic(), profile, "blind", "1", transform=blind)) as server,
        pytest.raises(Refusal, match="sends camera 'front', which the server does not read"),
    ):
        check(f"openpi://127.0.0.1:{server.port}", ROUND, tmp_path)


@pytest.mark.parametrize("wire", ["openpi", "vla-eval"])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("", ""), ""),
        (SWAPPED, "gripper.open and gripper.closed may be swapped"),
        ((SWAPPED[0], f"{SWAPPED[1]}\nstarts_closed = true"), ""),
        (("rate_hz = 20", 'rate_hz = 20\nmeaning = "joint_velocity"\nscale = 20.0'), "'joint_velocity' or its units"),
    ],
    ids=["plausible", "swapped", "starts closed", "far"],
)
def test_a_stock_server_must_start_plausibly(wire: str, change: tuple[str, str], sentence: str, tmp_path: Path) -> None:
    with serving(Rogue(wire, "", good=99)) as port:
        address = f"{wire}://127.0.0.1:{port}"
        if not sentence:
            check(address, PROFILE.replace(*change), tmp_path)
            return
        with pytest.raises(Refusal) as caught:
            check(address, PROFILE.replace(*change), tmp_path)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("wire", ["openpi", "vla-eval"])
def test_a_stock_server_needs_a_profile(wire: str, tmp_path: Path) -> None:
    with serving(Rogue(wire, "", good=99)) as port, pytest.raises(Refusal, match="does not say how its actions are"):
        check(f"{wire}://127.0.0.1:{port}", "", tmp_path)


@pytest.mark.parametrize(
    ("text", "spec", "words"),
    [
        (
            PROFILE + "[prompt]\nmax_tokens = 9\n",
            JOINT,
            "The instruction has 29 characters, up to 10 tokens at 3 a token",
        ),
        (PROFILE, END_EFFECTOR, "Profile 'rogue' drives 'joint'; --action joint would work."),
        (
            PROFILE.replace("execute = 10", 'owner = "server"'),
            JOINT,
            "goes on with old commands after new evidence",
        ),
        (PROFILE.replace("execute = 10", 'owner = "server"\nstale = "accept"'), JOINT, ""),
        (PROFILE.replace('"rogue"', "3"), JOINT, "name is 3; text would work."),
    ],
    ids=["prompt", "action", "stale", "accepted", "profile"],
)
def test_what_a_profile_rules_out_is_refused_before_the_first_episode(
    text: str, spec: Any, words: str, tmp_path: Path
) -> None:
    with serving(Rogue("vla-eval", "", good=99)) as port:
        if not words:
            check(f"vla-eval://127.0.0.1:{port}", text, tmp_path, spec)
            return
        with pytest.raises(Refusal) as caught:
            check(f"vla-eval://127.0.0.1:{port}", text, tmp_path, spec)
    assert words in str(caught.value)


def spec(name: str, dims: int, form: str) -> dict[str, Any]:
    return {"name": name, "dims": dims, "format": form}


@pytest.mark.parametrize(
    ("profile", "parts", "sentence"),
    [
        ("libero", [spec("position", 3, "delta_xyz"), spec("gripper", 1, "binary_close_positive")], "of 4 entries"),
        ("libero", [spec("gripper", 1, "binary_close_negative")], "open at 1.0 and closed at -1.0, the profile's open"),
        ("libero", [spec("position", 3, "absolute_xyz")], "which no profile can say"),
        ("libero", [spec("joints", 7, "joint_positions")], "means 'joint_positions' by 'joints'"),
        ("droid", [spec("joints", 7, "joint_positions"), spec("gripper", 1, "binary_close_01")], "'joint_velocity'"),
        ("droid", [spec("joints", 7, "joint_velocity"), spec("gripper", 1, "binary_close_01")], ""),
        ("labference", [spec("joints", 7, "joint_delta_pos")], "which no profile can say"),
        ("labference", [], ""),
    ],
)
def test_specs_of_vla_eval_are_compared_with_the_profile(
    profile: str, parts: list[dict[str, Any]], sentence: str
) -> None:
    declared = {str(part["name"]): part for part in parts}
    if not sentence:
        compare_specs(find_profile(profile), declared, None)
        return
    with pytest.raises(Refusal) as caught:
        compare_specs(find_profile(profile), declared, None)
    assert sentence in str(caught.value)


def test_a_model_server_that_needs_images_is_not_driven_blind() -> None:
    with pytest.raises(Refusal, match="needs camera images, and the profile sends none"):
        compare_specs(read(PROFILE), None, {"image": spec("image", 0, "rgb_hwc_uint8")})


# Codecs.

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ARRAYS = hnp.arrays(
    st.sampled_from([np.dtype(name) for name in ("<f8", "<f4", "u1", "<i4", "?", "<u2", "<f2")]),
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)
CODECS = [(pack_openpi, unpack_openpi), (pack_vla_eval, unpack_vla_eval)]


@pytest.mark.parametrize(("pack", "unpack"), CODECS, ids=["openpi", "vla-eval"])
@settings(deadline=None)
@given(value=VALUES, array=ARRAYS)
def test_what_is_packed_comes_back_as_a_copy(pack: Any, unpack: Any, value: object, array: np.ndarray) -> None:
    found = unpack(pack({"value": value, "array": array}))
    assert found["value"] == value
    assert (found["array"].dtype, found["array"].tobytes()) == (array.dtype, array.tobytes())
    assert found["array"].shape == array.shape
    assert found["array"].flags.writeable and not np.shares_memory(found["array"], array)


@pytest.mark.parametrize(("pack", "unpack"), CODECS, ids=["openpi", "vla-eval"])
@settings(deadline=None)
@given(data=st.binary(max_size=60))
def test_arbitrary_bytes_are_a_value_or_malformed_and_nothing_else(pack: Any, unpack: Any, data: bytes) -> None:
    try:
        unpack(data)
    except Malformed as error:
        assert str(error)


@pytest.mark.parametrize("dtype", ["|O", "<c8", "|V4", "<M8[s]", "<U3", "f4,f4", "no", "x" * 99, "", None, 3])
@pytest.mark.parametrize("wire", ["openpi", "vla-eval"])
def test_only_numbers_and_booleans_cross(dtype: Any, wire: str) -> None:
    name = dtype.encode() if wire == "openpi" and isinstance(dtype, str) else dtype
    table = {"__ndarray__": True, "data": b"\0" * 8, "dtype": name, "shape": [1]}
    keyed = {key.encode(): value for key, value in table.items()} if wire == "openpi" else table
    with pytest.raises(Malformed):
        (unpack_openpi if wire == "openpi" else unpack_vla_eval)(msgpack.packb({"actions": keyed}))


@pytest.mark.parametrize("shape", [[2], [-1], [2.0], "2", None, [1, 2**62], [True]])
def test_shape_and_data_must_fit(shape: Any) -> None:
    with pytest.raises(Malformed):
        unpack_vla_eval(msgpack.packb({"__ndarray__": True, "data": b"\0" * 8, "dtype": "<f8", "shape": shape}))


def test_images_of_vla_eval_decode_and_bombs_do_not() -> None:
    import io

    from PIL import Image

    picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    coded = {"__image__": True, "format": "png", "data": file.getvalue(), "shape": [4, 4, 3]}
    assert np.array_equal(unpack_vla_eval(msgpack.packb({"a": coded}))["a"], picture)
    file = io.BytesIO()
    Image.new("1", (9_000, 9_000)).save(file, "PNG")
    for data in (b"not a picture", file.getvalue()):
        with pytest.raises(Malformed):
            unpack_vla_eval(msgpack.packb({"a": coded | {"data": data}}))


def test_the_codec_of_vla_eval_reads_ours_and_we_read_its() -> None:
    messages = pytest.importorskip("vla_eval.protocol.messages", reason="vla-eval is an optional extra")
    picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    sent = {"type": "observation", "payload": {"a": picture, "q": np.arange(3.0)}, "seq": 4, "timestamp": 1.0}
    found = messages.unpack_message(pack_vla_eval(sent))
    assert (found.seq, found.type.value) == (4, "observation")
    assert np.array_equal(found.payload["a"], picture) and np.array_equal(found.payload["q"], np.arange(3.0))
    back = unpack_vla_eval(messages.pack_message(found))
    assert np.array_equal(back["payload"]["a"], picture) and back["seq"] == 4


def test_a_service_cannot_fill_the_records_with_what_it_says_of_itself() -> None:
    endless: Any = []
    for _ in range(50):
        endless = [endless] * 2
    found = told({"name": "x" * 10_000, b"raw": float("nan"), "deep": endless, "many": list(range(10_000))})
    assert len(str(found)) < 5000


@contextmanager
def saying(*words: bytes) -> Iterator[str]:
    """Give the address of a server that says `words` to whoever connects, and goes."""
    server = serve(lambda connection: [connection.send(word) for word in words] and None, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
    finally:
        server.shutdown()
        thread.join()


@pytest.fixture
def slow_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server have gone before the client has set up what it opened."""
    limit_sending = link._limit_sending

    def late(connected: socket.socket, seconds: float) -> None:
        while connected.fileno() >= 0:  # until the thread that receives has seen the end
            time.sleep(0.001)
        limit_sending(connected, seconds)

    monkeypatch.setattr(link, "_limit_sending", late)


@pytest.mark.parametrize("words", [b"\xc1", pack_openpi([1]), pack_openpi(None)])
def test_a_greeting_that_is_none_is_a_fault_of_the_service(words: bytes) -> None:
    with saying(words) as url, pytest.raises(ServiceFault, match="The server sent"):
        OpenPi(url, read(PROFILE), 0, 5.0)


@pytest.mark.usefixtures("slow_client")
def test_the_last_word_of_a_server_that_has_gone_is_heard() -> None:
    with saying(pack_openpi([1])) as url, pytest.raises(ServiceFault, match="The server sent a list"):
        OpenPi(url, read(PROFILE), 0, 5.0)


def test_a_server_that_never_opens_a_websocket_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ServiceFault, match="No server opened"):
        Link(f"ws://127.0.0.1:{silent.getsockname()[1]}", 0.2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("one\ntwo \x1b[2J", "two \\x1b[2J"),
        ("\ud800 grüße", "\\ud800 grüße"),
        ("a\tb", "a b"),
        ("x" * 300, "x" * LONGEST_WORDS + "..."),
        ("", ""),
    ],
    ids=ascii,
)
def test_what_a_server_said_is_quoted_so_that_no_terminal_obeys_it(words: str, said: str) -> None:
    assert quoted(words) == said


@pytest.mark.parametrize("wire", ["openpi", "vla-eval"])
def test_a_server_ends_while_a_policy_is_still_thinking(wire: str, tmp_path: Path) -> None:
    begun, over, thought = threading.Event(), threading.Event(), threading.Event()

    class Thinks(Waiting):
        def act(self, observation: Observation) -> Act:
            begun.set()
            over.wait(30)
            thought.set()
            return super().act(observation)

    def asking(address: str) -> None:
        (tmp_path / "profile.toml").write_text(WIRED)
        system = make_policy(address, 0, str(tmp_path / "profile.toml"))
        system.reset(GOAL, JOINT, "session")
        with pytest.raises(ServiceFault, match="lost"):
            system.act(home(read(WIRED), GOAL))
        system.close()

    with hosted(wire, Thinks, read(WIRED)) as address:
        client = threading.Thread(target=asking, args=(address,))
        client.start()
        assert begun.wait(30)
    assert not thought.is_set()
    over.set()
    client.join()


@pytest.mark.usefixtures("slow_client")
def test_a_server_that_is_gone_as_soon_as_it_has_greeted_is_a_fault() -> None:
    with saying() as url, pytest.raises(ServiceFault, match="lost before an answer came"):
        OpenPi(url, read(PROFILE), 0, 5.0)


def test_a_server_that_does_not_read_is_given_up() -> None:
    over = threading.Event()
    server = serve(lambda connection: over.wait() and None, "127.0.0.1", 0, max_queue=1, compression=None)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    link = Link(f"ws://127.0.0.1:{server.socket.getsockname()[1]}", 0.3)
    with pytest.raises(ServiceFault, match="connection was lost while a request was sent"):
        for _ in range(64):
            link.send(bytes(2**21))
    over.set()
    server.shutdown()
    thread.join()
