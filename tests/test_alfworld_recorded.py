"""A recorded run of ALFWorld through the port for language models, from prompt to bank.

The model is a scripted stand-in: it tests the path and says nothing of any model's quality.

    python tests/test_alfworld_recorded.py      # records anew, after a change of prompts, advice or client library
"""

from __future__ import annotations

import json
import lzma
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("pydantic_ai", reason="a language model needs the extra `llm`")

from labevolver.cli import app
from labevolver.experiments.alfworld_rows import rows
from test_alfworld_minds import next_line

CASSETTE = Path(__file__).parent / "data" / "alfworld_stand_in.jsonl.xz"
MIND = "openai-compatible:scripted-stand-in"
STUDY = ["--methods", "labevolver", "--stream", "3", "--unseen", "1", "--workers", "1"]


class StandIn(BaseHTTPRequestHandler):
    """A provider whose model plays as the symbolic mind would."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        content = asked["messages"][-1]["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        message = {"role": "assistant", "content": json.dumps({"line": next_line(text)})}
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": 8, "total_tokens": len(text) // 4 + 8}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        reply = {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"], "choices": [choice]}
        body = json.dumps({**reply, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def command(out: Path, port: int, *more: str) -> list[str]:
    mind = f"{MIND}@http://127.0.0.1:{port}/v1"
    return ["experiment", "alfworld", "--out", str(out), "--mind", mind, *STUDY, *more]


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_a_recorded_run_wins_its_games_and_fills_a_bank(no_data: None, tmp_path: Path) -> None:
    cassette, out = tmp_path / "cassette.jsonl", tmp_path / "out"
    cassette.write_bytes(lzma.decompress(CASSETTE.read_bytes()))
    result = CliRunner().invoke(app, command(out, 9, "--replay", str(cassette)))
    assert result.exit_code == 0, result.output
    found = rows(out / "labevolver.jsonl")
    assert [row.won for row in found] == [True] * 4
    assert all(row.tokens > 0 and not row.fault for row in found)
    assert found[-1].size > 0
    assert json.loads((out / "study.json").read_text())["mind"] == MIND
    assert MIND in (out / "tables.txt").read_text()


def test_a_request_that_was_not_recorded_is_an_error_and_no_failure_of_the_model(no_data: None, tmp_path: Path) -> None:
    cassette, out = tmp_path / "cassette.jsonl", tmp_path / "out"
    cassette.write_bytes(b"\n".join(lzma.decompress(CASSETTE.read_bytes()).splitlines()[:20]) + b"\n")
    result = CliRunner().invoke(app, command(out, 9, "--replay", str(cassette)))
    assert result.exit_code == 2
    assert "does not hold this request" in " ".join(result.output.split())
    assert all(row.won for row in rows(out / "labevolver.jsonl"))


def record() -> None:
    """Write the cassette."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        cassette = Path(folder) / "cassette.jsonl"
        done = CliRunner().invoke(app, command(Path(folder) / "out", server.server_port, "--record", str(cassette)))
        print(done.output)
        CASSETTE.write_bytes(lzma.compress(cassette.read_bytes()))
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    record()
