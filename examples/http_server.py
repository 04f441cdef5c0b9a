"""A policy server in the standard library: it swings the first joint, whatever it is shown.

python examples/http_server.py 8001
labference run weighing-basic --policy http://127.0.0.1:8001 --episodes 2 --budget 100 --out runs/swing
"""

import base64
import json
import math
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CAPABILITIES = {"noun": "Capabilities", "name": "swing", "version": "1", "actions": ["joint"], "cameras": []}


def act(observation):
    senses = observation["senses"]
    command = list(struct.unpack("<8d", base64.b64decode(senses["robot"]["command"]["__ndarray__"])))
    command[0] = 0.2 * math.sin(senses["time"])
    return {"noun": "Move", "commands": [command]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # do not wait between head and body

    def do_GET(self):
        self.say({"capabilities": CAPABILITIES})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"session": request["session"], "request": request["request"]}
        self.say(answer | {"act": act(request["observation"])} if self.path == "/act" else answer)

    def say(self, answer):
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
