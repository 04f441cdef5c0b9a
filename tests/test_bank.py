"""A bank loses nothing it acknowledged, takes nothing it cannot read, and can tell and take back all it learned."""

from __future__ import annotations

import json
import random
import re
import shlex
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import labevolver
from labevolver import ledger
from labevolver.bank import MEMORY, Bank, BankError
from labevolver.cli import app, console
from labevolver.codec import Malformed, plain, read, written
from labevolver.compare import alike
from labevolver.experience import Advice, Draft, Experience, Parameter, Source, Term, around, hull
from labevolver.fold import fold
from labevolver.forget import decayed, lifetime, retained, stability
from labevolver.maintain import Doubt, Finished, Revise, Support, Teach, Unreadable
from labevolver.operations import OPERATIONS, Add, Decay, Forget, Logged, Open, Settings, Upvote, parse
from labevolver.proposals import from_text
from labevolver.strategist import Refused, Step, SymbolicStrategist, Trajectory

DEFAULTS = Settings()
CONCURRENT, EACH = 4, 15
"""Writers at a time, and what each writes."""
KILLS = 20
BEGINNINGS = 15


def dose(ph: float, grams: float, target: str = "5") -> Draft:
    when = (Term("ph", ph - 0.2, ph + 0.2), Term("target", among=(target,)))
    return Draft("strategy", when, Advice("First add {amount} of acid.", (Parameter("amount", grams, "g"),)))


def trial(run: str, success: bool = True, *instances: str) -> Finished:
    return Finished(run, success, Source(instances=instances))


def names(operations: tuple[Logged, ...]) -> list[str]:
    return [logged.name for logged in operations]


# --- what is proposed, and what becomes of it


def test_a_lesson_becomes_an_entry_that_knows_where_it_comes_from() -> None:
    bank = Bank(MEMORY)
    assert not bank.verify()
    learned = bank.learn(Finished("run-1", True, Source((), ("pond-3",), ("operator@1",))), [Teach(dose(7.74, 8))])
    assert names(learned.operations) == ["Trial", "Add", "Decay"]
    (entry,) = bank.entries()
    assert (entry.version, entry.score, entry.born, entry.uses) == (1, DEFAULTS.first, 1, 0)
    assert entry.source == Source(("run-1",), ("pond-3",), ("operator@1",))
    assert entry.lesson.advice.told == "First add 8 g of acid."


def test_ids_are_content_and_a_counter_the_same_in_every_bank() -> None:
    ids = []
    for _ in range(2):
        bank = Bank(MEMORY)
        for number, lesson in enumerate((dose(7.74, 8), dose(3.0, 2), dose(9.0, 15, "6"))):
            bank.learn(trial(f"r{number}"), [Teach(lesson)])
        first = bank.entries()[0]
        bank.forget(first.id)
        bank.learn(trial("again"), [Teach(first.lesson)])
        ids.append([entry.id for entry in bank.entries(ended=True)])
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 4
    assert {name.rpartition("-")[2] for name in ids[0]} == {"1", "2"}


def test_the_same_lesson_again_is_a_vote_a_like_one_is_merged_and_another_is_added() -> None:
    bank = Bank(MEMORY)
    bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    assert DEFAULTS.duplicate <= alike(dose(7.74, 8), dose(7.76, 8.2))
    assert DEFAULTS.merge <= alike(dose(7.74, 8), dose(7.86, 9.5))
    assert names(bank.learn(trial("b"), [Teach(dose(7.76, 8.2))]).operations) == ["Trial", "Upvote", "Decay"]
    assert names(bank.learn(trial("c"), [Teach(dose(7.86, 9.5))]).operations) == ["Trial", "Update", "Decay"]
    assert names(bank.learn(trial("d"), [Teach(dose(4.0, 1))]).operations) == ["Trial", "Add", "Decay"]
    assert len(bank.entries()) == 2
    entry = bank.entry(next(entry.id for entry in bank.entries() if entry.born == 1))
    assert entry.version == 2
    assert entry.source.runs == ("a", "b", "c")
    ph = entry.lesson.when[0]
    assert (ph.low, ph.high) == (pytest.approx(7.54), pytest.approx(8.06))
    assert entry.lesson.advice.parameters[0].value == pytest.approx((8 + 8 + 9.5) / 3)
    assert entry.lesson.advice.told == "First add 8.5 g of acid."


