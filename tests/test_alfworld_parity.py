"""Our interpreter beside TextWorld: the same words, the same commands, the same wins. Needs TextWorld and ALFWorld.

Both engines are led along the same walk: half of a game's walkthrough mixed into admissible commands drawn at random,
and some nonsense. LABEVOLVER_PARITY_GAMES says how many games of a bundle are walked (3).
"""

from __future__ import annotations

import os
import random
from importlib import resources
from pathlib import Path

import pytest

from labevolver.labs.alfworld.game import Game
from labevolver.labs.alfworld.library import OWN, Bundle, Library
from labevolver.labs.alfworld.play import Play

pytest.importorskip("fast_downward", reason="parity needs the extra `textworld`")
textworld = pytest.importorskip("textworld", reason="parity needs the extra `textworld`")
pytest.importorskip("alfworld", reason="parity needs the extra `textworld`")
BUNDLE = Path(os.environ.get("ALFWORLD_DATA", Path(__file__).parents[2] / "shared/data/alfworld"))
GAMES = int(os.environ.get("LABEVOLVER_PARITY_GAMES", "3"))
STEPS = 40


def sample(library: Library, split: str, count: int) -> list[Game]:
    ids = library.ids(split)
    return library.games(split, random.Random(count).sample(ids, min(count, len(ids))))


def games() -> list[Game]:
    if not (BUNDLE / "valid_unseen.jsonl.xz").exists():
        return sample(Bundle(OWN), "train", 3)
    own, bundle = Bundle(OWN), Bundle(BUNDLE)
    half = GAMES // 2
    return [*sample(own, "train", 2), *sample(bundle, "valid_unseen", GAMES - half), *sample(bundle, "train", half)]


def reference(game: Game) -> object:
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from textworld.envs import PddlEnv

    if (BUNDLE / "domain.pddl").exists():
        domain, grammar = ((BUNDLE / name).read_text() for name in ("domain.pddl", "grammar.twl2"))
    else:
        data = resources.files("alfworld").joinpath("data")
        domain, grammar = (data.joinpath(name).read_text() for name in ("alfred.pddl", "alfred.twl2"))
    env = AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)), shuffle=False)
    grammar = grammar.replace("UNKNOWN GOAL.", game.task)
    env.load(
        {"pddl_domain": domain, "grammar": grammar, "pddl_problem": game.problem, "solvable": True, "walkthrough": []}
    )
    return env


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("game", games(), ids=lambda game: game.id)
def test_our_interpreter_says_and_allows_what_textworld_does(game: Game) -> None:
    env = reference(game)
    theirs = env.reset()  # type: ignore[attr-defined]
    ours = Play(game)
    assert theirs["feedback"].strip() == ours.opening
    draw, walk = random.Random(game.id), list(game.walkthrough)
    for _ in range(STEPS):
        assert list(theirs["admissible_commands"]) == ours.admissible
        plan = walk.pop(0) if walk and draw.random() < 0.5 else ""
        still = [each for each in ours.admissible if not each.startswith(("go to", "help"))]
        command = plan or draw.choice(draw.choice([still, ours.admissible, ["go to nowhere 1", "look ", "use mug 1"]]))
        if command == "help" and not game.help:
            continue
        theirs, _, _ = env.step(command)  # type: ignore[attr-defined]
        assert theirs["feedback"] == ours.step(command)
        assert theirs["won"] == ours.won
        if ours.won:
            break
