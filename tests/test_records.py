"""What a run leaves on disk: strict JSON, exact measurements, and files that a kill cannot spoil."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labference.records import folder, strict
from labference.records.measurements import FRAME_TICKS, MAGIC, DamagedError, MeasurementWriter, read_blocks
from labference.records.reader import RecordError, read_run
from labference.records.recorder import Recorder
from labference.truth.events import Chosen, Grasped
from labference.truth.measurement import Block, Channels
from labference.wire import Operation

CHANNELS = Channels(("a", "b", "c"), ("table", "pan"), ("balance",), ("balance", "hood"), 0.002)
FIELDS = ("pose", "speed", "touch", "opening", "force", "fixtures")


def block(tick: int, ticks: int, seed: int = 0) -> Block:
    """Return a block of noise at the edges of what its grids can hold."""
    rng = np.random.default_rng([seed, abs(tick), ticks])
    n, edge = len(CHANNELS.items), np.iinfo(np.int32)
    force = rng.normal(0.5, 3.0, (ticks, 1)).astype(np.float32)
    force[rng.random((ticks, 1)) < 0.2] = np.nan
    return Block(
        tick,
        rng.integers(edge.min, edge.max, (ticks, n + 1, 7), dtype=np.int32),
        rng.integers(0, edge.max, (ticks, n, 2), dtype=np.int32),
        rng.integers(0, 0xFFFF, (ticks, n + 1), dtype=np.uint16, endpoint=True),
        rng.integers(-100, 80_000, (ticks, 2), dtype=np.int32),
        force,
        rng.integers(edge.min, edge.max, (len(CHANNELS.fixtures), 7), dtype=np.int32),
        control=int(rng.integers(3)),
        generation=int(rng.integers(5)),
        pressed=int(rng.integers(4)),
        still=int(rng.integers(ticks + 1)),
    )


def write(path: Path, blocks: list[Block]) -> Path:
    writer = MeasurementWriter(path)
    for entry in blocks:
        writer.write(entry)
    writer.close()
    return path


def agree(one: Block, two: Block) -> bool:
    """Return whether two blocks agree bit for bit."""
    pairs = [(getattr(one, name), getattr(two, name)) for name in FIELDS]
    named = [(entry.tick, entry.control, entry.generation, entry.pressed, entry.still) for entry in (one, two)]
    return named[0] == named[1] and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs
    )


WET = Channels(
    CHANNELS.items, CHANNELS.surfaces, CHANNELS.cells, CHANNELS.fixtures, 0.002, ("beaker", "tube"), ("meter",)
)


def wet(entry: Block, seed: int) -> Block:
    """Return the block with liquid and a sample at the edges of what fits."""
    rng, edge = np.random.default_rng([seed, abs(entry.tick)]), np.iinfo(np.int64)
    liquid = rng.integers(edge.min, edge.max, 3, dtype=np.int64, endpoint=True)
    sample = np.array([[rng.normal(7, 3), 10.0 ** rng.normal(2, 5), np.nan, float(rng.integers(-1, 2))]])
    return replace(entry, liquid=liquid, sample=sample)


def run_of(lengths: list[int], start: int = -1500) -> list[Block]:
    blocks, tick = [], start
    for length in lengths:
        blocks.append(block(tick, length))
        tick += length
    return blocks


# --- measurements


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=8))
def test_liquids_and_samples_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int]
) -> None:
    blocks = [wet(entry, number) for number, entry in enumerate(run_of(lengths))]
    found = list(read_blocks(write(tmp_path_factory.mktemp("m") / "m.bin", blocks), WET))
    assert all(agree(one, two) for one, two in zip(found, blocks, strict=True))
    for one, two in zip(found, blocks, strict=True):
        assert one.liquid.tobytes() == two.liquid.tobytes() and one.sample.tobytes() == two.sample.tobytes()


def test_a_laboratory_without_liquid_records_none(tmp_path: Path) -> None:
    dry = write(tmp_path / "dry.bin", run_of([40, 40])).stat().st_size
    damp = write(tmp_path / "wet.bin", [wet(entry, 1) for entry in run_of([40, 40])]).stat().st_size
    assert dry < damp
    assert all(entry.liquid.size == entry.sample.size == 0 for entry in read_blocks(tmp_path / "dry.bin", CHANNELS))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=8))
def test_measurements_come_back_bit_for_bit_in_the_blocks_they_were_written_in(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int]
) -> None:
    blocks = run_of(lengths)
    path = write(tmp_path_factory.mktemp("m") / "m.bin", blocks)
    found = list(read_blocks(path, CHANNELS))
    assert len(found) == len(blocks)
    assert all(map(agree, found, blocks))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 300), st.booleans()), min_size=1, max_size=8))
def test_a_row_that_is_repeated_leaves_the_same_file_whether_or_not_it_is_copied(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[tuple[int, bool]]
) -> None:
    names = ("pose", "speed", "touch", "opening")
    blocks, copies = [], []
    for entry, (_, rests) in zip(run_of([length for length, _ in lengths]), lengths, strict=True):
        rows = {name: getattr(entry, name)[:1].repeat(entry.ticks, axis=0) for name in names} if rests else {}
        copies.append(replace(entry, **rows))
        told = {name: np.broadcast_to(value[:1], value.shape) for name, value in rows.items()}
        blocks.append(replace(entry, **told))
        assert blocks[-1].uniform >= rests
    folder = tmp_path_factory.mktemp("m")
    one, two = write(folder / "one.bin", blocks), write(folder / "two.bin", copies)
    assert one.read_bytes() == two.read_bytes()
    assert all(map(agree, read_blocks(one, CHANNELS), copies))


def test_a_long_preparation_is_one_block_too(tmp_path: Path) -> None:
    blocks = run_of([3 * FRAME_TICKS, 25, 25])
    found = list(read_blocks(write(tmp_path / "m.bin", blocks), CHANNELS))
    assert [entry.ticks for entry in found] == [3 * FRAME_TICKS, 25, 25]
    assert all(map(agree, found, blocks))


def test_an_empty_file_of_measurements_has_no_blocks(tmp_path: Path) -> None:
    assert list(read_blocks(write(tmp_path / "m.bin", []), CHANNELS)) == []


def test_a_file_torn_anywhere_yields_whole_frames_and_nothing_else(tmp_path: Path) -> None:
    blocks = run_of([25] * 45)
    whole = write(tmp_path / "m.bin", blocks).read_bytes()
    torn = tmp_path / "torn.bin"
    rng = np.random.default_rng(0)
    frame = int.from_bytes(whole[4:8], "little") + 12 + 20 * 12  # the second frame starts here
    cuts = {len(MAGIC), len(whole) - 1, *range(frame + 4, frame + 4 + 100)}
    for cut in sorted(cuts | {int(cut) for cut in rng.integers(len(MAGIC), len(whole), 60)}):
        torn.write_bytes(whole[:cut])
        found = list(read_blocks(torn, CHANNELS))
        assert all(map(agree, found, blocks)), cut
        assert len(found) % 20 == 0 or len(found) == 45


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    path.write_bytes(b"RIFFnonsense")
    with pytest.raises(DamagedError, match="LFM3"):
        list(read_blocks(path, CHANNELS))


def test_a_damaged_frame_is_refused_with_a_sentence_and_no_stack_of_a_library(tmp_path: Path) -> None:
    path = write(tmp_path / "m.bin", run_of([25] * 40))
    spoiled = bytearray(path.read_bytes())
    spoiled[len(spoiled) // 3] ^= 0xFF
    path.write_bytes(spoiled)
    with pytest.raises(DamagedError, match=r"m\.bin is damaged"):
        list(read_blocks(path, CHANNELS))


# --- strict JSON


@dataclass(frozen=True, slots=True)
class Kept:
    what: str
    values: tuple[float, ...]


def test_records_are_strict_json(tmp_path: Path) -> None:
    value = {"a": float("nan"), "b": [float("inf")], "c": np.arange(3), "d": np.float64(1.5), "e": {3, 1}, "f": None}
    text = strict.line(value)
    back = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert back == {
        "a": {"nonfinite": "nan"},
        "b": [{"nonfinite": "inf"}],
        "c": [0, 1, 2],
        "d": 1.5,
        "e": [1, 3],
        "f": None,
    }
    assert "\n" not in text


@pytest.mark.parametrize("value", [np.float64("nan"), np.array([np.nan]), np.float32("-inf")])
def test_a_number_of_numpy_that_is_not_finite_says_so_in_plain_words(value: Any) -> None:
    assert "np." not in strict.line(value)
    assert '"nonfinite":"' in strict.line(value)


@pytest.mark.parametrize("value", [object(), 1j, b"x", print, Kept], ids=lambda value: type(value).__name__)
def test_what_json_does_not_know_is_refused_rather_than_printed(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be recorded"):
        strict.line({"x": value})


def test_sets_are_recorded_in_one_order(tmp_path: Path) -> None:
    operations = [Operation("add", f"{grams} g", "pan") for grams in (100, 20, 10, 50)]
    assert strict.line(frozenset(operations)) == strict.line(frozenset(reversed(operations)))


def test_every_line_of_events_says_what_it_is() -> None:
    entry = json.loads(strict.named(Grasped(7, "10 g", "table", 1)))
    assert entry == {"event": "Grasped", "tick": 7, "item": "10 g", "origin": "table", "attempt": 1}
    nested = json.loads(strict.named(Chosen(7, 1, Operation("add", "10 g", "pan"), True, "behaviour")))
    assert nested["operation"] == {"kind": "add", "item": "10 g", "place": "pan"}


def test_a_torn_last_line_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a":1}\n{"a":2}\n{"a":')
    assert strict.read_lines(path) == [{"a": 1}, {"a": 2}]
    path.write_text('{"a":')
    assert strict.read_lines(path) == []
    assert strict.read_lines(tmp_path / "missing.jsonl") == []


def test_a_value_with_a_line_break_stays_on_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    odd = "one\ntwo\u2028three\x0cfour\x85five"
    path.write_text(strict.line({"a": odd}) + "\n", encoding="utf-8")
    assert strict.read_lines(path) == [{"a": odd}]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    strict.write_atomically(path, {"a": 1})
    with pytest.raises(TypeError):
        strict.write_atomically(path, {"a": object()})
    assert strict.read(path) == {"a": 1}
    strict.write_atomically(path, {"a": 2})
    assert strict.read(path) == {"a": 2}
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix != ".draft"] == ["scores.json"]


def test_a_commit_leaves_no_draft_behind(tmp_path: Path) -> None:
    strict.write_atomically(tmp_path / "scores.json", {"a": 1})
    assert [entry.name for entry in tmp_path.iterdir()] == ["scores.json"]


# --- folders


def test_attempts_are_counted_and_ordered_by_number(tmp_path: Path) -> None:
    episode = folder.episode_folder(tmp_path, 3)
    for number in (1, 2, 10, 9):
        (episode / f"attempt-{number}").mkdir(parents=True)
    assert [path.name for path in folder.attempts(episode)] == ["attempt-1", "attempt-2", "attempt-9", "attempt-10"]


def test_a_new_attempt_never_lands_on_an_old_one(tmp_path: Path) -> None:
    episode = folder.episode_folder(tmp_path, 0)
    for number in (2, 3):  # somebody deleted the first
        (episode / f"attempt-{number}").mkdir(parents=True)
    assert not folder.next_attempt(episode).exists()


def test_episodes_stay_in_order_beyond_ten_thousand(tmp_path: Path) -> None:
    for index in (9999, 10000, 2):
        folder.episode_folder(tmp_path, index).mkdir()
    assert [path.name for path in folder.episodes(tmp_path)] == ["episode-0002", "episode-9999", "episode-10000"]


def test_a_folder_that_is_no_run_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"No run\.json in .*; give an attempt folder"):
        read_run(tmp_path)


def test_scores_appear_after_everything_else_has_reached_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def watched(file: int) -> None:
        real(file)
        synced.append(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        assert not (tmp_path / "run" / folder.SCORES).exists()

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to tell which file was synchronised")
    recorder = Recorder(tmp_path / "run", {"a": 1})
    recorder.block(block(0, 3))
    monkeypatch.setattr(os, "fsync", watched)
    recorder.commit({"status": "scored"})
    recorder.close()
    everything = {path.name for path in (tmp_path / "run").iterdir()} - {folder.SCORES}
    assert everything == set(synced[:-1]) and synced[-1].startswith(folder.SCORES)
    assert next(read_blocks(tmp_path / "run" / folder.MEASUREMENTS, CHANNELS)).ticks == 3
