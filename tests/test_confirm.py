"""The confirmation with the simulated arm: which laboratory, which memory, which waters; and --fidelity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from labevolver.cli import app
from labevolver.experiments import confirm as confirming
from labevolver.experiments.common import Outcome
from labevolver.experiments.crew import Crew
from labevolver.experiments.evolve import Setting


def test_memories_cross_between_the_laboratories_and_are_never_asked_about_waters_that_they_learned_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, str, int, str, str, bool]] = []

    def trial(plan: Any, index: int, out: Path, bank: Any, setting: Setting) -> Outcome:
        name = "" if bank is None else bank._ledger.path
        ran.append((plan.task, plan.instances, plan.seed, plan.fidelity, name, setting.learns))
        return Outcome(index, True, "completed", 2, 0, 300.0, 0.0, 0.0, 0.0, out)

    monkeypatch.setattr(confirming, "trial", trial)
    said: list[str] = []
    found = confirming.confirm(tmp_path, 2, 0, said.append, ("ph", "ph-ec"))
    assert list(found) == [
        "pH 5, arm, from an empty memory",
        "pH 5, fast, no memory",
        "pH 5, fast, memory of the arm",
        "pH 5, arm, no memory",
        "pH 5, arm, memory of fast",
        "pH 6, EC 300, arm, no memory",
        "pH 6, EC 300, arm, memory of fast",
    ]
    assert said[0].startswith("pH 5, arm, from an empty memory: success 100 %") and said[0].endswith("n = 2")
    taught = {(task, instances, seed, bank) for task, instances, seed, _, bank, learns in ran if learns}
    asked = [(task, instances, seed, bank) for task, instances, seed, _, bank, learns in ran if bank and not learns]
    assert asked and not taught & set(asked)
    across = {(fidelity, learns) for *_, fidelity, bank, learns in ran if bank}
    assert across == {("physics", True), ("fast", True), ("physics", False), ("fast", False)}


def test_a_crew_runs_its_trials_in_the_laboratory_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from labevolver.experiments import crew as crews
    from labevolver.experiments.common import plan_of

    seen: list[str] = []
    monkeypatch.setattr(crews, "trial", lambda plan, *_, **__: seen.append(plan.fidelity))
    plan = plan_of("ph", "labevolver", 1, 0, "paper")
    for crew in (Crew(), Crew(fidelity="physics")):
        crew.trial(plan, 0, Path("x"), None, Setting())
    assert seen == ["fast", "physics"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["experiment", "confirm", "--parts", "ph,gold"], "There is no part 'gold'"),
        (["run", "ph", "--fidelity", "real"], "ph cannot run with fidelity 'real'"),
        (["experiment", "learning", "--fidelity", "real"], "ph cannot run with fidelity 'real'"),
        (["experiment", "pouring", "--fidelity", "real"], "pouring-water cannot run with fidelity 'real'"),
    ],
)
def test_what_there_is_not_is_said_in_one_sentence(tmp_path: Path, words: list[str], sentence: str) -> None:
    ran = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "x")])
    assert ran.exit_code == 2 and sentence in ran.stderr and ran.stderr.count("\n") == 1


def test_a_pour_with_the_arm_is_timed_by_its_own_clock(tmp_path: Path) -> None:
    """The arm's records tick every 2 ms, those of the fast laboratory every 50 ms."""
    from labevolver.experiments.common import _pour_seconds

    (tmp_path / "run.json").write_text(json.dumps({"channels": {"timestep": 0.002}}))
    events = [{"event": "Tilted", "tick": 1000}, {"event": "Transferred", "tick": 6000}]
    assert _pour_seconds(events, tmp_path) == pytest.approx(10.0)
    assert _pour_seconds(events[:1], tmp_path) == 0.0
