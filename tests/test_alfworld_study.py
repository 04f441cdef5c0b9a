"""The study of ALFWorld: the same tasks for all, resumable, both counts, nothing learned from what it is judged on."""

from __future__ import annotations

import json
import lzma
import random
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from typer.testing import CliRunner

from labevolver.cli import app
from labevolver.experiments.alfworld import Plan, StudyError, order, run_method, study
from labevolver.experiments.alfworld_compare import load
from labevolver.experiments.alfworld_methods import METHODS
from labevolver.experiments.alfworld_rows import Row, rows
from labevolver.experiments.alfworld_tables import cumulative, main_table, memory_table, phase, share, type_table
from labevolver.labs.alfworld.library import OWN, Bundle
from labevolver.model.budget import Budget
from labevolver.model.port import Ask, Mind, ModelError, Reply
from test_alfworld_minds import Script

T = TypeVar("T")
SMALL = Plan(stream=8, unseen=4)


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def quiet(name: str) -> None:
    del name


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Row]]]:
    out = tmp_path_factory.mktemp("study")
    return out, study(SMALL, OWN, out, done=quiet)


def same(one: Row, other: Row) -> bool:
    return replace(one, seconds=0.0) == replace(other, seconds=0.0)


def test_every_method_meets_the_same_tasks_in_the_same_order(done: tuple[Path, dict[str, list[Row]]]) -> None:
    out, results = done
    ids = order(Bundle(OWN), SMALL)
    assert results.keys() == METHODS.keys()
    for found in results.values():
        assert [row.game for row in phase(found, "train")] == ids["train"]
        assert [row.game for row in phase(found, "valid_unseen")] == ids["valid_unseen"]
    assert json.loads((out / "study.json").read_text())["order"]["train"] == ids["train"]


def test_the_order_comes_from_sorted_ids_and_the_seed() -> None:
    ids = sorted(Bundle(OWN).ids("train"))
    random.Random(5).shuffle(ids)
    assert order(Bundle(OWN), replace(SMALL, seed=5))["train"] == ids[:8]


def test_nothing_is_learned_from_valid_unseen(done: tuple[Path, dict[str, list[Row]]]) -> None:
    for found in done[1].values():
        last = phase(found, "train")[-1].size
        assert {row.size for row in phase(found, "valid_unseen")} == {last}


@pytest.mark.parametrize("method", METHODS)
def test_a_study_that_was_cut_off_goes_on_as_if_it_had_not_been(
    method: str, done: tuple[Path, dict[str, list[Row]]], tmp_path: Path
) -> None:
    whole = done[1][method]
    run_method(method, replace(SMALL, stream=5, unseen=0), OWN, tmp_path)
    path = tmp_path / f"{method}.jsonl"
    path.write_text(path.read_text() + '{"phase": "train", "ind')
    run_method(method, SMALL, OWN, tmp_path)
    resumed = rows(path)
    assert len(resumed) == len(whole) == 12
    assert all(same(one, other) for one, other in zip(resumed, whole, strict=True))
    before = path.read_bytes()
    run_method(method, SMALL, OWN, tmp_path)
    assert path.read_bytes() == before


def test_another_study_is_not_mixed_into_a_folder(done: tuple[Path, dict[str, list[Row]]]) -> None:
    with pytest.raises(StudyError, match="another seed; choose another --out"):
        study(replace(SMALL, seed=1), OWN, done[0], done=quiet)


def test_processes_change_nothing(done: tuple[Path, dict[str, list[Row]]], tmp_path: Path) -> None:
    plan = replace(SMALL, methods=("react", "labevolver"))
    results = study(plan, OWN, tmp_path, workers=2, done=quiet)
    for name, found in results.items():
        assert all(same(one, other) for one, other in zip(found, done[1][name], strict=True))


def test_both_counts_are_reported_and_thoughts_never_help(done: tuple[Path, dict[str, list[Row]]]) -> None:
    react, act = done[1]["react"], done[1]["act"]
    assert all(row.turns > row.commands for row in react)
    assert all(row.turns == row.commands for row in act)
    assert share(react, 20, True) <= share(react, 20, False)  # type: ignore[operator]
    assert share([], 20, True) is None
    rates = cumulative(react, 20, thoughts_cost=False)
    assert rates[-1] == share(phase(react, "train"), 20, thoughts_cost=False)


def test_tables_have_a_row_for_every_method(done: tuple[Path, dict[str, list[Row]]]) -> None:
    results = done[1]
    for table in (main_table(results, False, "x"), type_table(results, True), memory_table(results)):
        assert table.row_count == len(METHODS)


def test_a_method_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(StudyError, match="no method 'magic'; there are act, react"):
        Plan(methods=("magic",))


