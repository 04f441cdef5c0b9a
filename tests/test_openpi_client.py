"""Our wire against OpenPI's own client package, where that is installed; it pins an old numpy, so it is no extra."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from conftest import BASIC
from lab_policies import HERE
from labference.bench.laboratory import Laboratory
from labference.bench.plan import Plan
from labference.policies import preflight
from labference.policies.remote.arrays import pack_openpi, unpack_openpi
from labference.policies.remote.images import resized
from labference.policies.remote.profile import SOURCES
from labference.policies.remote.profile_file import find_profile
from labference.serving import openpi
from labference.wire import JOINT, Goal
from rogue_robots import PROFILE
from wire_policies import Waiting

REASON = "openpi-client is not installed: pip install --no-deps openpi-client dm-tree"
codec = pytest.importorskip("openpi_client.msgpack_numpy", reason=REASON)
client = pytest.importorskip("openpi_client.websocket_client_policy", reason=REASON)
tools = pytest.importorskip("openpi_client.image_tools", reason=REASON)

ARRAYS = hnp.arrays(
    st.sampled_from([np.float32, np.float64, np.uint8, np.uint16, np.int64, np.bool_]), hnp.array_shapes(min_dims=0)
)
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | ARRAYS
SCALARS = st.sampled_from([np.float32(0.1), np.float64(1.5), np.int64(-3), np.uint8(7), np.bool_(True)])
VALUES = st.dictionaries(st.text(max_size=8), LEAVES | SCALARS | st.lists(LEAVES, max_size=3), max_size=5)


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two values are equal to the bit, of arrays and their types as well."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, np.ndarray):
        return (ours.dtype, ours.shape, ours.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes())
    return ours == theirs or (ours != ours and theirs != theirs)


@settings(deadline=None)
@given(VALUES)
def test_messages_are_packed_byte_for_byte_alike_and_read_both_ways(value: dict[str, Any]) -> None:
    packed = pack_openpi(value)
    assert packed == codec.packb(value) == codec.Packer().pack(value)
    assert same(unpack_openpi(packed), codec.unpackb(packed))


@settings(deadline=None)
@given(st.integers(30, 90), st.integers(30, 90), st.integers(16, 64), st.integers(16, 64), st.integers(0, 99))
def test_images_are_padded_alike(rows: int, columns: int, width: int, height: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (rows, columns, 3), np.uint8)
    assert np.array_equal(resized(image, (width, height), "pad"), tools.resize_with_pad(image, height, width))


@pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")
def test_their_client_drives_a_policy_that_we_serve() -> None:
    profile = find_profile("labference")
    lengths = {key: sum(SOURCES[name] for name in sources) for key, sources in profile.state}
    state = {key: np.resize(HERE, length) for key, length in lengths.items()}
    with openpi.hosting(Waiting, profile) as server:
        stock = client.WebsocketClientPolicy("127.0.0.1", server.port)
        try:
            assert stock.get_server_metadata()["labference"]["name"] == "waiting"
            found = stock.infer({**state, "prompt": "Weigh."})
            assert found[profile.action.key].shape == (20, 8) and found[profile.action.key].dtype == np.float64
        finally:
            stock._ws.close()


@contextmanager
def stock_server() -> Iterator[str]:
    """Serve as OpenPI does, with its own codec: metadata first, then an answer with timings for every request."""

    def talk(connection: ServerConnection) -> None:
        try:
            connection.send(codec.packb({"model": "pi0"}))
            for frame in connection:
                request = codec.unpackb(frame)
                actions = np.tile(np.append(request["joints"], 0.08), (15, 1)).astype(np.float32)
                connection.send(codec.packb({"actions": actions, "server_timing": {"infer_ms": np.float64(1.5)}}))
        except ConnectionClosed:
            pass

    with serve(talk, "127.0.0.1", 0, compression=None, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"openpi://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


def test_our_client_runs_an_episode_with_their_codec(laboratory: Laboratory, tmp_path: Path) -> None:
    path = tmp_path / "profile.toml"
    path.write_text(PROFILE)
    with stock_server() as address:
        preflight(address, JOINT, Goal("Weigh.", ("stop",), (), ()), str(path))
        result = laboratory.attempt(Plan(BASIC, address, 1, budget=30, profile=str(path)), 0, tmp_path / "out")
    assert (result.status, result.reason) == ("scored", "budget"), result.sentence
