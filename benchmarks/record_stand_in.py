"""Record the stand-in that ships: `labevolver experiment learning` with the scripted model of examples/, over HTTP.

python benchmarks/record_stand_in.py

It is no language model. The recording has to be made again after any change of what a prompt says: a prompt file, the
belief, a rule, the laboratory's numbers. Until then `--replay stand-in` ends with a sentence that says what differs.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import scripted_model

from labevolver.experiments.crew import STAND_IN_MODEL, TAPE, Asked, assembled
from labevolver.experiments.ph import learning

TRIALS = 10


def record(out: Path) -> list[str]:
    """Record the trials with their models' requests into a new tape; return what they print."""
    server = scripted_model.Server(("127.0.0.1", 0), scripted_model.Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model = f"{STAND_IN_MODEL.partition('@')[0]}@http://127.0.0.1:{server.server_port}/v1"
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        print(text, flush=True)

    with assembled(Asked(model, record=out / "tape.jsonl"), out / "study") as crew:
        learning(out / "study", TRIALS, 0, say, crew=crew)
    server.shutdown()
    server.server_close()
    return said


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        record(out)
        tape = (out / "tape.jsonl").read_bytes()
    TAPE.write_bytes(lzma.compress(tape, preset=9 | lzma.PRESET_EXTREME))
    requests = [json.loads(line)["request"]["body"] for line in tape.splitlines()]
    names = [each["response_format"]["json_schema"]["name"] for each in requests]
    counts = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))
    print(f"{len(requests)} requests ({counts}), {len(tape)} bytes, {TAPE.stat().st_size} packed: {TAPE}")


if __name__ == "__main__":
    main()
