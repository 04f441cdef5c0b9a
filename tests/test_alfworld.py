"""ALFWorld's text games: the rules that surprise, transcripts that do not change, and games that can be won."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labevolver.labs.alfworld import make as making
from labevolver.labs.alfworld.game import SHORT, TASK_TYPES, Game
from labevolver.labs.alfworld.goal import Goal, GoalError, parse_goal
from labevolver.labs.alfworld.library import OWN, Bundle, LibraryError, Tree, find_library, open_library
from labevolver.labs.alfworld.notes import Notes
from labevolver.labs.alfworld.pddl import ProblemError, holds, parse_problem
from labevolver.labs.alfworld.play import Play
from labevolver.labs.alfworld.speech import NOTHING, listed

GOLDEN = Path(__file__).parent / "data" / "alfworld_transcripts.json"
"""Game -> SHA-256 of its transcript, by an interpreter that `test_alfworld_parity` held beside TextWorld."""
DATA = Path(os.environ.get("ALFWORLD_DATA", Path(__file__).parents[2] / "shared/data/alfworld"))
needs_data = pytest.mark.skipif(
    not (DATA / "train.jsonl.xz").exists(), reason="ALFWorld's games are not here as a bundle"
)
STEPS = 40


def own_games() -> list[Game]:
    library = Bundle(OWN)
    return [game for split in library.splits() for game in library.games(split, library.ids(split))]


def transcript(game: Game) -> str:
    """Walk a game with half its walkthrough and half chance, and write down all it says and allows."""
    play, draw, walk = Play(game), random.Random(game.id), list(game.walkthrough)
    lines = [play.opening]
    for _ in range(STEPS):
        plan = walk.pop(0) if walk and draw.random() < 0.5 else ""
        command = plan or draw.choice(["look", *play.admissible])
        lines += [json.dumps(play.admissible), command, play.step(command), str(play.won)]
    return "\n".join(lines)


def digest(game: Game) -> str:
    return hashlib.sha256(transcript(game).encode()).hexdigest()[:16]


@pytest.fixture
def kitchen() -> Game:
    return next(game for game in own_games() if SHORT[game.task_type] == "heat")


def until(game: Game, verb: str) -> tuple[Play, str]:
    """Follow a walkthrough up to its first command with a verb; return the game and the thing that command names."""
    play = Play(game)
    for command in game.walkthrough:
        if command.startswith(verb):
            return play, " ".join(command.split()[1:3])
        play.step(command)
    raise AssertionError(f"{game.id} has no {verb}")


@pytest.mark.parametrize("game", own_games(), ids=lambda game: game.id)
def test_walkthroughs_of_our_games_win_and_nothing_before_their_last_command_does(game: Game) -> None:
    play = Play(game)
    for command in game.walkthrough:
        assert not play.won
        assert command in play.admissible
        assert play.step(command) != NOTHING
    assert play.won


def test_every_task_type_ships_in_both_splits() -> None:
    library = Bundle(OWN)
    for split in library.splits():
        assert {game.task_type for game in library.games(split, library.ids(split))} == set(TASK_TYPES)


@pytest.mark.parametrize("split", sorted(making.SPLITS))
def test_shipped_games_are_what_their_maker_makes(split: str) -> None:
    with lzma.open(OWN / f"{split}.jsonl.xz", "rt", encoding="utf-8") as file:
        assert list(file) == list(making.lines(split))


def test_transcripts_of_our_games_do_not_change() -> None:
    golden = json.loads(GOLDEN.read_text())["own"]
    assert {game.id: digest(game) for game in own_games()} == golden


@needs_data
def test_transcripts_of_alfworlds_games_do_not_change() -> None:
    golden = json.loads(GOLDEN.read_text())["alfworld"]
    library = Bundle(DATA)
    games = library.games("valid_unseen", [name for name in golden if name in set(library.ids("valid_unseen"))])
    assert len(games) >= 120
    assert {game.id: digest(game) for game in games} == golden


@needs_data
def test_a_sample_of_alfworlds_walkthroughs_wins() -> None:
    library = Bundle(DATA)
    for split in library.splits():
        for game in library.games(split, library.ids(split)[::40]):
            play = Play(game)
            assert NOTHING not in [play.step(command) for command in game.walkthrough], game.id
            assert play.won, game.id


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(own_games()), st.lists(st.integers(0, 10**6), max_size=30))
def test_admissible_commands_do_something_and_others_do_nothing(game: Game, choices: list[int]) -> None:
    play = Play(game)
    for choice in choices:
        commands = play.admissible
        for other in ("take mug 1 from cabinet 1", "go to cabinet 1", "use desklamp 1", "dance", ""):
            if other not in commands:
                assert play.step(other) == NOTHING
                assert play.admissible == commands
        assert play.step(commands[choice % len(commands)]) != NOTHING


def test_nonsense_costs_a_step() -> None:
    play = Play(own_games()[0])
    assert play.step("dance") == NOTHING
    assert play.steps == 1


def test_go_to_refuses_a_receptacle_at_the_same_spot_and_examine_works_there(kitchen: Game) -> None:
    play = Play(kitchen)
    play.step("go to stoveburner 1")
    assert play.step("go to stoveburner 2") == NOTHING
    assert play.step("examine stoveburner 2").startswith("On the stoveburner 2, you see")


def test_only_the_held_object_can_be_examined(kitchen: Game) -> None:
    play, thing = until(kitchen, "take")
    assert play.step(f"examine {thing}") == NOTHING
    play, thing = until(kitchen, "heat")
    assert thing in play.step(f"examine {thing}")


def test_one_hand_holds_one_object(kitchen: Game) -> None:
    play, _ = until(kitchen, "heat")
    for name in Notes.of(play.opening).places:
        play.step(f"go to {name}")
        play.step(f"open {name}")
        assert not [command for command in play.admissible if command.startswith("take ")]


def test_a_microwave_heats_without_being_opened_and_what_is_cooled_is_hot_no_more(kitchen: Game) -> None:
    play, thing = until(kitchen, "heat")
    play.step(f"heat {thing} with microwave 1")
    assert play.step(f"examine {thing}") == f"This is a hot {thing}."
    play.step("go to fridge 1")
    play.step(f"cool {thing} with fridge 1")
    assert play.step(f"examine {thing}") == f"This is a cold {thing}."


def test_look_in_the_middle_of_a_room_sees_nothing() -> None:
    assert Play(own_games()[0]).step("look").endswith("you see nothing.")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "nothing"),
        (["mug 1"], "a mug 1"),
        (["mug 2", "mug 1"], "a mug 2, and a mug 1"),
        (["a 1", "b 1", "c 1"], "a a 1, a b 1, and a c 1"),
    ],
)
def test_lists_read_as_in_the_game(names: list[str], said: str) -> None:
    assert listed(names) == said


def test_help_answers_with_the_games_own_words_where_it_has_some(kitchen: Game) -> None:
    own = Game(kitchen.id, kitchen.task, kitchen.task_type, kitchen.problem, kitchen.walkthrough, help="ask a cook")
    assert Play(own).step("help") == "ask a cook"
    assert "go to PLACE" in Play(kitchen).step("help")


SENTENCES = {
    "put a mug in desk.": Goal("mug", destination="desk"),
    "put some book on sofa.": Goal("book", destination="sofa"),
    "put two cd in safe.": Goal("cd", 2, destination="safe"),
    "find two pen and put them in drawer.": Goal("pen", 2, destination="drawer"),
    "clean some knife and put it in countertop.": Goal("knife", 1, "clean", "countertop"),
    "put a clean knife in countertop.": Goal("knife", 1, "clean", "countertop"),
    "heat some egg and put it in diningtable.": Goal("egg", 1, "heat", "diningtable"),
    "put a hot egg in diningtable.": Goal("egg", 1, "heat", "diningtable"),
    "cool some pan and put it in stoveburner.": Goal("pan", 1, "cool", "stoveburner"),
    "put a cool pan in stoveburner.": Goal("pan", 1, "cool", "stoveburner"),
    "look at bowl under the desklamp.": Goal("bowl", lamp="desklamp"),
    "examine the bowl with the desklamp.": Goal("bowl", lamp="desklamp"),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_way_of_stating_a_task_is_understood(sentence: str) -> None:
    assert parse_goal(sentence) == SENTENCES[sentence]


def test_a_sentence_in_no_known_form_is_refused_with_one_that_works() -> None:
    with pytest.raises(GoalError, match=r"'dance'.*put a mug in desk"):
        parse_goal("dance")


@needs_data
def test_the_kind_of_every_task_can_be_read_from_its_sentence() -> None:
    library = Bundle(DATA)
    for game in library.games("valid_unseen", library.ids("valid_unseen")):
        assert parse_goal(game.task).word == SHORT[game.task_type]


def test_a_goal_needs_all_of_its_conjunction_with_different_things() -> None:
    goal = parse_problem(
        "(:init (in a r)) (:goal (exists (?x - o ?y - o) (and (in ?x r) (in ?y r) (not (= ?x ?y)))))"
    ).goal
    assert not holds(goal, {"in": {("a", "r")}})
    assert holds(goal, {"in": {("a", "r"), ("b", "r")}})
    assert not holds(goal, {"in": {("a", "r"), ("b", "s")}})


@pytest.mark.parametrize("text", ["", "(:init (a b))", "(:init) (:goal", "(:goal (a)) (:init)"])
def test_what_is_no_problem_is_refused(text: str) -> None:
    with pytest.raises(ProblemError):
        parse_problem(text)


def as_tree(folder: Path, game: Game) -> None:
    path = folder / "json_2.1.1" / "train" / game.id
    path.mkdir(parents=True)
    grammar = (
        f'"rhs": "Your task is to: {game.task}" action PutObject {{ template :: "move {{o}} to {{r}}"; }}'
        ' action help { template :: "help"; feedback :: "\nCommands:\n"; }'
    )
    data = {"pddl_problem": game.problem, "grammar": grammar, "walkthrough": game.walkthrough}
    (path / "game.tw-pddl").write_text(json.dumps(data))


def test_a_tree_and_a_bundle_hold_the_same_games(tmp_path: Path) -> None:
    game = own_games()[0]
    as_tree(tmp_path, game)
    library = open_library(tmp_path)
    assert isinstance(library, Tree)
    (found,) = library.games("train", library.ids("train"))
    assert (found.id, found.task, found.problem) == (game.id, game.task, game.problem)
    assert found.walkthrough == game.walkthrough
    assert found.help == "Commands:\n"


def test_games_older_than_the_move_command_are_refused(tmp_path: Path) -> None:
    as_tree(tmp_path, own_games()[0])
    (path,) = tmp_path.rglob("game.tw-pddl")
    path.write_text(path.read_text().replace("move {o} to {r}", "put {o} in/on {r}"))
    library = Tree(tmp_path)
    with pytest.raises(LibraryError, match=r"older than ALFWorld 0.4.*alfworld-download"):
        library.games("train", library.ids("train"))


def test_without_data_the_shipped_games_are_played_and_one_sentence_says_how_to_get_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    library, sentence = find_library()
    assert library.name == "shipped games"
    assert "`pip install alfworld && alfworld-download`" in sentence


def test_a_folder_without_games_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    with pytest.raises(LibraryError, match=r"\$ALFWORLD_DATA .* holds neither .*alfworld-download"):
        find_library()
    with pytest.raises(LibraryError, match="There is no split 'test'; there are train, valid_unseen"):
        Bundle(OWN).ids("test")
    with pytest.raises(LibraryError, match="There is no 'nowhere'"):
        Bundle(OWN).games("train", ["nowhere"])
