"""Run episodes against a policy server that is killed twice, and see that nothing is lost.

    python examples/killed_server.py --policy reader --episodes 50 --out runs/killed

Each time the server is killed in the middle of an episode. The run ends with exit code 3, because episodes are
unresolved; the same command with the address of a fresh server goes on.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

LABFERENCE = [sys.executable, "-c", "from labference.cli import main; main()"]


def scored(out: Path) -> int:
    return len(list(out.glob("episode-*/attempt-*/scores.json")))


def serve(policy: str) -> tuple[subprocess.Popen[str], str]:
    server = subprocess.Popen([*LABFERENCE, "serve", policy, "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, server.stdout.readline().strip()


def attempt(arguments: argparse.Namespace, kill_after: int | None) -> int:
    """Run to the end, with a server that is killed once `kill_after` episodes are scored; return the exit code."""
    server, address = serve(arguments.policy)
    print(f"A server of {arguments.policy} listens at {address}.", flush=True)
    command = ["run", arguments.task, "--policy", address, "--episodes", str(arguments.episodes)]
    run = subprocess.Popen(
        [*LABFERENCE, *command, "--workers", str(arguments.workers), "--out", str(arguments.out)],
        env={**os.environ, "COLUMNS": "120"},
        stdout=subprocess.DEVNULL,
    )
    try:
        while kill_after is not None and run.poll() is None and scored(arguments.out) < kill_after:
            time.sleep(0.05)
        if kill_after is not None:
            time.sleep(random.uniform(0.5, 1.0))
            server.kill()
            print(f"It was killed with {scored(arguments.out)} of {arguments.episodes} episodes scored.", flush=True)
        return run.wait()
    finally:
        run.kill()
        server.kill()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="weighing-basic")
    parser.add_argument("--policy", default="reader")
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/killed"))
    arguments = parser.parse_args()
    for share in (1 / 3, 2 / 3, None):
        code = attempt(arguments, None if share is None else int(share * arguments.episodes))
        print(f"The run ended with exit code {code}, {scored(arguments.out)} episodes scored.", flush=True)
    tried = len(list(arguments.out.glob("episode-*/attempt-*")))
    print(f"{tried} attempts at {arguments.episodes} episodes are on record.", flush=True)
    for command in ("audit", "score"):
        subprocess.run([*LABFERENCE, command, str(arguments.out)], check=True)


if __name__ == "__main__":
    main()
