"""The wet-lab experiments: tables, going on after a kill, recorded language models, and the command line."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fake_model import Said, provider
from labevolver.agent import METHODS
from labevolver.bank import Bank
from labevolver.cli import app
from labevolver.experiments import ph, ph_ec, pouring
from labevolver.experiments.common import mean, plan_of, rate
from labevolver.experiments.evolve import Setting, trial
from labevolver.model.mind import LanguageModel
from labevolver.model.port import ModelError
from labevolver.operate.language import LanguageMind


def test_a_mean_has_the_interval_of_its_trials_and_a_rate_stays_between_none_and_all() -> None:
    found = mean([1.0, 2.0, 3.0, 4.0])
    assert found.value == 2.5 and found.half == pytest.approx(1.96 * 1.29099 / 2, rel=1e-3)
    assert mean([3.0]).half == float("inf")
    assert rate(30, 30).startswith("100 % [89, 100]") and rate(0, 0) == "no trials"


def test_table_2_compares_every_method_on_the_same_waters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ph.warmed, "__defaults__", (1,))
    said: list[str] = []
    rows = ph.table_2(tmp_path, 1, 3, said.append)
    assert [row.name for row in rows] == list(METHODS) == ["act", "react", "inner-only", "memp", "labevolver"]
    assert all("n = 1" in line for line in said) and "paper" in said[0]
    seen = {
        method: [
            json.loads(path.read_text())["instance"]
            for path in sorted((tmp_path / method).glob("episode-*/attempt-1/run.json"))
        ]
        for method in METHODS
    }
    assert all(each == seen["act"] and len(each) == 1 for each in seen.values())


def test_full_experience_has_never_seen_the_target_that_is_asked_for(tmp_path: Path) -> None:
    bank = ph_ec._bank(tmp_path, "none", ph_ec.ASKED, 0)
    assert bank is None
    seen = []
    patched = pytest.MonkeyPatch()
    patched.setattr(ph_ec, "warmed", lambda *_: Bank(":memory:"))
    patched.setattr(ph_ec, "trial", lambda plan, *_: seen.append(plan.instances))
    ph_ec._bank(tmp_path, "full", "ph7-ec250", 0)
    patched.undo()
    assert set(seen) == {f"targets:{each}" for each in ph_ec.TARGETS if each != "ph7-ec250"}


def test_locked_gains_come_from_the_bank_and_are_those_that_were_explored(tmp_path: Path) -> None:
    with Bank(tmp_path / "bank.db") as bank:
        patched = pytest.MonkeyPatch()
        patched.setattr("labevolver.skills.search.ROUNDS", ((2, 1), (1, 1)))
        gains = pouring.learn(bank, tmp_path / "explore", "water", 20.0, 7)
        again = pouring.learn(bank, tmp_path / "explore", "water", 20.0, 7)
        patched.undo()
        assert gains == again and bank.trials == 1
        pour = pouring.validate(bank, tmp_path / "locked", "water", 20.0, 1, 8)[0]
    acts = [json.loads(line) for line in (pour.path / "actions.jsonl").read_text().splitlines()]
    first = next(each for each in acts if each.get("operation", {}).get("kind") == "pour")
    told = {each["name"]: each["value"] for each in first["content"]}
    assert (told["kp"], told["kd"], told["pre_stop"]) == pytest.approx((gains.kp, gains.kd, gains.pre_stop))


def test_the_same_trials_with_a_recorded_language_model(tmp_path: Path) -> None:
    plan = plan_of("ph", "labevolver-labevolver", 1, 0, "paper")
    with Bank(":memory:") as bank:
        symbolic = trial(plan, 0, tmp_path / "symbolic", bank, Setting())
    moves = json.loads((tmp_path / "symbolic" / "transcripts" / "trial-0000.json").read_text())["moves"]
    script = [_said(move["intent"], move["action"]) for move in moves]
    tape = tmp_path / "tape.jsonl"
    with provider(*script) as server, Bank(tmp_path / "a.db") as bank:
        name = f"openai-compatible:local@{server.url}"
        with LanguageModel(name, key="k", record=tape) as mind:
            told = trial(plan, 0, tmp_path / "live", bank, Setting(), lambda: LanguageMind(mind, METHODS["labevolver"]))
        asked = len(server.asked)
    with Bank(tmp_path / "b.db") as bank, LanguageModel(name, replay=tape) as mind:
        again = trial(plan, 0, tmp_path / "replay", bank, Setting(), lambda: LanguageMind(mind, METHODS["labevolver"]))
        learned = [entry.id for entry in bank.entries()]
    assert asked == len(moves)
    assert told.success and told.additions == symbolic.additions and told.intercepts == symbolic.intercepts
    assert (again.success, again.additions, again.seconds) == (told.success, told.additions, told.seconds)
    with Bank(tmp_path / "a.db") as bank:
        assert [entry.id for entry in bank.entries()] == learned


def _said(intent: str, acted: str) -> Said:
    """Return what a model would say for an action of a transcript, such as `pour acid beaker (amount_g 2, kp 2)`."""
    words, _, rest = acted.partition(" (")
    kind, *names = words.split()
    numbers = [pair.rsplit(" ", 1) for pair in rest.rstrip(")").split(", ") if pair]
    answer = {
        "intent": intent,
        "kind": kind,
        "item": names[0] if names and kind in ("pick", "place", "pour") else "",
        "numbers": [{"name": name, "value": float(value)} for name, value in numbers],
    }
    return Said(json.dumps(answer))


def test_a_run_that_is_killed_again_and_again_loses_no_memory_and_ends_like_one_that_was_not(tmp_path: Path) -> None:
    chance = random.Random(5)
    trials = 3
    program = (
        "import sys; from pathlib import Path; from labevolver.experiments.ph import learning\n"
        f"learning(Path(sys.argv[1]), {trials}, 0, lambda text: print(text, flush=True))"
    )
    command = [sys.executable, "-c", program]
    kept = 0
    for _ in range(3):
        child = subprocess.Popen([*command, str(tmp_path / "killed")], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(chance.uniform(0.0, 1.5))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        with Bank(tmp_path / "killed" / "bank.db") as bank:
            assert bank.verify() == []
            assert bank.trials >= kept
            kept = bank.trials
    for name in ("killed", "whole"):
        subprocess.run([*command, str(tmp_path / name)], check=True, capture_output=True)
    with Bank(tmp_path / "killed" / "bank.db") as one, Bank(tmp_path / "whole" / "bank.db") as other:
        assert one.trials == other.trials == trials
        assert one.entries() == other.entries()


def test_the_command_line_tells_trials_and_their_memory(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    ran = CliRunner().invoke(app, ["run", "ph", "--out", out, "--instances", "paper", "--episodes", "1"])
    assert ran.exit_code == 0 and "additions" in ran.stdout and "breaks probe_in_hand (procedure)" in ran.stdout
    listed = CliRunner().invoke(app, ["memory", "list", "--bank", f"{out}/memory.db", "--kind", "safety"])
    assert listed.exit_code == 0 and "safety-" in listed.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "ph", "--method", "magic"], "No method 'magic'"),
        (["run", "nonsense"], "nonsense"),
        (["run", "weighing-basic"], "cannot run with fidelity 'fast'"),
        (["run", "ph", "--model", "magic:x"], "is unknown"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(tmp_path: Path, words: list[str], sentence: str) -> None:
    ran = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "x")])
    assert ran.exit_code == 2 and sentence in ran.stderr


def test_a_cassette_without_the_reply_ends_with_its_name(tmp_path: Path) -> None:
    empty = tmp_path / "none.jsonl"
    with pytest.raises(ModelError) as caught, LanguageModel("openai-compatible:l@http://127.0.0.1:9/v1", replay=empty):
        pass
    assert caught.value.fault == "not_recorded"
