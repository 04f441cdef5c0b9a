"""A language model's provider on this machine that answers by script, in the protocols of OpenAI and Anthropic."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Said:
    """One reply: text, or arguments of the tool that is offered; or a status, or a body as it is."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    prose: bool = False
    """Plain text although a tool is offered."""
    usage: bool = True
    finish: str = "stop"
    hang: bool = False
    """Keep the connection, and say nothing."""


class Provider:
    """What was asked, and what is left to say."""

    def __init__(self, script: list[Said]) -> None:
        self.script = list(script)
        self.asked: list[dict[str, Any]] = []
        self.released = threading.Event()
        self.url = ""

    def reply(self, body: dict[str, Any]) -> Said:
        self.asked.append(body)
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


def openai(said: Said, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if body.get("tools") and not said.prose:
        function = {"name": body["tools"][-1]["function"]["name"], "arguments": said.text}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"id": "call-1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": said.finish}
    found = {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {**found, "usage": usage} if said.usage else found


def anthropic(said: Said, body: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": said.text}]
    if body.get("tools") and not said.prose:
        content = [
            {"type": "tool_use", "id": "call-1", "name": body["tools"][-1]["name"], "input": json.loads(said.text)}
        ]
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "tool_use" if body.get("tools") else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


@contextmanager
def provider(*script: Said) -> Iterator[Provider]:
    """Serve a script at 127.0.0.1; the last reply is said again and again."""
    known = Provider(list(script))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = known.reply(body)
            if said.hang:
                known.released.wait(30)
                return
            spoken = anthropic if self.path.endswith("/messages") else openai
            boom = {"error": {"message": "boom", "type": "x"}}
            answer = said.body or (boom if said.status >= 400 else spoken(said, body))
            text = json.dumps(answer).encode()
            self.send_response(said.status)
            for name, value in {"Content-Type": "application/json", **said.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """A client that hung up is what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    known.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield known
    finally:
        known.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
