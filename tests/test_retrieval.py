"""What is retrieved fits the state first and the words second; what does not fit is not, nor what would leak."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labevolver import words
from labevolver.bank import MEMORY, Bank
from labevolver.compare import UNKNOWN, applies, fit
from labevolver.experience import Advice, Draft, Parameter, Source, Term
from labevolver.maintain import Doubt, Finished, Support, Teach
from labevolver.retrieve import Query, SeenInstance, retrieve

BASE = {"liquid": "acid", "ph": 7.7, "target_ph": 5.0}


def lesson(sentence: str, *when: Term, kind: str = "strategy") -> Draft:
    assert kind in ("skill", "strategy", "safety")
    return Draft(kind, when, Advice(sentence))  # type: ignore[arg-type]


def within(field: str, low: float, high: float) -> Term:
    return Term(field, low, high)


def one_of(field: str, *among: str) -> Term:
    return Term(field, among=among)


def bank_of(*lessons: Draft, instances: tuple[str, ...] = ()) -> Bank:
    bank = Bank(MEMORY)
    for number, each in enumerate(lessons):
        source = Source(instances=instances[number : number + 1])
        bank.learn(Finished(f"r{number}", True, source), [Teach(each)])
    assert len(bank.entries()) == len(lessons)
    return bank


def sentences(bank: Bank, query: Query) -> list[str]:
    return [hit.entry.lesson.advice.sentence for hit in retrieve(bank, query).hits]


def test_the_state_decides_before_the_words_do() -> None:
    bank = bank_of(
        lesson("Pour acid, acid, acid towards pH five.", within("ph", 2, 3), one_of("liquid", "water")),
        lesson("Wait.", within("ph", 7.5, 8), one_of("liquid", "acid")),
    )
    assert sentences(bank, Query(BASE, "acid pH five", floor=0.0)) == [
        "Wait.",
        "Pour acid, acid, acid towards pH five.",
    ]


def test_words_decide_between_entries_that_fit_alike() -> None:
    here = (within("ph", 7.5, 8), one_of("liquid", "acid"))
    bank = bank_of(lesson("Rinse the probe twice.", *here), lesson("Pour slowly near the rim.", *here))
    assert sentences(bank, Query(BASE, "how to pour near a rim"))[0] == "Pour slowly near the rim."
    assert sentences(bank, Query(BASE, "rinse a probe"))[0] == "Rinse the probe twice."


def test_what_fits_less_comes_later_and_below_the_floor_not_at_all() -> None:
    bank = bank_of(
        *(lesson(f"For about {low}.", within("ph", low, low + 0.5)) for low in (7.5, 7.0, 6.0, 1.0)),
    )
    assert sentences(bank, Query(BASE)) == ["For about 7.5.", "For about 7.0."]
    assert sentences(bank, Query(BASE, most=1)) == ["For about 7.5."]
    assert sentences(bank, Query(BASE, most=0)) == []


def test_an_empty_answer_says_why_it_is_empty() -> None:
    bank = Bank(MEMORY)
    assert retrieve(bank, Query(BASE)).sentence == "The bank has no such entries yet."
    bank = bank_of(lesson("Hold.", within("ph", 1, 2)))
    found = retrieve(bank, Query(BASE))
    assert found.hits == ()
    assert found.nearest is not None and found.nearest.entry.id in found.sentence
    assert "None of 1 entries fits the state by 0.6 or more" in found.sentence
    assert retrieve(bank, Query(BASE, kinds=("safety",))).sentence == "The bank has no such entries yet."
    assert retrieve(bank, Query(BASE, "nonsense words")).hits == ()


def test_advice_for_every_state_is_found_by_its_words_only() -> None:
    bank = bank_of(lesson("Never carry a meter over open vessels."))
    assert retrieve(bank, Query(BASE)).hits == ()
    assert sentences(bank, Query(BASE, "carry the meter")) == ["Never carry a meter over open vessels."]


def test_a_field_that_the_state_does_not_tell_counts_neither_for_nor_against() -> None:
    assert fit(within("ec", 1, 2), BASE) == UNKNOWN == applies((), BASE)
    bank = bank_of(
        lesson("Known.", one_of("liquid", "acid"), within("ec", 100, 300)), lesson("Unknown.", within("ec", 1, 2))
    )
    assert sentences(bank, Query(BASE)) == ["Known."]


def test_every_hit_is_explained_with_its_record() -> None:
    bank = bank_of(lesson("Wait.", within("ph", 7.8, 8.8), one_of("liquid", "acid", "base")))
    (entry,) = bank.entries()
    bank.learn(Finished("s", True), [Support(entry.id, followed=True)])
    bank.learn(Finished("f", False), [Doubt(entry.id, followed=True)])
    (hit,) = retrieve(bank, Query(BASE)).hits
    assert hit.because == ("liquid = acid or base: 1.00", "ph = 7.8–8.8: 0.90")
    assert hit.record == "followed 2 times, 1 of them with success"
    assert hit.state == pytest.approx(0.95, abs=0.01)


def test_among_equals_the_record_decides_and_then_the_id() -> None:
    here = one_of("liquid", "acid")
    texts = [
        lesson(f"{word} gently {number}.", here, kind=kind)
        for number, (word, kind) in enumerate((("Pour", "skill"), ("Rinse", "strategy"), ("Stop", "safety")))
    ]
    bank = bank_of(*texts)
    by_id = [entry.id for entry in bank.entries()]
    scored = sorted(bank.entries(), key=lambda entry: (-entry.score, entry.id))
    assert [hit.entry.id for hit in retrieve(bank, Query(BASE)).hits] == [entry.id for entry in scored]
    for run in ("u", "v"):
        bank.learn(Finished(run, True), [Support(by_id[0])])
    bank.learn(Finished("s", True), [Support(by_id[-1], followed=True)])
    first, second = retrieve(bank, Query(BASE)).hits[:2]
    assert (first.entry.id, second.entry.id) == (by_id[-1], by_id[0])
    assert first.entry.score < second.entry.score


def test_what_was_learned_on_the_instances_of_an_evaluation_is_refused() -> None:
    bank = bank_of(lesson("Wait.", one_of("liquid", "acid")), instances=("pond-1",))
    (entry,) = bank.entries()
    assert retrieve(bank, Query(BASE, evaluation=frozenset({"pond-2"}))).hits
    with pytest.raises(SeenInstance, match=r"learned on pond-1,.*1 of its entries in use come from there"):
        retrieve(bank, Query(BASE, evaluation=frozenset({"pond-1", "pond-2"})))
    bank.retract("r0")
    assert retrieve(bank, Query(BASE, evaluation=frozenset({"pond-1"}))).hits == ()
    bank.learn(Finished("clean", True), [Teach(entry.lesson)])
    bank.learn(Finished("vote", True, Source(instances=("pond-1",))), [Support(bank.entries()[0].id)])
    with pytest.raises(SeenInstance, match="pond-1"):
        retrieve(bank, Query(BASE, evaluation=frozenset({"pond-1"})))


def test_an_evaluation_that_only_let_time_pass_is_seen_as_well() -> None:
    bank = Bank(MEMORY)
    bank.learn(Finished("r", False, Source(instances=("pond-1",))), [])
    with pytest.raises(SeenInstance, match="it let scores fade there"):
        retrieve(bank, Query(BASE, evaluation=frozenset({"pond-1"})))


def test_what_ended_is_never_retrieved() -> None:
    bank = bank_of(lesson("Wait for acid.", one_of("liquid", "acid")))
    bank.forget(bank.entries()[0].id)
    assert retrieve(bank, Query(BASE, "acid", floor=0.0)).considered == 0
    assert bank.words("acid") == {}


@pytest.mark.parametrize(("most", "floor"), [(-1, 0.5), (3, 1.5), (3, -0.1)])
def test_a_query_out_of_range_is_refused(most: int, floor: float) -> None:
    with pytest.raises(ValueError, match=r"K >= 0 and a floor in \[0, 1\]"):
        Query(BASE, most=most, floor=floor)


WORDS = st.lists(
    st.sampled_from(["acid", "pour", "pH", "7.74", "tube", "Säure", "to", "NEAR", "OR"]), min_size=1, max_size=6
)


@pytest.mark.skipif(not words.Index.available(sqlite3.connect(MEMORY)), reason="this SQLite has no FTS5")
@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=8), WORDS.map(" ".join))
def test_plain_python_and_sqlite_score_words_alike(texts: list[str], query: str) -> None:
    named = {f"entry-{number}": text for number, text in enumerate(texts)}
    connection = sqlite3.connect(MEMORY)
    index = words.Index(connection)
    index.create()
    for name, text in named.items():
        index.put(name, " ".join(words.tokens(text)))
    ours, theirs = words.rank(named, query), index.rank(query)
    connection.close()
    assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(
    "query", ['"', "acid AND", "NEAR(", "*", "", "-pour", "a" * 5000, "ph:7", "'; DROP TABLE log; --"]
)
def test_no_query_is_an_operator(query: str) -> None:
    bank = bank_of(lesson("Pour acid.", one_of("liquid", "acid")))
    assert len(retrieve(bank, Query(BASE, query)).hits) == 1
    assert not bank.verify()


def test_a_sqlite_without_full_text_search_retrieves_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> tuple[list[str], list[str]]:
        here = one_of("liquid", "acid")
        parameters = (Parameter("amount", 8.0, "g"),)
        bank = bank_of(
            Draft("skill", (here,), Advice("Pour {amount} near the rim.", parameters)),
            lesson("Rinse the probe.", here, kind="safety"),
            lesson("Stir, then read the probe.", here),
        )
        return sentences(bank, Query(BASE, "probe")), bank.verify()

    with_it = build()
    monkeypatch.setattr(words.Index, "available", staticmethod(lambda _: False))
    assert build() == with_it


@given(st.floats(0, 14), st.floats(0, 14), st.floats(0, 3))
def test_fit_falls_with_the_distance_from_a_range(value: float, low: float, width: float) -> None:
    term = within("ph", low, low + width)
    assert 0 <= fit(term, {"ph": value}) <= 1
    assert (
        (fit(term, {"ph": value}) == 1.0) == term.holds(value)
        or abs(value - low) < 1e-6
        or abs(value - low - width) < 1e-6
    )
    further = value + 1 if value > low else value - 1
    assert fit(term, {"ph": further}) <= fit(term, {"ph": value}) or term.holds(further)