def test_an_update_is_merged_with_what_the_entry_is_by_then() -> None:
    bank = Bank(MEMORY)
    bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    (read_before,) = bank.entries()
    bank.learn(trial("fast"), [Revise(read_before.id, dose(7.86, 9))])
    bank.learn(trial("slow"), [Revise(read_before.id, dose(7.62, 8))])
    (entry,) = bank.entries()
    assert entry.source.runs == ("a", "fast", "slow")
    assert (entry.lesson.when[0].low, entry.lesson.when[0].high) == (pytest.approx(7.42), pytest.approx(8.06))


@pytest.mark.parametrize("target", ["strategy-none-1", "an ended one", "an unlike one"])
def test_an_update_that_finds_no_entry_like_it_is_a_lesson_of_its_own(target: str) -> None:
    bank = Bank(MEMORY)
    bank.learn(trial("a"), [Teach(dose(7.74, 8)), Teach(dose(3.0, 1))])
    ended, unlike = sorted(bank.entries(), key=lambda entry: entry.lesson.when[0].low or 0, reverse=True)
    bank.forget(ended.id)
    name = {"an ended one": ended.id, "an unlike one": unlike.id}.get(target, target)
    learned = bank.learn(trial("b"), [Revise(name, dose(7.74, 8))])
    (added,) = [logged.operation for logged in learned.operations if isinstance(logged.operation, Add)]
    assert added.asked.startswith("Update of")
    assert added.entry in {entry.id for entry in bank.entries()}


def test_votes_move_the_score_and_a_failure_that_followed_counts_twice() -> None:
    bank = Bank(MEMORY)
    bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    (entry,) = bank.entries()
    bank.learn(trial("b"), [Support(entry.id, followed=True)])
    up = bank.entry(entry.id)
    assert (up.score, up.uses, up.successes, up.reused) == (3.0, 1, 1, 2)
    bank.learn(trial("c", success=False), [Doubt(entry.id, followed=True)])
    down = bank.entry(entry.id)
    assert (down.uses, down.successes) == (2, 1)
    passed = retained(1.0, 1, 1, DEFAULTS.strength, DEFAULTS.threshold)
    assert down.score == pytest.approx(passed)
    assert down.utility == pytest.approx(2 / 4)


def test_an_entry_whose_score_falls_below_zero_is_no_longer_in_use_and_stays_so() -> None:
    bank = Bank(MEMORY)
    bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    (entry,) = bank.entries()
    for run in ("b", "c"):
        bank.learn(trial(run, success=False), [Doubt(entry.id, followed=True)])
    assert not bank.entries()
    assert "below zero" in bank.entry(entry.id).ended
    learned = bank.learn(trial("d"), [Support(entry.id, followed=True)])
    assert "Quarantine" in names(learned.operations)
    assert not bank.entries()


def test_no_trial_votes_twice_and_none_is_learned_twice() -> None:
    bank = Bank(MEMORY)
    bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    (entry,) = bank.entries()
    twice = bank.learn(trial("b"), [Support(entry.id), Support(entry.id), Teach(dose(7.74, 8))])
    assert [each.amount for each in _votes(twice.operations)] == [DEFAULTS.up, 0.0]
    assert bank.entry(entry.id).score <= DEFAULTS.first + DEFAULTS.up
    before = bank.log()
    again = bank.learn(trial("b"), [Support(entry.id), Teach(dose(1.0, 1))])
    assert again.repeated and again.trial == 2
    assert again.operations == tuple(bank.log(run="b"))
    assert bank.log() == before


def _votes(operations: tuple[Logged, ...]) -> list[Upvote]:
    return [logged.operation for logged in operations if isinstance(logged.operation, Upvote)]


def test_a_fold_counts_no_vote_twice_and_none_for_an_entry_that_has_ended() -> None:
    add = Add("strategy-x-1", dose(7.74, 8), 2.0, 1, Source(("a",)), "a")
    vote = Upvote(add.entry, 1.0, 2, Source(("b",)), "b", followed=True)
    once = fold([Logged(1, add), Logged(2, vote)])
    assert fold([Logged(1, add), Logged(2, vote), Logged(3, vote)]) == once
    assert once[add.entry].score == 3.0
    gone = [Logged(1, add), Logged(2, Forget(add.entry, "by hand"))]
    assert fold([*gone, Logged(3, vote)]) == fold(gone)
    assert fold([Logged(1, vote), Logged(2, add)]) == fold([Logged(2, add)])


def test_a_vote_for_an_entry_that_the_same_trial_just_made_says_nothing() -> None:
    bank, other = Bank(MEMORY), Bank(MEMORY)
    other.learn(trial("x"), [Teach(dose(7.74, 8))])
    learned = bank.learn(trial("a"), [Teach(dose(7.74, 8)), Support(other.entries()[0].id)])
    assert "Upvote" not in names(learned.operations)


