"""How fast ALFWorld's games load and step, and that every walkthrough wins.

    python benchmarks/alfworld.py [FOLDER]      # FOLDER: ALFWorld's tree or a bundle; the shipped games without

Times are processor time, also as a ratio to a fixed piece of Python, so that machines can be compared.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from labevolver.labs.alfworld.advice import Advice
from labevolver.labs.alfworld.episode import run
from labevolver.labs.alfworld.library import find_library
from labevolver.labs.alfworld.play import Play
from labevolver.labs.alfworld.seeker import Seeker

SAMPLE = 100
YARDSTICK = 200_000


def yardstick() -> float:
    """Return the processor time of a loop that sorts and splits text [s]."""
    began = time.process_time()
    for number in range(YARDSTICK // 100):
        sorted(str(number * 7919).split("1") + [str(each) for each in range(50)])
    return time.process_time() - began


def main(folder: Path | None) -> None:
    library, sentence = find_library(folder)
    print(sentence or library.name)
    unit = min(yardstick() for _ in range(5))
    loads = steps = seeks = wins = games = 0
    load_s = step_s = seek_s = 0.0
    for split in library.splits():
        for number, game in enumerate(library.games(split, library.ids(split))):
            began = time.process_time()
            play = Play(game)
            load_s, loads = load_s + time.process_time() - began, loads + 1
            began = time.process_time()
            for command in game.walkthrough:
                play.step(command)
                steps += 1
            step_s += time.process_time() - began
            games, wins = games + 1, wins + play.won
            if number < SAMPLE:
                again = Play(game)
                player = Seeker(again.opening, lambda situation: Advice(), random.Random(0))
                began = time.process_time()
                seeks += run(again, player.turns(), 50).commands
                seek_s += time.process_time() - began
    print(f"walkthroughs that win: {wins} of {games}")
    for name, seconds, count in (("load", load_s, loads), ("step", step_s, steps), ("step with mind", seek_s, seeks)):
        each = seconds / count
        print(f"{name:15} {1000 * each:7.3f} ms   {each / unit:9.5f} of a yardstick of {1000 * unit:.1f} ms")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