def test_the_command_plays_the_shipped_games_without_data_and_says_how_to_get_more(tmp_path: Path) -> None:
    out = tmp_path / "run"
    asked = ["experiment", "alfworld", "--out", str(out), "--methods", "react,labevolver", "--workers", "1"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    assert "alfworld-download" in result.output
    assert {path.name for path in out.glob("*")} >= {"study.json", "tables.txt", "alfworld.png", "labevolver.jsonl"}
    assert (out / "alfworld.png").read_bytes()[:4] == b"\x89PNG"
    assert "symbolic mind, no language model" in (out / "tables.txt").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--methods", "magic"], "no method 'magic'"),
        (["--data", "/nowhere"], "holds neither"),
        (["--examples", "some"], "fixed, parsed or given"),
        (["--seeds", "0,x"], "whole numbers with commas"),
        (["--out", "/dev/null/x"], "cannot be used: Not a directory"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(more: list[str], said: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["experiment", "alfworld", "--out", str(tmp_path / "x"), *more])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert said in " ".join(result.output.split())


def test_a_model_that_goes_away_leaves_a_study_that_goes_on(tmp_path: Path) -> None:
    class Leaves(Script):
        def ask(self, ask: Ask, answer: type[T], budget: Budget) -> Reply[T]:
            if len(self.asked) > 30:
                raise ModelError("unavailable", "the provider failed", ())
            return super().ask(ask, answer, budget)

    plan = Plan(methods=("labevolver",), stream=4, unseen=1, mind="scripted stand-in")
    with pytest.raises(ModelError):
        study(plan, OWN, tmp_path / "a", mind=Leaves(), done=quiet)
    assert 0 < len(rows(tmp_path / "a" / "labevolver.jsonl")) < 5
    mind: Mind = Script()
    resumed = study(plan, OWN, tmp_path / "a", mind=mind, done=quiet)["labevolver"]
    whole = study(plan, OWN, tmp_path / "b", mind=Script(), done=quiet)["labevolver"]
    assert all(same(one, other) for one, other in zip(resumed, whole, strict=True))
    assert all(row.won and row.tokens > 0 for row in whole)


def test_several_seeds_are_a_study_each_and_a_table_of_their_spread(tmp_path: Path) -> None:
    out = tmp_path / "seeds"
    asked = ["experiment", "alfworld", "--out", str(out), "--seeds", "3,4", "--stream", "5", "--unseen", "2"]
    result = CliRunner().invoke(app, [*asked, "--methods", "react,labevolver", "--workers", "1"])
    assert result.exit_code == 0, result.output
    studies = [load(out / f"seed-{seed}") for seed in (3, 4)]
    assert [each.seed for each in studies] == [3, 4]
    text = (out / "tables.txt").read_text()
    rates = [100 * (share(phase(each.results["labevolver"], "train"), 20, False) or 0) for each in studies]
    assert f"{sum(rates) / 2:.1f}" in text
    assert f"{min(rates):.1f}–{max(rates):.1f}" in text
    assert "seeds 3, 4" in text
    assert (out / "alfworld.png").read_bytes()[:4] == b"\x89PNG"


def test_minds_are_set_side_by_side_from_their_folders(tmp_path: Path) -> None:
    plan = Plan(methods=("react", "labevolver"), stream=3, unseen=2)
    study(plan, OWN, tmp_path / "a", done=quiet)
    for name in ("one", "two"):
        mind: Mind = Script()
        study(replace(plan, mind=f"stand-in {name}"), OWN, tmp_path / name, mind=mind, done=quiet)
    folders = [str(tmp_path / name) for name in ("a", "one", "two")]
    result = CliRunner().invoke(app, ["experiment", "alfworld-compare", *folders, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "out" / "tables.txt").read_text()
    assert all(name in text for name in ("symbolic", "stand-in one", "stand-in two", "labevolver - react"))
    assert (tmp_path / "out" / "minds.png").read_bytes()[:4] == b"\x89PNG"


def test_what_cannot_be_compared_is_said_in_one_sentence(tmp_path: Path) -> None:
    plan = Plan(methods=("react",), stream=3, unseen=1)
    study(plan, OWN, tmp_path / "a", done=quiet)
    study(replace(plan, horizon=20, seed=1), OWN, tmp_path / "b", done=quiet)
    study(plan, OWN, tmp_path / "same", done=quiet)
    study(replace(plan, seed=2), OWN, tmp_path / "cut", done=quiet)
    path = tmp_path / "cut" / "react.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    (tmp_path / "empty").mkdir()
    for names, said in (
        (("a", "b"), "differ in their horizon (50 and 20)"),
        (("a", "same"), "the same mind and seed"),
        (("cut",), "has all its 4 trials"),
        (("empty",), "holds no study"),
    ):
        folders = [str(tmp_path / name) for name in names]
        result = CliRunner().invoke(app, ["experiment", "alfworld-compare", *folders, "--out", str(tmp_path / "x")])
        assert result.exit_code == 2
        assert said in " ".join(result.output.split())


def test_a_study_of_an_older_version_is_not_gone_on_with(tmp_path: Path) -> None:
    plan = Plan(methods=("react",), stream=1, unseen=0)
    study(plan, OWN, tmp_path, done=quiet)
    path = tmp_path / "study.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "lessons": "alfworld-lessons 1"}))
    with pytest.raises(StudyError, match="another lessons; choose another --out"):
        study(plan, OWN, tmp_path, done=quiet)


def test_a_split_that_is_not_asked_for_need_not_be_there(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    (data / "valid_unseen.jsonl.xz").write_bytes((OWN / "valid_unseen.jsonl.xz").read_bytes())
    asked = ["experiment", "alfworld", "--data", str(data), "--out", str(out), "--methods", "react", "--workers", "1"]
    result = CliRunner().invoke(app, [*asked, "--stream", "0", "--unseen", "2"])
    assert result.exit_code == 0, result.output
    assert len(rows(out / "react.jsonl")) == 2
    result = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "other")])
    assert result.exit_code == 2
    assert "There is no split 'train'; there are valid_unseen." in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"nothing", "cannot be read"), (lzma.compress(b'{"id": "pick_and_place_simple-A/b"}\n'), "is no game")],
)
def test_a_bundle_that_is_broken_is_said_in_one_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    for split in ("train", "valid_unseen"):
        (tmp_path / f"{split}.jsonl.xz").write_bytes(content)
    asked = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--methods", "react", "--workers", "1"]
    result = CliRunner().invoke(app, ["experiment", "alfworld", *asked])
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
