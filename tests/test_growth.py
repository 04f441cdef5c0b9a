"""The memory-growth experiment: its stream, its ways to keep a memory, and that it goes on where it stopped."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from labevolver.bank import MEMORY, Bank
from labevolver.experience import Advice, Draft, Term
from labevolver.experiments import growth as growing
from labevolver.experiments.growth import Asked, Grown, Met, growth, stream, told
from labevolver.experiments.growth_plots import moving
from labevolver.experiments.kept import WAYS, Unmaintained
from labevolver.maintain import Doubt, Finished, Teach
from labference.truth.identity import PlanError

LESSON = Draft("skill", (Term("liquid", among=("water",)),), Advice("Pour slowly."))


def test_a_stream_is_the_same_for_a_seed_and_asks_for_everything_in_every_block() -> None:
    found = stream(60, 0)
    assert found == stream(60, 0) != stream(60, 1) and found[:30] == stream(30, 0)
    for begin in range(0, 60, 6):
        tasks = Counter(each.task for each in found[begin : begin + 6])
        assert tasks == {"ph": 2, "ph-ec": 1, "pouring-water": 1, "pouring-sucrose": 1, "pouring-oil": 1}
    assert len({(each.task, each.instances, each.index) for each in found}) == 60
    assert len({each.instances for each in found if each.task == "ph-ec"}) == 4


def test_without_maintenance_everything_is_kept_as_it_came_and_a_trial_teaches_once() -> None:
    with Unmaintained(MEMORY) as bank, Bank(MEMORY) as kept:
        for held in (bank, kept):
            for number in range(3):
                held.learn(Finished(f"run-{number}", False), [Doubt("nobody"), Teach(LESSON)])
        assert bank.learn(Finished("run-1", True), [Teach(LESSON)]).repeated
        assert len(bank.entries()) == 3 and len(kept.entries()) == 1
        assert {entry.score for entry in bank.entries()} == {2.0} and bank.verify() == [] and bank.trials == 3
        assert not bank.quarantined() and len(kept.quarantined()) == 3


def met(retrieved: int, used: int, additions: int = 1) -> Met:
    return Met(Asked("ph", "targets:ph5", 0), used > 0, additions, 0, 100.0, retrieved, used, used, 5)


def test_usefulness_is_what_was_followed_with_success_of_all_that_was_retrieved() -> None:
    grown = Grown("x", (met(4, 1), met(0, 0), met(4, 3)), {"added": 2})
    assert grown.usefulness == 0.5 and Grown("y", (met(0, 0),)).usefulness == 0.0
    assert "x: success 67 %" in told(grown) and "2 added" in told(grown) and "50 % with success" in told(grown)
    assert moving([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], 2) == [1.0, 1.5, 2.5] and moving([1.0], [0.0], 2) == [0.0]


def test_growth_goes_on_where_it_stopped_and_ends_like_one_that_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pours = [each for each in stream(60, 0) if each.task == "pouring-water"][:3]
    monkeypatch.setattr(growing, "stream", lambda trials, seed: pours[:trials])
    said: list[str] = []
    ways = ("labevolver", "without maintenance")
    assert set(ways) <= set(WAYS)

    class Stopped(Exception):
        pass

    run = growing.trial

    def interrupted(plan, index, out, bank, setting):  # type: ignore[no-untyped-def]
        if len(list(out.parent.rglob("scores.json"))) == 2:
            raise Stopped
        return run(plan, index, out, bank, setting)

    monkeypatch.setattr(growing, "trial", interrupted)
    with pytest.raises(Stopped):
        growth(tmp_path / "cut", 3, 0, said.append, ways=ways)
    monkeypatch.setattr(growing, "trial", run)
    cut = growth(tmp_path / "cut", 3, 0, said.append, ways=ways)
    whole = growth(tmp_path / "whole", 3, 0, said.append, ways=ways)
    assert cut == whole and [len(each.met) for each in whole] == [3, 3]
    assert whole[0].met[0].retrieved == 0 < whole[0].met[-1].retrieved
    assert (tmp_path / "cut" / "growth.png").stat().st_size > 10_000
    assert (tmp_path / "cut" / "growth.txt").read_text().splitlines() == [told(each) for each in whole]
    with pytest.raises(PlanError, match="seed 0, not 1"):
        growth(tmp_path / "cut", 3, 1, said.append)
