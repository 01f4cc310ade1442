"""A scripted model on loopback: what both APIs have in common. Every request is kept for the test to look at."""

from __future__ import annotations

import gzip
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAIN = "main"


class Model(ThreadingHTTPServer):
    """Plays one list of turns to the main conversation, and one to every sub-agent whose task holds the marker.

    A turn is a list: a text is said, a tuple is a tool call. When the turns are used up the model says "done".
    """

    daemon_threads = True
    block_on_close = False
    route = ""  # the end of the path that the model answers at

    def __init__(self, turns: list, agents: dict[str, list] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.turns = {MAIN: turns, **(agents or {})}
        self.bodies: dict[str, list[dict]] = {name: [] for name in self.turns}
        self.times: list[float] = []  # of the main conversation
        self.lock = threading.Lock()

    def __enter__(self) -> Model:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def turn(self, task: str, body: dict) -> tuple[str, int, list]:
        """Records a request. The conversation it belongs to, the number of the turn, and what is said in it."""
        name = next((marker for marker in self.turns if marker != MAIN and marker in task), MAIN)
        with self.lock:
            number = len(self.bodies[name])
            self.bodies[name].append(body)
            self.times += [time.monotonic()] * (name == MAIN)
        turns = self.turns[name]
        return name, number, turns[number] if number < len(turns) else ["done"]

    def answer(self, body: dict) -> list[dict] | dict:
        """The events of a streamed answer, or one object."""
        raise NotImplementedError

    def stream(self, events: list[dict]) -> str:
        """A streamed answer as it goes over the wire."""
        return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)

    def handle_error(self, request, client_address) -> None:
        """A client that has gone away in the middle is no fault of the test."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one piece: in two, a client's kernel may wait 40 ms between them
    disable_nagle_algorithm = True
    server: Model

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.reply({"object": "list", "data": [], "models": []})

    def do_HEAD(self) -> None:
        self.head(200, "application/json", 0)

    def do_POST(self) -> None:
        raw = self.read()
        known = self.path.partition("?")[0].endswith(self.server.route)
        answer = self.server.answer(json.loads(raw)) if known else {"input_tokens": 1}
        if isinstance(answer, dict):
            self.reply(answer)
        else:
            stream = self.server.stream(answer).encode()
            self.head(200, "text/event-stream", len(stream))
            self.wfile.write(stream)

    def reply(self, value: dict) -> None:
        data = json.dumps(value).encode()
        self.head(200, "application/json", len(data))
        self.wfile.write(data)

    def head(self, code: int, kind: str, length: int) -> None:
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(length))
        self.end_headers()

    def read(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data