RUBBISH: tuple[Any, ...] = (
    None,
    3,
    "ADD everything",
    Teach(None),  # type: ignore[arg-type]
    Support(7),  # type: ignore[arg-type]
    Revise("x", {"kind": "skill"}),  # type: ignore[arg-type]
    Teach(Draft("skill", (), Advice("Hold.", (Parameter(3, "x"),)))),  # type: ignore[arg-type]
    Teach(Draft("skill", (Term("ph", 1, 2, unit=4),), Advice("Hold."))),  # type: ignore[arg-type]
    Support("skill-unknown-1"),
    Doubt(""),
    Unreadable("{", "It is cut off."),
)


def test_whatever_is_proposed_ends_in_the_log() -> None:
    bank = Bank(MEMORY)
    learned = bank.learn(trial("a"), [*RUBBISH, Teach(dose(7.74, 8))])
    assert names(learned.operations).count("Quarantine") == len(RUBBISH) == len(bank.quarantined())
    assert all(logged.operation.reason for logged in bank.quarantined() if not isinstance(logged.operation, Open))
    assert len(bank.entries()) == 1
    assert not bank.verify()


lessons = st.builds(
    dose, st.sampled_from([3.0, 7.6, 7.7, 7.74, 9.0]), st.sampled_from([1.0, 8.0, 8.5]), st.sampled_from("56")
)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_any_sequence_of_trials_folds_to_what_the_index_holds(data: st.DataObject) -> None:
    with Bank(MEMORY) as bank:
        for number in range(data.draw(st.integers(1, 6))):
            known = [entry.id for entry in bank.entries(ended=True)] or ["skill-none-1"]
            entry = st.sampled_from(known)
            proposal = st.one_of(
                lessons.map(Teach),
                st.builds(Revise, entry, lessons),
                st.builds(Support, entry, st.booleans()),
                st.builds(Doubt, entry, st.booleans()),
                st.sampled_from(RUBBISH),
            )
            bank.learn(trial(f"r{number}", data.draw(st.booleans())), data.draw(st.lists(proposal, max_size=5)))
            if data.draw(st.booleans()):
                candidates = [
                    each.number for each in bank.log() if each.number not in bank.undone() and each.name != "Open"
                ]
                bank.undo(data.draw(st.sampled_from(candidates)))
            assert bank.verify() == []
            assert {each.id: each for each in bank.entries(ended=True)} == fold(bank.log())
            assert all(each.score >= 0 for each in bank.entries())
        before = bank.entries(ended=True)
        bank.rebuild()
        assert bank.entries(ended=True) == before


# --- forgetting

scores = st.floats(0, 50)
trials_ = st.integers(1, 200)
reuses = st.integers(0, 20)


@given(scores, trials_, reuses)
def test_what_is_not_reused_only_fades(score: float, passed: int, used: int) -> None:
    numbers = (used, DEFAULTS.strength, DEFAULTS.threshold)
    assert -DEFAULTS.threshold < retained(score, passed, *numbers) < score
    assert retained(score, passed + 1, *numbers) < retained(score, passed, *numbers)


@given(scores, trials_, reuses)
def test_reuse_slows_forgetting(score: float, passed: int, used: int) -> None:
    numbers = (DEFAULTS.strength, DEFAULTS.threshold)
    assert retained(score, passed, used, *numbers) < retained(score, passed, used + 1, *numbers)
    assert lifetime(score + 0.1, used, *numbers) < lifetime(score + 0.1, used + 1, *numbers)


@given(scores, st.lists(st.integers(1, 30), min_size=1, max_size=8), reuses)
def test_forgetting_in_steps_or_at_once_is_the_same(score: float, steps: list[int], used: int) -> None:
    numbers = (used, DEFAULTS.strength, DEFAULTS.threshold)
    slowly = score
    for step in steps:
        slowly = retained(slowly, step, *numbers)
    assert slowly == pytest.approx(retained(score, sum(steps), *numbers))


def test_forgetting_is_the_curve_of_ebbinghaus_above_its_threshold() -> None:
    strength = stability(0, DEFAULTS.strength)
    assert strength == DEFAULTS.strength
    faded = retained(2.0, round(strength), 0, DEFAULTS.strength, DEFAULTS.threshold)
    assert (faded + DEFAULTS.threshold) / (2.0 + DEFAULTS.threshold) == pytest.approx(0.36788, abs=1e-5)


