"""Minds that play ALFWorld, what their trials teach, and memories that give it back."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TypeVar

import pytest

from labevolver.labs.alfworld.advice import Advice, Chance, Exchange, Memory, Trial
from labevolver.labs.alfworld.baselines import LocationTable, MempStyle, Nothing, RawContext
from labevolver.labs.alfworld.episode import OK, Episode, run
from labevolver.labs.alfworld.evolver import KNOWN, Evolver, Unmaintained
from labevolver.labs.alfworld.extract import findings
from labevolver.labs.alfworld.game import SHORT, TASK_TYPES, Game
from labevolver.labs.alfworld.lessons import CHANCE, sought, word
from labevolver.labs.alfworld.lessons import number as number_in
from labevolver.labs.alfworld.library import OWN, Bundle
from labevolver.labs.alfworld.notes import Notes
from labevolver.labs.alfworld.play import Play
from labevolver.labs.alfworld.seeker import CO_LOCATED, Seeker, Style
from labevolver.labs.alfworld.speech import NOTHING
from labevolver.labs.alfworld.talker import Talker, Turn, example
from labevolver.model.budget import Budget
from labevolver.model.port import Ask, Call, Mind, ModelError, Reply

T = TypeVar("T")
NO_ADVICE = Advice()
OPENING = (
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see "
    "a cabinet 2, a cabinet 1, a countertop 1, and a fridge 1.\n\nYour task is to: put a mug in fridge."
)
SEARCH = (
    Exchange("go to countertop 1", "You arrive at countertop 1. On the countertop 1, you see a apple 1, and a cup 1."),
    Exchange("go to cabinet 1", NOTHING),
    Exchange("look", "You are facing the cabinet 1, and countertop 1. Next to it, you see nothing."),
    Exchange("open cabinet 1", "You open the cabinet 1. The cabinet 1 is open. In it, you see a mug 1."),
    Exchange("go to cabinet 2", "You arrive at cabinet 2. The cabinet 2 is closed."),
    Exchange("go to cabinet 1", "You arrive at cabinet 1. The cabinet 1 is open. In it, you see a mug 1."),
    Exchange("take mug 1 from cabinet 1", "You pick up the mug 1 from the cabinet 1."),
)


def trial(
    name: str = "t1", won: bool = True, exchanges: tuple[Exchange, ...] = SEARCH, **more: frozenset[str]
) -> Trial:
    return Trial(name, f"game of {name}", OPENING, exchanges, won, **more)


def ask(memory: Memory, sought: str = "mug") -> Advice:
    return memory.consult({"find": sought, "task": "put", "room": "cabinet countertop fridge"})


def own(split: str = "train") -> list[Game]:
    library = Bundle(OWN)
    return library.games(split, library.ids(split))


def play(game: Game, style: Style, advice: Advice = NO_ADVICE, horizon: int = 100) -> Episode:
    game_on = Play(game)
    return run(game_on, Seeker(game_on.opening, lambda situation: advice, random.Random(1), style).turns(), horizon)


@pytest.mark.parametrize("style", [Style(), Style(notes=False, thoughts=False)], ids=["react", "act"])
@pytest.mark.parametrize("game", own("train") + own("valid_unseen"), ids=lambda game: game.id)
def test_the_symbolic_mind_wins_every_game_of_ours(game: Game, style: Style) -> None:
    assert play(game, style).won


def test_thoughts_are_counted_apart_and_cost_nothing_in_the_game() -> None:
    game = own()[0]
    loud, quiet = play(game, Style()), play(game, Style(thoughts=False))
    assert [each for each in loud.exchanges if not each.thought] == list(quiet.exchanges)
    assert loud.turns > loud.commands == quiet.commands == quiet.turns
    assert all(each.said == OK for each in loud.exchanges if each.thought)
    assert loud.success(loud.commands, thoughts_cost=False)
    assert not loud.success(loud.commands, thoughts_cost=True)


def test_a_mind_that_only_thinks_does_not_play_for_ever() -> None:
    def thinker():  # type: ignore[no-untyped-def]
        while True:
            yield "think: hm"

    for cost in (False, True):
        episode = run(Play(own()[0]), thinker(), 10, cost)
        assert not episode.won
        assert episode.turns <= 21


def test_likely_places_are_looked_into_first() -> None:
    game = next(game for game in own() if SHORT[game.task_type] == "put")
    place = game.walkthrough[0].removeprefix("go to ").partition(" ")[0]
    told = play(game, Style(), Advice({place: Chance(0.9, "e1")}, 0.01))
    first = next(each for each in told.exchanges if not each.thought)
    assert first.command.startswith(f"go to {place} ")


def test_the_rule_on_co_located_receptacles_saves_the_look_around() -> None:
    for game in own():
        without, with_rule = play(game, Style()), play(game, Style(), Advice(rules={CO_LOCATED: "e1"}))
        looks = sum(each.command == "look" for each in without.exchanges)
        assert with_rule.commands == without.commands - looks
        if looks:
            return
    raise AssertionError("no game of ours has neighbours in the way")


def test_notes_keep_what_was_seen_and_what_is_within_reach() -> None:
    notes = Notes.of(OPENING)
    assert notes.places == ["cabinet 2", "cabinet 1", "countertop 1", "fridge 1"]
    assert notes.task == "put a mug in fridge."
    for exchange in SEARCH[:4]:
        notes.read(exchange.said)
    assert notes.near == {"cabinet 1", "countertop 1"}
    assert notes.seen == {"apple 1": "countertop 1", "cup 1": "countertop 1", "mug 1": "cabinet 1"}
    for exchange in SEARCH[4:]:
        notes.read(exchange.said)
    assert notes.held == "mug 1"
    assert "mug 1" not in notes.seen
    assert notes.near == {"cabinet 1", "countertop 1"}


def test_what_was_seen_is_kept_in_the_order_in_which_it_was_told() -> None:
    names = [f"{thing} {number}" for number in (2, 1) for thing in ("mug", "cup", "apple", "egg", "fork", "knife")]
    notes = Notes.of(OPENING)
    listed = ", ".join(f"a {name}" for name in names[:-1])
    notes.read(f"You arrive at countertop 1. On the countertop 1, you see {listed}, and a {names[-1]}.")
    assert list(notes.seen) == names


def test_findings_come_from_texts_alone() -> None:
    found = findings(trial())
    assert found.things == {"apple", "cup", "mug"}
    assert found.share("mug", "cabinet") == 1.0
    assert found.share("mug", "countertop") == 0.0
    assert found.closed == {"cabinet"}
    assert found.co_located
    assert found.taken == "cabinet"


def test_a_bank_learns_places_closed_doors_and_what_a_refused_go_means() -> None:
    memory = Evolver()
    memory.learn(trial())
    advice = ask(memory)
    assert advice.chances.keys() == {"cabinet"}
    assert advice.steps == {"cabinet": 2.0}
    assert CO_LOCATED in advice.rules
    assert "Look for a mug in or on the cabinet." in advice.text
    assert ask(memory, "saltshaker").chances == {}
    kinds = {entry.lesson.kind for entry in memory.bank.entries()}
    assert kinds == {"skill", "strategy", "safety"}


def test_where_something_was_not_lowers_its_chance_and_adds_no_entry() -> None:
    memory = Evolver()
    memory.learn(trial())
    before, size = ask(memory).chances["cabinet"].share, memory.size
    elsewhere = (
        Exchange("open cabinet 2", "You open the cabinet 2. The cabinet 2 is open. In it, you see nothing."),
        Exchange("go to countertop 1", "You arrive at countertop 1. On the countertop 1, you see a mug 2."),
    )
    memory.learn(trial("t2", exchanges=elsewhere))
    assert ask(memory).chances["cabinet"].share < before
    assert memory.size == size + 1


def test_advice_that_was_followed_is_voted_for_after_a_success_and_against_after_a_failure() -> None:
    memory = Evolver()
    memory.learn(trial())
    source = ask(memory).chances["cabinet"].source
    score = memory.bank.entry(source).score
    memory.learn(trial("t2", followed=frozenset({source}), used=frozenset({source})))
    better = memory.bank.entry(source)
    assert (better.uses, better.successes) == (1, 1)
    assert better.score > score
    memory.learn(trial("t3", won=False, exchanges=(), followed=frozenset({source})))
    worse = memory.bank.entry(source)
    assert (worse.uses, worse.successes) == (2, 1)
    assert worse.score < better.score


def test_what_is_never_seen_again_is_forgotten_unless_nothing_is() -> None:
    for forgets in (True, False):
        memory = Evolver(forgets=forgets)
        memory.learn(trial())
        for number in range(400):
            memory.learn(trial(f"empty {number}", exchanges=()))
        assert (memory.size == 0) == forgets


def looks(*held: str) -> tuple[Exchange, ...]:
    """Look into one receptacle of each class; `held` says what is in the cabinet."""
    names = ", and ".join(f"a {thing} 1" for thing in held) or "nothing"
    return (
        Exchange("open cabinet 1", f"You open the cabinet 1. The cabinet 1 is open. In it, you see {names}."),
        Exchange(
            "go to countertop 1", "You arrive at countertop 1. On the countertop 1, you see a mug 2, and a cup 2."
        ),
    )


def test_what_is_well_known_and_alike_is_said_once_and_a_rare_thing_keeps_its_own_entry() -> None:
    memory = Evolver()
    memory.learn(trial("rare", exchanges=looks("watch")))
    for number in range(KNOWN + 2):
        memory.learn(trial(f"both {number}", exchanges=looks("mug", "cup")))
    cabinets = [
        entry for entry in memory.bank.entries() if word(entry, "place") == "cabinet" and number_in(entry, CHANCE)
    ]
    assert sorted(sorted(sought(entry.lesson)) for entry in cabinets) == [["cup", "mug"], ["watch"]]
    for thing in ("mug", "cup", "watch"):
        advice = ask(memory, thing)
        assert advice.chances["cabinet"].share > (advice.elsewhere or 0)
        assert f"- Look for a {thing} in or on the cabinet." in advice.text
    together = ask(memory, "mug").chances["cabinet"]
    assert together.source == ask(memory, "cup").chances["cabinet"].source
    memory.learn(trial("none", exchanges=looks()))
    assert ask(memory, "cup").chances["cabinet"].share < together.share


def test_unlike_chances_are_not_merged() -> None:
    memory = Evolver()
    for number in range(2 * KNOWN):
        memory.learn(trial(f"t{number}", exchanges=looks(*(["mug", "cup"] if number % 2 else ["mug"]))))
    share = {thing: ask(memory, thing).chances["cabinet"].share for thing in ("mug", "cup")}
    assert share["mug"] - share["cup"] > 0.3


def test_the_more_trials_the_less_is_expected_where_a_thing_was_never_seen() -> None:
    memory, expected = Evolver(), []
    for number in range(4):
        memory.learn(trial(f"t{number}", exchanges=looks("mug")))
        expected.append(ask(memory).elsewhere)
    assert expected == sorted(expected, reverse=True)
    assert len(set(expected)) == 4


def test_banks_grow_less_with_maintenance() -> None:
    kept, piled = Evolver(), Unmaintained()
    for memory in (kept, piled):
        for number in range(5):
            memory.learn(trial(str(number)))
    assert piled.size == 5 * kept.size
    assert ask(piled).chances.keys() == ask(kept).chances.keys()


def test_tables_count_workflows_pile_up_and_contexts_are_bounded() -> None:
    table, flows, context = LocationTable(), MempStyle(), RawContext(most=3)
    for number in range(5):
        for memory in (table, flows, context):
            memory.learn(trial(str(number)))
    assert table.size == 3
    assert (flows.size, context.size) == (10, 3)
    for memory in (table, flows, context):
        advice = ask(memory)
        assert max(advice.chances, key=lambda place: advice.chances[place].share) == "cabinet"
        assert advice.text
    assert ask(Nothing()) == Advice()


def test_workflows_that_fail_are_deleted() -> None:
    flows = MempStyle()
    flows.learn(trial())
    for number in range(3):
        ask(flows)
        flows.learn(trial(f"lost {number}", won=False, exchanges=()))
    assert flows.size == 0


class Script:
    """Stands in for a language model: answers from the text alone, as the symbolic mind would play on."""

    name = "scripted stand-in"

    def __init__(self, lines: list[str] | None = None) -> None:
        self.asked: list[Ask] = []
        self._lines = lines

    def ask(self, ask: Ask, answer: type[T], budget: Budget) -> Reply[T]:
        self.asked.append(ask)
        line = self._lines.pop(0) if self._lines is not None else next_line(ask.content)
        return Reply(answer(line), (Call("answered", 0.0, len(ask.content), len(line)),), ask.prompt.identity)  # type: ignore[call-arg]


def next_line(content: str) -> str:
    """Play the game at the end of a text once more up to where it stands, and return the next command."""
    game = content[content.rindex("You are in the middle of a room. Looking") :]
    opening, *turns = re.split(r"\n> ?", game)
    player = Seeker(opening.strip() + "\n", lambda situation: Advice(), random.Random(3), Style(thoughts=False)).turns()
    line = next(player)
    for turn in turns[:-1]:
        line = player.send(turn.partition("\n")[2].strip())
    return line


def talk(mind: Mind, game: Game, **more: object) -> tuple[Talker, Episode]:
    game_on = Play(game)
    talker = Talker(game_on.opening, lambda situation: Advice(text="- Mugs like shelves."), mind, Budget(), **more)  # type: ignore[arg-type]
    return talker, run(game_on, talker.turns(), 50)


def test_a_model_sees_two_solved_games_the_experience_and_the_game_so_far() -> None:
    mind = Script()
    talker, episode = talk(mind, own()[0])
    assert episode.won
    first = mind.asked[0].content
    assert example("put", 0, True) in first
    assert example("clean", 1, True) in first
    assert "- Mugs like shelves." in first
    assert first.endswith("\n>")
    assert talker.tokens > 0
    assert own()[0].task in first


@pytest.mark.parametrize("examples", ["fixed", "parsed", "given"])
def test_the_task_type_is_told_only_where_that_is_declared(examples: str) -> None:
    game = next(game for game in own() if SHORT[game.task_type] == "cool")
    mind = Script()
    talk(mind, game, examples=examples, given=game.task_type if examples == "given" else None)
    shown = example("cool", 0, True) in mind.asked[0].content
    assert shown == (examples != "fixed")
    assert not any(kind in mind.asked[0].content for kind in TASK_TYPES)


def test_a_model_without_a_usable_answer_fails_the_trial_and_one_that_is_away_does_not() -> None:
    class Away(Script):
        def __init__(self, fault: str) -> None:
            super().__init__()
            self.fault = fault

        def ask(self, ask: Ask, answer: type[T], budget: Budget) -> Reply[T]:
            raise ModelError(self.fault, "no", ())  # type: ignore[arg-type]

    talker, episode = talk(Away("invalid"), own()[0])
    assert not episode.won
    assert talker.fault == "invalid"
    with pytest.raises(ModelError):
        talk(Away("unavailable"), own()[0])


def test_what_a_model_says_around_its_command_is_left_out() -> None:
    _, episode = talk(Script(["> look\nand then I go on", "think: hm", "", "inventory"] + ["look"] * 60), own()[0])
    assert [each.command for each in episode.exchanges[:4]] == ["look", "think: hm", "", "inventory"]
    assert episode.exchanges[2].said == NOTHING
    assert episode.commands == 50


def test_a_turn_is_one_line_of_text() -> None:
    assert json.loads(json.dumps({"line": Turn("look").line})) == {"line": "look"}
    assert Path(OWN).is_dir()
