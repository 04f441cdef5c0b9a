"""Kill `labevolver experiment learning` at random moments, go on each time, and compare with a study left in peace.

python benchmarks/kills.py                                  20 kills of studies of 5 trials, symbolic mind
python benchmarks/kills.py --replay stand-in --kills 20     with the recording that ships

After each kill (SIGKILL) the bank has to verify, to hold every operation that it held after the kill before and every
trial that the command had printed, and no trial twice. At the end numbers and operations have to be those of the study
in peace.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from labevolver.bank import Bank
from labevolver.operations import Logged, Trial

AT_LEAST_S = 0.5
"""Before this a start has not got to anything [s]."""


@dataclass
class Study:
    """One study that is killed, and what its bank held at the last look."""

    out: Path
    words: list[str]
    log: list[Logged] = field(default_factory=list)

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "labevolver", "experiment", "learning", "--out", str(self.out), *self.words]

    def killed(self, after_s: float) -> bool:
        """Start or go on, and kill after so long [s]; return whether it was still running then."""
        with tempfile.TemporaryFile("w+") as said:
            child = subprocess.Popen(self.command, stdout=said, stderr=subprocess.STDOUT, text=True)
            try:
                child.wait(after_s)
            except subprocess.TimeoutExpired:
                os.kill(child.pid, signal.SIGKILL)
            code = child.wait()
            said.seek(0)
            text = said.read()
        if code not in (0, -signal.SIGKILL):
            raise AssertionError(f"It ended by itself with {code}: {text}")
        self.look(sum(line[:5].strip().isdigit() for line in text.splitlines()))
        return code != 0

    def look(self, printed: int) -> None:
        """Compare the bank with what it held before, and with how many trials were printed."""
        path = self.out / "bank.db"
        if not path.exists():
            assert not self.log and not printed, f"{path} is gone"
            return
        with Bank(path) as bank:
            faults, log = bank.verify(), bank.log()
        assert not faults, faults
        assert log[: len(self.log)] == self.log, "an operation that had been committed is lost"
        runs = [each.operation.run for each in log if isinstance(each.operation, Trial)]
        assert len(set(runs)) == len(runs), "a trial was learned twice"
        assert len(runs) >= printed, f"{printed} trials were printed, and {len(runs)} are in the bank"
        self.log = log

    def whole(self) -> list[str]:
        """Go on to the end; return what it prints, but for the path of its page."""
        done = subprocess.run(self.command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        with Bank(self.out / "bank.db") as bank:
            self.log = bank.log()
            assert bank.verify() == []
        return [line for line in done.stdout.splitlines() if not line.startswith("page:")]


def kill_again_and_again(folder: Path, kills: int, words: list[str], seed: int, longest_s: float = 0.0) -> list[float]:
    """Return after how long each kill came [s]; raises `AssertionError` where anything is lost or ends otherwise.

    Moments are drawn evenly up to `longest_s`, by default two thirds of the time that the study takes in peace.
    """
    chance = random.Random(seed)
    peace = Study(folder / "peace", words)
    began = time.monotonic()
    said = peace.whole()
    longest_s = longest_s or 2 / 3 * (time.monotonic() - began)
    moments: list[float] = []
    number = 0
    while len(moments) < kills:
        study = Study(folder / f"killed-{number}", words)
        number += 1
        while len(moments) < kills:
            moment = chance.uniform(AT_LEAST_S, longest_s)
            if not study.killed(moment):
                break
            moments.append(moment)
        again = study.whole()
        assert again == said, "\n".join(["It printed", *again, "and in peace", *said])
        one, other = ([each.operation for each in log] for log in (study.log, peace.log))
        assert one == other, "the bank is another one"
    return moments


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", default="")
    asked = parser.parse_args()
    words = ["--trials", str(asked.trials), *(["--replay", asked.replay] if asked.replay else [])]
    with tempfile.TemporaryDirectory() as folder:
        moments = kill_again_and_again(Path(folder), asked.kills, words, asked.seed)
        studies = len(list(Path(folder).glob("killed-*")))
    print(
        f"{len(moments)} kills after {min(moments):.1f} to {max(moments):.1f} s in {studies} studies of {asked.trials}"
    )
    print(
        "nothing committed was lost, no trial was learned twice, numbers and operations are those of a study in peace"
    )


if __name__ == "__main__":
    main()