def test_time_is_counted_in_trials_and_each_is_charged_once() -> None:
    bank = Bank(MEMORY, Settings(strength=30.0))
    bank.learn(trial("a"), [Teach(dose(7.74, 8)), Teach(dose(3.0, 1))])
    kept, lost = sorted(bank.entries(), key=lambda entry: entry.lesson.when[0].low or 0, reverse=True)
    for number in range(10):
        bank.learn(trial(f"b{number}"), [Support(kept.id, followed=True)])
    reused, faded = bank.entry(kept.id), bank.entry(lost.id)
    assert reused.score == DEFAULTS.first + 10 * DEFAULTS.up
    assert faded.score == pytest.approx(retained(DEFAULTS.first, 10, 0, 30.0, DEFAULTS.threshold))
    late = Experience("x", 1, dose(1, 1), 2.0, born=3, settled=5)
    assert decayed(late, 5, 30, 1) == decayed(late, 2, 30, 1) == 2.0
    for number in range(40):
        bank.learn(trial(f"c{number}"), [Support(kept.id, followed=True)])
    assert [entry.id for entry in bank.entries()] == [kept.id]
    died = next(number for number, left in enumerate(range(100)) if retained(2.0, left, 0, 30.0, 1.0) < 0)
    ended = re.search(r"#(\d+)", bank.entry(lost.id).ended)
    assert ended is not None
    decay = next(logged.operation for logged in bank.log() if logged.number == int(ended[1]))
    assert isinstance(decay, Decay) and decay.trial == 1 + died


def test_a_bank_keeps_the_numbers_it_was_run_with_and_records_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Bank(path, Settings(first=5.0, strength=10.0)) as bank:
        bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    with Bank(path) as bank:
        assert bank.settings == Settings(first=5.0, strength=10.0)
        (entry,) = bank.entries()
        assert entry.score == 5.0
        assert [logged.operation.strength for logged in bank.log() if isinstance(logged.operation, Decay)] == [10.0]
    with Bank(path, Settings()) as bank:
        assert bank.settings == Settings()
        assert [logged.name for logged in bank.log()] == ["Open", "Trial", "Add", "Decay", "Open"]
    with pytest.raises(ValueError, match="merge <= duplicate"):
        Settings(merge=0.95)


# --- taking back


def test_an_undone_operation_never_was_and_undoing_the_undo_brings_it_back() -> None:
    bank = Bank(MEMORY)
    bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    (entry,) = bank.entries()
    bank.learn(trial("b", success=False), [Doubt(entry.id, followed=True)])
    vote = next(logged for logged in bank.log() if logged.name == "Downvote")
    with_vote = bank.entry(entry.id)
    undoing = bank.undo(vote.number, "the balance was broken")
    assert bank.entry(entry.id).score > with_vote.score
    assert bank.entry(entry.id).uses == 0
    with pytest.raises(BankError, match="undone already"):
        bank.undo(vote.number)
    bank.undo(undoing.number)
    assert bank.entry(entry.id) == with_vote
    for number, words in ((1, "sets the bank's numbers"), (99, "There is no operation #99")):
        with pytest.raises(BankError, match=words):
            bank.undo(number)


def test_a_poisoned_trial_can_be_taken_out_of_everything_it_touched() -> None:
    bank, clean = Bank(MEMORY), Bank(MEMORY)
    for each in (bank, clean):
        each.learn(trial("a"), [Teach(dose(7.74, 8))])
    name = bank.entries()[0].id
    bank.learn(trial("poison", True, "lure-1"), [Revise(name, dose(7.86, 9.5)), Teach(dose(3.0, 20)), Doubt(name)])
    assert bank.seen({"lure-1", "lure-2"}) == {"lure-1"}
    bank.retract("poison")
    assert not bank.seen({"lure-1"})
    assert bank.entries() == clean.entries()
    assert not bank.verify()
    with pytest.raises(BankError, match="Nothing that 'poison' taught"):
        bank.retract("poison")


