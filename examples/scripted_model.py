"""A scripted stand-in for a language model: it speaks OpenAI's protocol, and answers by the rules of scripted_mind.py.

python examples/scripted_model.py 8099
labevolver experiment learning --model openai-compatible:scripted-stand-in@http://127.0.0.1:8099/v1

It shows that the way from a prompt to an action and back into the memory works. It says nothing of any model.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from scripted_mind import act, intend, read, reflect

PER_TOKEN = 4
"""Characters that are counted as one token."""


def answer(asked):
    """Return what is answered to a request; raises `ValueError` for one that is not understood."""
    form = asked.get("response_format", {})
    if form.get("type") != "json_schema":
        raise ValueError("This stand-in answers requests with a response_format of json_schema only.")
    wanted = set(form["json_schema"]["schema"]["properties"])
    text = "\n".join(_text(each["content"]) for each in asked["messages"] if each["role"] == "user")
    if "operations" in wanted:
        return reflect(text)
    told = read(text)
    if "template" in wanted:
        return intend(told)
    if "intent" not in wanted:
        return act(told, told.intent)
    intent = intend(told)
    action = act(told, intent["intent"])
    return {"intent": intent["intent"], **action, "follows": intent["follows"] + action["follows"]}


def _text(content):
    return content if isinstance(content, str) else "\n".join(each.get("text", "") for each in content)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(sent)
        try:
            said = json.dumps(answer(asked))
        except ValueError as error:
            self.say(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
            return
        usage = {"prompt_tokens": len(sent) // PER_TOKEN, "completion_tokens": len(said) // PER_TOKEN}
        usage["total_tokens"] = sum(usage.values())
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        head = {"id": "scripted", "object": "chat.completion", "created": 1, "model": asked["model"]}
        self.say(200, {**head, "choices": [choice], "usage": usage})

    def say(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that hung up, or was killed


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8099), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
