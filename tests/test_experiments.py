"""The wet-lab experiments: tables, going on after a kill, recorded language models, and the command line."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from labevolver.agent import METHODS
from labevolver.bank import Bank
from labevolver.cli import app
from labevolver.codec import read
from labevolver.experiments import ph, ph_ec, pouring
from labevolver.experiments.common import mean, plan_of, rate
from labevolver.experiments.crew import Crew
from labevolver.experiments.evolve import Setting, journal, trial
from labevolver.experiments.journal import spent
from labevolver.maintain import Finished
from labevolver.model.budget import Budget
from labevolver.model.mind import LanguageModel
from labevolver.model.port import Ask, ModelError, Reply
from labevolver.model.strategist import Reflection
from labevolver.operate.language import Chosen, Intended
from labevolver.operate.symbolic import SymbolicMind
from labevolver.operations import Quarantine, Trial
from labevolver.prompts import load
from labference.truth.identity import PlanError

LOCAL = ("run", "ph", "--model", "openai-compatible:x@http://127.0.0.1:9/v1")


def test_a_mean_has_the_interval_of_its_trials_and_a_rate_stays_between_none_and_all() -> None:
    found = mean([1.0, 2.0, 3.0, 4.0])
    assert found.value == 2.5 and found.half == pytest.approx(1.96 * 1.29099 / 2, rel=1e-3)
    assert mean([3.0]).half == float("inf")
    assert str(mean([1100.0, 1300.0, 999.0])) == "1130 ± 170" and str(mean([3.0])) == "3 ± inf"
    assert rate(30, 30).startswith("100 % [89, 100]") and rate(0, 0) == "no trials"


def test_table_2_compares_every_method_on_the_same_waters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ph.warmed, "__defaults__", (1, None))
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
    bank = ph_ec._bank(tmp_path, "none", ph_ec.ASKED, 0, Crew())
    assert bank is None
    seen = []
    patched = pytest.MonkeyPatch()
    patched.setattr(ph_ec, "warmed", lambda *_, **__: Bank(":memory:"))
    patched.setattr(Crew, "trial", lambda _, plan, *__: seen.append(plan.instances))
    ph_ec._bank(tmp_path, "full", "ph7-ec250", 0, Crew())
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


class InProcess:
    """The scripted stand-in without a wire between; `fails` are raised first, one for each thing to reflect on."""

    name = "scripted stand-in, no language model"

    def __init__(self, *fails: ModelError) -> None:
        self.fails = list(fails)
        self.asked: list[type[Any]] = []

    def ask(self, ask: Ask, answer: type[Any], budget: Budget) -> Reply[Any]:
        self.asked.append(answer)
        budget.sent()
        if answer is Reflection and self.fails:
            raise self.fails.pop(0)
        rules = _program("examples/scripted_mind.py")
        if answer is Reflection:
            said = rules.reflect(ask.content)
        else:
            told = rules.read(ask.content)
            said = rules.intend(told) if answer is Intended else rules.act(told, told.intent)
        return Reply(read(answer, said), (), ask.prompt.identity)


def _program(path: str) -> Any:
    """Return a program of the repository as a module."""
    where = Path(__file__).parent.parent / path
    spec = importlib.util.spec_from_file_location(where.stem, where)
    assert spec is not None and spec.loader is not None
    if where.stem not in sys.modules:
        sys.modules[where.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[where.stem])
    return sys.modules[where.stem]


def test_experience_in_words_lowers_the_intercepts_of_a_mind_that_only_reads_its_prompt(tmp_path: Path) -> None:
    """The stand-in for a model has no memory of its own: what it does better, its prompt tells it."""
    mind = InProcess()
    plan = plan_of("ph", "labevolver-labevolver", 2, 0, "paper")
    with Bank(tmp_path / "bank.db") as bank:
        cold, warm = (Crew(mind, True).trial(plan, index, tmp_path / "a", bank, Setting()) for index in range(2))
        lessons = {entry.lesson.kind for entry in bank.entries()}
        versions = bank.entries()[0].source.versions
    alone = Crew(mind).trial(plan, 1, tmp_path / "b", None, Setting("inner-only"))
    assert cold.success and warm.success and alone.success
    assert lessons == {"safety", "strategy"}
    assert any("strategist@" in each for each in versions) and any("operator_intent@" in each for each in versions)
    assert warm.intercepts <= 1 < 5 < alone.intercepts
    used = spent(journal(tmp_path / "a", 0)).requests
    assert used == sum(each is Intended for each in mind.asked[:used]) * 2


def test_a_trial_whose_strategist_cannot_be_reached_teaches_at_the_next_start_without_asking_the_operator_again(
    tmp_path: Path,
) -> None:
    mind = InProcess(ModelError("unavailable", "It is down."))
    plan = plan_of("ph", "labevolver-labevolver", 1, 0, "paper")
    with Bank(tmp_path / "bank.db") as bank:
        with pytest.raises(ModelError, match="It is down"):
            Crew(mind, True).trial(plan, 0, tmp_path / "a", bank, Setting())
        assert bank.trials == 0
        before = len(mind.asked)
        found = Crew(mind, True).trial(plan, 0, tmp_path / "a", bank, Setting())
        assert mind.asked[before:] == [Reflection]
        assert bank.trials == 1 and bank.entries() and found.success
        Crew(mind, True).trial(plan, 0, tmp_path / "a", bank, Setting())
        assert len(mind.asked) == before + 1
    with Bank(tmp_path / "other.db") as bank:
        Crew(InProcess(), True).trial(plan, 0, tmp_path / "b", bank, Setting())
        other = bank.entries()
    with Bank(tmp_path / "bank.db") as bank:
        assert bank.entries() == other


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModelError("invalid", "not of the type", raw='{"operations": [{"operation": "sing"}]}'), "sing"),
        (ModelError("filtered", "the filter stepped in"), "the filter stepped in"),
    ],
)
def test_what_a_strategist_says_that_cannot_be_used_is_quarantined_and_the_trial_has_taught(
    tmp_path: Path, error: ModelError, reason: str
) -> None:
    plan = plan_of("ph", "labevolver-labevolver", 1, 0, "paper")
    with Bank(tmp_path / "bank.db") as bank:
        Crew(InProcess(error), True).trial(plan, 0, tmp_path / "a", bank, Setting())
        assert bank.trials == 1 and not bank.entries()
        (kept,) = bank.quarantined()
        assert isinstance(kept.operation, Quarantine) and reason in f"{kept.operation.raw} {kept.operation.reason}"


def test_a_trial_that_ended_before_the_agent_had_seen_anything_counts_as_taught(tmp_path: Path) -> None:
    class Blind(SymbolicMind):
        def begin(self) -> None:
            raise ValueError("blind")

    plan = plan_of("ph", "labevolver-labevolver", 1, 0, "paper")
    with Bank(tmp_path / "bank.db") as bank:
        found = trial(plan, 0, tmp_path / "a", bank, Setting(), Blind)
        assert not found.success and bank.trials == 1


def test_a_journal_goes_through_a_trial_as_it_was_and_nothing_that_went_otherwise_is_learned(tmp_path: Path) -> None:
    plan = plan_of("ph", "labevolver-labevolver", 1, 0, "paper")
    out = tmp_path / "a"
    with Bank(tmp_path / "bank.db") as bank:
        trial(plan, 0, out, bank, Setting())
        lessons = [entry.lesson for entry in bank.entries()]
    path = journal(out, 0)
    with Bank(tmp_path / "again.db") as bank:
        trial(plan, 0, out, bank, Setting())
        assert [entry.lesson for entry in bank.entries()] == lessons
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:9]))
    with Bank(tmp_path / "third.db") as bank, pytest.raises(PlanError, match="gone through again"):
        trial(plan, 0, out, bank, Setting())


def test_the_recording_that_ships_is_of_the_stand_in_and_needs_no_connection(tmp_path: Path) -> None:
    out = str(tmp_path / "learning")
    ran = CliRunner().invoke(app, ["experiment", "learning", "--replay", "stand-in", "--trials", "2", "--out", out])
    again = "; python benchmarks/record_stand_in.py makes it anew where prompts have changed"
    assert ran.exit_code == 0, ran.output + again
    rows = [line.split() for line in ran.stdout.splitlines() if line[:5].strip().isdigit()]
    assert "scripted-stand-in, which is no language model, proposes and reflects." in ran.stdout
    assert [row[1] for row in rows] == ["yes", "yes"]
    assert int(rows[1][3]) < int(rows[0][3]), "intercepts"
    assert all(int(row[-2]) > 0 and int(row[-1]) > 0 for row in rows), "requests and tokens"
    assert "scripted-stand-in" in (tmp_path / "learning" / "minds.json").read_text()
    more = CliRunner().invoke(app, ["experiment", "learning", "--out", out])
    assert more.exit_code == 2 and "was begun with the operator openai-compatible:scripted-stand-in" in more.stderr


def test_the_stand_in_that_was_recorded_speaks_the_protocol_of_a_server(tmp_path: Path) -> None:
    served = _program("examples/scripted_model.py")
    server = served.Server(("127.0.0.1", 0), served.Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        name = f"openai-compatible:local@http://127.0.0.1:{server.server_port}/v1"
        tape = tmp_path / "new" / "tape.jsonl"
        with (
            LanguageModel(name, record=tape) as mind,
            pytest.raises(ModelError, match="knows goals of pH only") as caught,
        ):
            mind.ask(Ask("operator", load("operator"), "Goal: sing."), Chosen, Budget())
        assert caught.value.fault == "rejected" and len(tape.read_text().splitlines()) == 1
        with LanguageModel(name) as mind:
            asked = Ask(
                "strategist", load("strategist"), "Goal: target_ph = 5.0. It failed.\nSteps:\nnone\nEntries:\nnone"
            )
            assert mind.ask(asked, Reflection, Budget()).value.operations == ()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_study_that_is_killed_again_and_again_loses_no_memory_and_ends_like_one_that_was_not(tmp_path: Path) -> None:
    kills = _program("benchmarks/kills.py")
    moments = kills.kill_again_and_again(tmp_path, 2, ["--trials", "2"], 5)
    assert len(moments) == 2


@pytest.mark.parametrize("broken", ["lost", "twice", "printed"])
def test_a_kill_that_loses_memory_is_noticed(tmp_path: Path, broken: str) -> None:
    kills = _program("benchmarks/kills.py")
    study = kills.Study(tmp_path, [])
    with Bank(tmp_path / "bank.db") as bank:
        bank.learn(Finished("one", True), [])
    study.look(1)
    if broken == "lost":
        for path in tmp_path.iterdir():
            path.unlink()
        Bank(tmp_path / "bank.db").close()
    if broken == "twice":
        twin = next(each.operation for each in study.log if isinstance(each.operation, Trial))
        with Bank(tmp_path / "bank.db") as bank, bank._writing():
            bank._append([twin])
    with pytest.raises(AssertionError, match={"lost": "lost", "twice": "twice", "printed": "were printed"}[broken]):
        study.look(2 if broken == "printed" else 1)


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
        (["run", "ph", "--model", "magic:x"], "'magic:x' is unknown"),
        (["run", "ph", "--model", "openai-compatible:x"], "needs an address"),
        (["run", "ph", "--strategist", "model"], "--strategist model needs a model; with --model NAME"),
        (["run", "ph", "--strategist", "me"], "'me'; symbolic or model"),
        (["run", "ph", "--steps", "three"], "'three' steps; two or one"),
        (["run", "ph", "--record", "t.jsonl"], "--record t.jsonl needs a model"),
        (["run", "ph", "--replay", "t.jsonl"], "--replay t.jsonl needs --model"),
        ([*LOCAL, "--replay", "/nowhere/t.jsonl"], "/nowhere/t.jsonl cannot be read"),
        ([*LOCAL, "--record", "/dev/null/t.jsonl"], "/dev/null/t.jsonl cannot be written"),
        ([*LOCAL, "--record", "t.jsonl.xz"], "t.jsonl would have worked"),
        ([*LOCAL, "--record", "a.jsonl", "--replay", "b.jsonl"], "not both at once"),
        (["experiment", "learning", "--replay", "stand-in", "--seed", "1"], "does not hold this request"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(tmp_path: Path, words: list[str], sentence: str) -> None:
    ran = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "x")])
    assert ran.exit_code == 2 and sentence in ran.stderr
    assert ran.stderr.count("\n") == 1 and not isinstance(ran.exception, (ValueError, AssertionError))


def test_a_cassette_without_the_reply_ends_with_its_name(tmp_path: Path) -> None:
    empty = tmp_path / "none.jsonl"
    with pytest.raises(ModelError) as caught, LanguageModel("openai-compatible:l@http://127.0.0.1:9/v1", replay=empty):
        pass
    assert caught.value.fault == "not_recorded"