def test_what_one_process_learns_or_takes_back_the_other_sees(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Bank(path) as one, Bank(path) as other:
        one.learn(trial("a"), [Teach(dose(7.74, 8))])
        assert other.entries() == one.entries() != []
        name = other.entries()[0].id
        other.learn(trial("b"), [Support(name, followed=True)])
        assert one.entry(name) == other.entry(name)
        other.retract("b")
        assert one.entry(name).score == DEFAULTS.first
        one.undo(next(logged.number for logged in one.log() if logged.name == "Add"))
        assert other.entries() == [] == one.entries()
        other.learn(trial("c"), [Teach(dose(3.0, 1))])
        assert one.entries() == other.entries() != []
        assert not one.verify()


def test_an_id_of_an_undone_entry_is_not_given_again() -> None:
    bank = Bank(MEMORY)
    bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    (first,) = bank.entries()
    bank.retract("a")
    bank.learn(trial("b"), [Teach(dose(7.74, 8))])
    assert bank.entries()[0].id != first.id


# --- the file


def test_the_log_is_append_only_and_any_change_is_found(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Bank(path) as bank:
        bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    raw = sqlite3.connect(path)
    for statement in ("UPDATE log SET body = '{}' WHERE number = 2", "DELETE FROM log"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute(statement)
    raw.execute("UPDATE entries SET body = replace(body, '2.0', '9.0')")
    raw.commit()
    with Bank(path) as bank:
        assert [each.partition(" at ")[0] for each in bank.verify()] == ["The index differs from the log"]
        bank.rebuild()
        assert bank.entries()[0].score == 2.0
        assert not bank.verify()
    raw.execute("DROP TRIGGER log_stays")
    raw.execute("UPDATE log SET body = replace(body, '\"score\":2.0', '\"score\":9.0') WHERE name = 'Add'")
    raw.commit()
    raw.close()
    with Bank(path) as bank:
        assert any("changed or cut at #3" in each for each in bank.verify())


def test_what_is_acknowledged_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    with Bank(tmp_path / "memory.db") as bank:
        connection = bank._ledger._connection
        full, wait_ms = 2, round(ledger.WAIT_S * 1000)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (full,)
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (wait_ms,)


def test_what_is_no_bank_is_refused_in_one_sentence(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as made:
        made.execute("CREATE TABLE dogs (name TEXT)")
    made.close()
    text = tmp_path / "notes.txt"
    text.write_text("no database" * 100)
    for path, words in ((other, "not a memory bank"), (text, "cannot be used"), (tmp_path, "cannot be used")):
        with pytest.raises(BankError, match=words):
            Bank(path)
    with pytest.raises(BankError, match="no memory bank at"):
        Bank(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()


def test_a_failed_transaction_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bank = Bank(MEMORY)
    bank.learn(trial("a"), [Teach(dose(7.74, 8))])
    before = bank.log(), bank.entries()

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(ledger.Ledger, "store", full)
        with pytest.raises(BankError, match="disk is full"):
            bank.learn(trial("b"), [Teach(dose(3.0, 1))])
    assert (bank.log(), bank.entries()) == before
    assert not bank.learn(trial("b"), [Teach(dose(3.0, 1))]).repeated
    assert not bank.verify()


WRITER = """
import sys
from labevolver.bank import Bank
from labevolver.experience import Advice, Draft, Parameter, Term
from labevolver.maintain import Finished, Support, Teach
path, name, many = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Bank(path) as bank:
    for number in range(many):
        near = Term("ph", 7.0 + 0.01 * number, 7.2 + 0.01 * number)
        own = Term("writer", among=(name,))
        lessons = [
            Teach(Draft("strategy", (near,), Advice("Add {amount}.", (Parameter("amount", 8.0, "g"),)))),
            Teach(Draft("skill", (own, Term("step", number, number)), Advice(f"Lesson {number} of {name}."))),
        ]
        votes = [Support(entry.id, followed=True) for entry in bank.entries()[:1]]
        done = bank.learn(Finished(f"{name}-{number}", True), [*votes, *lessons])
        print(done.trial, f"{name}-{number}", flush=True)
"""


def writer(path: Path, name: str, many: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(many)], stdout=subprocess.PIPE, text=True
    )


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writers = [writer(path, f"w{number}", EACH) for number in range(CONCURRENT)]
    said = [each.communicate()[0].split("\n")[:-1] for each in writers]
    assert [each.returncode for each in writers] == [0] * CONCURRENT
    acknowledged = [line for lines in said for line in lines]
    assert sorted(int(line.split()[0]) for line in acknowledged) == list(range(1, CONCURRENT * EACH + 1))
    with Bank(path, create=False) as bank:
        assert bank.trials == CONCURRENT * EACH
        taught = {run for entry in bank.entries(ended=True) for run in entry.source.runs}
        assert taught == {line.split()[1] for line in acknowledged}
        assert not bank.verify()


def test_many_may_begin_the_same_bank_at_once(tmp_path: Path) -> None:
    def begin(path: Path, gate: threading.Barrier) -> int:
        gate.wait()
        with Bank(path) as bank:
            return len(bank.log())

    with ThreadPoolExecutor(6) as pool:
        for number in range(BEGINNINGS):
            gate = threading.Barrier(6)
            begun = [pool.submit(begin, tmp_path / f"{number}.db", gate) for _ in range(6)]
            assert [each.result() for each in begun] == [1] * 6


def test_kill_9_at_random_moments_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    chance = random.Random(7)
    acknowledged: set[str] = set()
    cut = 0
    for number in range(KILLS):
        with writer(path, f"k{number}", 100_000) as process:
            assert process.stdout is not None
            if chance.random() < 0.8:
                acknowledged.add(process.stdout.readline().split()[1])
            time.sleep(chance.uniform(0, 0.06))
            process.kill()
            lines = process.stdout.read().split("\n")[:-1]
        acknowledged.update(line.split()[1] for line in lines)
        with Bank(path) as bank:
            assert bank.verify() == []
            runs = {
                logged.operation.run
                for logged in bank.log()
                if logged.name == "Trial" and not isinstance(logged.operation, Open)
            }  # type: ignore[union-attr]
            assert acknowledged <= runs
            cut += len(runs - acknowledged)
            for run in runs - acknowledged:
                assert bank.learn(Finished(run, True), []).repeated
            acknowledged |= runs
    assert len(acknowledged) > KILLS


# --- what a mind writes


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('[{"operation": "upvote", "entry": "skill-1"}]', ["Support"]),
        ('Sure:\n```json\n{"operations": [{"operation": "downvote", "entry": "skill-1"}]}\n```', ["Doubt"]),
        (
            'Set {a} [b] {"operation": "add", "lesson": {"kind": "skill", "advice": {"sentence": "Go."}, "when": []}}',
            ["Teach"],
        ),
        ('[{"operation": "explode"}, {"operation": "upvote", "entry": "skill-1"}]', ["Unreadable", "Support"]),
        ('[{"operation": "upvote"}, 3, {"operation": "add"}]', ["Unreadable"] * 3),
        ('{"operation": "upvote", "ent', ["Unreadable"]),
        (
            'As [1] says: {"operation": "upvote", "entry": "a"}\n{"operation": "downvote", "entry": "b"}',
            ["Support", "Doubt"],
        ),
        ('[{"operation": "upvote", "entry": "a"}, {"operation": "downv', ["Support", "Unreadable"]),
        ("[" * 20_000, ["Unreadable"]),
        ("Nothing new.\n[]", []),
        ('{"operations": []}', []),
        ("[1, 2]", ["Unreadable"]),
        ("I would remember nothing.", ["Unreadable"]),
        ("", ["Unreadable"]),
        (
            '[{"operation": "add", "lesson": {"kind": "skill", "when": [{"field": "ph", "low": 9, "high": 8}], '
            '"advice": {"sentence": "Go."}}}]',
            ["Unreadable"],
        ),
        (
            '[{"operation": "add", "lesson": {"kind": "skill", "when": [], "advice": {"sentence": "Add {grams}."}}}]',
            ["Unreadable"],
        ),
    ],
)
def test_each_operation_of_a_text_is_read_alone_and_kept_as_it_came_if_it_is_none(text: str, kinds: list[str]) -> None:
    found = from_text(text)
    assert [type(each).__name__ for each in found] == kinds
    for each in found:
        if isinstance(each, Unreadable):
            assert each.reason
            assert each.raw in (text, *(json.dumps(item) for item in _items(text)))


def _items(text: str) -> list[Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return data if isinstance(data, list) else [data]


def test_a_transcript_is_no_advice() -> None:
    with pytest.raises(ValueError, match="3000 characters; up to 2000"):
        Advice("x" * 3000)
    item = {"operation": "add", "lesson": {"kind": "skill", "when": [], "advice": {"sentence": "x" * 3000}}}
    (found,) = from_text(json.dumps([item]))
    assert isinstance(found, Unreadable) and found.raw == json.dumps(item)


@given(st.text() | st.text(alphabet='[]{}":,addupvote0123 \n`'))
def test_no_text_at_all_breaks_the_reader(text: str) -> None:
    found = from_text(text)
    assert found or re.search(r"\[\s*\]", text)
    assert all(isinstance(each, Unreadable) for each in found)


def test_every_operation_reads_back_as_it_was_written() -> None:
    assert set(OPERATIONS) == {
        "Open",
        "Trial",
        "Add",
        "Update",
        "Upvote",
        "Downvote",
        "Merge",
        "Decay",
        "Forget",
        "Undo",
        "Quarantine",
    }
    vote = Upvote("skill-1", 1.0, 3, Source(("r",)), "r", True)
    assert parse("Upvote", written(vote)) == vote
    assert parse("Open", written(Open(Settings()))) == Open(Settings())
    assert plain(Open(Settings()))["settings"]["strength"] == DEFAULTS.strength
    for name, text in (
        ("Explode", "{}"),
        ("Undo", '{"target": "x"}'),
        ("Undo", "{}"),
        ("Undo", '{"target": 1, "why": 2}'),
    ):
        with pytest.raises(Malformed):
            parse(name, text)
    with pytest.raises(Malformed, match=r"Term\.low is '7'; a number or null would have worked"):
        read(Term, {"field": "ph", "low": "7"})


@given(lessons, lessons)
def test_likeness_is_symmetric_and_a_lesson_is_like_itself(one: Draft, other: Draft) -> None:
    assert alike(one, other) == pytest.approx(alike(other, one))
    assert 0 <= alike(one, other) <= 1
    assert alike(one, one) == pytest.approx(1)


@given(st.floats(0, 14), st.floats(0, 14), st.floats(0, 14))
def test_a_hull_holds_wherever_one_of_its_two_held(one: float, other: float, value: float) -> None:
    terms = [(around("ph", each, spread=0.5), around("liquid", "acid")) for each in (one, other)]
    (ph, liquid) = hull(*terms)
    assert liquid.holds("acid") and not liquid.holds("base")
    if any(pair[0].holds(value) for pair in terms):
        assert ph.holds(value)
    assert hull(terms[0], (around("ec", 300.0),)) == ()


# --- the symbolic Strategist


def test_the_symbolic_strategist_extracts_skill_strategy_and_safety_with_their_states() -> None:
    pour = (Parameter("amount", 8.0, "g"),)
    steps = (
        Step(
            "take_meter",
            state={"holding": "tube", "ph": 7.74},
            refused=Refused("procedure", "empty-hand", ("holding",), "put the tube back"),
        ),
        Step("pour_acid", pour, {"holding": "tube", "ph": 7.74}, ("ph",), effective=True),
        Step("read_ph", state={"holding": "meter", "ph": 5.1}),
    )
    path = Trajectory(
        trial("a"), {"target_ph": 5.0}, {"ph": 7.74}, steps, followed=("x-1", "x-2"), contradicted=("x-2",)
    )
    strategist = SymbolicStrategist({"ph": 0.3, "target_ph": 0.2})
    found = strategist.reflect(path)
    assert found[:2] == [Support("x-1", followed=True), Doubt("x-2", followed=True)]
    by_kind = {each.lesson.kind: each.lesson for each in found if isinstance(each, Teach)}
    assert set(by_kind) == {"skill", "strategy", "safety"}
    assert by_kind["skill"].advice.told == "pour_acid works with amount = 8 g."
    strategy = by_kind["strategy"]
    assert (
        strategy.advice.told
        == "Begin with pour_acid with amount = 8 g; the order that succeeded is pour_acid > read_ph."
    )
    assert [str(term) for term in strategy.when] == ["ph = 7.44–8.04", "target_ph = 4.8–5.2"]
    assert [str(term) for term in by_kind["safety"].when] == ["action = take_meter", "holding = tube"]
    assert "Allowed: put the tube back." in by_kind["safety"].advice.told
    lost = Trajectory(trial("b", success=False), {}, {}, steps, followed=("x-1",))
    found = strategist.reflect(lost)
    assert found[0] == Doubt("x-1", followed=True)
    assert {each.lesson.kind for each in found if isinstance(each, Teach)} == {"skill", "safety"}
    with pytest.raises(ValueError, match="target_ph in the goal"):
        Trajectory(trial("c"), {"ph": 5.0}, {"ph": 7.7})


# --- the command line

cli = CliRunner()


@pytest.fixture
def remembered(tmp_path: Path) -> tuple[str, Callable[..., Result]]:
    path = tmp_path / "memory.db"
    with Bank(path) as bank:
        bank.learn(trial("run-1", True, "pond-3"), [Teach(dose(7.74, 8)), Unreadable("{oops", "It is cut off.")])
        (entry,) = bank.entries()
        bank.learn(trial("run-2"), [Support(entry.id, followed=True)])
        bank.learn(trial("run-3"), [])

    def invoke(*arguments: object) -> Result:
        console.width = 200  # what COLUMNS said when the module was imported may be narrower
        done = cli.invoke(app, ["memory", *map(str, arguments), "--bank", str(path)])
        assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
        assert "Traceback" not in done.output
        return done

    return entry.id, invoke


def test_the_command_line_lists_shows_and_tells_why(remembered: tuple[str, Callable[..., Result]]) -> None:
    name, invoke = remembered
    listed = invoke("list").output
    for words in (
        name,
        "First add 8 g of acid.",
        "ph = 7.54–7.94",
        "1 entry in use, 0 ended, 1 quarantined, from 3 trials.",
    ):
        assert words in listed
    assert name not in invoke("list", "--kind", "safety").output
    assert "{oops" in invoke("list", "--quarantined").output
    shown = invoke("show", name[:14]).output
    for words in (
        "followed 1 time, 1 of them with success",
        "run-1, run-2",
        "pond-3",
        "amount = 8 g",
        "without reuse",
    ):
        assert words in shown
    why = invoke("why", name).output
    for words in (
        "#3 Add: trial 1 (run-1)",
        "Upvote: trial 2 (run-2) followed it with success, +1 → score 3.000",
        "trial 3 passed",
    ):
        assert words in why
    assert "operations and the index agree" in invoke("verify").output


def test_the_command_line_exports_forgets_and_takes_back(
    remembered: tuple[str, Callable[..., Result]], tmp_path: Path
) -> None:
    name, invoke = remembered
    (row,) = [json.loads(line) for line in invoke("export").output.splitlines()]
    assert read(Experience, row).id == name
    out = tmp_path / "log.jsonl"
    assert str(out) in invoke("export", "--log", "--out", out).output
    numbers = [json.loads(line)["seq"] for line in out.read_text().splitlines()]
    assert numbers == list(range(1, len(numbers) + 1))
    done = invoke("forget", name, "--reason", "wrong acid")
    undo = re.search(r"memory undo (\d+)", done.output)
    assert undo is not None
    assert "0 entries in use, 1 ended" in invoke("list").output
    assert "wrong acid" in invoke("list", "--ended").output
    assert "1 entry in use" in invoke("undo", undo[1]).output
    assert "never happened" in invoke("why", name).output
    assert "0 entries in use" in invoke("undo", "--run", "run-1").output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "nonsense"), "is not one entry; there is strategy-"),
        (("undo", 999), "There is no operation #999"),
        (("undo",), "Name either"),
        (("undo", "--run", "run-9"), "Nothing that 'run-9' taught"),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_one_sentence(
    remembered: tuple[str, Callable[..., Result]], arguments: tuple[object, ...], words: str
) -> None:
    done = remembered[1](*arguments)
    assert done.exit_code == 2
    assert words in done.output
    assert done.output.strip().endswith(".") or "there is strategy" in done.output


def test_what_a_model_wrote_cannot_steer_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Bank(path) as bank:
        lesson = Draft("skill", (), Advice("Clear\x1b[2J the\x07 screen.\rGone"))
        bank.learn(trial("\x1b[31mred"), [Teach(lesson), Unreadable("\x1b]0;title\x07", "No list.")])
        (entry,) = bank.entries()
    for command in (["list"], ["list", "--quarantined"], ["show", entry.id], ["why", entry.id], ["show", "\x1b[2J"]):
        done = cli.invoke(app, ["memory", *command, "--bank", str(path)], env={"COLUMNS": "200"})
        assert not {"\x1b", "\x07", "\r"} & set(done.output), command
        assert "\\x1b" in done.output


def test_the_commands_of_the_documentation_work_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parent.parent / "docs" / "memory.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], {})
    commands = [
        line.split("labevolver ", 1)[1] for line in page.splitlines() if line.startswith("    labevolver memory ")
    ]
    assert len(commands) > 10
    for command in commands:
        done = cli.invoke(app, shlex.split(command))
        assert done.exit_code == 0, (command, done.output)
    assert len(Path("memory.jsonl").read_text().splitlines()) == 3
    settings_told = {f"{value:g}" for value in plain(DEFAULTS).values()}
    assert settings_told - {"1", "2"} == {"0.9", "0.85", "200"}
    for words in ("likeness ≥ 0.90", "(≥ 0.85)", "S = 200", "begins at 2", "adds or takes 1", "failed takes 2"):
        assert words in page
    numbers = (DEFAULTS.strength, DEFAULTS.threshold)
    assert (
        f"{int(lifetime(2.0, 0, *numbers))} trials, reused once for {int(lifetime(3.0, 1, *numbers))}"
        in page.replace("\n", " ")
    )


def test_both_packages_have_a_version() -> None:
    assert cli.invoke(app, ["--version"]).output == f"labevolver {labevolver.__version__}\n"


def test_a_bank_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    done = cli.invoke(app, ["memory", "list", "--bank", str(path)])
    assert done.exit_code == 2
    assert "no memory bank" in done.output
    assert not path.exists()
