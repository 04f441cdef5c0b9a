"""Two entries of a bank that say the same become one, and nothing they knew is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labevolver.bank import MEMORY, Bank
from labevolver.experience import Advice, Draft, Parameter, Source, Term
from labevolver.fold import fold
from labevolver.maintain import Doubt, Finished, Revise, Support, Teach, Unite
from labevolver.operations import Merge, parse
from labevolver.operations import body as written
from labevolver.retrieve import Query, retrieve
from labevolver.shown import why_lines

SAID = "In or on the shelf, look for: bowl, mug."


def place(thing: str, chance: float, where: str = "shelf") -> Draft:
    when = (Term("find", among=(thing,)), Term(where, among=("present",)))
    parameters = (Parameter("place", where), Parameter("chance", chance))
    return Draft("strategy", when, Advice(f"Look for a {thing} in or on the {where}.", parameters))


def won(run: str) -> Finished:
    return Finished(run, True, Source(instances=(f"game of {run}",)))


def two(bank: Bank) -> tuple[str, str]:
    """Teach two entries, the first in three trials and the second in one; return their ids."""
    bank.learn(won("a"), [Teach(place("mug", 0.4))])
    (mug,) = (entry.id for entry in bank.entries())
    for run, share in (("b", 0.4), ("c", 0.1)):
        bank.learn(won(run), [Revise(mug, place("mug", share))])
    bank.learn(won("d"), [Teach(place("bowl", 0.7))])
    bank.learn(won("used"), [Support(mug, followed=True)])
    (bowl,) = (entry.id for entry in bank.entries() if entry.id != mug)
    return mug, bowl


def test_a_merged_entry_covers_both_conditions_and_weighs_its_numbers_by_trials() -> None:
    with Bank(MEMORY) as bank:
        mug, bowl = two(bank)
        before = {entry.id: entry for entry in bank.entries()}
        bank.learn(won("e"), [Unite(mug, bowl, SAID)])
        (one,) = bank.entries()
        assert one.id == mug
        assert one.lesson.advice.sentence == SAID
        assert one.lesson.advice.parameters[1].value == pytest.approx((4 * 0.3 + 0.7) / 5)
        assert one.source.runs == ("a", "b", "c", "used", "d")
        assert one.uses == before[mug].uses + before[bowl].uses == 1
        for thing in ("mug", "bowl"):
            found = retrieve(bank, Query({"find": thing, "shelf": "present"}, floor=0.9))
            assert [hit.entry.id for hit in found.hits] == [mug]
        assert f"merged into {mug}" in bank.entry(bowl).ended
        assert any("says the same" in line for line in why_lines(mug, bank.log(), bank.undone()))
        assert bank.verify() == []


def test_a_merge_can_be_taken_back() -> None:
    with Bank(MEMORY) as bank:
        mug, bowl = two(bank)
        bank.learn(won("e"), [Unite(mug, bowl, SAID)])
        bank.retract("e")
        assert {entry.id for entry in bank.entries()} == {mug, bowl}
        assert bank.entry(bowl).lesson.advice.parameters[1].value == 0.7
        assert bank.verify() == []


def test_a_merge_decides_on_the_entries_as_they_are_after_the_votes_of_its_trial() -> None:
    with Bank(MEMORY) as bank:
        mug, bowl = two(bank)
        bank.learn(won("e"), [Unite(mug, bowl, SAID), Revise(mug, place("mug", 0.8))])
        (one,) = bank.entries()
        assert one.lesson.advice.parameters[1].value == pytest.approx((5 * (4 * 0.3 + 0.8) / 5 + 0.7) / 6)


@pytest.mark.parametrize(
    ("other", "sentence", "reason"),
    [
        ("strategy-none-1", SAID, "which is unknown"),
        ("itself", SAID, "do not advise the same"),
        ("elsewhere", SAID, "do not advise the same"),
        ("bowl", "Take {amount}.", "asks for {amount}"),
        ("bowl", " ", "needs a sentence"),
    ],
)
def test_what_cannot_be_merged_is_kept_with_the_reason(other: str, sentence: str, reason: str) -> None:
    with Bank(MEMORY) as bank:
        mug, bowl = two(bank)
        bank.learn(won("x"), [Teach(place("mug", 0.4, "desk"))])
        (desk,) = (entry.id for entry in bank.entries() if entry.id not in (mug, bowl))
        named = {"itself": mug, "elsewhere": desk, "bowl": bowl}.get(other, other)
        bank.learn(won("e"), [Unite(mug, named, sentence)])
        (kept,) = bank.quarantined()
        assert reason in kept.operation.reason  # type: ignore[union-attr]
        assert {entry.id for entry in bank.entries()} == {mug, bowl, desk}


def test_a_merge_that_finds_no_two_entries_any_more_has_no_effect() -> None:
    with Bank(MEMORY) as bank:
        mug, bowl = two(bank)
        bank.learn(won("e"), [Unite(mug, bowl, SAID)])
        bank.retract("d")
        (one,) = bank.entries()
        assert one.lesson.advice.sentence != SAID
        assert bank.verify() == []


def test_a_merge_reads_back_as_it_was_written() -> None:
    merge = Merge("strategy-1", "strategy-2", SAID, 7, "run")
    assert parse("Merge", written(merge)) == merge


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_merges_and_everything_else_in_any_order_fold_to_what_the_index_holds(data: st.DataObject) -> None:
    lessons = st.builds(place, st.sampled_from(["mug", "bowl", "cup"]), st.sampled_from([0.1, 0.5]))
    with Bank(MEMORY) as bank:
        for number in range(data.draw(st.integers(2, 6))):
            entry = st.sampled_from([entry.id for entry in bank.entries(ended=True)] or ["strategy-none-1"])
            proposal = st.one_of(
                lessons.map(Teach),
                st.builds(Revise, entry, lessons),
                st.builds(Support, entry, st.booleans()),
                st.builds(Doubt, entry, st.booleans()),
                st.builds(Unite, entry, entry, st.sampled_from([SAID, "Look on the {place}.", "{none}"])),
            )
            bank.learn(won(f"r{number}"), data.draw(st.lists(proposal, max_size=5)))
            if data.draw(st.booleans()):
                standing = [
                    each.number for each in bank.log() if each.number not in bank.undone() and each.name != "Open"
                ]
                bank.undo(data.draw(st.sampled_from(standing)))
            assert bank.verify() == []
            assert {each.id: each for each in bank.entries(ended=True)} == fold(bank.log())
